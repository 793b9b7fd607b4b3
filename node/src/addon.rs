//! Node-API: the one function that JavaScript calls, the memory that it shares, waking its event loop. All `unsafe` code of the package is here.
//!
//! The module exports `start(memory, wake)`, which gives `exchange`, a function with an instance of its own: `exchange()` does what lies in the memory,
//! `exchange(flag)` says whether the event loop is kept alive, and `exchange(buffer)` gives another memory. `wake` is called on the event loop when something has
//! come from another thread; it is kept as long as the event loop is, and otherwise the caller's to keep.

#![expect(unsafe_code, reason = "Node-API is an interface in C")]

use std::ffi::c_void;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::ptr;

use napi_sys as sys;
use sys::{
    Status, napi_callback_info, napi_env, napi_ref, napi_status, napi_threadsafe_function,
    napi_value,
};

use crate::inbox::Wake;
use crate::instance::Instance;

/// What one `exchange` works on.
struct Addon {
    instance: Instance,
    memory: Memory,
    wake: napi_threadsafe_function,
    /// The function in JavaScript that `wake` calls: weak, unless the event loop is kept alive. It is of a realm, and keeps all of that realm.
    callback: napi_ref,
    /// Whether the environment has.
    has_ended: bool,
}

/// An ArrayBuffer that is kept. It is never detached: no script has it.
struct Memory {
    start: *mut u8,
    len: usize,
    reference: napi_ref,
}

/// A function that any thread may call, until the inbox that has this is closed.
struct Waker(napi_threadsafe_function);

// SAFETY: Node-API lets every thread call a thread-safe function, as long as it has not been released.
unsafe impl Send for Waker {}
// SAFETY: as above; calling it changes nothing on this side.
unsafe impl Sync for Waker {}

impl Waker {
    fn wake(&self) {
        // SAFETY: an inbox calls this within its lock, and is closed before the function is released or the environment ends.
        unsafe {
            sys::napi_call_threadsafe_function(
                self.0,
                ptr::null_mut(),
                sys::ThreadsafeFunctionCallMode::nonblocking,
            )
        };
    }
}

/// An error of Node-API's.
struct Failed;

fn check(status: napi_status) -> Result<(), Failed> {
    match status {
        Status::napi_ok => Ok(()),
        _ => Err(Failed),
    }
}

/// Registers the module: Node-API finds it by its name, and calls it on the thread of the environment.
#[unsafe(no_mangle)]
unsafe extern "C" fn napi_register_module_v1(env: napi_env, exports: napi_value) -> napi_value {
    // SAFETY: it only looks functions up in the process, before any is called. They stay loaded, as the library that is never dropped.
    let library = unsafe { sys::setup() };
    std::mem::forget(library);
    // SAFETY: `env` is the caller's, and this its thread.
    let start = unsafe { function(env, c"start".to_bytes(), start, ptr::null_mut()) };
    if let Ok(start) = start {
        // SAFETY: as above; all three are of this environment.
        unsafe { sys::napi_set_named_property(env, exports, c"start".as_ptr(), start) };
    }
    exports
}

/// The version of Node-API that is asked for: of Node 14 and later.
#[unsafe(no_mangle)]
extern "C" fn node_api_module_get_api_version_v1() -> i32 {
    8
}

/// Makes a function.
///
/// # Safety
/// On the thread of `env`; `data` outlives the function.
unsafe fn function(
    env: napi_env,
    name: &[u8],
    body: unsafe extern "C" fn(napi_env, napi_callback_info) -> napi_value,
    data: *mut c_void,
) -> Result<napi_value, Failed> {
    let mut made = ptr::null_mut();
    let length = isize::try_from(name.len()).unwrap_or(0);
    // SAFETY: the name has so many bytes; the rest is the caller's promise.
    check(unsafe {
        sys::napi_create_function(
            env,
            name.as_ptr().cast(),
            length,
            Some(body),
            data,
            &raw mut made,
        )
    })?;
    Ok(made)
}

/// The arguments of a call, how many were given, and the data of its function.
///
/// # Safety
/// On the thread of `env`, with the `info` of the call that runs.
unsafe fn arguments<const N: usize>(
    env: napi_env,
    info: napi_callback_info,
) -> Result<([napi_value; N], usize, *mut c_void), Failed> {
    let mut values = [ptr::null_mut(); N];
    let mut count = N;
    let mut data = ptr::null_mut();
    // SAFETY: there is room for `count` values, of which those that were not given become `undefined`; the rest is the caller's promise.
    check(unsafe {
        sys::napi_get_cb_info(
            env,
            info,
            &raw mut count,
            values.as_mut_ptr(),
            ptr::null_mut(),
            &raw mut data,
        )
    })?;
    Ok((values, count, data))
}

