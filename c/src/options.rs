//! How a storage is set up.

use std::ffi::c_void;
use std::num::NonZeroUsize;
use std::sync::Arc;
use std::time::Duration;

use larder_idb as idb;

use crate::callback::{Callback, LossCallback, Lost, Quota, QuotaCallback, Wake, WakeCallback};
use crate::error::{Error, Result};
use crate::guard;
use crate::host_loop::HostLoop;
use crate::loss::Loss;
use crate::pointers::{ErrorOut, Str};

/// When a store's data version may be raised for a value that has no form in it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u32)]
pub enum RaiseDataVersion {
    /// Never: such a value is refused.
    Never = 0,
    /// As long as a store that was made here has not been closed: no other program has opened it yet.
    WhileNew = 1,
    /// Whenever a value needs it.
    WhenNeeded = 2,
}

/// A [`RaiseDataVersion`] that C has given: any number.
pub type RaiseDataVersionNumber = u32;

/// How a storage is set up. The host owns it, and frees it when the storage is there.
pub struct Options {
    folder: Option<String>,
    threads: usize,
    pub(crate) wake: Option<Wake>,
    quota_bytes: u64,
    on_over_quota: Option<Quota>,
    idle_grace: Option<Duration>,
    buckets_folder: Option<String>,
    is_read_only: bool,
    on_loss: Option<Lost>,
    raise_data_version: Option<idb::RaiseDataVersion>,
}

impl Options {
    fn new(folder: Option<String>) -> Self {
        Self {
            folder,
            threads: 0,
            wake: None,
            quota_bytes: u64::MAX,
            on_over_quota: None,
            idle_grace: None,
            buckets_folder: None,
            is_read_only: false,
            on_loss: None,
            raise_data_version: None,
        }
    }

    pub(crate) const fn is_driven(&self) -> bool {
        self.threads == 0
    }

    /// Options of a storage that works for this loop.
    pub(crate) fn to_idb(&self, host: &Arc<HostLoop>) -> idb::StorageOptions {
        let clock = Arc::new(idb::SystemClock);
        let mut options = match &self.folder {
            None => idb::StorageOptions::in_memory(clock),
            Some(folder) => {
                idb::StorageOptions::new(Arc::new(idb::DiskFileSystem::new()), folder, clock)
            }
        };
        options.executor = match NonZeroUsize::new(self.threads) {
            None => idb::Executor::Driven { seed: None },
            Some(threads) => idb::Executor::Threads(threads),
        };
        let loop_of_work = Arc::clone(host);
        options.on_work = Some(idb::WorkCallback::new(move || loop_of_work.note_work()));
        options.on_loss = self.on_loss.map(|callback| {
            let host = Arc::clone(host);
            idb::LossCallback::new(move |loss| {
                let loss = Loss::from(loss);
                host.push(move || callback.call(&loss));
            })
        });
        options.read_only = self.is_read_only;
        if let Some(raise) = self.raise_data_version {
            options.raise_data_version = raise;
        }
        options.quota_bytes = self.quota_bytes;
        options.on_over_quota = self.on_over_quota.map(|callback| {
            idb::QuotaCallback::new(move |_, over| {
                let quota = callback.call(over.usage_bytes, over.needed_bytes, over.limit_bytes);
                (quota > over.limit_bytes).then_some(quota)
            })
        });
        if let Some(idle_grace) = self.idle_grace {
            options.idle_grace = idle_grace;
        }
        if let Some(folder) = &self.buckets_folder {
            options.buckets_folder = folder.into();
        }
        options
    }
}

/// For stores in this folder: of each origin, `ORIGIN.indexeddb.leveldb` and `ORIGIN.indexeddb.blob`, as Chromium has them in a
/// profile's `IndexedDB`. The folder is made when something is stored. Null if the name is no text: `LARDER_EXCEPTION_TYPE`.
#[unsafe(no_mangle)]
pub extern "C" fn larder_options_new(folder: Str, error: ErrorOut) -> Option<Box<Options>> {
    guard::made(error, || Ok(Options::new(Some(folder.to_utf8()?))))
}

/// For stores in memory, which are gone with the storage.
#[unsafe(no_mangle)]
pub extern "C" fn larder_options_in_memory() -> Option<Box<Options>> {
    guard::or_else(None, || Some(Box::new(Options::new(None))))
}

/// How many threads of the storage's do the work. With 0, as it is at first, there are none: all of it is done by `larder_storage_run` and
/// `larder_request_wait`. Callbacks are called where the host runs its loop in either case.
#[unsafe(no_mangle)]
pub extern "C" fn larder_options_set_threads(options: Option<&mut Options>, threads: usize) {
    if let Some(options) = options {
        options.threads = threads;
    }
}

