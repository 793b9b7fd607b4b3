//! Values of other engines: opaque bytes, whose index keys the host gives.
//!
//! What stands in the store is `larder_codec::value::Foreign`'s matter.

use larder_codec::value::{Foreign, Payload};
use larder_codec::{JsString, Key};

use super::{StoredValue, Value};
use crate::error::{Error, ErrorName, Result};
use crate::value::records::Record;

/// The keys that a host gives for a value's indexes, by their names.
pub(crate) type NamedKeys = Box<[(JsString, Vec<Key>)]>;

impl Value {
    /// Bytes that another engine has serialised, in version `format` of its wire format. Only the host reads them
    /// ([`StoredValue::foreign`]): it says which keys they have.
    ///
    /// The primary key is given with the value, also where keys are in-line; `None` has it generated. `index_keys` names every
    /// index of the object store, each once, with the keys that its key path comes to: none where that is nothing or no key, one, or
    /// any number where the index is `multi_entry` (in any order).
    ///
    /// For Chromium, for [`StoredValue::tree`] and for `larder dump` such a value is an object with the engine's name, the
    /// version and the bytes as an `ArrayBuffer`. Limits are those of any value. Blobs, files and handles that the bytes mean are
    /// put beside them ([`and_objects`](Self::and_objects)), and come back beside them; a page sees none, and what it copies has none.
    ///
    /// ```
    /// # use std::sync::Arc;
    /// use larder_idb::{
    ///     FixedClock, KeyPath, IndexParameters, Key, TransactionMode, ObjectStoreParameters, Origin, Storage, StorageOptions,
    ///     TransactionOptions, Value,
    /// };
    ///
    /// let storage = Storage::new(StorageOptions::in_memory(Arc::new(FixedClock::default())))?;
    /// let factory = storage.factory(&Origin::from_url("https://a.example").unwrap());
    /// let request = factory.open("library", Some(1))?.with_upgrade(|upgrade| {
    ///     let by_title = ObjectStoreParameters::new().key_path("title");
    ///     let books = upgrade.transaction.create_object_store("books", by_title)?;
    ///     let author = KeyPath::String("author".into());
    ///     books.create_index("by author", author, IndexParameters::default())?;
    ///     Ok(())
    /// });
    /// let connection = request.wait()?;
    /// let options = TransactionOptions::default();
    /// let transaction = connection.transaction(&["books"], TransactionMode::ReadWrite, options)?;
    /// let books = transaction.object_store("books")?;
    ///
    /// let index_keys = [("by author".into(), vec![Key::from("Ada")])];
    /// let value = Value::foreign("gecko", 8, b"\x03\x00\xf1\xff", index_keys)?;
    /// books.put(value, Some("Notes".into()))?.wait()?;
    ///
    /// let found = books.index("by author")?.get("Ada")?.wait()?.unwrap();
    /// let foreign = found.foreign().unwrap();
    /// assert_eq!((foreign.engine(), foreign.format(), foreign.bytes()), ("gecko", 8, &b"\x03\x00\xf1\xff"[..]));
    /// # Ok::<(), larder_idb::Error>(())
    /// ```
    ///
    /// # Errors
    /// `TypeError` if the engine's name is empty, longer than [`Foreign::ENGINE_LEN_MAX`], or not of printable ASCII without
    /// blanks. Keys are looked at when the value is put.
    pub fn foreign(
        engine: &str,
        format: u32,
        bytes: &[u8],
        index_keys: impl IntoIterator<Item = (JsString, Vec<Key>)>,
    ) -> Result<Self> {
        let Ok(foreign) = Foreign::new(engine, format, bytes) else {
            let len_max = Foreign::ENGINE_LEN_MAX;
            let what = format!(
                "{engine:?} is no name of an engine, which has 1 to {len_max} characters of printable ASCII without blanks"
            );
            return Err(Error::new(ErrorName::TypeError, what));
        };
        let mut bytes = Vec::new();
        let needs = foreign.write(&mut bytes);
        Ok(Self {
            index_keys: Some(index_keys.into_iter().collect()),
            ..Self::from_written(bytes, needs)
        })
    }

    /// Whether the host says which keys it has.
    pub(crate) const fn is_foreign(&self) -> bool {
        self.index_keys.is_some()
    }
}

impl StoredValue {
    /// Bytes of another engine, if it is a value of such, as they were put: see [`Value::foreign`].
    #[must_use]
    pub fn foreign(&self) -> Option<Foreign<'_>> {
        read(self.bytes())
    }
}

impl<'a> Record<'a> {
    /// Bytes of another engine, as [`StoredValue::foreign`] gives them.
    #[must_use]
    pub fn foreign(&self) -> Option<Foreign<'a>> {
        read(self.value())
    }
}

fn read(bytes: &[u8]) -> Option<Foreign<'_>> {
    Foreign::read(&Payload::read(bytes).ok()?)
}
