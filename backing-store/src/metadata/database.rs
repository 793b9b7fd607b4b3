//! A database: its name row and its fields.

use larder_codec::primitive::{int, var_int};
use larder_codec::row_key::{DatabaseField, DatabaseKey, GlobalKey, RowKey};
use larder_codec::{DatabaseId, Error as CodecError, ErrorKind as CodecErrorKind, JsString, range};

use super::object_store::{ObjectStoreMetadata, read_object_stores};
use super::rows::scan;
use crate::error::{Error, Result};
use crate::view::View;

/// One database of an origin.
#[derive(Debug, Clone, PartialEq)]
pub struct DatabaseMetadata {
    /// Its id.
    pub id: DatabaseId,
    /// The origin's identifier as the name row has it: `https_example.com_0@1`.
    pub origin: JsString,
    /// Its name.
    pub name: JsString,
    /// Its version; `None` while no version change has ever been committed. Chromium shows no such database.
    pub version: Option<i64>,
    /// Its object stores, in order of id.
    pub object_stores: Vec<ObjectStoreMetadata>,
}

/// All databases in the order of their name rows: by origin, then by name.
pub(crate) fn read_databases(
    view: &View,
    problems: &mut Vec<Error>,
) -> Result<Vec<DatabaseMetadata>> {
    let mut databases = Vec::new();
    let low = range::database_names_low(&JsString::default());
    // Name rows are the last of the global metadata: the first database's rows end them.
    let high = range::database_low(DatabaseId::MIN);
    scan(view, &low, &high, problems, |row, value| {
        if let RowKey::Global(GlobalKey::DatabaseName { origin, name }) = row {
            databases.push((database_id(value)?, origin, name));
        }
        Ok(())
    })?;
    databases
        .into_iter()
        .map(|(id, origin, name)| read_metadata(view, id, origin, name, problems))
        .collect()
}

/// The database that a name row speaks of.
pub(crate) fn read_database(
    view: &View,
    origin: &JsString,
    name: &JsString,
    problems: &mut Vec<Error>,
) -> Result<Option<DatabaseMetadata>> {
    let mut key = Vec::new();
    let (origin, name) = (origin.clone(), name.clone());
    let row_key = GlobalKey::DatabaseName {
        origin: origin.clone(),
        name: name.clone(),
    };
    row_key.encode(&mut key);
    let Some(value) = view.get(&key)? else {
        return Ok(None);
    };
    match database_id(&value) {
        Ok(id) => read_metadata(view, id, origin, name, problems).map(Some),
        Err(error) => {
            let what = "metadata row with an undecodable value";
            problems.push(Error::row(&key, what, error));
            Ok(None)
        }
    }
}

fn read_metadata(
    view: &View,
    id: DatabaseId,
    origin: JsString,
    name: JsString,
    problems: &mut Vec<Error>,
) -> Result<DatabaseMetadata> {
    Ok(DatabaseMetadata {
        id,
        origin,
        name,
        version: read_version(view, id, problems)?,
        object_stores: read_object_stores(view, id, problems)?,
    })
}

fn database_id(value: &[u8]) -> larder_codec::Result<DatabaseId> {
    let id = int::decode_exact(value)?;
    DatabaseId::new(id).ok_or_else(|| {
        let found = id.cast_unsigned();
        CodecError::new(CodecErrorKind::Invalid { found }, 0, "database id")
    })
}

/// 0 is what creation writes before the first version change commits, and what an aborted one leaves.
pub(crate) fn read_version(
    view: &View,
    id: DatabaseId,
    problems: &mut Vec<Error>,
) -> Result<Option<i64>> {
    let mut key = Vec::new();
    let field = DatabaseField::UserVersion;
    DatabaseKey {
        database_id: id,
        field,
    }
    .encode(&mut key);
    let value = match view.get(&key) {
        Ok(value) => value,
        Err(error) if error.kind() == crate::ErrorKind::Corruption => {
            problems.push(error);
            return Ok(None);
        }
        Err(error) => return Err(error),
    };
    let Some(value) = value else {
        problems.push(Error::inconsistent(&key, "the database has no version row"));
        return Ok(None);
    };
    match var_int::decode_exact(&value) {
        Ok(version) => Ok(Some(version).filter(|version| *version > 0)),
        Err(error) => {
            problems.push(Error::row(&key, "version of the database", error));
            Ok(None)
        }
    }
}
