//! What futures have.

use crate::errors::{self, Code};
use crate::future::{Function, Handle, KeyValue, Value};
use std::ffi::{c_int, c_void};
use std::mem::MaybeUninit;

type Place<'a, T> = &'a mut MaybeUninit<T>;

/// A future of another kind, or one that has no result yet.
const OTHER_KIND: Code = errors::CLIENT_INVALID_OPERATION;

fn value(future: &Handle) -> Result<&Value, Code> {
    match future.0.result() {
        Some(Ok(value)) => Ok(value),
        Some(Err(code)) => Err(*code),
        None => Err(OTHER_KIND),
    }
}

#[unsafe(no_mangle)]
extern "C" fn fdb_future_destroy(future: Box<Handle>) {
    drop(future);
}

#[unsafe(no_mangle)]
extern "C" fn fdb_future_is_ready(future: &Handle) -> c_int {
    c_int::from(future.0.result().is_some())
}

#[unsafe(no_mangle)]
extern "C" fn fdb_future_set_callback(
    future: &Handle,
    function: Option<Function>,
    parameter: *mut c_void,
) -> Code {
    let Some(function) = function else {
        return errors::CLIENT_INVALID_OPERATION;
    };
    future.set_callback(function, parameter);
    0
}

#[unsafe(no_mangle)]
extern "C" fn fdb_future_get_error(future: &Handle) -> Code {
    value(future).err().unwrap_or(0)
}

#[unsafe(no_mangle)]
extern "C" fn fdb_future_get_int64(future: &Handle, place: Place<'_, i64>) -> Code {
    match value(future) {
        Ok(Value::Number(number)) => {
            place.write(*number);
            0
        }
        Ok(_) => OTHER_KIND,
        Err(code) => code,
    }
}

#[unsafe(no_mangle)]
extern "C" fn fdb_future_get_value(
    future: &Handle,
    is_present: Place<'_, c_int>,
    bytes: Place<'_, *const u8>,
    len: Place<'_, c_int>,
) -> Code {
    match value(future) {
        Ok(Value::Row(row)) => {
            is_present.write(c_int::from(row.is_some()));
            if let Some(row) = row {
                bytes.write(row.as_ptr());
                len.write(row.len() as c_int);
            }
            0
        }
        Ok(_) => OTHER_KIND,
        Err(code) => code,
    }
}

#[unsafe(no_mangle)]
extern "C" fn fdb_future_get_keyvalue_array(
    future: &Handle,
    rows: Place<'_, *const KeyValue>,
    count: Place<'_, c_int>,
    has_more: Place<'_, c_int>,
) -> Code {
    match value(future) {
        Ok(Value::Rows(found)) => {
            rows.write(found.array().as_ptr());
            count.write(found.array().len() as c_int);
            has_more.write(c_int::from(found.has_more()));
            0
        }
        Ok(_) => OTHER_KIND,
        Err(code) => code,
    }
}
