//! Which databases and object stores of two stores belong together, and whether they fit.

use larder_backing_store::{DatabaseMetadata, Error, ErrorKind, ObjectStoreMetadata};
use larder_codec::feed;

use crate::copy::selection::Plan;
use crate::display::Quoted;

/// A database, and that of the same name in the other store.
pub(super) struct Pair<'a> {
    pub(super) ours: &'a DatabaseMetadata,
    pub(super) theirs: Option<&'a DatabaseMetadata>,
    pub(super) stores: Vec<(&'a ObjectStoreMetadata, Option<&'a ObjectStoreMetadata>)>,
}

impl<'a> Pair<'a> {
    pub(super) fn new(
        plan: &Plan,
        ours: &'a DatabaseMetadata,
        known: &'a [DatabaseMetadata],
    ) -> Result<Self, Error> {
        let theirs = known
            .iter()
            .find(|own| own.name == ours.name && own.version.is_some());
        let refused = |what: String| {
            let what = format!("database {}: {what}", Quoted(&ours.name));
            Err(Error::new(ErrorKind::Usage, what))
        };
        if let Some(theirs) = theirs
            && theirs.version != ours.version
        {
            let [ours, theirs] = [ours.version, theirs.version].map(Option::unwrap_or_default);
            return refused(format!(
                "it has version {theirs} there and {ours} here: let the app open the older one first, which makes it as the newer"
            ));
        }
        let mut stores = Vec::new();
        // A feed's numbers and versions mean nothing in another store. What is merged there becomes revisions of the feed that is there.
        let is_merged = |store: &&ObjectStoreMetadata| {
            plan.has_store(ours.id, store.id) && !feed::is_reserved(&store.name)
        };
        for store in ours.object_stores.iter().filter(is_merged) {
            let there = theirs.and_then(|theirs| {
                theirs
                    .object_stores
                    .iter()
                    .find(|own| own.name == store.name)
            });
            if let Some(there) = there {
                if (&there.key_path, there.auto_increment)
                    != (&store.key_path, store.auto_increment)
                {
                    return refused(format!(
                        "object store {} has another key path or key generator there: choose others with --store",
                        Quoted(&store.name)
                    ));
                }
            } else if theirs.is_some() {
                return refused(format!(
                    "there is no object store {} there: choose others with --store",
                    Quoted(&store.name)
                ));
            }
            stores.push((store, there));
        }
        Ok(Self {
            ours,
            theirs,
            stores,
        })
    }
}
