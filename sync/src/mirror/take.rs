//! From the database into the page: what was changed here becomes a commit.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use larder_feed::ReadOptions;
use larder_idb::codec::value::{Foreign, Payload};
use larder_idb::{
    CursorDirection, ExternalObject, JsString, Key, KeyRange, ObjectStore, PageLimits, Transaction,
};
use larder_pages::{Journal, Priority, Timestamp};

use super::conflict::{self, NewValue, PRIORITY, WHOLE_LEN_MAX};
use super::content::Content;
use super::entry_key::{of_record, place, prefixes};
use super::error::{Error, Result};
use super::generator::Generator;
use super::mirror::Mirror;
use super::record::{Head, Stored};
use super::report::{LeftAlone, Reason, Taken};
use super::schema::Schema;
use super::state::{Apart, Joined, Origin, State};

/// What a database without a past has is older than all that a page has.
const TIME_OF_FIRST: Timestamp = Timestamp(0);

/// So many records are read together.
const GETS: usize = 16;

/// What was changed in the database since the position: by object store and key, the encoded bytes of which are shorter than a key.
#[derive(Debug, Default)]
struct Changes {
    names: Vec<JsString>,
    /// What something else than the source has changed.
    keys: BTreeSet<(usize, Vec<u8>)>,
    last: u64,
    /// Whether it cannot be known what was changed: the feed has been cleaned up behind the position.
    is_left_behind: bool,
}

/// One commit in the making.
struct Round<'a> {
    mirror: &'a Mirror,
    view: &'a Transaction,
    schema: &'a Schema,
    journal: Journal,
    state: State,
    taken: Taken,
    /// So many records are in the journal.
    in_commit: usize,
    /// Whether a first take goes on that was cut off: what the page has of it is the database's own.
    is_resumed: bool,
    known: &'a Schema,
}

impl Mirror {
    /// Brings what was changed in the database since the last time into the page, as one commit on the commit that the database was at: a
    /// head beside what has come from other devices meanwhile. Of each record its last value counts; whole transactions only. Nothing is
    /// merged by that, and the database is read and not changed, but for its position in the feed and its key generators.
    ///
    /// The commit's values go into the page as streams, so a blob is not in memory as a whole; what is in memory is the keys of the changed
    /// records. The first time, all records go there in several commits ([`MirrorOptions::records_per_commit`](super::MirrorOptions::records_per_commit)). If nothing was changed, there is no commit.
    ///
    /// `now` is when the commit is made. It decides which of two records is kept where two devices have changed one.
    ///
    /// # Errors
    /// [`Error::Behind`] if the page has the schema of a later version, [`Error::SchemaDiffers`] if it has another one of this version: nothing
    /// was changed then. If database or page fail; what was changed counts the next time.
    pub async fn take(&mut self, now: Timestamp) -> Result<Taken> {
        self.settle_doubt().await?;
        self.is_in_doubt = true;
        let taken = self.take_round(now).await?;
        self.is_in_doubt = false;
        Ok(taken)
    }

    async fn take_round(&mut self, now: Timestamp) -> Result<Taken> {
        let view = self.feed.view()?;
        let schema = self.checked_schema(&view)?;
        let changes = self.changes(&view).await?;
        let known = Schema::of_commit(&self.page, self.at.commit())?;
        let mut round = Round {
            mirror: self,
            known: &known,
            is_resumed: self.at.commit().id() != self.state.commit,
            view: &view,
            schema: &schema,
            journal: self.page.begin_on(self.at.commit()),
            state: self.state.clone(),
            taken: Taken::default(),
            in_commit: 0,
        };
        let joining = round.join(changes.is_left_behind).await?;
        round.take_changes(&changes, &joining).await?;
        if known != schema {
            schema.write(&known, &mut round.journal)?;
        }
        let moves = self.generators_to_move(&view, &schema).await?;
        let Round {
            mut journal,
            mut state,
            taken,
            ..
        } = round;
        drop(view);
        state.position = changes.last.max(state.position);
        let is_new = state != self.state || taken.put + taken.removed > 0 || known != schema;
        if !is_new && moves.is_empty() {
            return Ok(taken);
        }
        state.step += 2;
        state.origin = Origin::Page;
        if self.state.is_first() && journal.base().id() != self.state.commit {
            journal.set_sync_metadata(&self.begun_row_name(), &[]);
        }
        journal.set_sync_metadata_and_commit(&self.row_name(), &state.encode_without_commit());
        let time = match self.state.is_first() {
            true => TIME_OF_FIRST,
            false => now,
        };
        // What was changed may have been committed without a sync. A power cut must not take it from the database alone. And a database
        // without this note is one from before: a backup, and not what a crash has left.
        let begun = State {
            step: self.state.step + 1,
            origin: Origin::Database,
            ..self.state.clone()
        };
        self.note(&begun, &[]).await?;
        state.commit = self.page.commit(journal, time)?.id();
        self.note(&state, &moves).await?;
        self.go_to(state)?;
        Ok(taken)
    }

