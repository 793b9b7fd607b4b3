//! What programs that know nothing of the change feed have changed in its database, such as a browser: found by comparing, and made
//! into revisions (`docs/format/feed.md`, "What others change").
//!
//! Chromium gives each put a version above all that the object store has had, and leaves the feed's rows alone. So a record with a
//! version that the feed has not given was put by others, and a version that the feed has given last, and no record has any more, is of a
//! record that others have overwritten or removed. No value is read.

use std::collections::BTreeMap;

use larder_codec::feed::{self, CLEANED_KEY, HistoryKey};
use larder_codec::row_key::RecordTable;
use larder_codec::value::{Builder, Needs, RevisionKind};
use larder_codec::versioned::{DataRow, ExistsRow};
use larder_codec::{DatabaseId, JsString, Key, ObjectStoreId, RawKey, RecordVersion};

use super::tracked::{TooDeep, check_depth};
use super::{Put, PutKey, PutMode};
use crate::cursor::CursorDirection;
use crate::error::{Error, ErrorKind, Result};
use crate::feed::{
    Change, Feed, Known, KnownStore, LOST_VERSION, RECORD, entry_at, read_known, read_record,
};
use crate::key_range::KeyRange;
use crate::reads::record_row_prefix;
use crate::transaction::WriteTransaction;

/// What others have changed in one object store.
struct Changed {
    id: ObjectStoreId,
    name: JsString,
    /// The last version that the feed has given.
    last_version: RecordVersion,
    /// Whether the object store is still there.
    is_there: bool,
    /// The records that they have put, in the order of the versions.
    put: Vec<Found>,
    /// The records that they have removed.
    removed: Vec<Found>,
}

/// A record: the version that it has, or had until it was removed; and what the feed knew before of one that was put.
struct Found {
    version: RecordVersion,
    before: Option<RecordVersion>,
    key: Box<[u8]>,
}

/// A version that no record has any more, as the feed has it.
struct Lost {
    version: RecordVersion,
    name: JsString,
    key: Box<[u8]>,
}

impl WriteTransaction {
    /// Notes what others have changed since the feed's last revision. Whether there is anything to commit.
    ///
    /// If the feed's own rows are not as commits leave them, it begins anew: each record that is there is a creation, and every consumer
    /// is left behind.
    ///
    /// # Errors
    /// If this is no version change; if a row cannot be read or written.
    pub(crate) fn note_what_others_changed(&mut self) -> Result<bool> {
        let database_id = self.version_change()?;
        let Some(feed) = self.feed().cloned() else {
            return Ok(false);
        };
        let mut problems = Vec::new();
        let mut stores = self.object_stores(database_id, &mut problems)?;
        if let Some(problem) = problems.into_iter().next() {
            return Err(problem);
        }
        stores.retain(|store| !feed::is_reserved(&store.name));
        let stores: BTreeMap<_, _> = stores.into_iter().map(|at| (at.id, at.name)).collect();
        let known = read_known(self.view(), &feed)?;
        let changed = match known {
            Some(known) => self.compare(database_id, &feed, &stores, known)?,
            None => None,
        };
        let Some(changed) = changed else {
            self.begin_feed_anew(database_id, &feed, &stores)?;
            return Ok(true);
        };
        for changed in &changed {
            self.note_changed(&feed, changed)?;
        }
        Ok(!self.changes_mut().is_empty())
    }

    /// What is otherwise than the feed says; `None` if that contradicts itself.
    fn compare(
        &self,
        database_id: DatabaseId,
        feed: &Feed,
        stores: &BTreeMap<ObjectStoreId, JsString>,
        mut known: Known,
    ) -> Result<Option<Vec<Changed>>> {
        let mut all = Vec::new();
        for id in stores.keys() {
            known.entry(*id).or_default();
        }
        for (id, mut known) in known {
            let name = stores.get(&id);
            let mut changed = Changed {
                id,
                name: name.cloned().unwrap_or_default(),
                last_version: known.last_version,
                is_there: name.is_some(),
                put: Vec::new(),
                removed: Vec::new(),
            };
            if changed.is_there {
                let Some(put) = self.put_by_others(database_id, id, &mut known)? else {
                    return Ok(None);
                };
                changed.put = put;
            }
            let Some(lost) = self.lost_of(feed, id, &known)? else {
                return Ok(None);
            };
            self.sort_out(database_id, &mut changed, lost)?;
            all.push(changed);
        }
        Ok(Some(all))
    }

