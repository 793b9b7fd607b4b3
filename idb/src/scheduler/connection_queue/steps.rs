//! The steps of a request up to the change itself: look up, announce it to the other connections, wait until they are closed.

use std::sync::Arc;

use larder_backing_store::DatabaseMetadata;
use larder_codec::JsString;

use super::super::{ConnectionCore, ConnectionEvent, Database, VersionChange};
use super::{ConnectionRequest, Current, Found, Phase, Progress, fail_or, version_of};
use crate::error::{Error, ErrorName, Result};
use crate::execution::TransactionOwner as _;
use crate::origin::{Access, OpenStore, read_only};
use crate::schema::Schema;
use crate::sync::locked;

impl Database {
    /// The database as it is committed. Steps 4 to 9 of opening, 4 of deleting.
    pub(super) fn look_up(self: &Arc<Self>, request: ConnectionRequest) -> Progress {
        let is_open = matches!(request, ConnectionRequest::Open { .. });
        let store = match self.origin().store(is_open) {
            Ok(Access::Open(store)) => store,
            Ok(Access::Missing) => {
                // One that is to be opened is made, unless nothing is ever written.
                fail_or(request, if is_open { Err(read_only()) } else { Ok(0) });
                return Ok(());
            }
            Ok(Access::Going) => {
                self.wait_at(request, Phase::AwaitStore);
                let database = Arc::clone(self);
                let go_on = Box::new(move || database.store_gone());
                self.origin().await_store(go_on);
                return Ok(());
            }
            Err(error) => return Err((request, error)),
        };
        let ConnectionRequest::Open {
            version, upgrades, ..
        } = &request
        else {
            return self.look_up_to_delete(request, store);
        };
        let metadata = match self.origin().metadata(&store, &self.name) {
            Ok(metadata) => metadata,
            Err(error) => return Err((request, error)),
        };
        if let (Some(metadata), Ok(writer)) = (&metadata, store.backing().writer()) {
            // What a browser has changed meanwhile is in the change feed from the first connection on. Opening takes no room: if that fails,
            // the first transaction that writes tries it again, and says so.
            let _ = writer.catch_up(metadata.id);
        }
        let old_version = version_of(metadata.as_ref());
        let version = version.unwrap_or(old_version.max(1));
        if version < old_version {
            let what = format!(
                "the database has version {old_version}, above {version}: open it with {old_version} or more, or without a version"
            );
            return Err((request, Error::new(ErrorName::VersionError, what)));
        }
        match metadata {
            Some(metadata) if version == old_version && !upgrades => {
                self.connect(request, store, &metadata);
                Ok(())
            }
            metadata => {
                if let Err(error) = self.origin().check_writes() {
                    return Err((request, error));
                }
                let found = Found {
                    store,
                    metadata,
                    old_version,
                    new_version: Some(version),
                };
                self.announce(request, found)
            }
        }
    }

    fn look_up_to_delete(
        self: &Arc<Self>,
        request: ConnectionRequest,
        store: Arc<OpenStore>,
    ) -> Progress {
        match self.origin().version(&store, &self.name) {
            Ok(Some(_)) if self.origin().is_read_only() => Err((request, read_only())),
            Ok(Some(old_version)) => {
                let found = Found {
                    store,
                    metadata: None,
                    old_version,
                    new_version: None,
                };
                self.announce(request, found)
            }
            Ok(None) => {
                fail_or(request, Ok(0));
                Ok(())
            }
            Err(error) => Err((request, error)),
        }
    }

    /// A connection to the database as it is.
    fn connect(
        self: &Arc<Self>,
        request: ConnectionRequest,
        store: Arc<OpenStore>,
        metadata: &DatabaseMetadata,
    ) {
        let ConnectionRequest::Open { listener, .. } = request else {
            return;
        };
        let schema = Schema::from_metadata(metadata);
        let version = version_of(Some(metadata));
        let number = self.next_connection();
        let core = ConnectionCore::new(number, self, store, metadata.id, schema, version);
        let core = Arc::new(core);
        locked(&self.state).add_connection(&core, false);
        self.close_if_gone(&core);
        listener.done(Ok(core));
    }

    /// Closes a connection that was made while all were closed: it may have been missed there.
    pub(super) fn close_if_gone(self: &Arc<Self>, core: &ConnectionCore) {
        let is_retired = core.store().is_ok_and(|store| store.is_retired());
        if is_retired || self.origin().is_forced() {
            // Those that there are beside it are of the same store.
            self.force_close(&Error::forced(), None);
        } else if self.origin().is_closing() {
            self.close(core.number);
        }
    }

    /// Announces the change to the other connections. Steps 10.1 to 10.3 of opening, 5 to 7 of deleting.
    fn announce(self: &Arc<Self>, request: ConnectionRequest, found: Found) -> Progress {
        let (old_version, new_version) = (found.old_version, found.new_version);
        let told: Vec<Arc<ConnectionCore>> = {
            let mut state = locked(&self.state);
            let others = state.connections.values();
            let others = others.filter(|open| !open.is_close_pending);
            let told: Vec<_> = others.map(|open| Arc::clone(&open.core)).collect();
            let pending = told.iter().map(|core| core.number).collect();
            let phase = Phase::AwaitDispatch { found, pending };
            state.current = Some(Current { request, phase });
            told
        };
        for core in told {
            let database = Arc::clone(self);
            let event = VersionChange::new(old_version, new_version, database, core.number);
            core.events.push(ConnectionEvent::VersionChange(event));
        }
        Ok(())
    }

    /// Reports that the request waits for connections to be closed, if it does. Steps 10.4 and 8.
    pub(super) fn block(self: &Arc<Self>, request: ConnectionRequest, found: Found) -> Progress {
        if locked(&self.state).connections.is_empty() {
            return self.change(request, found);
        }
        let old_version = found.old_version;
        match (&request, found.new_version) {
            (ConnectionRequest::Open { listener, .. }, Some(new_version)) => {
                listener.blocked(old_version, new_version);
            }
            (ConnectionRequest::Delete { listener }, _) => listener.blocked(old_version),
            (ConnectionRequest::Open { .. }, None) => {}
        }
        self.wait_at(request, Phase::AwaitClose(found));
        Ok(())
    }

    /// No other connection has the database open.
    pub(super) fn change(self: &Arc<Self>, request: ConnectionRequest, found: Found) -> Progress {
        if self.origin().is_closing() {
            return Err((request, Error::storage_closed()));
        }
        if found.store.is_retired() {
            // It was opened by a store that takes no writes any more: from the beginning, with the next.
            drop(found);
            self.wait_at(request, Phase::Begin);
            return Ok(());
        }
        match (found.new_version, &request) {
            (Some(new_version), ConnectionRequest::Open { .. }) => {
                self.upgrade(request, found, new_version)
            }
            _ => match delete(&found.store, &self.name) {
                Ok(()) => {
                    self.origin().note_modified();
                    fail_or(request, Ok(found.old_version));
                    Ok(())
                }
                Err(error) => Err((request, error)),
            },
        }
    }
}

/// Deletes a database, there or not.
///
/// # Errors
/// As writing; `ReadOnlyError` if nothing is ever written.
pub(super) fn delete(store: &OpenStore, name: &JsString) -> Result<()> {
    store.backing().writer()?.delete_database(name)?;
    Ok(())
}
