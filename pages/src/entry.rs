//! An entry of a page: key, value, priority.

use crate::object::{ObjectIdentifier, Priority};

/// A key with what it leads to. Entries are in the order of their keys' bytes.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Entry {
    /// The key.
    pub key: Vec<u8>,
    /// The name of the value.
    pub value: ObjectIdentifier,
    /// Whether the value comes with the page.
    pub priority: Priority,
}

/// What happens to a key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Change {
    /// The key.
    pub key: Vec<u8>,
    /// The value that it gets; `None` takes the entry away, if there is one.
    pub value: Option<(ObjectIdentifier, Priority)>,
}
