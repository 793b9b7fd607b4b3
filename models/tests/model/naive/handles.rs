//! What a page does to get at stores and indexes, and to change them (specification, 4.4 to 4.6, 4.10).

use super::Exception;
use super::database::World;
use super::key_generator::KeyGenerator;
use super::key_path::{self, KeyPath};
use super::store::{Index, Store};
use super::transaction::{Mode, State, Transaction};

/// An object store handle.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Handle {
    pub(crate) transaction: usize,
    pub(crate) store: usize,
}

/// An index handle.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct IndexHandle {
    pub(crate) of: Handle,
    pub(crate) index: usize,
}

type Name = [u16];

impl World {
    /// `IDBDatabase.transaction()`.
    pub(crate) fn transaction(
        &mut self,
        connection: usize,
        names: &[Vec<u16>],
        mode: Mode,
    ) -> Result<usize, Exception> {
        let is_upgrading = (self.transactions.iter()).any(|transaction| {
            transaction.connection == connection
                && transaction.mode == Mode::VersionChange
                && transaction.state != State::Finished
        });
        if is_upgrading || self.connections[connection].close_pending {
            return Err("InvalidStateError");
        }
        let content = &self.databases[&self.connections[connection].database];
        let mut scope = Vec::new();
        for name in names {
            let store = content.stores.iter().find(|store| store.name == *name);
            let id = store.ok_or("NotFoundError")?.id;
            if !scope.contains(&id) {
                scope.push(id);
            }
        }
        if scope.is_empty() {
            return Err("InvalidAccessError");
        }
        self.transactions
            .push(Transaction::new(connection, mode, scope));
        self.pump();
        Ok(self.transactions.len() - 1)
    }

    /// The store of a handle, unless it has been deleted.
    pub(crate) fn store(&self, handle: Handle) -> Option<&Store> {
        let transaction = &self.transactions[handle.transaction];
        let stores = match transaction.state {
            State::Finished => &transaction.stores_after,
            _ => &self.databases[&self.connections[transaction.connection].database].stores,
        };
        stores.iter().find(|store| store.id == handle.store)
    }

    /// The index of a handle, unless it or its store has been deleted.
    pub(crate) fn index(&self, handle: IndexHandle) -> Option<&Index> {
        let indexes = &self.store(handle.of)?.indexes;
        indexes.iter().find(|index| index.id == handle.index)
    }

    pub(crate) fn is_active(&self, transaction: usize) -> Result<(), Exception> {
        match self.transactions[transaction].state {
            State::Active => Ok(()),
            _ => Err("TransactionInactiveError"),
        }
    }

    /// `IDBTransaction.objectStore()`.
    pub(crate) fn object_store(&self, id: usize, name: &Name) -> Result<Handle, Exception> {
        let transaction = &self.transactions[id];
        if transaction.state == State::Finished {
            return Err("InvalidStateError");
        }
        let content = &self.databases[&self.connections[transaction.connection].database];
        let store = content.stores.iter().find(|store| store.name == *name);
        let store = store.ok_or("NotFoundError")?.id;
        if transaction.mode != Mode::VersionChange && !transaction.scope.contains(&store) {
            return Err("NotFoundError");
        }
        Ok(Handle {
            transaction: id,
            store,
        })
    }

    /// `IDBObjectStore.index()`.
    pub(crate) fn open_index(&self, of: Handle, name: &Name) -> Result<IndexHandle, Exception> {
        let store = self.store(of).ok_or("InvalidStateError")?;
        if self.transactions[of.transaction].state == State::Finished {
            return Err("InvalidStateError");
        }
        let index = store.indexes.iter().find(|index| index.name == *name);
        let index = index.ok_or("NotFoundError")?.id;
        Ok(IndexHandle { of, index })
    }

    fn must_upgrade(&self, transaction: usize) -> Result<(), Exception> {
        match self.transactions[transaction].mode {
            Mode::VersionChange => Ok(()),
            _ => Err("InvalidStateError"),
        }
    }

    /// `createObjectStore()` and `deleteObjectStore()` look whether there is a live upgrade transaction; on a transaction
    /// that has ended there is none any more.
    fn must_upgrade_now(&self, transaction: usize) -> Result<(), Exception> {
        self.must_upgrade(transaction)?;
        match self.transactions[transaction].state {
            State::Finished => Err("InvalidStateError"),
            _ => self.is_active(transaction),
        }
    }

    fn stores(&mut self, transaction: usize) -> &mut Vec<Store> {
        let connection = self.transactions[transaction].connection;
        let database = &self.connections[connection].database;
        &mut self.databases.entry(database.clone()).or_default().stores
    }

    fn names_changed(&mut self, transaction: usize) {
        let mut names: Vec<_> = (self.stores(transaction).iter())
            .map(|store| store.name.clone())
            .collect();
        names.sort();
        let connection = self.transactions[transaction].connection;
        self.connections[connection].names = names;
    }

