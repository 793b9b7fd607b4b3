//! How a storage is set up.

use std::ffi::c_void;
use std::num::NonZeroUsize;
use std::sync::Arc;
use std::time::Duration;

use larder_idb as idb;

use crate::callback::{Callback, Quota, QuotaCallback, Wake, WakeCallback};
use crate::error::Result;
use crate::guard;
use crate::host_loop::HostLoop;
use crate::pointers::{ErrorOut, Str};

/// How a storage is set up. The host owns it, and frees it when the storage is there.
pub struct Options {
    folder: Option<String>,
    threads: usize,
    pub(crate) wake: Option<Wake>,
    quota_bytes: u64,
    on_over_quota: Option<Quota>,
    idle_grace: Option<Duration>,
    buckets_folder: Option<String>,
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
        let host = Arc::clone(host);
        options.on_work = Some(idb::WorkCallback::new(move || host.note_work()));
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

/// Frees options. Null is passed over.
#[unsafe(no_mangle)]
pub extern "C" fn larder_options_free(options: Option<Box<Options>>) {
    guard::or_else((), || drop(options));
}
