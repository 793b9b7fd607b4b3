//! `blob:` URLs that more than one realm can use (File API, 8): those of a run in which there are workers.

use std::collections::HashMap;

use super::group::{Realm, RealmId};
use super::message::Blob;

/// The blobs by URL, with the realm that has made it: a URL goes with its realm.
#[derive(Debug, Default)]
pub(super) struct BlobUrls(HashMap<String, (RealmId, Blob)>);

impl BlobUrls {
    pub(super) fn forget_realm(&mut self, realm: RealmId) -> Vec<Blob> {
        let of_realm = self.0.extract_if(|_, (maker, _)| *maker == realm);
        of_realm.map(|(_, (_, blob))| blob).collect()
    }
}

impl Realm {
    /// Other realms find the blob from now on.
    pub(crate) fn publish_blob(&self, url: String, blob: Blob) {
        let mut state = self.state();
        let replaced = state.blob_urls.0.insert(url, (self.id(), blob));
        drop(state);
        drop(replaced);
    }

    /// The blob of a URL.
    pub(crate) fn published_blob(&self, url: &str) -> Option<Blob> {
        let state = self.state();
        state.blob_urls.0.get(url).map(|(_, blob)| blob.clone())
    }

    /// The URL means nothing any more.
    pub(crate) fn withdraw_blob(&self, url: &str) {
        let mut state = self.state();
        let withdrawn = state.blob_urls.0.remove(url);
        drop(state);
        drop(withdrawn);
    }
}
