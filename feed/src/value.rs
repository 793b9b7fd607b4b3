//! A record's value, as a reader gets it, and how two differ.

use std::collections::{BTreeMap, BTreeSet};

use larder_idb::codec::value::{Decoder, Encoder, Object, ObjectId, Payload, Tree, Value};
use larder_idb::{ExternalObject, JsString, StoredValue};

use crate::error::Result;

/// A value of a record.
#[derive(Debug, Clone)]
pub struct RevisionValue {
    pub(crate) bytes: Vec<u8>,
    objects: Vec<ExternalObject>,
}

impl RevisionValue {
    /// The bytes, as Blink and V8 serialise them.
    #[must_use]
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// The blobs, files and handles that the value refers to, by their places. Their contents can be opened as long as the revision is
    /// retained.
    #[must_use]
    pub fn objects(&self) -> &[ExternalObject] {
        &self.objects
    }

    /// The value.
    ///
    /// # Errors
    /// If the bytes are not those of a value.
    pub fn tree(&self) -> Result<Tree<'_>> {
        let payload = Payload::read(&self.bytes)?;
        Ok(Decoder::new().decode(&payload)?)
    }

    pub(crate) fn of(value: &StoredValue) -> Self {
        Self {
            bytes: value.bytes().to_vec(),
            objects: value.objects().to_vec(),
        }
    }
}

/// In what two values of a record differ.
#[derive(Debug)]
pub(crate) enum Changes {
    /// In these top-level properties, in the order of the later value's, then of the earlier one's.
    Properties(Vec<JsString>),
    /// As a whole, since one of them is no plain object.
    Whole,
}

impl Changes {
    /// Without an earlier value, all properties are new.
    pub(crate) fn between(before: Option<&RevisionValue>, after: &RevisionValue) -> Result<Self> {
        let before = before.map(RevisionValue::tree).transpose()?;
        let after = after.tree()?;
        let mut encoder = Encoder::new();
        let Some(before) = before else {
            return Ok(match after.root() {
                Value::Object(new) if is_plain(&after, new) => {
                    Self::Properties(properties(&after, new).map(|(name, _)| name).collect())
                }
                _ => Self::Whole,
            });
        };
        let (old, new) = match (before.root(), after.root()) {
            (Value::Object(old), Value::Object(new))
                if is_plain(&before, old) && is_plain(&after, new) =>
            {
                (old, new)
            }
            (old, new) if encoder.is_same_part(&before, old, &after, new) => {
                return Ok(Self::Properties(Vec::new()));
            }
            _ => return Ok(Self::Whole),
        };
        let olds: BTreeMap<JsString, Value<'_>> = properties(&before, old).collect();
        let news: BTreeSet<JsString> = properties(&after, new).map(|(name, _)| name).collect();
        let differs = |(name, value): (JsString, Value<'_>)| {
            let is_same = olds
                .get(&name)
                .is_some_and(|old| encoder.is_same_part(&before, *old, &after, value));
            (!is_same).then_some(name)
        };
        let changed = properties(&after, new).filter_map(differs);
        let gone = properties(&before, old).map(|(name, _)| name);
        let gone = gone.filter(|name| !news.contains(name));
        Ok(Self::Properties(changed.chain(gone).collect()))
    }
}

fn is_plain(tree: &Tree<'_>, id: ObjectId) -> bool {
    matches!(tree.object(id), Object::Plain(_))
}

fn properties<'t, 'a>(
    tree: &'t Tree<'a>,
    id: ObjectId,
) -> impl Iterator<Item = (JsString, Value<'a>)> + 't {
    let own = tree.own_properties(id).iter();
    own.map(|own| (own.name.to_js_string(), own.value))
}