    /// Notes a state in the database, after the page, and moves these object stores' key generators to places of this device.
    async fn note(&self, state: &State, moves: &[JsString]) -> Result<()> {
        let transaction = self.writing(moves.iter().cloned())?;
        for name in moves {
            let object_store = transaction.object_store(name)?;
            // What was put meanwhile has moved it on.
            let generator = Generator::of(&object_store, self.options.device_number).await?;
            generator.set(&object_store).await?;
        }
        let note = state.encode();
        let position = state.position;
        self.consumer
            .acknowledge_noting_in(&transaction, position, &note)
            .await?;
        Ok(transaction.commit()?.await?)
    }

    /// The object stores whose key generators are not at a place of this device.
    async fn generators_to_move(
        &self,
        view: &Transaction,
        schema: &Schema,
    ) -> Result<Vec<JsString>> {
        let mut moves = Vec::new();
        for (name, object_store) in &schema.object_stores {
            if object_store.auto_increment {
                let object_store = view.object_store(name)?;
                let generator = Generator::of(&object_store, self.options.device_number).await?;
                moves.extend(generator.moves().then(|| name.clone()));
            }
        }
        Ok(moves)
    }

    async fn changes(&self, view: &Transaction) -> Result<Changes> {
        let mut changes = Changes {
            last: self.feed.last_in(view).await?,
            ..Changes::default()
        };
        if self.state.is_first() {
            return Ok(changes);
        }
        let mut known: BTreeMap<i64, usize> = BTreeMap::new();
        let options = ReadOptions::new().without_source(true);
        let mut reader = (self.feed).read_from(self.state.position, options);
        loop {
            let batch = match reader.next_in(view).await {
                Ok(Some(batch)) => batch,
                Ok(None) => return Ok(changes),
                Err(larder_feed::Error::LeftBehind { .. }) => {
                    changes.is_left_behind = true;
                    return Ok(changes);
                }
                Err(error) => return Err(error.into()),
            };
            for revision in batch.revisions() {
                let number = revision.object_store_id();
                let at = *known.entry(number).or_insert_with(|| {
                    let now = self.connection.object_store_name_of(number);
                    let name = now.unwrap_or_else(|| revision.object_store_name().clone());
                    changes.names.push(name);
                    changes.names.len() - 1
                });
                let key = revision.raw_key().as_bytes().to_vec();
                changes.keys.insert((at, key));
            }
        }
    }
}

