//! A namespace that this process writes: each commit requires the lock as this process has left it.
//!
//! That one condition is the fence. A process that another one has taken the namespace from, whatever it believes and however late
//! its requests arrive, finds the lock's row changed, and its commit changes nothing. After that it is *lost*: no commit is sent any
//! more. It is lost, too, when the outcome of a commit cannot be found out: what it has in memory may not be what is there.

use crate::catalogue::{Commit, Row};
use crate::cluster::{Cluster, Exchange};
use crate::error::{Error, ErrorKind, Result};
use crate::key::Keys;
use crate::names::Names;
use crate::namespace::Namespace;
use crate::place::Place;
use crate::row::{Entry, LockRow};
use crate::session::Session;
use crate::taking::{self, Taken};
use std::collections::BTreeSet;
use std::io;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// The value of the row that says that a blob is to be deleted.
const PENDING_ROW: [u8; 1] = [1];

/// The right to write a namespace.
#[derive(Debug)]
pub(crate) struct Owner {
    session: Session,
    namespace: Namespace,
    keys: Keys,
    epoch: u32,
    next_blob: AtomicU32,
    /// Held while a commit is made: they follow one another.
    writing: Mutex<Writing>,
    /// Held for moments only.
    names: Mutex<Names>,
    lost: Mutex<Option<Error>>,
    /// Whether the session has this namespace no more, and may have given it to another owner.
    has_left: AtomicBool,
}

#[derive(Debug)]
struct Writing {
    lock: LockRow,
    /// When it was last certain that the lock was held.
    confirmed_at: Duration,
    staged: Staged,
}

/// Names that were changed in memory and are not in the catalogue yet. They are part of the next commit, whatever that is for: no later
/// change is ever made without them.
#[derive(Debug, Default)]
struct Staged {
    places: BTreeSet<Place>,
    /// Blobs that have lost their names. They are pending when the catalogue says so.
    doomed: Vec<u64>,
    since: Option<Duration>,
}

impl Staged {
    fn len(&self) -> usize {
        self.places.len() + self.doomed.len()
    }

    fn add(&mut self, change: &Change, now: Duration) {
        self.places
            .extend(change.entries.iter().map(|(place, _)| place.clone()));
        self.doomed.extend(&change.doomed);
        self.since.get_or_insert(now);
    }

    /// The change that makes the catalogue as the names are.
    fn change(&self, names: &Names) -> Change {
        let places = self.places.iter();
        let entries = places.map(|place| (place.clone(), names.get(place).cloned()));
        Change {
            entries: entries.collect(),
            doomed: self.doomed.clone(),
            ..Change::default()
        }
    }
}

/// So many rows of a commit are for names that were staged; etcd takes a hundred, of which a change has forty at most.
const STAGED_MAX: usize = 50;

/// A change of the names.
#[derive(Debug, Default)]
pub(crate) struct Change {
    /// Pieces of content that are written and deleted with it.
    pub(crate) commit: Commit,
    /// Names that are set or removed.
    pub(crate) entries: Vec<(Place, Option<Entry>)>,
    /// Blobs that lose their names.
    pub(crate) doomed: Vec<u64>,
    /// Blobs that were to be deleted, and are.
    pub(crate) collected: Vec<u64>,
}

impl Change {
    /// The two as one; what the later one says of a name holds.
    fn after(mut self, earlier: Change) -> Change {
        let is_new = |place: &Place| !self.entries.iter().any(|(one, _)| one == place);
        let mut entries = earlier.entries;
        entries.retain(|(place, _)| is_new(place));
        entries.append(&mut self.entries);
        self.entries = entries;
        self.doomed.extend(earlier.doomed);
        self
    }

    fn is_empty(&self) -> bool {
        self.commit.writes.is_empty()
            && self.entries.is_empty()
            && self.doomed.is_empty()
            && self.collected.is_empty()
    }

    /// As rows.
    fn commit(&self, keys: &Keys) -> Commit {
        let mut commit = self.commit.clone();
        for (place, entry) in &self.entries {
            match entry {
                Some(entry) => commit.put(keys.file(place), entry.encode()),
                None => commit.delete(keys.file(place)),
            }
        }
        for blob in &self.doomed {
            commit.put(keys.pending(*blob), PENDING_ROW.to_vec());
        }
        for blob in &self.collected {
            commit.delete(keys.pending(*blob));
            let pieces = crate::catalogue::Write::DeleteRange(keys.content_of(*blob));
            commit.writes.push(pieces);
        }
        commit
    }

