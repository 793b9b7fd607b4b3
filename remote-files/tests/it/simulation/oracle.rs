//! What may be there: the naive model of all processes together.
//!
//! A file system's durable state is one of a few *possible* ones. What a writer asks for adds what it would make of each; what it is
//! given an acknowledgement for leaves only those. A process that has lost the namespace can neither add a state nor be acknowledged.

use larder_remote_files::Catalogue;
use larder_remote_files::model::ModelClient;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Mutex, MutexGuard, PoisonError};

pub(crate) type Files = BTreeMap<&'static str, Vec<u8>>;

#[derive(Debug)]
pub(crate) struct Oracle {
    engine: ModelClient,
    inner: Mutex<Inner>,
}

#[derive(Debug, Default)]
struct Inner {
    /// Each with the number of deferred changes of the epoch that it has.
    possible: Vec<(Files, u32)>,
    /// How many changes of the epoch were deferred: names that were made or removed.
    deferred: u32,
    /// Everything that any file has ever had, maybe.
    history: BTreeSet<(&'static str, Vec<u8>)>,
    violations: Vec<String>,
    acknowledged: u32,
    takings: u32,
}

impl Inner {
    fn set(&mut self, mut possible: Vec<(Files, u32)>) {
        possible.sort();
        possible.dedup();
        for (files, _) in &possible {
            self.history
                .extend(files.iter().map(|(name, bytes)| (*name, bytes.clone())));
        }
        self.possible = possible;
    }
}

/// A change that is under way.
pub(crate) struct Begun {
    after: Vec<(Files, u32)>,
    has_effect: bool,
}

impl Oracle {
    pub(crate) fn new(engine: ModelClient) -> Oracle {
        let inner = Inner {
            possible: vec![(Files::new(), 0)],
            ..Inner::default()
        };
        Oracle {
            engine,
            inner: Mutex::new(inner),
        }
    }

    fn inner(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The epoch of the lock's row, as it is this moment: `docs/format/remote-files.md`.
    pub(crate) fn epoch(&self) -> u32 {
        let key = b"\x02test\x00\x04".to_vec();
        let row = self
            .engine
            .get(&[key])
            .ok()
            .and_then(|mut rows| rows.remove(0));
        let bytes = row.and_then(|row| {
            row.get(2..6)
                .map(|bytes| [bytes[0], bytes[1], bytes[2], bytes[3]])
        });
        bytes.map_or(0, u32::from_be_bytes)
    }

    /// A process has taken the namespace, and has read this in it.
    pub(crate) fn taken(&self, epoch: u32, files: Files) {
        // It can have lost the namespace while it was reading.
        if self.epoch() != epoch {
            return;
        }
        let mut inner = self.inner();
        inner.takings += 1;
        let possible = inner.possible.iter().map(|(files, _)| files);
        if !possible.clone().any(|one| *one == files) {
            let what = format!(
                "epoch {epoch} finds {}\nof {:#?}",
                show(&files),
                possible.map(show).collect::<Vec<_>>()
            );
            inner.violations.push(what);
        }
        inner.deferred = 0;
        inner.set(vec![(files, 0)]);
    }

    /// A process of an epoch begins a change. It comes after all that was deferred.
    pub(crate) fn begin(&self, epoch: u32, change: impl Fn(&mut Files)) -> Begun {
        let is_current = self.epoch() == epoch;
        let mut inner = self.inner();
        let mut before = inner.possible.clone();
        before.retain(|(_, deferred)| *deferred == inner.deferred);
        let mut after = before.clone();
        after.iter_mut().for_each(|(files, _)| change(files));
        let has_effect = after != before;
        if is_current {
            let mut both = inner.possible.clone();
            both.extend(after.iter().cloned());
            inner.set(both);
        }
        Begun { after, has_effect }
    }

    /// A process of an epoch defers a change: it is made with a later one, or by itself after a while, and after those that were deferred before.
    pub(crate) fn defer(&self, epoch: u32, change: impl Fn(&mut Files)) {
        if self.epoch() != epoch {
            return;
        }
        let mut inner = self.inner();
        let mut both = inner.possible.clone();
        inner.deferred += 1;
        let made = inner.deferred;
        for (files, deferred) in inner
            .possible
            .iter()
            .filter(|(_, deferred)| deferred + 1 == made)
        {
            let mut files = files.clone();
            change(&mut files);
            both.push((files, deferred + 1));
        }
        inner.set(both);
    }

    /// It was acknowledged.
    pub(crate) fn acknowledge(&self, epoch: u32, begun: Begun) {
        let now = self.epoch();
        let mut inner = self.inner();
        inner.acknowledged += 1;
        match now == epoch {
            true => inner.set(begun.after),
            false if begun.has_effect => {
                let what = format!("a write of epoch {epoch} was acknowledged in epoch {now}");
                inner.violations.push(what);
            }
            false => {}
        }
    }

    /// A reader elsewhere, or a writer, has read this.
    pub(crate) fn seen(&self, name: &'static str, bytes: &[u8]) {
        let mut inner = self.inner();
        if !inner.history.contains(&(name, bytes.to_vec())) {
            let what = format!(
                "{name} is read as {:?}, which it never was",
                String::from_utf8_lossy(bytes)
            );
            inner.violations.push(what);
        }
    }

    pub(crate) fn violation(&self, what: String) {
        self.inner().violations.push(what);
    }

    /// Violations; how much was acknowledged; how often the namespace was taken.
    pub(crate) fn result(&self) -> (Vec<String>, u32, u32) {
        let inner = self.inner();
        (inner.violations.clone(), inner.acknowledged, inner.takings)
    }
}

fn show(files: &Files) -> String {
    let files = files
        .iter()
        .map(|(name, bytes)| format!("{name}={}", String::from_utf8_lossy(bytes)));
    files.collect::<Vec<_>>().join(" ")
}
