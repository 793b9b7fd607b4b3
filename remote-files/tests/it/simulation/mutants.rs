//! What the design would be without one of its rules, as a layer over the engine.

use larder_remote_files::model::ModelClient;
use larder_remote_files::{
    Blobs, Catalogue, Commit, Error, Namespace, Outcome, Result, Segment, Snapshot, Write,
};
use std::ops::Range;
use std::sync::{Arc, Mutex, PoisonError};

use crate::support::namespace;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Mutant {
    /// No commit requires the lock's row.
    NoEpoch,
    /// Content is written after the commit that names it.
    NameFirst,
    /// Content is deleted when its name is.
    DeleteAtOnce,
    /// A taker does not wait: it sees no session. What is left is the fence, which has to do.
    NoLease,
}

/// The tags of `docs/format/remote-files.md`, behind the prefix of the namespace.
fn tag(key: &[u8]) -> Option<u8> {
    key.strip_prefix(b"\x02test\0")?.first().copied()
}

fn is_lock(key: &[u8]) -> bool {
    tag(key) == Some(4)
}

fn is_session(key: &[u8]) -> bool {
    key.first() == Some(&1)
}

impl Mutant {
    pub(crate) fn over(self, client: Arc<ModelClient>) -> (Arc<dyn Catalogue>, Arc<dyn Blobs>) {
        let layer = Arc::new(Layer {
            mutant: self,
            client,
            waiting: Mutex::default(),
        });
        (layer.clone(), layer)
    }
}

#[derive(Debug)]
struct Layer {
    mutant: Mutant,
    client: Arc<ModelClient>,
    waiting: Mutex<Vec<(Namespace, u64, Vec<Segment>)>>,
}

impl Layer {
    /// Writes what should have been written before.
    fn catch_up(&self) -> Result<()> {
        let waiting =
            std::mem::take(&mut *self.waiting.lock().unwrap_or_else(PoisonError::into_inner));
        let appended = waiting
            .iter()
            .map(|(namespace, blob, segments)| self.client.append(namespace, *blob, segments));
        appended.collect()
    }
}

impl Catalogue for Layer {
    fn get(&self, keys: &[Vec<u8>]) -> Result<Vec<Option<Vec<u8>>>> {
        match self.mutant == Mutant::NoLease && keys.len() == 1 && is_session(&keys[0]) {
            true => Ok(vec![None]),
            false => self.client.get(keys),
        }
    }

    fn snapshot(&self) -> Result<Box<dyn Snapshot + '_>> {
        self.client.snapshot()
    }

    fn commit(&self, commit: &Commit) -> Result<Outcome> {
        let mut commit = commit.clone();
        match self.mutant {
            Mutant::NoEpoch => commit
                .conditions
                .retain(|condition| !is_lock(&condition.key)),
            Mutant::NoLease => {
                let is_taking = commit
                    .conditions
                    .iter()
                    .any(|condition| is_lock(&condition.key));
                commit
                    .conditions
                    .retain(|condition| !(is_taking && is_session(&condition.key)));
            }
            Mutant::NameFirst | Mutant::DeleteAtOnce => {}
        }
        let outcome = self.client.commit(&commit)?;
        self.catch_up()?;
        if self.mutant == Mutant::DeleteAtOnce && outcome == Outcome::Committed {
            for write in &commit.writes {
                let Write::Put(row) = write else { continue };
                if tag(&row.key) == Some(5) {
                    let number = row.key.last_chunk().map(|bytes| u64::from_be_bytes(*bytes));
                    self.client.delete(&namespace(), number.unwrap())?;
                }
            }
        }
        Ok(outcome)
    }
}

impl Blobs for Layer {
    fn append(&self, namespace: &Namespace, blob: u64, segments: &[Segment]) -> Result<(), Error> {
        if self.mutant != Mutant::NameFirst {
            return self.client.append(namespace, blob, segments);
        }
        let mut waiting = self.waiting.lock().unwrap_or_else(PoisonError::into_inner);
        waiting.push((namespace.clone(), blob, segments.to_vec()));
        Ok(())
    }

    fn read(&self, namespace: &Namespace, blob: u64, offsets: Range<u64>) -> Result<Vec<Segment>> {
        self.catch_up()?;
        self.client.read(namespace, blob, offsets)
    }

    fn delete(&self, namespace: &Namespace, blob: u64) -> Result<()> {
        self.catch_up()?;
        self.client.delete(namespace, blob)
    }

    fn list(
        &self,
        namespace: &Namespace,
        after: Option<u64>,
        count_max: usize,
    ) -> Result<Vec<u64>> {
        self.client.list(namespace, after, count_max)
    }
}