    /// In memory.
    fn apply(self, names: &mut Names, now: Duration) {
        for (place, entry) in self.entries {
            names.set(place, entry);
        }
        for blob in self.doomed {
            names.add_pending(blob, now);
        }
        for blob in self.collected {
            names.remove_pending(blob);
        }
    }
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Owner {
    /// Takes a namespace with its names. If another process has it, waits for its end, at most for `wait`. With it comes what was read of the
    /// content that lies in the catalogue: pieces with their keys.
    pub(crate) fn take(
        session: &Session,
        namespace: &Namespace,
        wait: Duration,
    ) -> Result<(Owner, Vec<Row>)> {
        if session.is_lost() {
            return Err(session.lost());
        }
        if !session.enter(namespace) {
            let what =
                format!("{namespace}: this process writes it already: close its other handle");
            return Err(Error::new(ErrorKind::Held, what));
        }
        let keys = Keys::new(namespace);
        let taken = taking::take(session, &keys, namespace, wait);
        let taken = taken.and_then(|taken| Owner::load(session, namespace, keys, taken));
        if taken.is_err() {
            session.leave(namespace);
        }
        taken
    }

    fn load(
        session: &Session,
        namespace: &Namespace,
        keys: Keys,
        taken: Taken,
    ) -> Result<(Owner, Vec<Row>)> {
        let Taken {
            lock,
            rows,
            looked_at,
        } = taken;
        let (files, pending) = (keys.files(), keys.all_pending());
        let (mut names, mut content) = (Names::default(), Vec::new());
        for row in rows {
            if files.contains(&row.key) {
                names.set(keys.place_of(&row.key)?, Some(Entry::decode(&row.value)?));
            } else if pending.contains(&row.key) {
                // Whichever process has opened it has had that time at least when this one deletes it.
                names.add_pending(keys.pending_of(&row.key)?, session.cluster().now());
            } else if row.key != keys.lock() && row.key != keys.content_place() {
                content.push(row);
            }
        }
        let owner = Owner {
            session: session.clone(),
            namespace: namespace.clone(),
            keys,
            epoch: lock.epoch,
            next_blob: AtomicU32::new(0),
            writing: Mutex::new(Writing {
                lock,
                confirmed_at: looked_at,
                staged: Staged::default(),
            }),
            names: Mutex::new(names),
            lost: Mutex::new(None),
            has_left: AtomicBool::new(false),
        };
        Ok((owner, content))
    }

    pub(crate) fn cluster(&self) -> &Cluster {
        self.session.cluster()
    }

    pub(crate) fn epoch(&self) -> u32 {
        self.epoch
    }

    pub(crate) fn names(&self) -> MutexGuard<'_, Names> {
        locked(&self.names)
    }

    /// A number that no blob has or will ever have: the epoch is this process's alone.
    pub(crate) fn new_blob(&self) -> Result<u64> {
        let next = self
            .next_blob
            .fetch_update(Ordering::Relaxed, Ordering::Relaxed, |next| {
                next.checked_add(1)
            });
        match next {
            Ok(next) => Ok(u64::from(self.epoch) << 32 | u64::from(next)),
            Err(_) => Err(Error::new(
                ErrorKind::Lost,
                "2^32 files were made since the namespace was opened: open it again",
            )),
        }
    }

    /// Whether a blob is of a process that had the namespace before, and has no name, neither here nor in the catalogue.
    pub(crate) fn is_orphan(&self, blob: u64) -> bool {
        let is_older = blob >> 32 < u64::from(self.epoch);
        // Nothing goes from one of these to another meanwhile.
        let writing = locked(&self.writing);
        let names = self.names();
        is_older
            && !names.is_named(blob)
            && !names.is_pending(blob)
            && !writing.staged.doomed.contains(&blob)
    }

    /// Fails if the namespace is lost.
    pub(crate) fn check(&self) -> Result<()> {
        if let Some(error) = &*locked(&self.lost) {
            return Err(error.clone());
        }
        match self.session.is_lost() {
            true => Err(self.session.lost()),
            false => Ok(()),
        }
    }

    fn lose(&self, why: impl std::fmt::Display) -> Error {
        let what = format!(
            "{}: {why}; nothing more is written: open the namespace again",
            self.namespace
        );
        let error = Error::new(ErrorKind::Lost, what);
        locked(&self.lost).get_or_insert(error).clone()
    }

    fn lose_to(&self, found: Option<&[u8]>) -> Error {
        match found.map(LockRow::decode) {
            Some(Ok(lock)) => match lock.session {
                Some(_) => self.lose(format!(
                    "{} has taken it over (epoch {})",
                    lock.label, lock.epoch
                )),
                None => self.lose(format!(
                    "another process has written it since (epoch {})",
                    lock.epoch
                )),
            },
            Some(Err(error)) => self.lose(error),
            None => self.lose("its lock was removed"),
        }
    }

