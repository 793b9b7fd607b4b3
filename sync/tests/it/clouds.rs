//! Each cloud, by the suite.

use crate::shared::Replicas;
use larder_leveldb::storage::{DiskFileSystem, MemoryFileSystem};
use larder_sync::{Cloud, FolderCloud, Put, cloud::conformance};
use std::path::Path;
use std::sync::Arc;

#[test]
fn a_folder_is_a_cloud() {
    let memory = Arc::new(MemoryFileSystem::new());
    let cloud = FolderCloud::open(memory, Path::new("shared")).unwrap();
    conformance::cloud(&cloud, "suite").unwrap();
    let dir = tempfile::tempdir().unwrap();
    let cloud = FolderCloud::open(Arc::new(DiskFileSystem::new()), &dir.path().join("s")).unwrap();
    conformance::cloud(&cloud, "suite").unwrap();
    // What something else has left there is no name; a file that was not finished is none either.
    std::fs::write(dir.path().join("s/suite/.sync-conflict"), b"x").unwrap();
    std::fs::write(dir.path().join("s/suite/new.part"), b"x").unwrap();
    assert!(!cloud.list("suite").unwrap().contains(&"new".to_owned()));
    assert_eq!(cloud.put("suite/new", b"whole").unwrap(), Put::Done);
    let there = cloud.read("suite/new", 0..10).unwrap().unwrap();
    assert_eq!(there, b"whole");
}

#[test]
fn the_tests_own_cloud_is_one_but_for_what_it_refuses() {
    let violation = conformance::cloud(&*Replicas::new(1).of(0), "suite").unwrap_err();
    assert!(
        violation.to_string().contains("one byte more"),
        "{violation}"
    );
}

#[cfg(feature = "remote")]
#[test]
fn a_catalogue_is_a_cloud() {
    use larder_remote_files::model::{Model, ModelClock};
    use larder_sync::CatalogueCloud;
    let model = Model::new(Arc::new(ModelClock::new()));
    for cloud in ["one", "on"] {
        let cloud = CatalogueCloud::new(Arc::new(model.client()), cloud);
        conformance::cloud(&cloud, "suite").unwrap();
    }
}
