//! `row`: where a record comes from.

use larder_codec::row_key::RecordTable;
use larder_codec::value::Envelope;
use larder_view::{Answer, Refusal};
use serde::Deserialize;
use serde_json::{Value, json};

use super::answer_json;
use super::asked::{OneRecord, read};
use super::fate::Fate;
use super::shown::limited;
use super::stores::{Stores, engine};
use super::version::{Version, each_row, row_key};
use crate::display::{Hex, Size};

/// So many bytes come at once.
const BYTES_MAX: usize = 4096;
/// So many older rows are listed.
const HISTORY_MAX: usize = 100;

#[derive(Deserialize)]
struct Asked {
    #[serde(flatten)]
    one: OneRecord,
    #[serde(default)]
    offset: usize,
}

pub(super) fn row(stores: &Stores, asked: &Value, answer: &mut dyn Answer) -> Result<(), Refusal> {
    let Asked { one, offset } = read(asked)?;
    let open = stores.open(one.at.store)?;
    let looked = open.looked(one.at)?;
    let version = Version::of(looked, &one)?;
    let bytes = &*version.value;
    let shown = bytes.get(offset..).unwrap_or_default();
    let shown = shown.get(..BYTES_MAX).unwrap_or(shown);
    let key = row_key(looked, version.primary_key, RecordTable::Data);
    let mut row = json!({
        "rowKeyHex": limited(Hex(&key), 2 * BYTES_MAX),
        "size": bytes.len(),
        "offset": offset,
        "hex": Hex(shown).to_string(),
        "envelope": envelope(bytes),
    });
    if let Some(number) = version.number {
        row["version"] = number.into();
    }
    // Further bytes come from the same row.
    if offset > 0 {
        return answer_json(answer, &row);
    }
    let mut history = Vec::new();
    each_row(
        looked,
        version.primary_key,
        RecordTable::Data,
        |fate, entry| {
            let is_this = match one.sequence {
                Some(sequence) => entry.sequence() == sequence,
                None => fate == Fate::Live,
            };
            if is_this {
                row["sequence"] = entry.sequence().into();
                row["file"] = entry.file_name().into();
            }
            history.push(json!({
                "sequence": entry.sequence(),
                "state": fate.name(),
                "file": entry.file_name(),
                "size": entry.value().map_err(engine)?.len(),
            }));
            Ok(history.len() < HISTORY_MAX)
        },
    )?;
    row["history"] = history.into();
    answer_json(answer, &row)
}

/// What is around V8's bytes, in words.
fn envelope(bytes: &[u8]) -> Vec<(String, String)> {
    let mut said = Vec::new();
    let mut say = |what: &str, how: String| said.push((what.to_owned(), how));
    if bytes.starts_with(&[0xff, 0x11, 0x02]) {
        say("compression", "Snappy".to_owned());
    }
    let mut buffer = Vec::new();
    match Envelope::peel(bytes, &mut buffer) {
        Err(error) => say("not readable", error.to_string()),
        Ok(Envelope::InBlob { size, index }) => {
            let what = format!(
                "the value lies in a blob: external object {index} of the record, {}",
                Size(size)
            );
            say("place", what);
        }
        Ok(Envelope::Inline(payload)) => {
            let versions = payload.versions();
            say("Blink's version", versions.blink.to_string());
            say("V8's version", versions.v8.to_string());
            let trailer = payload.trailer();
            if !trailer.is_empty() {
                say(
                    "trailer",
                    format!(
                        "{} bytes: the interfaces that a reader needs",
                        trailer.len()
                    ),
                );
            }
            if buffer.len() > bytes.len() {
                say("unpacked", Size(buffer.len() as u64).to_string());
            }
        }
    }
    said
}
