//! Merges a store, or a part of it, into one that exists.
//!
//! A change feed is not merged: what is put is revisions of the feed that is there, if there is one.
//!
//! Each database is one transaction: it is merged whole, or not at all. What both have alike is passed over, so a merge that was interrupted
//! between two databases is finished by the next.

mod pair;
mod putter;

use std::fmt;
use std::sync::Arc;

use larder_backing_store::{
    BackingStore, CursorDirection, Durability, Error, ErrorKind, IndexParameters,
    ObjectStoreMetadata, ObjectStoreParameters, OpenOptions, Record, Scope, Store, StorePaths,
    SystemClock, WriteOptions, WriteTransaction,
};
use larder_codec::{DatabaseId, Origin, feed};
use larder_leveldb::OnDamage;
use larder_leveldb::storage::FileSystem;

use super::CopyOptions;
use super::selection::Plan;
use crate::diff::digest;
use crate::display::{Quoted, ShownKey};
use crate::index_keys::IndexKeyFinder;
use crate::record::{StoreBlobs, ValueReader};
use pair::Pair;
use putter::{Coming, Putter};

/// What happens to a record of which the other store has another with the same key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OnConflict {
    /// The one that is there stays.
    Skip,
    /// The one that is there is replaced.
    Replace,
    /// Both: the one that comes gets a key of the key generator.
    KeepBoth,
    /// Nothing of the database is merged.
    Fail,
}

/// What was merged.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Merged {
    /// Databases.
    pub databases: u64,
    /// Records that were not there.
    pub added: u64,
    /// Records that were there, and equal.
    pub same: u64,
    /// Records that stayed as they were.
    pub skipped: u64,
    /// Records that were replaced.
    pub replaced: u64,
    /// Records that came under another key.
    pub kept_both: u64,
    /// What could not be merged, each with its place.
    pub problems: Vec<String>,
}

impl fmt::Display for Merged {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            databases,
            added,
            same,
            skipped,
            replaced,
            kept_both,
            ..
        } = self;
        write!(
            f,
            "{databases} databases, {added} records added, {same} the same"
        )?;
        for (number, what) in [
            (skipped, "skipped"),
            (replaced, "replaced"),
            (kept_both, "kept beside those that were there"),
        ] {
            if *number > 0 {
                write!(f, ", {number} {what}")?;
            }
        }
        Ok(())
    }
}

/// Merges a store into the one at `to`. `tick` is called for each record.
///
/// # Errors
/// `Conflict` if a program has the store at `to` open; `Usage` if the two do not fit, the part is not there, or records differ and that is
/// to fail; `Corruption` and `Io`. The database at which it happens is as it was, and so are those behind it.
pub fn merge_store(
    store: &Store,
    target: &Arc<dyn FileSystem>,
    to: &StorePaths,
    options: &CopyOptions,
    on_conflict: OnConflict,
    tick: &mut dyn FnMut(),
) -> Result<Merged, Error> {
    let plan = Plan::new(store, &options.part, None)?;
    if let Some(name) = options
        .part
        .object_stores
        .iter()
        .find(|name| feed::is_reserved(name))
    {
        let what = format!(
            "object store {} is a part of a change feed, which is not merged: leave it out. Records that are merged become revisions of the feed that is there",
            Quoted(name)
        );
        return Err(Error::new(ErrorKind::Usage, what));
    }
    let open = || {
        let options = OpenOptions {
            on_damage: OnDamage::Fail,
            ..OpenOptions::default()
        };
        Store::open_read_only(Arc::clone(target), to.clone(), options)
    };
    let theirs = open()?;
    // What it says is looked at while no other program can change it.
    let backing = match options.dry_run {
        true => None,
        false => Some(open_for_writing(target, to, &theirs)?),
    };
    let theirs = open()?;
    if theirs.data_version().is_none_or(|version| {
        store
            .data_version()
            .is_some_and(|ours| !version.is_at_least(ours))
    }) {
        let what = "the store to merge into is of an older browser, which could not read these values: open it in the newer browser once, which raises it";
        return Err(Error::new(ErrorKind::Usage, what));
    }
    let mut databases = store.databases(&mut Vec::new())?;
    databases.retain(|database| database.version.is_some() && plan.has_database(database.id));
    let known = theirs.databases(&mut Vec::new())?;
    let pairs: Vec<Pair<'_>> = databases
        .iter()
        .map(|ours| Pair::new(&plan, ours, &known))
        .collect::<Result<_, _>>()?;
    let mut merge = Merge {
        store,
        theirs: &theirs,
        plan: &plan,
        on_conflict,
        merged: Merged::default(),
        tick,
    };
    for pair in &pairs {
        merge.merged.databases += 1;
        match &backing {
            Some(backing) => merge.database(backing, pair)?,
            None => merge.look(pair)?,
        }
    }
    if let Some(backing) = backing {
        backing.close()?;
    }
    Ok(merge.merged)
}

