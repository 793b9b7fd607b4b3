//! What is to come: the result of a request, and what is called when it is there.

use crate::cluster::Page;
use crate::errors::{self, Code};
use std::ffi::{c_int, c_void};
use std::sync::atomic::{AtomicPtr, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

/// `FDBKeyValue`.
#[repr(C, packed(4))]
pub(crate) struct KeyValue {
    key: *const u8,
    key_length: c_int,
    value: *const u8,
    value_length: c_int,
}

/// Rows, and the same as the client sees them.
pub(crate) struct Rows {
    array: Vec<KeyValue>,
    page: Page,
}

// SAFETY: the pointers of the array are into the rows beside it, which nothing changes or moves: a `Vec` of a row stays where it is when what has it is moved.
unsafe impl Send for Rows {}
// SAFETY: as above; the array is only read.
unsafe impl Sync for Rows {}

impl Rows {
    pub(crate) fn new(page: Page) -> Rows {
        let array = page.rows.iter().map(|(key, value)| KeyValue {
            key: key.as_ptr(),
            key_length: key.len() as c_int,
            value: value.as_ptr(),
            value_length: value.len() as c_int,
        });
        Rows {
            array: array.collect(),
            page,
        }
    }

    pub(crate) fn array(&self) -> &[KeyValue] {
        &self.array
    }

    pub(crate) fn has_more(&self) -> bool {
        self.page.has_more
    }
}

/// What a request returned.
pub(crate) enum Value {
    Nothing,
    Number(i64),
    Row(Option<Vec<u8>>),
    Rows(Rows),
}

/// `FDBCallback`.
pub(crate) type Function = extern "C" fn(*mut Handle, *mut c_void);

/// A callback with its parameter, which the client takes care of.
struct Callback {
    function: Function,
    future: AtomicPtr<Handle>,
    parameter: AtomicPtr<c_void>,
}

impl Callback {
    fn call(self) {
        let future = self.future.load(Ordering::Acquire);
        (self.function)(future, self.parameter.load(Ordering::Acquire));
    }
}

/// The result of a request, once it is there.
#[derive(Default)]
pub(crate) struct Future {
    result: OnceLock<Result<Value, Code>>,
    callback: Mutex<Option<Callback>>,
}

/// `FDBFuture`, as the client has it.
pub(crate) struct Handle(pub(crate) Arc<Future>);

impl Future {
    /// A future with its handle.
    pub(crate) fn new() -> (Arc<Future>, Box<Handle>) {
        let future = Arc::new(Future::default());
        let handle = Box::new(Handle(Arc::clone(&future)));
        (future, handle)
    }

    pub(crate) fn result(&self) -> Option<&Result<Value, Code>> {
        self.result.get()
    }

    /// The result, unless there is one already.
    pub(crate) fn complete(&self, result: Result<Value, Code>) {
        if self.result.set(result).is_err() {
            return;
        }
        let callback = {
            let mut place = self.callback.lock().unwrap_or_else(PoisonError::into_inner);
            place.take()
        };
        if let Some(callback) = callback {
            callback.call();
        }
    }
}

impl Handle {
    /// Calls the function when the result is there, or now if it is.
    pub(crate) fn set_callback(&self, function: Function, parameter: *mut c_void) {
        let callback = Callback {
            function,
            future: AtomicPtr::new(std::ptr::from_ref(self).cast_mut()),
            parameter: AtomicPtr::new(parameter),
        };
        let mut place = (self.0.callback.lock()).unwrap_or_else(PoisonError::into_inner);
        if self.0.result.get().is_none() {
            *place = Some(callback);
            return;
        }
        drop(place);
        callback.call();
    }
}

impl Drop for Handle {
    /// What is not there yet is cancelled, and called back, so that the client can free its parameter.
    fn drop(&mut self) {
        self.0.complete(Err(errors::OPERATION_CANCELLED));
    }
}
