//! Filling a new index with the records that are there, page by page, so that memory stays bounded.

use std::sync::Arc;

use larder_backing_store::Direction;
use larder_codec::RawKey;
use larder_codec::value::{Evaluator, Payload};

use super::Source;
use super::put::EncodedKeys;
use super::scan::{Fill, Scan, Wanted, of_key};
use crate::error::{Error, Result};
use crate::key_range::KeyRange;
use crate::records::Buffer;
use crate::schema::{IndexCell, StoreCell};
use crate::transaction::execution::Execution;

const ENTRIES_MAX: usize = 1024;
const BYTES_MAX: usize = 1 << 20;

/// Puts the keys of all records into an index.
///
/// # Errors
/// `ConstraintError` if it is unique and two records have the same key; whatever is wrong with a value that cannot be read. The
/// version change is to be aborted then.
pub(crate) fn build_index(
    execution: &mut Execution,
    store: &Arc<StoreCell>,
    index: &IndexCell,
) -> Result<()> {
    let source = Source::from(Arc::clone(store));
    let (all, direction) = (KeyRange::all(), Direction::Next);
    let mut scan = Scan::open(execution, &source, &all, direction, Wanted::Values)?;
    let fill = Fill {
        request: 0,
        wanted: Wanted::Values,
        may_pin: false,
        entries_max: ENTRIES_MAX,
        bytes_max: BYTES_MAX,
    };
    let (mut evaluator, mut keys) = (Evaluator::new(), EncodedKeys::default());
    loop {
        execution.check_cancelled()?;
        let mut page = Buffer::default();
        let is_more = scan.fill(execution, &source, fill, false, &mut page)?;
        for at in 0..page.len() {
            put_keys_of(
                execution,
                store,
                index,
                &page,
                at,
                &mut evaluator,
                &mut keys,
            )?;
        }
        if !is_more {
            return Ok(());
        }
    }
}

fn put_keys_of(
    execution: &mut Execution,
    store: &StoreCell,
    index: &IndexCell,
    page: &Buffer,
    at: usize,
    evaluator: &mut Evaluator,
    keys: &mut EncodedKeys,
) -> Result<()> {
    let objects = page.objects(at).iter().map(|object| object.info().clone());
    let objects: Vec<_> = objects.collect();
    let (_, primary_key) = page.key_bytes(at);
    let primary_key = RawKey::decode_exact(primary_key)?;
    keys.clear();
    Payload::read(page.value(at))
        .map_err(Error::from)
        .and_then(|payload| keys.add(evaluator, index, &payload, &objects))
        .map_err(|error| of_key(&error, primary_key))?;
    let store_id = store.id()?;
    execution.statistics.index_keys_written += keys.len() as u64;
    let writer = execution.writer()?;
    keys.with(|lists| match lists {
        [] => Ok(()),
        lists => Ok(writer.put_index_keys(store_id, primary_key, lists)?),
    })
}
