//! The client's thread: started once, stopped at the process's exit.

use crate::error::OpenError;
use foundationdb::FdbError;
use foundationdb_sys as sys;
use std::ffi::c_int;
use std::sync::{Mutex, Once, OnceLock, PoisonError};
use std::thread::{Builder, JoinHandle};

/// The client has a version of its interface already: the program uses FoundationDB itself.
const VERSION_ALREADY_SET: i32 = 2201;

/// What became of the start. It is tried once: the library cannot be set up a second time.
static STARTED: OnceLock<Result<(), OpenError>> = OnceLock::new();
/// The thread and its process, until it is stopped.
static THREAD: Mutex<Option<(u32, JoinHandle<()>)>> = Mutex::new(None);

unsafe extern "C" {
    /// Registers what a process does at its end. The last one that was registered is first.
    safe fn atexit(handler: extern "C" fn()) -> c_int;
}

/// Starts the client, if that was not done.
pub(crate) fn start() -> Result<(), OpenError> {
    STARTED.get_or_init(start_once).clone()
}

fn check(code: sys::fdb_error_t) -> Result<(), OpenError> {
    match code {
        0 => Ok(()),
        _ => Err(OpenError::Client(FdbError::from_code(code))),
    }
}

fn start_once() -> Result<(), OpenError> {
    let version = sys::FDB_API_VERSION as c_int;
    // SAFETY: it takes two numbers. This runs once, and the client has no other way to choose a version but one that a program takes before it comes here.
    match unsafe { sys::fdb_select_api_version_impl(version, version) } {
        VERSION_ALREADY_SET => return Ok(()),
        code => check(code)?,
    }
    // SAFETY: a version was chosen above, and the network was not set up before: this function runs once, and no other part of the program has
    // chosen a version.
    check(unsafe { sys::fdb_setup_network() })?;
    // Held until the thread is in its place, so that the handler finds it.
    let mut place = THREAD.lock().unwrap_or_else(PoisonError::into_inner);
    // The library was loaded before, so that this handler runs before those of the library's own.
    if atexit(stop) != 0 {
        return Err(OpenError::Exit);
    }
    let thread = Builder::new().name("larder-fdb".to_owned()).spawn(|| {
        // SAFETY: the network was set up, and nothing else runs it; `stop` ends it before the process does. What it returns says why it ended, and
        // requests that are under way then run into their time.
        let _ = unsafe { sys::fdb_run_network() };
    });
    let thread = thread.map_err(|error| OpenError::Thread(error.to_string()))?;
    *place = Some((std::process::id(), thread));
    Ok(())
}

/// Lets the client stop, at the process's end, before what it has made up to now is ended: some of its data are made when it is first used, and end
/// before all handlers that were registered earlier. To be called when a first request was answered; later calls do nothing. What the client makes
/// still later ends before it stops, which no caller can prevent.
pub fn stop_first() {
    static AGAIN: Once = Once::new();
    // The handler takes the thread once. If it is not registered again, it is as it was.
    AGAIN.call_once(|| {
        atexit(stop);
    });
}

/// Stops the thread and waits for its end.
extern "C" fn stop() {
    let taken = THREAD.lock().unwrap_or_else(PoisonError::into_inner).take();
    let Some((process, thread)) = taken else {
        return;
    };
    // A process that was made by `fork` has the handler, and not the thread.
    if process != std::process::id() {
        std::mem::forget(thread);
        return;
    }
    // SAFETY: the network was set up and is stopped once, since the thread is taken once.
    if unsafe { sys::fdb_stop_network() } == 0 {
        // It has no result, and whatever ended it, it has ended.
        thread.join().ok();
    }
}
