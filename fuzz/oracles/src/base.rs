//! Small stores whose content is known: rows that Chromium wrote, in files small enough to be read thousands of times a
//! second. `examples/seeds.rs` makes them.

use std::path::Path;
use std::sync::{Arc, LazyLock};

use larder_backing_store::{IdbComparator, StorePaths};
use larder_leveldb::{Comparator, Db, EntryKind, Options};

use crate::files::Files;
use crate::reading::{self, DIR, Rows, Written};

/// A store, and what was written into it.
#[derive(Debug)]
pub(crate) struct Base {
    pub(crate) files: Files,
    pub(crate) written: Written,
    /// What it shows.
    pub(crate) rows: Rows,
}

impl Base {
    /// A store of a browser that was closed: two tables on two levels, a log, blobs.
    pub(crate) fn lite() -> &'static Base {
        static BASE: LazyLock<Base> =
            LazyLock::new(|| Base::new(include_bytes!("../stores/lite.store")));
        &BASE
    }

    /// A store of a browser that was killed within a large transaction: a log, with an undo log among its rows.
    pub(crate) fn killed() -> &'static Base {
        static BASE: LazyLock<Base> =
            LazyLock::new(|| Base::new(include_bytes!("../stores/killed.store")));
        &BASE
    }

    fn new(archive: &[u8]) -> Base {
        let files = Files::from_archive(archive);
        let comparator: Arc<dyn Comparator> = Arc::new(IdbComparator);
        let options = Options::new(comparator.clone());
        let db =
            Db::open_read_only(files.mount(), Path::new(DIR), options).expect("the store is whole");
        let mut entries = db.snapshot().entries();
        let mut history = Vec::new();
        while entries.advance().expect("the store is whole") {
            let value = entries.value().expect("the store is whole").to_vec();
            let value = (entries.kind() == EntryKind::Value).then_some(value);
            history.push((entries.sequence(), entries.key().to_vec(), value));
        }
        history.sort();
        let mut written = Written::default();
        for (_, key, value) in history {
            written.note(key, value);
        }
        let shown = reading::read(&files, &comparator).expect("it is a store");
        assert!(
            shown.is_whole && written.is(&shown.rows),
            "the store is whole"
        );
        Base {
            files,
            written,
            rows: shown.rows,
        }
    }

    /// Where its two folders are.
    pub(crate) fn paths() -> StorePaths {
        StorePaths::of_leveldb(Path::new(DIR))
    }
}
