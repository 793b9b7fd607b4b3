//! A connection's bytes, of a client that may read nothing.

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;
use tokio::time::{Instant, Sleep, sleep};

use crate::connections::Connection;

/// After a refusal of a request that it has not read, the server reads on for so long, or so much: if a connection is closed with bytes in it that
/// have not been read, the system throws away what the client has not read yet of the answer.
const LINGER: Duration = Duration::from_secs(1);
const LINGER_BYTES: usize = 1 << 20;

/// A connection that fails when its client has read nothing for too long.
pub(crate) struct Patient {
    stream: TcpStream,
    connection: Arc<Connection>,
    patience: Duration,
    /// When patience, or lingering, ends. It is set anew by each wait.
    deadline: Pin<Box<Sleep>>,
    waits: Waits,
    /// Bytes that may still be read after the end.
    linger_bytes: usize,
}

#[derive(PartialEq, Eq)]
enum Waits {
    No,
    ToWrite,
    ForTheEnd,
}

impl Patient {
    pub(crate) fn new(stream: TcpStream, connection: Arc<Connection>, patience: Duration) -> Self {
        Self {
            stream,
            connection,
            patience,
            deadline: Box::pin(sleep(patience)),
            waits: Waits::No,
            linger_bytes: LINGER_BYTES,
        }
    }

    fn begin(&mut self, waits: Waits, time: Duration) {
        if self.waits != waits {
            self.waits = waits;
            self.deadline.as_mut().reset(Instant::now() + time);
        }
    }

    /// What became of a write: as long as it waits, patience runs.
    fn written(
        &mut self,
        context: &mut Context<'_>,
        written: Poll<io::Result<usize>>,
    ) -> Poll<io::Result<usize>> {
        if written.is_ready() {
            self.waits = Waits::No;
            return written;
        }
        self.begin(Waits::ToWrite, self.patience);
        ready!(self.deadline.as_mut().poll(context));
        Poll::Ready(Err(io::ErrorKind::TimedOut.into()))
    }
}

impl AsyncRead for Patient {
    fn poll_read(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.get_mut().stream).poll_read(context, buffer)
    }
}

impl AsyncWrite for Patient {
    fn poll_write(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let this = self.get_mut();
        let written = Pin::new(&mut this.stream).poll_write(context, bytes);
        this.written(context, written)
    }

    fn poll_write_vectored(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let this = self.get_mut();
        let written = Pin::new(&mut this.stream).poll_write_vectored(context, bytes);
        this.written(context, written)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.get_mut().stream).poll_flush(context)
    }

    fn poll_shutdown(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        let this = self.get_mut();
        if this.waits != Waits::ForTheEnd {
            ready!(Pin::new(&mut this.stream).poll_shutdown(context))?;
            if !this.connection.has_unread() {
                return Poll::Ready(Ok(()));
            }
            this.begin(Waits::ForTheEnd, LINGER);
        }
        let mut bytes = [0; 4096];
        loop {
            let mut buffer = ReadBuf::new(&mut bytes);
            let read = Pin::new(&mut this.stream).poll_read(context, &mut buffer);
            if read.is_pending() {
                break;
            }
            let count = buffer.filled().len();
            this.linger_bytes = this.linger_bytes.saturating_sub(count);
            if matches!(read, Poll::Ready(Err(_))) || count == 0 || this.linger_bytes == 0 {
                return Poll::Ready(Ok(()));
            }
        }
        ready!(this.deadline.as_mut().poll(context));
        Poll::Ready(Ok(()))
    }
}
