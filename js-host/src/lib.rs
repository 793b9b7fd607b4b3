//! A JavaScript host whose `indexedDB` is Larder: scripts run on QuickJS, with an event loop, and what
//! they store is Chromium's own store.
//!
//! | folder | what it is |
//! |---|---|
//! | `platform/` | the rest of the web platform that scripts need |
//! | `modules/` | scripts' modules: ES modules, CommonJS and JSON, from files and packages |
//! | `crypto/` | keys of two parts for `crypto.subtle` |
//! | `clone/` | structured clone between QuickJS and V8's wire format |
//! | `engine/` | the hooks of the binding on `larder-idb` |
//! | `realms/` | a page and its workers: threads, messages, whose turn the engine is |
//!
//! This is a root: it chooses where files live, and reads the clock.

mod array;
mod clone;
mod command;
#[cfg(feature = "crypto")]
mod crypto;
mod engine;
mod files;
mod global;
mod host;
mod messages;
mod modules;
mod natives;
#[cfg(test)]
mod orders;
mod output;
mod pauses;
mod realms;
mod server;
mod shared;
mod system;
mod worker_scripts;
mod workers;

pub use command::{Outcome, RunOptions, run};
pub use global::Global;
pub use host::{Error, Host, Options};
pub use output::{Console, Stream};
pub use server::{Server, ServerRequest, ServerResponse};
pub use shared::Scripts;
pub use system::{Process, System};
