//! What requests come to, all in one type: C has one type of request.

use std::sync::Arc;

use larder_idb as idb;

use crate::connection::Listeners;

/// A result.
pub(crate) enum Outcome {
    Nothing,
    Key(Option<idb::Key>),
    Value(Option<idb::StoredValue>),
    Records(idb::Records),
    /// A count, or the version that a deleted database had.
    Number(u64),
    Flag(bool),
    Cursor(Option<idb::Cursor>),
    Connection(idb::Connection, Arc<Listeners>),
    Databases(Vec<idb::DatabaseInfo>),
    Origins(Vec<idb::OriginInfo>),
    Deleted(Vec<idb::DeletedOrigin>),
    Estimate(idb::Estimate),
    Bytes(Vec<u8>),
    Text(String),
    /// It was taken.
    Taken,
}

macro_rules! outcomes {
    ($($type:ty => $variant:expr,)*) => {
        $(impl From<$type> for Outcome {
            fn from(result: $type) -> Self {
                $variant(result)
            }
        })*
    };
}

outcomes! {
    Option<idb::Key> => Self::Key,
    idb::Key => |key| Self::Key(Some(key)),
    Option<idb::StoredValue> => Self::Value,
    idb::Records => Self::Records,
    u64 => Self::Number,
    bool => Self::Flag,
    Option<idb::Cursor> => Self::Cursor,
    Vec<idb::DatabaseInfo> => Self::Databases,
    Vec<idb::OriginInfo> => Self::Origins,
    Vec<idb::DeletedOrigin> => Self::Deleted,
    idb::Estimate => Self::Estimate,
    Vec<u8> => Self::Bytes,
    idb::Repaired => |repaired: idb::Repaired| Self::Text(repaired.to_string()),
    idb::Usage => |usage: idb::Usage| Self::Number(usage.total()),
    () => |()| Self::Nothing,
}
