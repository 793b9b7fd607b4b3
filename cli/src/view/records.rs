//! `records`: a page of an object store's or an index's records, by key.

use std::hash::{DefaultHasher, Hash, Hasher};

use larder_backing_store::{
    CursorDirection, Damage, Error, ErrorKind, IndexCursor, KeyRange, Movement, RecordCursor,
};
use larder_codec::{RawKey, RecordVersion, compare, range};
use larder_view::{Answer, Refusal};
use serde::Deserialize;
use serde_json::{Value, json};

use super::answer_json;
use super::asked::{InStore, Position, Range, read};
use super::filter::Filter;
use super::long_keys::LongKeys;
use super::preview::Previewed;
use super::shown::key;
use super::stores::{Looked, OpenStore, Stores, problem_text, refused};
use crate::record::ValueReader;

/// So many records come at most.
const LIMIT_MAX: usize = 500;
/// With a filter, so many records are looked at for one answer.
const PASSED_MAX: usize = 20_000;
/// After so many bytes of keys an answer ends: they are kept until the page asks for their records.
const KEY_BYTES_MAX: usize = 8 << 20;
/// So many problems are named in one answer.
const PROBLEMS_MAX: usize = 50;

#[derive(Deserialize)]
struct Asked {
    #[serde(flatten)]
    at: InStore,
    #[serde(flatten)]
    range: Range,
    after: Option<Position>,
    limit: usize,
    filter: Option<String>,
}

/// Index key and primary key of an entry of an index.
type Entry<'k> = (RawKey<'k>, RawKey<'k>);

/// A cursor over records, by their own keys or by an index.
pub(super) enum Cursor {
    Records(Box<RecordCursor>),
    Index(Box<IndexCursor>),
}

impl Cursor {
    /// Before the first record behind a position.
    pub(super) fn open(
        looked: Looked<'_>,
        range: &KeyRange<'_>,
        direction: CursorDirection,
        after: Option<&Position>,
    ) -> Result<Self, Refusal> {
        let (database, object_store) = (looked.database.id, looked.object_store.id);
        let mut range = *range;
        let Some(index) = looked.index else {
            if let Some(after) = after {
                let key = std::ops::Bound::Excluded(after.primary_key.key()?);
                match direction.is_forward() {
                    true => range.lower = key,
                    false => range.upper = key,
                }
            }
            let records = looked
                .store
                .records_in(database, object_store, &range, direction);
            return Ok(Self::Records(Box::new(records)));
        };
        let key = after.and_then(|after| after.key.as_ref());
        let key = key.map(|key| key.key()).transpose()?;
        let is_unique = matches!(
            direction,
            CursorDirection::NextUnique | CursorDirection::PrevUnique
        );
        if let Some(key) = key {
            let end = match is_unique {
                true => std::ops::Bound::Excluded(key),
                false => std::ops::Bound::Included(key),
            };
            match direction.is_forward() {
                true => range.lower = end,
                false => range.upper = end,
            }
        }
        let entries =
            looked
                .store
                .index_entries_in(database, object_store, index.id, &range, direction);
        Ok(Self::Index(Box::new(entries)))
    }

    fn next(&mut self) -> Result<bool, Error> {
        match self {
            Self::Records(cursor) => cursor.next(),
            Self::Index(cursor) => cursor.next(),
        }
    }

    /// Moves straight to an entry of an index that is not unique, or to the first behind it.
    fn go_to(&mut self, (key, primary_key): Entry<'_>) -> Result<bool, Error> {
        match self {
            Self::Index(cursor) => cursor.go(Movement::ToEntry(key, primary_key)),
            Self::Records(cursor) => cursor.next(),
        }
    }

    /// Whether it stands behind an entry of an index, and not on it or before.
    fn is_behind(&self, entry: Entry<'_>, is_forward: bool) -> Result<bool, Error> {
        let Some(key) = self.key()? else {
            return Ok(true);
        };
        let order = (key, self.primary_key()?).cmp(&entry);
        Ok(match is_forward {
            true => order.is_gt(),
            false => order.is_lt(),
        })
    }

