//! `larder ls`: what is there, how much of it, how large.

use std::collections::BTreeSet;
use std::io::{self, Write};

use larder_backing_store::{
    CursorDirection, DatabaseMetadata, IndexMetadata, KEY_GENERATOR_MAX, ObjectStoreMetadata,
};
use larder_codec::JsString;
use larder_codec::KeyPath;
use serde::Serialize;

use crate::args::LsArgs;
use crate::damage::Total;
use crate::display::{Quoted, ShownKeyPath, Size};
use crate::output::Output;
use crate::per_store::{PerStore, Problems};
use crate::record::with_foreign;
use crate::scan::{Scan, Stop};
use crate::sizes::BLOB_DEPTH_MAX;
use crate::store_origin::StoreOrigin;
use crate::style::Style;

/// The command.
pub(crate) struct Ls {
    json: bool,
    counts: bool,
    output: Output,
    style: Style,
}

/// One store as `--json` prints it. Field names are part of the command's contract.
#[derive(Debug, Serialize)]
struct StoreListing {
    origin: String,
    /// The bucket's number; absent for an origin's default bucket in its own site.
    #[serde(skip_serializing_if = "Option::is_none")]
    bucket: Option<String>,
    /// The name that a page gave the bucket.
    #[serde(skip_serializing_if = "Option::is_none")]
    bucket_name: Option<String>,
    /// The site of the page in which the origin's page was embedded.
    #[serde(skip_serializing_if = "Option::is_none")]
    top_level_site: Option<String>,
    path: String,
    schema_version: Option<i64>,
    blink_version: Option<u32>,
    v8_version: Option<u32>,
    leveldb_bytes: u64,
    blob_bytes: u64,
    blob_files: u64,
    /// Absent if nothing is damaged.
    #[serde(skip_serializing_if = "Total::is_none")]
    damage: Total,
    databases: Vec<DatabaseListing>,
}

#[derive(Debug, Serialize)]
struct DatabaseListing {
    name: JsString,
    /// Whose it is, if the folder's name says otherwise; Chromium does not show it then.
    #[serde(skip_serializing_if = "Option::is_none")]
    origin: Option<String>,
    version: Option<i64>,
    object_stores: Vec<ObjectStoreListing>,
}

#[derive(Debug, Serialize)]
struct ObjectStoreListing {
    name: JsString,
    key_path: KeyPathListing,
    auto_increment: bool,
    /// The number the key generator would give next; absent without a generator.
    #[serde(skip_serializing_if = "Option::is_none")]
    next_key: Option<i64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    records: Option<u64>,
    /// Bytes of the records' keys and values as rows, before compression.
    #[serde(skip_serializing_if = "Option::is_none")]
    record_bytes: Option<u64>,
    /// Engines other than V8 whose values are in the rows; those in blobs are not looked at.
    #[serde(skip_serializing_if = "BTreeSet::is_empty")]
    engines: BTreeSet<String>,
    indexes: Vec<IndexListing>,
}

#[derive(Debug, Serialize)]
struct IndexListing {
    name: JsString,
    key_path: KeyPathListing,
    unique: bool,
    multi_entry: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    entries: Option<u64>,
}

/// A key path as JSON: null, a text, or a list of texts.
#[derive(Debug, Serialize)]
#[serde(untagged)]
enum KeyPathListing {
    Null,
    String(JsString),
    Array(Vec<JsString>),
}

impl From<&KeyPath> for KeyPathListing {
    fn from(key_path: &KeyPath) -> Self {
        match key_path {
            KeyPath::Null => Self::Null,
            KeyPath::String(path) => Self::String(path.clone()),
            KeyPath::Array(paths) => Self::Array(paths.clone()),
        }
    }
}

impl Ls {
    pub(crate) fn new(args: &LsArgs, output: Output, color: bool) -> Self {
        Self {
            json: args.json,
            counts: !args.no_counts,
            output,
            style: Style::new(color),
        }
    }

