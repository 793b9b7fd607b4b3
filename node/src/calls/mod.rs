//! What JavaScript asks: the first word of the head says what.

mod cursors;
mod databases;
pub(crate) mod engines;
mod feeds;
mod reads;
mod schema;
mod transactions;
mod writes;

use larder_idb::{Error, ErrorName, Result};

use crate::instance::Instance;
use crate::wire::{Ask, Reply};

/// What a call has come to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Answered {
    /// The answer lies in the memory.
    Number(i32),
    /// It takes so many bytes, and nothing has happened.
    TooSmall(usize),
}

/// A handle as the result of a call.
fn handle(number: u32) -> Result<Answered> {
    i32::try_from(number)
        .map(Answered::Number)
        .map_err(|_| Error::new(ErrorName::UnknownError, "too many handles"))
}

const DONE: Answered = Answered::Number(0);

/// Writes an answer that is made anew if it does not fit.
fn reply(memory: &mut [u8], write: impl FnOnce(&mut Reply<'_>) -> i32) -> Answered {
    let mut reply = Reply::into_memory(memory);
    let number = write(&mut reply);
    match reply.fits() {
        true => Answered::Number(number),
        false => Answered::TooSmall(reply.len()),
    }
}

/// Does what lies in the memory.
pub(crate) fn call(instance: &mut Instance, memory: &mut [u8]) -> Result<Answered> {
    let ask = Ask::read(memory);
    match ask.word(0) {
        0 => instance.next_answer(memory),
        1 => reads::get(instance, ask),
        2 => writes::put(instance, ask),
        3 => cursors::key(instance, ask.word(1), memory),
        4 => cursors::primary_key(instance, ask.word(1), memory),
        5 => cursors::value(instance, ask.word(1), memory),
        6 => cursors::next(instance, ask),
        7 => instance.more(memory),
        8 => reads::get_key(instance, ask),
        9 => reads::count(instance, ask),
        10 => reads::get_all(instance, ask),
        11 => reads::open_cursor(instance, ask),
        12 => cursors::next_primary_key(instance, ask),
        13 => cursors::advance(instance, ask),
        14 => cursors::update(instance, ask),
        15 => cursors::delete(instance, ask),
        16 => writes::delete(instance, ask),
        17 => writes::clear(instance, ask),
        18 => transactions::begin(instance, ask),
        19 => transactions::watch(instance, ask),
        20 => transactions::commit(instance, ask),
        21 => transactions::abort(instance, ask),
        22 => schema::object_store(instance, memory),
        23 => schema::create_object_store(instance, ask),
        24 => schema::delete_object_store(instance, ask),
        25 => schema::rename_object_store(instance, ask),
        26 => schema::index_names(instance, ask.word(1), memory),
        27 => schema::index(instance, memory),
        28 => schema::create_index(instance, ask),
        29 => schema::delete_index(instance, ask),
        30 => schema::rename_index(instance, ask),
        31 => databases::open(instance, ask),
        32 => databases::delete(instance, ask),
        33 => databases::list(instance, ask),
        34 => databases::watch(instance, ask),
        35 => databases::dispatched(instance, ask),
        36 => databases::close(instance, ask),
        37 => databases::object_store_names(instance, ask.word(1), memory),
        38 => databases::release(instance, ask),
        39 => databases::compare(ask),
        40 => databases::force_close(instance, ask),
        41 => writes::content(instance, ask),
        42 => engines::open_folder(instance, ask),
        43 => engines::open_memory(instance),
        44 => engines::close(instance, ask),
        45 => engines::reset(instance, ask),
        46 => feeds::set(instance, ask),
        47 => feeds::open(instance, ask),
        48 => feeds::next(instance, ask),
        49 => feeds::acknowledge(instance, ask),
        50 => feeds::stop(instance, ask),
        _ => Err(Error::new(
            ErrorName::UnknownError,
            "internal error: no such call",
        )),
    }
}
