//! A record's value, as a reader gets it, and how two differ.

use larder_idb::codec::value::{Decoder, Encoder, Payload, Tree, Value};
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

/// The names of the top-level properties in which two values differ, in the order of the later one's, then of the earlier one's.
/// Values that are no plain objects differ as a whole, which is the name "".
pub(crate) fn changed_properties(
    before: Option<&RevisionValue>,
    after: &RevisionValue,
) -> Result<Vec<JsString>> {
    let before = before.map(RevisionValue::tree).transpose()?;
    let after = after.tree()?;
    let Some(before) = before else {
        return Ok(match after.root() {
            Value::Object(object) => after
                .own_properties(object)
                .iter()
                .map(|own| own.name.to_js_string())
                .collect(),
            _ => vec![JsString::from("")],
        });
    };
    let mut encoder = Encoder::new();
    let (Value::Object(old), Value::Object(new)) = (before.root(), after.root()) else {
        let is_same = encoder.is_same_part(&before, before.root(), &after, after.root());
        return Ok(if is_same {
            vec![]
        } else {
            vec![JsString::from("")]
        });
    };
    let mut changed = Vec::new();
    for property in after.own_properties(new) {
        let is_same = before
            .get(old, &property.name)
            .is_some_and(|value| encoder.is_same_part(&before, value, &after, property.value));
        if !is_same {
            changed.push(property.name.to_js_string());
        }
    }
    let gone = before.own_properties(old).iter();
    let gone = gone.filter(|property| after.get(new, &property.name).is_none());
    changed.extend(gone.map(|own| own.name.to_js_string()));
    Ok(changed)
}
