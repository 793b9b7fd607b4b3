//! `counts`: how many records there are, and how large they are.

use larder_backing_store::{CursorDirection, KeyRange};
use larder_view::{Answer, Form, Refusal};
use serde_json::{Value, json};

use super::answer_line;
use super::asked::{InStore, read};
use super::records::advance;
use super::stores::Stores;

/// After so many rows a line says how far it is.
const ROWS_A_LINE: u64 = 20_000;

pub(super) fn counts(
    stores: &Stores,
    asked: &Value,
    answer: &mut dyn Answer,
) -> Result<(), Refusal> {
    let at: InStore = read(asked)?;
    let open = stores.open(at.store)?;
    let looked = open.looked(at)?;
    answer.set_form(Form::Lines);
    let (database, object_store) = (looked.database.id, looked.object_store.id);
    let (mut records, mut bytes) = (0_u64, 0_u64);
    let mut passed = 0_u64;
    let mut cursor = looked
        .store
        .records(database, object_store, CursorDirection::Next);
    while advance(&mut |_| (), || cursor.next())? {
        records += 1;
        // A value that cannot be read now counts without its bytes.
        let value = cursor.value().map_or(0, <[u8]>::len);
        bytes += (cursor.row_key().len() + value) as u64;
        passed += 1;
        if passed.is_multiple_of(ROWS_A_LINE) {
            answer_line(answer, &json!({"records": records, "bytes": bytes}))?;
        }
    }
    let mut indexes = Vec::new();
    for index in &looked.object_store.indexes {
        let mut entries = 0_u64;
        let mut cursor = looked.store.index_keys_in(
            database,
            object_store,
            index.id,
            &KeyRange::ALL,
            CursorDirection::Next,
        );
        while advance(&mut |_| (), || cursor.next())? {
            entries += 1;
            passed += 1;
            if passed.is_multiple_of(ROWS_A_LINE) {
                answer_line(answer, &json!({"records": records, "bytes": bytes}))?;
            }
        }
        indexes.push((index.id.get(), entries));
    }
    answer_line(
        answer,
        &json!({"done": true, "records": records, "bytes": bytes, "indexes": indexes}),
    )
}
