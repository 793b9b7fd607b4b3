//! How far the segments of each device have been taken.

use crate::bytes::{Reader, put_count};
use crate::device::DeviceId;
use std::collections::BTreeMap;

/// The last segment of a device that was taken, or written: its number, and the hash of its header.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Last {
    pub(crate) number: u64,
    pub(crate) hash: [u8; 32],
}

impl Last {
    /// Before the first segment.
    pub(crate) const NONE: Last = Last {
        number: 0,
        hash: [0; 32],
    };
}

/// The last segments of all devices.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Position(pub(crate) BTreeMap<DeviceId, Last>);

const VERSION: u8 = 1;

impl Position {
    pub(crate) fn of(&self, device: DeviceId) -> Last {
        self.0.get(&device).copied().unwrap_or(Last::NONE)
    }

    pub(crate) fn encode(&self) -> Vec<u8> {
        let mut bytes = vec![VERSION];
        put_count(&mut bytes, self.0.len());
        for (device, last) in &self.0 {
            bytes.extend_from_slice(&device.0);
            bytes.extend_from_slice(&last.number.to_le_bytes());
            bytes.extend_from_slice(&last.hash);
        }
        bytes
    }

    pub(crate) fn decode(bytes: &[u8]) -> Option<Position> {
        let mut reader = Reader(bytes);
        if reader.u8()? != VERSION {
            return None;
        }
        let mut position = Position::default();
        for _ in 0..reader.count(56)? {
            let device = DeviceId(reader.array()?);
            let (number, hash) = (reader.u64()?, reader.array()?);
            position.0.insert(device, Last { number, hash });
        }
        reader.0.is_empty().then_some(position)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_position_is_read_back_and_cut_ones_are_none() {
        let mut position = Position::default();
        for byte in 1..4 {
            let last = Last {
                number: u64::from(byte) << 40,
                hash: [byte; 32],
            };
            position.0.insert(DeviceId([byte; 16]), last);
        }
        let bytes = position.encode();
        assert_eq!(Position::decode(&bytes), Some(position));
        for len in 0..bytes.len() {
            assert_eq!(Position::decode(&bytes[..len]), None);
        }
    }
}
