//! The stores below PATH, opened when they are asked about, and again when their files have changed.

use std::collections::hash_map::DefaultHasher;
use std::hash::{Hash, Hasher};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use larder_backing_store::{
    DatabaseMetadata, ErrorKind, IndexMetadata, ObjectStoreMetadata, OpenOptions, RowNames, Store,
    StorePaths,
};
use larder_leveldb::storage::FileSystem;
use larder_leveldb::{BlockCache, Damage, OnDamage};
use larder_view::Refusal;

use super::asked::{Content, InStore};
use super::long_keys::LongKeys;
use super::said::Said;
use crate::bucket_names::BucketNames;
use crate::open_store::open_store;
use crate::store_notes::{holder_text, report_notes};
use crate::store_origin::StoreOrigin;

/// So many are open at once; of those that are not used, the one that was used longest ago is closed for another.
const OPEN_MAX: usize = 8;

/// Blocks of all of them in memory.
const CACHE_BYTES: usize = 16 << 20;

/// Files of LevelDB's and SQLite's that change though no row does.
const NO_ROWS_IN: [&str; 3] = ["LOCK", "LOG", "LOG.old"];

/// What lies below PATH.
pub(super) struct Stores {
    pub(super) fs: Arc<dyn FileSystem>,
    /// Where was looked.
    pub(super) path: PathBuf,
    pub(super) long_keys: LongKeys,
    /// By number.
    all: Vec<Place>,
    bucket_names: Mutex<BucketNames>,
    cache: BlockCache,
    clock: AtomicU64,
}

/// Where a store lies, and the store while it is open.
struct Place {
    paths: StorePaths,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    /// How often its files have been seen to change.
    generation: u64,
    /// How the files stood when they were looked at; none before the store is opened.
    signature: Option<u64>,
    open: Option<Arc<OpenStore>>,
    used: u64,
}

impl State {
    /// The files have been looked at: what they were read as before counts no more if they have changed.
    fn note(&mut self, signature: u64) {
        if self.signature.is_some_and(|before| before != signature) {
            self.generation += 1;
            self.open = None;
        }
        self.signature = Some(signature);
    }
}

/// A store as it stood at one moment.
pub(super) struct OpenStore {
    pub(super) number: usize,
    pub(super) generation: u64,
    pub(super) store: Store,
    /// Its databases, and the names of what its rows belong to.
    pub(super) names: RowNames,
    pub(super) origin: StoreOrigin,
    /// What is to be read before its content.
    pub(super) notes: Vec<String>,
    /// What could not be read on the way to it.
    pub(super) problems: Vec<String>,
}

/// An object store, or an index of it, that is looked at.
#[derive(Clone, Copy)]
pub(super) struct Looked<'s> {
    pub(super) store: &'s Store,
    pub(super) database: &'s DatabaseMetadata,
    pub(super) object_store: &'s ObjectStoreMetadata,
    pub(super) index: Option<&'s IndexMetadata>,
}

impl Stores {
    pub(super) fn new(fs: Arc<dyn FileSystem>, path: PathBuf, found: Vec<StorePaths>) -> Self {
        let place = |paths| Place {
            paths,
            state: Mutex::default(),
        };
        Self {
            fs,
            path,
            long_keys: LongKeys::default(),
            all: found.into_iter().map(place).collect(),
            bucket_names: Mutex::default(),
            cache: BlockCache::new(CACHE_BYTES),
            clock: AtomicU64::new(1),
        }
    }

    /// Where the stores lie, in the order of their numbers.
    pub(super) fn paths(&self) -> impl Iterator<Item = &StorePaths> {
        self.all.iter().map(|place| &place.paths)
    }

    /// A store as it stood when it was looked at last.
    pub(super) fn open(&self, number: usize) -> Result<Arc<OpenStore>, Refusal> {
        let place = self.place(number)?;
        let mut state = locked(&place.state);
        state.used = self.clock.fetch_add(1, Ordering::Relaxed);
        if let Some(open) = &state.open {
            return Ok(Arc::clone(open));
        }
        // Before it is opened: what changes meanwhile is seen the next time.
        state.note(self.signature(&place.paths));
        let opened = Arc::new(self.opened(number, state.generation, &place.paths)?);
        state.open = Some(Arc::clone(&opened));
        drop(state);
        self.close_oldest();
        Ok(opened)
    }

