//! Bodies of responses.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use hyper::body::{Body, Bytes, Frame, SizeHint};
use tokio::sync::mpsc;
use tokio::time::Interval;

use crate::answering::Piece;
use crate::connections::Busy;
use crate::presence::Here;

/// The body of a response.
pub(crate) struct Content {
    kind: Kind,
    /// The connection is busy until the body has been sent.
    _busy: Busy,
}

pub(crate) enum Kind {
    Whole(Bytes),
    Pieces {
        pieces: mpsc::Receiver<Piece>,
        /// Bytes still to come, where that is known.
        left: Option<u64>,
    },
    /// Lines `{}` until the client goes.
    Alive {
        interval: Interval,
        _page: Here,
    },
}

impl Content {
    pub(crate) fn new(kind: Kind, busy: Busy) -> Self {
        Self { kind, _busy: busy }
    }
}

impl Body for Content {
    type Data = Bytes;
    type Error = io::Error;

    fn poll_frame(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, io::Error>>> {
        let bytes = match &mut self.get_mut().kind {
            Kind::Whole(bytes) if bytes.is_empty() => return Poll::Ready(None),
            Kind::Whole(bytes) => std::mem::take(bytes),
            Kind::Pieces { pieces, left } => match ready!(pieces.poll_recv(context)) {
                Some(Piece::Bytes(bytes)) => {
                    *left = left.map(|left| left.saturating_sub(bytes.len() as u64));
                    bytes
                }
                Some(Piece::End) => return Poll::Ready(None),
                // The connection is closed before the end of the body, by which the client sees that it is not whole.
                None => return Poll::Ready(Some(Err(io::ErrorKind::UnexpectedEof.into()))),
            },
            Kind::Alive { interval, .. } => {
                ready!(interval.poll_tick(context));
                Bytes::from_static(b"{}\n")
            }
        };
        Poll::Ready(Some(Ok(Frame::data(bytes))))
    }

    fn is_end_stream(&self) -> bool {
        match &self.kind {
            Kind::Whole(bytes) => bytes.is_empty(),
            Kind::Pieces { left, .. } => *left == Some(0),
            Kind::Alive { .. } => false,
        }
    }

    fn size_hint(&self) -> SizeHint {
        match &self.kind {
            Kind::Whole(bytes) => SizeHint::with_exact(bytes.len() as u64),
            Kind::Pieces { left, .. } => left.map_or_else(SizeHint::new, SizeHint::with_exact),
            Kind::Alive { .. } => SizeHint::new(),
        }
    }
}
