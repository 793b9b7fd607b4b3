//! `larder rows`: every raw row of the LevelDB, decoded and annotated.
//!
//! Rows are shown as they lie in the files, the undo log included and recovery not applied.

use std::fmt::Write as _;
use std::io::{self, Write};

use larder_backing_store::Store;
use larder_codec::row_key::{RecordTable, RowKey};
use larder_codec::{RowValue, versioned};
use larder_leveldb::EntryKind;
use serde::Serialize;

use crate::args::RowsArgs;
use crate::display::{Hex, ShownForeign, ShownKey};
use crate::open_store::needs_leveldb;
use crate::output::Output;
use crate::per_store::{PerStore, Problems};
use crate::record::with_foreign;
use crate::scan::{Scan, Stop};
use crate::store_origin::StoreOrigin;
use crate::style::Style;

/// The command.
pub(crate) struct Rows {
    hex: bool,
    history: bool,
    json: bool,
    output: Output,
    style: Style,
}

/// What became of a row.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum State {
    /// Visible, and for an index row: of its record's version.
    Live,
    /// An index row whose record was overwritten or deleted.
    Stale,
    /// A newer row of the same key hides it.
    Overwritten,
    /// A deletion.
    Deletion,
    /// It could not be found out.
    Unknown,
}

impl State {
    const fn name(self) -> &'static str {
        match self {
            Self::Live => "live",
            Self::Stale => "stale",
            Self::Overwritten => "overwritten",
            Self::Deletion => "deletion",
            Self::Unknown => "unknown",
        }
    }
}

/// A row as `--json` prints it. Field names are part of the command's contract.
#[derive(Debug, Serialize)]
struct RowListing<'a> {
    origin: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    bucket: Option<&'a str>,
    sequence: u64,
    state: State,
    class: &'static str,
    key: String,
    value: Option<String>,
    file: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    key_hex: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    value_hex: Option<String>,
}

impl Rows {
    pub(crate) fn new(args: &RowsArgs, output: Output, color: bool) -> Self {
        Self {
            hex: args.hex,
            history: args.history,
            json: args.json,
            output,
            style: Style::new(color),
        }
    }

    fn write(&mut self, row: &RowListing<'_>) -> io::Result<()> {
        let Self { output, style, .. } = self;
        if self.json {
            serde_json::to_writer(&mut *output, row)?;
            return writeln!(output);
        }
        write!(
            output,
            "{:>8}  {:<11}  {:<16}  {}",
            row.sequence,
            row.state.name(),
            row.class,
            style.key(&row.key)
        )?;
        if let Some(value) = &row.value {
            write!(output, "  =>  {value}")?;
        }
        writeln!(output, "  {}", style.faint(row.file))?;
        if let Some(hex) = &row.key_hex {
            writeln!(output, "          key    {hex}")?;
        }
        if let Some(hex) = &row.value_hex {
            writeln!(output, "          value  {hex}")?;
        }
        Ok(())
    }
}

impl PerStore for Rows {
    fn problems(&self) -> Problems {
        Problems::AreBeside
    }

    fn store(&mut self, scan: &mut Scan<'_>, origin: &StoreOrigin) -> Result<(), Stop> {
        let store = scan.store;
        let schema = store
            .schema_version()
            .unwrap_or(larder_backing_store::SCHEMA_VERSION_MAX);
        if !self.json {
            writeln!(self.output, "{}", self.style.heading(origin.heading()))?;
        }
        let snapshot = store
            .snapshot()
            .ok_or_else(|| needs_leveldb(store.paths()))?;
        let mut entries = snapshot.entries();
        // Entries of one key come newest first.
        let mut newest = Vec::new();
        let mut first = true;
        while entries
            .advance()
            .map_err(larder_backing_store::Error::from)?
        {
            scan.progress.tick();
            let key = entries.key();
            let hidden = !first && key == newest;
            if !hidden {
                newest.clear();
                newest.extend_from_slice(key);
                first = false;
            }
            let deletion = entries.kind() == EntryKind::Deletion;
            if (hidden || deletion) && !self.history {
                continue;
            }
            let value = entries.value().map_err(larder_backing_store::Error::from)?;
            let decoded = RowKey::decode_exact(key);
            let shown_value = match (&decoded, deletion) {
                (_, true) => None,
                (Ok(row), false) => Some(match RowValue::decode_exact(row, value, schema) {
                    Ok(value) => value_text(&value),
                    Err(error) => {
                        scan.row_damage(key, &format!("value: {error}"));
                        format!("undecodable: {error}")
                    }
                }),
                (Err(error), false) => {
                    scan.row_damage(key, &format!("key: {error}"));
                    Some(format!("{} bytes", value.len()))
                }
            };
            let state = match (deletion, hidden) {
                (true, _) => State::Deletion,
                (_, true) => State::Overwritten,
                _ => decoded
                    .as_ref()
                    .map_or(State::Unknown, |row| state(store, row, value)),
            };
            let row = RowListing {
                origin: &origin.shown,
                bucket: origin.bucket.as_deref(),
                sequence: entries.sequence(),
                state,
                class: decoded.as_ref().map_or("undecodable", class),
                key: decoded
                    .as_ref()
                    .map_or_else(|error| format!("{error}"), key_text),
                value: shown_value,
                file: entries.file_name(),
                key_hex: self.hex.then(|| Hex(key).to_string()),
                value_hex: (self.hex && !deletion).then(|| Hex(value).to_string()),
            };
            self.write(&row)?;
        }
        Ok(())
    }