/// `start(memory, wake)`: `exchange`, or `undefined` if it cannot be started.
unsafe extern "C" fn start(env: napi_env, info: napi_callback_info) -> napi_value {
    // SAFETY: Node-API calls this with both.
    unsafe { try_start(env, info) }.unwrap_or(ptr::null_mut())
}

/// # Safety
/// As [`arguments`].
unsafe fn try_start(env: napi_env, info: napi_callback_info) -> Result<napi_value, Failed> {
    // SAFETY: the caller's promise.
    let ([buffer, callback], ..) = unsafe { arguments::<2>(env, info) }?;
    // SAFETY: the caller's promise.
    let memory = unsafe { memory(env, buffer) }?;
    // SAFETY: the caller's promise.
    let (wake, callback) = unsafe { threadsafe(env, callback) }?;
    let waker = Waker(wake);
    let call: Wake = Box::new(move || waker.wake());
    let addon = Box::new(Addon {
        instance: Instance::new(call),
        memory,
        wake,
        callback,
        has_ended: false,
    });
    let data = Box::into_raw(addon).cast::<c_void>();
    // SAFETY: `data` is the box's, which `collected` takes back once, when the function cannot be called any more.
    let made = unsafe { function(env, b"exchange", exchange, data) }?;
    // SAFETY: both are of this environment, and `collected` takes what `data` is.
    check(unsafe {
        sys::napi_add_finalizer(
            env,
            made,
            data,
            Some(collected),
            ptr::null_mut(),
            ptr::null_mut(),
        )
    })?;
    // Hooks are called in the reverse order: this one before that by which the runtime ends the thread-safe function.
    // SAFETY: the hook is removed before the box goes.
    check(unsafe { sys::napi_add_env_cleanup_hook(env, Some(ended), data) })?;
    Ok(made)
}

/// The environment ends: no thread calls the function from now on. The runtime ends it.
unsafe extern "C" fn ended(data: *mut c_void) {
    // SAFETY: the box is there until `collected`, which comes later or removes this hook. No JavaScript runs.
    let addon = unsafe { &mut *data.cast::<Addon>() };
    addon.has_ended = true;
    addon.instance.inbox.close();
}

/// `exchange` has been collected, or goes with the environment.
unsafe extern "C" fn collected(env: napi_env, data: *mut c_void, _: *mut c_void) {
    // SAFETY: the box that `try_start` gave away. This is called once, and the function of this data is not called after it.
    let addon = unsafe { Box::from_raw(data.cast::<Addon>()) };
    if !addon.has_ended {
        // SAFETY: the same hook as was added, on the thread of `env`.
        unsafe { sys::napi_remove_env_cleanup_hook(env, Some(ended), data) };
        addon.instance.inbox.close();
        // SAFETY: the one use of it, which no thread has any more.
        unsafe {
            sys::napi_release_threadsafe_function(
                addon.wake,
                sys::ThreadsafeFunctionReleaseMode::release,
            )
        };
        // SAFETY: the reference was made here, and is not used any more.
        unsafe { sys::napi_delete_reference(env, addon.memory.reference) };
    }
    // What it lets go of may panic in a file system; nothing may be thrown through C.
    let _ = catch_unwind(AssertUnwindSafe(|| drop(addon)));
}

/// The bytes of an ArrayBuffer, which is kept.
///
/// # Safety
/// On the thread of `env`.
unsafe fn memory(env: napi_env, buffer: napi_value) -> Result<Memory, Failed> {
    let mut start = ptr::null_mut();
    let mut len = 0;
    // SAFETY: the caller's promise. What is no ArrayBuffer is an error.
    check(unsafe { sys::napi_get_arraybuffer_info(env, buffer, &raw mut start, &raw mut len) })?;
    let mut reference = ptr::null_mut();
    // SAFETY: the caller's promise.
    check(unsafe { sys::napi_create_reference(env, buffer, 1, &raw mut reference) })?;
    Ok(Memory {
        start: start.cast(),
        len,
        reference,
    })
}

/// A function that any thread may have called on this one, and the reference to what it calls. The event loop does not stay alive for it, until `hold` asks for
/// that.
///
/// # Safety
/// On the thread of `env`.
unsafe fn threadsafe(
    env: napi_env,
    callback: napi_value,
) -> Result<(napi_threadsafe_function, napi_ref), Failed> {
    let mut name = ptr::null_mut();
    // SAFETY: the name has so many bytes; the rest is the caller's promise.
    check(unsafe { sys::napi_create_string_utf8(env, c"larder-idb".as_ptr(), 10, &raw mut name) })?;
    let mut reference = ptr::null_mut();
    // SAFETY: the caller's promise.
    check(unsafe { sys::napi_create_reference(env, callback, 0, &raw mut reference) })?;
    let data = reference.cast::<c_void>();
    let mut wake = ptr::null_mut();
    // SAFETY: `woken` and `unreferenced` take what `data` is, and the second comes last; the rest is the caller's promise.
    check(unsafe {
        sys::napi_create_threadsafe_function(
            env,
            ptr::null_mut(),
            ptr::null_mut(),
            name,
            0,
            1,
            data,
            Some(unreferenced),
            data,
            Some(woken),
            &raw mut wake,
        )
    })?;
    // SAFETY: it was made on this thread.
    check(unsafe { sys::napi_unref_threadsafe_function(env, wake) })?;
    Ok((wake, reference))
}

