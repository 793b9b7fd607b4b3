//! The client itself: its version, its network, its errors.

use crate::errors::{self, Code};
use crate::network;
use std::ffi::{c_char, c_int, c_void};

/// The version of the interface that this library has.
const VERSION: c_int = 730;

#[unsafe(no_mangle)]
extern "C" fn fdb_select_api_version_impl(runtime: c_int, header: c_int) -> Code {
    match runtime {
        _ if runtime > header => errors::VERSION_INVALID_FOR_HEADER,
        _ if header > VERSION => errors::VERSION_NOT_SUPPORTED,
        _ => network::choose_version(),
    }
}

#[unsafe(no_mangle)]
extern "C" fn fdb_get_max_api_version() -> c_int {
    VERSION
}

#[unsafe(no_mangle)]
extern "C" fn fdb_network_set_option(_: c_int, _: *const c_void, _: c_int) -> Code {
    0
}

#[unsafe(no_mangle)]
extern "C" fn fdb_setup_network() -> Code {
    network::set_up()
}

#[unsafe(no_mangle)]
extern "C" fn fdb_run_network() -> Code {
    network::run()
}

#[unsafe(no_mangle)]
extern "C" fn fdb_stop_network() -> Code {
    network::stop()
}

#[unsafe(no_mangle)]
extern "C" fn fdb_get_error(code: Code) -> *const c_char {
    errors::words(code).as_ptr()
}

#[unsafe(no_mangle)]
extern "C" fn fdb_error_predicate(predicate: c_int, code: Code) -> c_int {
    c_int::from(errors::holds(predicate, code))
}
