//! Actions on transactions, and on stores and indexes as such.

use larder_idb::{
    Error, ErrorName, Index, IndexParameters, ObjectStore, ObjectStoreParameters,
    TransactionDurability, TransactionOptions,
};

use super::Verdict;
use super::adapter::{self, name};
use super::foreign;
use super::state::{RealRequest, Runner};
use crate::naive::{self, Mode, State, units};
use crate::program::{Action, On, Pick};

/// Names of stores and indexes: the last has a lone surrogate.
pub(super) fn store_name(number: usize) -> Vec<u16> {
    match number {
        0..4 => units(["a", "b", "c", "\u{10348}"][number]),
        _ => vec![0xdc00, 0x31],
    }
}

impl Runner {
    pub(super) fn act_on_transactions(&mut self, action: &Action) -> Verdict {
        match action {
            Action::Begin {
                connection,
                stores,
                mode,
                strict,
            } => match self.pick_connection(*connection) {
                Some(id) => self.begin(id, stores, *mode, *strict),
                None => Ok(()),
            },
            Action::Commit { transaction } => match self.pick_transaction(*transaction) {
                Some(id) => self.commit(id),
                None => Ok(()),
            },
            Action::CommitIfIdle { transaction } => match self.pick_transaction(*transaction) {
                Some(id) => self.commit_if_idle(id),
                None => Ok(()),
            },
            Action::Abort {
                transaction,
                with_error,
            } => match self.pick_transaction(*transaction) {
                Some(id) => self.abort(id, *with_error),
                None => Ok(()),
            },
            Action::DropTransaction { transaction } => {
                if let Some(id) = self.pick_transaction(*transaction)
                    && !self.has_cursor_under_way(id)
                {
                    self.drop_transaction(id);
                    if self.world.transactions[id].state == State::Active {
                        let _ = self.world.abort(id, None);
                    }
                }
                Ok(())
            }
            _ => self.change_schema(action),
        }
    }

    fn begin(&mut self, id: usize, stores: &[usize], mode: Mode, strict: bool) -> Verdict {
        let names: Vec<Vec<u16>> = stores.iter().map(|number| store_name(*number)).collect();
        let real_names: Vec<_> = names.iter().map(|units| name(units)).collect();
        let Some(Some(connection)) = self.connections[id].as_ref().map(|c| &c.connection) else {
            return Ok(());
        };
        let options = TransactionOptions::new().durability(match strict {
            true => TransactionDurability::Strict,
            false => TransactionDurability::Default,
        });
        let real_mode = match mode {
            Mode::ReadOnly => larder_idb::TransactionMode::ReadOnly,
            _ => larder_idb::TransactionMode::ReadWrite,
        };
        let real = connection.transaction(&real_names, real_mode, options);
        let model = self.world.transaction(id, &names, mode);
        if let Some((transaction, real)) = Self::agree(model, real)? {
            self.world.transactions[transaction].is_strict = strict;
            self.keep_transaction(transaction, real);
        }
        Ok(())
    }

    /// What was observed counts from the moment of the call, so results that callbacks are to have must have arrived.
    fn watched_results_arrive(&mut self, transaction: usize) -> Verdict {
        for id in self.world.transactions[transaction].requests.clone() {
            let is_due = self.world.requests[id].outcome.is_some();
            if is_due && matches!(self.requests[id].real, RealRequest::Watched) {
                self.observe(id)?;
            }
        }
        Ok(())
    }

    pub(super) fn commit(&mut self, id: usize) -> Verdict {
        if self.commits.is_some() && !self.world.transactions[id].is_started {
            return Ok(());
        }
        self.watched_results_arrive(id)?;
        let Some(Some(transaction)) = self.transactions[id].as_ref().map(|t| &t.transaction) else {
            return Ok(());
        };
        let real = transaction.commit();
        let model = self.world.commit(id);
        Self::agree(model, real).map(drop)
    }

    fn commit_if_idle(&mut self, id: usize) -> Verdict {
        if self.commits.is_some() && !self.world.transactions[id].is_started {
            return Ok(());
        }
        self.settle()?;
        // To be called when the host has received everything: a result that a callback has not received yet would abort it.
        self.watched_results_arrive(id)?;
        let requests = &self.world.transactions[id].requests;
        let is_idle = requests
            .iter()
            .all(|id| self.world.requests[*id].outcome.is_some());
        let is_active = self.world.transactions[id].state == State::Active;
        let Some(Some(transaction)) = self.transactions[id].as_ref().map(|t| &t.transaction) else {
            return Ok(());
        };
        let does_commit = transaction.commit_if_idle();
        // On threads it may be behind the model.
        let must_commit = is_idle && is_active && self.setup.is_driven();
        let may_commit = (is_idle || self.setup.has_snapshots) && is_active;
        if does_commit && may_commit {
            return self.world.commit(id).map_err(String::from);
        }
        match does_commit == must_commit || !(does_commit || must_commit) {
            true => Ok(()),
            false => Err(format!("idle is {is_idle}, commits {does_commit}")),
        }
    }