/// Calls the function in JavaScript, on the event loop; without an environment it has ended.
unsafe extern "C" fn woken(env: napi_env, _: napi_value, reference: *mut c_void, _: *mut c_void) {
    if env.is_null() {
        return;
    }
    let (mut callback, mut receiver) = (ptr::null_mut(), ptr::null_mut());
    // SAFETY: the reference is there until `unreferenced`. What has been collected is null.
    unsafe { sys::napi_get_reference_value(env, reference.cast(), &raw mut callback) };
    // SAFETY: Node-API calls this on the thread of `env`.
    unsafe { sys::napi_get_undefined(env, &raw mut receiver) };
    if callback.is_null() || receiver.is_null() {
        return;
    }
    // SAFETY: both are of this environment. What the function throws is the runtime's to report.
    unsafe { sys::napi_call_function(env, receiver, callback, 0, ptr::null(), ptr::null_mut()) };
}

/// The thread-safe function is gone, and calls nothing any more.
unsafe extern "C" fn unreferenced(env: napi_env, reference: *mut c_void, _: *mut c_void) {
    // SAFETY: the reference of `threadsafe`, on the thread of `env`; it is not used any more.
    unsafe { sys::napi_delete_reference(env, reference.cast()) };
}

/// What `exchange` gives after a panic.
const PANICKED: i32 = -3;

/// `exchange()`, `exchange(flag)`, `exchange(buffer)`.
unsafe extern "C" fn exchange(env: napi_env, info: napi_callback_info) -> napi_value {
    // SAFETY: Node-API calls this with both.
    let Ok(([argument], count, data)) = (unsafe { arguments::<1>(env, info) }) else {
        return ptr::null_mut();
    };
    // SAFETY: the data of this function is the box of `try_start`. Only this thread uses it, and what is called here calls no JavaScript: nothing else
    // uses it now.
    let addon = unsafe { &mut *data.cast::<Addon>() };
    if count > 0 {
        // SAFETY: on the thread of `env`, which the argument is of.
        unsafe { addon.set(env, argument) };
        return ptr::null_mut();
    }
    // SAFETY: JavaScript of this thread alone has the buffer, and does not run now.
    let memory = unsafe { addon.memory.bytes() };
    // A defect must not be thrown through C. The panic hook has printed it; JavaScript throws.
    let exchanged = catch_unwind(AssertUnwindSafe(|| addon.instance.exchange(memory)));
    let mut number = ptr::null_mut();
    // SAFETY: on the thread of `env`.
    unsafe { sys::napi_create_int32(env, exchanged.unwrap_or(PANICKED), &raw mut number) };
    number
}

impl Memory {
    /// # Safety
    /// Nothing else uses the buffer as long as the result is used.
    unsafe fn bytes<'m>(&self) -> &'m mut [u8] {
        if self.len == 0 {
            return &mut [];
        }
        // SAFETY: the buffer is kept by the reference, is never detached, and has so many bytes; the rest is the caller's promise.
        unsafe { std::slice::from_raw_parts_mut(self.start, self.len) }
    }
}

impl Addon {
    /// A flag: whether the event loop stays alive until another comes. A buffer: the memory from now on.
    ///
    /// # Safety
    /// On the thread of `env`, which the argument is of.
    unsafe fn set(&mut self, env: napi_env, argument: napi_value) {
        let mut is_held = false;
        // SAFETY: the caller's promise. What is no boolean is an error.
        let is_flag = check(unsafe { sys::napi_get_value_bool(env, argument, &raw mut is_held) });
        match is_flag {
            Ok(()) if is_held => {
                // SAFETY: the addon has the function as long as it is there.
                unsafe { sys::napi_ref_threadsafe_function(env, self.wake) };
                // SAFETY: the reference is there as long as the function is.
                unsafe { sys::napi_reference_ref(env, self.callback, ptr::null_mut()) };
            }
            Ok(()) => {
                // SAFETY: as above.
                unsafe { sys::napi_unref_threadsafe_function(env, self.wake) };
                // SAFETY: as above; JavaScript asks for each once, by turns.
                unsafe { sys::napi_reference_unref(env, self.callback, ptr::null_mut()) };
            }
            Err(Failed) => {
                // SAFETY: the caller's promise.
                if let Ok(memory) = unsafe { memory(env, argument) } {
                    let before = std::mem::replace(&mut self.memory, memory);
                    // SAFETY: the reference was made here, and is not used any more.
                    unsafe { sys::napi_delete_reference(env, before.reference) };
                }
            }
        }
    }
}
