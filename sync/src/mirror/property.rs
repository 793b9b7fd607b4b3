//! A record merged by its top-level properties.

use std::collections::{BTreeMap, BTreeSet};

use larder_idb::JsString;
use larder_idb::codec::value::{Decoder, Encoder, Foreign, Object, Overlay, Payload, Tree, Value};
use larder_pages::{Entry, Page, Snapshot};
use std::sync::Arc;

use super::error::{Error, Result};
use super::record::{Head, Stored, alike};

/// Longer values are merged as one.
const LEN_MAX: u64 = 16 << 20;

/// A record of both sides.
#[derive(Debug)]
pub(super) struct Joint {
    pub(super) value: Vec<u8>,
    /// Whether a property was changed on both sides, and not alike.
    pub(super) is_lossy: bool,
}

/// The left record with the properties that only the right side has changed; `None` if the three are not plain objects without blobs.
pub(super) fn joined(
    page: &Page,
    snapshot: &Arc<Snapshot>,
    entry_key: &[u8],
    [base, left, right]: [&Entry; 3],
) -> Result<Option<Joint>> {
    let mut heads = Vec::new();
    for entry in [base, left, right] {
        if super::record::open(page, entry)?.len() > LEN_MAX {
            return Ok(None);
        }
        let stored = match Stored::read(page, snapshot, entry_key, entry.value, 0) {
            Err(Error::Malformed { .. }) => return Ok(None),
            stored => stored?,
        };
        if !stored.head.objects.is_empty() || !stored.head.is_alike() {
            return Ok(None);
        }
        heads.push(stored.head);
    }
    let [base, left, right] = &heads[..] else {
        return Ok(None);
    };
    Ok(joined_heads(base, left, right))
}

fn joined_heads(base: &Head, left: &Head, right: &Head) -> Option<Joint> {
    let [base_payload, left_payload, right_payload] =
        [base, left, right].map(|head| Payload::read(&head.wire).ok());
    let (base, ours, theirs) = (
        decode(base_payload)?,
        decode(left_payload)?,
        decode(right_payload)?,
    );
    let of_left = changed(&base, &ours)?;
    let of_right = changed(&base, &theirs)?;
    let (both, of_right): (BTreeSet<_>, BTreeSet<_>) =
        (of_right.into_iter()).partition(|name| of_left.contains(name));
    let between = changed(&ours, &theirs)?;
    let is_lossy = both.iter().any(|name| between.contains(name));
    let mut bytes = Vec::new();
    Overlay::encode(&ours, &theirs, &of_right, &mut bytes)?;
    Some(Joint {
        value: left.with_wire(alike(&bytes)?).encode(),
        is_lossy,
    })
}

fn decode(payload: Option<Payload<'_>>) -> Option<Tree<'_>> {
    Decoder::new().decode(&payload?).ok()
}

/// The names of the top-level properties that differ; `None` if one of the two is no plain object.
fn changed(old: &Tree<'_>, new: &Tree<'_>) -> Option<BTreeSet<JsString>> {
    let (olds, news) = (properties(old)?, properties(new)?);
    let mut encoder = Encoder::new();
    let names = olds.keys().chain(news.keys());
    let differing = names.filter(|name| match (olds.get(*name), news.get(*name)) {
        (Some(one), Some(other)) => !encoder.is_same_part(old, *one, new, *other),
        _ => true,
    });
    Some(differing.cloned().collect())
}

fn properties<'a>(tree: &Tree<'a>) -> Option<BTreeMap<JsString, Value<'a>>> {
    let Value::Object(root) = tree.root() else {
        return None;
    };
    if !matches!(tree.object(root), Object::Plain(_)) || Foreign::of_tree(tree).is_some() {
        return None;
    }
    let own = tree.own_properties(root).iter();
    Some(
        own.map(|own| (own.name.to_js_string(), own.value))
            .collect(),
    )
}
