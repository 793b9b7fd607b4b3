//! What no program in C can show: panics inside, and where `unsafe` code stands.

use std::ffi::c_void;
use std::path::Path;
use std::ptr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use crate::callback::Callback;
use crate::error::{Error, Exception, Kind};
use crate::factory::{Factory, larder_factory_databases, larder_factory_free, larder_factory_open};
use crate::guard::tests::panicking;
use crate::host_loop::HostLoop;
use crate::key::{Key, larder_key_free, larder_key_number, larder_key_type};
use crate::options::{larder_options_in_memory, larder_options_set_threads};
use crate::pointers::{ErrorOut, larder_null};
use crate::request::{
    Request, larder_request_free, larder_request_on_done, larder_request_take_databases,
    larder_request_wait,
};
use crate::storage::{
    Storage, larder_storage_close, larder_storage_factory, larder_storage_free, larder_storage_new,
    larder_storage_run,
};
use crate::text::larder_names_free;
use crate::value::{larder_value_from_json, larder_value_to_json};

/// The error of a call that is given a place for one.
fn error_of<T>(call: impl FnOnce(ErrorOut) -> T) -> Option<Error> {
    let mut place = ptr::null_mut();
    drop(call(ErrorOut::to(&mut place)));
    // SAFETY: a call has put a box there, or nothing.
    (!place.is_null()).then(|| *unsafe { Box::from_raw(place) })
}

fn text(text: &'static str) -> crate::pointers::Str {
    // SAFETY: it is there for ever.
    unsafe { crate::pointers::larder_utf8_n(text.as_ptr().cast(), text.len()) }
}

fn storage(threads: usize) -> Box<Storage> {
    let mut options = larder_options_in_memory().unwrap();
    larder_options_set_threads(Some(&mut options), threads);
    let mut place = ptr::null_mut();
    larder_storage_new(Some(&options), ErrorOut::to(&mut place)).unwrap()
}

fn factory(storage: &Storage) -> Box<Factory> {
    let mut place = ptr::null_mut();
    let error = ErrorOut::to(&mut place);
    larder_storage_factory(Some(storage), text("https://a.example"), error).unwrap()
}

#[test]
fn a_panic_inside_is_an_error_outside() {
    let storage = storage(0);
    let factory = factory(&storage);
    let key = || larder_key_number(1.0, ErrorOut::to(&mut ptr::null_mut()));
    let errors = panicking(|| {
        [
            error_of(|error| larder_key_number(1.0, error)),
            error_of(|error| larder_value_from_json(text("1"), error)),
            error_of(|error| larder_value_to_json(None, error)),
            error_of(|error| larder_storage_factory(None, larder_null(), error)),
            error_of(|error| larder_factory_open(Some(&factory), text("db"), 1, error)),
            // SAFETY: null may be waited for.
            error_of(|error| unsafe { larder_request_wait(ptr::null(), error) }),
            error_of(|error| larder_storage_close(Some(&storage), error)),
        ]
    });
    for error in errors {
        let error = error.unwrap();
        let what = "larder has panicked: a defect";
        assert_eq!(error.parts(), (Exception::Unknown, Kind::Internal, what));
    }
    // Calls without a place for an error answer as if there was nothing.
    let one = key();
    panicking(|| {
        // SAFETY: the storage is there.
        assert!(!unsafe { larder_storage_run(&raw const *storage, 0) });
        larder_names_free(None);
        larder_key_free(one);
    });
    // And all goes on.
    let databases = larder_factory_databases(Some(&factory), ErrorOut::to(&mut ptr::null_mut()));
    let databases = databases.unwrap();
    let error = error_of(|error| {
        // SAFETY: the request is there.
        unsafe { larder_request_wait(&raw const *databases, error) }
    });
    assert!(error.is_none() && larder_request_take_databases(Some(&databases)).is_some());
}

