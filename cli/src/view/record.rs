//! `record`, `json`: one record whole.

use std::io;

use larder_backing_store::last_modified_ms;
use larder_codec::external_object::ExternalObject;
use larder_view::{Answer, Refusal};
use serde::Deserialize;
use serde_json::{Value, json};

use super::asked::{InStore, OneRecord, read};
use super::fate::Fate;
use super::shown::key;
use super::stores::{Looked, Stores};
use super::version::Version;
use super::{answer_json, failed};
use crate::canonical::{Browser, Limits, limited_value};
use crate::external_blob::{BlobSource, ExternalBlob};
use crate::record::{ValueError, external_blob};
use crate::value_json::push_value;

/// How much of a value comes unless more is asked for, and at most.
const LIMITS: Limits = Limits {
    string_units: 16 << 10,
    bytes: 4 << 10,
    nodes: 5_000,
};
const LIMITS_MAX: Limits = Limits {
    string_units: 8 << 20,
    bytes: 8 << 20,
    nodes: 500_000,
};
/// So much text of one value is copied.
const JSON_MAX: usize = 8 << 20;

#[derive(Deserialize)]
struct Asked {
    #[serde(flatten)]
    one: OneRecord,
    strings: Option<usize>,
    bytes: Option<usize>,
    nodes: Option<usize>,
}

impl Asked {
    fn limits(&self) -> Limits {
        let limit =
            |asked: Option<usize>, usual: usize, most: usize| asked.unwrap_or(usual).min(most);
        Limits {
            string_units: limit(self.strings, LIMITS.string_units, LIMITS_MAX.string_units),
            bytes: limit(self.bytes, LIMITS.bytes, LIMITS_MAX.bytes),
            nodes: limit(self.nodes, LIMITS.nodes, LIMITS_MAX.nodes),
        }
    }
}

/// The value as far as the limits go, and what it refers to.
pub(super) fn record(
    stores: &Stores,
    asked: &Value,
    answer: &mut dyn Answer,
) -> Result<(), Refusal> {
    let asked: Asked = read(asked)?;
    let open = stores.open(asked.one.at.store)?;
    let looked = open.looked(asked.one.at)?;
    let version = Version::of(looked, &asked.one)?;
    let mut head = json!({
        "primaryKey": key(version.primary_key),
        "primaryKeyHex": stores.long_keys.shown(version.primary_key.as_bytes()),
        "size": version.value.len(),
    });
    if version.fate != Fate::Live {
        head["past"] = version.fate.name().into();
    }
    let browser = Browser::of_schema(looked.store.schema_version());
    let (mut external, mut problems) = (Vec::new(), Vec::new());
    // The value is written as it is read: it may be large.
    let mut begin = serde_json::to_vec(&head).map_err(failed)?;
    begin.pop();
    begin.extend_from_slice(b",\"value\":");
    answer.write_all(&begin)?;
    let read = version.read(|tree, objects| {
        external = objects
            .iter()
            .enumerate()
            .map(|(number, object)| listed(looked, number, object))
            .collect();
        let mut unopened = Unopened { objects };
        limited_value(answer, tree, &mut unopened, browser, asked.limits())
    });
    match read {
        Ok(written) => written?,
        Err(error) => {
            answer.write_all(b"null")?;
            problems.push(error.to_string());
        }
    }
    let rest = json!({"objects": external, "problems": problems});
    let rest = serde_json::to_vec(&rest).map_err(failed)?;
    answer.write_all(b",")?;
    answer.write_all(rest.get(1..).unwrap_or_default())?;
    Ok(())
}

/// An external object of a record.
fn listed(looked: Looked<'_>, number: usize, object: &ExternalObject) -> Value {
    let (kind, blob, file) = match object {
        ExternalObject::Blob(blob) => ("Blob", Some(blob), None),
        ExternalObject::File {
            blob,
            name,
            last_modified_micros,
        } => ("File", Some(blob), Some((name, last_modified_micros))),
        ExternalObject::FileSystemAccessHandle { .. } => ("FileSystemHandle", None, None),
    };
    let mut listed = json!({"object": number, "kind": kind, "type": "", "size": 0});
    if let Some((name, modified)) = file {
        listed["name"] = super::tree::name(name);
        listed["lastModified"] = last_modified_ms(*modified).into();
    }
    if let Some(blob) = blob {
        listed["type"] = blob.mime_type.to_string_lossy().into();
        listed["size"] = blob.size_bytes.max(0).into();
        if let Err(error) = looked.store.open_blob(looked.database.id, blob) {
            listed["error"] = error.to_string().into();
        }
    }
    listed
}

/// What the list says of external objects, without their contents.
struct Unopened<'o> {
    objects: &'o [ExternalObject],
}

impl BlobSource for Unopened<'_> {
    fn open(&mut self, index: u32) -> io::Result<Option<ExternalBlob<'_>>> {
        external_blob(self.objects, index, |_| Ok(Box::new(io::empty())))
    }
}

/// The value as JSON, for a clipboard.
pub(super) fn json(stores: &Stores, asked: &Value, answer: &mut dyn Answer) -> Result<(), Refusal> {
    let one: OneRecord = read(asked)?;
    let text = json_text(stores, &one)?;
    answer_json(answer, &json!({"json": text}))
}

fn json_text(stores: &Stores, one: &OneRecord) -> Result<String, Refusal> {
    let at: InStore = one.at;
    let open = stores.open(at.store)?;
    let looked = open.looked(at)?;
    let version = Version::of(looked, one)?;
    let mut line = Vec::new();
    let pushed = version.read(|tree, _| push_value(&mut line, tree));
    pushed.map_err(unreadable)?.map_err(failed)?;
    if line.len() > JSON_MAX {
        let what = "the value is too long for the clipboard: download it";
        return Err(Refusal::Failed(what.to_owned()));
    }
    String::from_utf8(line).map_err(failed)
}

pub(super) fn unreadable(error: ValueError) -> Refusal {
    Refusal::Failed(error.to_string())
}
