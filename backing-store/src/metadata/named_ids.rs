//! The ids that name rows give, read once for each opening of a store.

use std::sync::OnceLock;

use larder_codec::DatabaseId;

use super::name::read_database_names;
use crate::error::Result;
use crate::view::View;

/// The ids of the databases that had a name when this was first asked, ascending; one that two names have stands there twice.
///
/// Reading the name rows at each opening of a database would cost the square of their number. Once is enough: a new database gets an
/// id that neither was in use then nor is given again, and of two databases of one id neither is deleted.
#[derive(Debug, Default)]
pub(crate) struct NamedIds(OnceLock<Vec<DatabaseId>>);

impl NamedIds {
    /// Whether a name row had the id.
    pub(crate) fn has(&self, view: &View, id: DatabaseId) -> Result<bool> {
        Ok(self.read(view)?.binary_search(&id).is_ok())
    }

    /// Whether two name rows have the id: then the rows may be either database's.
    pub(crate) fn has_twice(&self, view: &View, id: DatabaseId) -> Result<bool> {
        let ids = self.read(view)?;
        let at = ids.partition_point(|other| *other < id);
        Ok(ids.get(at..).unwrap_or_default().starts_with(&[id, id]))
    }

    fn read(&self, view: &View) -> Result<&[DatabaseId]> {
        if let Some(ids) = self.0.get() {
            return Ok(ids);
        }
        // What is wrong with a name row is reported when its own database is asked for.
        let names = read_database_names(view, &mut Vec::new())?;
        let mut ids: Vec<_> = names.iter().map(|name| name.id).collect();
        ids.sort_unstable();
        Ok(self.0.get_or_init(|| ids))
    }
}
