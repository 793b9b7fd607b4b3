//! What a person should read about a store before trusting what comes out of it.

use larder_backing_store::Store;
use larder_leveldb::TailKind;
use larder_leveldb::storage::{FileSystem, LockHolder, files_without_permission};

use crate::report::Report;

/// Reports that a program has it open.
pub(crate) fn report_use(store: &Store, report: &mut Report) {
    if let Some(holder) = store.lock_holder() {
        let holder = holder_text(holder);
        report.note(
            store.paths().leveldb.display(),
            format_args!("in use by {holder}; this is how it stood a moment ago"),
        );
    }
}

/// The program that has a store open.
pub(crate) fn holder_text(holder: LockHolder) -> String {
    holder.pid.map_or_else(
        || "another process".to_owned(),
        |pid| format!("process {pid}"),
    )
}

/// Reports the rest: its order, its logs' ends, what may not be read, what is shown undone.
pub(crate) fn report_notes(fs: &dyn FileSystem, store: &Store, report: &mut Report) {
    let place = store.paths().leveldb.display();
    if let Some(note) = store.order().note() {
        report.note(&place, note);
    }
    for tail in store.torn_tails() {
        // A store in use is written to while it is read.
        let why = match store.lock_holder() {
            Some(_) => "which was not complete when it was read",
            None => "as a crash leaves it",
        };
        match tail.kind {
            TailKind::Cut => report.note(
                &place,
                format_args!(
                    "{} ends in the middle of a write at byte {}, {why}",
                    tail.file, tail.offset
                ),
            ),
            _ => report.note(&place, tail),
        }
    }
    if !store.damage().is_empty() {
        let forbidden = files_without_permission(fs, &store.paths().leveldb);
        for path in forbidden.unwrap_or_default() {
            report.unreadable(
                path.display(),
                "this user may not read the file, which need not be damaged: run larder as the user that owns it",
            );
        }
    }
    let recovery = store.recovery();
    match recovery.undone.len() {
        0 => {}
        1 => report.note(&place, "1 unfinished transaction is shown undone"),
        more => report.note(
            &place,
            format_args!("{more} unfinished transactions are shown undone"),
        ),
    }
    if let Some((one, other)) = recovery.contested {
        let note = format_args!(
            "unfinished transactions {one} and {other} held the same lock; Chromium would take that for corruption and discard the store"
        );
        report.note(&place, note);
    }
}
