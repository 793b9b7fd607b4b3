//! Values of engines that are not V8: opaque bytes, with the keys that the host finds in them.

use larder_idb as idb;
use larder_idb::JsString;

use crate::callback::{Callback, KeysCallback};
use crate::error::{Error, Result};
use crate::guard::{self, given};
use crate::index::Index;
use crate::key::{Key, given_keys};
use crate::object_store::ObjectStore;
use crate::pointers::{Bytes, ErrorOut, Str, slice};
use crate::request::Request;
use crate::text::{Text, boxed};
use crate::value::Value;
use crate::version_change::one_path;

use std::ffi::c_void;

/// A value of another engine in the making: its bytes, and the keys that it has in each index. The host owns it.
pub struct ForeignValue {
    engine: String,
    format: u32,
    bytes: Vec<u8>,
    index_keys: Vec<(JsString, Vec<idb::Key>)>,
}

/// Keys that a host finds in a value for a new index. Lent to the callback.
#[derive(Debug, Default)]
pub struct FoundKeys(Vec<idb::Key>);

/// Begins a value of another engine: `engine` is its name, of printable ASCII without blanks and at most 64 bytes long, `format` the version
/// of its wire format. The bytes are copied. Where keys are found in values, the host finds the primary key and gives it to
/// `larder_object_store_put`; where it is null, one is generated.
#[unsafe(no_mangle)]
pub extern "C" fn larder_foreign_new(
    engine: Str,
    format: u32,
    bytes: Bytes,
    error: ErrorOut,
) -> Option<Box<ForeignValue>> {
    guard::made(error, || {
        let engine = engine.to_utf8()?;
        let (bytes, index_keys) = (bytes.to_vec(), Vec::new());
        Ok(ForeignValue {
            engine,
            format,
            bytes,
            index_keys,
        })
    })
}

/// Says which keys, maybe none, the value has in an index. To be called for each index of the object store, once. The keys are
/// copied.
///
/// # Safety
/// `keys` points at `keys_len` keys.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn larder_foreign_add_keys(
    foreign: Option<&mut ForeignValue>,
    index: Str,
    keys: *const *const Key,
    keys_len: usize,
    error: ErrorOut,
) -> bool {
    // SAFETY: as promised.
    let keys = unsafe { slice(keys, keys_len) };
    guard::succeeds(error, || {
        let foreign = foreign.ok_or_else(|| Error::of_type("the value is null"))?;
        // SAFETY: as promised.
        let keys = unsafe { given_keys(keys) }?;
        foreign.index_keys.push((index.to_js()?, keys));
        Ok(())
    })
}

/// The value, which the host owns. Null: `LARDER_EXCEPTION_TYPE` for an engine that has no such name.
#[unsafe(no_mangle)]
pub extern "C" fn larder_foreign_value(
    foreign: Option<&ForeignValue>,
    error: ErrorOut,
) -> Option<Box<Value>> {
    guard::made(error, || {
        let this = given(foreign, "the value")?;
        let index_keys = this.index_keys.iter().cloned();
        let value = idb::Value::foreign(&this.engine, this.format, &this.bytes, index_keys)?;
        Ok(Value::new(value))
    })
}

/// Frees a value in the making. Null is passed over.
#[unsafe(no_mangle)]
pub extern "C" fn larder_foreign_free(foreign: Option<Box<ForeignValue>>) {
    guard::or_else((), || drop(foreign));
}

/// The engine of a value that was read: the host owns the text. Null if it is V8's.
#[unsafe(no_mangle)]
pub extern "C" fn larder_value_engine(value: Option<&Value>) -> Option<Box<Text>> {
    guard::or_else(None, || Some(boxed(value?.foreign()?.engine().into())))
}

/// The version of the wire format of a value of another engine. Of others, 0.
#[unsafe(no_mangle)]
pub extern "C" fn larder_value_format(value: Option<&Value>) -> u32 {
    guard::or_else(0, || {
        let foreign = value.and_then(Value::foreign);
        foreign.map_or(0, |foreign| foreign.format())
    })
}

/// The bytes of a value of another engine as they were put, there as long as the value. Of others, none. Such a value is put again by
/// way of `larder_foreign_new`, with its keys; as it is, it is refused with `LARDER_EXCEPTION_DATA` where there are indexes.
#[unsafe(no_mangle)]
pub extern "C" fn larder_value_foreign_bytes(value: Option<&Value>) -> Bytes {
    guard::or_else(Bytes::none(), || {
        let foreign = value.and_then(Value::foreign);
        foreign.map_or(Bytes::none(), |foreign| Bytes::lent(foreign.bytes()))
    })
}

/// Takes the next number of the key generator, for a host that has to write the key into the value before it is put
/// (`larder_request_take_key`). It is used up, put or not. Null also: `LARDER_EXCEPTION_INVALID_ACCESS` if there is no generator.
#[unsafe(no_mangle)]
pub extern "C" fn larder_object_store_generate_key(
    store: Option<&ObjectStore>,
    error: ErrorOut,
) -> Option<Box<Request>> {
    guard::made(error, || {
        let this = given(store, "the object store")?;
        Ok(this.request(this.inner().generate_key()?))
    })
}

/// Does what `larder_object_store_create_index` does, for an object store that may have values of other engines:
/// `callback` finds the keys of each that is there. Without it, such a value aborts the upgrade with
/// `LARDER_EXCEPTION_DATA`.
#[unsafe(no_mangle)]
pub extern "C" fn larder_object_store_create_index_with_keys(
    store: Option<&ObjectStore>,
    name: Str,
    key_path: Str,
    unique: bool,
    multi_entry: bool,
    callback: KeysCallback,
    user_data: *mut c_void,
    error: ErrorOut,
) -> Option<Box<Index>> {
    guard::made(error, || {
        let this = given(store, "the object store")?;
        let options = idb::IndexParameters::new()
            .unique(unique)
            .multi_entry(multi_entry);
        let callback = Callback::new(callback, user_data, std::ptr::null_mut());
        let callback = callback.ok_or_else(|| Error::of_type("the callback is null"))?;
        let keys_of = move |primary_key: &idb::Key, value: &idb::Foreign<'_>| {
            let mut found = FoundKeys::default();
            let primary_key = Key::boxed(primary_key.clone());
            match callback.call(&primary_key, Bytes::lent(value.bytes()), &mut found) {
                true => Ok(found.0),
                false => {
                    let what = "the host has found no keys, and no way to go on";
                    Err(idb::Error::new(idb::ErrorName::DataError, what))
                }
            }
        };
        let (name, key_path) = (name.to_js()?, one_path(key_path)?);
        let index = this
            .inner()
            .create_index_with_keys(&name, key_path, options, keys_of)?;
        Ok(this.index(index))
    })
}

/// Adds a key, which is copied, to those that a callback has found. False for a null key: `LARDER_EXCEPTION_TYPE`.
#[unsafe(no_mangle)]
pub extern "C" fn larder_found_keys_add(
    found: Option<&mut FoundKeys>,
    key: Option<&Key>,
    error: ErrorOut,
) -> bool {
    guard::succeeds(error, || -> Result<()> {
        let found = found.ok_or_else(|| Error::of_type("the list of keys is null"))?;
        found.0.push(given(key, "the key")?.to_key());
        Ok(())
    })
}