    /// The index key, with an index.
    fn key(&self) -> Result<Option<RawKey<'_>>, Error> {
        match self {
            Self::Records(_) => Ok(None),
            Self::Index(cursor) => cursor.index_key().map(Some),
        }
    }

    pub(super) fn primary_key(&self) -> Result<RawKey<'_>, Error> {
        match self {
            Self::Records(cursor) => cursor.primary_key(),
            Self::Index(cursor) => cursor.primary_key(),
        }
    }

    pub(super) fn value(&self) -> Result<&[u8], Error> {
        match self {
            Self::Records(cursor) => cursor.value(),
            Self::Index(cursor) => Ok(cursor.value()),
        }
    }

    fn version(&self) -> Option<RecordVersion> {
        match self {
            Self::Records(cursor) => cursor.version(),
            Self::Index(cursor) => cursor.version(),
        }
    }
}

/// The damaged places of files, met so far, that may have had rows of the object store: cursors pass over them.
fn lost(open: &OpenStore, looked: Looked<'_>) -> Vec<String> {
    let damage = open.damage();
    if damage.is_empty() {
        return Vec::new();
    }
    let (database, object_store) = (looked.database.id, looked.object_store.id);
    let low = range::object_store_rows_low(database, object_store);
    let end = range::object_store_rows_end(database, object_store);
    let may_have_had = |damage: &&Damage| {
        damage.key_range.as_ref().is_none_or(|lost| {
            let ends_before = |high: &Vec<u8>| compare(high, &low).is_lt();
            let begins_behind = |low: &Vec<u8>| compare(low, &end).is_ge();
            !lost.high.as_ref().is_some_and(ends_before)
                && !lost.low.as_ref().is_some_and(begins_behind)
        })
    };
    let lost = damage.iter().filter(may_have_had).take(PROBLEMS_MAX);
    lost.map(|damage| open.names.damage(damage)).collect()
}

/// Moves a cursor on over rows that cannot be read; each is a problem.
pub(super) fn advance(
    problems: &mut dyn FnMut(&Error),
    mut next: impl FnMut() -> Result<bool, Error>,
) -> Result<bool, Refusal> {
    loop {
        match next() {
            Ok(more) => return Ok(more),
            Err(error) if error.kind() == ErrorKind::Corruption => problems(&error),
            Err(error) => return Err(refused(error)),
        }
    }
}

impl Cursor {
    /// To the next record that can be read.
    pub(super) fn advance(&mut self, problems: &mut dyn FnMut(&Error)) -> Result<bool, Refusal> {
        advance(problems, || self.next())
    }
}

