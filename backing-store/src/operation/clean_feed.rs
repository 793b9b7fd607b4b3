//! Clean-up of a change feed: what is outdated up to a revision goes.
//!
//! A revision names the version that its record had before, so what it makes outdated is found without a search: the history's row by its
//! key, and the older revision by the index. Nothing is read of values.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use larder_codec::feed::{self, HistoryKey};
use larder_codec::value::{RevisionKind, RevisionRow};
use larder_codec::versioned::DataRow;
use larder_codec::{Key, RawKey, RecordVersion};

use crate::error::{Error, ErrorKind, Result};
use crate::feed::{Feed, Place, RECORD, entry_at, number_at, read_record};
use crate::scope::Scope;
use crate::transaction::WriteTransaction;
use crate::view::ViewIter;

/// What a step of clean-up has done ([`WriteTransaction::clean_feed`]).
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct FeedCleaned {
    /// The last revision that was looked at: up to here outdated ones are gone. 0 if there was none.
    pub cleaned: u64,
    /// The last of them that is the last of its transaction; 0 if none is.
    pub whole: u64,
    /// So many revisions have gone.
    pub revisions: u64,
}

/// A step ends at keys of so many bytes: each is written once or twice more, to take its rows away.
const KEYS_LEN_MAX: usize = 256 << 10;

/// Removes the history's rows.
#[derive(Debug)]
struct HistoryRows<'a> {
    feed: &'a Feed,
    has_objects: bool,
    key: Vec<u8>,
    value: Vec<u8>,
}

