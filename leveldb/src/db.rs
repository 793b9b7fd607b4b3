//! A store, opened.

use crate::bounds::Bounds;
use crate::core::Core;
use crate::damage::Damage;
use crate::engine::{BackgroundPause, Durability, Engine, Ingestion, Recovered, Statistics};
use crate::error::{Error, ErrorKind, Result};
use crate::file_name::FileName;
use crate::internal_key::user_key;
use crate::iter::{Iter, Rows};
use crate::open::{self, Limits};
use crate::options::{Background, Options};
use crate::order_check::KeyOrder;
use crate::read_state::ReadState;
use crate::size;
use crate::snapshot::Snapshot;
use crate::storage::{FileSystem, LockHolder};
use crate::sync::JoinHandle;
use crate::table::TableContext;
use crate::torn::TornTail;
use crate::write_batch::BatchWriter;
use std::path::Path;
use std::sync::Arc;

/// Operations and bytes of a batch that [`Db::delete_range`] writes at a time.
const DELETE_BATCH_LEN: usize = 64 << 10;

/// A LevelDB store, open for reading or for reading and writing. Any number of threads may use it at once.
///
/// Dropping it stops and joins its thread, or leaves its pool; [`close`](Self::close) returns whether all went well.
///
/// ```
/// use larder_leveldb::{Db, Durability, Options, storage::MemoryFileSystem, write_batch::BatchWriter};
/// use std::{path::Path, sync::Arc};
///
/// let options = Options { create_if_missing: true, ..Options::default() };
/// let db = Db::open(Arc::new(MemoryFileSystem::new()), Path::new("fruit"), options)?;
/// db.put(b"apple", b"red", Durability::Relaxed)?;
/// let before = db.snapshot();
/// let mut batch = BatchWriter::new();
/// batch.delete(b"apple");
/// batch.put(b"pear", b"green");
/// db.write(&mut batch, Durability::Strict)?;
/// assert_eq!(db.get(b"apple")?, None);
/// assert_eq!(before.get(b"apple")?.as_deref(), Some(&b"red"[..]));
/// db.close()?;
/// # Ok::<(), larder_leveldb::Error>(())
/// ```
#[derive(Debug)]
pub struct Db {
    store: Store,
    lock_holder: Option<LockHolder>,
    torn: Vec<TornTail>,
    order: KeyOrder,
    thread: Option<JoinHandle<()>>,
}

#[derive(Debug)]
enum Store {
    Reading {
        state: Arc<ReadState>,
        last_sequence: u64,
    },
    Writing(Arc<Engine>),
}

