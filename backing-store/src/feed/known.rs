//! What a feed says of the records that there are: from its revisions alone.
//!
//! Clean-up never takes the last revision of a record that is there, so whatever is cleaned up, this is all of them.

use std::collections::BTreeMap;

use larder_codec::value::RevisionKind;
use larder_codec::{ObjectStoreId, RecordVersion};

use super::records::{number_at, read_record};
use super::{Feed, Versions};
use crate::error::Result;
use crate::view::View;

/// What is known of one object store.
#[derive(Debug)]
pub(crate) struct KnownStore {
    /// The greatest version that a retained revision has given. What others put has a greater one.
    pub(crate) last_version: RecordVersion,
    /// The versions of the records that are there.
    pub(crate) current: Versions,
}

impl Default for KnownStore {
    fn default() -> Self {
        Self {
            last_version: RecordVersion::MIN,
            current: Versions::default(),
        }
    }
}

/// By the numbers of the object stores.
pub(crate) type Known = BTreeMap<ObjectStoreId, KnownStore>;

/// Reads it; `None` if rows of the feed are not as commits write them.
pub(crate) fn read_known(view: &View, feed: &Feed) -> Result<Option<Known>> {
    let mut known = Known::new();
    let mut iter = view.iter();
    iter.seek(&feed.revision_data)?;
    let mut key = Vec::new();
    while iter.valid() && iter.key().starts_with(&feed.revision_data) {
        if number_at(&iter, feed).is_none_or(|number| number > feed.last()) {
            return Ok(None);
        }
        let Ok((_, mut revisions)) = read_record(iter.value()?) else {
            return Ok(None);
        };
        for store in &revisions.row().object_stores {
            let known = known.entry(store.id).or_default();
            known.last_version = known.last_version.max(store.version);
        }
        loop {
            let revision = match revisions.next(&mut key) {
                Ok(Some(revision)) => revision,
                Ok(None) => break,
                Err(_) => return Ok(None),
            };
            let known = known.entry(revision.object_store_id).or_default();
            if revision.version > known.last_version {
                return Ok(None);
            }
            if let Some(before) = revision.before {
                // It may have been cleaned up.
                known.current.remove(before);
            }
            if revision.kind != RevisionKind::Removal {
                known.current.insert(revision.version);
            }
        }
        iter.next()?;
    }
    Ok(Some(known))
}
