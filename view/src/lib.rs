//! A page on this machine to look at stores in, and its server. What is in them a [`Source`] answers.

mod answering;
mod connections;
mod content;
mod file_name;
mod gate;
mod limits;
mod page;
mod presence;
mod response;
mod routes;
mod secret;
mod server;
mod source;
mod stream;
mod tickets;

pub use limits::Limits;
pub use server::{Options, Server, Stopper};
pub use source::{Answer, Form, Refusal, Source};
pub use tickets::Clock;
