//! Tables, read with every offset checked.

use crate::error::Error;

/// Why bytes are no message, and where.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Malformed {
    what: &'static str,
    offset: usize,
}

impl Malformed {
    pub(crate) fn within(self, message: &str) -> Error {
        Error::corruption(format!("{message}: {} at byte {}", self.what, self.offset))
    }
}

fn at<const N: usize>(
    buffer: &[u8],
    offset: usize,
    what: &'static str,
) -> Result<[u8; N], Malformed> {
    buffer
        .get(offset..)
        .and_then(|rest| rest.first_chunk())
        .copied()
        .ok_or(Malformed { what, offset })
}

fn u32_at(buffer: &[u8], offset: usize, what: &'static str) -> Result<usize, Malformed> {
    Ok(u32::from_le_bytes(at(buffer, offset, what)?) as usize)
}

/// A table of a message.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Table<'a> {
    buffer: &'a [u8],
    start: usize,
    vtable: &'a [u8],
}

impl<'a> Table<'a> {
    /// The table that a message begins with.
    pub(crate) fn root(buffer: &'a [u8]) -> Result<Table<'a>, Malformed> {
        let start = u32_at(buffer, 0, "no offset of the root table")?;
        Table::at(buffer, start)
    }

    fn at(buffer: &'a [u8], start: usize) -> Result<Table<'a>, Malformed> {
        let malformed = |what| Malformed {
            what,
            offset: start,
        };
        let back = i32::from_le_bytes(at(buffer, start, "a table beyond the end")?);
        let vtable = (start as i64)
            .checked_sub(i64::from(back))
            .and_then(|vtable| usize::try_from(vtable).ok())
            .ok_or(malformed("a vtable before the start"))?;
        let len: [u8; 2] = at(buffer, vtable, "a vtable beyond the end")?;
        let len = usize::from(u16::from_le_bytes(len));
        let vtable = buffer
            .get(vtable..vtable + len)
            .filter(|vtable| vtable.len() >= 4)
            .ok_or(malformed("a vtable that is cut off"))?;
        Ok(Table {
            buffer,
            start,
            vtable,
        })
    }

    /// Where a field's bytes are; `None` if the field has its default.
    fn field(&self, index: usize) -> Option<usize> {
        let offset = self.vtable.get(4 + 2 * index..)?.first_chunk()?;
        match u16::from_le_bytes(*offset) {
            0 => None,
            offset => Some(self.start + usize::from(offset)),
        }
    }

    fn scalar<const N: usize>(&self, index: usize) -> Result<[u8; N], Malformed> {
        match self.field(index) {
            None => Ok([0; N]),
            Some(offset) => at(self.buffer, offset, "a field beyond the end"),
        }
    }

    pub(crate) fn u8(&self, index: usize) -> Result<u8, Malformed> {
        Ok(self.scalar::<1>(index)?[0])
    }

    pub(crate) fn u16(&self, index: usize) -> Result<u16, Malformed> {
        Ok(u16::from_le_bytes(self.scalar(index)?))
    }

    pub(crate) fn u32(&self, index: usize) -> Result<u32, Malformed> {
        Ok(u32::from_le_bytes(self.scalar(index)?))
    }

    pub(crate) fn u64(&self, index: usize) -> Result<u64, Malformed> {
        Ok(u64::from_le_bytes(self.scalar(index)?))
    }

    /// Where a field's offset leads to.
    fn target(&self, index: usize) -> Result<Option<usize>, Malformed> {
        let Some(field) = self.field(index) else {
            return Ok(None);
        };
        let offset = u32_at(self.buffer, field, "a field beyond the end")?;
        Ok(Some(field.saturating_add(offset)))
    }

    pub(crate) fn table(&self, index: usize) -> Result<Option<Table<'a>>, Malformed> {
        self.target(index)?
            .map(|start| Table::at(self.buffer, start))
            .transpose()
    }

    /// A vector's elements of so many bytes each, one after another; empty if the field is not there.
    pub(crate) fn structs(&self, index: usize, len: usize) -> Result<&'a [u8], Malformed> {
        let Some(offset) = self.target(index)? else {
            return Ok(&[]);
        };
        let malformed = Malformed {
            what: "a vector that is cut off",
            offset,
        };
        let count = u32_at(self.buffer, offset, malformed.what)?;
        let rest = self.buffer.get(offset + 4..).ok_or(malformed)?;
        let len = count.checked_mul(len).ok_or(malformed)?;
        rest.get(..len).ok_or(malformed)
    }

    pub(crate) fn bytes(&self, index: usize) -> Result<&'a [u8], Malformed> {
        self.structs(index, 1)
    }

    /// The tables of a vector.
    pub(crate) fn tables(
        &self,
        index: usize,
    ) -> Result<impl ExactSizeIterator<Item = Result<Table<'a>, Malformed>>, Malformed> {
        let buffer = self.buffer;
        let offsets = self.structs(index, 4)?;
        let first = self.target(index)?.unwrap_or(0) + 4;
        Ok(offsets.chunks_exact(4).enumerate().map(move |(i, bytes)| {
            let offset = bytes
                .first_chunk()
                .map_or(0, |bytes| u32::from_le_bytes(*bytes));
            let from = first + 4 * i;
            Table::at(buffer, from.saturating_add(offset as usize))
        }))
    }
}
