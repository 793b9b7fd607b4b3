//! Deletions that a host has asked for.
//!
//! The work of a deletion is a task, and with threads a request made after it may be executed before it. Such a request would
//! open the store that is about to go. So a deletion is announced when it is asked for, on the host's own thread: from then
//! until it has ended, nothing opens the store.

use larder_codec::Origin as OriginName;

use super::Origin;
use crate::bucket_id::BucketId;
use crate::sync::{Mutex, locked};

/// The stores that one deletion takes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Deletion {
    /// All buckets of the origin.
    Origin(OriginName),
    Bucket(OriginName, BucketId),
    /// Those of the private session of this number.
    Session(u64),
}

impl Deletion {
    /// Whether it takes the store of this origin.
    pub(crate) fn takes(&self, origin: &Origin) -> bool {
        let place = &origin.place;
        match self {
            Self::Origin(name) => place.session.is_none() && *name == origin.name,
            Self::Bucket(name, id) => place.bucket == Some(*id) && *name == origin.name,
            Self::Session(number) => place.session == Some(*number),
        }
    }
}

/// The deletions of a storage that have been announced and have not ended.
#[derive(Default)]
pub(crate) struct Deletions(Mutex<Vec<Deletion>>);

impl Deletions {
    pub(crate) fn announce(&self, deletion: Deletion) {
        locked(&self.0).push(deletion);
    }

    /// Ends one that was announced. The requests that await the stores it took are not woken by this
    /// ([`Origin::deletion_ended`]).
    pub(crate) fn end(&self, deletion: &Deletion) {
        let mut announced = locked(&self.0);
        if let Some(at) = announced.iter().position(|other| other == deletion) {
            announced.swap_remove(at);
        }
    }

    pub(super) fn take(&self, origin: &Origin) -> bool {
        let announced = locked(&self.0);
        announced.iter().any(|deletion| deletion.takes(origin))
    }
}
