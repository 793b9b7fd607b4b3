//! Writes revisions.

use super::super::js_str::JsStr;
use super::super::tag::v8 as tag;
use super::super::writer::Writer;
use super::key::write_key;
use super::{CHANGE_LEN, CHANGES, COMMITTED, ENDS, FROM_SOURCE, NAMES, RevisionRow, RevisionsRow};
use crate::DataVersion;
use crate::idb_key::RawKey;
use crate::ids::RecordVersion;

impl RevisionsRow<'_> {
    /// Appends the value with these revisions, for a store of this data version.
    pub fn encode<'k>(
        &self,
        revisions: impl ExactSizeIterator<Item = RevisionRow<RawKey<'k>>>,
        version: DataVersion,
        out: &mut Vec<u8>,
    ) {
        let mut writer = Writer::begin_in(version, out);
        // Names have two bytes a unit where they come from.
        writer.narrow();
        writer.byte(tag::BEGIN_OBJECT);
        writer.string(JsStr::Latin1(ENDS));
        let len = begin_array(&mut writer, self.object_stores.len());
        for object_store in &self.object_stores {
            begin_array(&mut writer, 2);
            writer.number(object_store.id.get() as f64);
            writer.number(object_store.version.get() as f64);
            end_array(&mut writer, 2);
        }
        end_array(&mut writer, len);
        writer.string(JsStr::Latin1(NAMES));
        begin_array(&mut writer, self.object_stores.len());
        for object_store in &self.object_stores {
            writer.string(object_store.name);
        }
        end_array(&mut writer, len);
        if self.is_from_source {
            writer.string(JsStr::Latin1(FROM_SOURCE));
            writer.byte(tag::TRUE);
        }
        if let Some(committed_at_ms) = self.committed_at_ms {
            writer.string(JsStr::Latin1(COMMITTED));
            writer.double(committed_at_ms);
        }
        writer.string(JsStr::Latin1(CHANGES));
        let len = begin_array(&mut writer, revisions.len());
        for revision in revisions {
            begin_array(&mut writer, CHANGE_LEN as usize);
            writer.number(f64::from(revision.back));
            writer.number(f64::from(revision.kind.number()));
            writer.number(revision.object_store_id.get() as f64);
            writer.number(revision.version.get() as f64);
            let before = revision.before.map_or(0, RecordVersion::get);
            writer.number(before as f64);
            write_key(&mut writer, revision.key);
            end_array(&mut writer, CHANGE_LEN);
        }
        end_array(&mut writer, len);
        writer.byte(tag::END_OBJECT);
        writer.varint(self.property_count());
        writer.end();
    }
}

fn begin_array(writer: &mut Writer<'_>, len: usize) -> u32 {
    // No transaction is as long: its rows would not fit a batch.
    let len = u32::try_from(len).unwrap_or(u32::MAX);
    writer.byte(tag::BEGIN_DENSE_ARRAY);
    writer.varint(len);
    len
}

pub(super) fn end_array(writer: &mut Writer<'_>, len: u32) {
    writer.byte(tag::END_DENSE_ARRAY);
    writer.varint(0_u32);
    writer.varint(len);
}
