//! Stores in a distributed engine: wherever a folder is taken, an address is. The features `postgres`, `etcd`, `rados`,
//! `foundationdb` and `s3`.
//!
//! `postgres://USER:PASSWORD@HOST:PORT/DATABASE/NAMESPACE`, `etcd://HOST:PORT,HOST:PORT/NAMESPACE`,
//! `rados://USER@HOST,HOST/POOL/NAMESPACE`, `fdb://DESCRIPTION:ID@HOST:PORT,HOST:PORT/NAMESPACE`. The files of a namespace are those of a folder, from its root on.

#[cfg(feature = "remote")]
mod connection;
#[cfg(feature = "remote")]
mod copy;
#[cfg(feature = "remote")]
mod namespaces;
#[cfg(feature = "remote")]
mod writer;

#[cfg(feature = "remote")]
pub(crate) use copy::copy;
#[cfg(feature = "remote")]
pub(crate) use namespaces::run;

use std::path::{Path, PathBuf};
use std::sync::Arc;

use larder_leveldb::storage::{DiskFileSystem, FileSystem};
use larder_remote_files::Address;

use crate::within::Within;

/// The feature that an address needs; `None`: it is a path on this machine.
fn feature(path: &Path) -> Option<&'static str> {
    Address::feature(path.to_str()?)
}

/// Whether it is an address, and no path on this machine.
pub(crate) fn is_address(path: &Path) -> bool {
    feature(path).is_some()
}

/// A path for people; of an address neither user, password nor parameters.
pub(crate) fn shown(path: &Path) -> String {
    Address::without_secrets(&path.display().to_string())
}

/// Files for reading, at an address or below a path on this machine, and where to look in them.
pub(crate) fn files(path: &Path) -> Result<(Arc<dyn FileSystem>, PathBuf), String> {
    match feature(path) {
        None => {
            let path = crate::locate::named(path);
            let fs = Within::new(Arc::new(DiskFileSystem::new()), &path);
            Ok((Arc::new(fs), path))
        }
        Some(feature) => at_address(path, feature),
    }
}

#[cfg(feature = "remote")]
fn at_address(path: &Path, _feature: &str) -> Result<(Arc<dyn FileSystem>, PathBuf), String> {
    let fs = connection::Connection::open(path)?.read()?;
    Ok((Arc::new(fs), PathBuf::from("/")))
}

#[cfg(not(feature = "remote"))]
fn at_address(_path: &Path, feature: &str) -> Result<(Arc<dyn FileSystem>, PathBuf), String> {
    Err(missing(feature))
}

/// What is said where the feature is not compiled in.
fn missing(feature: &str) -> String {
    format!(
        "this larder was built without the feature {feature}: build it with `cargo install larder --features {feature}`"
    )
}

/// Does something with the files at an address, which this process has to itself until then.
///
/// # Errors
/// Those of `work`, and if the namespace cannot be taken, or not be written to its end. In words.
#[cfg(feature = "remote")]
pub(crate) fn write<T>(
    address: &Path,
    work: impl FnOnce(Arc<dyn FileSystem>) -> Result<T, String>,
) -> Result<T, String> {
    let writer = writer::take(address)?;
    let done = work(Arc::new(writer.files().clone()));
    let closed = writer.close();
    let done = done?;
    closed.map_err(|error| error.to_string())?;
    Ok(done)
}

#[cfg(not(feature = "remote"))]
pub(crate) fn write<T>(
    address: &Path,
    _work: impl FnOnce(Arc<dyn FileSystem>) -> Result<T, String>,
) -> Result<T, String> {
    Err(missing(feature(address).unwrap_or_default()))
}

#[cfg(not(feature = "remote"))]
pub(crate) fn copy(from: &Path, to: &Path, _quiet: bool) -> Result<String, String> {
    let needed = feature(from).or_else(|| feature(to));
    Err(missing(needed.unwrap_or_default()))
}

/// A cloud in a distributed store: where devices meet that sync.
#[cfg(all(feature = "remote", feature = "sync"))]
pub(crate) fn cloud(address: &Path) -> Result<Arc<dyn larder_sync::Cloud>, String> {
    let connection = connection::Connection::open(address)?;
    let name = connection.namespace()?.as_str();
    let catalogue = connection.cluster.catalogue();
    Ok(Arc::new(larder_sync::CatalogueCloud::new(catalogue, name)))
}

#[cfg(all(not(feature = "remote"), feature = "sync"))]
pub(crate) fn cloud(address: &Path) -> Result<Arc<dyn larder_sync::Cloud>, String> {
    Err(missing(feature(address).unwrap_or_default()))
}
