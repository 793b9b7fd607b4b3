//! All origins of a storage: what they take, and how they are deleted (decision 26).

use std::collections::{BTreeSet, VecDeque};
use std::io;
use std::path::Path;
use std::sync::Arc;

use larder_backing_store::{OpenOptions, Store, StorePaths, Usage};
use larder_codec::Origin as OriginName;
use larder_leveldb::OnDamage;

use crate::bucket_id::BucketId;
use crate::error::{Error, ErrorKind, ErrorName, Result, attempt};
use crate::executor::{Callback, Job, Turn};
use crate::options::StorageOptions;
use crate::origin::{Deletion, Origin, OriginInfo, Place, bucket_paths};
use crate::request::Request;
use crate::request::completion::Completion;
use crate::storage::{Storage, StorageInner};
use crate::store_form::{self, StoreForm};

/// What became of an origin that was to be deleted.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct DeletedOrigin {
    /// The origin, as it was before.
    pub info: OriginInfo,
    /// Whether it is gone.
    pub result: Result<()>,
}

impl Storage {
    /// The origins that store something, in the order of their identifiers, and then the buckets in the order of their numbers. An
    /// origin without files is not among them; one whose store has lost its CURRENT is. A bucket whose store was made by a browser in SQLite files does not say whose
    /// it is: its origin is opaque.
    pub fn origins(&self) -> Request<Vec<OriginInfo>> {
        self.ask_all(list)
    }

    /// The bytes of the files of all origins.
    pub fn usage(&self) -> Request<Usage> {
        self.ask_all(|storage| {
            let infos = list(storage)?;
            Ok(infos
                .iter()
                .fold(Usage::default(), |sum, info| sum + info.usage))
        })
    }

    /// Deletes all that an origin stores, in all its buckets, also what damage was set aside and the persisted flag. Its connections are closed by force and
    /// get the event [`ConnectionEvent::Close`](crate::ConnectionEvent::Close); their transactions are aborted. Requests that are made after
    /// this one wait until it has ended, and find nothing. Blobs that a host still has can no longer be read.
    ///
    /// The request fails with `UnknownError` if another process has the store open
    /// ([`Conflict`](crate::ErrorKind::Conflict)), and if files cannot be removed: then it is no store any more, and can be deleted again.
    pub fn delete_origin(&self, origin: &OriginName) -> Request<()> {
        let name = origin.clone();
        let announced = self.announce(Deletion::Origin(name.clone()));
        self.delete_all(announced, move |storage| {
            let mut places = places(storage)?;
            places.retain(|(origin, place)| *origin == name && place.bucket.is_some());
            places.push((name.clone(), storage.place(&name, None)));
            let origins = places.into_iter();
            let origins = origins.map(|(name, place)| storage.origin(&name, place));
            Ok(origins.collect())
        })
    }

    /// Deletes, as [`delete_origin`](Self::delete_origin) does, what one bucket stores, and nothing else of its origin.
    pub fn delete_bucket(&self, origin: &OriginName, id: BucketId) -> Request<()> {
        let name = origin.clone();
        let announced = self.announce(Deletion::Bucket(name.clone(), id));
        self.delete_all(announced, move |storage| {
            let place = storage.place(&name, Some(id));
            Ok(vec![storage.origin(&name, place)])
        })
    }

    /// Deletes all stores of a session. The result is not reported.
    pub(crate) fn delete_session(&self, number: u64) {
        let session = Deletion::Session(number);
        let announced = self.announce(session.clone());
        let deleted = self.delete_all(announced, move |storage| {
            let mut known = storage.known();
            known.retain(|origin| session.takes(origin));
            Ok(known)
        });
        drop(deleted);
        // A closed storage has no thread that runs the task. The task would keep the storage in memory.
        self.inner().ready().drain_if_left_alone();
    }

    fn announce(&self, deletion: Deletion) -> Announced {
        self.inner().deletions().announce(deletion.clone());
        Announced {
            storage: Arc::clone(self.inner()),
            deletion,
        }
    }

    /// One after the other; the first error is kept, and keeps none of the others.
    fn delete_all(
        &self,
        announced: Announced,
        which: impl FnOnce(&Arc<StorageInner>) -> Result<Vec<Arc<Origin>>> + Send + 'static,
    ) -> Request<()> {
        let (request, completion) = Request::of_storage(Arc::clone(self.inner()) as _);
        let storage = Arc::clone(self.inner());
        let job = Job::of(move |turn: &mut Turn| {
            let callback = match attempt(|| which(&storage)) {
                Ok(origins) => delete_next(storage, origins, Ok(()), announced, completion),
                Err(error) => {
                    drop(announced);
                    completion.complete(Err(error))
                }
            };
            if let Some(callback) = callback {
                turn.call(callback);
            }
        });
        self.inner().ready().push(Arc::new(job));
        request
    }

