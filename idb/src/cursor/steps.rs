//! A cursor's steps as an iterator.

use super::Cursor;
use crate::error::Result;
use crate::request::Request;

/// The entries that a cursor comes to, one after the other: an iterator that waits for each ([`Request::steps`]).
///
/// It ends behind the last entry, and after an error.
#[derive(Debug)]
pub struct Steps(At);

#[derive(Debug)]
enum At {
    Opening(Request<Option<Cursor>>),
    Entry(Cursor),
    End,
}

impl Request<Option<Cursor>> {
    /// The entry that is asked for, and all those behind it, in the cursor's direction. Each is asked for when the loop comes to it:
    /// one that is deleted before is passed over. The cursor may update and delete the record that it is at; if the loop's body
    /// moves it, the next step is an error. [`Request::wait`] has what waiting means.
    ///
    /// ```
    /// # use larder_idb::{CursorDirection, Index, Result};
    /// # fn each(by_author: &Index) -> Result<()> {
    /// for cursor in by_author.open_cursor("B".., CursorDirection::Next)?.steps() {
    ///     let cursor = cursor?;
    ///     println!("{:?}: {:?}", cursor.key(), cursor.record().deserialize::<String>()?);
    /// }
    /// # Ok(())
    /// # }
    /// ```
    #[must_use]
    pub const fn steps(self) -> Steps {
        Steps(At::Opening(self))
    }
}

impl Iterator for Steps {
    type Item = Result<Cursor>;

    fn next(&mut self) -> Option<Result<Cursor>> {
        let reached = match std::mem::replace(&mut self.0, At::End) {
            At::Opening(request) => request.wait(),
            At::Entry(cursor) => cursor.next().and_then(Request::wait),
            At::End => return None,
        };
        if let Ok(Some(cursor)) = &reached {
            self.0 = At::Entry(cursor.clone());
        }
        reached.transpose()
    }
}

impl std::iter::FusedIterator for Steps {}
