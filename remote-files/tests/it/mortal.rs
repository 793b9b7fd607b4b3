//! The clients of a process that dies: they serve so many requests, of which the last one may or may not arrive, and none afterwards.

use crate::setting::Setting;
use larder_remote_files::{
    Blobs, Catalogue, Commit, Error, ErrorKind, Namespace, Outcome, Result, Segment, Snapshot,
};
use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

#[derive(Debug)]
struct Mortal {
    catalogue: Arc<dyn Catalogue>,
    blobs: Arc<dyn Blobs>,
    left: AtomicU64,
    /// Whether the last request is carried out.
    arrives: bool,
}

/// The setting of a process that dies after so many requests.
pub(crate) fn mortal(setting: &Setting, requests: u64, arrives: bool) -> Setting {
    let mortal = Arc::new(Mortal {
        catalogue: Arc::clone(&setting.catalogue),
        blobs: Arc::clone(&setting.blobs),
        left: AtomicU64::new(requests),
        arrives,
    });
    Setting {
        catalogue: mortal.clone(),
        blobs: mortal,
        // The dead do not try again for long.
        patience: Duration::from_millis(10),
        ..setting.clone()
    }
}

impl Mortal {
    fn serve<T>(&self, request: impl FnOnce() -> Result<T>) -> Result<T> {
        let left = self
            .left
            .fetch_update(Ordering::Relaxed, Ordering::Relaxed, |left| {
                Some(left.saturating_sub(1))
            });
        match left {
            Ok(0) => Err(Error::new(ErrorKind::Unavailable, "the process is dead")),
            Ok(1) => {
                if self.arrives {
                    request()?;
                }
                let what = "the process dies during the request";
                Err(Error::new(ErrorKind::OutcomeUnknown, what))
            }
            _ => request(),
        }
    }
}

impl Catalogue for Mortal {
    fn get(&self, keys: &[Vec<u8>]) -> Result<Vec<Option<Vec<u8>>>> {
        self.serve(|| self.catalogue.get(keys))
    }

    fn snapshot(&self) -> Result<Box<dyn Snapshot + '_>> {
        self.serve(|| self.catalogue.snapshot())
    }

    fn commit(&self, commit: &Commit) -> Result<Outcome> {
        self.serve(|| self.catalogue.commit(commit))
    }
}

impl Blobs for Mortal {
    fn append(&self, namespace: &Namespace, blob: u64, segments: &[Segment]) -> Result<()> {
        self.serve(|| self.blobs.append(namespace, blob, segments))
    }

    fn read(&self, namespace: &Namespace, blob: u64, offsets: Range<u64>) -> Result<Vec<Segment>> {
        self.serve(|| self.blobs.read(namespace, blob, offsets))
    }

    fn delete(&self, namespace: &Namespace, blob: u64) -> Result<()> {
        self.serve(|| self.blobs.delete(namespace, blob))
    }

    fn list(
        &self,
        namespace: &Namespace,
        after: Option<u64>,
        count_max: usize,
    ) -> Result<Vec<u64>> {
        self.serve(|| self.blobs.list(namespace, after, count_max))
    }

    fn place(&self) -> Option<&str> {
        self.blobs.place()
    }
}
