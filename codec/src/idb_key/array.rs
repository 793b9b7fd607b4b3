//! The elements of an array key, with their nesting kept within the limit.
//!
//! Clone, order, debug output and drop would recurse along the nesting if derived. Here they recurse
//! only through shallow arrays and take an iterative way through deep ones.

use std::cmp::Ordering;
use std::fmt;
use std::ops::Deref;

use super::{ARRAYS_MAX, Key, LEVEL_MAX, RawKey};
use crate::error::{Error, ErrorKind, Result};

/// Arrays up to this height are handled by plain recursion.
const SHALLOW_MAX: usize = 16;

/// The elements of an array key. Dereferences to a slice of keys.
///
/// ```
/// use larder_codec::{Key, KeyArray};
/// let array = KeyArray::new(vec![Key::Number(1.0), Key::from("x")])?;
/// assert_eq!(array.len(), 2);
/// assert_eq!(array.height(), 1);
/// # Ok::<(), larder_codec::Error>(())
/// ```
#[derive(Default)]
pub struct KeyArray {
    elements: Vec<Key>,
    /// Levels below this array: 0 if empty. At most [`LEVEL_MAX`].
    height: u16,
    /// Arrays below this one that are one inside the other. At most [`LEVEL_MAX`].
    arrays: u16,
}

impl KeyArray {
    /// An array of these keys.
    ///
    /// # Errors
    /// If more than [`ARRAYS_MAX`] arrays would be one inside the other.
    pub fn new(elements: Vec<Key>) -> Result<Self> {
        let array = Self::from_bytes(elements)?;
        match usize::from(array.arrays) < ARRAYS_MAX {
            true => Ok(array),
            false => Err(too_deep()),
        }
    }

    /// An array that stands in bytes: its elements may reach down to [`LEVEL_MAX`].
    pub(crate) fn from_bytes(elements: Vec<Key>) -> Result<Self> {
        let (mut height, mut arrays) = (0, 0);
        for element in &elements {
            height = height.max(element.height() + 1);
            if let Key::Array(inner) = element {
                arrays = arrays.max(inner.arrays + 1);
            }
        }
        // LEVEL_MAX fits a u16.
        match u16::try_from(height) {
            Ok(small) if height <= LEVEL_MAX => Ok(Self {
                elements,
                height: small,
                arrays,
            }),
            _ => Err(too_deep()),
        }
    }

    /// An array of keys that are no arrays, and so one that is not too deep.
    pub(super) fn of_scalars(elements: Vec<Key>) -> Self {
        Self {
            height: u16::from(!elements.is_empty()),
            elements,
            arrays: 0,
        }
    }

    /// Levels of keys below this array: 0 if empty, else 1 + that of its deepest element.
    #[must_use]
    pub fn height(&self) -> usize {
        usize::from(self.height)
    }

    /// The elements, given away.
    #[must_use]
    pub fn into_elements(mut self) -> Vec<Key> {
        std::mem::take(&mut self.elements)
    }

    fn is_deep(&self) -> bool {
        self.height() > SHALLOW_MAX
    }

    /// The array's key bytes.
    fn encoded(&self) -> Vec<u8> {
        // Borrowing as a Key would need a copy, so this writes the head itself.
        let mut out = vec![super::TAG_ARRAY];
        crate::primitive::var_int::encode(self.elements.len() as i64, &mut out);
        for element in &self.elements {
            element.encode(&mut out);
        }
        out
    }
}

fn too_deep() -> Error {
    let limit = LEVEL_MAX as u64;
    Error::new(ErrorKind::LimitExceeded { limit }, 0, "key nesting")
}

impl Deref for KeyArray {
    type Target = [Key];

    fn deref(&self) -> &[Key] {
        &self.elements
    }
}

impl TryFrom<Vec<Key>> for KeyArray {
    type Error = Error;

    fn try_from(elements: Vec<Key>) -> Result<Self> {
        Self::new(elements)
    }
}

impl<'a> IntoIterator for &'a KeyArray {
    type Item = &'a Key;
    type IntoIter = std::slice::Iter<'a, Key>;

    fn into_iter(self) -> Self::IntoIter {
        self.elements.iter()
    }
}

impl Clone for KeyArray {
    fn clone(&self) -> Self {
        if !self.is_deep() {
            return Self {
                elements: self.elements.clone(),
                height: self.height,
                arrays: self.arrays,
            };
        }
        clone_deep(self)
    }
}

/// Copies along a stack of (elements still to copy, copies).
fn clone_deep(array: &KeyArray) -> KeyArray {
    let mut open = vec![(array, Vec::with_capacity(array.len()))];
    loop {
        let Some((source, mut copies)) = open.pop() else {
            return KeyArray::default();
        };
        match source.get(copies.len()) {
            Some(Key::Array(inner)) if inner.is_deep() => {
                open.push((source, copies));
                open.push((inner, Vec::with_capacity(inner.len())));
            }
            Some(element) => {
                copies.push(element.clone());
                open.push((source, copies));
            }
            None => {
                let copy = KeyArray {
                    elements: copies,
                    height: source.height,
                    arrays: source.arrays,
                };
                match open.last_mut() {
                    Some((_, outer)) => outer.push(Key::Array(copy)),
                    None => return copy,
                }
            }
        }
    }
}

/// Takes nested arrays apart from the outside, so that each is dropped with nothing inside.
impl Drop for KeyArray {
    fn drop(&mut self) {
        if !self.is_deep() {
            return;
        }
        let mut left = std::mem::take(&mut self.elements);
        while let Some(key) = left.pop() {
            if let Key::Array(mut array) = key {
                left.append(&mut array.elements);
            }
        }
    }
}

impl fmt::Debug for KeyArray {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.is_deep() {
            let height = self.height;
            return write!(f, "[{} keys, {height} levels deep]", self.len());
        }
        f.debug_list().entries(&self.elements).finish()
    }
}

impl PartialEq for KeyArray {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl Eq for KeyArray {}

impl PartialOrd for KeyArray {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

/// Element by element, then the shorter first.
impl Ord for KeyArray {
    fn cmp(&self, other: &Self) -> Ordering {
        // Recursion ends with the shallower of the two.
        if self.is_deep() && other.is_deep() {
            return RawKey::compare_bytes(&self.encoded(), &other.encoded());
        }
        self.elements.cmp(&other.elements)
    }
}
