//! The backend, on `larder-idb`.

use std::sync::mpsc::{self, Receiver};

use larder_idb::{
    Connection, Error, ErrorName, Factory, Foreign, IndexParameters, JsString, Key, KeyPath,
    ObjectStore, ObjectStoreParameters, OpenEvent, OpenRequest, Transaction, TransactionMode,
    TransactionOptions,
};

use crate::backend::{Backend, Request, Result, Upgrade};
use crate::operations::{check_format, queue};

/// A database; without a connection as long as it is not there.
pub(crate) struct Database {
    factory: Factory,
    name: JsString,
    connection: Option<Connection>,
}

impl Database {
    /// Opens a database if it is there.
    pub(crate) fn open(factory: &Factory, name: &str) -> Result<Self> {
        let name = JsString::from(name);
        let infos = factory.databases().wait()?;
        let connection = match infos.iter().any(|info| info.name == name) {
            true => Some(factory.open(&name, None)?.connection().wait()?),
            false => None,
        };
        Ok(Self {
            factory: factory.clone(),
            name,
            connection,
        })
    }

    fn connection(&self) -> Result<&Connection> {
        let missing = || Error::new(ErrorName::NotFoundError, "the database is not there yet");
        self.connection.as_ref().ok_or_else(missing)
    }

    fn begin(&self, stores: &[JsString], mode: TransactionMode) -> Result<Transaction> {
        let options = TransactionOptions::default();
        self.connection()?.transaction(stores, mode, options)
    }

    /// Looks at an object store's schema.
    fn look<T>(&self, store: &str, look: impl FnOnce(ObjectStore) -> Result<T>) -> Result<T> {
        let name = JsString::from(store);
        let transaction = self.begin(std::slice::from_ref(&name), TransactionMode::ReadOnly)?;
        look(transaction.object_store(&name)?)
    }
}

impl Backend for Database {
    type Upgrade = VersionChange;

    fn version(&self) -> u64 {
        self.connection.as_ref().map_or(0, Connection::version)
    }

    fn stores(&self) -> Vec<String> {
        let names = self.connection.as_ref().map(Connection::object_store_names);
        let names = names.into_iter().flatten();
        names.map(|name| name.to_string_lossy()).collect()
    }

    fn key_path(&self, store: &str) -> Result<KeyPath> {
        self.look(store, |store| Ok(store.key_path().clone()))
    }

    fn has_key_generator(&self, store: &str) -> Result<bool> {
        self.look(store, |store| Ok(store.auto_increment()))
    }

    fn indexes(&self, store: &str) -> Result<Vec<(String, KeyPath, bool)>> {
        self.look(store, |store| {
            let names = store.index_names().into_iter();
            let describe = |name: JsString| {
                let index = store.index(&name)?;
                let (key_path, multi_entry) = (index.key_path().clone(), index.multi_entry());
                Ok((name.to_string_lossy(), key_path, multi_entry))
            };
            names.map(describe).collect()
        })
    }

    fn process(&self, writes: bool, requests: Vec<Request>) -> Result<Receiver<Result<()>>> {
        let mut stores: Vec<JsString> = requests.iter().map(|r| (&*r.store).into()).collect();
        stores.sort();
        stores.dedup();
        let mode = match writes {
            true => TransactionMode::ReadWrite,
            false => TransactionMode::ReadOnly,
        };
        let transaction = self.begin(&stores, mode)?;
        let (sender, ended) = mpsc::channel();
        // It is of no use any more if the receiver is gone.
        let finished = transaction.finished();
        finished.on_done(move |result| drop(sender.send(result)));
        for request in requests {
            queue(&transaction, request)?;
        }
        drop(transaction.commit());
        Ok(ended)
    }

    fn upgrade(self, version: u64) -> Result<VersionChange> {
        if let Some(connection) = &self.connection {
            connection.close();
        }
        let opening = self.factory.open(&self.name, Some(version))?;
        loop {
            match opening.events().wait_next() {
                Some(OpenEvent::UpgradeNeeded(upgrade)) => {
                    return Ok(VersionChange {
                        opening,
                        transaction: upgrade.transaction,
                        factory: self.factory,
                        name: self.name,
                    });
                }
                Some(OpenEvent::Blocked { .. }) => {}
                Some(OpenEvent::Done(Err(error))) => return Err(error),
                Some(OpenEvent::Done(Ok(_))) | None => {
                    let what = "the database has this version already";
                    return Err(Error::new(ErrorName::VersionError, what));
                }
            }
        }
    }

    fn delete(self) -> Result<u64> {
        if let Some(connection) = &self.connection {
            connection.close();
        }
        self.factory.delete_database(&self.name).done().wait()
    }
}

/// A version change, and the request to open that waits for its end.
pub(crate) struct VersionChange {
    opening: OpenRequest,
    transaction: Transaction,
    factory: Factory,
    name: JsString,
}

impl VersionChange {
    fn store(&self, name: &str) -> Result<ObjectStore> {
        self.transaction.object_store(name)
    }

    fn outcome(&self) -> Result<Connection> {
        loop {
            match self.opening.events().wait_next() {
                Some(OpenEvent::Done(result)) => return result,
                Some(_) => {}
                None => return Err(Error::new(ErrorName::AbortError, "the storage was closed")),
            }
        }
    }
}

impl Upgrade for VersionChange {
    type Backend = Database;

    fn create_store(&self, name: &str, parameters: ObjectStoreParameters) -> Result<()> {
        let created = self.transaction.create_object_store(name, parameters);
        created.map(drop)
    }

    fn delete_store(&self, name: &str) -> Result<()> {
        self.transaction.delete_object_store(name)
    }

    fn create_index(
        &self,
        store: &str,
        name: &str,
        key_path: KeyPath,
        options: IndexParameters,
        mut keys_of: impl FnMut(&[u8]) -> Vec<Key> + Send + 'static,
    ) -> Result<()> {
        let keys_of = move |_: &Key, value: &Foreign<'_>| {
            check_format(value)?;
            Ok(keys_of(value.bytes()))
        };
        let store = self.store(store)?;
        let created = store.create_index_with_keys(name, key_path, options, keys_of);
        created.map(drop)
    }

    fn delete_index(&self, store: &str, name: &str) -> Result<()> {
        self.store(store)?.delete_index(name)
    }

    fn process(&self, requests: Vec<Request>) -> Result<()> {
        let mut requests = requests.into_iter();
        requests.try_for_each(|request| queue(&self.transaction, request))
    }

    fn commit(self) -> Result<Database> {
        self.transaction.commit()?.detach();
        let connection = self.outcome()?;
        Ok(Database {
            factory: self.factory,
            name: self.name,
            connection: Some(connection),
        })
    }

    fn abort(self) -> Result<Database> {
        self.transaction.abort(None)?;
        drop(self.outcome());
        Database::open(&self.factory, &self.name.to_string_lossy())
    }
}
