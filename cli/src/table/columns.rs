//! The columns of a table: names of properties, in the order in which they are first met.

use std::collections::HashMap;
use std::io;

use super::{VALUE_COLUMN, cell};
use crate::archive::Json;
use crate::scan::Stop;

/// Values with more properties than these are no rows of a table.
pub const COLUMNS_MAX: usize = 4096;

/// The columns behind that of the keys.
#[derive(Debug, Default)]
pub struct Columns {
    names: Vec<String>,
    places: HashMap<String, usize>,
}

impl Columns {
    /// Columns of these names.
    #[must_use]
    pub fn of_names(names: &[String]) -> Self {
        let mut columns = Self::default();
        names.iter().for_each(|name| columns.add(name));
        columns
    }

    fn add(&mut self, name: &str) {
        if !self.places.contains_key(name) {
            self.places.insert(name.to_owned(), self.names.len());
            self.names.push(name.to_owned());
        }
    }

    /// Adds the names that a value has.
    ///
    /// # Errors
    /// If there are too many.
    pub(super) fn take(&mut self, value: &Json) -> Result<(), Stop> {
        match properties(value) {
            Some(properties) => properties.for_each(|(name, _)| self.add(&name)),
            None => self.add(VALUE_COLUMN),
        }
        if self.names.len() > COLUMNS_MAX {
            let what = format!(
                "the object store has more than {COLUMNS_MAX} properties: name some with --columns"
            );
            return Err(Stop::Output(io::Error::other(what)));
        }
        Ok(())
    }

    /// Their names.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.names.iter().map(String::as_str)
    }

    /// The row of a value: what it has in each column.
    pub(super) fn row<'v>(&self, value: &'v Json) -> Vec<Option<&'v Json>> {
        let mut row = vec![None; self.names.len()];
        let mut put = |name: &str, value: &'v Json| {
            let place = self.places.get(name).and_then(|at| row.get_mut(*at));
            if let Some(place) = place {
                *place = Some(value);
            }
        };
        match properties(value) {
            Some(properties) => properties.for_each(|(name, value)| put(&name, value)),
            None => put(VALUE_COLUMN, value),
        }
        row
    }
}

/// The properties of an object; `None` of anything else.
fn properties(value: &Json) -> Option<Box<dyn Iterator<Item = (String, &Json)> + '_>> {
    let Json::Object(members) = value else {
        return None;
    };
    let members = match &members[..] {
        [(id, _), rest @ ..] if id == "$id" => rest,
        all => all,
    };
    match members {
        [(tag, Json::Array(pairs))] if tag == "$object" => {
            Some(Box::new(pairs.iter().filter_map(|pair| {
                let [name, value] = pair.items().ok()? else {
                    return None;
                };
                Some((cell::text(name), value))
            })))
        }
        [(tag, _), ..] if tag.starts_with('$') => None,
        members => Some(Box::new(
            members.iter().map(|(name, value)| (name.clone(), value)),
        )),
    }
}