    /// A store opened for one question alone: what is counted as it is read has not been counted before.
    pub(super) fn open_anew(&self, number: usize) -> Result<OpenStore, Refusal> {
        let place = self.place(number)?;
        let generation = locked(&place.state).generation;
        self.opened(number, generation, &place.paths)
    }

    /// Looks at its files: a store that has changed is opened anew when it is asked about next.
    pub(super) fn refresh(&self, number: usize) -> Result<(), Refusal> {
        let place = self.place(number)?;
        let mut state = locked(&place.state);
        if state.signature.is_some() {
            state.note(self.signature(&place.paths));
        }
        Ok(())
    }

    /// How often each of those that have been opened has changed, up to now, by number.
    pub(super) fn generations(&self) -> Vec<(usize, u64)> {
        let mut all = Vec::new();
        for (number, place) in self.all.iter().enumerate() {
            let mut state = locked(&place.state);
            if state.signature.is_some() {
                state.note(self.signature(&place.paths));
                all.push((number, state.generation));
            }
        }
        all
    }

    /// The program that has a store open now, in words. Of a store in SQLite files only opening says that.
    pub(super) fn in_use(&self, number: usize) -> Result<Option<String>, Refusal> {
        let place = self.place(number)?;
        let holder = match (place.paths.is_sqlite(), &locked(&place.state).open) {
            (true, open) => open.as_ref().and_then(|open| open.store.lock_holder()),
            (false, _) => {
                let lock = place.paths.leveldb.join("LOCK");
                self.fs.lock_holder(&lock).unwrap_or_default()
            }
        };
        Ok(holder.map(holder_text))
    }

    fn place(&self, number: usize) -> Result<&Place, Refusal> {
        let none = || Refusal::NotFound(format!("there is no store {number}"));
        self.all.get(number).ok_or_else(none)
    }

    fn opened(
        &self,
        number: usize,
        generation: u64,
        paths: &StorePaths,
    ) -> Result<OpenStore, Refusal> {
        let options = OpenOptions {
            on_damage: OnDamage::Skip,
            block_cache: self.cache.clone(),
        };
        let store = open_store(&self.fs, paths.clone(), options).map_err(refused)?;
        let said = Said::default();
        let mut report = said.report();
        let place = store.paths().leveldb.display().to_string();
        report_notes(&*self.fs, &store, &mut report);
        let mut problems = Vec::new();
        let names = RowNames::from(store.databases(&mut problems).map_err(refused)?);
        for problem in store.recovery().problems.iter().chain(&problems) {
            report.damage(&place, problem_text(&names, problem));
        }
        for damage in uncounted(&store) {
            report.damage(&place, names.damage(&damage));
        }
        let bucket_name = locked(&self.bucket_names).get(&*self.fs, paths, |file, why| {
            report.note(file.display(), why)
        });
        let origin = StoreOrigin::of(&store, names.databases(), bucket_name);
        // The page shows them with the store.
        let without_place = |text: String| match text.strip_prefix(&place) {
            Some(rest) => rest.trim_start_matches([':', ' ']).to_owned(),
            None => text,
        };
        let said = said.take();
        Ok(OpenStore {
            number,
            generation,
            names,
            origin,
            store,
            notes: said.notes.into_iter().map(without_place).collect(),
            problems: said.problems.into_iter().map(without_place).collect(),
        })
    }

    fn close_oldest(&self) {
        let mut open: Vec<(u64, &Place)> = Vec::new();
        for place in &self.all {
            // One that is being opened is in use.
            if let Ok(state) = place.state.try_lock()
                && state.open.is_some()
            {
                open.push((state.used, place));
            }
        }
        open.sort_by_key(|(used, _)| *used);
        let surplus = open.len().saturating_sub(OPEN_MAX);
        for (_, place) in open.into_iter().take(surplus) {
            if let Ok(mut state) = place.state.try_lock() {
                state.open = None;
            }
        }
    }

