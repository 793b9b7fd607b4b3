//! Names of devices in a cloud.

use std::fmt;

/// The name of a device in the cloud of a page: 16 bytes, random, drawn by the host once. It says nothing of the device.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct DeviceId(pub [u8; 16]);

impl fmt::Display for DeviceId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

impl fmt::Debug for DeviceId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl DeviceId {
    /// Reads 32 hexadecimal digits in small letters.
    pub(crate) fn parse(text: &str) -> Option<DeviceId> {
        let digit = |byte: u8| match byte {
            b'0'..=b'9' => Some(byte - b'0'),
            b'a'..=b'f' => Some(byte - b'a' + 10),
            _ => None,
        };
        let (pairs, rest) = text.as_bytes().as_chunks::<2>();
        if pairs.len() != 16 || !rest.is_empty() {
            return None;
        }
        let mut id = [0; 16];
        for (byte, [high, low]) in id.iter_mut().zip(pairs) {
            *byte = digit(*high)? << 4 | digit(*low)?;
        }
        Some(DeviceId(id))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_read_back_and_nothing_else_is_one() {
        let id = DeviceId([
            0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 0xab, 0xcd, 0xef, 0xff, 0x10, 0x7f,
        ]);
        assert_eq!(id.to_string(), "00010203040506070809abcdefff107f");
        assert_eq!(DeviceId::parse(&id.to_string()), Some(id));
        for wrong in [
            "",
            "00",
            "00010203040506070809ABCDEFFF107F",
            "0001020304050607080gabcdefff107f",
            "00010203040506070809abcdefff107f0",
        ] {
            assert_eq!(DeviceId::parse(wrong), None);
        }
    }
}
