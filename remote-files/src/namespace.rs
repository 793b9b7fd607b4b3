//! The name of a file tree in a cluster.

use crate::error::{Error, ErrorKind, Result};
use std::fmt;

/// How many bytes a namespace's name may have.
pub const NAME_LEN_MAX: usize = 255;

/// The name of a namespace: one file tree, which one process writes at a time. Namespaces of a cluster share nothing.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Namespace(String);

impl Namespace {
    /// A name of 1 to [`NAME_LEN_MAX`] bytes without control characters.
    ///
    /// ```
    /// use larder_remote_files::Namespace;
    /// assert!(Namespace::new("tenants/7/https_example.org_0").is_ok());
    /// assert!(Namespace::new("").is_err() && Namespace::new("a\0b").is_err());
    /// ```
    ///
    /// # Errors
    /// `Usage` for any other.
    pub fn new(name: impl Into<String>) -> Result<Namespace> {
        let name = name.into();
        let is_good =
            !name.is_empty() && name.len() <= NAME_LEN_MAX && !name.contains(char::is_control);
        match is_good {
            true => Ok(Namespace(name)),
            false => Err(Error::new(
                ErrorKind::Usage,
                format!(
                    "{name:?} is no name of a namespace: 1 to {NAME_LEN_MAX} bytes without control characters"
                ),
            )),
        }
    }

    /// The name.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for Namespace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}
