//! What tables are made from: sources as one, of each user key only the newest entry.

use crate::error::{Error, Result};
use crate::internal_key::{self, EntryKind, InternalOrder, user_key};
use crate::memtable::MemValue;
use crate::merge::MergeCursor;
use crate::source::Source;
use std::borrow::Cow;
use std::cmp::Ordering;

/// Internal key and value.
pub(super) type Entry<'a> = (&'a [u8], Cow<'a, [u8]>);

/// Says something of a user key.
type OfKey<'a> = Box<dyn FnMut(&[u8]) -> bool + 'a>;

/// Says something of a user key's entry with a sequence number.
type OfEntry<'a> = Box<dyn FnMut(&[u8], u64) -> bool + 'a>;

/// Entries in ascending order; it stands on one, or is at its end.
pub(super) struct CompactionInput<'a> {
    order: InternalOrder,
    merge: MergeCursor,
    /// The user key before, and whether there is one.
    last: Vec<u8>,
    has_last: bool,
    passed_bytes: u64,
    /// A tombstone hides nothing then.
    is_oldest: OfKey<'a>,
    /// A value is of no use then.
    is_discardable: OfEntry<'a>,
}

impl<'a> CompactionInput<'a> {
    /// From sources, the newest first. `is_oldest`: whether nothing older of a user key is anywhere else; `is_discardable`: whether
    /// a value of it with that sequence number is left out.
    pub(super) fn new(
        order: InternalOrder,
        sources: Vec<Source>,
        is_oldest: impl FnMut(&[u8]) -> bool + 'a,
        is_discardable: impl FnMut(&[u8], u64) -> bool + 'a,
    ) -> Result<CompactionInput<'a>> {
        let mut input = CompactionInput {
            merge: MergeCursor::new(order.clone(), sources),
            order,
            last: Vec::new(),
            has_last: false,
            passed_bytes: 0,
            is_oldest: Box::new(is_oldest),
            is_discardable: Box::new(is_discardable),
        };
        input.merge.seek_to_first()?;
        input.settle()?;
        Ok(input)
    }

    /// The entry it stands on.
    pub(super) fn entry(&self) -> Result<Option<Entry<'_>>> {
        let Some(source) = self.merge.current() else {
            return Ok(None);
        };
        let value = match source.value() {
            MemValue::Bytes(bytes) => Cow::Borrowed(bytes),
            MemValue::InLog(value) => Cow::Owned(value.read()?),
        };
        Ok(Some((source.key(), value)))
    }

    /// Bytes of keys and values before the entry, also of those that are left out.
    pub(super) fn passed_bytes(&self) -> u64 {
        self.passed_bytes
    }

    pub(super) fn advance(&mut self) -> Result<()> {
        self.pass()?;
        self.settle()
    }

    /// Past the entry; those of the same user key count as older from now on.
    fn pass(&mut self) -> Result<()> {
        if let Some(source) = self.merge.current() {
            self.last.clear();
            self.last.extend_from_slice(user_key(source.key()));
            self.has_last = true;
        }
        self.step()
    }

    fn step(&mut self) -> Result<()> {
        if let Some(source) = self.merge.current() {
            let value_len = match source.value() {
                MemValue::Bytes(bytes) => bytes.len(),
                MemValue::InLog(_) => 0,
            };
            self.passed_bytes += (source.key().len() + value_len) as u64;
        }
        self.merge.step()
    }

    /// On to an entry that is kept.
    fn settle(&mut self) -> Result<()> {
        while let Some(source) = self.merge.current() {
            let (key, tag) = internal_key::split(source.key()).unwrap_or_default();
            let against = match self.has_last {
                true => self.order.compare_user(key, &self.last),
                false => Ordering::Greater,
            };
            match against {
                Ordering::Equal => self.step()?,
                Ordering::Less => {
                    let what = "keys are not in ascending order";
                    return Err(Error::corruption(source.file_name(), None, what));
                }
                Ordering::Greater
                    if tag as u8 == EntryKind::Deletion.to_byte() && (self.is_oldest)(key) =>
                {
                    self.pass()?;
                }
                Ordering::Greater
                    if tag as u8 == EntryKind::Value.to_byte()
                        && (self.is_discardable)(key, tag >> 8) =>
                {
                    self.pass()?;
                }
                Ordering::Greater => return Ok(()),
            }
        }
        Ok(())
    }
}