pub(super) fn records(
    stores: &Stores,
    asked: &Value,
    answer: &mut dyn Answer,
) -> Result<(), Refusal> {
    let Asked {
        at,
        range,
        after,
        limit,
        filter,
    } = read(asked)?;
    let limit = limit.clamp(1, LIMIT_MAX);
    let open = stores.open(at.store)?;
    let looked = open.looked(at)?;
    let direction = CursorDirection::from(range.direction);
    let ends = range.ends()?;
    let filter = Filter::new(filter.as_deref());
    let mut cursor = Cursor::open(looked, &ends.range()?, direction, after.as_ref())?;
    let is_unique = matches!(
        direction,
        CursorDirection::NextUnique | CursorDirection::PrevUnique
    );
    let entry = after.as_ref().filter(|_| !is_unique);
    let entry = entry.and_then(|after| Some((after.key.as_ref()?, &after.primary_key)));
    let entry: Option<Entry<'_>> = match entry {
        Some((key, primary_key)) => Some((key.key()?, primary_key.key()?)),
        None => None,
    };
    let mut goes_to = entry;
    let mut reader = ValueReader::new(looked.store, looked.database.id, looked.object_store);
    let mut problems: Vec<String> = Vec::new();
    let mut note = |error: &Error| {
        if problems.len() < PROBLEMS_MAX {
            problems.push(problem_text(&open.names, error));
        }
    };
    let (mut rows, mut last) = (Vec::new(), None);
    let (mut passed, mut key_bytes) = (0, 0);
    let more = loop {
        // A row that cannot be read on the way there is passed over as any other, and what is before the position with it.
        let is_there = advance(&mut note, || match goes_to.take() {
            Some(entry) => cursor.go_to(entry),
            None => cursor.next(),
        })?;
        if !is_there {
            break false;
        }
        if let Some(entry) = entry
            && !cursor
                .is_behind(entry, direction.is_forward())
                .map_err(refused)?
        {
            continue;
        }
        if rows.len() == limit || passed == PASSED_MAX || key_bytes > KEY_BYTES_MAX {
            break true;
        }
        passed += 1;
        key_bytes += cursor.primary_key().map_err(refused)?.as_bytes().len();
        rows.extend(row(&cursor, &mut reader, &filter, &stores.long_keys)?);
        last = Some(position(&cursor, &stores.long_keys)?);
    };
    problems.extend(lost(&open, looked));
    let mut page = json!({
        "generation": open.generation,
        "records": rows,
        "more": more,
        "problems": problems,
    });
    if let Some(last) = last {
        page["after"] = last;
    }
    // Whether a key that was asked for is there, the page sees when it has its bytes.
    for (name, end) in [("lowerHex", &ends.lower), ("upperHex", &ends.upper)] {
        if let Some((bytes, _)) = end {
            page[name] = stores.long_keys.shown(bytes).into();
        }
    }
    answer_json(answer, &page)
}

fn position(cursor: &Cursor, keys: &LongKeys) -> Result<Value, Refusal> {
    let primary_key = cursor.primary_key().map_err(refused)?;
    let mut position = json!({"primaryKey": keys.shown(primary_key.as_bytes())});
    if let Some(key) = cursor.key().map_err(refused)? {
        position["key"] = keys.shown(key.as_bytes()).into();
    }
    Ok(position)
}

/// A row of the table; `None` if a filter leaves it out.
fn row(
    cursor: &Cursor,
    reader: &mut ValueReader<'_>,
    filter: &Filter,
    keys: &LongKeys,
) -> Result<Option<Value>, Refusal> {
    let primary_key = cursor.primary_key().map_err(refused)?;
    let bytes = match cursor.value() {
        Ok(bytes) => bytes,
        Err(error) if error.kind() == ErrorKind::Corruption => {
            let mut row = head(primary_key, 0, keys);
            row["problem"] = error.to_string().into();
            return Ok(Some(row));
        }
        Err(error) => return Err(refused(error)),
    };
    let shown = reader.read(primary_key, bytes, |tree, objects| {
        let passes = filter.passes(primary_key, tree, objects);
        passes.then(|| Previewed { tree, objects }.to_json())
    });
    if matches!(shown, Ok(None)) {
        return Ok(None);
    }
    let mut row = head(primary_key, bytes.len(), keys);
    row["digest"] = digest(cursor.version(), bytes).into();
    if let Some(index_key) = cursor.key().map_err(refused)? {
        row["key"] = key(index_key);
        row["keyHex"] = keys.shown(index_key.as_bytes()).into();
    }
    match shown {
        Ok(preview) => row["value"] = preview.unwrap_or_default(),
        Err(error) => row["problem"] = error.to_string().into(),
    }
    Ok(Some(row))
}

fn head(primary_key: RawKey<'_>, size: usize, keys: &LongKeys) -> Value {
    json!({
        "primaryKey": key(primary_key),
        "primaryKeyHex": keys.shown(primary_key.as_bytes()),
        "size": size,
        "digest": "",
    })
}

/// Changes when the record does, even to the same value.
fn digest(version: Option<RecordVersion>, bytes: &[u8]) -> String {
    let mut hasher = DefaultHasher::new();
    version.map(RecordVersion::get).hash(&mut hasher);
    bytes.hash(&mut hasher);
    format!("{:016x}", hasher.finish())
}
