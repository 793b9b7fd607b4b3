//! Messages, laid out front to back.

/// The place of a vtable in a message.
#[derive(Clone, Copy, Debug)]
pub(crate) struct VTable(usize);

/// The place of an offset that is not set yet.
#[derive(Clone, Copy, Debug)]
#[must_use]
pub(crate) struct Slot(usize);

/// A message that grows at its end. Everything begins at a multiple of four bytes, numbers of eight at a multiple of eight.
#[derive(Debug)]
pub(crate) struct Writer {
    out: Vec<u8>,
}

impl Writer {
    /// Begins a message with the offset of its root table.
    pub(crate) fn new(capacity: usize) -> (Writer, Slot) {
        let mut writer = Writer {
            out: Vec::with_capacity(capacity),
        };
        let root = writer.slot();
        (writer, root)
    }

    fn pad(&mut self) {
        let len = self.out.len().next_multiple_of(4);
        self.out.resize(len, 0);
    }

    /// A vtable: the table's length, and where in the table each field is (0: not there).
    pub(crate) fn vtable(&mut self, table_len: u16, fields: &[u16]) -> VTable {
        let start = self.out.len();
        self.u16(4 + 2 * fields.len() as u16);
        self.u16(table_len);
        for field in fields {
            self.u16(*field);
        }
        self.pad();
        VTable(start)
    }

    /// Begins a table; its fields are written next, in the order that the vtable says.
    pub(crate) fn table(&mut self, vtable: VTable) {
        let back = self.out.len() - vtable.0;
        self.u32(back as u32);
    }

    /// Begins a table whose first field is a number of eight bytes.
    pub(crate) fn table_of_u64(&mut self, vtable: VTable) {
        if self.out.len() % 8 != 4 {
            self.u32(0);
        }
        self.table(vtable);
    }

    /// Leaves room for an offset.
    pub(crate) fn slot(&mut self) -> Slot {
        let slot = Slot(self.out.len());
        self.u32(0);
        slot
    }

    /// Lets an offset lead to what is written next.
    pub(crate) fn set(&mut self, slot: Slot) {
        let offset = (self.out.len() - slot.0) as u32;
        self.out[slot.0..slot.0 + 4].copy_from_slice(&offset.to_le_bytes());
    }

    /// Lets an offset lead to a table with a number of eight bytes, which is begun next.
    pub(crate) fn set_to_u64(&mut self, slot: Slot) {
        if self.out.len() % 8 != 4 {
            self.u32(0);
        }
        self.set(slot);
    }

    /// A vector of so many tables: where its offsets are.
    pub(crate) fn slots(&mut self, count: usize) -> impl Iterator<Item = Slot> + use<> {
        self.u32(count as u32);
        let first = self.out.len();
        self.out.resize(first + 4 * count, 0);
        (0..count).map(move |i| Slot(first + 4 * i))
    }

    /// A vector of bytes.
    pub(crate) fn bytes(&mut self, bytes: &[u8]) {
        self.structs(bytes.len(), bytes);
    }

    /// A vector of so many elements without alignment of their own.
    pub(crate) fn structs(&mut self, count: usize, bytes: &[u8]) {
        self.u32(count as u32);
        self.out.extend_from_slice(bytes);
        self.pad();
    }

    /// A byte, and three of padding.
    pub(crate) fn u8(&mut self, value: u8) {
        self.out.extend_from_slice(&[value, 0, 0, 0]);
    }

    fn u16(&mut self, value: u16) {
        self.out.extend_from_slice(&value.to_le_bytes());
    }

    pub(crate) fn u32(&mut self, value: u32) {
        self.out.extend_from_slice(&value.to_le_bytes());
    }

    pub(crate) fn u64(&mut self, value: u64) {
        self.out.extend_from_slice(&value.to_le_bytes());
    }

    pub(crate) fn finish(self) -> Vec<u8> {
        self.out
    }
}
