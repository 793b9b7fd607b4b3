//! Entries of a cursor, pages and events as streams, for async code: what the iterators [`Steps`](crate::Steps) and
//! [`PagesIter`](crate::PagesIter) are for code that waits.

use std::pin::Pin;
use std::task::{Context, Poll, ready};

use futures_core::Stream;
use futures_core::stream::FusedStream;

use crate::cursor::Cursor;
use crate::error::Result;
use crate::events::{Events, NextEvent};
use crate::pages::Pages;
use crate::request::Request;
use crate::value::records::Records;

/// The entries that a cursor comes to, as a stream ([`Request::step_stream`]). It ends behind the last entry, and after an error.
#[derive(Debug)]
#[must_use = "streams do nothing unless polled"]
pub struct StepStream(At);

#[derive(Debug)]
enum At {
    /// A move is under way, or the opening.
    Moving(Request<Option<Cursor>>),
    Entry(Cursor),
    End,
}

impl Request<Option<Cursor>> {
    /// The entry that is asked for, and all those behind it, as a stream: what [`steps`](Self::steps) is as an iterator. The next
    /// entry is asked for when the stream is polled for it, so the cursor may update and delete the record that it is at.
    ///
    /// ```
    /// use futures_util::StreamExt;
    /// # use larder_idb::{CursorDirection, ObjectStore, Result};
    ///
    /// # async fn each(store: &ObjectStore) -> Result<()> {
    /// let mut entries = store.open_cursor(.., CursorDirection::Next)?.step_stream();
    /// while let Some(cursor) = entries.next().await {
    ///     println!("{:?}", cursor?.key());
    /// }
    /// # Ok(())
    /// # }
    /// ```
    pub const fn step_stream(self) -> StepStream {
        StepStream(At::Moving(self))
    }
}

impl Stream for StepStream {
    type Item = Result<Cursor>;

    fn poll_next(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Result<Cursor>>> {
        let at = &mut self.get_mut().0;
        if let At::Entry(cursor) = at {
            let moving = cursor.next();
            *at = match moving {
                Ok(request) => At::Moving(request),
                Err(error) => {
                    *at = At::End;
                    return Poll::Ready(Some(Err(error)));
                }
            };
        }
        let At::Moving(request) = at else {
            return Poll::Ready(None);
        };
        let reached = ready!(Pin::new(request).poll(context));
        *at = match &reached {
            Ok(Some(cursor)) => At::Entry(cursor.clone()),
            Ok(None) | Err(_) => At::End,
        };
        Poll::Ready(reached.transpose())
    }
}

impl FusedStream for StepStream {
    fn is_terminated(&self) -> bool {
        matches!(self.0, At::End)
    }
}

/// The pages that are left of [`Pages`], as a stream ([`Pages::into_stream`]). It ends behind the last page, and after an error.
#[derive(Debug)]
#[must_use = "streams do nothing unless polled"]
pub struct PageStream {
    pages: Pages,
    /// The page that has been asked for.
    reading: Option<Request<Option<Records>>>,
    has_ended: bool,
}

impl Pages {
    /// The pages that are left, as a stream. A page is read when the stream is polled for it, and none ahead of that.
    ///
    /// ```
    /// use futures_util::TryStreamExt;
    /// # use larder_idb::{CursorDirection, ObjectStore, PageLimits, Result};
    ///
    /// # async fn count(loans: &ObjectStore) -> Result<usize> {
    /// let pages = loans.pages(.., CursorDirection::Next, PageLimits::new())?;
    /// pages.into_stream().try_fold(0, async |sum, page| Ok(sum + page.len())).await
    /// # }
    /// ```
    pub const fn into_stream(self) -> PageStream {
        PageStream {
            pages: self,
            reading: None,
            has_ended: false,
        }
    }
}

impl Stream for PageStream {
    type Item = Result<Records>;

    fn poll_next(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Result<Records>>> {
        let this = self.get_mut();
        if this.has_ended {
            return Poll::Ready(None);
        }
        let page = match this.reading.take().map_or_else(|| this.pages.next(), Ok) {
            Ok(mut request) => match Pin::new(&mut request).poll(context) {
                Poll::Ready(page) => page,
                Poll::Pending => {
                    this.reading = Some(request);
                    return Poll::Pending;
                }
            },
            Err(error) => Err(error),
        };
        this.has_ended = !matches!(page, Ok(Some(_)));
        Poll::Ready(page.transpose())
    }
}

impl FusedStream for PageStream {
    fn is_terminated(&self) -> bool {
        self.has_ended
    }
}

/// Events as a stream ([`Events::stream`]). It ends when no more can come.
#[derive(Debug)]
#[must_use = "streams do nothing unless polled"]
pub struct EventStream<'a, T>(NextEvent<'a, T>);

impl<T: Send + 'static> Events<T> {
    /// The events from now on, as a stream. Each is taken by one taker; what else asks for events competes with the stream.
    pub fn stream(&self) -> EventStream<'_, T> {
        EventStream(self.next())
    }
}

impl<T: Send + 'static> Stream for EventStream<'_, T> {
    type Item = T;

    fn poll_next(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<T>> {
        // One `NextEvent` gives one event after the other: it keeps nothing of the one it gave.
        Pin::new(&mut self.get_mut().0).poll(context)
    }
}
