//! What every handle has: the storage it belongs to, and the loop of the host.

use std::sync::Arc;

use larder_idb as idb;

use crate::error::{Error, Exception, Result};
use crate::guard;
use crate::host_loop::{Calling, HostLoop};

pub(crate) struct Context {
    pub(crate) storage: idb::Storage,
    pub(crate) host: Arc<HostLoop>,
    /// Whether the host alone does the work.
    pub(crate) is_driven: bool,
}

impl Context {
    /// Makes calls and takes steps, at most so many if the number is not 0: whether there is more.
    pub(crate) fn run(&self, steps_max: usize) -> bool {
        let Some(calling) = self.host.enter() else {
            return false;
        };
        let mut steps = 0;
        loop {
            while calling.call_next() || self.step() {
                steps += 1;
                if steps == steps_max {
                    return true;
                }
            }
            if self.host.fall_asleep() {
                return false;
            }
        }
    }

    /// What panics in a step was its end: there may be others.
    fn step(&self) -> bool {
        self.is_driven && guard::or_else(true, || self.storage.run_one())
    }

    /// Brings something on until it is done. On the loop's thread, outside of callbacks, it makes the calls that are due meanwhile;
    /// elsewhere none.
    ///
    /// # Errors
    /// `InvalidStateError` if nothing is left that could bring it on.
    pub(crate) fn wait(&self, is_done: impl Fn() -> bool) -> Result<()> {
        let waited = self.bring_on(is_done);
        // There may be more to do, for which the loop would have been woken.
        self.host.note_work();
        waited
    }

    fn bring_on(&self, is_done: impl Fn() -> bool) -> Result<()> {
        let calling = self.host.enter_to_wait();
        let call_next = || calling.as_ref().is_some_and(Calling::call_next);
        while !is_done() {
            if call_next() || self.step() {
                continue;
            }
            if self.is_driven {
                let is_over = is_done() || calling.as_ref().is_some_and(Calling::has_next);
                if !is_over {
                    let what =
                        "what is waited for depends on something that cannot happen meanwhile";
                    return Err(Error::usage(Exception::InvalidState, what));
                }
            } else {
                self.host.sleep_unless(&is_done, calling.is_some());
            }
        }
        Ok(())
    }
}
