//! FlatBuffers, as far as Ledger's messages need them: tables, vectors of bytes, of structs and of tables.
//!
//! [`Table`] reads any valid layout and checks every offset. [`Writer`] lays out front to back: a table's vtable before it, what it refers
//! to behind it. The layout of each message depends on its content alone, because names of objects are hashes of these bytes.
//! `docs/format/pages.md`, "FlatBuffers"; decision 45 says why this is no crate.

mod reader;
mod writer;

pub(crate) use reader::{Malformed, Table};
pub(crate) use writer::{VTable, Writer};

#[cfg(test)]
mod tests;
