//! `larder repair`: repairs one store and says what came of it.

use std::fmt::Write as _;
use std::sync::Arc;

use larder_backing_store::{
    OpenOptions, Repaired, Result, RowNames, RowsInDoubt, Store, StorePaths, repair,
};
use larder_leveldb::storage::FileSystem;

use crate::report::Report;

/// So many rows in doubt are named; all are counted.
const ROWS_NAMED_MAX: usize = 100;

/// Repairs a store. What was lost goes to the report; the rest, as text, is the result.
///
/// # Errors
/// As [`repair`].
pub(crate) fn run(
    fs: Arc<dyn FileSystem>,
    paths: &StorePaths,
    report: &mut Report,
) -> Result<String> {
    let repaired = repair(Arc::clone(&fs), paths, RowsInDoubt::BringBack)?;
    let place = paths.leveldb.display().to_string();
    let store = Store::open_read_only(fs, paths.clone(), OpenOptions::default())?;
    let names = RowNames::of(&store);
    for damage in &repaired.damage {
        report.damage(&place, names.damage(damage));
    }
    for tail in &repaired.torn_tails {
        report.note(&place, tail);
    }
    for row in repaired.rows_in_doubt.iter().take(ROWS_NAMED_MAX) {
        let (row, file) = (names.row(&row.key), &row.file);
        report.damage(
            &place,
            format_args!("{row}: from {file}, may be outdated or deleted"),
        );
    }
    Ok(summary(&place, &repaired))
}

fn summary(place: &str, repaired: &Repaired) -> String {
    let mut text = format!("{place}: repaired, {} rows\n", repaired.rows);
    // Writing to a String cannot fail, here and below.
    if repaired.in_doubt > 0 {
        let _ = writeln!(
            text,
            "{place}: {} of them may be outdated or deleted",
            repaired.in_doubt
        );
    }
    for path in &repaired.set_aside {
        let _ = writeln!(text, "{place}: set aside: {}", path.display());
    }
    text
}