#[test]
fn a_panic_in_a_call_of_the_loop_keeps_none_from_the_others() {
    let host = HostLoop::new(None);
    let count = Arc::new(AtomicU32::new(0));
    for at in 0..4 {
        let count = Arc::clone(&count);
        host.push(move || {
            assert_ne!(at, 1, "a defect");
            count.fetch_add(1, Ordering::Relaxed);
        });
    }
    let calling = host.enter().unwrap();
    assert!(host.enter().is_none(), "one at a time");
    while calling.call_next() {}
    drop(calling);
    assert_eq!(count.load(Ordering::Relaxed), 3);
    assert!(host.enter().is_some());
}

/// Counts, when it is called.
unsafe extern "C-unwind" fn counted(count: *mut c_void) {
    // SAFETY: the tests below give it a counter that outlasts the loop.
    let count = unsafe { &*count.cast::<AtomicU32>() };
    count.fetch_add(1, Ordering::Relaxed);
}

fn counting(count: &AtomicU32) -> Arc<HostLoop> {
    let count = ptr::from_ref(count).cast_mut().cast();
    HostLoop::new(Callback::new(Some(counted), count, ptr::null_mut()))
}

#[test]
fn a_loop_that_was_sent_away_is_woken_when_something_is_left() {
    let wakes = AtomicU32::new(0);
    let host = counting(&wakes);
    let waiting = host.enter_to_wait().unwrap();
    host.push(|| ());
    host.push(|| ());
    assert_eq!(wakes.load(Ordering::Relaxed), 1);
    assert!(host.enter().is_none() && host.enter().is_none());
    assert!(waiting.call_next());
    drop(waiting);
    assert_eq!(wakes.load(Ordering::Relaxed), 2);
    // Sent away again, and nothing is left: it sleeps, and what comes wakes it.
    let waiting = host.enter_to_wait().unwrap();
    assert!(host.enter().is_none() && waiting.call_next());
    drop(waiting);
    assert_eq!(wakes.load(Ordering::Relaxed), 2);
    host.push(|| ());
    assert_eq!(wakes.load(Ordering::Relaxed), 3);
}

/// Takes its time, and looks whether its storage is freed meanwhile.
unsafe extern "C-unwind" fn slow(state: *mut c_void) {
    // SAFETY: the test below gives it a counter that outlasts the loop.
    let state = unsafe { &*state.cast::<AtomicU32>() };
    state.store(1, Ordering::SeqCst);
    for _ in 0..1000 {
        std::thread::yield_now();
    }
    let _ = state.compare_exchange(1, 2, Ordering::SeqCst, Ordering::SeqCst);
}

#[test]
fn a_waker_has_returned_when_the_storage_is_freed() {
    let state = AtomicU32::new(0);
    let pointer = ptr::from_ref(&state).cast_mut().cast();
    let host = HostLoop::new(Callback::new(Some(slow), pointer, ptr::null_mut()));
    std::thread::scope(|scope| {
        scope.spawn(|| host.note_work());
        while state.load(Ordering::SeqCst) == 0 {
            std::thread::yield_now();
        }
        host.end();
        assert_eq!(state.swap(3, Ordering::SeqCst), 2, "it was still running");
    });
    host.note_work();
    assert_eq!(state.load(Ordering::SeqCst), 3);
}

#[test]
fn null_handles_and_numbers_of_no_meaning_are_errors() {
    for error in [
        error_of(|error| larder_factory_open(None, text("db"), 1, error)),
        error_of(|error| larder_value_to_json(None, error)),
        error_of(|error| larder_value_from_json(larder_null(), error)),
    ] {
        let error = error.unwrap();
        assert_eq!(error.parts().0, Exception::Type, "{error:?}");
    }
    let error = error_of(|error| larder_key_number(f64::NAN, error)).unwrap();
    assert_eq!(error.parts().0, Exception::Data);
    assert_eq!(larder_key_type(None::<&Key>), crate::key::KeyKind::None);
}

/// What a callback is given to free.
struct Freed {
    storage: *mut Storage,
    factory: *mut Factory,
    calls: u32,
}