    fn abort(&mut self, id: usize, with_error: bool) -> Verdict {
        let Some(Some(transaction)) = self.transactions[id].as_ref().map(|t| &t.transaction) else {
            return Ok(());
        };
        let error = with_error.then(|| Error::new(ErrorName::QuotaExceededError, "enough"));
        let real = transaction.abort(error);
        let model = self
            .world
            .abort(id, with_error.then_some("QuotaExceededError"));
        Self::agree(model, real).map(drop)
    }

    /// A cursor that is to be opened or moved is a handle to its transaction.
    fn has_cursor_under_way(&self, id: usize) -> bool {
        self.world.transactions[id].requests.iter().any(|request| {
            let request = &self.world.requests[*request];
            let is_cursor = matches!(request.operation, naive::Operation::Iterate { .. });
            is_cursor && request.outcome.is_none()
        })
    }

    /// Lets go of every handle that leads to a transaction; its requests with cursors are such.
    pub(super) fn drop_transaction(&mut self, id: usize) {
        if let Some(real) = &mut self.transactions[id] {
            real.transaction = None;
        }
        for (handle, real) in &mut self.handles {
            if handle.transaction == id {
                *real = None;
            }
        }
        for (handle, real) in &mut self.indexes {
            if handle.of.transaction == id {
                *real = None;
            }
        }
        for (number, (_, real)) in self.cursors.iter_mut().enumerate() {
            if self.world.cursors[number].transaction == id {
                *real = None;
            }
        }
        for request in &self.world.transactions[id].requests {
            let is_cursor = matches!(
                self.world.requests[*request].operation,
                naive::Operation::Iterate { .. }
            );
            if is_cursor && matches!(self.requests[*request].real, RealRequest::Waiting(_)) {
                self.requests[*request].real = RealRequest::Dropped;
            }
        }
    }

    /// The handle that an action is about, of both sides; and the index if one is meant and there.
    pub(super) fn handle(&mut self, on: &On) -> Verdict<Option<(naive::Handle, ObjectStore)>> {
        if on.is_old {
            let count = self.handles.len();
            let picked = Self::pick(on.store, count, |at| self.handles[at].1.is_some());
            let state = picked.map(|at| {
                let transaction = self.handles[at].0.transaction;
                self.world.transactions[transaction].state
            });
            // Committing and having ended is not the same to all methods.
            self.catch_up(state)?;
            if state == Some(State::Committing) && self.setup.has_snapshots {
                return Ok(None);
            }
            return Ok(picked.and_then(|at| {
                let (model, real) = &self.handles[at];
                real.clone().map(|real| (*model, real))
            }));
        }
        let Some(id) = self.pick_transaction(on.transaction) else {
            return Ok(None);
        };
        let state = self.world.transactions[id].state;
        self.catch_up(Some(state))?;
        if state == State::Committing && self.setup.has_snapshots {
            // It may have ended before the model's could start.
            return Ok(None);
        }
        let Some(Some(transaction)) = self.transactions[id].as_ref().map(|t| &t.transaction) else {
            return Ok(None);
        };
        let wanted = self.scope_name(id, on.store);
        let real = transaction.object_store(name(&wanted));
        let model = self.world.object_store(id, &wanted);
        let both = Self::agree(model, real)?;
        if let Some((model, real)) = &both {
            self.handles.push((*model, Some(real.clone())));
        }
        Ok(both)
    }

    fn catch_up(&mut self, state: Option<State>) -> Verdict {
        match state {
            Some(State::Finished) => self.settle(),
            _ => Ok(()),
        }
    }

    /// Mostly the name of a store that is there.
    fn scope_name(&self, transaction: usize, pick: Pick) -> Vec<u16> {
        let transaction = &self.world.transactions[transaction];
        let database = &self.world.connections[transaction.connection].database;
        let stores = self
            .world
            .databases
            .get(database)
            .map(|content| &content.stores);
        let names: Vec<&Vec<u16>> = (stores.into_iter().flatten())
            .filter(|store| {
                transaction.mode == Mode::VersionChange || transaction.scope.contains(&store.id)
            })
            .map(|store| &store.name)
            .collect();
        match names.get(usize::from(pick.0) % names.len().max(1)) {
            Some(name) if pick.0 < 245 => (*name).clone(),
            _ => store_name(usize::from(pick.0) % 5),
        }
    }

    /// An index of a store, mostly one that is there.
    pub(super) fn index(
        &mut self,
        model: naive::Handle,
        real: &ObjectStore,
        pick: Pick,
    ) -> Verdict<Option<(naive::IndexHandle, Index)>> {
        let indexes = self.world.store(model).map(|store| &store.indexes);
        let names: Vec<&Vec<u16>> = (indexes.into_iter().flatten()).map(|i| &i.name).collect();
        let wanted = match names.get(usize::from(pick.0) % names.len().max(1)) {
            Some(name) if pick.0 < 245 => (*name).clone(),
            _ => store_name(usize::from(pick.0) % 5),
        };
        let both = Self::agree(
            self.world.open_index(model, &wanted),
            real.index(name(&wanted)),
        )?;
        if let Some((model, real)) = &both {
            self.indexes.push((*model, Some(real.clone())));
        }
        Ok(both)
    }

