//! What a round has done, for people and for programs.

use std::io::{self, Write};

use larder_codec::{Key, RawKey};
use larder_sync::{Applied, Conflict, Downloaded, LeftAlone, MirroredValue, Uploaded};
use serde::Serialize;

use super::SyncError;
use crate::display::Counted;
use crate::dump::push_key;

/// What a round has done. Field names are part of the command's contract.
#[derive(Debug, Clone, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct RoundReport {
    /// Records of this database that were changed here, and went to the page.
    pub changed_here: u64,
    /// Records that were removed here.
    pub removed_here: u64,
    /// Records that others have changed, and that are here now.
    pub changed_elsewhere: u64,
    /// Records that others have removed.
    pub removed_elsewhere: u64,
    /// Commits that came from the cloud.
    pub commits_in: u64,
    /// Commits that went to the cloud.
    pub commits_out: u64,
    /// Heads that were merged.
    pub merged: u64,
    /// Conflicts that are listed.
    pub conflicts: u64,
    /// Changes of object stores that this database has not.
    pub without_store: u64,
    /// Whether the cloud has something that cannot be taken yet.
    pub is_waiting: bool,
    /// What one other device has written and cannot be taken: it is damaged in the cloud.
    pub problem: Option<String>,
    /// Records that are not alike here and elsewhere, and why.
    pub apart: Vec<Apart>,
}

/// A record that is not alike.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Apart {
    /// The object store.
    pub store: String,
    /// The record's key, as JSON; empty if it is not known here.
    pub key: String,
    /// Why.
    pub reason: String,
}

impl Apart {
    fn of(left: &LeftAlone) -> Self {
        let key = left.key.as_ref().map(key_json).unwrap_or_default();
        Self {
            store: left.object_store.to_string_lossy(),
            key: String::from_utf8_lossy(&key).into_owned(),
            reason: left.reason.to_string(),
        }
    }
}

impl RoundReport {
    pub(super) fn new(
        downloaded: Downloaded,
        applied: &Applied,
        uploaded: Uploaded,
        conflicts: u64,
    ) -> Self {
        let skipped = applied
            .taken
            .skipped
            .iter()
            .filter(|one| !applied.apart.contains(one));
        Self {
            changed_here: applied.taken.put,
            removed_here: applied.taken.removed,
            changed_elsewhere: applied.put,
            removed_elsewhere: applied.removed,
            commits_in: downloaded.commits,
            commits_out: uploaded.commits,
            merged: applied.merged,
            conflicts,
            without_store: applied.without_store,
            problem: downloaded
                .problem
                .map(|error| SyncError::from(error).to_string()),
            is_waiting: downloaded.is_waiting || !applied.is_one,
            apart: applied.apart.iter().chain(skipped).map(Apart::of).collect(),
        }
    }

    /// Whether no record was changed or removed, here or elsewhere. Merges of other devices may have come.
    #[must_use]
    pub fn is_quiet(&self) -> bool {
        let records = [
            self.changed_here,
            self.removed_here,
            self.changed_elsewhere,
            self.removed_elsewhere,
        ];
        records == [0; 4]
    }

    /// In words.
    pub(super) fn write_text(&self, out: &mut impl Write) -> io::Result<()> {
        writeln!(
            out,
            "from here: {} changed, {} removed; from elsewhere: {} changed, {} removed",
            self.changed_here, self.removed_here, self.changed_elsewhere, self.removed_elsewhere
        )?;
        if self.is_waiting {
            writeln!(
                out,
                "the cloud does not have all yet of what another device has written: the next round goes on"
            )?;
        }
        if self.without_store > 0 {
            let count = Counted(self.without_store, "change");
            writeln!(
                out,
                "{count} of object stores that this version of the database does not have"
            )?;
        }
        if self.conflicts > 0 {
            let count = Counted(self.conflicts, "conflict");
            writeln!(
                out,
                "{count} of records that two devices have changed: --conflicts shows both values, --settle takes them off the list"
            )?;
        }
        Ok(())
    }
}

/// A key as other commands show it.
fn key_json(key: &Key) -> Vec<u8> {
    let (mut bytes, mut json) = (Vec::new(), Vec::new());
    key.encode(&mut bytes);
    if let Ok(raw) = RawKey::decode_exact(&bytes) {
        push_key(&mut json, raw);
    }
    json
}

/// Writes a conflict as one line of JSON.
///
/// # Errors
/// If a value cannot be read or the line not be written.
pub fn write_conflict(conflict: &Conflict, out: &mut impl Write) -> Result<(), SyncError> {
    let mut line = b"{\"store\":".to_vec();
    let bad = |error: serde_json::Error| SyncError::Output(error.into());
    serde_json::to_writer(&mut line, &conflict.object_store).map_err(bad)?;
    line.extend_from_slice(b",\"key\":");
    line.extend(key_json(&conflict.key));
    for (name, value) in [("kept", &conflict.kept), ("other", &conflict.other)] {
        write!(line, ",\"{name}\":")?;
        match value {
            Some(value) => write_value(value, &mut line)?,
            None => line.extend_from_slice(b"{\"removed\":true}"),
        }
    }
    line.extend_from_slice(b"}\n");
    Ok(out.write_all(&line)?)
}

fn write_value(value: &MirroredValue, line: &mut Vec<u8>) -> Result<(), SyncError> {
    line.extend_from_slice(b"{\"value\":");
    let bad = |error: serde_json::Error| SyncError::Output(error.into());
    serde_json::to_writer(&mut *line, &value.tree()?).map_err(bad)?;
    line.push(b'}');
    Ok(())
}
