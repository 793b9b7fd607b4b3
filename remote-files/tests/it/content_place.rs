//! A namespace whose content lies elsewhere than its names: it is opened with that place, and with no other.

use crate::support::{LEASE, namespace};
use larder_leveldb::storage::FileSystem;
use larder_remote_files::model::{Model, ModelClient, ModelClock};
use larder_remote_files::{
    Blobs, Cluster, ErrorKind, Namespace, Options, RemoteFileSystem, Result, Segment, Session,
    SessionOptions,
};
use std::ops::Range;
use std::path::Path;
use std::sync::Arc;

/// Blobs of another engine.
#[derive(Debug)]
struct Elsewhere {
    blobs: ModelClient,
    place: &'static str,
}

impl Blobs for Elsewhere {
    fn append(&self, namespace: &Namespace, blob: u64, segments: &[Segment]) -> Result<()> {
        self.blobs.append(namespace, blob, segments)
    }

    fn read(&self, namespace: &Namespace, blob: u64, offsets: Range<u64>) -> Result<Vec<Segment>> {
        self.blobs.read(namespace, blob, offsets)
    }

    fn delete(&self, namespace: &Namespace, blob: u64) -> Result<()> {
        self.blobs.delete(namespace, blob)
    }

    fn list(
        &self,
        namespace: &Namespace,
        after: Option<u64>,
        count_max: usize,
    ) -> Result<Vec<u64>> {
        self.blobs.list(namespace, after, count_max)
    }

    fn place(&self) -> Option<&str> {
        Some(self.place)
    }
}

/// A catalogue, and blobs beside it and in two other places.
struct Places {
    clock: Arc<ModelClock>,
    catalogue: Model,
    others: [(&'static str, Model); 2],
}

impl Places {
    fn new() -> Places {
        let clock = Arc::new(ModelClock::new());
        let model = || Model::new(clock.clone());
        Places {
            catalogue: model(),
            others: [("s3://one/p", model()), ("s3://other", model())],
            clock,
        }
    }

    fn cluster(&self, place: Option<&str>) -> Cluster {
        let catalogue = Arc::new(self.catalogue.client());
        let other = self.others.iter().find(|(name, _)| Some(*name) == place);
        let blobs: Arc<dyn Blobs> = match other {
            Some((place, model)) => Arc::new(Elsewhere {
                blobs: model.client(),
                place,
            }),
            None => catalogue.clone(),
        };
        Cluster::new(catalogue, blobs, self.clock.clone(), LEASE)
    }

    fn write(&self, place: Option<&str>, name: &Namespace) -> Result<RemoteFileSystem> {
        let options = SessionOptions {
            nonce: [7; 16],
            label: "a test".to_owned(),
            duration: LEASE,
        };
        let session = Session::begin(&self.cluster(place), options)?;
        RemoteFileSystem::write(&session, name, Options::default(), LEASE)
    }

    fn read(&self, place: Option<&str>, name: &Namespace) -> Result<RemoteFileSystem> {
        RemoteFileSystem::read(&self.cluster(place), name, Options::default())
    }
}

const LEN: usize = 100_000;

fn put(fs: RemoteFileSystem) {
    let mut file = fs.create(Path::new("file")).unwrap();
    file.append(&[7; LEN]).unwrap();
    file.sync().unwrap();
    drop(file);
    fs.close().unwrap();
}

fn len(fs: &RemoteFileSystem) -> std::io::Result<usize> {
    let file = fs.open_random(Path::new("file"))?;
    let mut bytes = vec![0; LEN + 1];
    let mut len = 0;
    loop {
        match file.read_at(len as u64, &mut bytes[len..])? {
            0 => return Ok(len),
            more => len += more,
        }
    }
}

#[test]
fn content_is_looked_for_where_it_lies() {
    let all = [None, Some("s3://one/p"), Some("s3://other")];
    for there in all {
        let (places, name) = (Places::new(), namespace());
        // What has no files may be read, and says so.
        let empty = places.read(there, &name).unwrap();
        assert!(empty.open_random(Path::new("file")).is_err());
        put(places.write(there, &name).unwrap());
        for here in all {
            // Names are read without content.
            let reader = places.read(here, &name).unwrap();
            assert_eq!(reader.list(Path::new("")).unwrap().len(), 1);
            let (read, written) = (len(&reader), places.write(here, &name));
            if here == there {
                assert_eq!(read.unwrap(), LEN);
                let written = written.unwrap();
                assert_eq!(len(&written).unwrap(), LEN);
                written.close().unwrap();
                continue;
            }
            let read = read.unwrap_err();
            let read = larder_remote_files::Error::within(&read).unwrap().clone();
            for error in [read, written.unwrap_err()] {
                assert_eq!(error.kind(), ErrorKind::Usage, "{error}");
                let remedy = match there {
                    Some(there) => format!("?content={there} behind"),
                    None => "leave ?content= away".to_owned(),
                };
                assert!(error.to_string().contains(&remedy), "{error}");
            }
        }
        // Each namespace for itself.
        let other = Namespace::new("another").unwrap();
        put(places.write(Some("s3://one/p"), &other).unwrap());
        let reader = places.read(Some("s3://one/p"), &other).unwrap();
        assert_eq!(len(&reader).unwrap(), LEN);
    }
}
