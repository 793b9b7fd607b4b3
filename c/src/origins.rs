//! Lists of databases and of origins.

use larder_idb as idb;

use crate::error::Error;
use crate::guard;
use crate::text::{Text, boxed};

/// The databases of an origin. The host owns the list.
pub struct Databases(Vec<idb::DatabaseInfo>);

impl Databases {
    pub(crate) fn boxed(databases: Vec<idb::DatabaseInfo>) -> Box<Self> {
        Box::new(Self(databases))
    }
}

/// How many there are.
#[unsafe(no_mangle)]
pub extern "C" fn larder_databases_len(databases: Option<&Databases>) -> usize {
    databases.map_or(0, |databases| databases.0.len())
}

/// The name of one of them: the host owns the text. Counted from 0; null beyond the end.
#[unsafe(no_mangle)]
pub extern "C" fn larder_databases_name(
    databases: Option<&Databases>,
    at: usize,
) -> Option<Box<Text>> {
    guard::or_else(None, || Some(boxed(databases?.0.get(at)?.name.clone())))
}

/// The version of one of them. Counted from 0; 0 beyond the end.
#[unsafe(no_mangle)]
pub extern "C" fn larder_databases_version(databases: Option<&Databases>, at: usize) -> u64 {
    let found = databases.and_then(|databases| databases.0.get(at));
    found.map_or(0, |database| database.version)
}

/// Frees the list. Null is passed over.
#[unsafe(no_mangle)]
pub extern "C" fn larder_databases_free(databases: Option<Box<Databases>>) {
    guard::or_else((), || drop(databases));
}

/// Origins and buckets that store something, or that were deleted. The host owns the list.
pub struct Origins(Vec<(idb::OriginInfo, Option<Error>)>);

/// One of a list of origins.
#[derive(Debug, Default)]
#[repr(C)]
pub struct OriginInfo {
    /// The bucket's number; 0 if it is the origin's default one in its own site.
    bucket: u64,
    /// The bytes of its files.
    usage_bytes: u64,
    /// When it was last used: microseconds since 1601-01-01 UTC.
    last_used_micros: i64,
    /// When something was last committed, likewise.
    last_modified_micros: i64,
    /// Whether it is to stay when room is wanted.
    is_persisted: bool,
    /// Whether there are connections, or requests under way.
    is_in_use: bool,
}

impl Origins {
    pub(crate) fn listed(origins: Vec<idb::OriginInfo>) -> Box<Self> {
        let origins = origins.into_iter().map(|info| (info, None));
        Box::new(Self(origins.collect()))
    }

    pub(crate) fn deleted(origins: Vec<idb::DeletedOrigin>) -> Box<Self> {
        let origins = origins.into_iter();
        let origins = origins.map(|deleted| (deleted.info, deleted.result.err().map(Error::from)));
        Box::new(Self(origins.collect()))
    }
}

/// How many there are.
#[unsafe(no_mangle)]
pub extern "C" fn larder_origins_len(origins: Option<&Origins>) -> usize {
    origins.map_or(0, |origins| origins.0.len())
}

/// One of them, such as `https://example.com`: the host owns the text. Counted from 0; null beyond the end.
#[unsafe(no_mangle)]
pub extern "C" fn larder_origins_origin(origins: Option<&Origins>, at: usize) -> Option<Box<Text>> {
    guard::or_else(None, || {
        let (info, _) = origins?.0.get(at)?;
        Some(boxed(info.origin.to_string().into()))
    })
}

/// What there is to say of one of them. Counted from 0; zeros beyond the end.
#[unsafe(no_mangle)]
pub extern "C" fn larder_origins_info(origins: Option<&Origins>, at: usize) -> OriginInfo {
    guard::or_else(OriginInfo::default(), || {
        let found = origins.and_then(|origins| origins.0.get(at));
        found.map_or(OriginInfo::default(), |(info, _)| OriginInfo {
            bucket: info.bucket.map_or(0, idb::BucketId::get),
            usage_bytes: info.usage.total(),
            last_used_micros: info.last_used_us,
            last_modified_micros: info.last_modified_us,
            is_persisted: info.is_persisted,
            is_in_use: info.is_in_use,
        })
    })
}

/// Why one of them was not deleted, of a list of those that were to be: lent by the list. Null if it is gone.
#[unsafe(no_mangle)]
pub extern "C" fn larder_origins_error(origins: Option<&Origins>, at: usize) -> Option<&Error> {
    origins?.0.get(at)?.1.as_ref()
}

/// Frees the list. Null is passed over.
#[unsafe(no_mangle)]
pub extern "C" fn larder_origins_free(origins: Option<Box<Origins>>) {
    guard::or_else((), || drop(origins));
}
