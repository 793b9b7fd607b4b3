//! Canonical JSON: one text form for a store's content, so that a browser's own answer and ours can
//! be compared after parsing.
//!
//! Everything that JSON cannot say has an object with a member `t`; every object has an `id` in the
//! order of first visit. Long strings and bytes are given as SHA-256. The form is meant for
//! comparison, not for reading back; `docs/format/jsonl-values.md` describes the lossless one.

mod blob;
mod document;
mod host;
mod key;
mod text;
mod value;

pub use blob::{BlobSource, Error, ExternalBlob, FileInfo, NoBlobs};
pub use document::write_document;
pub use key::write_key;
pub use value::{Browser, write_value};