impl Round<'_> {
    /// Puts object stores whole that the page has not had from this database, or whose changes are not known: which.
    async fn join(&mut self, is_all: bool) -> Result<BTreeSet<JsString>> {
        let mut joined = BTreeSet::new();
        let mut object_stores = Vec::new();
        for name in self.schema.object_stores.keys() {
            let number = self.view.object_store(name)?.number()?;
            let known = self.state.object_stores.iter();
            let mut known = known.filter(|known| known.number == number && known.name == *name);
            let known = known.next().cloned();
            let is_known = known.is_some();
            let mut now = known.unwrap_or(Joined {
                number,
                name: name.clone(),
                is_applied: true,
            });
            if !is_known {
                // Another one of this name may have been there before.
                let is_of =
                    |entry_key: &[u8]| place(entry_key).is_ok_and(|at| at.object_store == *name);
                self.state.apart.retain(|entry_key, _| !is_of(entry_key));
            }
            if !is_known || is_all {
                // What the page has of it already, the database has not seen, if it had no part in it.
                let is_new = (!is_known && !self.is_resumed) || !now.is_applied;
                let may_have_unseen = self.put_all(name, is_new).await?;
                now.is_applied &= !(is_new && may_have_unseen);
                joined.insert(name.clone());
            }
            object_stores.push(now);
        }
        let before = std::mem::replace(&mut self.state.object_stores, object_stores);
        for known in before {
            let is_renamed = (self.state.object_stores.iter())
                .any(|now| now.number == known.number && now.name != known.name);
            if is_renamed && !self.schema.object_stores.contains_key(&known.name) {
                self.remove_missing(&known.name, None).await?;
            }
        }
        Ok(joined)
    }

    /// Puts all records of an object store: whether the page has had some there.
    async fn put_all(&mut self, name: &JsString, is_new: bool) -> Result<bool> {
        let object_store = self.view.object_store(name)?;
        let has_some = self.has_some(name)?;
        let direction = CursorDirection::Next;
        let pages = object_store.pages(KeyRange::all(), direction, PageLimits::new())?;
        while let Some(records) = pages.next()?.await? {
            for record in &records {
                let (key, objects) = (record.primary_key(), record.objects());
                let entry_key = of_record(name, &key)?;
                let is_unseen = is_new && has_some;
                self.put(&entry_key, name, &key, record.value(), objects, is_unseen)?;
                self.in_commit += 1;
                if self.state.is_first() && self.in_commit >= self.mirror.options.records_per_commit
                {
                    self.commit_part()?;
                }
            }
        }
        if !is_new {
            self.remove_missing(name, Some(&object_store)).await?;
        }
        Ok(has_some)
    }

    /// Commits what the journal has by now, and goes on in another. A row says how far the first take has come: after a crash it goes on there.
    fn commit_part(&mut self) -> Result<()> {
        let (mirror, next) = (self.mirror, self.mirror.page.begin_on(self.journal.base()));
        let mut journal = std::mem::replace(&mut self.journal, next);
        self.schema.write(self.known, &mut journal)?;
        journal.set_sync_metadata_and_commit(&mirror.begun_row_name(), &[]);
        let commit = mirror.page.commit(journal, TIME_OF_FIRST)?;
        self.journal = mirror.page.begin_on(&commit);
        self.in_commit = 0;
        Ok(())
    }

    fn has_some(&self, name: &JsString) -> Result<bool> {
        for prefix in prefixes(name)? {
            let mut entries = self.mirror.at.entries(&prefix)?;
            if let Some(first) = entries.next().transpose()?
                && first.key.starts_with(&prefix)
            {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Takes the entries away whose records are not in the object store.
    async fn remove_missing(
        &mut self,
        name: &JsString,
        object_store: Option<&ObjectStore>,
    ) -> Result<()> {
        let snapshot = Arc::clone(&self.mirror.at);
        for prefix in prefixes(name)? {
            for entry in snapshot.entries(&prefix)? {
                let entry = entry?;
                if !entry.key.starts_with(&prefix) {
                    break;
                }
                if let Some(object_store) = object_store {
                    let page = &self.mirror.page;
                    let key = match Stored::key_of(page, &snapshot, &entry) {
                        // The database has never had it.
                        Err(error) if error.of_entry().is_some() => continue,
                        key => key?,
                    };
                    let is_there = object_store.get_key(key)?.await?.is_some();
                    let apart = self.state.apart.get(&entry.key);
                    // What waits in the page is not missing here.
                    if is_there || apart.is_some_and(|apart| !apart.reason.is_here()) {
                        continue;
                    }
                }
                self.remove(&entry.key)?;
            }
        }
        Ok(())
    }

    async fn take_changes(&mut self, changes: &Changes, done: &BTreeSet<JsString>) -> Result<()> {
        let mut local = changes.keys.iter().peekable();
        while local.peek().is_some() {
            // Asked for together, since a request is passed from thread to thread.
            let mut asked = Vec::with_capacity(GETS);
            for (name, key) in local.by_ref().take(GETS) {
                let Some(name) = changes.names.get(*name) else {
                    continue;
                };
                let key = Key::decode_exact(key).map_err(larder_idb::Error::from)?;
                let get = match self.schema.object_stores.contains_key(name) {
                    true => Some(self.view.object_store(name)?.get(key.clone())?),
                    false => None,
                };
                asked.push((name, key, get));
            }
            for (name, key, get) in asked {
                let found = match get {
                    Some(get) => get.await?,
                    None => None,
                };
                let entry_key = of_record(name, &key)?;
                match found {
                    Some(_) if done.contains(name) => {}
                    Some(value) => {
                        let (bytes, objects) = (value.bytes(), value.objects());
                        self.put(&entry_key, name, &key, bytes, objects, false)?;
                    }
                    None => self.remove(&entry_key)?,
                }
            }
        }
        Ok(())
    }

    /// What a record that is changed here has had in the page, and the database has never had, is listed as a conflict.
    fn list_unseen(&mut self, entry_key: &[u8], is_unseen: bool, new: Option<&[u8]>) -> Result<()> {
        let was_apart = self.state.apart.remove(entry_key);
        if !is_unseen && !was_apart.is_some_and(|apart| apart.is_unseen) {
            return Ok(());
        }
        let at = &self.mirror.at;
        let Some(entry) = at.entry(entry_key)? else {
            return Ok(());
        };
        if let Some(new) = new {
            let mut old = super::record::open(&self.mirror.page, &entry)?;
            if old.len() == new.len() as u64 && old.read_range(0, u64::MAX)? == new {
                return Ok(());
            }
        }
        let met = [at.commit(), at.commit()];
        let (key, value) =
            conflict::entry_of(&self.mirror.page, met, entry_key, None, Some(&entry))?;
        match value {
            NewValue::Bytes(bytes) => {
                self.journal.put_with_priority(&key, &bytes, PRIORITY)?;
            }
            NewValue::Reference(reference) => {
                self.journal.put_value(&key, &reference, PRIORITY)?;
            }
        }
        self.taken.conflicts += 1;
        Ok(())
    }

    fn remove(&mut self, entry_key: &[u8]) -> Result<()> {
        self.list_unseen(entry_key, false, None)?;
        if self.mirror.at.entry(entry_key)?.is_some() {
            self.journal.delete(entry_key)?;
            self.taken.removed += 1;
        }
        Ok(())
    }

    fn put(
        &mut self,
        entry_key: &[u8],
        name: &JsString,
        key: &Key,
        wire: &[u8],
        objects: &[ExternalObject],
        is_unseen: bool,
    ) -> Result<()> {
        let is_foreign = || Payload::read(wire).is_ok_and(|wire| Foreign::read(&wire).is_some());
        let has_indexes = (self.schema.object_stores.get(name))
            .is_some_and(super::schema::StoreSchema::has_indexes);
        let Some(head) = Head::of(entry_key, key, wire, objects) else {
            return self.skip(entry_key, name, key, is_unseen, Reason::Handle);
        };
        if has_indexes && is_foreign() {
            return self.skip(entry_key, name, key, is_unseen, Reason::Foreign);
        }
        let bytes = head.encode();
        if objects.is_empty() && bytes.len() as u64 <= WHOLE_LEN_MAX {
            self.list_unseen(entry_key, is_unseen, Some(&bytes))?;
            self.journal.put(entry_key, &bytes)?;
        } else {
            let lens = head.objects.iter().map(|info| info.len);
            let mut content = Content::new(bytes, objects.iter().zip(lens).collect());
            let created = self.mirror.page.create_value(&mut content);
            let value = match (created, content.failed) {
                (Ok(value), _) => value,
                (Err(_), Some(failed)) => {
                    let reason = Reason::Unreadable(failed);
                    return self.skip(entry_key, name, key, is_unseen, reason);
                }
                (Err(error), None) => return Err(Error::Page(error)),
            };
            let old = self.mirror.at.entry(entry_key)?;
            if old.is_none_or(|old| old.value != value.identifier()) {
                self.list_unseen(entry_key, is_unseen, None)?;
            }
            self.state.apart.remove(entry_key);
            (self.journal).put_value(entry_key, &value, Priority::Eager)?;
        }
        self.taken.put += 1;
        Ok(())
    }

    fn skip(
        &mut self,
        entry_key: &[u8],
        name: &JsString,
        key: &Key,
        is_unseen: bool,
        reason: Reason,
    ) -> Result<()> {
        let had = self.state.apart.get(entry_key);
        let is_unseen = is_unseen || had.is_some_and(|apart| apart.is_unseen);
        let apart = Apart {
            reason: reason.clone(),
            is_unseen,
        };
        self.state.apart.insert(entry_key.to_vec(), apart);
        self.taken.skipped.push(LeftAlone {
            object_store: name.clone(),
            key: Some(key.clone()),
            reason,
        });
        Ok(())
    }
}