    fn listing(
        &self,
        scan: &mut Scan<'_>,
        origin: &StoreOrigin,
        databases: &[DatabaseMetadata],
    ) -> Result<StoreListing, Stop> {
        let store = scan.store;
        let paths = store.paths();
        let data_version = store.data_version();
        let (leveldb_bytes, _) = scan.sizes_below(&paths.leveldb, 0);
        let (blob_bytes, blob_files) = scan.sizes_below(&paths.blob, BLOB_DEPTH_MAX);
        let databases = databases
            .iter()
            .map(|database| self.database(scan, origin, database))
            .collect::<Result<_, _>>()?;
        Ok(StoreListing {
            origin: origin.shown.clone(),
            bucket: origin.bucket.clone(),
            bucket_name: origin.name().map(str::to_owned),
            top_level_site: origin.top_level_site().map(str::to_owned),
            path: paths.leveldb.display().to_string(),
            schema_version: store.schema_version(),
            blink_version: data_version.map(|version| version.blink),
            v8_version: data_version.map(|version| version.v8),
            leveldb_bytes,
            blob_bytes,
            blob_files,
            // Counting is what finds damage in tables.
            damage: scan.total(),
            databases,
        })
    }

    fn database(
        &self,
        scan: &mut Scan<'_>,
        origin: &StoreOrigin,
        database: &DatabaseMetadata,
    ) -> Result<DatabaseListing, Stop> {
        let object_stores = database.object_stores.iter();
        Ok(DatabaseListing {
            name: database.name.clone(),
            origin: origin.other_owner(database),
            version: database.version,
            object_stores: object_stores
                .map(|object_store| self.object_store(scan, database, object_store))
                .collect::<Result<_, _>>()?,
        })
    }

    fn object_store(
        &self,
        scan: &mut Scan<'_>,
        database: &DatabaseMetadata,
        object_store: &ObjectStoreMetadata,
    ) -> Result<ObjectStoreListing, Stop> {
        let mut next_key = None;
        if object_store.auto_increment {
            match scan.store.key_generator(database.id, object_store.id) {
                Ok(next) => next_key = Some(next),
                Err(error) => scan.damage(&error),
            }
        }
        let (mut counted, mut engines) = (None, BTreeSet::new());
        if self.counts {
            let mut buffer = Vec::new();
            let (mut records, mut bytes) = (0, 0);
            let mut cursor =
                scan.store
                    .records(database.id, object_store.id, CursorDirection::Next);
            while scan.advance(|| cursor.next())? {
                records += 1;
                let value = cursor.value()?;
                bytes += (cursor.row_key().len() + value.len()) as u64;
                with_foreign(value, &mut buffer, |foreign| {
                    if !engines.contains(foreign.engine()) {
                        engines.insert(foreign.engine().to_owned());
                    }
                });
            }
            counted = Some((records, bytes));
        }
        let indexes = object_store.indexes.iter();
        Ok(ObjectStoreListing {
            name: object_store.name.clone(),
            key_path: (&object_store.key_path).into(),
            auto_increment: object_store.auto_increment,
            next_key,
            records: counted.map(|(records, _)| records),
            record_bytes: counted.map(|(_, bytes)| bytes),
            engines,
            indexes: indexes
                .map(|index| self.index(scan, database, object_store, index))
                .collect::<Result<_, _>>()?,
        })
    }

    fn index(
        &self,
        scan: &mut Scan<'_>,
        database: &DatabaseMetadata,
        object_store: &ObjectStoreMetadata,
        index: &IndexMetadata,
    ) -> Result<IndexListing, Stop> {
        let mut entries = None;
        if self.counts {
            let mut cursor = scan.store.index_entries(
                database.id,
                object_store.id,
                index.id,
                CursorDirection::Next,
            );
            let mut count = 0;
            while scan.advance(|| cursor.next())? {
                count += 1;
            }
            entries = Some(count);
        }
        Ok(IndexListing {
            name: index.name.clone(),
            key_path: (&index.key_path).into(),
            unique: index.unique,
            multi_entry: index.multi_entry,
            entries,
        })
    }

