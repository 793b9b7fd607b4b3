//! Name rows: which databases there are.

use std::collections::BTreeSet;

use larder_codec::primitive::int;
use larder_codec::row_key::{GlobalKey, RowKey};
use larder_codec::{DatabaseId, Error as CodecError, ErrorKind as CodecErrorKind, JsString, range};

use super::rows::scan;
use crate::error::{Error, Result};
use crate::view::View;

/// What a database's name row says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DatabaseName {
    /// The database's id.
    pub id: DatabaseId,
    /// The origin's identifier: `https_example.com_0@1`.
    pub origin: JsString,
    /// The database's name.
    pub name: JsString,
}

/// The name rows of all databases, by origin, then by name. Two databases of one id are a problem.
pub(crate) fn read_database_names(
    view: &View,
    problems: &mut Vec<Error>,
) -> Result<Vec<DatabaseName>> {
    let mut names: Vec<DatabaseName> = Vec::new();
    let low = range::database_names_low(&JsString::default());
    // Name rows are the last of the global metadata: the first database's rows end them.
    let high = range::database_low(DatabaseId::MIN);
    scan(view, &low, &high, problems, |row, value| {
        if let RowKey::Global(GlobalKey::DatabaseName { origin, name }) = row {
            let id = database_id(value)?;
            names.push(DatabaseName { id, origin, name });
        }
        Ok(())
    })?;
    let mut ids = BTreeSet::new();
    for name in &names {
        if !ids.insert(name.id) {
            problems.push(shared(name));
        }
    }
    Ok(names)
}

/// A database that has the rows of another.
pub(super) fn shared(database: &DatabaseName) -> Error {
    let mut key = Vec::new();
    GlobalKey::DatabaseName {
        origin: database.origin.clone(),
        name: database.name.clone(),
    }
    .encode(&mut key);
    let what = format!("two databases have the id {}", database.id);
    Error::inconsistent(&key, what)
}

pub(super) fn database_id(value: &[u8]) -> larder_codec::Result<DatabaseId> {
    let id = int::decode_exact(value)?;
    DatabaseId::new(id).ok_or_else(|| {
        let found = id.cast_unsigned();
        CodecError::new(CodecErrorKind::Invalid { found }, 0, "database id")
    })
}
