//! Calls about transactions.

use larder_idb::{
    Error, ErrorName, Result, TransactionDurability, TransactionMode, TransactionOptions,
};

use super::{Answered, DONE, handle};
use crate::handles::Handle;
use crate::inbox::Arrival;
use crate::instance::Instance;
use crate::wire::Ask;

/// Connection, whether it writes, durability (0 default, 1 strict, 2 relaxed); names.
pub(super) fn begin(instance: &mut Instance, mut ask: Ask<'_>) -> Result<Answered> {
    let mode = match ask.flag(2) {
        true => TransactionMode::ReadWrite,
        false => TransactionMode::ReadOnly,
    };
    let durability = match ask.word(3) {
        1 => TransactionDurability::Strict,
        2 => TransactionDurability::Relaxed,
        _ => TransactionDurability::Default,
    };
    let names = ask.strings()?;
    let options = TransactionOptions::new().durability(durability);
    let (connection, engine) = instance.handles.connection(ask.word(1))?;
    let transaction = connection.transaction(&names, mode, options)?;
    let name = connection.name().clone();
    let writes = mode == TransactionMode::ReadWrite;
    let queue = instance.queues.add(engine, name, names, writes);
    handle(
        instance
            .handles
            .all
            .add(Handle::Transaction(transaction, queue)),
    )
}

pub(super) fn watch(instance: &mut Instance, ask: Ask<'_>) -> Result<Answered> {
    let (transaction, queue) = instance.handles.transaction(ask.word(1))?;
    instance.queues.watch(queue, ask.word(2));
    let inbox = instance.inbox.clone();
    transaction
        .finished()
        .on_done(move |end| inbox.put(Arrival::End(queue, end)));
    Ok(DONE)
}

/// A thread of the storage's commits what was written. The engine may have ended it already; then its end is reported anyway.
pub(super) fn commit(instance: &mut Instance, ask: Ask<'_>) -> Result<Answered> {
    let (transaction, queue) = instance.handles.transaction(ask.word(1))?;
    instance.queues.note_commit(queue);
    if let Ok(mut committing) = transaction.commit() {
        // Where there is nothing to write, no thread need be woken.
        if transaction.mode() == TransactionMode::ReadOnly {
            let _ = committing.try_execute();
        }
        committing.detach();
    }
    Ok(DONE)
}

/// Transaction, whether there is an error; its name and message.
pub(super) fn abort(instance: &mut Instance, mut ask: Ask<'_>) -> Result<Answered> {
    let error = match ask.flag(2) {
        true => {
            let name = ask.text()?;
            Some(Error::new(error_name(&name), ask.text()?))
        }
        false => None,
    };
    // It may have ended already.
    drop(instance.handles.transaction(ask.word(1))?.0.abort(error));
    Ok(DONE)
}

/// The engine's name of an exception that aborts a transaction; a name that the engine does not have becomes an abort.
fn error_name(name: &str) -> ErrorName {
    let known = [
        ErrorName::ConstraintError,
        ErrorName::DataError,
        ErrorName::NotReadableError,
        ErrorName::QuotaExceededError,
        ErrorName::UnknownError,
    ];
    known
        .into_iter()
        .find(|known| known.as_str() == name)
        .unwrap_or(ErrorName::AbortError)
}
