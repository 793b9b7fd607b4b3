//! Functions of the host's that are called back, each with a pointer that the host chooses.
//!
//! None of them may throw an exception or jump out: the process would end. Those that are called on the host's loop may
//! call every function of the library, and free any handle, the one they are called for included.

use std::ffi::c_void;

use crate::connection::Connection;
use crate::foreign::FoundKeys;
use crate::key::Key;
use crate::loss::Loss;
use crate::pointers::Bytes;
use crate::request::Request;
use crate::transaction::Transaction;

/// Says that there is something for `larder_storage_run` to do. Called on any thread, also in the middle of a call of the host's: it
/// passes the word on to the host's loop, calls nothing of this library, and waits for no lock that is held around such calls.
pub type WakeCallback = Option<unsafe extern "C-unwind" fn(user_data: *mut c_void)>;

/// A request is done.
pub type RequestCallback =
    Option<unsafe extern "C-unwind" fn(user_data: *mut c_void, request: *mut Request)>;

/// A database that is being opened is new or has a lower version. `transaction`, which the host owns from now on, is where object
/// stores and indexes are made; the host commits it, or aborts it, or does so in later callbacks, and frees it. `old_version` is 0 if
/// the database is new.
pub type UpgradeCallback = Option<
    unsafe extern "C-unwind" fn(
        user_data: *mut c_void,
        transaction: *mut Transaction,
        old_version: u64,
        new_version: u64,
    ),
>;

/// A request to open or delete a database waits until other connections are closed. `new_version` is 0 if it is to be deleted.
pub type BlockedCallback =
    Option<unsafe extern "C-unwind" fn(user_data: *mut c_void, old_version: u64, new_version: u64)>;

/// The database of a connection is wanted in another version, or is to be deleted: then `new_version` is 0. That waits until this
/// connection is closed, which is the least that a host should do here.
pub type VersionChangeCallback = Option<
    unsafe extern "C-unwind" fn(
        user_data: *mut c_void,
        connection: *mut Connection,
        old_version: u64,
        new_version: u64,
    ),
>;

/// A connection was closed by force, its transactions aborted.
pub type CloseCallback =
    Option<unsafe extern "C-unwind" fn(user_data: *mut c_void, connection: *mut Connection)>;

/// A transaction would pass its origin's quota. The answer is the origin's quota in bytes from now on; if it is not greater than
/// `limit_bytes`, the transaction ends with `LARDER_EXCEPTION_QUOTA_EXCEEDED`. Called on the thread that commits, which is one of the
/// storage's if it has threads; it calls nothing of this library.
pub type QuotaCallback = Option<
    unsafe extern "C-unwind" fn(
        user_data: *mut c_void,
        usage_bytes: u64,
        needed_bytes: u64,
        limit_bytes: u64,
    ) -> u64,
>;

/// Something that an origin had stored is damaged, or was lost; `loss` is lent. Each loss is reported once as long as
/// its store is open. The requests that meet it fail in any case.
pub type LossCallback =
    Option<unsafe extern "C-unwind" fn(user_data: *mut c_void, loss: *const Loss)>;

/// Finds the keys that a value of another engine has in a new index, and adds them to `found` (`larder_found_keys_add`); `primary_key`,
/// the bytes and `found` are lent for that long. False aborts the upgrade. Called on the thread that executes the upgrade, which is one
/// of the storage's if it has threads; it calls nothing of this library but what makes, reads and frees keys.
pub type KeysCallback = Option<
    unsafe extern "C-unwind" fn(
        user_data: *mut c_void,
        primary_key: *const Key,
        bytes: Bytes,
        found: *mut FoundKeys,
    ) -> bool,
>;

/// A function with what it is to be given.
#[derive(Debug)]
pub(crate) struct Callback<F, H = ()> {
    function: F,
    user_data: *mut c_void,
    /// The handle it was registered at: only ever handed back.
    handle: *mut H,
}

// SAFETY: the pointers are not looked at here, only given back to the host, on the threads that the documentation of the
// function's type names.
unsafe impl<F: Send, H> Send for Callback<F, H> {}

