//! How far clean-up has come: a record among the consumers', under the number 0.

use larder_idb::codec::feed;
use larder_idb::{Key, Transaction, Value};

use crate::error::Result;

/// Up to where outdated revisions are gone.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Marks {
    /// Up to here.
    pub(crate) cleaned: u64,
    /// The last end of a transaction up to there: what is left of those before is no transactions any more, but the records' last revisions.
    pub(crate) whole: u64,
}

impl Marks {
    pub(crate) async fn read(transaction: &Transaction) -> Result<Self> {
        let consumers = transaction.object_store(feed::CONSUMERS)?;
        let Some(found) = consumers.get(feed::CLEANED_KEY)?.await? else {
            return Ok(Self::default());
        };
        let [cleaned, whole] = numbers(found.bytes())?;
        Ok(Self { cleaned, whole })
    }

    pub(crate) fn write(self, transaction: &Transaction) -> Result<()> {
        let consumers = transaction.object_store(feed::CONSUMERS)?;
        let value = list([self.cleaned, self.whole]);
        consumers
            .put(value, Some(Key::Number(feed::CLEANED_KEY)))?
            .detach();
        Ok(())
    }
}

/// An array of two numbers, as a value.
pub(crate) fn list(numbers: [u64; 2]) -> Value {
    let mut bytes = Vec::new();
    let needs = feed::build_numbers(&numbers, &mut bytes);
    Value::from_written(bytes, needs)
}

pub(crate) fn numbers(bytes: &[u8]) -> Result<[u64; 2]> {
    Ok(feed::read_numbers(bytes)?)
}