    fn finish(self: Box<Self>) -> io::Result<()> {
        self.output.finish()
    }
}

/// Index rows are stale unless their record's data row has their version; everything else that is visible is live.
pub(crate) fn state(store: &Store, row: &RowKey<'_>, value: &[u8]) -> State {
    let RowKey::IndexData(key) = row else {
        return State::Live;
    };
    let Ok(versioned::IndexRow {
        version,
        primary_key,
    }) = versioned::IndexRow::decode_exact(value)
    else {
        return State::Unknown;
    };
    match store.is_live(key.database_id, key.object_store_id, primary_key, version) {
        Ok(true) => State::Live,
        Ok(false) => State::Stale,
        Err(_) => State::Unknown,
    }
}

pub(crate) fn class(row: &RowKey<'_>) -> &'static str {
    match row {
        RowKey::Global(_) => "global",
        RowKey::Scopes(_) => "undo log",
        RowKey::Database(_) => "database",
        RowKey::ObjectStoreMetadata(_) => "object store",
        RowKey::IndexMetadata(_) => "index",
        RowKey::Record(key) => match key.table {
            RecordTable::Data => "data",
            RecordTable::Exists => "exists",
            RecordTable::ExternalObject => "external objects",
        },
        RowKey::IndexData(_) => "index data",
        RowKey::Unknown(_) => "unknown",
    }
}

pub(crate) fn key_text(row: &RowKey<'_>) -> String {
    match row {
        RowKey::Global(key) => format!("{key:?}"),
        RowKey::Scopes(key) => format!("{key:?}"),
        RowKey::Database(key) => format!("db {} {:?}", key.database_id, key.field),
        RowKey::ObjectStoreMetadata(key) => {
            format!(
                "db {} store {} {:?}",
                key.database_id, key.object_store_id, key.field
            )
        }
        RowKey::IndexMetadata(key) => format!(
            "db {} store {} index {} {:?}",
            key.database_id, key.object_store_id, key.index_id, key.field
        ),
        RowKey::Record(key) => {
            format!(
                "db {} store {} key {}",
                key.database_id,
                key.object_store_id,
                ShownKey(key.key)
            )
        }
        RowKey::IndexData(key) => {
            let mut text = format!(
                "db {} store {} index {} key {}",
                key.database_id,
                key.object_store_id,
                key.index_id,
                ShownKey(key.index_key)
            );
            if let Some(primary_key) = key.primary_key() {
                // Writing to a String cannot fail.
                let _ = write!(text, " -> {}", ShownKey(primary_key));
            }
            if let Some(sequence) = key.sequence().filter(|sequence| *sequence != 0) {
                let _ = write!(text, " sequence {sequence}");
            }
            text
        }
        RowKey::Unknown(key) => format!("{:?} {}", key.prefix(), Hex(key.rest())),
    }
}

pub(crate) fn value_text(value: &RowValue<'_>) -> String {
    match value {
        RowValue::Int(number) | RowValue::VarInt(number) => number.to_string(),
        RowValue::Bool(flag) => flag.to_string(),
        RowValue::Data(row) => {
            let (version, len) = (row.version, row.value.len());
            let shown = with_foreign(row.value, &mut Vec::new(), |foreign| {
                format!("{}, value of {len} bytes", ShownForeign(foreign))
            });
            let value = shown.unwrap_or_else(|| format!("value of {len} bytes"));
            format!("version {version}, {value}")
        }
        RowValue::Exists(row) => format!("version {}", row.version),
        RowValue::Index(row) => format!(
            "version {}, primary key {}",
            row.version,
            ShownKey(row.primary_key)
        ),
        RowValue::String(string) => format!("{string:?}"),
        RowValue::KeyPath(path) => crate::display::ShownKeyPath(path).to_string(),
        RowValue::Opaque(bytes) => format!("{} bytes", bytes.len()),
        other => format!("{other:?}"),
    }
}
