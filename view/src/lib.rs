//! A page on this machine to look at stores in, and its server. What is in them a [`Source`] answers.

mod source;

pub use source::{Answer, Form, Refusal, Source};
