//! A connection that holds one moment of a database's file.

use std::sync::Arc;

use larder_backing_store::Error;

use super::file::LiveFile;
use crate::database::Database;
use crate::parts::Part;
use crate::schema::Schema;

/// The moment. When it is dropped, the connection is used again.
#[derive(Debug)]
pub(super) struct Reader {
    file: Arc<LiveFile>,
    /// Nothing once it is given back.
    connection: Option<IdleReader>,
}

/// A connection that holds no moment, and the parts that it shows of the file.
#[derive(Debug)]
pub(super) struct IdleReader {
    database: Arc<Database>,
    schema: Arc<Schema>,
    parts: Arc<Vec<Part>>,
}

impl IdleReader {
    pub(super) fn new(database: Database, schema: Arc<Schema>) -> Self {
        let database = Arc::new(database);
        Self {
            parts: Arc::new(Part::of_object_stores(&database, &schema)),
            database,
            schema,
        }
    }

    /// Goes by what the file has become.
    fn follow(&mut self, schema: &Arc<Schema>) {
        if !Arc::ptr_eq(&self.schema, schema) {
            self.database.follow(schema);
            self.schema = Arc::clone(schema);
            self.parts = Arc::new(Part::of_object_stores(&self.database, schema));
        }
    }
}

impl Reader {
    /// Holds the file as it is now, whose schema this is: the caller keeps commits from ending meanwhile.
    pub(super) fn begin(file: &Arc<LiveFile>, schema: &Arc<Schema>) -> Result<Self, Error> {
        let mut connection = file.idle_reader(schema)?;
        connection.follow(schema);
        connection.database.hold(true)?;
        Ok(Self {
            file: Arc::clone(file),
            connection: Some(connection),
        })
    }

    /// What it shows of the file.
    pub(super) fn parts(&self) -> Arc<Vec<Part>> {
        let parts = self.connection.as_ref();
        parts
            .map(|idle| Arc::clone(&idle.parts))
            .unwrap_or_default()
    }
}

impl Drop for Reader {
    fn drop(&mut self) {
        let Some(connection) = self.connection.take() else {
            return;
        };
        // A connection that cannot let go of its moment is closed.
        if connection.database.hold(false).is_ok() {
            self.file.give_back(connection);
        }
    }
}
