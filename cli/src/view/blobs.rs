//! `blob`: the content of a blob or file.

use std::io::{self, Read};

use larder_codec::external_object::{BlobInfo, ExternalObject};
use larder_view::{Answer, Form, Refusal};
use serde::Deserialize;
use serde_json::Value;

use super::asked::{OneRecord, read};
use super::record::unreadable;
use super::stores::{Looked, OpenStore, Stores, refused};
use super::version::Version;

/// A blob or file of a record.
#[derive(Deserialize)]
pub(super) struct OneBlob {
    #[serde(flatten)]
    pub(super) one: OneRecord,
    object: usize,
    length: Option<u64>,
}

pub(super) fn blob(
    stores: &Stores,
    asked: &Value,
    mut answer: &mut dyn Answer,
) -> Result<(), Refusal> {
    let asked: OneBlob = read(asked)?;
    let open = stores.open(asked.one.at.store)?;
    let (object, mut content) = opened(&open, &asked)?;
    drop(object);
    answer.set_form(Form::Bytes);
    let most = asked.length.unwrap_or(u64::MAX);
    io::copy(&mut (&mut content).take(most), &mut answer)?;
    Ok(())
}

/// As an attachment, under the name of the file.
pub(super) fn download(
    stores: &Stores,
    asked: &OneBlob,
    mut answer: &mut dyn Answer,
) -> Result<(), Refusal> {
    let open = stores.open(asked.one.at.store)?;
    let (object, mut content) = opened(&open, asked)?;
    let (blob, name) = match &object {
        ExternalObject::File { blob, name, .. } => (blob, Some(name.to_string_lossy())),
        ExternalObject::Blob(blob) => (blob, None),
        ExternalObject::FileSystemAccessHandle { .. } => return Err(nothing()),
    };
    answer.set_form(Form::Attachment {
        name: name.map_or_else(|| name_of(blob, asked.object), Into::into),
        size: u64::try_from(blob.size_bytes).ok(),
    });
    io::copy(&mut content, &mut answer)?;
    Ok(())
}

/// A name for a blob, which has none: with the ending by which programs know its type.
fn name_of(blob: &BlobInfo, number: usize) -> String {
    let mime = blob.mime_type.to_string_lossy();
    let mime = mime.split(';').next().unwrap_or_default().trim();
    let ending = ENDINGS
        .iter()
        .find(|(known, _)| mime.eq_ignore_ascii_case(known));
    match ending {
        Some((_, ending)) => format!("blob-{number}.{ending}"),
        None => format!("blob-{number}"),
    }
}

/// The types that apps keep most.
const ENDINGS: [(&str, &str); 22] = [
    ("application/gzip", "gz"),
    ("application/json", "json"),
    ("application/pdf", "pdf"),
    ("application/xml", "xml"),
    ("application/zip", "zip"),
    ("audio/mp4", "m4a"),
    ("audio/mpeg", "mp3"),
    ("audio/ogg", "ogg"),
    ("audio/wav", "wav"),
    ("audio/webm", "weba"),
    ("image/avif", "avif"),
    ("image/bmp", "bmp"),
    ("image/gif", "gif"),
    ("image/jpeg", "jpg"),
    ("image/png", "png"),
    ("image/svg+xml", "svg"),
    ("image/webp", "webp"),
    ("text/csv", "csv"),
    ("text/html", "html"),
    ("text/plain", "txt"),
    ("video/mp4", "mp4"),
    ("video/webm", "webm"),
];

fn nothing() -> Refusal {
    Refusal::NotFound("the record has no content there".to_owned())
}

fn opened(
    open: &OpenStore,
    asked: &OneBlob,
) -> Result<(ExternalObject, impl Read + use<>), Refusal> {
    let looked: Looked<'_> = open.looked(asked.one.at)?;
    let version = Version::of(looked, &asked.one)?;
    let object = version.read(|_, objects| objects.get(asked.object).cloned());
    let object = object.map_err(unreadable)?.ok_or_else(nothing)?;
    let blob: &BlobInfo = match &object {
        ExternalObject::Blob(blob) | ExternalObject::File { blob, .. } => blob,
        ExternalObject::FileSystemAccessHandle { .. } => return Err(nothing()),
    };
    let content = looked
        .store
        .open_blob(looked.database.id, blob)
        .map_err(refused)?;
    Ok((object, content))
}