    /// Makes the change that `plan` makes of the names in memory, or none if that fails; it is in the catalogue with the next commit, or when
    /// [`settle`](Owner::settle) returns.
    pub(crate) fn stage<T>(
        &self,
        plan: impl FnOnce(&Names) -> io::Result<(Change, T)>,
    ) -> io::Result<T> {
        let mut writing = locked(&self.writing);
        self.check()?;
        if writing.staged.len() >= STAGED_MAX {
            self.settle_now(&mut writing)?;
        }
        let (change, result) = plan(&self.names())?;
        writing.staged.add(&change, self.cluster().now());
        for (place, entry) in change.entries {
            self.names().set(place, entry);
        }
        Ok(result)
    }

    /// All names are in the catalogue when this returns.
    pub(crate) fn settle(&self) -> Result<()> {
        let mut writing = locked(&self.writing);
        self.check()?;
        self.settle_now(&mut writing)
    }

    /// If names have waited so long, they are in the catalogue when this returns.
    pub(crate) fn settle_after(&self, delay: Duration) -> Result<()> {
        let since = locked(&self.writing).staged.since;
        match since.is_some_and(|since| self.cluster().now().saturating_sub(since) >= delay) {
            true => self.settle(),
            false => Ok(()),
        }
    }

    fn settle_now(&self, writing: &mut Writing) -> Result<()> {
        match writing.staged.since {
            Some(_) => self.make(writing, Change::default()),
            None => Ok(()),
        }
    }

    /// Commits a change, and what is staged before it.
    fn make(&self, writing: &mut Writing, change: Change) -> Result<()> {
        let next = LockRow {
            sequence: writing.lock.sequence + 1,
            ..writing.lock.clone()
        };
        let change = change.after(writing.staged.change(&self.names()));
        self.exchange(writing, next, change.commit(&self.keys))?;
        writing.staged = Staged::default();
        change.apply(&mut self.names(), self.cluster().now());
        Ok(())
    }

    /// Makes the change that `plan` makes of the names, or none if that fails. Changes follow one another.
    pub(crate) fn change<T>(
        &self,
        plan: impl FnOnce(&Names) -> io::Result<(Change, T)>,
    ) -> io::Result<T> {
        let mut writing = locked(&self.writing);
        self.check()?;
        let (change, result) = plan(&self.names())?;
        if change.is_empty() {
            return Ok(result);
        }
        self.make(&mut writing, change)?;
        Ok(result)
    }

    fn exchange(&self, writing: &mut Writing, next: LockRow, commit: Commit) -> Result<()> {
        let began = self.cluster().now();
        let (key, current) = (self.keys.lock(), writing.lock.encode());
        match self
            .cluster()
            .exchange(&key, Some(&current), &next.encode(), commit)
        {
            Ok(Exchange::Made) => {
                writing.lock = next;
                writing.confirmed_at = began;
                Ok(())
            }
            Ok(Exchange::Refused(found)) => Err(self.lose_to(found.as_deref())),
            Err(error) if error.kind() == ErrorKind::OutcomeUnknown => Err(self.lose(format!(
                "the outcome of a commit could not be found out ({error})"
            ))),
            Err(error) => Err(error.context(&self.namespace)),
        }
    }

    /// Whether the namespace is still this process's, as far as can be known: certain if it was so within the lease, else the lock
    /// is looked at.
    pub(crate) fn is_held(&self) -> Result<bool> {
        if self.check().is_err() {
            return Ok(false);
        }
        let mut writing = locked(&self.writing);
        let now = self.cluster().now();
        if now.saturating_sub(writing.confirmed_at) < self.session.options().duration {
            return Ok(true);
        }
        let [found] = self.cluster().get([self.keys.lock()])?;
        if found.as_deref() == Some(&writing.lock.encode()[..]) {
            writing.confirmed_at = now;
            return Ok(true);
        }
        self.lose_to(found.as_deref());
        Ok(false)
    }

    /// Gives the namespace up.
    ///
    /// # Errors
    /// If another process has taken it, and the engine's errors: then others wait for the end of the lease.
    pub(crate) fn release(&self) -> Result<()> {
        let mut writing = locked(&self.writing);
        self.check()?;
        let free = LockRow {
            sequence: writing.lock.sequence + 1,
            session: None,
            label: String::new(),
            ..writing.lock.clone()
        };
        let staged = writing.staged.change(&self.names()).commit(&self.keys);
        let released = self.exchange(&mut writing, free, staged);
        self.lose("it was closed");
        self.leave();
        released
    }

    /// Lets this process take the namespace again. Handles that are left do not keep it from that: they fail.
    fn leave(&self) {
        if !self.has_left.swap(true, Ordering::Relaxed) {
            self.session.leave(&self.namespace);
        }
    }
}

impl Drop for Owner {
    fn drop(&mut self) {
        self.leave();
    }
}
