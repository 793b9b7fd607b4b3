//! Chromium's IndexedDB coding scheme: bytes to and from keys, rows and values.
//!
//! Pure: this crate reads no file, no clock and no random number. The byte shapes are recorded in
//! `docs/FORMAT.md`.

pub mod error;
pub mod value;

pub use error::{Error, ErrorKind, Result};
