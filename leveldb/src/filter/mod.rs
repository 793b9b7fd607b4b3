//! Filters: which blocks of a table cannot hold a key.
//!
//! [`bloom`] is one filter; [`FilterBlock`] and [`FilterBlockBuilder`] are a table's block of them.

pub mod bloom;
mod filter_block;
mod key_filter;

pub use filter_block::{FilterBlock, FilterBlockBuilder};
pub(crate) use key_filter::KeyFilter;
