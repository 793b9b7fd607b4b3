//! Clouds for tests.

use larder_fixtures::random::Random;
use larder_sync::{Cloud, Error, ErrorKind, Put, Result};
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;
use std::sync::{Arc, Mutex};

/// What is in a cloud: names with their bytes.
pub(crate) type Names = BTreeMap<String, Vec<u8>>;

/// A cloud that is a map, as each of several devices sees it: what another one puts comes when it is brought.
#[derive(Debug)]
pub(crate) struct Replicas {
    of: Vec<Arc<Replica>>,
}

#[derive(Debug, Default)]
pub(crate) struct Replica {
    pub(crate) names: Mutex<Names>,
    /// How many of a thousand operations fail, before or behind what they do.
    failing: Mutex<Option<(Random, u64)>>,
}

impl Replicas {
    pub(crate) fn new(count: usize) -> Replicas {
        Replicas {
            of: (0..count).map(|_| Arc::default()).collect(),
        }
    }

    pub(crate) fn of(&self, device: usize) -> Arc<Replica> {
        self.of[device].clone()
    }

    /// Brings names to where they are missing: some, or all.
    pub(crate) fn bring(&self, mut is_brought: impl FnMut() -> bool) {
        let mut all = Names::new();
        for replica in &self.of {
            all.extend(replica.names.lock().unwrap().clone());
        }
        for replica in &self.of {
            let mut names = replica.names.lock().unwrap();
            for (name, bytes) in &all {
                if !names.contains_key(name) && is_brought() {
                    names.insert(name.clone(), bytes.clone());
                }
            }
        }
    }
}

impl Replica {
    pub(crate) fn fail(&self, failing: Option<(Random, u64)>) {
        *self.failing.lock().unwrap() = failing;
    }

    /// Fails, or says whether to fail behind what is done.
    fn begin(&self) -> Result<bool> {
        let mut failing = self.failing.lock().unwrap();
        let Some((random, per_mille)) = &mut *failing else {
            return Ok(false);
        };
        let fails = random.below(1000) < *per_mille;
        match fails && random.below(2) == 0 {
            true => Err(unavailable()),
            false => Ok(fails),
        }
    }
}

fn unavailable() -> Error {
    Error::new(ErrorKind::Unavailable, "no network")
}

fn end<T>(fails: bool, done: T) -> Result<T> {
    match fails {
        true => Err(unavailable()),
        false => Ok(done),
    }
}

impl Cloud for Replica {
    fn put(&self, name: &str, bytes: &[u8]) -> Result<Put> {
        let fails = self.begin()?;
        let mut names = self.names.lock().unwrap();
        if names.contains_key(name) {
            return end(fails, Put::Taken);
        }
        names.insert(name.to_owned(), bytes.to_vec());
        end(fails, Put::Done)
    }

    fn read(&self, name: &str, range: Range<u64>) -> Result<Option<Vec<u8>>> {
        let fails = self.begin()?;
        let names = self.names.lock().unwrap();
        let read = names.get(name).map(|bytes| {
            let end = bytes.len().min(range.end as usize);
            bytes[end.min(range.start as usize)..end].to_vec()
        });
        end(fails, read)
    }

    fn list(&self, folder: &str) -> Result<Vec<String>> {
        let fails = self.begin()?;
        let names = self.names.lock().unwrap();
        let inside = names.keys().filter_map(|name| {
            let rest = name.strip_prefix(folder)?.strip_prefix('/')?;
            rest.split('/').next().map(str::to_owned)
        });
        let inside: BTreeSet<String> = inside.collect();
        end(fails, inside.into_iter().collect())
    }
}
