//! What the `larder` command is made of.

pub mod canonical;
