//! Canonical JSON: one text form for a store's content, so that a browser's own answer and ours can be compared after
//! parsing.
//!
//! Everything that JSON cannot say has an object with a member `t`; every object has an `id` in the order of first
//! visit. `docs/format/canonical.md` describes the form.
//!
//! Everything is said in it ([`Extent::Whole`]), unless digests of long strings and bytes are requested
//! ([`Extent::Digests`]): then documents of large stores can be kept and compared, but nothing can be got back.

mod document;
mod error;
mod host;
mod key;
mod text;
mod value;

pub use document::{Extent, write_document};
pub use error::Error;
pub use key::write_key;
pub use text::Limits;
#[cfg(feature = "view")]
pub(crate) use value::name_of;
pub use value::{Browser, limited_value, stream_value, write_value};

pub use crate::external_blob::{BlobSource, ExternalBlob, FileInfo, NoBlobs};