    fn write_text(
        &mut self,
        origin: &StoreOrigin,
        listing: &StoreListing,
        databases: &[DatabaseMetadata],
    ) -> io::Result<()> {
        let Self { output, style, .. } = self;
        writeln!(output, "{}", style.heading(origin.heading()))?;
        writeln!(output, "  path    {}", listing.path)?;
        let (leveldb, blobs) = (Size(listing.leveldb_bytes), Size(listing.blob_bytes));
        writeln!(
            output,
            "  size    {leveldb} in LevelDB, {blobs} in {}",
            count(listing.blob_files, "blob file", "blob files")
        )?;
        match (
            listing.schema_version,
            listing.blink_version,
            listing.v8_version,
        ) {
            (Some(schema), Some(blink), Some(v8)) => {
                writeln!(
                    output,
                    "  format  schema {schema}, values of Blink {blink} and V8 {v8}"
                )?;
            }
            (Some(schema), _, _) => writeln!(output, "  format  schema {schema}")?,
            _ if listing.damage.is_none() => writeln!(output, "  format  an empty store")?,
            _ => writeln!(output, "  format  not known")?,
        }
        if !listing.damage.is_none() {
            let total = listing.damage.text();
            writeln!(
                output,
                "  damaged {total}: what is listed is what could be read"
            )?;
        }
        for (database, listed) in databases.iter().zip(&listing.databases) {
            write!(output, "  database {}", style.name(Quoted(&database.name)))?;
            match database.version {
                Some(version) => writeln!(output, ", version {version}")?,
                None => writeln!(output, ", without a version: Chromium does not show it")?,
            }
            if let Some(owner) = &listed.origin {
                writeln!(output, "    of {owner}: Chromium does not show it here")?;
            }
            for (object_store, listed) in database.object_stores.iter().zip(&listed.object_stores) {
                write_object_store(output, *style, object_store, listed)?;
            }
        }
        Ok(())
    }
}

fn write_object_store(
    output: &mut Output,
    style: Style,
    object_store: &ObjectStoreMetadata,
    listed: &ObjectStoreListing,
) -> io::Result<()> {
    write!(
        output,
        "    object store {}",
        style.name(Quoted(&object_store.name))
    )?;
    if object_store.key_path != KeyPath::Null {
        write!(
            output,
            ", key path {}",
            ShownKeyPath(&object_store.key_path)
        )?;
    }
    match listed.next_key {
        Some(next) if next > KEY_GENERATOR_MAX => write!(output, ", key generator used up")?,
        Some(next) => write!(output, ", next key {next}")?,
        None => {}
    }
    if let (Some(records), Some(bytes)) = (listed.records, listed.record_bytes) {
        write!(
            output,
            ": {}, {}",
            count(records, "record", "records"),
            Size(bytes)
        )?;
    }
    for (n, engine) in listed.engines.iter().enumerate() {
        let before = if n == 0 { ", values of" } else { " and" };
        write!(output, "{before} {engine}")?;
    }
    writeln!(output)?;
    for (index, listed) in object_store.indexes.iter().zip(&listed.indexes) {
        write!(
            output,
            "      index {} on {}",
            style.name(Quoted(&index.name)),
            ShownKeyPath(&index.key_path)
        )?;
        write!(output, "{}", if index.unique { ", unique" } else { "" })?;
        write!(
            output,
            "{}",
            if index.multi_entry {
                ", multi-entry"
            } else {
                ""
            }
        )?;
        if let Some(entries) = listed.entries {
            write!(output, ": {}", count(entries, "entry", "entries"))?;
        }
        writeln!(output)?;
    }
    Ok(())
}

fn count(number: u64, one: &str, many: &str) -> String {
    format!("{number} {}", if number == 1 { one } else { many })
}

impl PerStore for Ls {
    fn problems(&self) -> Problems {
        Problems::AreBeside
    }

    fn store(&mut self, scan: &mut Scan<'_>, origin: &StoreOrigin) -> Result<(), Stop> {
        let databases = scan.databases()?;
        let listing = self.listing(scan, origin, &databases)?;
        if self.json {
            serde_json::to_writer(&mut self.output, &listing).map_err(io::Error::from)?;
            writeln!(self.output)?;
        } else {
            self.write_text(origin, &listing, &databases)?;
        }
        Ok(())
    }

    fn finish(self: Box<Self>) -> io::Result<()> {
        self.output.finish()
    }
}
