//! Calls that write records, with the blobs in them.

use std::sync::Arc;

use larder_idb::{BlobSource, NewExternalObject, Result, Value};

use super::reads::range;
use super::{Answered, DONE};
use crate::answers::UNIX_EPOCH_US;
use crate::instance::Instance;
use crate::outcome::Asked;
use crate::sources::Source;
use crate::wire::Ask;

/// Request, store, whether it may replace, whether there is a key; value, key.
pub(super) fn put(instance: &mut Instance, mut ask: Ask<'_>) -> Result<Answered> {
    let value = value(instance, &mut ask)?;
    let key = ask.flag(4).then(|| ask.key()).transpose()?;
    let (store, queue) = instance.handles.store(ask.word(2))?;
    let asked = match ask.flag(3) {
        true => store.put(value, key)?,
        false => store.add(value, key)?,
    };
    instance
        .queues
        .push(queue, ask.word(1), Asked::Key(asked), false);
    Ok(DONE)
}

/// A value: its objects, with the number that each blob's content gets, which the answer has (`js/engine/blobs.js`); its bytes.
pub(super) fn value(instance: &mut Instance, ask: &mut Ask<'_>) -> Result<Value> {
    let count = ask.count()?;
    let mut objects = Vec::new();
    for _ in 0..count {
        objects.push(object(instance, ask)?);
    }
    let length = ask.count()?;
    let value = Value::from_bytes(ask.bytes(length)?.to_vec());
    Ok(match objects.is_empty() {
        true => value,
        false => value.and_objects(objects),
    })
}

/// A kind (0 blob, 1 file, 2 handle); of a blob its type, size and the number of its content, of a file name and time as well.
fn object(instance: &mut Instance, ask: &mut Ask<'_>) -> Result<NewExternalObject> {
    let kind = ask.byte()?;
    if kind == 2 {
        let length = ask.count()?;
        return Ok(NewExternalObject::FileSystemAccessHandle {
            token: ask.bytes(length)?.to_vec(),
        });
    }
    let mime_type = ask.string()?;
    // A whole number of bytes.
    let source = Arc::new(Source::new(ask.number()? as u64));
    let number = ask.count()?;
    instance.sources.insert(number, Arc::clone(&source));
    let content: Arc<dyn BlobSource> = source;
    if kind == 0 {
        return Ok(NewExternalObject::Blob { mime_type, content });
    }
    let name = ask.string()?;
    let last_modified_micros = (ask.number()? * 1000.0 + UNIX_EPOCH_US) as i64;
    Ok(NewExternalObject::File {
        mime_type,
        content,
        name,
        last_modified_micros,
    })
}

/// Number of a content, whether this is all, whether it has failed; bytes, or why.
pub(super) fn content(instance: &mut Instance, mut ask: Ask<'_>) -> Result<Answered> {
    let number = ask.word(1) as usize;
    let Some(source) = instance.sources.get(&number) else {
        return Ok(DONE);
    };
    if ask.flag(3) {
        source.fail(ask.text()?);
    } else {
        let length = ask.count()?;
        source.add(ask.bytes(length)?, ask.flag(2));
    }
    if ask.flag(2) || ask.flag(3) {
        instance.sources.remove(&number);
    }
    Ok(DONE)
}

/// Request, store, bits of the range; its keys.
pub(super) fn delete(instance: &mut Instance, mut ask: Ask<'_>) -> Result<Answered> {
    let flags = ask.word(3);
    let (range, is_one) = range(&mut ask, flags)?;
    let (store, queue) = instance.handles.store(ask.word(2))?;
    let asked = Asked::Nothing(store.delete(range)?);
    instance.queues.push(queue, ask.word(1), asked, !is_one);
    Ok(DONE)
}

/// Request, store.
pub(super) fn clear(instance: &mut Instance, ask: Ask<'_>) -> Result<Answered> {
    let (store, queue) = instance.handles.store(ask.word(2))?;
    let asked = Asked::Nothing(store.clear()?);
    instance.queues.push(queue, ask.word(1), asked, true);
    Ok(DONE)
}
