//! Calls about cursors.

use larder_idb::Result;

use super::{Answered, DONE, reply};
use crate::answers::write_value;
use crate::calls::writes;
use crate::instance::Instance;
use crate::outcome::Asked;
use crate::wire::Ask;

pub(super) fn key(instance: &Instance, number: u32, memory: &mut [u8]) -> Result<Answered> {
    let (cursor, ..) = instance.handles.cursor(number)?;
    Ok(reply(memory, |reply| {
        reply.key(cursor.raw_key());
        0
    }))
}

pub(super) fn primary_key(instance: &Instance, number: u32, memory: &mut [u8]) -> Result<Answered> {
    let (cursor, ..) = instance.handles.cursor(number)?;
    Ok(reply(memory, |reply| {
        reply.key(cursor.raw_primary_key());
        0
    }))
}

/// 1 and the value, or 0 if the cursor was opened for keys.
pub(super) fn value(instance: &Instance, number: u32, memory: &mut [u8]) -> Result<Answered> {
    let (cursor, _, contents) = instance.handles.cursor(number)?;
    if cursor.is_key_cursor() {
        return Ok(Answered::Number(0));
    }
    let record = cursor.record();
    Ok(reply(memory, |reply| {
        write_value(reply, record.value(), record.objects(), contents);
        1
    }))
}

/// Request, cursor, whether there is a key; the key.
pub(super) fn next(instance: &mut Instance, mut ask: Ask<'_>) -> Result<Answered> {
    let number = ask.word(2);
    let (cursor, queue, _) = instance.handles.cursor(number)?;
    let asked = match ask.flag(3) {
        true => cursor.continue_to(ask.key()?)?,
        false => cursor.next()?,
    };
    instance
        .queues
        .push(queue, ask.word(1), Asked::Moved(number, asked), false);
    Ok(DONE)
}

/// Request, cursor; key, primary key.
pub(super) fn next_primary_key(instance: &mut Instance, mut ask: Ask<'_>) -> Result<Answered> {
    let number = ask.word(2);
    let (cursor, queue, _) = instance.handles.cursor(number)?;
    let key = ask.key()?;
    let asked = cursor.continue_primary_key(key, ask.key()?)?;
    instance
        .queues
        .push(queue, ask.word(1), Asked::Moved(number, asked), false);
    Ok(DONE)
}

/// Steps that the scripts' thread makes at once.
const FEW: u32 = 128;

/// Request, cursor, count.
pub(super) fn advance(instance: &mut Instance, ask: Ask<'_>) -> Result<Answered> {
    let (number, count) = (ask.word(2), ask.word(3));
    let (cursor, queue, _) = instance.handles.cursor(number)?;
    let asked = Asked::Moved(number, cursor.advance(count)?);
    instance.queues.push(queue, ask.word(1), asked, count > FEW);
    Ok(DONE)
}

/// Request, cursor; the value.
pub(super) fn update(instance: &mut Instance, mut ask: Ask<'_>) -> Result<Answered> {
    let value = writes::value(instance, &mut ask)?;
    let (cursor, queue, _) = instance.handles.cursor(ask.word(2))?;
    let asked = Asked::Key(cursor.update(value)?);
    instance.queues.push(queue, ask.word(1), asked, false);
    Ok(DONE)
}

/// Request, cursor.
pub(super) fn delete(instance: &mut Instance, ask: Ask<'_>) -> Result<Answered> {
    let (cursor, queue, _) = instance.handles.cursor(ask.word(2))?;
    let asked = Asked::Nothing(cursor.delete()?);
    instance.queues.push(queue, ask.word(1), asked, false);
    Ok(DONE)
}
