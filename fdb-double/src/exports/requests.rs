//! What a transaction reads, changes and commits.

use super::bytes;
use crate::cluster::{Keys, Mutation};
use crate::errors::{self, Code};
use crate::future::{Handle as FutureHandle, Rows, Value};
use crate::orders;
use crate::transaction::{Handle, Transaction, fault_of_key, fault_of_range, single};
use std::ffi::c_int;
use std::mem::MaybeUninit;
use std::time::Duration;

/// `FDB_TR_OPTION_TIMEOUT`, in milliseconds.
const TIMEOUT: c_int = 500;
/// `FDB_STREAMING_MODE_EXACT`: as many rows as are asked for.
const EXACT: c_int = 0;
/// Streaming modes from -2 on: bytes of a reply at most. Want all, iterator, exact, small, medium, large, serial.
const WANT_ALL: c_int = -2;
const MODES_LEN_MAX: [usize; 7] = [80_000, 4096, usize::MAX, 256, 1000, 4096, 80_000];

#[unsafe(no_mangle)]
extern "C" fn fdb_transaction_destroy(transaction: Box<Handle>) {
    drop(transaction);
}

#[unsafe(no_mangle)]
extern "C" fn fdb_transaction_cancel(transaction: &Handle) {
    transaction.0.end(errors::TRANSACTION_CANCELLED);
}

#[unsafe(no_mangle)]
extern "C" fn fdb_transaction_reset(transaction: &Handle) {
    transaction.0.reset();
}

#[unsafe(no_mangle)]
unsafe extern "C" fn fdb_transaction_set_option(
    transaction: &Handle,
    option: c_int,
    value: *const u8,
    value_len: c_int,
) -> Code {
    // SAFETY: by the header.
    let value = unsafe { bytes(value, value_len) };
    if option != TIMEOUT {
        return 0;
    }
    let Ok(value) = value.try_into() else {
        return errors::CLIENT_INVALID_OPERATION;
    };
    let millis = u64::try_from(i64::from_le_bytes(value)).unwrap_or(0);
    let time = (millis > 0).then(|| Duration::from_millis(millis));
    transaction.0.set_time_max(time);
    0
}

#[unsafe(no_mangle)]
extern "C" fn fdb_transaction_set_read_version(transaction: &Handle, version: i64) {
    transaction.0.set_read_version(version);
}

#[unsafe(no_mangle)]
extern "C" fn fdb_transaction_get_read_version(transaction: &Handle) -> Box<FutureHandle> {
    transaction.0.read(|request, cluster| {
        let version = request.version.unwrap_or_else(|| cluster.read_version());
        request.version = Some(version);
        Ok(Value::Number(version))
    })
}

#[unsafe(no_mangle)]
unsafe extern "C" fn fdb_transaction_get(
    transaction: &Handle,
    key: *const u8,
    key_len: c_int,
    is_snapshot: c_int,
) -> Box<FutureHandle> {
    // SAFETY: by the header.
    let key = unsafe { bytes(key, key_len) };
    transaction.0.read(move |request, cluster| {
        if key.strip_prefix(orders::PREFIX) == Some(b"count") {
            let count = cluster.orders.count.to_string();
            return Ok(Value::Row(Some(count.into_bytes())));
        }
        match fault_of_key(&key) {
            0 => {}
            code => return Err(code),
        }
        let version = request.version.unwrap_or_else(|| cluster.read_version());
        request.version = Some(version);
        if is_snapshot == 0 {
            Transaction::note_read(request, single(&key));
        }
        cluster.get(version, &key).map(Value::Row)
    })
}

/// The key that a selector leads to, if it is one of two kinds: the first one that is not less, or that is greater.
fn select(key: Vec<u8>, or_equal: c_int, offset: c_int) -> Result<Vec<u8>, Code> {
    match (or_equal, offset) {
        (0, 1) => Ok(key),
        (1, 1) => Ok([&key[..], &[0]].concat()),
        _ => Err(errors::CLIENT_INVALID_OPERATION),
    }
}

