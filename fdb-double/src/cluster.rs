//! A cluster: rows with versions, and the ranges that were written lately.

use crate::errors::{self, Code};
use crate::orders::Orders;
use std::collections::{BTreeMap, HashMap, VecDeque};
use std::ops::Range;
use std::sync::{Arc, LazyLock, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// Versions go on by so many in a second.
const VERSIONS_PER_SECOND: i64 = 1_000_000;
/// How many versions back is read.
const VERSIONS_KEPT: i64 = 5 * VERSIONS_PER_SECOND;

/// Bytes of a storage server's reply to a range, but for its last row.
const REPLY_LEN_MAX: usize = 80_000;

/// A range of keys.
pub(crate) type Keys = Range<Vec<u8>>;
/// A version of a row; `None`: there is none.
type Version = (i64, Option<Vec<u8>>);

/// A change of a commit.
#[derive(Clone, Debug)]
pub(crate) enum Mutation {
    Set(Vec<u8>, Vec<u8>),
    Clear(Keys),
}

/// What a client sends to be committed.
#[derive(Clone, Debug, Default)]
pub(crate) struct Request {
    /// Where it has read; none: it has not.
    pub(crate) version: Option<i64>,
    pub(crate) read: Vec<Keys>,
    pub(crate) written: Vec<Keys>,
    pub(crate) mutations: Vec<Mutation>,
}

/// Rows of a range from its start, and whether there may be more.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Page {
    pub(crate) rows: Vec<(Vec<u8>, Vec<u8>)>,
    pub(crate) has_more: bool,
}

/// A cluster's state.
#[derive(Debug)]
pub(crate) struct State {
    began: Instant,
    /// What its clock was put forward by.
    aged: Duration,
    version: i64,
    rows: BTreeMap<Vec<u8>, Vec<Version>>,
    /// What was written at which version, of the versions that are kept.
    history: VecDeque<(i64, Vec<Keys>)>,
    pub(crate) orders: Orders,
}

/// A cluster.
#[derive(Debug)]
pub(crate) struct Cluster(Mutex<State>);

/// All of them, by their connection strings.
static CLUSTERS: LazyLock<Mutex<HashMap<String, Arc<Cluster>>>> = LazyLock::new(Mutex::default);

#[expect(
    clippy::disallowed_methods,
    reason = "it stands for a library that looks at the clock by itself"
)]
pub(crate) fn now() -> Instant {
    Instant::now()
}

impl Cluster {
    /// The one of a connection string.
    pub(crate) fn of(connection: &str) -> Result<Arc<Cluster>, Code> {
        let (name, hosts) = connection.split_once('@').unwrap_or((connection, ""));
        let is_word =
            |word: &str| !word.is_empty() && word.bytes().all(|c| c.is_ascii_alphanumeric());
        let names_cluster = matches!(name.split_once(':'), Some((description, id)) if is_word(&description.replace('_', "a")) && is_word(id));
        if !names_cluster || !hosts.split(',').all(|host| host.contains(':')) {
            return Err(errors::CONNECTION_STRING_INVALID);
        }
        let mut clusters = CLUSTERS.lock().unwrap_or_else(PoisonError::into_inner);
        let cluster = clusters.entry(connection.to_owned());
        let new = || Arc::new(Cluster(Mutex::new(State::new())));
        Ok(Arc::clone(cluster.or_insert_with(new)))
    }

    /// One that no request comes to.
    pub(crate) fn nowhere() -> Arc<Cluster> {
        Arc::new(Cluster(Mutex::new(State::new())))
    }

    pub(crate) fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn overlap(one: &Keys, other: &Keys) -> bool {
    one.start < other.end && other.start < one.end
}

fn at(versions: &[Version], version: i64) -> Option<&Vec<u8>> {
    let count = versions.partition_point(|(one, _)| *one <= version);
    versions.get(count.checked_sub(1)?)?.1.as_ref()
}

impl State {
    fn new() -> State {
        State {
            began: now(),
            aged: Duration::ZERO,
            version: 1,
            rows: BTreeMap::new(),
            history: VecDeque::new(),
            orders: Orders::default(),
        }
    }

    /// Puts the clock forward.
    pub(crate) fn age(&mut self, by: Duration) {
        self.aged += by;
    }

    /// The version that is read now: all that was committed is below it.
    pub(crate) fn read_version(&mut self) -> i64 {
        let time = (now() - self.began) + self.aged;
        let by_time = i64::try_from(time.as_micros()).unwrap_or(i64::MAX);
        self.version = self.version.max(by_time);
        self.version
    }

    fn check(&mut self, version: i64) -> Result<(), Code> {
        let current = self.read_version();
        match version {
            _ if version > current => Err(errors::FUTURE_VERSION),
            _ if current - version > VERSIONS_KEPT => Err(errors::TRANSACTION_TOO_OLD),
            _ => Ok(()),
        }
    }

    /// The value of a row.
    pub(crate) fn get(&mut self, version: i64, key: &[u8]) -> Result<Option<Vec<u8>>, Code> {
        self.check(version)?;
        let versions = self.rows.get(key);
        Ok(versions.and_then(|versions| at(versions, version)).cloned())
    }

    /// Rows of a range, at most so many, and of so many bytes but for the last one.
    pub(crate) fn page(
        &mut self,
        version: i64,
        keys: &Keys,
        rows_max: usize,
        len_max: usize,
    ) -> Result<Page, Code> {
        self.check(version)?;
        let len_max = len_max.min(self.orders.reply_len_max.unwrap_or(REPLY_LEN_MAX));
        let (mut page, mut len) = (Page::default(), 0);
        if keys.start >= keys.end {
            return Ok(page);
        }
        for (key, versions) in self.rows.range(keys.clone()) {
            let Some(value) = at(versions, version) else {
                continue;
            };
            len += key.len() + value.len();
            page.rows.push((key.clone(), value.clone()));
            // Reached limits are all that is known: the range may end here.
            if page.rows.len() >= rows_max || len >= len_max {
                page.has_more = true;
                break;
            }
        }
        Ok(page)
    }

