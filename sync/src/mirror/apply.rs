//! From the page into the database: what other devices have changed, as changes from the source.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use larder_idb::codec::feed;
use larder_idb::{
    JsString, Key, ObjectStore, Request, Transaction, TransactionDurability, TransactionMode,
    TransactionOptions,
};
use larder_pages::{Commit, Entry, Snapshot, Timestamp};

use super::clash::{Incoming, Refused, refused, settle};
use super::entry_key::{LONG_RECORD, RECORD, place, prefixes};
use super::error::{Error, Result};
use super::generator::Generator;
use super::mirror::Mirror;
use super::record::Stored;
use super::report::{Applied, LeftAlone, Reason, Taken};
use super::state::{Apart, Origin, State};

/// So often the mirror begins anew if the database is changed meanwhile.
const TRIES: u32 = 8;
/// So many records are put before their results are waited for.
const REQUESTS: usize = 64;

/// One transaction in the making.
struct Round<'a> {
    mirror: &'a Mirror,
    transaction: Transaction,
    head: Arc<Snapshot>,
    state: State,
    applied: Applied,
    open: Vec<(Incoming, Request<Key>)>,
    refused: Refused,
    object_stores: BTreeMap<JsString, Target>,
}

/// An object store of the database.
struct Target {
    object_store: ObjectStore,
    generator: Option<Generator>,
}

impl Mirror {
    /// Brings what the page has into the database, after all that was changed here is in the page ([`take`](Self::take)) and the page's
    /// heads are one ([`merge`](Self::merge)): in one transaction, whose revisions are
    /// [from the source](larder_feed::Revision::is_from_source), and in which nothing of what was changed here is overwritten: if the
    /// database was changed meanwhile, the mirror begins anew.
    ///
    /// The differences are read as they are written; memory is that of one transaction, which spills.
    ///
    /// A record that the database refuses, since another one has its key in a unique index, stays in the page and is listed in
    /// [`Applied::apart`]. It is tried again each time.
    ///
    /// # Errors
    /// Those of [`take`](Self::take) and [`merge`](Self::merge); [`Error::Busy`] if the database was changed each time. If database or page
    /// fail, the database has all of it or nothing.
    pub async fn apply(&mut self, now: Timestamp) -> Result<Applied> {
        let mut all = Applied::default();
        for _ in 0..TRIES {
            add(&mut all.taken, self.take(now).await?);
            let merged = self.merge()?;
            all.merged += merged.merged;
            all.conflicts += merged.conflicts;
            all.is_one = merged.is_one;
            if !all.is_one {
                all.apart = left_alone(&self.state);
                return Ok(all);
            }
            self.is_in_doubt = true;
            let applied = self.apply_round().await?;
            self.is_in_doubt = false;
            if let Some(applied) = applied {
                all.put = applied.put;
                all.removed = applied.removed;
                all.without_store = applied.without_store;
                all.apart = left_alone(&self.state);
                return Ok(all);
            }
        }
        Err(Error::Busy)
    }

    /// A transaction from the source, of these object stores and the feed's.
    pub(super) fn writing(&self, names: impl IntoIterator<Item = JsString>) -> Result<Transaction> {
        let mut names: Vec<JsString> = names.into_iter().collect();
        names.extend([feed::REVISIONS, feed::HISTORY, feed::CONSUMERS].map(JsString::from));
        // A page's commits survive a power cut; what they rely on must as well.
        let options = TransactionOptions::new()
            .reserved(true)
            .from_source(true)
            .durability(TransactionDurability::Strict);
        let mode = TransactionMode::ReadWrite;
        Ok(self.connection.transaction(names, mode, options)?)
    }

    /// `None` if the database was changed since it was taken.
    async fn apply_round(&mut self) -> Result<Option<Applied>> {
        let heads = self.page.heads();
        // Another one may have come since they were merged.
        let [head] = &heads[..] else {
            return Ok(None);
        };
        let is_waiting = (self.state.apart.values()).any(|apart| !apart.reason.is_here());
        let is_joining = (self.state.object_stores.iter()).any(|joined| !joined.is_applied);
        if head.id() == self.state.commit && !is_waiting && !is_joining {
            return Ok(Some(Applied::default()));
        }
        let transaction = self.writing(self.connection.object_store_names())?;
        if self.feed.last_in(&transaction).await? != self.state.position {
            transaction.abort(None)?;
            return Ok(None);
        }
        let mut round = Round {
            mirror: self,
            head: Arc::new(self.page.snapshot(head, b"")),
            transaction,
            state: self.state.clone(),
            applied: Applied::default(),
            open: Vec::new(),
            refused: Vec::new(),
            object_stores: BTreeMap::new(),
        };
        round.open().await?;
        round.apply(head).await?;
        let is_idle = round.applied == Applied::default() && round.state == self.state;
        if is_idle && head.id() == self.state.commit {
            round.transaction.abort(None)?;
            return Ok(Some(round.applied));
        }
        let (state, applied) = round.end(head).await?;
        self.page
            .set_sync_metadata(&self.row_name(), &state.encode())?;
        self.go_to(state)?;
        Ok(Some(applied))
    }
}

