//! Key generators: numbers taken, the next one read and set.

use std::sync::Arc;

use larder_codec::Key;

use super::ObjectStore;
use crate::error::{Error, ErrorName, Result};
use crate::execution::Length;
use crate::operation;
use crate::request::Request;

/// The greatest number that a key generator can be set to: one above the last key that it gives, 2^53. There it is used up.
const NEXT_MAX: u64 = (1 << 53) + 1;

impl ObjectStore {
    /// Takes the next number of the key generator, for a host that needs the key before it has serialised the value: a value of
    /// [another engine](crate::Value::foreign) that has its key inside it. The number is used up, whether a record is put under it or
    /// not; if the transaction is aborted, it is given back.
    ///
    /// # Errors
    /// At once: `InvalidAccessError` if the object store has no key generator. The request: `ConstraintError` if it is used up.
    pub fn generate_key(&self) -> Result<Request<Key>> {
        self.check_writable()?;
        self.check_has_generator()?;
        let cell = Arc::clone(self.cell());
        self.transaction
            .core()
            .submit(Length::Short, move |execution| {
                operation::generate_key(execution, &cell)
            })
    }

    /// The number that the key generator gives next: 1 at first. Above 2^53 the generator is used up. Nothing is used up by asking.
    ///
    /// # Errors
    /// At once: `InvalidAccessError` if the object store has no key generator. The request: if the store fails.
    pub fn key_generator(&self) -> Result<Request<u64>> {
        self.check_readable()?;
        self.check_has_generator()?;
        let cell = Arc::clone(self.cell());
        self.transaction
            .core()
            .submit(Length::Short, move |execution| {
                let next = operation::key_generator(execution, &cell)?;
                Ok(u64::try_from(next).unwrap_or(0))
            })
    }

    /// Sets the number that the key generator gives next, from 1 to 2^53 + 1, whatever keys there are. A page has no such call: a number
    /// whose record is there makes a put without a key overwrite that record. It is for a host that gives each copy of a database
    /// numbers of its own, or puts records without the generator going on from them.
    ///
    /// ```
    /// # use larder_idb::{Database, ObjectStoreParameters, Value};
    /// # let library = Database::in_memory("library", 1, |upgrade| {
    /// #     let numbered = ObjectStoreParameters::new().auto_increment(true);
    /// #     upgrade.transaction.create_object_store("books", numbered).map(drop)
    /// # })?
    /// # .wait()?;
    /// let writing = library.write("books")?;
    /// let books = writing.object_store("books")?;
    /// let next = books.key_generator()?.wait()?;
    /// books.put(Value::serialize("Emma")?, Some(1000.into()))?.wait()?;
    /// assert_eq!(books.key_generator()?.wait()?, 1001);
    /// books.set_key_generator(next)?.wait()?;
    /// assert_eq!(books.put(Value::serialize("Persuasion")?, None)?.wait()?, 1.into());
    /// # Ok::<(), larder_idb::Error>(())
    /// ```
    ///
    /// # Errors
    /// At once: `InvalidAccessError` if the object store has no key generator; `DataError` if the number is 0 or above 2^53 + 1. The
    /// request: if the store fails.
    pub fn set_key_generator(&self, next: u64) -> Result<Request<()>> {
        self.check_writable()?;
        self.check_has_generator()?;
        let next = match i64::try_from(next) {
            Ok(number) if (1..=NEXT_MAX).contains(&next) => number,
            _ => {
                let what = format!("a key generator gives numbers from 1 to 2^53, and not {next}");
                return Err(Error::data(what));
            }
        };
        let cell = Arc::clone(self.cell());
        self.transaction
            .core()
            .submit(Length::Short, move |execution| {
                operation::set_key_generator(execution, &cell, next)
            })
    }

    fn check_has_generator(&self) -> Result<()> {
        if self.cell().auto_increment {
            return Ok(());
        }
        let what = "the object store has no key generator";
        Err(Error::new(ErrorName::InvalidAccessError, what))
    }
}
