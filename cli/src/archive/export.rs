//! From a store to the lines of an archive.

use std::fmt;
use std::io::{self, Read, Write};
use std::path::Path;
use std::sync::Arc;

use larder_backing_store::{
    CursorDirection, DatabaseMetadata, ErrorKind, KEY_GENERATOR_MAX, ObjectStoreMetadata,
};
use larder_codec::external_object::{BlobInfo, ExternalObject};
use larder_codec::value::{ArrayBuffer, BufferKind, Encoder, HostObject, Object, Tree, ViewKind};
use larder_codec::{DataVersion, JsString, KeyPath, feed};
use larder_leveldb::storage::FileSystem;

use super::error::ArchiveError;
use super::sums::IndexCheck;
use super::target::{Form, Target};
use super::{BLOBS_FOLDER, FORMAT_VERSION, push_base64};
use crate::display::Counted;
use crate::dump::push_key;
use crate::feed_notes::object_store_named;
use crate::record::ValueReader;
use crate::scan::{Scan, Stop};
use crate::value_json::push_value;

/// From this version of V8's on, what is new in values has a version of its own.
const DISTINCT_V8_MIN: u32 = 16;

/// Values up to this version of Blink's are stored with their bytes in pairs the other way round.
const SWAPPED_BLINK_MAX: u32 = 16;

/// Whose a store is, and where it was.
#[derive(Debug, Clone, Copy)]
pub struct Source<'a> {
    /// The origin as a URL shows it.
    pub origin: &'a str,
    /// The origin's identifier, if there is one.
    pub identifier: Option<&'a str>,
    /// The number of the storage bucket, unless it is the origin's default one.
    pub bucket: Option<&'a str>,
    /// The LevelDB folder, below the path from which was exported.
    pub folder: &'a Path,
}

/// What an archive has.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Counts {
    /// Stores.
    pub stores: u64,
    /// Databases.
    pub databases: u64,
    /// Object stores.
    pub object_stores: u64,
    /// Records.
    pub records: u64,
    /// Blobs and files.
    pub blobs: u64,
}

impl fmt::Display for Counts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            stores,
            databases,
            object_stores,
            records,
            blobs,
        } = self;
        write!(
            f,
            "{}, {}, {}, {}, {}",
            Counted(*stores, "store"),
            Counted(*databases, "database"),
            Counted(*object_stores, "object store"),
            Counted(*records, "record"),
            Counted(*blobs, "blob"),
        )
    }
}

/// What was exported.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Exported {
    /// What the archive has.
    pub counts: Counts,
    /// Change feeds, which are not in it: their numbers and versions are those of the store.
    pub feeds_left: u64,
}

impl fmt::Display for Exported {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.counts.fmt(f)?;
        match self.feeds_left {
            0 => Ok(()),
            feeds => write!(f, ", without {}", Counted(feeds, "change feed")),
        }
    }
}

/// An archive being written. It appears with [`finish`](Self::finish), whole; dropped without, there is nothing.
pub struct ArchiveWriter {
    target: Target,
    exported: Exported,
    next_blob: u64,
    line: Vec<u8>,
    encoder: Encoder,
    encoded: Vec<u8>,
}

impl ArchiveWriter {
    /// Begins an archive where there is nothing.
    ///
    /// # Errors
    /// If there is something at `to`, or nothing can be written there.
    pub fn begin(fs: Arc<dyn FileSystem>, to: &Path, form: Form) -> Result<Self, ArchiveError> {
        Self::new(Target::begin(fs, to, form, false)?)
    }

    /// Counts what an archive would have, and writes nothing.
    ///
    /// # Errors
    /// As [`begin`](Self::begin): if there is something at `to`, or it cannot be of that form.
    pub fn dry_run(fs: Arc<dyn FileSystem>, to: &Path, form: Form) -> Result<Self, ArchiveError> {
        Self::new(Target::begin(fs, to, form, true)?)
    }

    fn new(mut target: Target) -> Result<Self, ArchiveError> {
        let version = env!("CARGO_PKG_VERSION");
        let head = format!(
            "{{\"archive\":\"larder\",\"format\":{FORMAT_VERSION},\"by\":\"larder {version}\"}}\n"
        );
        target.line(head.as_bytes())?;
        Ok(Self {
            target,
            exported: Exported::default(),
            next_blob: 1,
            line: Vec::new(),
            encoder: Encoder::new(),
            encoded: Vec::new(),
        })
    }

