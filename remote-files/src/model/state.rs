//! Rows in versions, and what is still on its way.

use crate::catalogue::{Commit, Outcome, Page, Row, Write};
use crate::error::{Error, ErrorKind, Result};
use std::collections::BTreeMap;
use std::ops::Range;
use std::time::Duration;

const KEY_LEN_MAX: usize = 10_000;
const VALUE_LEN_MAX: usize = 100_000;
const TRANSACTION_LEN_MAX: usize = 10_000_000;
const TRANSACTION_TIME_MAX: Duration = Duration::from_secs(5);

/// A version of a row; `None`: deleted.
type Version = (u64, Option<Vec<u8>>);

/// When a transaction or snapshot began.
#[derive(Clone, Copy, Debug)]
pub(super) struct Begun {
    pub(super) version: u64,
    pub(super) at: Duration,
}

#[derive(Debug, Default)]
pub(super) struct State {
    rows: BTreeMap<Vec<u8>, Vec<Version>>,
    version: u64,
    now: Duration,
    /// Versions and when they were made, of the last seconds.
    times: Vec<(Duration, u64)>,
    delayed: Vec<(Duration, Begun, Commit)>,
}

fn too_large(what: &str, len: usize, len_max: usize) -> Error {
    let what = format!("{what} has {len} bytes, and at most {len_max} are taken");
    Error::new(ErrorKind::TooLarge, what)
}

fn conflict(what: &str) -> Error {
    Error::new(ErrorKind::Unavailable, what)
}

impl State {
    pub(super) fn begin(&self) -> Begun {
        Begun {
            version: self.version,
            at: self.now,
        }
    }

    pub(super) fn delayed_count(&self) -> usize {
        self.delayed.len()
    }

    /// It is later: what has arrived is carried out.
    pub(super) fn advance(&mut self, now: Duration) {
        self.now = now;
        self.delayed.sort_by_key(|(due, ..)| *due);
        let count = self.delayed.partition_point(|(due, ..)| *due <= now);
        for (_, begun, commit) in self.delayed.drain(..count).collect::<Vec<_>>() {
            // There is no one to answer.
            self.commit(begun, &commit).ok();
        }
    }

    pub(super) fn delay(&mut self, by: Duration, begun: Begun, commit: Commit) {
        self.delayed.push((self.now + by, begun, commit));
    }

    fn check_age(&self, begun: Begun) -> Result<()> {
        match self.now.saturating_sub(begun.at) > TRANSACTION_TIME_MAX {
            true => Err(Error::new(
                ErrorKind::SnapshotGone,
                "the transaction is too old",
            )),
            false => Ok(()),
        }
    }

    pub(super) fn get(&self, begun: Begun, key: &[u8]) -> Result<Option<&[u8]>> {
        self.check_age(begun)?;
        let versions = self.rows.get(key);
        Ok(versions.and_then(|versions| at_version(versions, begun.version)))
    }

    pub(super) fn page(
        &self,
        begun: Begun,
        range: &Range<Vec<u8>>,
        rows_max: usize,
    ) -> Result<Page> {
        self.check_age(begun)?;
        let mut page = Page::default();
        if range.start >= range.end {
            return Ok(page);
        }
        for (key, versions) in self.rows.range(range.clone()) {
            let Some(value) = at_version(versions, begun.version) else {
                continue;
            };
            if page.rows.len() == rows_max {
                page.has_more = true;
                break;
            }
            page.rows.push(Row {
                key: key.clone(),
                value: value.to_vec(),
            });
        }
        Ok(page)
    }

    /// Whether the conditions hold for a transaction.
    pub(super) fn holds(&self, begun: Begun, commit: &Commit) -> Result<bool> {
        for condition in &commit.conditions {
            if self.get(begun, &condition.key)? != condition.expected.as_deref() {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Makes a commit whose conditions were read when it began.
    pub(super) fn commit(&mut self, begun: Begun, commit: &Commit) -> Result<Outcome> {
        if self.check_age(begun).is_err() {
            return Err(conflict("the transaction is too old to be committed"));
        }
        check_sizes(commit)?;
        let is_newer = |key: &Vec<u8>| {
            let versions = self.rows.get(key);
            versions
                .and_then(|versions| versions.last())
                .is_some_and(|(version, _)| *version > begun.version)
        };
        if commit
            .conditions
            .iter()
            .any(|condition| is_newer(&condition.key))
        {
            return Err(conflict("the transaction has conflicted with another one"));
        }
        self.version += 1;
        self.times.push((self.now, self.version));
        let horizon = self.now.checked_sub(TRANSACTION_TIME_MAX * 2);
        let old = horizon.map_or(0, |horizon| {
            self.times.partition_point(|(at, _)| *at < horizon)
        });
        let keep_from = self
            .times
            .drain(..old)
            .next_back()
            .map_or(0, |(_, version)| version);
        for write in &commit.writes {
            match write {
                Write::Put(row) => self.set(&row.key, Some(row.value.clone()), keep_from),
                Write::Delete(key) => self.set(key, None, keep_from),
                Write::DeleteRange(range) if range.start < range.end => {
                    let keys = self.rows.range(range.clone()).map(|(key, _)| key.clone());
                    for key in keys.collect::<Vec<_>>() {
                        self.set(&key, None, keep_from);
                    }
                }
                Write::DeleteRange(_) => {}
            }
        }
        Ok(Outcome::Committed)
    }

    fn set(&mut self, key: &[u8], value: Option<Vec<u8>>, keep_from: u64) {
        let version = self.version;
        let versions = self.rows.entry(key.to_vec()).or_default();
        let old = versions.partition_point(|(version, _)| *version <= keep_from);
        versions.drain(..old.saturating_sub(1));
        versions.push((version, value));
    }
}

fn at_version(versions: &[Version], version: u64) -> Option<&[u8]> {
    let count = versions.partition_point(|(one, _)| *one <= version);
    versions.get(count.checked_sub(1)?)?.1.as_deref()
}

fn check_sizes(commit: &Commit) -> Result<()> {
    let check_key = |key: &[u8]| match key.len() > KEY_LEN_MAX {
        true => Err(too_large("a key", key.len(), KEY_LEN_MAX)),
        false => Ok(()),
    };
    let mut affected = 0;
    for condition in &commit.conditions {
        check_key(&condition.key)?;
        affected += condition.key.len();
    }
    for write in &commit.writes {
        match write {
            Write::Put(row) => {
                check_key(&row.key)?;
                if row.value.len() > VALUE_LEN_MAX {
                    return Err(too_large("a value", row.value.len(), VALUE_LEN_MAX));
                }
                affected += row.key.len() + row.value.len();
            }
            Write::Delete(key) => {
                check_key(key)?;
                affected += key.len();
            }
            Write::DeleteRange(range) => {
                check_key(&range.start)?;
                check_key(&range.end)?;
                affected += range.start.len() + range.end.len();
            }
        }
    }
    match affected > TRANSACTION_LEN_MAX {
        true => Err(too_large("a transaction", affected, TRANSACTION_LEN_MAX)),
        false => Ok(()),
    }
}