    /// Deletes, as [`delete_origin`](Self::delete_origin) does, the origins in which something was committed at this time or later:
    /// microseconds since 1601-01-01 UTC. One after the other; one that cannot be deleted keeps no other from it.
    pub fn delete_modified_since(&self, time_us: i64) -> Request<Vec<DeletedOrigin>> {
        self.delete_of_list(false, move |infos| {
            infos.retain(|info| info.last_modified_us >= time_us);
            0
        })
    }

    /// Deletes origins until all together have at most `kept_bytes`, in the order that `policy` brings them into; those that it takes
    /// out stay. It is given neither those that are in use nor those that are persisted. Which the least recently used is:
    ///
    /// ```
    /// # use std::sync::Arc;
    /// # use larder_idb::{Storage, StorageOptions, SystemClock};
    /// # let storage = Storage::new(StorageOptions::in_memory(Arc::new(SystemClock)))?;
    /// let evicted = storage.evict(1 << 30, |infos| infos.sort_by_key(|info| info.last_used_us));
    /// assert!(evicted.wait()?.is_empty());
    /// # Ok::<(), larder_idb::Error>(())
    /// ```
    pub fn evict(
        &self,
        kept_bytes: u64,
        policy: impl FnOnce(&mut Vec<OriginInfo>) + Send + 'static,
    ) -> Request<Vec<DeletedOrigin>> {
        self.delete_of_list(true, move |infos| {
            let total: u64 = infos.iter().map(|info| info.usage.total()).sum();
            infos.retain(|info| !info.is_persisted && !info.is_in_use);
            policy(infos);
            total.saturating_sub(kept_bytes)
        })
    }

    fn ask_all<T: Send + 'static>(
        &self,
        work: impl FnOnce(&Arc<StorageInner>) -> Result<T> + Send + 'static,
    ) -> Request<T> {
        let (request, completion) = Request::of_storage(Arc::clone(self.inner()) as _);
        let storage = Arc::clone(self.inner());
        let job = Job::of(move |turn: &mut Turn| {
            if let Some(callback) = completion.complete(attempt(|| work(&storage))) {
                turn.call(callback);
            }
        });
        self.inner().ready().push(Arc::new(job));
        request
    }

    /// Deletes what `choose` leaves in the list, from its beginning: all of it, or if that `is_for_room`, until as many bytes are gone as
    /// it says.
    fn delete_of_list(
        &self,
        is_for_room: bool,
        choose: impl FnOnce(&mut Vec<OriginInfo>) -> u64 + Send + 'static,
    ) -> Request<Vec<DeletedOrigin>> {
        let (request, completion) = Request::of_storage(Arc::clone(self.inner()) as _);
        let storage = Arc::clone(self.inner());
        let job = Job::of(move |turn: &mut Turn| {
            let chosen = attempt(|| {
                let mut infos = list(&storage)?;
                let bytes = choose(&mut infos);
                Ok((infos, bytes))
            });
            let callback = match chosen {
                Ok((infos, bytes)) => Deleting {
                    storage,
                    left: infos.into(),
                    bytes_wanted: is_for_room.then_some(bytes),
                    done: Vec::new(),
                    completion,
                }
                .go_on(),
                Err(error) => completion.complete(Err(error)),
            };
            if let Some(callback) = callback {
                turn.call(callback);
            }
        });
        self.inner().ready().push(Arc::new(job));
        request
    }
}

/// A deletion that nothing overtakes, until this is dropped.
struct Announced {
    storage: Arc<StorageInner>,
    deletion: Deletion,
}

impl Drop for Announced {
    fn drop(&mut self) {
        self.storage.deletions().end(&self.deletion);
        let known = self.storage.known().into_iter();
        for origin in known.filter(|origin| self.deletion.takes(origin)) {
            origin.deletion_ended();
        }
    }
}

/// Origins that are deleted one after the other.
struct Deleting {
    storage: Arc<StorageInner>,
    left: VecDeque<OriginInfo>,
    /// `None`: all of them go.
    bytes_wanted: Option<u64>,
    done: Vec<DeletedOrigin>,
    completion: Completion<Vec<DeletedOrigin>>,
}

