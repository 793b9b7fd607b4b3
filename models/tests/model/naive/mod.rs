//! A naive IndexedDB in memory, written from the W3C "Indexed Database API 3.0" algorithm by algorithm; numbers in the
//! comments are that document's sections. No code of the real one is used here.
//!
//! It is eager: after each call everything happens that may happen ([`World::pump`]), so what it says of a request is what a real
//! one says as soon as it gets there. It is slow on purpose: lists, whole copies, no cleverness.

mod calls;
mod cursor;
mod database;
mod execute;
mod handles;
mod key;
mod key_generator;
mod key_path;
mod queue;
mod store;
mod transaction;
mod value;

pub(crate) use cursor::Direction;
pub(crate) use database::{Committed, ConnectionEvent, Content, OpenEvent, World};
pub(crate) use handles::{Handle, IndexHandle};
pub(crate) use key::{Key, Range, compare, from_value, to_value};
pub(crate) use key_path::{Extracted, KeyPath, can_inject, extract, inject};
pub(crate) use store::{Index, Record, Store};
pub(crate) use transaction::{Mode, Operation, Outcome, State, What};
pub(crate) use value::{Value, units};

/// The name of an exception.
pub(crate) type Exception = &'static str;
