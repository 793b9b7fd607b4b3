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
use larder_leveldb::{BlockCache, OnDamage};
use larder_view::Refusal;

use super::asked::{Content, InStore};
use super::said::Said;
use crate::bucket_names::BucketNames;
use crate::open_store::open_store;
use crate::store_notes::report_notes;
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
    /// How the files stood when they were looked at.
    signature: u64,
    open: Option<Arc<OpenStore>>,
    was_opened: bool,
    used: u64,
}

/// A store as it stood at one moment.
pub(super) struct OpenStore {
    pub(super) number: usize,
    pub(super) generation: u64,
    pub(super) store: Store,
    pub(super) databases: Vec<DatabaseMetadata>,
    pub(super) origin: StoreOrigin,
    /// What is to be read before its content, and what could not be read of its metadata.
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
        let signature = self.signature(&place.paths);
        if state.was_opened && signature != state.signature {
            state.generation += 1;
        }
        state.signature = signature;
        state.was_opened = true;
        let opened = Arc::new(self.opened(number, state.generation, &place.paths)?);
        state.open = Some(Arc::clone(&opened));
        drop(state);
        self.close_oldest();
        Ok(opened)
    }

    /// Looks at its files; the store is opened anew when it is asked about next, if they have changed.
    pub(super) fn refresh(&self, number: usize) -> Result<(), Refusal> {
        let place = self.place(number)?;
        let mut state = locked(&place.state);
        if state.open.is_some() && self.signature(&place.paths) != state.signature {
            state.open = None;
        }
        Ok(())
    }

    /// The numbers of those that have been opened.
    pub(super) fn opened_numbers(&self) -> Vec<usize> {
        let numbers = self.all.iter().enumerate();
        let opened = numbers.filter(|(_, place)| locked(&place.state).was_opened);
        opened.map(|(number, _)| number).collect()
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
        report_notes(&*self.fs, &store, &mut report);
        let mut problems = Vec::new();
        let databases = store.databases(&mut problems).map_err(refused)?;
        let names = RowNames::of(&store);
        for problem in store.recovery().problems.iter().chain(&problems) {
            said.add(match problem.key() {
                Some(key) => format!("{}: {}", names.row(key), problem.without_row()),
                None => problem.to_string(),
            });
        }
        for damage in store.damage() {
            said.add(names.damage(&damage));
        }
        let bucket_name = locked(&self.bucket_names).get(&*self.fs, paths, |file, why| {
            report.note(file.display(), why)
        });
        let origin = StoreOrigin::of(&store, &databases, bucket_name);
        Ok(OpenStore {
            number,
            generation,
            databases,
            origin,
            store,
            problems: said.take(),
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

    /// Bytes in files, and number of files, below a folder. What cannot be looked at counts as nothing.
    pub(super) fn sizes_below(&self, dir: &Path, depth_max: usize) -> (u64, u64) {
        let said = Said::default();
        crate::sizes::sizes_below(&*self.fs, dir, depth_max, &mut said.report())
    }
}

impl OpenStore {
    /// The database of this id.
    pub(super) fn database(&self, id: i64) -> Result<&DatabaseMetadata, Refusal> {
        let mut all = self.databases.iter();
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

/// An error of a store, as the page says it.
pub(super) fn refused(error: larder_backing_store::Error) -> Refusal {
    match error.kind() {
        ErrorKind::NotAStore => Refusal::NotFound(error.to_string()),
        _ => Refusal::Failed(error.to_string()),
    }
}

pub(super) fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    // What another thread has left half done here is at worst a store that is opened again.
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
