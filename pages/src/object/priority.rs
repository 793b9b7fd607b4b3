//! When a value comes to a device.

use crate::error::{Error, Result};

/// Whether a value comes with the page to other devices, or when it is asked for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Priority {
    /// With the page.
    #[default]
    Eager,
    /// When it is asked for: it may be missing here.
    Lazy,
}

impl Priority {
    pub(crate) const fn byte(self) -> u8 {
        match self {
            Priority::Eager => 0,
            Priority::Lazy => 1,
        }
    }

    pub(crate) fn of_byte(byte: u8) -> Result<Priority> {
        match byte {
            0 => Ok(Priority::Eager),
            1 => Ok(Priority::Lazy),
            _ => Err(Error::corruption(format!(
                "the priority of an entry is {byte}"
            ))),
        }
    }
}
