//! The upgrade of a database: its transaction initial, and what becomes of the request when that has ended.

use std::sync::Arc;

use larder_codec::{DatabaseId, JsString};

use super::super::{ConnectionCore, Database};
use super::steps::delete;
use super::{ConnectionRequest, Current, Found, Phase, Progress};
use crate::error::{Error, ErrorName, Result};
use crate::execution::{InitialState, Plan, TransactionCore, Versions};
use crate::origin::OpenStore;
use crate::schema::Schema;
use crate::sync::locked;

impl Database {
    /// Begins an upgrade (specification, 5.7).
    pub(super) fn upgrade(
        self: &Arc<Self>,
        request: ConnectionRequest,
        found: Found,
        new_version: u64,
    ) -> Progress {
        let ConnectionRequest::Open { listener, .. } = &request else {
            return Ok(());
        };
        let listener = Arc::clone(listener);
        let is_new = (found.old_version == 0).then(|| Arc::clone(&found.store));
        let (id, schema) = match &found.metadata {
            Some(metadata) => (metadata.id, Schema::from_metadata(metadata)),
            None => match create(&found.store, &self.name) {
                Ok(id) => (id, Schema::default()),
                Err(error) => return Err((request, error)),
            },
        };
        let versions = Versions {
            old: found.old_version,
            new: new_version,
        };
        let schema_before = schema.snapshot();
        let number = self.next_connection();
        let core = ConnectionCore::new(number, self, found.store, id, schema, new_version);
        let core = Arc::new(core);
        let phase = Phase::Upgrading {
            connection: Arc::clone(&core),
            is_new,
            outcome: None,
        };
        let transaction = {
            // All at once: as soon as it can be seen it can be aborted, and its end has to find the rest.
            let mut state = locked(&self.state);
            let plan = Plan::of_upgrade(state.next_transaction, number, versions);
            state.next_transaction += 1;
            let initial = InitialState {
                is_started: true,
                snapshot: None,
                schema_before: Some(schema_before),
            };
            let transaction =
                TransactionCore::new(Arc::clone(&core) as _, self.ready(), plan, initial);
            state.transactions.add(Arc::clone(&transaction));
            state.add_connection(&core, true);
            state.current = Some(Current { request, phase });
            transaction
        };
        listener.upgrade_needed(Arc::clone(&core), transaction, versions);
        self.close_if_gone(&core);
        Ok(())
    }

    /// The transaction has ended. Steps 10.7 and 10.8 of opening.
    pub(super) fn end_upgrade(
        self: &Arc<Self>,
        request: ConnectionRequest,
        connection: Arc<ConnectionCore>,
        is_new: Option<Arc<OpenStore>>,
        outcome: Option<Result<()>>,
    ) -> Progress {
        let number = connection.number;
        let Some(Err(cause)) = outcome else {
            if self.is_close_pending(number) {
                let what = "the connection was closed during the upgrade";
                return Err((request, Error::new(ErrorName::AbortError, what)));
            }
            if let ConnectionRequest::Open { listener, .. } = request {
                listener.done(Ok(connection));
            }
            return Ok(());
        };
        self.close(number);
        if let Some(store) = is_new.filter(|store| !store.is_retired()) {
            // If that fails it has no version, and is as good as not there.
            if let Err(error) = delete(&store, &self.name) {
                self.origin().note_store_error(&store, &error);
            }
        }
        Err((request, Error::aborted(Some(&cause))))
    }
}

fn create(store: &OpenStore, name: &JsString) -> Result<DatabaseId> {
    Ok(store.backing().writer()?.create_database(name)?)
}