impl Round<'_> {
    async fn open(&mut self) -> Result<()> {
        for name in self.mirror.connection.object_store_names() {
            let object_store = self.transaction.object_store(&name)?;
            let device_number = self.mirror.options.device_number;
            let generator = match object_store.auto_increment() {
                true => Some(Generator::of(&object_store, device_number).await?),
                false => None,
            };
            let target = Target {
                object_store,
                generator,
            };
            self.object_stores.insert(name, target);
        }
        Ok(())
    }

    async fn apply(&mut self, head: &Commit) -> Result<()> {
        let page = self.mirror.page.clone();
        let waiting: Vec<Vec<u8>> = (self.state.apart.iter())
            .filter(|(_, apart)| !apart.reason.is_here())
            .map(|(entry_key, _)| entry_key.clone())
            .collect();
        let at = Arc::clone(&self.mirror.at);
        for diff in page.tree(at.commit()).diff(&head.root(), b"")? {
            let diff = diff?;
            if !matches!(diff.key.first(), Some(&(RECORD | LONG_RECORD))) {
                continue;
            }
            match (&diff.new, &diff.old) {
                (Some(new), _) => self.put(&diff.key, new).await?,
                (None, Some(old)) => self.remove(&diff.key, old).await?,
                (None, None) => {}
            }
        }
        self.join().await?;
        self.flush().await?;
        let may_replace = !self.refused.is_empty();
        let known: BTreeSet<Vec<u8>> = (self.refused.iter())
            .map(|(incoming, _)| incoming.entry_key.clone())
            .collect();
        for entry_key in waiting.iter().filter(|key| !known.contains(*key)) {
            let Some(apart) = self.state.apart.get(entry_key).cloned() else {
                continue;
            };
            match self.head.entry(entry_key)? {
                Some(entry) => {
                    if let Some(incoming) = self.incoming(entry_key, &entry)? {
                        self.refused.push((incoming, apart.reason));
                    }
                }
                None => drop(self.state.apart.remove(entry_key)),
            }
        }
        let tried: Vec<Vec<u8>> = (self.refused.iter())
            .map(|(incoming, _)| incoming.entry_key.clone())
            .collect();
        let (put, still) = settle(std::mem::take(&mut self.refused), may_replace).await?;
        for entry_key in tried {
            self.state.apart.remove(&entry_key);
        }
        for (incoming, reason) in still {
            let is_unseen = true;
            let apart = Apart { reason, is_unseen };
            self.state.apart.insert(incoming.entry_key, apart);
        }
        self.applied.put += put;
        Ok(())
    }

    /// What the page has had of object stores that the database has since.
    async fn join(&mut self) -> Result<()> {
        let joining = self.state.object_stores.iter_mut();
        let joining = joining.filter(|joined| !joined.is_applied);
        let names: Vec<JsString> = joining
            .map(|joined| {
                joined.is_applied = true;
                joined.name.clone()
            })
            .collect();
        let head = Arc::clone(&self.head);
        for prefix in names
            .iter()
            .map(prefixes)
            .collect::<Result<Vec<_>>>()?
            .concat()
        {
            self.flush().await?;
            for entry in head.entries(&prefix)? {
                let entry = entry?;
                if !entry.key.starts_with(&prefix) {
                    break;
                }
                let Some(incoming) = self.incoming(&entry.key, &entry)? else {
                    continue;
                };
                let key = incoming.key.clone();
                if incoming.object_store.get_key(key)?.await?.is_none() {
                    self.put_incoming(incoming).await?;
                }
            }
        }
        Ok(())
    }

    /// The record of an entry; `None` if it cannot be put, which has been noted.
    fn incoming(&mut self, entry_key: &[u8], entry: &Entry) -> Result<Option<Incoming>> {
        match self.read(entry_key, entry) {
            Ok(None) => {
                self.applied.without_store += 1;
                Ok(None)
            }
            Ok(incoming) => Ok(incoming),
            Err(error) => {
                let Some(what) = error.of_entry() else {
                    return Err(error);
                };
                let reason = Reason::Refused(what);
                let is_unseen = true;
                let apart = Apart { reason, is_unseen };
                self.state.apart.insert(entry_key.to_vec(), apart);
                Ok(None)
            }
        }
    }

    /// `None` if the database has not the record's object store.
    fn read(&self, entry_key: &[u8], entry: &Entry) -> Result<Option<Incoming>> {
        let place = place(entry_key)?;
        let Some(target) = self.object_stores.get(&place.object_store) else {
            return Ok(None);
        };
        let page = &self.mirror.page;
        let stored = Stored::read(page, &self.head, entry_key, entry.value, 0)?;
        Ok(Some(Incoming {
            object_store: target.object_store.clone(),
            key: stored.key(entry_key, &place)?,
            entry_key: entry_key.to_vec(),
            stored,
        }))
    }

    /// Whether the database has something at a key that the page has not: then it stays, and the page's is unseen.
    fn stays(&mut self, entry_key: &[u8]) -> bool {
        match self.state.apart.get_mut(entry_key) {
            Some(apart) if apart.reason.is_here() => {
                apart.is_unseen = true;
                true
            }
            _ => false,
        }
    }

    async fn put(&mut self, entry_key: &[u8], entry: &Entry) -> Result<()> {
        if self.stays(entry_key) {
            return Ok(());
        }
        match self.incoming(entry_key, entry)? {
            Some(incoming) => self.put_incoming(incoming).await,
            None => Ok(()),
        }
    }

    async fn put_incoming(&mut self, incoming: Incoming) -> Result<()> {
        let target = self.object_stores.get_mut(&incoming.object_store.name());
        if let Some(generator) = target.and_then(|target| target.generator.as_mut()) {
            generator.meet(&incoming.key);
        }
        let request = match incoming.value()? {
            Ok((value, key)) => incoming.object_store.put(value, key),
            Err(reason) => {
                self.refused.push((incoming, reason));
                return Ok(());
            }
        };
        match request {
            Ok(request) => self.open.push((incoming, request)),
            Err(error) => self.refused.push((incoming, refused(error)?)),
        }
        match self.open.len() < REQUESTS {
            true => Ok(()),
            false => self.flush().await,
        }
    }

    /// Waits for what was put.
    async fn flush(&mut self) -> Result<()> {
        for (incoming, request) in std::mem::take(&mut self.open) {
            match request.await {
                Ok(_) => {
                    self.state.apart.remove(&incoming.entry_key);
                    self.applied.put += 1;
                }
                Err(error) => self.refused.push((incoming, refused(error)?)),
            }
        }
        Ok(())
    }

    async fn remove(&mut self, entry_key: &[u8], old: &Entry) -> Result<()> {
        if self.stays(entry_key) {
            return Ok(());
        }
        self.state.apart.remove(entry_key);
        let place = match place(entry_key) {
            Ok(place) => place,
            // It was not applied either.
            Err(_) => return Ok(()),
        };
        let Some(target) = self.object_stores.get(&place.object_store) else {
            self.applied.without_store += 1;
            return Ok(());
        };
        let key = match Stored::key_of(&self.mirror.page, &self.mirror.at, old) {
            // It was not applied either.
            Err(Error::Malformed { .. }) => return Ok(()),
            key => key?,
        };
        target.object_store.delete(key)?.detach();
        self.applied.removed += 1;
        Ok(())
    }

    async fn end(self, head: &Commit) -> Result<(State, Applied)> {
        for target in self.object_stores.values() {
            if let Some(generator) = &target.generator
                && generator.moves()
            {
                generator.set(&target.object_store).await?;
            }
        }
        let mut state = self.state;
        state.step += 1;
        state.origin = Origin::Database;
        state.commit = head.id();
        let (note, position) = (state.encode(), state.position);
        let consumer = &self.mirror.consumer;
        let transaction = &self.transaction;
        consumer
            .acknowledge_noting_in(transaction, position, &note)
            .await?;
        transaction.commit()?.await?;
        Ok((state, self.applied))
    }
}

fn add(all: &mut Taken, taken: Taken) {
    all.put += taken.put;
    all.removed += taken.removed;
    all.conflicts += taken.conflicts;
    all.skipped.extend(taken.skipped);
}

fn left_alone(state: &State) -> Vec<LeftAlone> {
    let each = state.apart.iter().map(|(entry_key, apart)| {
        let place = place(entry_key).ok();
        let (object_store, key) = place.map_or_else(
            || (JsString::default(), None),
            |place| (place.object_store, place.key),
        );
        LeftAlone {
            object_store,
            key,
            reason: apart.reason.clone(),
        }
    });
    each.collect()
}
