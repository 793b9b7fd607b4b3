//! Whose store it is: what the folder's name says, what the databases in it say, and what the profile says of its bucket.

use std::collections::BTreeSet;

use larder_backing_store::{DatabaseMetadata, Store};
use larder_codec::Origin;

use crate::bucket_names::BucketName;

/// So many origins are named when the one that is wanted is not there.
const ORIGINS_NAMED_MAX: usize = 10;

/// Some origins, for a message: the first of them, and how many more there are.
pub(crate) fn origins_text(origins: &BTreeSet<String>) -> String {
    let named: Vec<&str> = origins
        .iter()
        .take(ORIGINS_NAMED_MAX)
        .map(String::as_str)
        .collect();
    let text = named.join(", ");
    match origins.len() - named.len() {
        0 => text,
        more => format!("{text} and {more} more"),
    }
}

/// Whose store it is.
#[derive(Debug, Clone)]
pub(crate) struct StoreOrigin {
    /// The origin as a URL shows it, or the identifier if it is no such thing, or the folder's name.
    pub(crate) shown: String,
    /// The bucket's number, unless it is the origin's default bucket in its own site.
    pub(crate) bucket: Option<String>,
    /// What the profile says of that bucket.
    pub(crate) bucket_name: Option<BucketName>,
    identifier: Option<String>,
    /// The folder's name says whose it is.
    is_named: bool,
}

impl StoreOrigin {
    /// The origin by the folder's name, or, if that does not have it, by the store's own name rows.
    pub(crate) fn of(
        store: &Store,
        databases: &[DatabaseMetadata],
        bucket_name: Option<BucketName>,
    ) -> Self {
        let identifier = match store.paths().identifier() {
            Some(identifier) => Some(identifier.to_owned()),
            None => {
                let text = databases
                    .first()
                    .map(|database| database.origin.to_string_lossy());
                text.map(|text| without_version(&text).to_owned())
            }
        };
        let shown = match &identifier {
            Some(identifier) => shown(identifier),
            None => {
                let name = store.paths().leveldb.file_name().unwrap_or_default();
                name.to_string_lossy().into_owned()
            }
        };
        Self {
            shown,
            bucket: store.paths().bucket().map(str::to_owned),
            bucket_name,
            identifier,
            is_named: store.paths().identifier().is_some(),
        }
    }

    /// The origin and, if it has a number, the bucket, for eyes.
    pub(crate) fn heading(&self) -> String {
        let Some(bucket) = &self.bucket else {
            return self.shown.clone();
        };
        let mut text = format!("{} (bucket {bucket}", self.shown);
        if let Some(name) = self.name() {
            text.push_str(&format!(" {name:?}"));
        }
        if let Some(site) = self.top_level_site() {
            text.push_str(&format!(", embedded in {site}"));
        }
        text.push(')');
        text
    }

    /// The origin's identifier, as the folder or the databases have it.
    pub(crate) fn identifier(&self) -> Option<&str> {
        self.identifier.as_deref()
    }

    /// The name that a page gave the bucket.
    pub(crate) fn name(&self) -> Option<&str> {
        self.bucket_name.as_ref()?.name.as_deref()
    }

    /// The site of the page in which the origin's page was embedded.
    pub(crate) fn top_level_site(&self) -> Option<&str> {
        self.bucket_name.as_ref()?.top_level_site.as_deref()
    }

    /// Whether it is the bucket of this number or name.
    pub(crate) fn is_bucket(&self, wanted: &str) -> bool {
        self.bucket.as_deref() == Some(wanted) || self.name() == Some(wanted)
    }

    pub(crate) fn is(&self, wanted: &str) -> bool {
        let wanted_origin = Origin::from_url(wanted.strip_suffix('/').unwrap_or(wanted));
        self.shown == wanted
            || self.identifier.as_deref() == Some(wanted.strip_suffix("@1").unwrap_or(wanted))
            || wanted_origin.is_ok_and(|origin| Some(origin.identifier()) == self.identifier)
    }

    /// Whose database it is, if the folder's name says that the store is another origin's: Chromium does not show it here.
    pub(crate) fn other_owner(&self, database: &DatabaseMetadata) -> Option<String> {
        let owner = database.origin.to_string_lossy();
        let owner = without_version(&owner);
        let is_other = self.is_named && self.identifier.as_deref() != Some(owner);
        is_other.then(|| shown(owner))
    }

    /// The other origins whose databases are in the store.
    pub(crate) fn other_owners(&self, databases: &[DatabaseMetadata]) -> BTreeSet<String> {
        databases
            .iter()
            .filter_map(|database| self.other_owner(database))
            .collect()
    }
}

/// An origin's identifier as a URL shows the origin, or as it is.
pub(crate) fn shown(identifier: &str) -> String {
    let origin = Origin::from_identifier(identifier);
    origin.map_or_else(|| identifier.to_owned(), |origin| origin.to_string())
}

/// Name rows have the identifier with a version behind it, which is always 1.
fn without_version(identifier: &str) -> &str {
    identifier.strip_suffix("@1").unwrap_or(identifier)
}
