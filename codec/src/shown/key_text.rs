//! Walks over a key and writes it as some text: brackets and commas here, the scalars by the caller.

use crate::idb_key::{KeyPart, RawKey};

/// Calls `write` for every piece of the key in the order of the text. Nesting costs no native stack.
///
/// # Errors
/// The first error of `write`.
pub fn walk<E>(
    key: RawKey<'_>,
    mut write: impl FnMut(Piece<'_>) -> Result<(), E>,
) -> Result<(), E> {
    // How many elements are still to come, one entry an open array.
    let mut open: Vec<u64> = Vec::new();
    for part in key.parts() {
        match part {
            KeyPart::Array { len } => {
                write(Piece::ArrayStart)?;
                if len > 0 {
                    open.push(len);
                    continue;
                }
                write(Piece::ArrayEnd)?;
            }
            scalar => write(Piece::Scalar(scalar))?,
        }
        while let Some(left) = open.last_mut() {
            *left = left.saturating_sub(1);
            if *left > 0 {
                write(Piece::Separator)?;
                break;
            }
            open.pop();
            write(Piece::ArrayEnd)?;
        }
    }
    Ok(())
}

/// A piece of a key's text.
#[derive(Debug)]
pub enum Piece<'a> {
    /// A key that is no array.
    Scalar(KeyPart<'a>),
    /// Before the first element.
    ArrayStart,
    /// Between two elements.
    Separator,
    /// Behind the last element.
    ArrayEnd,
}
