//! The rows of a blob, file or file system handle.

use std::io::{self, Read};

use larder_codec::JsString;
use larder_codec::external_object::{BlobInfo, ExternalObject};
use rusqlite::{Connection, params};

/// Bytes in a row: Chromium takes every row but the last to have as many, and never ends reading a blob of which one has fewer.
const PIECE_LEN: usize = 5 << 20;

/// Writes an external object of a record: the number of bytes that its content has, or why it could not be read. Without a row id of its own it
/// gets the next one.
///
/// A content that is missing leaves a row without bytes: a page sees the blob, and cannot read it, as in a LevelDB store.
pub(crate) fn write(
    connection: &Connection,
    (row_id, record_row_id): (Option<i64>, i64),
    object: &ExternalObject,
    content: io::Result<&mut dyn Read>,
) -> rusqlite::Result<io::Result<u64>> {
    let mut piece = Vec::new();
    let next_piece = |content: &mut dyn Read, piece: &mut Vec<u8>| {
        piece.clear();
        content.take(PIECE_LEN as u64).read_to_end(piece)
    };
    let (mut content, mut read) = match content {
        Ok(content) => {
            let read = next_piece(content, &mut piece);
            (Some(content), read)
        }
        Err(error) => (None, Err(error)),
    };
    let first = read.is_ok().then_some(&*piece);
    let row_id = insert(connection, row_id, object, first)?;
    let reference = "INSERT INTO blob_references (blob_row_id, record_row_id) VALUES (?1, ?2)";
    connection
        .prepare_cached(reference)?
        .execute([row_id, record_row_id])?;
    let mut len = piece.len() as u64;
    let mut number = 0_i64;
    while let (Ok(PIECE_LEN), Some(content)) = (&read, &mut content) {
        read = next_piece(*content, &mut piece);
        number += 1;
        if read.is_ok() && !piece.is_empty() {
            let sql = "INSERT INTO overflow_blob_chunks (blob_row_id, chunk_index, bytes) VALUES (?1, ?2, ?3)";
            connection
                .prepare_cached(sql)?
                .execute(params![row_id, number, piece])?;
            len += piece.len() as u64;
        }
    }
    if let Err(error) = read {
        take_back(connection, row_id)?;
        return Ok(Err(error));
    }
    if let ExternalObject::Blob(blob) | ExternalObject::File { blob, .. } = object
        && u64::try_from(blob.size_bytes) != Ok(len)
    {
        let sql = "UPDATE blobs SET size_bytes = ?2 WHERE row_id = ?1";
        connection.execute(sql, params![row_id, len as i64])?;
    }
    Ok(Ok(len))
}

/// Inserts the row, with the first piece of the content, if that can be read.
fn insert(
    connection: &Connection,
    row_id: Option<i64>,
    object: &ExternalObject,
    first: Option<&[u8]>,
) -> rusqlite::Result<i64> {
    let sql = "INSERT INTO blobs (row_id, object_type, mime_type, size_bytes, file_name, last_modified, bytes) \
               VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)";
    let mut statement = connection.prepare_cached(sql)?;
    let text = JsString::to_string_lossy;
    match object {
        ExternalObject::Blob(BlobInfo {
            mime_type,
            size_bytes,
            ..
        }) => {
            let mime_type = text(mime_type);
            statement.insert(params![
                row_id,
                0,
                mime_type,
                size_bytes,
                None::<&str>,
                None::<i64>,
                first
            ])
        }
        ExternalObject::File {
            blob,
            name,
            last_modified_micros,
        } => {
            let (mime_type, name) = (text(&blob.mime_type), text(name));
            let (size, time) = (blob.size_bytes, last_modified_micros);
            statement.insert(params![row_id, 1, mime_type, size, name, time, first])
        }
        ExternalObject::FileSystemAccessHandle { token } => {
            let none = None::<i64>;
            statement.insert(params![row_id, 2, none, none, none, none, token])
        }
    }
}

/// Takes back what was written of a content that could not be read to its end.
fn take_back(connection: &Connection, row_id: i64) -> rusqlite::Result<()> {
    connection.execute("UPDATE blobs SET bytes = NULL WHERE row_id = ?1", [row_id])?;
    let sql = "DELETE FROM overflow_blob_chunks WHERE blob_row_id = ?1";
    connection.execute(sql, [row_id]).map(drop)
}