    /// The records with versions that the feed has not given, in the order of these; the others' versions are taken out of what is known, so
    /// that those are left which no record has.
    fn put_by_others(
        &self,
        database_id: DatabaseId,
        id: ObjectStoreId,
        known: &mut KnownStore,
    ) -> Result<Option<Vec<Found>>> {
        let prefix = record_row_prefix(database_id, id, RecordTable::Exists);
        let mut put = Vec::new();
        let mut iter = self.view().iter();
        iter.seek(&prefix)?;
        while iter.valid() && iter.key().starts_with(&prefix) {
            let bad_row = |error| Error::row(iter.key(), "exists row", error);
            let version = ExistsRow::decode_exact(iter.value()?)
                .map_err(bad_row)?
                .version;
            let key = iter.key().strip_prefix(&*prefix).unwrap_or_default();
            if version > known.last_version {
                let raw = RawKey::decode_exact(key).map_err(bad_row)?;
                // One that is too deep for the feed's keys is never in it.
                if check_depth(raw).is_ok() {
                    put.push(Found {
                        version,
                        before: None,
                        key: key.into(),
                    });
                }
            } else if !known.current.remove(version) {
                let is_in_feed =
                    RawKey::decode_exact(key).is_ok_and(|key| check_depth(key).is_ok());
                if is_in_feed {
                    return Ok(None);
                }
            }
            iter.next()?;
        }
        put.sort_unstable_by_key(|found| found.version);
        Ok(Some(put))
    }

    /// The revisions of the versions that are left; `None` if one is not to be found.
    fn lost_of(
        &self,
        feed: &Feed,
        id: ObjectStoreId,
        known: &KnownStore,
    ) -> Result<Option<Vec<Lost>>> {
        let mut lost = Vec::new();
        let mut next = known.current.from(RecordVersion::MIN);
        let mut iter = self.view().iter();
        let (mut key, mut record_key) = (Vec::new(), Vec::new());
        while let Some(version) = next {
            key.clear();
            key.extend_from_slice(&feed.by_version);
            feed::encode_version(id, version, &mut key);
            iter.seek(&key)?;
            let Some(((found, end), number)) = entry_at(&iter, feed)?.filter(|at| at.0.0 == id)
            else {
                return Ok(None);
            };
            let row_key = [&*feed.revision_data, &Key::encode_number(number as f64)].concat();
            let Some(row) = self.view().get(&row_key)? else {
                return Ok(None);
            };
            let bad_row = |error| Error::row(&row_key, RECORD, error);
            let (_, mut revisions) = read_record(&row).map_err(bad_row)?;
            let of_store = |at: &&larder_codec::value::ChangedObjectStore<'_>| at.id == found;
            let name = revisions.row().object_stores.iter().find(of_store);
            let name: Vec<u16> = name.map_or_else(Vec::new, |at| at.name.units().collect());
            let before = lost.len();
            while let Some(revision) = revisions.next(&mut record_key).map_err(bad_row)? {
                if revision.object_store_id == id && known.current.contains(revision.version) {
                    lost.push(Lost {
                        version: revision.version,
                        name: JsString::from_units(name.clone()),
                        key: revision.key.as_bytes().into(),
                    });
                }
            }
            // The next version in question is of a later record.
            let found = lost.get(before..).unwrap_or_default();
            let has_it = found.iter().any(|lost| lost.version == version);
            let is_behind = found.iter().all(|lost| lost.version <= end);
            if !has_it || !is_behind {
                return Ok(None);
            }
            let behind = end.get().checked_add(1).and_then(RecordVersion::new);
            next = behind.and_then(|behind| known.current.from(behind));
        }
        Ok(Some(lost))
    }

    /// Says of each version that is lost whether its record was overwritten or removed.
    fn sort_out(
        &self,
        database_id: DatabaseId,
        changed: &mut Changed,
        lost: Vec<Lost>,
    ) -> Result<()> {
        for Lost { version, name, key } in lost {
            let raw = RawKey::decode_exact(&key)
                .map_err(|error| Error::row(&key, "key of a revision", error))?;
            let now = match changed.is_there {
                true => self.record_version(database_id, changed.id, raw)?,
                false => None,
            };
            match now {
                None => {
                    if !changed.is_there {
                        changed.name = name;
                    }
                    changed.removed.push(Found {
                        version,
                        before: None,
                        key,
                    });
                }
                Some(now) => {
                    let at = changed
                        .put
                        .binary_search_by_key(&now, |found| found.version);
                    // A revision that the feed has of it already is of a put that did not know of the other's.
                    if let Some(found) = at.ok().and_then(|at| changed.put.get_mut(at)) {
                        found.before = Some(version);
                    }
                }
            }
        }
        Ok(())
    }