impl WriteTransaction {
    /// Takes away which revisions up to `up_to` are removals or have a newer one of the same record up to there, with the history's rows of
    /// the values that they had. Looks at those behind `behind`, up to where a step before has come, and at no more than `count`, or at
    /// fewer with long keys.
    ///
    /// # Errors
    /// [`ErrorKind::Usage`] if the database has no change feed, or the scope does not have its object stores; if a row cannot be read or
    /// written.
    pub fn clean_feed(&mut self, behind: u64, up_to: u64, count: usize) -> Result<FeedCleaned> {
        let feed = self.feed_to_clean()?;
        let database_id = self.scope().database_id();
        let mut history = HistoryRows {
            has_objects: self.has_external_objects(database_id, feed.history)?,
            feed: &feed,
            key: Vec::new(),
            value: Vec::new(),
        };
        let mut done = FeedCleaned::default();
        let mut outdated = BTreeSet::new();
        let mut iter = records_behind(self, &feed, behind)?;
        let (mut looked_at, mut keys_len, mut key) = (0, 0, Vec::new());
        'records: while let Some(last) = number_at(&iter, &feed) {
            let bad_row = |error| Error::row(iter.key(), RECORD, error);
            let (_, mut revisions) = read_record(iter.value()?).map_err(bad_row)?;
            let ends = revisions.row().committed_at_ms.is_some();
            while let Some(revision) = revisions.next(&mut key).map_err(bad_row)? {
                let number = last.saturating_sub(u64::from(revision.back));
                if number <= behind {
                    continue;
                }
                if number > up_to || looked_at == count || keys_len > KEYS_LEN_MAX {
                    break 'records;
                }
                looked_at += 1;
                keys_len += revision.key.as_bytes().len();
                done.cleaned = number;
                if ends && revision.back == 0 {
                    done.whole = number;
                }
                if let Some(before) = revision.before {
                    outdated.insert((revision.object_store_id, before));
                    history.remove(self, &revision, before)?;
                }
                if revision.kind == RevisionKind::Removal {
                    outdated.insert((revision.object_store_id, revision.version));
                }
            }
            iter.next()?;
        }
        drop(iter);
        for (number, places) in self.records_of(&feed, &outdated)? {
            done.revisions += self.rewrite_without(&feed, number, &places)?;
        }
        Ok(done)
    }

    fn feed_to_clean(&self) -> Result<Arc<Feed>> {
        let is_in_scope = |feed: &&Arc<Feed>| match self.scope() {
            Scope::VersionChange(_) => true,
            Scope::Stores(_, ids) => ids.contains(feed.revisions) && ids.contains(feed.history),
        };
        let feed = self.feed().filter(is_in_scope).cloned();
        feed.ok_or_else(|| {
            let what =
                "there is no change feed to clean up, or its object stores are not in the scope";
            Error::new(ErrorKind::Usage, what)
        })
    }

    /// The records that these revisions are in, by their numbers.
    fn records_of(
        &self,
        feed: &Feed,
        places: &BTreeSet<Place>,
    ) -> Result<BTreeMap<u64, BTreeSet<Place>>> {
        let mut records: BTreeMap<u64, BTreeSet<Place>> = BTreeMap::new();
        let mut iter = self.view().iter();
        let mut key = Vec::new();
        // Where the one before was, and the last version of its object store there.
        let mut found: Option<(Place, u64)> = None;
        for place in places {
            let (id, version) = *place;
            let is_same = |((found_id, end), _): &(Place, u64)| *found_id == id && *end >= version;
            if !found.as_ref().is_some_and(is_same) {
                key.clear();
                key.extend_from_slice(&feed.by_version);
                feed::encode_version(id, version, &mut key);
                iter.seek(&key)?;
                found = entry_at(&iter, feed)?;
            }
            if let Some((_, number)) = found.filter(|found| is_same(found)) {
                records.entry(number).or_default().insert(*place);
            }
        }
        Ok(records)
    }

    /// Writes a record anew without some of its revisions, or deletes it if no other is left; how many there were.
    fn rewrite_without(
        &mut self,
        feed: &Feed,
        number: u64,
        places: &BTreeSet<Place>,
    ) -> Result<u64> {
        let primary_key = Key::encode_number(number as f64);
        let row_key = [&*feed.revision_data, &primary_key].concat();
        let Some(old) = self.view().get(&row_key)? else {
            return Ok(0);
        };
        let bad_row = |error| Error::row(&row_key, RECORD, error);
        let (version, mut reader) = read_record(&old).map_err(bad_row)?;
        let (mut kept, mut keys, mut key, mut gone) = (Vec::new(), Vec::new(), Vec::new(), 0);
        while let Some(revision) = reader.next(&mut key).map_err(bad_row)? {
            if places.contains(&(revision.object_store_id, revision.version)) {
                gone += 1;
                continue;
            }
            let start = keys.len();
            keys.extend_from_slice(revision.key.as_bytes());
            kept.push(revision.with_key(start..keys.len()));
        }
        let shared = reader.row();
        if kept.is_empty() {
            self.delete_row(&row_key)?;
            self.delete_row(&[&*feed.revision_exists, &primary_key].concat())?;
            let (mut end, mut entry) = (Vec::new(), Vec::new());
            for store in &shared.object_stores {
                end.clear();
                feed::encode_version(store.id, store.version, &mut end);
                feed.by_version_row(&end, &primary_key, &mut entry);
                self.delete_row(&entry)?;
            }
            return Ok(gone);
        }
        let mut revisions = Vec::with_capacity(kept.len());
        for revision in kept {
            let key = keys.get(revision.key.clone()).unwrap_or_default();
            revisions.push(revision.with_key(RawKey::decode_exact(key).map_err(bad_row)?));
        }
        let mut value = Vec::with_capacity(old.len());
        // The object stores stay, whatever is left of theirs: the index has them.
        shared.encode(revisions.into_iter(), self.data_version(), &mut value);
        let mut new = Vec::with_capacity(value.len() + 8);
        let value = &value;
        DataRow { version, value }.encode(&mut new);
        self.put_small_row(&row_key, &new)?;
        Ok(gone)
    }
}

impl HistoryRows<'_> {
    /// What the record was before a revision.
    fn remove(
        &mut self,
        transaction: &mut WriteTransaction,
        revision: &RevisionRow<RawKey<'_>>,
        since: RecordVersion,
    ) -> Result<()> {
        let history_key = HistoryKey {
            object_store_id: revision.object_store_id,
            key: revision.key,
            since,
            until: revision.version,
        };
        let key = &mut self.key;
        let feed = self.feed;
        let exists = feed.has_history_exists.then_some(&feed.history_exists);
        for prefix in std::iter::once(&feed.history_data).chain(exists) {
            key.clear();
            key.extend_from_slice(prefix);
            history_key.encode(key);
            transaction.delete_row(key)?;
        }
        if self.has_objects {
            key.clear();
            key.extend_from_slice(&self.feed.history_objects);
            history_key.encode(key);
            transaction.delete_existing_row(key, &mut self.value)?;
        }
        Ok(())
    }
}

/// Stands on the record that has the first revision behind a number.
fn records_behind(transaction: &WriteTransaction, feed: &Feed, behind: u64) -> Result<ViewIter> {
    let mut iter = transaction.view().iter();
    let first = Key::encode_number((behind + 1) as f64);
    iter.seek(&[&*feed.revision_data, &first].concat())?;
    Ok(iter)
}
