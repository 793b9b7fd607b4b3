//! The databases of one origin.

use std::collections::BTreeMap;
use std::sync::{Arc, Weak};

use larder_codec::{JsString, Origin as OriginName};

use super::{AllClosed, Database};
use crate::error::Error;
use crate::origin::{Origin, Place, Shared, StoreUsers};
use crate::sync::{Mutex, locked};

/// The databases that a host has asked for, and the origin that their store belongs to.
pub(crate) struct Databases {
    pub(crate) origin: Arc<Origin>,
    by_name: Mutex<BTreeMap<JsString, Weak<Database>>>,
}

impl Databases {
    pub(crate) fn new(name: OriginName, place: Place, shared: Arc<Shared>) -> Arc<Self> {
        Arc::new_cyclic(|databases: &Weak<Self>| Self {
            origin: Arc::new(Origin::new(name, place, shared, databases.clone() as _)),
            by_name: Mutex::default(),
        })
    }

    /// The database of this name, there or not.
    pub(crate) fn get(self: &Arc<Self>, name: &JsString) -> Arc<Database> {
        let mut by_name = locked(&self.by_name);
        if let Some(database) = by_name.get(name).and_then(Weak::upgrade) {
            return database;
        }
        by_name.retain(|_, other| other.strong_count() > 0);
        let database = Arc::new(Database::new(Arc::clone(self), name.clone()));
        by_name.insert(name.clone(), Arc::downgrade(&database));
        database
    }

    /// Whether a handle, a database or the store needs it.
    pub(crate) fn is_used(self: &Arc<Self>) -> bool {
        Arc::strong_count(self) > 1 || Arc::strong_count(&self.origin) > 1
    }

    /// Closes all connections, or those to one database, by force.
    pub(crate) fn force_close(
        &self,
        name: Option<&JsString>,
        why: &Error,
        end: Option<&Arc<AllClosed>>,
    ) {
        for database in self.all() {
            if name.is_none_or(|name| *name == database.name) {
                database.force_close(why, end);
            }
        }
    }

    fn all(&self) -> Vec<Arc<Database>> {
        let by_name = locked(&self.by_name);
        by_name.values().filter_map(Weak::upgrade).collect()
    }
}

impl StoreUsers for Databases {
    fn refuse_new(&self) {
        for database in self.all() {
            database.refuse_new();
        }
    }

    fn close_all(&self) {
        for database in self.all() {
            database.close_all();
        }
    }

    fn force_close(&self, why: &Error) {
        Self::force_close(self, None, why, None);
    }
}