    /// Writes what a scan is to have of its store: all schemas, and then all records.
    ///
    /// # Errors
    /// If the archive cannot be written, or the store not be read on.
    pub fn store(&mut self, scan: &mut Scan<'_>, source: &Source<'_>) -> Result<(), Stop> {
        let mut databases = scan.databases()?;
        databases.retain(|database| database.version.is_some());
        for database in &mut databases {
            let is_feed = object_store_named(database, feed::REVISIONS).is_some();
            self.exported.feeds_left += u64::from(is_feed);
            database
                .object_stores
                .retain(|store| !feed::is_reserved(&store.name));
        }
        self.head(scan, source)?;
        for database in &databases {
            self.schema(scan, database)?;
        }
        for database in &databases {
            for object_store in scan.object_stores(database) {
                self.records(scan, database, object_store)?;
            }
        }
        self.exported.counts.stores += 1;
        self.exported.counts.databases += databases.len() as u64;
        Ok(())
    }

    /// Ends the archive and gives it its name.
    ///
    /// # Errors
    /// If it cannot be written.
    pub fn finish(mut self) -> Result<Exported, ArchiveError> {
        let Counts {
            stores,
            databases,
            object_stores,
            records,
            blobs,
        } = self.exported.counts;
        let end = format!(
            "{{\"end\":{{\"stores\":{stores},\"databases\":{databases},\"objectStores\":{object_stores},\"records\":{records},\"blobs\":{blobs}}}}}\n"
        );
        self.target.line(end.as_bytes())?;
        self.target.finish()?;
        Ok(self.exported)
    }

    fn write(&mut self) -> Result<(), Stop> {
        self.line.push(b'\n');
        Ok(self.target.line(&self.line).map_err(io::Error::from)?)
    }

    fn head(&mut self, scan: &Scan<'_>, source: &Source<'_>) -> Result<(), Stop> {
        let line = &mut self.line;
        line.clear();
        line.extend_from_slice(b"{\"store\":{\"origin\":");
        push_json(line, source.origin);
        if let Some(identifier) = source.identifier {
            line.extend_from_slice(b",\"identifier\":");
            push_json(line, identifier);
        }
        if let Some(bucket) = source.bucket {
            line.extend_from_slice(b",\"bucket\":");
            push_json(line, bucket);
        }
        let folder: Vec<_> = source
            .folder
            .iter()
            .map(|part| part.to_string_lossy())
            .collect();
        line.extend_from_slice(b",\"folder\":");
        push_json(line, &folder.join("/"));
        if let Some(schema) = scan.store.schema_version() {
            let _ = write!(line, ",\"schema\":{schema}");
        }
        if let Some(DataVersion { v8, blink }) = scan.store.data_version() {
            let _ = write!(line, ",\"v8\":{v8},\"blink\":{blink}");
        }
        line.extend_from_slice(b"}}");
        self.write()
    }

    fn schema(&mut self, scan: &mut Scan<'_>, database: &DatabaseMetadata) -> Result<(), Stop> {
        let line = &mut self.line;
        line.clear();
        line.extend_from_slice(b"{\"database\":{\"name\":");
        push_name(line, &database.name);
        let version = database.version.unwrap_or(0);
        let _ = write!(line, ",\"version\":{version},\"objectStores\":[");
        let mut separator: &[u8] = b"";
        for object_store in scan.object_stores(database) {
            self.exported.counts.object_stores += 1;
            line.extend_from_slice(separator);
            separator = b",";
            line.extend_from_slice(b"{\"name\":");
            push_name(line, &object_store.name);
            line.extend_from_slice(b",\"keyPath\":");
            push_key_path(line, &object_store.key_path);
            let _ = write!(line, ",\"autoIncrement\":{}", object_store.auto_increment);
            if object_store.auto_increment {
                push_next_key(line, scan, database, object_store)?;
            }
            line.extend_from_slice(b",\"indexes\":[");
            for (n, index) in object_store.indexes.iter().enumerate() {
                line.extend_from_slice(if n == 0 { b"" } else { b"," });
                line.extend_from_slice(b"{\"name\":");
                push_name(line, &index.name);
                line.extend_from_slice(b",\"keyPath\":");
                push_key_path(line, &index.key_path);
                let (unique, multi_entry) = (index.unique, index.multi_entry);
                let _ = write!(line, ",\"unique\":{unique},\"multiEntry\":{multi_entry}}}");
            }
            line.extend_from_slice(b"]}");
        }
        line.extend_from_slice(b"]}}");
        self.write()
    }

