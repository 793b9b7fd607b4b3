//! A thread on which an asynchronous client of an engine runs, for callers that wait.
//!
//! A request that has not come to its end within its time is given up, whatever it waits for: a connection that swallows everything
//! never reports an error by itself. The thread ends, and is joined, when this is dropped. Callers may themselves be tasks of a
//! runtime: what they wait at is no runtime's.

use crate::error::{Error, ErrorKind, Result};
use std::future::Future;
use std::sync::mpsc;
use std::thread::{Builder, JoinHandle};
use std::time::Duration;
use tokio::runtime::Handle;
use tokio::sync::oneshot;

/// The thread.
#[derive(Debug)]
pub(crate) struct IoThread {
    handle: Handle,
    stop: Option<oneshot::Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

fn no_thread(error: std::io::Error) -> Error {
    let what = format!("the system starts no thread for the engine's client: {error}");
    Error::new(ErrorKind::Unavailable, what)
}

impl IoThread {
    /// Starts it.
    pub(crate) fn start(name: &str) -> Result<IoThread> {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .map_err(no_thread)?;
        let handle = runtime.handle().clone();
        let (stop, stopped) = oneshot::channel();
        let thread = Builder::new().name(name.to_owned()).spawn(move || {
            // Either way it is over: a sender that is gone says so, too.
            runtime.block_on(stopped).ok();
            runtime.shutdown_background();
        });
        Ok(IoThread {
            handle,
            stop: Some(stop),
            thread: Some(thread.map_err(no_thread)?),
        })
    }

    /// Runs a request on the thread and waits for its end, for `limit` at most. `late` is the error of one that has not ended by then.
    pub(crate) fn run<T: Send + 'static>(
        &self,
        limit: Duration,
        late: ErrorKind,
        request: impl Future<Output = Result<T>> + Send + 'static,
    ) -> Result<T> {
        let (sender, receiver) = mpsc::sync_channel(1);
        self.handle.spawn(async move {
            let result = tokio::time::timeout(limit, request).await;
            sender.send(result).ok();
        });
        match receiver.recv() {
            Ok(Ok(result)) => result,
            Ok(Err(_)) => {
                let what = format!("the engine has not answered within {limit:?}");
                Err(Error::new(late, what))
            }
            Err(_) => Err(Error::new(
                late,
                "a request of the engine's client has ended without a result",
            )),
        }
    }
}

impl Drop for IoThread {
    fn drop(&mut self) {
        drop(self.stop.take());
        if let Some(thread) = self.thread.take() {
            // A panic of the thread has ended what it was for.
            thread.join().ok();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_request_that_never_ends_is_given_up() {
        let thread = IoThread::start("test").unwrap();
        let limit = Duration::from_millis(1);
        let never = std::future::pending::<Result<()>>();
        let error = thread.run(limit, ErrorKind::OutcomeUnknown, never);
        assert_eq!(error.unwrap_err().kind(), ErrorKind::OutcomeUnknown);
        let late = ErrorKind::Unavailable;
        let limit = Duration::from_secs(60);
        assert_eq!(thread.run(limit, late, async { Ok(7) }).unwrap(), 7);
    }

    #[test]
    fn a_task_of_a_runtime_may_wait_for_a_request() {
        let runtime = tokio::runtime::Builder::new_current_thread().build();
        runtime.unwrap().block_on(async {
            let thread = IoThread::start("test").unwrap();
            let limit = Duration::from_secs(60);
            let result = thread.run(limit, ErrorKind::Unavailable, async { Ok(7) });
            assert_eq!(result.unwrap(), 7);
        });
    }
}
