//! Writing into the tables that Chromium makes: a database's file whole and new, and what a live one changes in its.

pub(crate) mod blob;
mod database;
pub(crate) mod statements;
mod tables;

pub use database::{Finished, NewDatabase, RecordRow, Unsaid};
pub(crate) use tables::RELIED_ON;
