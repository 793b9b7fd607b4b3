//! What the realms of one run share: a page and its workers, each with a thread of its own, on one storage.
//!
//! | file | what it is |
//! |---|---|
//! | `group` | the realms, and when nothing can happen any more in any of them |
//! | `inbox` | what comes to a realm from outside, in its order |
//! | `turns` | whose calls the engine has |
//! | `answer` | the engine's answers |
//! | `message` | what realms send each other |
//! | `blob_urls` | `blob:` URLs, which are all realms' |
//! | `ports` | ends of channels that were sent to other realms |
//!
//! JavaScript is not here: this is what lies between threads.

mod answer;
mod blob_urls;
mod group;
mod inbox;
mod message;
mod ports;
mod turns;

pub(crate) use answer::{Answer, Outcome, Projection, Watcher};
pub(crate) use group::{Group, Realm, RealmId};
pub(crate) use inbox::Entry;
pub(crate) use message::{Blob, BlobContent, Message, Note, Object, Report};
pub(crate) use ports::PortId;
pub(crate) use turns::Stopped;