unsafe extern "C-unwind" fn free_all(user_data: *mut c_void, request: *mut Request) {
    // SAFETY: it is what was given for this callback.
    let freed = unsafe { &mut *user_data.cast::<Freed>() };
    freed.calls += 1;
    // SAFETY: these came out of boxes, and nothing else frees them.
    let request = unsafe { Box::from_raw(request) };
    // SAFETY: as above.
    let factory = unsafe { Box::from_raw(freed.factory) };
    // SAFETY: as above.
    let storage = unsafe { Box::from_raw(freed.storage) };
    assert!(larder_request_take_databases(Some(&request)).is_some());
    larder_request_free(Some(request));
    larder_factory_free(Some(factory));
    larder_storage_free(Some(storage));
}

/// The call that it comes in goes on with what it has copied: Miri sees if not.
#[test]
fn a_callback_frees_its_request_and_the_storage_that_runs() {
    for waits in [false, true] {
        let storage = storage(0);
        let factory = factory(&storage);
        let databases = || {
            let mut place = ptr::null_mut();
            larder_factory_databases(Some(&factory), ErrorOut::to(&mut place)).unwrap()
        };
        let (request, waited) = (databases(), databases());
        let request = Box::into_raw(request);
        let mut freed = Freed {
            storage: Box::into_raw(storage),
            factory: Box::into_raw(factory),
            calls: 0,
        };
        // SAFETY: the request is there, and `freed` stays until the callback was called.
        unsafe { larder_request_on_done(request, Some(free_all), (&raw mut freed).cast()) };
        if waits {
            error_of(|error| {
                // SAFETY: the request is there.
                unsafe { larder_request_wait(&raw const *waited, error) }
            });
        } else {
            // SAFETY: the storage is there.
            assert!(!unsafe { larder_storage_run(freed.storage, 0) });
        }
        assert_eq!(freed.calls, 1);
        drop(waited);
    }
}

/// Both ways of doing the work, under Miri too: `cargo +nightly miri test -p larder-c --lib`.
#[test]
fn a_database_is_opened_with_threads_and_without() {
    for threads in [0, 1] {
        let storage = storage(threads);
        let factory = factory(&storage);
        let request = larder_factory_open(
            Some(&factory),
            text("db"),
            3,
            ErrorOut::to(&mut ptr::null_mut()),
        );
        let request = request.unwrap();
        let error = error_of(|error| {
            // SAFETY: the request is there.
            unsafe { larder_request_wait(&raw const *request, error) }
        });
        assert!(error.is_none(), "{error:?}");
        let connection = crate::request::larder_request_take_connection(Some(&request));
        let version = crate::connection::larder_connection_version(connection.as_deref());
        assert_eq!(version, 3, "{threads} threads");
    }
}

/// The files of the crate and what is in them.
#[expect(clippy::disallowed_methods, reason = "these are the sources")]
fn sources() -> Vec<(String, String)> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let files = std::fs::read_dir(folder).unwrap().map(|file| {
        let path = file.unwrap().path();
        let name = path.file_name().unwrap().to_str().unwrap().to_owned();
        (name, std::fs::read_to_string(&path).unwrap())
    });
    files.collect()
}

/// `unsafe` in attributes, and in the types of functions that C calls or gives, is not looked at: it does nothing by itself.
#[test]
fn unsafe_blocks_stand_where_the_crate_says() {
    let mut found = Vec::new();
    for (name, source) in sources() {
        let lines = source.lines().map(str::trim_start);
        let code = lines.filter(|line| !line.starts_with("//"));
        let blocks = code.filter(|line| line.contains("unsafe {") || line.contains("unsafe impl"));
        let count = blocks.count();
        if count > 0 && name != "tests.rs" {
            found.push((name, count));
        }
    }
    found.sort();
    let found: Vec<_> = found.iter().map(|(name, n)| (name.as_str(), *n)).collect();
    let expected = [
        ("callback.rs", 11),
        ("connection.rs", 3),
        ("foreign.rs", 2),
        ("key.rs", 3),
        ("new_blob.rs", 2),
        ("pointers.rs", 7),
        ("request.rs", 2),
        ("storage.rs", 1),
        ("version_change.rs", 2),
    ];
    assert_eq!(found, expected);
}
