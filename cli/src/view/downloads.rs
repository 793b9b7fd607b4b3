//! `download`: what a person keeps.

use std::io::{self, BufWriter, Write};
use std::sync::Arc;

use larder_backing_store::{CursorDirection, ErrorKind};
use larder_leveldb::storage::DiskFileSystem;
use larder_view::{Answer, Form, Refusal};
use serde::Deserialize;
use serde_json::Value;

use super::asked::{Content, InStore, OneRecord, Range, read};
use super::blobs::{OneBlob, download as download_blob};
use super::failed;
use super::filter::Filter;
use super::record::unreadable;
use super::records::Cursor;
use super::said::Said;
use super::stores::{Stores, refused};
use super::version::Version;
use crate::archive::{ArchiveWriter, Form as ArchiveForm, Source};
use crate::canonical::{Browser, stream_value};
use crate::dump::{JsonLines, SavedObject};
use crate::progress::Progress;
use crate::record::{StoreBlobs, ValueReader};
use crate::scan::{Scan, Stop};

/// Lines are gathered to so many bytes.
const BUFFER_BYTES: usize = 64 << 10;

#[derive(Deserialize)]
#[serde(tag = "what", rename_all = "lowercase")]
enum Asked {
    Jsonl(Seen),
    Archive(Content),
    Canonical(OneRecord),
    Blob(OneBlob),
}

/// The records of a table.
#[derive(Deserialize)]
struct Seen {
    #[serde(flatten)]
    at: InStore,
    #[serde(flatten)]
    range: Range,
    filter: Option<String>,
}

pub(super) fn download(
    stores: &Stores,
    asked: &Value,
    answer: &mut dyn Answer,
) -> Result<(), Refusal> {
    match read(asked)? {
        Asked::Jsonl(seen) => json_lines(stores, seen, answer),
        Asked::Archive(content) => archive(stores, &content, answer),
        Asked::Canonical(one) => canonical(stores, &one, answer),
        Asked::Blob(one) => download_blob(stores, &one, answer),
    }
}

fn attachment(answer: &mut dyn Answer, name: String) {
    answer.set_form(Form::Attachment { name, size: None });
}

/// What is seen, a record a line (docs/format/jsonl.md).
fn json_lines(
    stores: &Stores,
    Seen { at, range, filter }: Seen,
    answer: &mut dyn Answer,
) -> Result<(), Refusal> {
    let open = stores.open(at.store)?;
    let looked = open.looked(at)?;
    let direction = CursorDirection::from(range.direction);
    let ends = range.ends()?;
    let mut cursor = Cursor::open(looked, &ends.range()?, direction, None)?;
    let filter = Filter::new(filter.as_deref());
    attachment(
        answer,
        format!("{}.jsonl", looked.object_store.name.to_string_lossy()),
    );
    let mut out = BufWriter::with_capacity(BUFFER_BYTES, answer);
    let mut lines = JsonLines::new(&mut out, &open.origin);
    lines.object_store(looked.database, looked.object_store)?;
    let mut reader = ValueReader::new(looked.store, looked.database.id, looked.object_store);
    while cursor.advance(&mut |_| ())? {
        let key = cursor.primary_key().map_err(refused)?;
        let bytes = match cursor.value() {
            Ok(bytes) => bytes,
            Err(error) if error.kind() == ErrorKind::Corruption => {
                lines.record(key, &[], Err(&error.to_string()))?;
                continue;
            }
            Err(error) => return Err(refused(error)),
        };
        let written = reader.read(key, bytes, |tree, objects| {
            if !filter.passes(key, tree, objects) {
                return Ok(());
            }
            let of =
                |object| Ok(SavedObject::describe(looked.store, looked.database.id, object)?.0);
            let objects: io::Result<Vec<SavedObject>> = objects.iter().map(of).collect();
            lines.record(key, bytes, Ok((tree, &objects?)))
        });
        match written {
            Ok(written) => written?,
            Err(error) => lines.record(key, bytes, Err(&error.to_string()))?,
        }
    }
    out.flush()?;
    Ok(())
}

/// An archive in one file (docs/format/archive.md), which is made whole first: it ends with what could not be read.
fn archive(stores: &Stores, content: &Content, mut answer: &mut dyn Answer) -> Result<(), Refusal> {
    let number = content
        .store
        .ok_or_else(|| Refusal::Malformed("store is missing".to_owned()))?;
    let open = stores.open(number)?;
    let selection = open.selection(content)?;
    let folder = tempfile::tempdir().map_err(failed)?;
    let path = folder.path().join("archive.jsonl");
    let fs = Arc::new(DiskFileSystem::new());
    let mut writer = ArchiveWriter::begin(fs, &path, ArchiveForm::File).map_err(failed)?;
    let said = Said::default();
    let (mut report, mut progress) = (said.report(), Progress::new(true));
    let mut scan = Scan::new(&open.store, &selection, &mut report, &mut progress);
    let leveldb = &open.store.paths().leveldb;
    let source = Source {
        origin: &open.origin.shown,
        identifier: open.origin.identifier(),
        bucket: open.origin.bucket.as_deref(),
        folder: std::path::Path::new(leveldb.file_name().unwrap_or_default()),
    };
    writer
        .store(&mut scan, &source)
        .map_err(|stop| match stop {
            Stop::Output(error) => failed(error),
            Stop::Store(error) => refused(error),
        })?;
    writer.finish().map_err(failed)?;
    let name = open.origin.shown.replace("://", "_").replace(':', "_");
    attachment(answer, format!("{name}.jsonl"));
    // A temporary file of ours.
    #[expect(
        clippy::disallowed_methods,
        reason = "a root, and its own temporary file"
    )]
    let mut file = std::fs::File::open(&path).map_err(failed)?;
    io::copy(&mut file, &mut answer)?;
    Ok(())
}

/// One record's value, whole (docs/format/canonical.md).
fn canonical(stores: &Stores, one: &OneRecord, mut answer: &mut dyn Answer) -> Result<(), Refusal> {
    let open = stores.open(one.at.store)?;
    let looked = open.looked(one.at)?;
    let version = Version::of(looked, one)?;
    let browser = Browser::of_schema(looked.store.schema_version());
    attachment(answer, "record.json".to_owned());
    let mut waiting = Vec::new();
    let written = version.read(|tree, objects| {
        let mut blobs = StoreBlobs {
            store: looked.store,
            database_id: looked.database.id,
            objects,
        };
        stream_value(&mut answer, &mut waiting, tree, &mut blobs, browser)
    });
    // What is wrong with blobs stands where they are.
    let _problems = written.map_err(unreadable)??;
    waiting.push(b'\n');
    answer.write_all(&waiting)?;
    Ok(())
}
