//! Records that were read at once.

use larder_idb as idb;

use crate::guard;
use crate::key::Key;
use crate::value::Value;

/// Records or index entries in their order. The host owns them.
pub struct Records(idb::Records);

impl Records {
    pub(crate) fn boxed(records: idb::Records) -> Box<Self> {
        Box::new(Self(records))
    }

    fn entry(&self, at: usize) -> Option<idb::Record<'_>> {
        self.0.get(at)
    }
}

/// How many there are.
#[unsafe(no_mangle)]
pub extern "C" fn larder_records_len(records: Option<&Records>) -> usize {
    guard::or_else(0, || records.map_or(0, |records| records.0.len()))
}

/// The index key of one of them if an index was asked, else the primary key: the host owns it. Counted from 0; null beyond the end.
#[unsafe(no_mangle)]
pub extern "C" fn larder_records_key(records: Option<&Records>, at: usize) -> Option<Box<Key>> {
    guard::or_else(None, || Some(Key::boxed(records?.entry(at)?.key())))
}

/// The key of one of the records: the host owns it. Counted from 0; null beyond the end.
#[unsafe(no_mangle)]
pub extern "C" fn larder_records_primary_key(
    records: Option<&Records>,
    at: usize,
) -> Option<Box<Key>> {
    guard::or_else(None, || Some(Key::boxed(records?.entry(at)?.primary_key())))
}

/// The value of one of the records: the host owns it. Counted from 0; null beyond the end, and if only keys were asked for.
#[unsafe(no_mangle)]
pub extern "C" fn larder_records_value(records: Option<&Records>, at: usize) -> Option<Box<Value>> {
    guard::or_else(None, || {
        let entry = records?.entry(at)?;
        (!entry.value().is_empty()).then(|| Value::stored(entry.stored_value()))
    })
}

/// Frees records. Null is passed over.
#[unsafe(no_mangle)]
pub extern "C" fn larder_records_free(records: Option<Box<Records>>) {
    guard::or_else((), || drop(records));
}
