//! Versioned pages of entries: what is in a repository, the history of a page, what differs between commits, what one holds, and what nothing
//! needs any more.
//!
//! Each function is what `larder pages` does, for a program that has a path.

mod bytes_text;
mod command;
mod error;
mod gc;
mod history;
mod moment;
mod place;
mod revision;
mod state;
mod value;

pub(crate) use command::run;

pub use bytes_text::{ShownBytes, as_text, parse_bytes};
pub use error::PagesError;
pub use gc::collect;
pub use history::{Changes, History, changes};
pub use place::{FoundPage, FoundPages, PageSelection, find_pages};
pub use revision::{resolve_commit, short_id};
pub use state::{HeadState, PageState, PieceState};
pub use value::{ValueForm, ValueState, write_value};
