//! Nodes of the tree.
//!
//! FlatBuffers table `TreeNodeStorage { entries: [EntryStorage { key: [ubyte]; object_id: ObjectIdentifierStorage; priority: byte; entry_id:
//! [ubyte] }]; children: [ChildStorage { index: ushort; object_id: ObjectIdentifierStorage }]; level: ubyte }`. `entry_id` is a later
//! field: it is passed over, and never written.

use super::level::{self, LevelOf};
use crate::entry::Entry;
use crate::error::{Error, Result};
use crate::flatbuffer::{Malformed, Table, Writer};
use crate::object::file_index::{identifier_vtable, read_identifier, write_identifier};
use crate::object::{ObjectIdentifier, Priority, Reference};

const MESSAGE: &str = "a tree node";

/// All entries of a level between two of higher ones, and the nodes below: one before each entry and one after the last, if there is
/// something in it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct TreeNode {
    pub(crate) level: u8,
    pub(crate) entries: Vec<Entry>,
    /// One more than entries.
    pub(crate) children: Vec<Option<ObjectIdentifier>>,
}

impl TreeNode {
    pub(crate) fn empty(level: u8) -> TreeNode {
        TreeNode {
            level,
            entries: Vec::new(),
            children: vec![None],
        }
    }

    /// About how much memory it has.
    pub(crate) fn memory_len(&self) -> usize {
        let keys: usize = self.entries.iter().map(|entry| entry.key.len()).sum();
        keys + size_of::<Entry>() * self.entries.len()
            + size_of::<Option<ObjectIdentifier>>() * self.children.len()
    }

    /// What the node refers to, as reference rows have it: its children and its entries' values that are no part of it.
    pub(crate) fn references(&self) -> Vec<Reference> {
        let children = self.children.iter().flatten().map(|child| Reference {
            identifier: *child,
            priority: Priority::Eager,
        });
        let values = self.entries.iter().map(|entry| Reference {
            identifier: entry.value,
            priority: entry.priority,
        });
        let stored = |reference: &Reference| !reference.identifier.digest.is_inline();
        children.chain(values).filter(stored).collect()
    }

    /// Fields with nothing in them are left out, and the vtable ends with the last that is there: the empty node of level 0 has 12 bytes.
    pub(crate) fn encode(&self) -> Vec<u8> {
        let key_len: usize = self.entries.iter().map(|entry| entry.key.len()).sum();
        let capacity = 96 * self.entries.len() + key_len + 72 * self.children.len() + 64;
        let (mut writer, root) = Writer::new(capacity);
        let has_entries = !self.entries.is_empty();
        let child_count = self.children.iter().flatten().count();
        let mut table_len = 4;
        let mut place = |is_there: bool| match is_there {
            true => {
                table_len += 4;
                table_len - 4
            }
            false => 0,
        };
        let fields = [
            place(has_entries),
            place(child_count > 0),
            place(self.level > 0),
        ];
        let there = fields
            .iter()
            .rposition(|field| *field > 0)
            .map_or(0, |last| last + 1);
        let root_vtable = writer.vtable(table_len, &fields[..there]);
        let mut vtables = None;
        if has_entries || child_count > 0 {
            let entry = writer.vtable(16, &[4, 8, 12]);
            let child = writer.vtable(12, &[8, 4]);
            vtables = Some((entry, child, identifier_vtable(&mut writer)));
        }
        writer.set(root);
        writer.table(root_vtable);
        let entries = has_entries.then(|| writer.slot());
        let children = (child_count > 0).then(|| writer.slot());
        if self.level > 0 {
            writer.u8(self.level);
        }
        let Some((entry_vtable, child_vtable, identifier_vtable)) = vtables else {
            return writer.finish();
        };
        if let Some(entries) = entries {
            writer.set(entries);
            let slots = writer.slots(self.entries.len());
            for (entry, slot) in self.entries.iter().zip(slots) {
                writer.set(slot);
                writer.table(entry_vtable);
                let (key, id) = (writer.slot(), writer.slot());
                writer.u8(entry.priority.byte());
                writer.set(key);
                writer.bytes(&entry.key);
                writer.set(id);
                write_identifier(&mut writer, identifier_vtable, &entry.value);
            }
        }
        if let Some(children) = children {
            writer.set(children);
            let slots = writer.slots(child_count);
            let there = self.children.iter().enumerate();
            let there = there.filter_map(|(i, child)| Some((i, child.as_ref()?)));
            for ((i, child), slot) in there.zip(slots) {
                writer.set(slot);
                writer.table(child_vtable);
                let id = writer.slot();
                writer.u32(i as u32);
                writer.set(id);
                write_identifier(&mut writer, identifier_vtable, child);
            }
        }
        writer.finish()
    }