    /// What changes when rows do: names, lengths and times of the files.
    fn signature(&self, paths: &StorePaths) -> u64 {
        let mut names = self.fs.list(&paths.leveldb).unwrap_or_default();
        names.sort();
        let mut hasher = DefaultHasher::new();
        for name in names {
            let text = name.to_string_lossy();
            if NO_ROWS_IN.contains(&&*text) || text.ends_with("-shm") {
                continue;
            }
            name.hash(&mut hasher);
            if let Ok(metadata) = self.fs.metadata(&paths.leveldb.join(&name)) {
                metadata.len_bytes.hash(&mut hasher);
                metadata.modified.hash(&mut hasher);
            }
        }
        hasher.finish()
    }

    /// Bytes in files, and number of files, below a folder; and why not all of them are counted.
    pub(super) fn sizes_below(&self, dir: &Path, depth_max: usize) -> (u64, u64, Option<String>) {
        let said = Said::default();
        let (bytes, files) =
            crate::sizes::sizes_below(&*self.fs, dir, depth_max, &mut said.report());
        (bytes, files, said.take().problems.into_iter().next())
    }
}

impl OpenStore {
    /// What has been found damaged so far.
    pub(super) fn damage(&self) -> Vec<Damage> {
        uncounted(&self.store)
    }

    /// The database of this id.
    pub(super) fn database(&self, id: i64) -> Result<&DatabaseMetadata, Refusal> {
        let mut all = self.names.databases().iter();
        let found = all.find(|database| database.id.get() == id);
        found.ok_or_else(|| Refusal::NotFound(format!("there is no database {id}")))
    }

    /// What a question is about.
    pub(super) fn looked(&self, at: InStore) -> Result<Looked<'_>, Refusal> {
        let database = self.database(at.database)?;
        let mut all = database.object_stores.iter();
        let object_store = all.find(|store| store.id.get() == at.object_store);
        let none = || Refusal::NotFound(format!("there is no object store {}", at.object_store));
        let object_store = object_store.ok_or_else(none)?;
        let index = at.index.map(|id| {
            let mut all = object_store.indexes.iter();
            let index = all.find(|index| index.id.get() == id);
            index.ok_or_else(|| Refusal::NotFound(format!("there is no index {id}")))
        });
        Ok(Looked {
            store: &self.store,
            database,
            object_store,
            index: index.transpose()?,
        })
    }

    /// What of it is wanted, by the names that functions of other commands take.
    pub(super) fn selection(&self, content: &Content) -> Result<crate::scan::Selection, Refusal> {
        let mut selection = crate::scan::Selection::default();
        if let Some(id) = content.database {
            let database = self.database(id)?;
            selection.database = Some(database.name.clone());
            if let Some(id) = content.object_store {
                let mut all = database.object_stores.iter();
                let found = all.find(|store| store.id.get() == id);
                let none = || Refusal::NotFound(format!("there is no object store {id}"));
                selection.object_store = Some(found.ok_or_else(none)?.name.clone());
            }
        }
        Ok(selection)
    }
}

/// What is damaged, without how many rows were withheld for it: that grows with each reading of a store that stays open.
fn uncounted(store: &Store) -> Vec<Damage> {
    let mut all = store.damage();
    for damage in &mut all {
        damage.withheld = 0;
    }
    all
}

/// What is wrong with a row, by names.
pub(super) fn problem_text(names: &RowNames, problem: &larder_backing_store::Error) -> String {
    match problem.key() {
        Some(row) => format!("{}: {}", names.row(row), problem.without_row()),
        None => problem.to_string(),
    }
}

/// An error of a store, as the page says it.
pub(super) fn refused(error: larder_backing_store::Error) -> Refusal {
    match error.kind() {
        ErrorKind::NotAStore => Refusal::NotFound(error.to_string()),
        _ => Refusal::Failed(error.to_string()),
    }
}

/// As [`refused`], of the engine.
pub(super) fn engine(error: larder_leveldb::Error) -> Refusal {
    refused(error.into())
}

pub(super) fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    // What another thread has left half done here is at worst a store that is opened again.
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
