//! The order of the rows, in the form that the engine's comparator trait requires.

use std::cmp::Ordering;
use std::sync::Arc;

use larder_codec::compare::RowOrder;
use larder_codec::{COMPARATOR_NAME, KeyPrefix, RowIdentity, compare, row_head, row_identity};
use larder_leveldb::{Comparator, Identity, KeyFacts, Options};

/// `idb_cmp1`: Chromium's order of IndexedDB rows. It shortens no keys, so index blocks hold whole ones.
#[derive(Debug, Clone, Copy, Default)]
pub struct IdbComparator;

impl Comparator for IdbComparator {
    fn name(&self) -> &str {
        COMPARATOR_NAME
    }

    fn compare(&self, a: &[u8], b: &[u8]) -> Ordering {
        compare(a, b)
    }

    fn shorten_separator(&self, _start: &mut Vec<u8>, _limit: &[u8]) {}

    fn shorten_successor(&self, _key: &mut Vec<u8>) {}
}

impl IdbComparator {
    /// What is known of its keys, for [`Options::key_facts`](larder_leveldb::Options::key_facts).
    pub const KEY_FACTS: KeyFacts = KeyFacts {
        identity: key_identity,
        head: row_head,
    };
}

/// The order of signed bytes, under the same name.
#[derive(Debug, Clone, Copy)]
pub(crate) struct SignedBytesComparator;

impl Comparator for SignedBytesComparator {
    fn name(&self) -> &str {
        COMPARATOR_NAME
    }

    fn compare(&self, a: &[u8], b: &[u8]) -> Ordering {
        RowOrder::SignedBytes.compare(a, b)
    }

    fn shorten_separator(&self, _start: &mut Vec<u8>, _limit: &[u8]) {}

    fn shorten_successor(&self, _key: &mut Vec<u8>) {}
}

/// The engine's options for stores in this order.
pub(crate) fn engine_options() -> Options {
    let mut options = Options::new(Arc::new(IdbComparator));
    options.key_facts = Some(IdbComparator::KEY_FACTS);
    options.group_prefix_len = Some(prefix_len);
    options
}

/// The bytes that name a row's table: records, exists rows, entries of an index.
fn prefix_len(key: &[u8]) -> usize {
    let rest = KeyPrefix::decode(key).map(|(_, rest)| rest.len());
    rest.map_or(0, |rest| key.len() - rest)
}

fn key_identity(key: &[u8]) -> Identity {
    match row_identity(key) {
        RowIdentity::Bytes => Identity::Bytes,
        RowIdentity::Several => Identity::Several,
        RowIdentity::Entry { key_end } => Identity::Grouped(key_end),
        RowIdentity::Unclear => Identity::Unclear,
    }
}