    /// The entry of a key in a node without children, of whose keys none is copied: they ascend, and are of its level.
    pub(crate) fn find(bytes: &[u8], level_of: LevelOf, wanted: &[u8]) -> Result<Option<Entry>> {
        let root = Table::root(bytes).map_err(|error| error.within(MESSAGE))?;
        let level = root.u8(2).map_err(|error| error.within(MESSAGE))?;
        if level > 0 {
            return Err(Error::corruption(format!(
                "{MESSAGE}: of level {level}, and 0 by the node above it"
            )));
        }
        let mut found = None;
        each_entry(&root, level, Some(level_of), |key, table| {
            if key == wanted {
                found = Some(read_entry(key, table)?);
            }
            Ok(())
        })?;
        Ok(found)
    }

    /// Reads a node: its keys ascend, and are of its level.
    pub(crate) fn decode(bytes: &[u8], level_of: LevelOf) -> Result<TreeNode> {
        TreeNode::read(bytes, Some(level_of))
    }

    /// What a node refers to, of whatever level its keys are.
    pub(crate) fn references_of(bytes: &[u8]) -> Result<Vec<Reference>> {
        Ok(TreeNode::read(bytes, None)?.references())
    }

    fn read(bytes: &[u8], level_of: Option<LevelOf>) -> Result<TreeNode> {
        let malformed = |error: Malformed| error.within(MESSAGE);
        let root = Table::root(bytes).map_err(malformed)?;
        let level = root.u8(2).map_err(malformed)?;
        let tables = root.tables(0).map_err(malformed)?;
        let mut entries: Vec<Entry> = Vec::with_capacity(tables.len());
        each_entry(&root, level, level_of, |key, table| {
            entries.push(read_entry(key, table)?);
            Ok(())
        })?;
        let mut children = vec![None; entries.len() + 1];
        let mut next = 0;
        for table in root.tables(1).map_err(malformed)? {
            let table = table.map_err(malformed)?;
            let index = usize::from(table.u16(0).map_err(malformed)?);
            let child = children
                .get_mut(index)
                .filter(|_| index >= next && level > 0)
                .ok_or_else(|| {
                    Error::corruption(format!("{MESSAGE}: no place {index} for a child"))
                })?;
            *child = Some(read_identifier(&table, 1, MESSAGE)?);
            next = index + 1;
        }
        Ok(TreeNode {
            level,
            entries,
            children,
        })
    }
}

/// Goes through the entries of a node: their keys ascend, and are of its level, if that is asked for.
fn each_entry<'b>(
    root: &Table<'b>,
    level: u8,
    level_of: Option<LevelOf>,
    mut each: impl FnMut(&'b [u8], &Table<'b>) -> Result<()>,
) -> Result<()> {
    let malformed = |error: Malformed| error.within(MESSAGE);
    let mut last: Option<&[u8]> = None;
    for table in root.tables(0).map_err(malformed)? {
        let table = table.map_err(malformed)?;
        let key = table.bytes(0).map_err(malformed)?;
        // Before the key is copied: so a key that many tables share is copied once.
        if last.is_some_and(|last| last >= key) {
            return Err(Error::corruption(format!(
                "{MESSAGE}: the key {} is not above the one before",
                key.escape_ascii()
            )));
        }
        if let Some(level_of) = level_of {
            level::check(level_of, level, key)?;
        }
        each(key, &table)?;
        last = Some(key);
    }
    Ok(())
}

fn read_entry(key: &[u8], table: &Table<'_>) -> Result<Entry> {
    let malformed = |error: Malformed| error.within(MESSAGE);
    Ok(Entry {
        key: key.to_vec(),
        value: read_identifier(table, 1, MESSAGE)?,
        priority: Priority::of_byte(table.u8(2).map_err(malformed)?)?,
    })
}
