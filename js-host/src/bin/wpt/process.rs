//! A process that is to end by itself within a time: what it says, and how it ended.

use std::io::{self, Read};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

/// A process that has ended.
#[derive(Debug)]
pub(crate) struct Ended {
    /// All of its standard output.
    pub(crate) output: String,
    /// How it ended; `None` if it was killed because its time was over.
    pub(crate) status: Option<ExitStatus>,
}

/// Runs a process to its end, or to the limit.
pub(crate) fn run(mut command: Command, limit: Duration) -> io::Result<Ended> {
    command.stdin(Stdio::null()).stderr(Stdio::null());
    let mut child = command.stdout(Stdio::piped()).spawn()?;
    let mut stdout = child.stdout.take();
    std::thread::scope(|scope| {
        let reader = scope.spawn(move || {
            let mut bytes = Vec::new();
            match &mut stdout {
                None => Ok(bytes),
                Some(stdout) => stdout.read_to_end(&mut bytes).map(|_| bytes),
            }
        });
        let status = wait(&mut child, limit);
        let unreadable = |_| Err(io::Error::other("the output cannot be read"));
        let bytes = reader.join().unwrap_or_else(unreadable)?;
        Ok(Ended {
            // A process that is killed may end in the middle of a character.
            output: String::from_utf8_lossy(&bytes).into_owned(),
            status: status?,
        })
    })
}

/// Waits for the process, and kills it at the limit.
#[expect(
    clippy::disallowed_methods,
    reason = "a root measures how long a file takes"
)]
fn wait(child: &mut Child, limit: Duration) -> io::Result<Option<ExitStatus>> {
    let started = Instant::now();
    loop {
        if let Some(status) = child.try_wait()? {
            return Ok(Some(status));
        }
        if started.elapsed() > limit {
            child.kill()?;
            child.wait()?;
            return Ok(None);
        }
        std::thread::sleep(Duration::from_millis(5));
    }
}
