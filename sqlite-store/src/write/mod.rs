//! Writing a database's file: whole and new, in the tables that Chromium makes.

mod blob;
mod database;
mod tables;

pub use database::{NewDatabase, RecordRow, Unsaid};
