//! All origins of a storage: what they take, and how they are deleted (decision 26).

use std::collections::{BTreeSet, VecDeque};
use std::io;
use std::sync::Arc;

use larder_backing_store::Usage;
use larder_codec::Origin as OriginName;

use crate::error::{Error, ErrorKind, ErrorName, Result, attempt};
use crate::executor::{Callback, Turn};
use crate::request::slot::LoneSlot;
use crate::request::{Job, Request};
use crate::storage::{Storage, StorageInner};

/// An origin that stores something.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct OriginInfo {
    /// Which.
    pub origin: OriginName,
    /// The bytes of its files.
    pub usage: Usage,
    /// When it was last used: microseconds since 1601-01-01 UTC by the storage's clock, or by its files' times if it was last used by
    /// another program.
    pub last_used_us: i64,
    /// When something was last committed, likewise.
    pub last_modified_us: i64,
    /// Whether it is to stay when room is wanted.
    pub is_persisted: bool,
    /// Whether there are connections, or requests under way.
    pub is_in_use: bool,
}

/// What became of an origin that was to be deleted.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct DeletedOrigin {
    /// What it was.
    pub info: OriginInfo,
    /// Whether it is gone.
    pub result: Result<()>,
}

impl Storage {
    /// The origins that store something, in the order of their identifiers. Whoever is only remembered, and has no files, is
    /// not among them; what is left of a store that has lost its CURRENT is.
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

    /// Deletes all that an origin stores, also what damage was set aside and the persisted flag. Its connections are closed by force and
    /// told so ([`ConnectionEvent::Close`](crate::ConnectionEvent::Close)), their transactions aborted; requests that come
    /// meanwhile wait, and find nothing. Blobs that a host still has can no longer be read.
    ///
    /// The request fails with `UnknownError` if another process has the store open
    /// ([`Conflict`](crate::ErrorKind::Conflict)), and if files cannot be removed: then it is no store any more, and can be deleted again.
    pub fn delete_origin(&self, origin: &OriginName) -> Request<()> {
        let inner = self.inner();
        let (request, slot) = Request::of_storage(inner);
        let origin = inner.origin(origin);
        inner.ready().push(Arc::new(Job::of(move |turn: &mut Turn| {
            if let Some(callback) = origin.delete(false, slot) {
                turn.call(callback);
            }
        })));
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
        let (request, slot) = Request::of_storage(self.inner());
        let storage = Arc::clone(self.inner());
        let job = Job::of(move |turn: &mut Turn| {
            if let Some(callback) = slot.complete(attempt(|| work(&storage))) {
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
        let (request, slot) = Request::of_storage(self.inner());
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
                    slot,
                }
                .go_on(),
                Err(error) => slot.complete(Err(error)),
            };
            if let Some(callback) = callback {
                turn.call(callback);
            }
        });
        self.inner().ready().push(Arc::new(job));
        request
    }
}

/// Origins that are deleted one after the other.
struct Deleting {
    storage: Arc<StorageInner>,
    left: VecDeque<OriginInfo>,
    /// `None`: all of them go.
    bytes_wanted: Option<u64>,
    done: Vec<DeletedOrigin>,
    slot: Arc<LoneSlot<Vec<DeletedOrigin>>>,
}

impl Deleting {
    fn go_on(mut self) -> Option<Callback> {
        let is_enough = self.bytes_wanted == Some(0);
        let Some(info) = self.left.pop_front().filter(|_| !is_enough) else {
            return self.slot.complete(Ok(self.done));
        };
        let (request, slot) = Request::of_storage(&self.storage);
        let origin = self.storage.origin(&info.origin);
        let callback = origin.delete(self.bytes_wanted.is_some(), slot);
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

fn list(storage: &Arc<StorageInner>) -> Result<Vec<OriginInfo>> {
    let options = storage.options();
    let names = match options.fs.list(&options.folder) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Vec::new(),
        names => names.map_err(|error| {
            let what = format!("{}: {error}", options.folder.display());
            Error::of_kind(ErrorName::UnknownError, ErrorKind::Io, what)
        })?,
    };
    let origins: BTreeSet<OriginName> = names
        .iter()
        .filter_map(|name| OriginName::from_folder_name(name.to_str()?))
        .collect();
    let infos = origins.iter().map(|origin| storage.look_at(origin).info());
    infos.collect()
}
