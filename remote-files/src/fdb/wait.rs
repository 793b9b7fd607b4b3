//! Waiting for what the client's thread completes. A caller may itself be a task of a runtime: what it waits at is no runtime's.

use foundationdb::FdbError;
use std::future::Future;
use std::pin::pin;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Wake, Waker};
use std::time::Duration;

/// `transaction_timed_out`.
pub(super) const TIMED_OUT: i32 = 1031;
/// The client ends a transaction after its time by itself. What is waited longer is for one whose thread does not run.
pub(super) const GRACE: Duration = Duration::from_secs(2);

/// Set when the future is to be polled again.
#[derive(Default)]
struct Signal {
    is_set: Mutex<bool>,
    changed: Condvar,
}

impl Signal {
    fn is_set(&self) -> MutexGuard<'_, bool> {
        self.is_set.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits until it is set, and takes that back; false: the time is over.
    fn take(&self, limit: Duration) -> bool {
        let waited = (self.changed).wait_timeout_while(self.is_set(), limit, |is_set| !*is_set);
        let (mut is_set, _) = waited.unwrap_or_else(PoisonError::into_inner);
        std::mem::take(&mut *is_set)
    }
}

impl Wake for Signal {
    fn wake(self: Arc<Signal>) {
        *self.is_set() = true;
        self.changed.notify_one();
    }
}

/// The result of a request, if it is there within a time.
pub(super) fn wait<T, E>(
    request: impl Future<Output = Result<T, E>>,
    limit: Duration,
) -> Result<T, FdbError>
where
    FdbError: From<E>,
{
    let signal = Arc::new(Signal::default());
    let waker = Waker::from(Arc::clone(&signal));
    let (mut request, mut context) = (pin!(request), Context::from_waker(&waker));
    loop {
        if let Poll::Ready(result) = request.as_mut().poll(&mut context) {
            return result.map_err(FdbError::from);
        }
        if !signal.take(limit) {
            return Err(FdbError::from_code(TIMED_OUT));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_never_comes_is_given_up() {
        let never = std::future::pending::<Result<(), FdbError>>();
        let result = wait(never, Duration::from_millis(20));
        assert_eq!(result.map_err(|error| error.code()), Err(TIMED_OUT));
        let there = std::future::ready(Ok::<_, FdbError>(7));
        assert_eq!(
            wait(there, Duration::ZERO).map_err(|error| error.code()),
            Ok(7)
        );
    }
}