    fn records(
        &mut self,
        scan: &mut Scan<'_>,
        database: &DatabaseMetadata,
        object_store: &ObjectStoreMetadata,
    ) -> Result<(), Stop> {
        let line = &mut self.line;
        line.clear();
        line.extend_from_slice(b"{\"records\":{\"database\":");
        push_name(line, &database.name);
        line.extend_from_slice(b",\"objectStore\":");
        push_name(line, &object_store.name);
        line.extend_from_slice(b"}}");
        self.write()?;
        let store = scan.store;
        let mut reader = ValueReader::new(store, database.id, object_store);
        let mut check = IndexCheck::new(object_store);
        let mut records = store.records(database.id, object_store.id, CursorDirection::Next);
        while scan.advance(|| records.next())? {
            let key = records.primary_key()?;
            let (version, bytes) = (records.version(), records.value()?);
            self.exported.counts.records += 1;
            let mut line = std::mem::take(&mut self.line);
            line.clear();
            line.extend_from_slice(b"{\"key\":");
            push_key(&mut line, key);
            let read = reader.read_whole(key, bytes, |value| {
                check.take(value.tree, value.objects, key, version);
                line.extend_from_slice(b",\"value\":");
                push_value(&mut line, value.tree)?;
                let problems = self.objects(scan, database, &mut line, value.objects)?;
                if !self.is_said(value.tree, value.shown) {
                    line.extend_from_slice(b",\"wire\":\"");
                    // What stood in pairs the other way round stays so.
                    let is_swapped = value.tree.versions().blink <= SWAPPED_BLINK_MAX;
                    push_base64(&mut line, if is_swapped { bytes } else { value.stored });
                    line.push(b'"');
                }
                Ok::<_, io::Error>(problems)
            });
            match read {
                Ok(problems) => {
                    for problem in problems? {
                        scan.value_damage(database, object_store, key, &problem);
                    }
                }
                Err(error) => {
                    check.is_unsure = true;
                    line.extend_from_slice(b",\"error\":");
                    push_json(&mut line, &error.to_string());
                    line.extend_from_slice(b",\"stored\":\"");
                    push_base64(&mut line, bytes);
                    line.push(b'"');
                    if let Ok(objects) = store.external_objects(database.id, object_store.id, key) {
                        self.objects(scan, database, &mut line, &objects)?;
                    }
                    scan.value_damage(database, object_store, key, &error);
                }
            }
            line.push(b'}');
            self.line = line;
            self.write()?;
        }
        for n in check.different(scan, database, object_store)? {
            self.entries(scan, database, object_store, n)?;
        }
        Ok(())
    }

    /// Whether the JSON says everything, so that the bytes can be made of it.
    fn is_said(&mut self, tree: &Tree<'_>, shown: &[u8]) -> bool {
        let versions = tree.versions();
        let version = DataVersion {
            v8: versions.v8,
            blink: versions.blink,
        };
        if tree.objects().any(|object| !is_plain(object, version)) {
            return false;
        }
        self.encoded.clear();
        self.encoded.shrink_to(1 << 20);
        let encoded = self.encoder.encode_in(version, tree, &mut self.encoded);
        // Old Chromiums pad a value with zeros.
        let padding = shown.strip_prefix(&self.encoded[..]);
        encoded.is_ok() && padding.is_some_and(|padding| padding.iter().all(|byte| *byte == 0))
    }

    /// Writes a record's external objects, and their contents. What cannot be read of them is said there, and returned.
    fn objects(
        &mut self,
        scan: &Scan<'_>,
        database: &DatabaseMetadata,
        line: &mut Vec<u8>,
        objects: &[ExternalObject],
    ) -> io::Result<Vec<io::Error>> {
        let mut problems = Vec::new();
        if objects.is_empty() {
            return Ok(problems);
        }
        line.extend_from_slice(b",\"external\":[");
        for (n, object) in objects.iter().enumerate() {
            line.extend_from_slice(if n == 0 { b"" } else { b"," });
            match object {
                ExternalObject::FileSystemAccessHandle { token } => {
                    line.extend_from_slice(b"{\"kind\":\"fileSystemAccessHandle\",\"token\":\"");
                    push_base64(line, token);
                    line.extend_from_slice(b"\"}");
                }
                ExternalObject::Blob(blob) => {
                    line.extend_from_slice(b"{\"kind\":\"blob\"");
                    let problem = self.blob(scan, database, line, blob, None)?;
                    problems.extend(problem);
                    line.push(b'}');
                }
                ExternalObject::File {
                    blob,
                    name,
                    last_modified_micros,
                } => {
                    line.extend_from_slice(b"{\"kind\":\"file\",\"name\":");
                    push_name(line, name);
                    let ms = larder_backing_store::last_modified_ms(*last_modified_micros);
                    let _ = write!(
                        line,
                        ",\"lastModified\":{ms},\"lastModifiedMicros\":\"{last_modified_micros}\""
                    );
                    let problem = self.blob(scan, database, line, blob, Some(name))?;
                    problems.extend(problem);
                    line.push(b'}');
                }
            }
        }
        line.push(b']');
        Ok(problems)
    }

