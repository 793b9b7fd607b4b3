//! Reading revisions in whole transactions, up to the last one and then as they come.

use larder_idb::codec::feed;
use larder_idb::codec::value::{RevisionKind, RevisionRow};
use larder_idb::{Commits, GetAllOptions, JsString, KeyRange, Transaction};

use crate::error::{Error, Result};
use crate::feed::Feed;
use crate::lookup::value_at;
use crate::mark::Marks;
use crate::revision::{Revision, number_of, read_all};

/// What a reader gets: by default every revision, without values.
#[derive(Debug, Clone, Default)]
pub struct ReadOptions {
    values: bool,
    object_stores: Option<Vec<JsString>>,
    keys: Option<KeyRange>,
    kinds: Option<Vec<RevisionKind>>,
    without_source: bool,
}

impl ReadOptions {
    /// Every revision, without values.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Whether each revision comes with the record's value.
    #[must_use]
    pub const fn values(mut self, values: bool) -> Self {
        self.values = values;
        self
    }

    /// Only revisions of these object stores, by the names that these had when the records changed.
    #[must_use]
    pub fn object_stores<N: Into<JsString>>(mut self, names: impl IntoIterator<Item = N>) -> Self {
        self.object_stores = Some(names.into_iter().map(Into::into).collect());
        self
    }

    /// Only revisions of records with keys in a range.
    #[must_use]
    pub fn keys(mut self, range: impl Into<KeyRange>) -> Self {
        self.keys = Some(range.into());
        self
    }

    /// Only revisions of these kinds.
    #[must_use]
    pub fn kinds(mut self, kinds: impl IntoIterator<Item = RevisionKind>) -> Self {
        self.kinds = Some(kinds.into_iter().collect());
        self
    }

    /// Only revisions that do not come from the source that the database is a copy of: what brings changes to that source would give it
    /// its own ones otherwise.
    #[must_use]
    pub const fn without_source(mut self, without_source: bool) -> Self {
        self.without_source = without_source;
        self
    }

    fn wants(&self, revision: &Revision) -> bool {
        let stores = self.object_stores.as_ref();
        stores.is_none_or(|names| names.contains(revision.object_store_name()))
            && self
                .keys
                .as_ref()
                .is_none_or(|range| range.includes(&revision.key()))
            && self
                .kinds
                .as_ref()
                .is_none_or(|kinds| kinds.contains(&revision.kind()))
            && !(self.without_source && revision.is_from_source())
    }
}

/// Revisions of whole transactions, in the order of their numbers. A filter may have left out some, or all.
#[derive(Debug, Clone)]
pub struct Batch {
    revisions: Vec<Revision>,
    /// Where transactions end, and when they were committed.
    ends: Vec<(u64, Option<f64>)>,
    position: u64,
}

/// What a batch has of one transaction.
#[derive(Debug, Clone, Copy)]
pub struct TransactionRevisions<'a> {
    /// The revisions that a filter has left, in the order of their numbers.
    pub revisions: &'a [Revision],
    /// Where the transaction ends: the position behind it.
    pub position: u64,
    /// When it was committed, in milliseconds since 1970 UTC. `None` for what clean-up has left of several.
    pub committed_at_ms: Option<f64>,
}

impl Batch {
    /// The revisions.
    #[must_use]
    pub fn revisions(&self) -> &[Revision] {
        &self.revisions
    }

    /// The transactions, in their order; those of which a filter has left nothing, too.
    pub fn transactions(&self) -> impl Iterator<Item = TransactionRevisions<'_>> {
        let mut left = &self.revisions[..];
        self.ends.iter().map(move |&(position, committed_at_ms)| {
            let len = left.partition_point(|revision| revision.number() <= position);
            let (revisions, rest) = left.split_at(len);
            left = rest;
            TransactionRevisions {
                revisions,
                position,
                committed_at_ms,
            }
        })
    }

    /// Where the batch ends: the position from which a reader goes on behind it.
    #[must_use]
    pub const fn position(&self) -> u64 {
        self.position
    }
}

/// So many records of revisions are read at once.
const PAGE_LEN: u32 = 32;

/// Reads revisions behind a position ([`Feed::read_from`]). Between two calls it has nothing in memory but that.
#[derive(Debug)]
pub struct Reader {
    feed: Feed,
    position: u64,
    /// The clean-up that the position is from, if that is not beyond it: 0 and what follows it.
    pub(crate) since: Option<u64>,
    options: ReadOptions,
    commits: Option<Commits>,
}

