//! What the questions come with (view/README.md).

use larder_backing_store::{CursorDirection, KeyRange};
use larder_codec::RawKey;
use larder_view::Refusal;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::copy::key_text;

/// Reads what a question came with.
pub(super) fn read<T: DeserializeOwned>(asked: &Value) -> Result<T, Refusal> {
    T::deserialize(asked).map_err(|error| Refusal::Malformed(error.to_string()))
}

/// A store.
#[derive(Debug, Deserialize)]
pub(super) struct OfStore {
    pub(super) store: usize,
}

/// An object store, or an index of it.
#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct InStore {
    pub(super) store: usize,
    pub(super) database: i64,
    pub(super) object_store: i64,
    pub(super) index: Option<i64>,
}

/// One record.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct OneRecord {
    #[serde(flatten)]
    pub(super) at: InStore,
    pub(super) primary_key: Hex,
    /// The number of the write that wrote the version that is asked for; without it, what pages see.
    pub(super) sequence: Option<u64>,
}

/// All stores, one, or a part of it.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Content {
    pub(super) store: Option<usize>,
    pub(super) database: Option<i64>,
    pub(super) object_store: Option<i64>,
}

/// Bytes in hex digits.
#[derive(Debug, Clone, Deserialize)]
#[serde(try_from = "String")]
pub(super) struct Hex(pub(super) Vec<u8>);

impl TryFrom<String> for Hex {
    type Error = &'static str;

    fn try_from(text: String) -> Result<Self, Self::Error> {
        key_text::from_hex(&text).map(Self).ok_or("no hex digits")
    }
}

impl Hex {
    /// The key that they are.
    pub(super) fn key(&self) -> Result<RawKey<'_>, Refusal> {
        RawKey::decode_exact(&self.0)
            .map_err(|error| Refusal::Malformed(format!("the bytes are no key: {error}")))
    }
}

/// Which way a cursor moves.
#[derive(Debug, Clone, Copy, Default, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum Direction {
    #[default]
    Next,
    NextUnique,
    Prev,
    PrevUnique,
}

impl From<Direction> for CursorDirection {
    fn from(direction: Direction) -> Self {
        match direction {
            Direction::Next => Self::Next,
            Direction::NextUnique => Self::NextUnique,
            Direction::Prev => Self::Prev,
            Direction::PrevUnique => Self::PrevUnique,
        }
    }
}

/// One end of a range: a key in its bytes, or as a person writes it.
#[derive(Debug, Deserialize)]
pub(super) struct Bound {
    hex: Option<Hex>,
    text: Option<String>,
    #[serde(default)]
    open: bool,
}

/// The bytes of an end's key, and whether it is outside of the range.
type End = Option<(Vec<u8>, bool)>;

impl Bound {
    fn end(self) -> Result<End, Refusal> {
        let bytes = match (self.hex, self.text) {
            (Some(Hex(bytes)), None) => bytes,
            (None, Some(text)) => key_text::parse(text.trim()).map_err(Refusal::Malformed)?,
            _ => {
                return Err(Refusal::Malformed(
                    "an end of a range is one key".to_owned(),
                ));
            }
        };
        Ok(Some((bytes, self.open)))
    }
}

/// Which records, and in which order.
#[derive(Debug, Default, Deserialize)]
pub(super) struct Range {
    #[serde(default)]
    pub(super) direction: Direction,
    lower: Option<Bound>,
    upper: Option<Bound>,
}

/// The ends of a range.
#[derive(Debug)]
pub(super) struct Ends {
    pub(super) lower: End,
    pub(super) upper: End,
}

impl Range {
    pub(super) fn ends(self) -> Result<Ends, Refusal> {
        let end = |bound: Option<Bound>| bound.map_or(Ok(None), Bound::end);
        Ok(Ends {
            lower: end(self.lower)?,
            upper: end(self.upper)?,
        })
    }
}

impl Ends {
    pub(super) fn range(&self) -> Result<KeyRange<'_>, Refusal> {
        Ok(KeyRange {
            lower: bound(&self.lower)?,
            upper: bound(&self.upper)?,
        })
    }
}

fn bound(end: &End) -> Result<std::ops::Bound<RawKey<'_>>, Refusal> {
    let Some((bytes, is_open)) = end else {
        return Ok(std::ops::Bound::Unbounded);
    };
    let key = RawKey::decode_exact(bytes)
        .map_err(|error| Refusal::Malformed(format!("the bytes are no key: {error}")))?;
    Ok(match is_open {
        true => std::ops::Bound::Excluded(key),
        false => std::ops::Bound::Included(key),
    })
}

/// Where a page of records ends.
#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Position {
    pub(super) primary_key: Hex,
    pub(super) key: Option<Hex>,
}