    fn blob(
        &mut self,
        scan: &Scan<'_>,
        database: &DatabaseMetadata,
        line: &mut Vec<u8>,
        blob: &BlobInfo,
        name: Option<&JsString>,
    ) -> io::Result<Option<io::Error>> {
        line.extend_from_slice(b",\"type\":");
        push_name(line, &blob.mime_type);
        let _ = write!(line, ",\"size\":{}", blob.size_bytes);
        let number = self.next_blob;
        self.next_blob += 1;
        let name = crate::dump::file_name(number, name);
        let content = scan.store.open_blob(database.id, blob);
        let written = match content {
            Ok(mut content) => self
                .target
                .blob(number, &name, &mut content as &mut dyn Read)?,
            Err(error) => Err(io::Error::new(missing_or_other(&error), error.to_string())),
        };
        match written {
            Ok(_) => {
                self.exported.counts.blobs += 1;
                match self.target.form {
                    Form::Folder => {
                        line.extend_from_slice(b",\"file\":");
                        push_json(line, &format!("{BLOBS_FOLDER}/{name}"));
                    }
                    Form::File | Form::PackedFile => {
                        let _ = write!(line, ",\"blob\":{number}");
                    }
                }
                Ok(None)
            }
            Err(error) => {
                line.extend_from_slice(b",\"error\":");
                push_json(line, &error.to_string());
                Ok(Some(error))
            }
        }
    }

    /// Writes the entries of an index that do not follow from the values.
    fn entries(
        &mut self,
        scan: &mut Scan<'_>,
        database: &DatabaseMetadata,
        object_store: &ObjectStoreMetadata,
        n: usize,
    ) -> Result<(), Stop> {
        let Some(index) = object_store.indexes.get(n) else {
            return Ok(());
        };
        self.line.clear();
        self.line.extend_from_slice(b"{\"entries\":{\"index\":");
        push_name(&mut self.line, &index.name);
        self.line.extend_from_slice(b"}}");
        self.write()?;
        let next = CursorDirection::Next;
        let store = scan.store;
        let mut entries = store.index_entries(database.id, object_store.id, index.id, next);
        while scan.advance(|| entries.next())? {
            self.line.clear();
            self.line.extend_from_slice(b"{\"entry\":[");
            push_key(&mut self.line, entries.index_key()?);
            self.line.push(b',');
            push_key(&mut self.line, entries.primary_key()?);
            self.line.extend_from_slice(b"]}");
            self.write()?;
        }
        Ok(())
    }
}

fn missing_or_other(error: &larder_backing_store::Error) -> io::ErrorKind {
    match crate::record::is_missing_file(error) {
        true => io::ErrorKind::NotFound,
        false => io::ErrorKind::Other,
    }
}

/// Whether a reader of the JSON can make the object of it, in these versions.
fn is_plain(object: &Object<'_>, version: DataVersion) -> bool {
    match object {
        Object::Host(host) => matches!(
            **host,
            HostObject::Blob(_) | HostObject::File(_) | HostObject::FileList(_)
        ),
        // Browsers wrote these before they had a version that says so.
        Object::ArrayBuffer(ArrayBuffer { kind, .. }) => {
            *kind == BufferKind::Fixed || version.v8 >= DISTINCT_V8_MIN
        }
        Object::View(view) => view.kind != ViewKind::Float16Array || version.v8 >= DISTINCT_V8_MIN,
        _ => true,
    }
}

fn push_next_key(
    line: &mut Vec<u8>,
    scan: &mut Scan<'_>,
    database: &DatabaseMetadata,
    object_store: &ObjectStoreMetadata,
) -> Result<(), Stop> {
    match scan.store.key_generator(database.id, object_store.id) {
        Ok(next) if next > KEY_GENERATOR_MAX => line.extend_from_slice(b",\"nextKey\":null"),
        Ok(next) => {
            let _ = write!(line, ",\"nextKey\":{next}");
        }
        Err(error) if error.kind() == ErrorKind::Corruption => scan.damage(&error),
        Err(error) => return Err(error.into()),
    }
    Ok(())
}

fn push_json(line: &mut Vec<u8>, text: &str) {
    // Into a vector: it cannot fail.
    let _ = serde_json::to_writer(line, text);
}

fn push_name(line: &mut Vec<u8>, name: &JsString) {
    let _ = serde_json::to_writer(line, name);
}

fn push_key_path(line: &mut Vec<u8>, path: &KeyPath) {
    match path {
        KeyPath::Null => line.extend_from_slice(b"null"),
        KeyPath::String(path) => push_name(line, path),
        KeyPath::Array(paths) => {
            let _ = serde_json::to_writer(line, paths);
        }
    }
}
