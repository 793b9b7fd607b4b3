//! Filling a new index with the records that are there, page by page, so that memory stays bounded.

use std::sync::Arc;

use larder_backing_store::CursorDirection;
use larder_codec::external_object::ExternalObject as Object;
use larder_codec::value::{Evaluator, Foreign, Payload};
use larder_codec::{Key, RawKey};

use super::Source;
use super::given_keys::keys_of_index;
use super::put::EncodedKeys;
use super::scan::{Fill, Scan, Wanted, of_key};
use crate::error::{Error, ErrorName, Result};
use crate::key_range::KeyRange;
use crate::operation::Execution;
use crate::schema::{IndexCell, StoreCell};
use crate::value::records::Buffer;

const ENTRIES_MAX: usize = 1024;
const BYTES_MAX: usize = 1 << 20;

/// Asks a host for the keys that a value of another engine has in a new index.
pub(crate) type ForeignKeys = Box<dyn FnMut(&Key, &Foreign<'_>) -> Result<Vec<Key>> + Send>;

/// What finds keys, and its memory.
struct Finding {
    evaluator: Evaluator,
    keys: EncodedKeys,
    of_foreign: Option<ForeignKeys>,
}

/// Puts the keys of all records into an index. Those of values of other engines are what `of_foreign` says.
///
/// # Errors
/// `ConstraintError` if it is unique and two records have the same key; whatever is wrong with a value that cannot be read;
/// `DataError` if there is a value of another engine and nothing to ask. The version change is to be aborted then.
pub(crate) fn build_index(
    execution: &mut Execution,
    store: &Arc<StoreCell>,
    index: &IndexCell,
    of_foreign: Option<ForeignKeys>,
) -> Result<()> {
    let source = Source::from(Arc::clone(store));
    let (all, direction) = (KeyRange::all(), CursorDirection::Next);
    let mut scan = Scan::open(execution, &source, &all, direction, Wanted::Values)?;
    let fill = Fill {
        request: 0,
        wanted: Wanted::Values,
        may_pin: false,
        entries_max: ENTRIES_MAX,
        bytes_max: BYTES_MAX,
    };
    let mut finding = Finding {
        evaluator: Evaluator::new(),
        keys: EncodedKeys::default(),
        of_foreign,
    };
    loop {
        execution.check_cancelled()?;
        let mut page = Buffer::default();
        let is_more = scan.fill(execution, &source, fill, false, &mut page)?;
        for at in 0..page.len() {
            put_keys_of(execution, store, index, &page, at, &mut finding)?;
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
    finding: &mut Finding,
) -> Result<()> {
    let objects = page.objects(at).iter().map(|object| object.info().clone());
    let objects: Vec<_> = objects.collect();
    let (_, primary_key) = page.key_bytes(at);
    let primary_key = RawKey::decode_exact(primary_key)?;
    finding
        .find(index, primary_key, page.value(at), &objects)
        .map_err(|error| of_key(&error, primary_key))?;
    let store_id = store.id()?;
    execution.statistics.index_keys_written += finding.keys.len() as u64;
    let writer = execution.writer()?;
    finding.keys.with(|lists| match lists {
        [] => Ok(()),
        lists => Ok(writer.put_index_keys(store_id, primary_key, lists)?),
    })
}

impl Finding {
    fn find(
        &mut self,
        index: &IndexCell,
        primary_key: RawKey<'_>,
        value: &[u8],
        objects: &[Object],
    ) -> Result<()> {
        self.keys.clear();
        let payload = Payload::read(value)?;
        let Some(foreign) = Foreign::read(&payload) else {
            return self.keys.add(&mut self.evaluator, index, &payload, objects);
        };
        let Some(ask) = &mut self.of_foreign else {
            return Err(nothing_to_ask(&foreign));
        };
        let keys = ask(&primary_key.to_key(), &foreign)?;
        self.keys.add_given(index, &keys_of_index(index, keys)?)
    }
}

fn nothing_to_ask(foreign: &Foreign<'_>) -> Error {
    let what = format!(
        "the value is one of {} (format {}): only its host can say which keys it has in a new index",
        foreign.engine(),
        foreign.format()
    );
    Error::new(ErrorName::DataError, what)
}