/// What is called when `larder_storage_run` has something to do, once after each time when that has said that there is no more: on any
/// thread, also in the middle of a call of the host's. It passes the word on to the host's loop, calls nothing of this library, and
/// waits for no lock that is held around such calls. Once `larder_storage_free` has returned it is not called any more, nor running.
#[unsafe(no_mangle)]
pub extern "C" fn larder_options_set_waker(
    options: Option<&mut Options>,
    waker: WakeCallback,
    user_data: *mut c_void,
) {
    if let Some(options) = options {
        options.wake = Callback::new(waker, user_data, std::ptr::null_mut());
    }
}

/// How many bytes the files of each origin may have: `UINT64_MAX`, as it is at first, is no limit. `callback` may be null; else it is
/// asked before a transaction is refused.
#[unsafe(no_mangle)]
pub extern "C" fn larder_options_set_quota(
    options: Option<&mut Options>,
    quota_bytes: u64,
    callback: QuotaCallback,
    user_data: *mut c_void,
) {
    if let Some(options) = options {
        options.quota_bytes = quota_bytes;
        options.on_over_quota = Callback::new(callback, user_data, std::ptr::null_mut());
    }
}

/// After so many milliseconds a store that nothing uses is closed, so that other programs can open it (2000); `UINT64_MAX` leaves it open.
#[unsafe(no_mangle)]
pub extern "C" fn larder_options_set_idle_grace(options: Option<&mut Options>, milliseconds: u64) {
    if let Some(options) = options {
        options.idle_grace = Some(match milliseconds {
            u64::MAX => Duration::MAX,
            milliseconds => Duration::from_millis(milliseconds),
        });
    }
}

/// Where the stores of buckets lie, in `ID/IndexedDB/indexeddb.leveldb` each: at first `WebStorage` beside the folder of the origins'
/// stores, as in a profile of Chromium's. False if the name is no text: `LARDER_EXCEPTION_TYPE`.
#[unsafe(no_mangle)]
pub extern "C" fn larder_options_set_buckets_folder(
    options: Option<&mut Options>,
    folder: Str,
    error: ErrorOut,
) -> bool {
    guard::succeeds(error, || -> Result<()> {
        let folder = folder.to_utf8()?;
        if let Some(options) = options {
            options.buckets_folder = Some(folder);
        }
        Ok(())
    })
}

/// Whether stores are only read (false): nothing is written, made, locked or removed, and another program may have them open. A store is
/// seen as it was committed when it was opened, and again after it has been idle. What would write fails with
/// `LARDER_EXCEPTION_READ_ONLY`: a transaction that writes, an upgrade, a database to be made or deleted, and what deletes, repairs or marks an
/// origin.
#[unsafe(no_mangle)]
pub extern "C" fn larder_options_set_read_only(options: Option<&mut Options>, is_read_only: bool) {
    if let Some(options) = options {
        options.is_read_only = is_read_only;
    }
}

/// What is called, on the host's loop, when something that was stored turns out to be damaged or lost: when a store is opened, and when it
/// is read. Null takes it back.
#[unsafe(no_mangle)]
pub extern "C" fn larder_options_set_on_loss(
    options: Option<&mut Options>,
    callback: LossCallback,
    user_data: *mut c_void,
) {
    if let Some(options) = options {
        options.on_loss = Callback::new(callback, user_data, std::ptr::null_mut());
    }
}

/// When a store's data version may be raised for a value that has no form in it: a browser with lesser versions **deletes** the store when
/// it opens it next. At first `LARDER_RAISE_DATA_VERSION_WHILE_NEW`, in memory `LARDER_RAISE_DATA_VERSION_WHEN_NEEDED`. False for another
/// number: `LARDER_EXCEPTION_TYPE`.
#[unsafe(no_mangle)]
pub extern "C" fn larder_options_set_raise_data_version(
    options: Option<&mut Options>,
    raise: RaiseDataVersionNumber,
    error: ErrorOut,
) -> bool {
    guard::succeeds(error, || -> Result<()> {
        let raise = match raise {
            0 => idb::RaiseDataVersion::Never,
            1 => idb::RaiseDataVersion::WhileNew,
            2 => idb::RaiseDataVersion::WhenNeeded,
            _ => return Err(Error::of_type("this is no time to raise a data version")),
        };
        if let Some(options) = options {
            options.raise_data_version = Some(raise);
        }
        Ok(())
    })
}

/// Frees options. Null is passed over.
#[unsafe(no_mangle)]
pub extern "C" fn larder_options_free(options: Option<Box<Options>>) {
    guard::or_else((), || drop(options));
}