    fn note_changed(&mut self, feed: &Feed, changed: &Changed) -> Result<()> {
        for found in &changed.put {
            let kind = match found.before {
                Some(_) => RevisionKind::Modification,
                None => RevisionKind::Creation,
            };
            self.note_one(feed, changed, found, (kind, found.version, found.before))?;
        }
        // An object store that is gone has no versions to take, and needs none.
        let mut version = changed.last_version;
        for found in &changed.removed {
            version = match changed.is_there {
                true => self.with_store(changed.id, Self::next_version)?,
                false => {
                    let next = version.get().checked_add(1);
                    next.and_then(RecordVersion::new).unwrap_or(version)
                }
            };
            let (kind, before) = (RevisionKind::Removal, Some(found.version));
            self.note_one(feed, changed, found, (kind, version, before))?;
        }
        Ok(())
    }

    fn note_one(
        &mut self,
        feed: &Feed,
        changed: &Changed,
        found: &Found,
        (kind, version, before): (RevisionKind, RecordVersion, Option<RecordVersion>),
    ) -> Result<()> {
        let key = &found.key;
        let key =
            RawKey::decode_exact(key).map_err(|error| Error::row(key, "key of a record", error))?;
        if let Some(since) = before {
            let history_key = HistoryKey {
                object_store_id: changed.id,
                key,
                since,
                until: version,
            };
            self.put_lost(feed, &history_key)?;
        }
        self.changes_mut().note(&Change {
            object_store_id: changed.id,
            object_store_name: &changed.name,
            key,
            kind,
            version,
            before,
        });
        Ok(())
    }

    /// In the history's place of what the record was: that it is not known.
    fn put_lost(&mut self, feed: &Feed, history_key: &HistoryKey<'_>) -> Result<()> {
        self.note_put();
        let value = self.written(|bytes| {
            let mut builder = Builder::begin(bytes);
            builder.undefined();
            builder.end()
        })?;
        let mut row = Vec::new();
        DataRow {
            version: LOST_VERSION,
            value: &value,
        }
        .encode(&mut row);
        self.put_history(feed, history_key, &row, &mut Vec::new())
    }

    /// A value of the feed's own, in the store's versions.
    fn written(&self, write: impl FnOnce(&mut Vec<u8>) -> Needs) -> Result<Vec<u8>> {
        let mut bytes = Vec::new();
        let needs = write(&mut bytes);
        match needs.restate(self.data_version(), &mut bytes) {
            true => Ok(bytes),
            false => {
                let what = "the store's versions have no form for a value of the change feed";
                Err(Error::new(ErrorKind::Unsupported, what))
            }
        }
    }

    /// Takes all revisions away, and makes each record a creation. The numbers go on behind one that no revision has: up to there all is
    /// cleaned up, so that every consumer has to begin anew.
    fn begin_feed_anew(
        &mut self,
        database_id: DatabaseId,
        feed: &Feed,
        stores: &BTreeMap<ObjectStoreId, JsString>,
    ) -> Result<()> {
        let behind = self.numbers_used(database_id, feed)? + 1;
        self.clear(feed.revisions)?;
        self.clear(feed.history)?;
        self.note_put();
        let marks = self.written(|bytes| feed::build_numbers(&[behind, behind], bytes))?;
        let key = Key::encode_number(CLEANED_KEY);
        let key = RawKey::decode_exact(&key)
            .map_err(|error| Error::row(&key, "key of the marks", error))?;
        let put = Put {
            key: PutKey::Given(key),
            value: &marks,
            mode: PutMode::Put,
            index_keys: &[],
            external_objects: &[],
        };
        self.put(feed.consumers, &put)?;
        self.changes_mut().behind = Some(behind);
        for (id, name) in stores {
            self.note_all_of(database_id, *id, name, TooDeep::LeftOut)?;
        }
        Ok(())
    }

    /// The greatest number that a revision may have had, or a consumer have seen.
    fn numbers_used(&self, database_id: DatabaseId, feed: &Feed) -> Result<u64> {
        let mut most = feed.last();
        let (all, next) = (&KeyRange::ALL, CursorDirection::Next);
        let mut consumers = self.records(database_id, feed.consumers, next);
        while consumers.next()? {
            let numbers = consumers.value().map(feed::read_numbers::<2>)?;
            let is_sequence = consumers.primary_key()?.to_key() == Key::Number(feed::SEQUENCE_KEY);
            if let Ok(numbers) = numbers
                && !is_sequence
            {
                most = most.max(numbers[0]).max(numbers[1]);
            }
        }
        drop(consumers);
        let mut revisions = self.keys_in(database_id, feed.revisions, all, next);
        while revisions.next()? {
            if let Key::Number(number) = revisions.primary_key()?.to_key() {
                most = most.max(number as u64);
            }
        }
        Ok(most.min(NUMBER_MAX))
    }
}

/// Numbers above that, which hostile rows may have, leave none for revisions.
const NUMBER_MAX: u64 = 1 << 52;