    /// Makes a commit, unless what it has read was written since; its version.
    pub(crate) fn commit(&mut self, request: &Request) -> Result<i64, Code> {
        if let Some(version) = request.version.filter(|_| !request.read.is_empty()) {
            self.check(version)?;
            let from = self.history.partition_point(|(at, _)| *at <= version);
            let mut newer = self.history.range(from..).flat_map(|(_, written)| written);
            if newer.any(|written| request.read.iter().any(|read| overlap(read, written))) {
                return Err(errors::NOT_COMMITTED);
            }
        }
        let version = self.read_version() + 1;
        self.version = version;
        let kept_from = version - 2 * VERSIONS_KEPT;
        let old = self.history.partition_point(|(at, _)| *at < kept_from);
        self.history.drain(..old);
        self.history.push_back((version, request.written.clone()));
        for mutation in &request.mutations {
            match mutation {
                Mutation::Set(key, value) => self.set(key, Some(value.clone()), kept_from),
                Mutation::Clear(keys) if keys.start < keys.end => {
                    let found = self.rows.range(keys.clone());
                    let live = found.filter(|(_, versions)| at(versions, version).is_some());
                    let live: Vec<Vec<u8>> = live.map(|(key, _)| key.clone()).collect();
                    for key in live {
                        self.set(&key, None, kept_from);
                    }
                }
                Mutation::Clear(_) => {}
            }
        }
        Ok(version)
    }

    fn set(&mut self, key: &[u8], value: Option<Vec<u8>>, kept_from: i64) {
        let versions = self.rows.entry(key.to_vec()).or_default();
        let old = versions.partition_point(|(version, _)| *version <= kept_from);
        versions.drain(..old.saturating_sub(1));
        // The last change of a commit counts.
        versions.pop_if(|(version, _)| *version == self.version);
        versions.push((self.version, value));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn keys(start: &str, end: &str) -> Keys {
        start.as_bytes().to_vec()..end.as_bytes().to_vec()
    }

    /// A commit that has read a range at a version, and sets a row.
    fn request(version: i64, read: Keys, row: &str, value: &str) -> Request {
        let key = row.as_bytes().to_vec();
        Request {
            version: Some(version),
            read: vec![read],
            written: vec![keys(row, &format!("{row}\0"))],
            mutations: vec![Mutation::Set(key, value.as_bytes().to_vec())],
        }
    }

    #[test]
    fn a_row_is_read_as_it_was_at_a_version_that_is_kept() {
        let mut state = State::new();
        let none = state.read_version();
        let one = state.commit(&request(none, keys("", "z"), "row", "1"));
        let one = one.unwrap();
        let two = state.commit(&request(one, keys("", "z"), "row", "2"));
        let mut get = |version| state.get(version, b"row");
        assert_eq!(get(none), Ok(None));
        assert_eq!(get(one), Ok(Some(b"1".to_vec())));
        assert_eq!(get(two.unwrap()), Ok(Some(b"2".to_vec())));
        assert_eq!(get(i64::MAX), Err(errors::FUTURE_VERSION));
        state.age(Duration::from_secs(6));
        assert_eq!(state.get(one, b"row"), Err(errors::TRANSACTION_TOO_OLD));
        let late = request(one, keys("", "z"), "row", "3");
        assert_eq!(state.commit(&late), Err(errors::TRANSACTION_TOO_OLD));
    }

    #[test]
    fn what_was_read_and_then_written_by_another_is_a_conflict() {
        let mut state = State::new();
        let version = state.read_version();
        state
            .commit(&request(version, keys("", ""), "b", "1"))
            .unwrap();
        for (read, is_refused) in [
            (keys("a", "b"), false),
            (keys("a", "c"), true),
            (keys("b", "b\0"), true),
            (keys("b\0", "c"), false),
        ] {
            let result = state.commit(&request(version, read.clone(), "x", "1"));
            assert_eq!(result.is_err(), is_refused, "{read:?}");
        }
        let mut blind = request(version, keys("", "z"), "b", "2");
        (blind.read, blind.version) = (Vec::new(), None);
        state.commit(&blind).unwrap();
    }

    #[test]
    fn a_page_has_its_limits_and_says_whether_there_may_be_more() {
        let mut state = State::new();
        for row in ["a", "b", "c", "d"] {
            let version = state.read_version();
            state
                .commit(&request(version, keys("", ""), row, "1"))
                .unwrap();
        }
        let mut clear = Request::default();
        clear.mutations.push(Mutation::Clear(keys("b", "c")));
        state.commit(&clear).unwrap();
        let version = state.read_version();
        let mut page = |rows_max, len_max| {
            let page = state.page(version, &keys("a", "z"), rows_max, len_max);
            let page = page.unwrap();
            let keys = page.rows.into_iter().map(|(key, _)| key[0] as char);
            (keys.collect::<String>(), page.has_more)
        };
        assert_eq!(page(usize::MAX, usize::MAX), ("acd".to_owned(), false));
        assert_eq!(page(2, usize::MAX), ("ac".to_owned(), true));
        assert_eq!(page(3, usize::MAX), ("acd".to_owned(), true));
        assert_eq!(page(usize::MAX, 3), ("ac".to_owned(), true));
        assert_eq!(page(usize::MAX, 1), ("a".to_owned(), true));
    }
}