/// A table that is part of the store.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LiveFile {
    /// The file's number.
    pub number: u64,
    /// The file's name.
    pub name: String,
    /// Its level, 0 to 6; 0 for all if there is no usable MANIFEST.
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
        let new_core = || {
            let context = TableContext::new(
                options.order(),
                options.on_damage,
                options.block_cache.clone(),
            );
            Core::new(&fs, dir, context, options.open_tables_max)
        };
        let (core, opened) = open::open(new_core, Limits::of(&options), false)?;
        // A lock that cannot be asked for is none that is known to be held.
        let lock_holder = fs
            .lock_holder(&dir.join(FileName::Lock.to_string()))
            .ok()
            .flatten();
        let state = ReadState {
            core,
            version: Arc::new(opened.version),
            mem: Arc::new(opened.mem),
            live: Vec::new(),
        };
        Ok(Db {
            store: Store::Reading {
                state: Arc::new(state),
                last_sequence: opened.last_sequence,
            },
            lock_holder,
            torn: opened.torn,
            order: opened.order,
            thread: None,
        })
    }

    /// Opens the store in a directory for reading and writing, or makes one
    /// ([`Options::create_if_missing`]; the directory above must be there). Takes the store's lock, makes tables of what was
    /// in the logs, and removes what an earlier process has left of no use; all of that later, if there is no room for it now.
    /// Damage is always an error here.
    ///
    /// # Errors
    /// `NotAStore` if there is none and none shall be made; `Conflict` if it is open for writing elsewhere; `Usage` if it
    /// is there and must not be ([`Options::error_if_exists`]), or has another comparator; `Unsupported` if its keys are in
    /// another order under that comparator's name ([`KeyOrder::Foreign`]), and nothing is changed then; `Corruption`; `Io`.
    pub fn open(fs: Arc<dyn FileSystem>, dir: &Path, options: Options) -> Result<Db> {
        let has_thread = matches!(options.background, Background::Thread);
        let Recovered {
            engine,
            torn,
            order,
        } = Engine::open(fs, dir, options)?;
        let thread = has_thread.then(|| engine.start()).transpose()?;
        engine.start_on_pool();
        Ok(Db {
            store: Store::Writing(engine),
            lock_holder: None,
            torn,
            order,
            thread,
        })
    }

    pub(crate) fn engine(&self) -> Result<&Arc<Engine>> {
        match &self.store {
            Store::Writing(engine) => Ok(engine),
            Store::Reading { .. } => Err(Error::new(
                ErrorKind::Usage,
                "the store is open for reading only: open it with `Db::open` to write",
            )),
        }
    }

    fn state(&self) -> Arc<ReadState> {
        match &self.store {
            Store::Reading { state, .. } => state.clone(),
            Store::Writing(engine) => engine.state(),
        }
    }

    /// The value of a key, now. Fails as [`Snapshot::get`] does.
    pub fn get(&self, key: &[u8]) -> Result<Option<Vec<u8>>> {
        self.snapshot().get(key)
    }

    /// Looks a key up and puts its value into `value`, in place of what was there: whether there is one.
    pub fn get_into(&self, key: &[u8], value: &mut Vec<u8>) -> Result<bool> {
        self.snapshot().get_into(key, value)
    }

    /// The rows of a range in order, as they are at this moment, from both ends: an iterator that copies each row ([`Rows`]). Ranges of
    /// Rust's are [`Bounds`] if their ends have bytes: slices, vectors, texts.
    ///
    /// ```
    /// # use larder_leveldb::{Db, Durability, Options, storage::MemoryFileSystem};
    /// # use std::{path::Path, sync::Arc};
    /// # let options = Options { create_if_missing: true, ..Options::default() };
    /// # let db = Db::open(Arc::new(MemoryFileSystem::new()), Path::new("fruit"), options)?;
    /// for fruit in ["apple", "pear", "plum"] {
    ///     db.put(fruit.as_bytes(), b"ripe", Durability::Relaxed)?;
    /// }
    /// for row in db.range("b"..) {
    ///     let (fruit, state) = row?;
    ///     println!("{fruit:?} is {state:?}");
    /// }
    /// let last = db.range(..="plum").next_back().transpose()?;
    /// assert_eq!(last, Some((b"plum".to_vec(), b"ripe".to_vec())));
    /// # Ok::<(), larder_leveldb::Error>(())
    /// ```
    pub fn range(&self, range: impl Into<Bounds>) -> Rows {
        self.snapshot().range(range)
    }

    /// A position that goes from row to row of this moment, in both directions ([`Snapshot::iter`]).
    pub fn iter(&self) -> Iter {
        self.snapshot().iter()
    }

    /// A position that goes from row to row of this moment within bounds, as if there were no others ([`Snapshot::iter_within`]).
    pub fn iter_within(&self, bounds: impl Into<Bounds>) -> Iter {
        self.snapshot().iter_within(bounds)
    }

    /// Gives a key a value. Fails as [`write`](Self::write) does.
    pub fn put(&self, key: &[u8], value: &[u8], durability: Durability) -> Result<()> {
        let mut batch = BatchWriter::new();
        batch.put(key, value);
        self.write(&mut batch, durability)
    }

    /// Takes a key's value away, if it has one. Fails as [`write`](Self::write) does.
    pub fn delete(&self, key: &[u8], durability: Durability) -> Result<()> {
        let mut batch = BatchWriter::new();
        batch.delete(key);
        self.write(&mut batch, durability)
    }

    /// Writes all of a batch or nothing, and empties the batch, also when this fails. Batches of several threads share a sync.
    /// After a crash, what is there of all that was written is a prefix: no write is without those before it. An empty
    /// batch with [`Durability::Strict`] makes everything before it durable.
    ///
    /// # Errors
    /// `Usage` for a store opened for reading, and for a batch above 3 GiB or 2^27 entries. `Io` if it could not be written, or
    /// if it would have to wait for a flush or compaction that cannot be done, or `Corruption` if damage is in the way of
    /// those: then nothing of the batch is there, nor will it be when the store is opened again, and later writes may
    /// succeed. `Conflict` if the store's folder or its LOCK was removed, renamed or replaced; noticed by strict writes,
    /// and by others when a log is full. `Uncertain` if the batch could neither be written for certain nor taken back.
    /// `Closed`, with the first failure, once no more writes are taken ([`check_writable`](Self::check_writable)), while
    /// reads go on.
    pub fn write(&self, batch: &mut BatchWriter, durability: Durability) -> Result<()> {
        self.engine()?.write(batch, durability)
    }

    /// Begins to write rows beside the store, in tables, which become part of it at once or not at all: for more rows than a batch
    /// should have. It takes neither the log nor a memtable, and nothing is to be compacted but what overlaps.
    ///
    /// Until it is installed or dropped nothing else may write a key of these rows. `mark` is a key that has no row and gets none:
    /// its deletion, which is written for each run of rows, takes the sequence number that the rows have.
    ///
    /// ```
    /// # use larder_leveldb::{Db, Options, storage::MemoryFileSystem};
    /// # use std::{path::Path, sync::Arc};
    /// # let options = Options { create_if_missing: true, ..Options::default() };
    /// let db = Db::open(Arc::new(MemoryFileSystem::new()), Path::new("db"), options)?;
    /// let mut ingestion = db.ingest(b"mark")?;
    /// ingestion.add([(&b"apple"[..], Some(&b"red"[..])), (b"pear", Some(b"green"))], |_, _| false)?;
    /// assert_eq!(ingestion.snapshot().get(b"pear")?.as_deref(), Some(&b"green"[..]));
    /// assert_eq!(db.get(b"pear")?, None);
    /// ingestion.install()?;
    /// assert_eq!(db.get(b"pear")?.as_deref(), Some(&b"green"[..]));
    /// # Ok::<(), larder_leveldb::Error>(())
    /// ```
    ///
    /// # Errors
    /// `Usage` for a store opened for reading.
    pub fn ingest(&self, mark: &[u8]) -> Result<Ingestion> {
        Ok(Ingestion::new(Arc::clone(self.engine()?), mark))
    }

    /// Deletes all keys from `from` up to and without `to`, in batches: not all at once, and never holding the range in
    /// memory. Keys written meanwhile may stay. How many were deleted.
    pub fn delete_range(&self, from: &[u8], to: &[u8], durability: Durability) -> Result<u64> {
        self.engine()?;
        let mut iter = self.iter_within(from..to);
        let mut batch = BatchWriter::new();
        let mut deleted = 0;
        iter.seek_to_first()?;
        while iter.valid() {
            batch.delete(iter.key());
            deleted += 1;
            if batch.len_bytes() >= DELETE_BATCH_LEN {
                self.write(&mut batch, Durability::Relaxed)?;
            }
            iter.next()?;
        }
        self.write(&mut batch, durability)?;
        Ok(deleted)
    }

    /// Whether the last write found no room on the disk, or, before any, the opening did. Then [`forget`](Self::forget) and
    /// [`flush`](Self::flush) can make room. False for a store opened for reading.
    pub fn is_short_of_room(&self) -> bool {
        self.engine().is_ok_and(|engine| engine.is_short_of_room())
    }

    /// Lets no background thread begin anything while the returned value lives, and waits for what one has begun. For a write that
    /// needs the little room a disk has left: a table that is being made takes it all, if only until it finds too little. Writers
    /// that have to wait for background work do it themselves meanwhile.
    ///
    /// # Errors
    /// `Usage` if it is open for reading only.
    pub fn pause_background(&self) -> Result<BackgroundPause<'_>> {
        Ok(self.engine()?.pause_background())
    }

    /// Declares the rows from `from` up to and without `to` useless, and those that are written there later: they must not be read
    /// any more, and each may go or stay until it is deleted. It takes hardly any room, and makes some: tables with nothing else are
    /// gone at once, and other values when what they lie in is made into a table ([`flush`](Self::flush)). Deleting the rows goes on
    /// as before. An older value of a key can come to light where a newer one has gone. It waits for a step of background work that
    /// is under way. It holds until the store is closed.
    ///
    /// # Errors
    /// As [`write`](Self::write).
    pub fn forget(&self, from: &[u8], to: &[u8]) -> Result<()> {
        self.engine()?.forget(from, to)
    }

    /// Says that all rows from `from` up to and without `to` have been deleted: what of them still lies in tables and logs may go. What
    /// is written there later stays. It changes nothing by itself: their values go when what they lie in is made into a table
    /// ([`flush`](Self::flush), [`reclaim`](Self::reclaim)). The deletion must be durable. It holds until the store is closed.
    ///
    /// # Errors
    /// `Usage` if there is a row; if one cannot be read; as [`write`](Self::write).
    pub fn forget_deleted(&self, from: &[u8], to: &[u8]) -> Result<()> {
        self.engine()?.forget_deleted(from, to)
    }

    /// Makes room of what may go ([`forget`](Self::forget), [`forget_deleted`](Self::forget_deleted)) on a disk that has hardly any:
    /// tables with some of it are written anew without that, those first of which least is left, as far as there is room for it. It
    /// reads all such tables, and waits for a step of background work that is under way.
    ///
    /// # Errors
    /// As [`write`](Self::write); if there is no room, what could be done is done.
    pub fn reclaim(&self) -> Result<()> {
        self.engine()?.reclaim()
    }

    /// Makes tables of everything in memory: afterwards it is in tables, durable, and the logs are empty. Fails as
    /// [`write`](Self::write) does.
    pub fn flush(&self) -> Result<()> {
        self.engine()?.flush()
    }

    /// Merges all tables with keys from `from` to `to`, both included (`None`: from the first, to the last). Afterwards no
    /// file holds the bytes of a value in that range that was deleted or replaced before the call, unless a snapshot or an
    /// iterator from before still reads it: then it goes with the first background work after those. Fails as
    /// [`write`](Self::write) does.
    pub fn compact_range(&self, from: Option<&[u8]>, to: Option<&[u8]>) -> Result<()> {
        self.engine()?.compact_range(from, to)
    }

    /// The most bytes of tables that [`compact_range`](Self::compact_range) would read. What is in memtables, and what is written
    /// meanwhile, is not counted. This call reads no file.
    ///
    /// # Errors
    /// `Usage` if it is open for reading only.
    pub fn compaction_bytes(&self, from: Option<&[u8]>, to: Option<&[u8]>) -> Result<u64> {
        Ok(self.engine()?.compaction_bytes(from, to))
    }

    /// Makes a table of a full memtable or does one compaction, if either is due: whether one was. For
    /// [`Background::Caller`]; does no harm beside a thread.
    ///
    /// # Errors
    /// Why it could not be done: `Io`, then it stays due and the next call tries it again; `Corruption`, then no compaction
    /// takes the damaged table any more; `Closed` and `Conflict` as [`write`](Self::write).
    pub fn do_background_work(&self) -> Result<bool> {
        self.engine()?.work_once()
    }

    /// Removes tables that nothing reads any more, such as those of an [`Ingestion`] after its end. Background work that is under way
    /// does so itself, and is not waited for.
    pub fn remove_unread(&self) {
        if let Ok(engine) = self.engine() {
            engine.remove_unread();
        }
    }

    /// About how many bytes of tables the keys from `from` up to and without `to` take: packed, and without what is only in
    /// memory and logs. Reads the tables' indexes, no rows.
    pub fn approximate_size(&self, from: &[u8], to: &[u8]) -> Result<u64> {
        let state = self.state();
        size::between(&state.core, &state.version, from, to)
    }

    /// Whether writes are still taken. They are not after a failure that leaves open what is on the medium, a panic of the
    /// comparator, or the loss of the lock.
    ///
    /// # Errors
    /// [`ErrorKind::Closed`], with the first failure, if writes are refused until the store is opened again; `Conflict` when
    /// that is since the lock turns out to be lost; `Io` if that cannot be found out; `Usage` if it is open for reading only.
    pub fn check_writable(&self) -> Result<()> {
        self.engine()?.check_writable()
    }

    /// Takes no more writes until the store is opened again: for a caller that keeps more in it than single batches, and finds that
    /// what is there by now must not be added to. Reads go on.
    ///
    /// # Errors
    /// `Usage` if it is open for reading only.
    pub fn refuse_writes(&self, why: impl Into<String>) -> Result<()> {
        self.engine()?
            .refuse_writes(&Error::new(ErrorKind::Closed, why));
        Ok(())
    }

    /// What the engine has done since the store was opened, and what it is made of. All zero for one opened for reading.
    pub fn statistics(&self) -> Statistics {
        match &self.store {
            Store::Writing(engine) => engine.statistics(),
            Store::Reading { .. } => Statistics::default(),
        }
    }

    /// Stops background work, makes everything written durable and gives up the lock. Snapshots and iterators can be read on.
    ///
    /// # Errors
    /// Why writes were refused, if they were; `Io`.
    pub fn close(mut self) -> Result<()> {
        self.shut_down()
    }

    fn shut_down(&mut self) -> Result<()> {
        let Store::Writing(engine) = &self.store else {
            return Ok(());
        };
        let closed = engine.close_log();
        engine.stop();
        let joined = self
            .thread
            .take()
            .is_none_or(|thread| thread.join().is_ok());
        engine.leave_pool();
        engine.clean_up();
        if !joined {
            return Err(Error::new(
                ErrorKind::Closed,
                "background thread has panicked",
            ));
        }
        closed
    }

    /// The store's content.
    pub fn snapshot(&self) -> Snapshot {
        match &self.store {
            Store::Reading {
                state,
                last_sequence,
            } => Snapshot::new(state.clone(), *last_sequence),
            Store::Writing(engine) => engine.snapshot(),
        }
    }

    /// The store's content as of a sequence number, as far as flushes and compactions have left it: they keep the newest entry of
    /// each key.
    pub fn snapshot_at(&self, sequence: u64) -> Snapshot {
        match &self.store {
            Store::Reading { state, .. } => Snapshot::new(state.clone(), sequence),
            Store::Writing(engine) => engine.snapshot_at(sequence),
        }
    }

    /// The greatest sequence number. Without a usable MANIFEST, the greatest there can be.
    pub fn latest_sequence(&self) -> u64 {
        match &self.store {
            Store::Reading { last_sequence, .. } => *last_sequence,
            Store::Writing(engine) => engine.last_sequence(),
        }
    }

    /// The holder of the store's lock when the store was opened for reading: a process that may be writing to the store.
    pub fn lock_holder(&self) -> Option<LockHolder> {
        self.lock_holder
    }

    /// All damage met so far: when the store was opened, and by all reads since.
    pub fn damage(&self) -> Vec<Damage> {
        self.snapshot().damage()
    }

    /// Logs, and the MANIFEST, that were not read to their end when the store was opened, because a crash has taken something from
    /// it: nothing that was acknowledged as durable. A host should say so: what was written shortly before the crash and
    /// acknowledged with [`Durability::Relaxed`] may be missing.
    pub fn torn_tails(&self) -> &[TornTail] {
        &self.torn
    }

    /// Whether the tables' keys were in the comparator's order when the store was opened.
    pub fn order(&self) -> KeyOrder {
        self.order
    }

    /// The tables that are part of the store.
    pub fn files(&self) -> Vec<LiveFile> {
        let user = |key: &Option<Vec<u8>>| key.as_ref().map(|key| user_key(key).to_vec());
        let state = self.state();
        state
            .version
            .files()
            .map(|file| LiveFile {
                number: file.number,
                name: state.core.file_name(file),
                level: file.level,
                len_bytes: file.len_bytes,
                smallest: user(&file.smallest),
                largest: user(&file.largest),
            })
            .collect()
    }
}

impl Drop for Db {
    fn drop(&mut self) {
        // `close` returns the result.
        let _ = self.shut_down();
    }
}
