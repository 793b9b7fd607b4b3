//! Names of databases, object stores and indexes, as calls take them: text of Rust's, or JavaScript's, which are not copied to be
//! looked up.

use std::borrow::Cow;
use std::ops::Deref;

use larder_codec::JsString;
use smallvec::SmallVec;

/// The name of a database, an object store or an index: any JavaScript string, the empty one and lone surrogates included. Calls
/// take what it is made from.
///
/// ```
/// # use larder_idb::{JsString, ObjectStore, Result, Transaction};
/// # fn find(transaction: &Transaction, text: String) -> Result<()> {
/// let books = transaction.object_store("books")?;
/// let named = transaction.object_store(text)?;
/// let odd = JsString::from_units(vec![0xd800]);
/// let lone_surrogate = transaction.object_store(&odd)?;
/// # Ok(())
/// # }
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Name<'a>(Cow<'a, JsString>);

impl Name<'_> {
    /// The string, copied if it was borrowed.
    #[must_use]
    pub fn into_js_string(self) -> JsString {
        self.0.into_owned()
    }
}

impl Deref for Name<'_> {
    type Target = JsString;

    fn deref(&self) -> &JsString {
        &self.0
    }
}

impl From<&str> for Name<'_> {
    fn from(name: &str) -> Self {
        Self(Cow::Owned(name.into()))
    }
}

/// A member of a list of texts.
impl From<&&str> for Name<'_> {
    fn from(name: &&str) -> Self {
        Self::from(*name)
    }
}

impl From<String> for Name<'_> {
    fn from(name: String) -> Self {
        Self::from(name.as_str())
    }
}

impl From<&String> for Name<'_> {
    fn from(name: &String) -> Self {
        Self::from(name.as_str())
    }
}

impl From<JsString> for Name<'_> {
    fn from(name: JsString) -> Self {
        Self(Cow::Owned(name))
    }
}

impl<'a> From<&'a JsString> for Name<'a> {
    fn from(name: &'a JsString) -> Self {
        Self(Cow::Borrowed(name))
    }
}

/// The names of the object stores that a transaction is to be of: one, or several in an array, a slice or a vector. Their order and
/// how often one is named mean nothing.
///
/// ```
/// # use larder_idb::{Connection, Result, TransactionMode, TransactionOptions};
/// # fn begin(library: &Connection, names: &[String]) -> Result<()> {
/// let (mode, options) = (TransactionMode::ReadOnly, TransactionOptions::default());
/// let one = library.transaction("books", mode, options)?;
/// let two = library.transaction(["books", "loans"], mode, options)?;
/// let any = library.transaction(names, mode, options)?;
/// let all = library.transaction(library.object_store_names(), mode, options)?;
/// # Ok(())
/// # }
/// ```
#[derive(Debug, Clone)]
pub struct Scope<'a>(SmallVec<[Name<'a>; 2]>);

impl<'a> Scope<'a> {
    fn of(names: impl IntoIterator<Item = impl Into<Name<'a>>>) -> Self {
        Self(names.into_iter().map(Into::into).collect())
    }

    pub(crate) fn names(&self) -> &[Name<'a>] {
        &self.0
    }
}

macro_rules! one_name {
    ($($name:ty),*) => {
        $(
            impl<'a> From<$name> for Scope<'a> {
                fn from(name: $name) -> Self {
                    Self::of([name])
                }
            }
        )*
    };
}

one_name!(&'a str, String, &'a String, JsString, &'a JsString);

impl<'a, T: Into<Name<'a>>, const N: usize> From<[T; N]> for Scope<'a> {
    fn from(names: [T; N]) -> Self {
        Self::of(names)
    }
}

impl<'a, T: Into<Name<'a>>> From<Vec<T>> for Scope<'a> {
    fn from(names: Vec<T>) -> Self {
        Self::of(names)
    }
}

impl<'a, T> From<&'a [T]> for Scope<'a>
where
    &'a T: Into<Name<'a>>,
{
    fn from(names: &'a [T]) -> Self {
        Self::of(names)
    }
}

impl<'a, T, const N: usize> From<&'a [T; N]> for Scope<'a>
where
    &'a T: Into<Name<'a>>,
{
    fn from(names: &'a [T; N]) -> Self {
        Self::of(names)
    }
}

impl<'a, T> From<&'a Vec<T>> for Scope<'a>
where
    &'a T: Into<Name<'a>>,
{
    fn from(names: &'a Vec<T>) -> Self {
        Self::of(names)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names<'a>(scope: impl Into<Scope<'a>>) -> Vec<String> {
        let scope = scope.into();
        scope.names().iter().map(|name| name.to_string()).collect()
    }

    #[test]
    fn whatever_holds_names_gives_the_same_scope() {
        let texts = ["b", "a"].map(String::from);
        let strings = texts.clone().map(JsString::from);
        assert_eq!(names(["b", "a"]), texts);
        assert_eq!(names(["b", "a"]), texts);
        assert_eq!(names(["b", "a"].as_slice()), texts);
        assert_eq!(names(&texts), texts);
        assert_eq!(names(texts.to_vec()), texts);
        assert_eq!(names(&strings), texts);
        assert_eq!(names(strings.as_slice()), texts);
        assert_eq!(names(strings.to_vec()), texts);
        assert_eq!(names(strings), texts);
        assert_eq!(names("b"), texts[..1]);
        assert_eq!(names(&texts[0]), texts[..1]);
        assert_eq!(names(JsString::from("b")), texts[..1]);
    }

    #[test]
    fn a_name_that_is_looked_up_is_not_copied() {
        let string = JsString::from("books");
        let name = Name::from(&string);
        assert!(std::ptr::eq(name.units(), string.units()));
    }
}