impl Deleting {
    fn go_on(mut self) -> Option<Callback> {
        let is_enough = self.bytes_wanted == Some(0);
        let Some(info) = self.left.pop_front().filter(|_| !is_enough) else {
            return self.completion.complete(Ok(self.done));
        };
        let (request, completion) = Request::of_storage(Arc::clone(&self.storage) as _);
        let place = self.storage.place(&info.origin, info.bucket);
        let origin = self.storage.origin(&info.origin, place);
        let callback = origin.delete(self.bytes_wanted.is_some(), completion);
        request.on_done(move |result| {
            if let (Ok(()), Some(wanted)) = (&result, &mut self.bytes_wanted) {
                *wanted = wanted.saturating_sub(info.usage.total());
            }
            self.done.push(DeletedOrigin { info, result });
            if let Some(callback) = self.go_on() {
                callback();
            }
        });
        callback
    }
}

fn delete_next(
    storage: Arc<StorageInner>,
    mut left: Vec<Arc<Origin>>,
    so_far: Result<()>,
    announced: Announced,
    done: Completion<()>,
) -> Option<Callback> {
    let Some(origin) = left.pop() else {
        drop(announced);
        return done.complete(so_far);
    };
    let (request, completion) = Request::of_storage(Arc::clone(&storage) as _);
    let callback = origin.delete(false, completion);
    request.on_done(move |result| {
        if let Some(callback) = delete_next(storage, left, so_far.and(result), announced, done) {
            callback();
        }
    });
    callback
}

fn list(storage: &Arc<StorageInner>) -> Result<Vec<OriginInfo>> {
    let places = places(storage)?.into_iter();
    let infos = places.map(|(origin, place)| storage.look_at(&origin, place).info());
    infos.collect()
}

/// Where there is something of a store: those of origins, then those of buckets.
fn places(storage: &Arc<StorageInner>) -> Result<Vec<(OriginName, Place)>> {
    let options = storage.options();
    let origins: BTreeSet<OriginName> = names_in(options, &options.folder)?
        .iter()
        .filter_map(|name| {
            let is_store = |_: &OriginName| {
                let folder = options.folder.join(name);
                cfg!(feature = "sqlite") && store_form::is_sqlite_folder(&*options.fs, &folder)
            };
            let in_sqlite = || OriginName::from_identifier(name).filter(is_store);
            OriginName::from_folder_name(name).or_else(in_sqlite)
        })
        .collect();
    let ids: BTreeSet<BucketId> = names_in(options, &options.buckets_folder)?
        .iter()
        .filter_map(|name| BucketId::of_folder(name))
        .collect();
    let mut all: Vec<_> = origins.into_iter().map(|origin| (origin, None)).collect();
    for id in ids {
        let paths = bucket_paths(&options.buckets_folder, id);
        let paths = store_form::at(&*options.fs, &paths, StoreForm::LevelDb);
        let is_there = |path| options.fs.metadata(path).is_ok();
        if is_there(&paths.leveldb) || is_there(&paths.blob) {
            all.push((origin_of(options, paths), Some(id)));
        }
    }
    let place = |(origin, id)| {
        let place = storage.place(&origin, id);
        (origin, place)
    };
    Ok(all.into_iter().map(place).collect())
}

fn names_in(options: &StorageOptions, folder: &Path) -> Result<Vec<String>> {
    match options.fs.list(folder) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Vec::new()),
        Err(error) => {
            let what = format!("{}: {error}", folder.display());
            Err(Error::of_kind(ErrorName::UnknownError, ErrorKind::Io, what))
        }
        Ok(names) => {
            let names = names.into_iter();
            Ok(names.filter_map(|name| name.into_string().ok()).collect())
        }
    }
}

/// The origin that a bucket's store says it is of, by the names of its databases. Nothing is written for that, and no lock taken.
fn origin_of(options: &StorageOptions, paths: StorePaths) -> OriginName {
    let reading = OpenOptions {
        on_damage: OnDamage::Skip,
        ..OpenOptions::default()
    };
    let store = match paths.is_sqlite() {
        #[cfg(feature = "sqlite")]
        true => larder_sqlite_store::open(&options.fs, &paths.leveldb, &std::env::temp_dir()),
        _ => Store::open_read_only(Arc::clone(&options.fs), paths, reading),
    };
    let names = store.and_then(|store| store.database_names(&mut Vec::new()));
    let mut names = names.unwrap_or_default().into_iter();
    let origin = names.find_map(|name| OriginName::from_row_text(&name.origin));
    origin.unwrap_or_else(OriginName::opaque)
}
