//! Tests of the crate as its users see it.

#[cfg(test)]
mod operations;