/// How many rows and bytes a reply has at most.
fn limits(limit: c_int, target_bytes: c_int, mode: c_int) -> Result<(usize, usize), Code> {
    let rows_max = usize::try_from(limit).map_err(|_| errors::CLIENT_INVALID_OPERATION)?;
    if mode == EXACT && rows_max == 0 && target_bytes <= 0 {
        return Err(errors::EXACT_MODE_WITHOUT_LIMITS);
    }
    let at = usize::try_from(mode - WANT_ALL).map_err(|_| errors::CLIENT_INVALID_OPERATION)?;
    let of_mode = *MODES_LEN_MAX
        .get(at)
        .ok_or(errors::CLIENT_INVALID_OPERATION)?;
    let len_max = match usize::try_from(target_bytes) {
        Ok(len @ 1..) => len.min(of_mode),
        _ => of_mode,
    };
    let rows_max = if rows_max == 0 { usize::MAX } else { rows_max };
    Ok((rows_max, len_max))
}

#[unsafe(no_mangle)]
unsafe extern "C" fn fdb_transaction_get_range(
    transaction: &Handle,
    begin: *const u8,
    begin_len: c_int,
    begin_or_equal: c_int,
    begin_offset: c_int,
    end: *const u8,
    end_len: c_int,
    end_or_equal: c_int,
    end_offset: c_int,
    limit: c_int,
    target_bytes: c_int,
    mode: c_int,
    _iteration: c_int,
    is_snapshot: c_int,
    is_reverse: c_int,
) -> Box<FutureHandle> {
    // SAFETY: by the header.
    let begin = unsafe { bytes(begin, begin_len) };
    // SAFETY: by the header.
    let end = unsafe { bytes(end, end_len) };
    transaction.0.read(move |request, cluster| {
        if is_reverse != 0 {
            return Err(errors::CLIENT_INVALID_OPERATION);
        }
        let begin = select(begin, begin_or_equal, begin_offset)?;
        let keys: Keys = begin..select(end, end_or_equal, end_offset)?;
        match fault_of_range(&keys) {
            0 => {}
            code => return Err(code),
        }
        let (rows_max, len_max) = limits(limit, target_bytes, mode)?;
        let version = request.version.unwrap_or_else(|| cluster.read_version());
        request.version = Some(version);
        let page = cluster.page(version, &keys, rows_max, len_max)?;
        if is_snapshot == 0 {
            let end = match page.rows.last() {
                Some((last, _)) if page.has_more => single(last).end,
                _ => keys.end,
            };
            Transaction::note_read(request, keys.start..end);
        }
        Ok(Value::Rows(Rows::new(page)))
    })
}

#[unsafe(no_mangle)]
unsafe extern "C" fn fdb_transaction_set(
    transaction: &Handle,
    key: *const u8,
    key_len: c_int,
    value: *const u8,
    value_len: c_int,
) {
    // SAFETY: by the header.
    let key = unsafe { bytes(key, key_len) };
    // SAFETY: by the header.
    let value = unsafe { bytes(value, value_len) };
    transaction.0.change(Mutation::Set(key, value));
}

#[unsafe(no_mangle)]
unsafe extern "C" fn fdb_transaction_clear(transaction: &Handle, key: *const u8, key_len: c_int) {
    // SAFETY: by the header.
    let key = unsafe { bytes(key, key_len) };
    transaction.0.change(Mutation::Clear(single(&key)));
}

#[unsafe(no_mangle)]
unsafe extern "C" fn fdb_transaction_clear_range(
    transaction: &Handle,
    begin: *const u8,
    begin_len: c_int,
    end: *const u8,
    end_len: c_int,
) {
    // SAFETY: by the header.
    let begin = unsafe { bytes(begin, begin_len) };
    // SAFETY: by the header.
    let end = unsafe { bytes(end, end_len) };
    transaction.0.change(Mutation::Clear(begin..end));
}

#[unsafe(no_mangle)]
unsafe extern "C" fn fdb_transaction_add_conflict_range(
    transaction: &Handle,
    begin: *const u8,
    begin_len: c_int,
    end: *const u8,
    end_len: c_int,
    kind: c_int,
) -> Code {
    // SAFETY: by the header.
    let begin = unsafe { bytes(begin, begin_len) };
    // SAFETY: by the header.
    let end = unsafe { bytes(end, end_len) };
    match begin > end {
        true => errors::INVERTED_RANGE,
        false => {
            // 0 is for what was read, 1 for what was written.
            transaction.0.add_conflict(begin..end, kind == 1);
            0
        }
    }
}

#[unsafe(no_mangle)]
extern "C" fn fdb_transaction_commit(transaction: &Handle) -> Box<FutureHandle> {
    transaction.0.commit()
}

#[unsafe(no_mangle)]
extern "C" fn fdb_transaction_get_committed_version(
    transaction: &Handle,
    place: &mut MaybeUninit<i64>,
) -> Code {
    place.write(transaction.0.committed_version());
    0
}
