//! The primitive types of the coding scheme (`docs/FORMAT.md`, section 1), one module each.
//!
//! Each module has `encode`, `decode` and `decode_exact`. The types that are the tail of whatever
//! holds them ([`int`] and [`string`]) have no length of their own and so no `decode`.

pub mod binary;
pub mod boolean;
pub mod byte;
pub mod double;
pub mod int;
pub mod string;
pub mod string_with_length;
pub mod var_int;
