//! What every catalogue and every store of blobs must do, as one suite each: implementations outside this crate run them, too.

mod blobs;
mod catalogue;

pub use blobs::blobs;
pub use catalogue::catalogue;

use crate::error::Error;

/// What an implementation did wrong.
#[derive(Debug)]
pub struct Violation(String);

impl std::fmt::Display for Violation {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for Violation {}

impl From<Error> for Violation {
    fn from(error: Error) -> Violation {
        Violation(format!("an operation that must succeed failed: {error}"))
    }
}

type Check = Result<(), Violation>;

fn expect(condition: bool, what: &str) -> Check {
    match condition {
        true => Ok(()),
        false => Err(Violation(format!("not so: {what}"))),
    }
}