    fn change_schema(&mut self, action: &Action) -> Verdict {
        if self
            .world
            .transactions
            .iter()
            .any(|t| matches!(t.outcome, Some(Err(_))))
        {
            // What is being rolled back is not yet what has ended.
            self.settle()?;
        }
        match action {
            Action::CreateStore {
                transaction,
                name: number,
                key_path,
                auto_increment,
            } => {
                let Some(id) = self.pick_transaction(*transaction) else {
                    return Ok(());
                };
                let Some(Some(real)) = self.transactions[id].as_ref().map(|t| &t.transaction)
                else {
                    return Ok(());
                };
                let wanted = store_name(*number);
                let parameters = ObjectStoreParameters::new()
                    .key_path(adapter::key_path(key_path.as_ref()))
                    .auto_increment(*auto_increment);
                let real = real.create_object_store(name(&wanted), parameters);
                let model = self
                    .world
                    .create_store(id, &wanted, key_path.clone(), *auto_increment);
                if let Some((model, real)) = Self::agree(model, real)? {
                    self.handles.push((model, Some(real)));
                }
                Ok(())
            }
            Action::DeleteStore {
                transaction,
                name: number,
            } => {
                let Some(id) = self.pick_transaction(*transaction) else {
                    return Ok(());
                };
                let Some(Some(real)) = self.transactions[id].as_ref().map(|t| &t.transaction)
                else {
                    return Ok(());
                };
                let wanted = store_name(*number);
                let real = real.delete_object_store(name(&wanted));
                let model = self.world.delete_store(id, &wanted);
                Self::agree(model, real).map(drop)
            }
            Action::RenameStore { on, name: number } => {
                let Some((model, real)) = self.handle(on)? else {
                    return Ok(());
                };
                let wanted = store_name(*number);
                let renamed = self.world.rename_store(model, &wanted);
                Self::agree(renamed, real.rename(name(&wanted)))?;
                self.compare_handle(model, &real)
            }
            _ => self.change_indexes(action),
        }
    }

    fn change_indexes(&mut self, action: &Action) -> Verdict {
        let (Action::CreateIndex {
            on, name: number, ..
        }
        | Action::DeleteIndex { on, name: number }
        | Action::RenameIndex { on, name: number }) = action
        else {
            return Err("no action on indexes".into());
        };
        let wanted = store_name(*number);
        let Some((handle, store)) = self.handle(on)? else {
            return Ok(());
        };
        match action {
            Action::CreateIndex {
                key_path,
                unique,
                multi_entry,
                ..
            } => {
                let options = IndexParameters::new()
                    .unique(*unique)
                    .multi_entry(*multi_entry);
                let path = adapter::key_path(Some(key_path));
                let asked = self.setup.has_foreign.then(|| self.world.store(handle));
                let real = match asked.flatten() {
                    None => store.create_index(name(&wanted), path, options),
                    Some(model) => {
                        let keys_of = foreign::asked(model, key_path, *multi_entry);
                        store.create_index_with_keys(name(&wanted), path, options, keys_of)
                    }
                };
                let model = self.world.create_index(
                    handle,
                    &wanted,
                    key_path.clone(),
                    *unique,
                    *multi_entry,
                );
                if let Some((model, real)) = Self::agree(model, real)? {
                    self.indexes.push((model, Some(real)));
                }
                // If the records did not fit, it has been aborted: at once in the model.
                self.settle()?;
            }
            Action::DeleteIndex { .. } => {
                let model = self.world.delete_index(handle, &wanted);
                Self::agree(model, store.delete_index(name(&wanted)))?;
            }
            _ => {
                let pick = on.index.unwrap_or(on.store);
                if let Some((index, real)) = self.index(handle, &store, pick)? {
                    let model = self.world.rename_index(index, &wanted);
                    Self::agree(model, real.rename(name(&wanted)))?;
                }
            }
        }
        self.compare_handle(handle, &store)
    }

    /// What a handle says of its store.
    fn compare_handle(&self, model: naive::Handle, real: &ObjectStore) -> Verdict {
        let Some(store) = self.world.store(model) else {
            return match real.is_deleted() {
                true => Ok(()),
                false => Err("the store is not deleted".into()),
            };
        };
        let mut indexes: Vec<&[u16]> = store.indexes.iter().map(|index| &*index.name).collect();
        indexes.sort_unstable();
        let is_same = real.name().units() == store.name
            && *real.key_path() == adapter::key_path(store.key_path.as_ref())
            && real.auto_increment() == store.generator.is_some()
            && real
                .index_names()
                .iter()
                .map(|name| name.units())
                .eq(indexes);
        match is_same && !real.is_deleted() {
            true => Ok(()),
            false => Err(format!("the store is not {store:?}")),
        }
    }
}
