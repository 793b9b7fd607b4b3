//! A database and a page that have the same content.

mod apply;
mod bytes;
mod clash;
mod conflict;
mod content;
mod create;
mod entry_key;
mod error;
mod generator;
mod merge;
#[expect(clippy::module_inception, reason = "the type that the folder is about")]
mod mirror;
mod options;
mod property;
mod record;
mod report;
mod schema;
mod state;
mod take;

pub use conflict::{Conflict, MirroredValue};
pub use create::create_from_page;
pub use entry_key::ENTRY_KEY_LEN_MAX;
pub use error::{Error as MirrorError, Result as MirrorResult};
pub use merge::Merged;
pub use mirror::Mirror;
pub use options::{MergeBy, MirrorOptions, page_options};
pub use report::{Applied, LeftAlone, Reason, Taken};