impl Feed {
    /// Reads the revisions behind a position, transaction by transaction: 0 is before all. Where outdated revisions have been cleaned up, what
    /// is left of them is each record's last.
    #[must_use]
    pub fn read_from(&self, position: u64, options: ReadOptions) -> Reader {
        Reader::new(self.clone(), position, options)
    }
}

impl Reader {
    const fn new(feed: Feed, position: u64, options: ReadOptions) -> Self {
        Self {
            feed,
            position,
            since: None,
            options,
            commits: None,
        }
    }

    /// Where it stands: behind the last batch.
    #[must_use]
    pub const fn position(&self) -> u64 {
        self.position
    }

    /// The next batch that there is; `None` at the end of the feed. One is as many transactions as fit in a page of some hundred
    /// revisions, or one that is larger.
    ///
    /// # Errors
    /// [`Error::LeftBehind`] if clean-up has passed it; if the database fails.
    pub async fn next(&mut self) -> Result<Option<Batch>> {
        let transaction = self.feed.reading(self.options.values)?;
        self.next_in(&transaction).await
    }

    /// The next batch that a transaction sees ([`Feed::view`]): all batches read in one are of one state of the database, which the
    /// transaction shows as well.
    ///
    /// # Errors
    /// Those of [`next`](Self::next); `NotFoundError` for a transaction that is not of the feed.
    pub async fn next_in(&mut self, transaction: &Transaction) -> Result<Option<Batch>> {
        let marks = Marks::read(transaction).await?;
        self.check_not_left_behind(marks)?;
        let mut revisions = self.read_whole(transaction, marks).await?;
        let Some(last) = revisions.last() else {
            return Ok(None);
        };
        let position = last.number();
        let committed = revisions.iter().filter_map(|revision| {
            let at_ms = revision.committed_at_ms()?;
            Some((revision.number(), Some(at_ms)))
        });
        let mut ends: Vec<_> = committed.collect();
        if ends.last().is_none_or(|(end, _)| *end < position) {
            ends.push((position, None));
        }
        revisions.retain(|revision| self.options.wants(revision));
        if self.options.values {
            for revision in &mut revisions {
                revision.value = value_at(transaction, revision).await?;
            }
        }
        self.position = position;
        Ok(Some(Batch {
            revisions,
            ends,
            position,
        }))
    }

    /// The next batch, which is waited for if there is none yet. Nothing is left out and nothing comes twice, whenever it is committed.
    ///
    /// # Errors
    /// Those of [`next`](Self::next); `InvalidStateError` once the connection is to be closed.
    pub async fn next_live(&mut self) -> Result<Batch> {
        loop {
            // Before it looks: what is committed after that is noted.
            let mut commits = match self.commits.take() {
                Some(commits) => commits,
                None => self.feed.connection().commits(),
            };
            let found = self.next().await?;
            if let Some(batch) = found {
                self.commits = Some(commits);
                return Ok(batch);
            }
            commits.next().await;
            self.commits = Some(commits);
        }
    }

    pub(crate) const fn wants_values(&self) -> bool {
        self.options.values
    }

    fn check_not_left_behind(&mut self, marks: Marks) -> Result<()> {
        if self.position == 0 && self.since.is_none() {
            self.since = Some(marks.cleaned);
        }
        if self.position >= marks.cleaned || self.since == Some(marks.cleaned) {
            return Ok(());
        }
        Err(Error::LeftBehind {
            position: self.position,
            cleaned: marks.cleaned,
        })
    }

    /// The revisions of the next page up to the last end of a transaction in it, or of more pages if there is none.
    async fn read_whole(&self, transaction: &Transaction, marks: Marks) -> Result<Vec<Revision>> {
        let store = transaction.object_store(feed::REVISIONS)?;
        let mut revisions: Vec<Revision> = Vec::new();
        let mut behind = self.position;
        loop {
            let range = KeyRange::lower_bound(behind as f64, true);
            let options = GetAllOptions::new().count(PAGE_LEN);
            let page = store.get_all(range, options)?.await?;
            for record in &page {
                let is_new = |number, _: &RevisionRow<()>| number > self.position;
                read_all(&record, is_new, &mut revisions)?;
                behind = number_of(&record.primary_key());
            }
            let is_end = |revision: &Revision| {
                revision.committed_at_ms().is_some() || revision.number() <= marks.whole
            };
            if let Some(end) = revisions.iter().rposition(is_end) {
                revisions.truncate(end + 1);
                return Ok(revisions);
            }
            if page.is_empty() {
                // A transaction's end is committed with the rest of it.
                return Ok(revisions);
            }
        }
    }
}