    /// `IDBDatabase.createObjectStore()`.
    pub(crate) fn create_store(
        &mut self,
        transaction: usize,
        name: &Name,
        key_path: Option<KeyPath>,
        auto_increment: bool,
    ) -> Result<Handle, Exception> {
        self.must_upgrade_now(transaction)?;
        if key_path
            .as_ref()
            .is_some_and(|path| !key_path::is_valid(path))
        {
            return Err("SyntaxError");
        }
        if self
            .stores(transaction)
            .iter()
            .any(|store| store.name == *name)
        {
            return Err("ConstraintError");
        }
        let is_for_generator = match &key_path {
            None => true,
            Some(KeyPath::One(path)) => !path.is_empty(),
            Some(KeyPath::Several(_)) => false,
        };
        if auto_increment && !is_for_generator {
            return Err("InvalidAccessError");
        }
        let id = self.next_id();
        self.stores(transaction).push(Store {
            id,
            name: name.to_vec(),
            key_path,
            generator: auto_increment.then(KeyGenerator::new),
            records: Vec::new(),
            indexes: Vec::new(),
        });
        self.names_changed(transaction);
        Ok(Handle {
            transaction,
            store: id,
        })
    }

    /// `IDBDatabase.deleteObjectStore()`.
    pub(crate) fn delete_store(
        &mut self,
        transaction: usize,
        name: &Name,
    ) -> Result<(), Exception> {
        self.must_upgrade_now(transaction)?;
        let stores = self.stores(transaction);
        let at = stores.iter().position(|store| store.name == *name);
        stores.remove(at.ok_or("NotFoundError")?);
        self.names_changed(transaction);
        Ok(())
    }

    /// Setting `IDBObjectStore.name`.
    pub(crate) fn rename_store(&mut self, handle: Handle, name: &Name) -> Result<(), Exception> {
        let before = self.store(handle).ok_or("InvalidStateError")?.name.clone();
        self.must_upgrade(handle.transaction)?;
        self.is_active(handle.transaction)?;
        if before == name {
            return Ok(());
        }
        let stores = self.stores(handle.transaction);
        if stores.iter().any(|store| store.name == *name) {
            return Err("ConstraintError");
        }
        for store in stores.iter_mut().filter(|store| store.id == handle.store) {
            store.name = name.to_vec();
        }
        self.names_changed(handle.transaction);
        Ok(())
    }

    /// `IDBObjectStore.createIndex()`. If the records do not fit, the transaction is aborted.
    pub(crate) fn create_index(
        &mut self,
        of: Handle,
        name: &Name,
        key_path: KeyPath,
        unique: bool,
        multi_entry: bool,
    ) -> Result<IndexHandle, Exception> {
        self.must_upgrade(of.transaction)?;
        let store = self.store(of).ok_or("InvalidStateError")?.clone();
        self.is_active(of.transaction)?;
        if store.indexes.iter().any(|index| index.name == *name) {
            return Err("ConstraintError");
        }
        if !key_path::is_valid(&key_path) {
            return Err("SyntaxError");
        }
        if multi_entry && matches!(key_path, KeyPath::Several(_)) {
            return Err("InvalidAccessError");
        }
        let id = self.next_id();
        let mut index = Index {
            id,
            name: name.to_vec(),
            key_path,
            unique,
            multi_entry,
            records: Vec::new(),
        };
        let filled = store.fill(&mut index);
        let stores = self.stores(of.transaction);
        for store in stores.iter_mut().filter(|store| store.id == of.store) {
            store.indexes.push(index.clone());
        }
        if let Err(exception) = filled {
            // Not a request, but it comes after all that were made before.
            self.transactions[of.transaction].failed = Some(usize::MAX);
            self.abort_with(of.transaction, exception);
            self.pump();
        }
        Ok(IndexHandle { of, index: id })
    }

    /// `IDBObjectStore.deleteIndex()`.
    pub(crate) fn delete_index(&mut self, of: Handle, name: &Name) -> Result<(), Exception> {
        self.must_upgrade(of.transaction)?;
        self.store(of).ok_or("InvalidStateError")?;
        self.is_active(of.transaction)?;
        let stores = self.stores(of.transaction);
        let store = stores.iter_mut().find(|store| store.id == of.store);
        let indexes = &mut store.ok_or("InvalidStateError")?.indexes;
        let at = indexes.iter().position(|index| index.name == *name);
        indexes.remove(at.ok_or("NotFoundError")?);
        Ok(())
    }

    /// Setting `IDBIndex.name`.
    pub(crate) fn rename_index(
        &mut self,
        handle: IndexHandle,
        name: &Name,
    ) -> Result<(), Exception> {
        self.must_upgrade(handle.of.transaction)?;
        self.is_active(handle.of.transaction)?;
        let before = self.index(handle).ok_or("InvalidStateError")?.name.clone();
        if before == name {
            return Ok(());
        }
        let stores = self.stores(handle.of.transaction);
        for store in stores
            .iter_mut()
            .filter(|store| store.id == handle.of.store)
        {
            if store.indexes.iter().any(|index| index.name == *name) {
                return Err("ConstraintError");
            }
            for index in &mut store.indexes {
                if index.id == handle.index {
                    index.name = name.to_vec();
                }
            }
        }
        Ok(())
    }
}
