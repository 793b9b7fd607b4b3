//! A page on this machine to look at stores in, and its server. What is in them a [`Source`] answers.
//!
//! ```
//! use std::sync::Arc;
//!
//! use larder_view::{Answer, Options, Refusal, Server, Source};
//!
//! struct Empty;
//!
//! impl Source for Empty {
//!     fn answer(&self, question: &str, _: &[u8], answer: &mut dyn Answer) -> Result<(), Refusal> {
//!         match question {
//!             "stores" => Ok(answer.write_all(br#"{"path": ".", "stores": [], "notes": []}"#)?),
//!             _ => Err(Refusal::NotFound(format!("no question `{question}`"))),
//!         }
//!     }
//! }
//!
//! # fn main() -> std::io::Result<()> {
//! let server = Server::bind(Options::default(), Arc::new(Empty))?;
//! assert!(server.url().starts_with("http://127.0.0.1:"));
//! let stopper = server.stopper();
//! let stopping = std::thread::spawn(move || stopper.stop());
//! server.run()?;
//! # stopping.join().unwrap();
//! # Ok(())
//! # }
//! ```

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
