//! Laws of transactions: whatever is done to a store, by one transaction after the other and by two at once, with spills,
//! rollbacks, blobs, reopenings and kills in the middle, is what plain maps say.
//!
//! The reference and what runs it beside a store are those of the backing store's own tests.
#![expect(
    clippy::unwrap_used,
    reason = "an error where none may be is a broken law"
)]

#[path = "../../../backing-store/tests/it/operations/check.rs"]
mod check;
#[path = "../../../backing-store/tests/it/operations/cursors.rs"]
mod cursors;
#[path = "../../../backing-store/tests/it/operations/model.rs"]
mod model;
#[path = "../../../backing-store/tests/it/operations/run.rs"]
mod run;
#[path = "../../../backing-store/tests/it/operations/session.rs"]
mod session;
#[path = "../../../backing-store/tests/it/operations/support.rs"]
mod support;

use crate::input::Input;

/// What is compared takes the more time the more there is.
const TRANSACTIONS_MAX: usize = 12;

/// A store, written to as the input says: for each transaction a byte with the number of its steps, then four bytes for each.
pub fn transactions(data: &[u8]) {
    let mut input = Input(data);
    let mut run = run::Run::new();
    for _ in 0..TRANSACTIONS_MAX {
        if input.is_empty() {
            break;
        }
        let count = 1 + input.byte() % 32;
        let mut step = || (input.byte(), input.byte(), input.byte(), input.byte());
        let steps: Vec<run::Step> = (0..count).map(|_| step()).collect();
        run.transaction(&steps);
    }
}
