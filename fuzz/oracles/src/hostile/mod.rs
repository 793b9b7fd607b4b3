//! Hostile stores: every checksum and every length is right, and what is said may be anything.
//!
//! A store is made from choices: from the rows of a small store that a Chromium wrote, some changed in the ways of their kinds
//! (`rows`, `keys`, `values`), laid out anew as tables, logs and a MANIFEST (`layout`). The choices are a fuzzer's bytes, and
//! where those end, numbers that follow from them: eight bytes make as odd a store as a thousand.

mod dice;
mod keys;
mod law;
mod layout;
mod rows;
mod table;
mod values;

pub use law::hostile_store;

use crate::base::Base;
use crate::files::Files;
use dice::Dice;

/// A row as it is written.
#[derive(Clone, Debug)]
struct Row {
    key: Vec<u8>,
    /// `None` deletes the key.
    value: Option<Vec<u8>>,
    sequence: u64,
}

/// A store's files, below `store`, and its blobs beside it, as these bytes choose them.
///
/// # Panics
/// Never: the small stores are compiled in.
#[must_use]
pub fn hostile_files(data: &[u8]) -> Files {
    let mut dice = Dice::new(data);
    let base = match dice.below(3) {
        0 => Base::killed(),
        _ => Base::lite(),
    };
    let rows = rows::change(&mut dice, &base.rows);
    let mut files = layout::lay_out(&mut dice, rows);
    let blobs = base.files.0.iter();
    let blobs = blobs.filter(|(path, _)| !path.starts_with("store/"));
    files
        .0
        .extend(blobs.map(|(path, content)| (path.clone(), content.clone())));
    files
}