fn open_for_writing(
    fs: &Arc<dyn FileSystem>,
    to: &StorePaths,
    theirs: &Store,
) -> Result<BackingStore, Error> {
    let named = to.identifier().and_then(Origin::from_identifier);
    let of_rows = || {
        let databases = theirs.databases(&mut Vec::new()).ok()?;
        Origin::from_row_text(&databases.first()?.origin)
    };
    let origin = named.or_else(of_rows).ok_or_else(|| {
        let what = "neither the folder nor a database of the store says whose it is: give its folder the name of its origin";
        Error::new(ErrorKind::Usage, what)
    })?;
    let mut options = WriteOptions::new(origin, Arc::new(SystemClock));
    options.reserve_bytes = 0;
    options.background = larder_backing_store::Background::Caller;
    BackingStore::open(Arc::clone(fs), to.clone(), options)
}

struct Merge<'a> {
    store: &'a Store,
    theirs: &'a Store,
    plan: &'a Plan,
    on_conflict: OnConflict,
    merged: Merged,
    tick: &'a mut dyn FnMut(),
}

/// What becomes of a record.
enum Verdict {
    Put,
    PutUnderNewKey,
    Leave,
}

impl Merge<'_> {
    /// Merges a database in one transaction.
    fn database(&mut self, backing: &BackingStore, pair: &Pair<'_>) -> Result<(), Error> {
        // Whatever would fail is found before anything is written.
        if self.on_conflict == OnConflict::Fail {
            let merged = self.merged.clone();
            self.look(pair)?;
            self.merged = merged;
        }
        let id = match pair.theirs {
            Some(theirs) => theirs.id,
            None => backing.create_database(&pair.ours.name)?,
        };
        let mut transaction = backing.begin(Scope::VersionChange(id), Durability::Strict)?;
        if pair.theirs.is_none() {
            transaction.set_version(pair.ours.version.unwrap_or(1))?;
        }
        for (ours, theirs) in &pair.stores {
            let theirs = match theirs {
                Some(theirs) => (*theirs).clone(),
                None => create(&mut transaction, ours)?,
            };
            // First: a key that is generated here must be no key of a record that comes later.
            if ours.auto_increment {
                let next = self.store.key_generator(pair.ours.id, ours.id)?;
                if next > transaction.key_generator(id, theirs.id)? {
                    transaction.set_key_generator(theirs.id, next)?;
                }
            }
            self.object_store(Some(&mut transaction), pair, ours, &theirs)?;
        }
        transaction.commit()
    }

    /// Looks at what would be done.
    fn look(&mut self, pair: &Pair<'_>) -> Result<(), Error> {
        for (ours, theirs) in &pair.stores {
            self.object_store(None, pair, ours, theirs.unwrap_or(ours))?;
        }
        Ok(())
    }

    fn object_store(
        &mut self,
        mut transaction: Option<&mut WriteTransaction>,
        pair: &Pair<'_>,
        ours: &ObjectStoreMetadata,
        theirs: &ObjectStoreMetadata,
    ) -> Result<(), Error> {
        let (store, database) = (self.store, pair.ours);
        let mut finder = IndexKeyFinder::new(theirs);
        let mut readers = [
            ValueReader::new(store, database.id, ours),
            ValueReader::new(
                self.theirs,
                pair.theirs.map_or(database.id, |theirs| theirs.id),
                theirs,
            ),
        ];
        let mut found = Record::new();
        let mut records = store.records(database.id, ours.id, CursorDirection::Next);
        while records.next()? {
            (self.tick)();
            let key = records.primary_key()?;
            if !self.plan.keys.contains(key) {
                continue;
            }
            let coming = Coming {
                key,
                value: records.value()?,
            };
            let place = || {
                format!(
                    "database {}, object store {}, key {}",
                    Quoted(&database.name),
                    Quoted(&ours.name),
                    ShownKey(key)
                )
            };
            let there = match pair.theirs {
                Some(there) => self.theirs.get(there.id, theirs.id, key, &mut found)?,
                None => false,
            };
            let verdict = match there {
                false => {
                    self.merged.added += 1;
                    Verdict::Put
                }
                true => {
                    let ids = [
                        database.id,
                        pair.theirs.map_or(database.id, |theirs| theirs.id),
                    ];
                    match self.is_same(&mut readers, ids, &coming, &found) {
                        true => {
                            self.merged.same += 1;
                            Verdict::Leave
                        }
                        false => self.conflict(theirs, &place)?,
                    }
                }
            };
            let (Some(transaction), Verdict::Put | Verdict::PutUnderNewKey) =
                (transaction.as_deref_mut(), &verdict)
            else {
                continue;
            };
            let is_new_key = matches!(verdict, Verdict::PutUnderNewKey);
            let [reader, _] = &mut readers;
            let put = Putter {
                store,
                database: database.id,
                ours,
                theirs,
                finder: &mut finder,
            };
            if let Err(problem) = put.put(transaction, reader, &coming, (there, is_new_key))? {
                let counted = match (there, is_new_key) {
                    (false, _) => &mut self.merged.added,
                    (true, true) => &mut self.merged.kept_both,
                    (true, false) => &mut self.merged.replaced,
                };
                *counted -= 1;
                self.merged.problems.push(format!("{}: {problem}", place()));
            }
        }
        Ok(())
    }

    /// What happens to a record of which there is another.
    fn conflict(
        &mut self,
        theirs: &ObjectStoreMetadata,
        place: &dyn Fn() -> String,
    ) -> Result<Verdict, Error> {
        let merged = &mut self.merged;
        match self.on_conflict {
            OnConflict::Skip => {
                merged.skipped += 1;
                Ok(Verdict::Leave)
            }
            OnConflict::Replace => {
                merged.replaced += 1;
                Ok(Verdict::Put)
            }
            OnConflict::KeepBoth if theirs.auto_increment => {
                merged.kept_both += 1;
                Ok(Verdict::PutUnderNewKey)
            }
            OnConflict::KeepBoth => {
                let what = format!(
                    "{}: there is another record, and the object store has no key generator that would give a second key: choose --on-conflict skip or replace",
                    place()
                );
                Err(Error::new(ErrorKind::Usage, what))
            }
            OnConflict::Fail => {
                let what = format!(
                    "{}: there is another record: choose --on-conflict skip, replace or keep-both",
                    place()
                );
                Err(Error::new(ErrorKind::Usage, what))
            }
        }
    }

    /// Whether a script would see no difference. What cannot be read differs.
    fn is_same(
        &self,
        readers: &mut [ValueReader<'_>; 2],
        ids: [DatabaseId; 2],
        coming: &Coming<'_>,
        found: &Record,
    ) -> bool {
        let stores = [self.store, self.theirs];
        let values = [coming.value, found.value()];
        let mut digests = readers.iter_mut().zip(stores).zip(ids).zip(values).map(
            |(((reader, store), database_id), value)| {
                let read = reader.read(coming.key, value, |tree, objects| {
                    digest(
                        tree,
                        &mut StoreBlobs {
                            store,
                            database_id,
                            objects,
                        },
                    )
                    .ok()
                });
                read.ok().flatten()
            },
        );
        match (digests.next().flatten(), digests.next().flatten()) {
            (Some(ours), Some(theirs)) => ours == theirs,
            _ => false,
        }
    }
}

fn create(
    transaction: &mut WriteTransaction,
    ours: &ObjectStoreMetadata,
) -> Result<ObjectStoreMetadata, Error> {
    let mut store = ours.clone();
    store.id = transaction.create_object_store(&ObjectStoreParameters {
        id: None,
        name: ours.name.clone(),
        key_path: ours.key_path.clone(),
        auto_increment: ours.auto_increment,
    })?;
    for index in &mut store.indexes {
        index.id = transaction.create_index(
            store.id,
            &IndexParameters {
                id: None,
                name: index.name.clone(),
                key_path: index.key_path.clone(),
                unique: index.unique,
                multi_entry: index.multi_entry,
            },
        )?;
    }
    Ok(store)
}
