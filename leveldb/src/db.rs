//! A store, opened.

use crate::cache::BlockCache;
use crate::core::{Core, OpenTables};
use crate::damage::{Damage, DamageLog};
use crate::error::Result;
use crate::file_name::FileName;
use crate::internal_key::{InternalOrder, user_key};
use crate::memtable::TornTail;
use crate::open;
use crate::options::Options;
use crate::snapshot::{ReadState, Snapshot};
use crate::storage::{FileSystem, LockHolder};
use std::path::Path;
use std::sync::Arc;

/// A LevelDB store, open for reading.
#[derive(Debug)]
pub struct Db {
    state: Arc<ReadState>,
    last_sequence: u64,
    lock_holder: Option<LockHolder>,
    torn: Vec<TornTail>,
}

/// A table that is part of the store.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LiveFile {
    /// The file's number.
    pub number: u64,
    /// The file's name.
    pub name: String,
    /// Its level, 0 to 6; 0 for all if no MANIFEST tells.
    pub level: usize,
    /// Its length in bytes, as the MANIFEST says; `None` if it does not.
    pub len_bytes: Option<u64>,
    /// Its first user key, as far as known.
    pub smallest: Option<Vec<u8>>,
    /// Its last user key, as far as known.
    pub largest: Option<Vec<u8>>,
}

impl Db {
    /// Opens the store in a directory. Writes nothing, makes nothing and takes no lock: the store may be in use
    /// ([`lock_holder`](Self::lock_holder)), and what is seen then is the store of some moment during this call.
    ///
    /// # Errors
    /// `NotAStore` if there is nothing of a store in `dir` or no such directory; `Usage` if the store has another
    /// comparator; `Io`; with [`OnDamage::Fail`](crate::OnDamage::Fail), `Corruption` if CURRENT, the MANIFEST or a log is
    /// damaged or a table missing. Tables are verified when they are read.
    pub fn open_read_only(fs: Arc<dyn FileSystem>, dir: &Path, options: Options) -> Result<Db> {
        let new_core = || Core {
            fs: fs.clone(),
            dir: dir.to_owned(),
            order: InternalOrder::new(options.comparator.clone()),
            on_damage: options.on_damage,
            cache: BlockCache::new(options.block_cache_bytes),
            damage: DamageLog::default(),
            tables: OpenTables::new(options.open_tables_max),
        };
        let (core, opened) = open::open(new_core, options.log_value_bytes)?;
        // A lock that cannot be asked for is none that is known to be held.
        let lock_holder = fs
            .lock_holder(&dir.join(FileName::Lock.to_string()))
            .ok()
            .flatten();
        let state = ReadState {
            core,
            version: Arc::new(opened.version),
            mem: Arc::new(opened.mem),
        };
        Ok(Db {
            state: Arc::new(state),
            last_sequence: opened.last_sequence,
            lock_holder,
            torn: opened.torn,
        })
    }

    /// The store's content.
    pub fn snapshot(&self) -> Snapshot {
        Snapshot::new(self.state.clone(), self.last_sequence)
    }

    /// The store's content as of a sequence number, as far as compactions have left it.
    pub fn snapshot_at(&self, sequence: u64) -> Snapshot {
        Snapshot::new(self.state.clone(), sequence)
    }

    /// The greatest sequence number. If no MANIFEST tells, the greatest there can be.
    pub fn latest_sequence(&self) -> u64 {
        self.last_sequence
    }

    /// Who had the store locked when it was opened: a process that may be writing to it.
    pub fn lock_holder(&self) -> Option<LockHolder> {
        self.lock_holder
    }

    /// All damage met so far: when the store was opened, and by all who read it since.
    pub fn damage(&self) -> Vec<Damage> {
        self.snapshot().damage()
    }

    /// Logs, and the MANIFEST, that end within a record: what a crash leaves. What was written there was never complete.
    pub fn torn_tails(&self) -> &[TornTail] {
        &self.torn
    }

    /// The tables that are part of the store.
    pub fn files(&self) -> Vec<LiveFile> {
        let user = |key: &Option<Vec<u8>>| key.as_ref().map(|key| user_key(key).to_vec());
        let files = self.state.version.files();
        files
            .map(|file| LiveFile {
                number: file.number,
                name: self.state.core.file_name(file),
                level: file.level,
                len_bytes: file.len_bytes,
                smallest: user(&file.smallest),
                largest: user(&file.largest),
            })
            .collect()
    }
}