// SAFETY: as for `Send`: nothing is reached through a shared callback but a call on the threads that the host agreed to.
unsafe impl<F: Sync, H> Sync for Callback<F, H> {}

impl<F, H> Callback<F, H> {
    /// `None` if the host has given no function.
    pub(crate) fn new(function: Option<F>, user_data: *mut c_void, handle: *mut H) -> Option<Self> {
        let function = function?;
        Some(Self {
            function,
            user_data,
            handle,
        })
    }
}

impl<F: Copy, H> Clone for Callback<F, H> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<F: Copy, H> Copy for Callback<F, H> {}

/// What stands in an `Option` of the types above.
pub(crate) type Wake = Callback<unsafe extern "C-unwind" fn(*mut c_void)>;
pub(crate) type Done = Callback<unsafe extern "C-unwind" fn(*mut c_void, *mut Request), Request>;
pub(crate) type Upgrade =
    Callback<unsafe extern "C-unwind" fn(*mut c_void, *mut Transaction, u64, u64)>;
pub(crate) type Blocked = Callback<unsafe extern "C-unwind" fn(*mut c_void, u64, u64)>;
pub(crate) type VersionChange =
    Callback<unsafe extern "C-unwind" fn(*mut c_void, *mut Connection, u64, u64), Connection>;
pub(crate) type Close =
    Callback<unsafe extern "C-unwind" fn(*mut c_void, *mut Connection), Connection>;
pub(crate) type Quota = Callback<unsafe extern "C-unwind" fn(*mut c_void, u64, u64, u64) -> u64>;
pub(crate) type Lost = Callback<unsafe extern "C-unwind" fn(*mut c_void, *const Loss)>;
pub(crate) type Keys =
    Callback<unsafe extern "C-unwind" fn(*mut c_void, *const Key, Bytes, *mut FoundKeys) -> bool>;

impl Wake {
    pub(crate) fn call(self) {
        // SAFETY: the host has promised with the function that it can be called so.
        unsafe { (self.function)(self.user_data) }
    }
}

impl Done {
    pub(crate) fn call(self) {
        // SAFETY: the host has promised with the function that it can be called so.
        unsafe { (self.function)(self.user_data, self.handle) }
    }
}

impl Upgrade {
    pub(crate) fn call(self, transaction: Box<Transaction>, old_version: u64, new_version: u64) {
        let transaction = Box::into_raw(transaction);
        // SAFETY: the host has promised with the function that it can be called so.
        unsafe { (self.function)(self.user_data, transaction, old_version, new_version) }
    }
}

impl Blocked {
    pub(crate) fn call(self, old_version: u64, new_version: u64) {
        // SAFETY: the host has promised with the function that it can be called so.
        unsafe { (self.function)(self.user_data, old_version, new_version) }
    }
}

impl VersionChange {
    pub(crate) fn call(self, old_version: u64, new_version: u64) {
        // SAFETY: the host has promised with the function that it can be called so.
        unsafe { (self.function)(self.user_data, self.handle, old_version, new_version) }
    }
}

impl Close {
    pub(crate) fn call(self) {
        // SAFETY: the host has promised with the function that it can be called so.
        unsafe { (self.function)(self.user_data, self.handle) }
    }
}

impl Quota {
    pub(crate) fn call(self, usage_bytes: u64, needed_bytes: u64, limit_bytes: u64) -> u64 {
        // SAFETY: the host has promised with the function that it can be called so.
        unsafe { (self.function)(self.user_data, usage_bytes, needed_bytes, limit_bytes) }
    }
}

impl Lost {
    pub(crate) fn call(self, loss: &Loss) {
        // SAFETY: the host has promised with the function that it can be called so.
        unsafe { (self.function)(self.user_data, loss) }
    }
}

impl Keys {
    pub(crate) fn call(&self, primary_key: &Key, bytes: Bytes, found: &mut FoundKeys) -> bool {
        // SAFETY: the host has promised with the function that it can be called so.
        unsafe { (self.function)(self.user_data, primary_key, bytes, found) }
    }
}
