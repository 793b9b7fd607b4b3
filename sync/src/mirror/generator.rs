//! Key generators of several devices: each has places of its own among the numbers.
//!
//! A key generator goes on behind each number that is put, also behind one of another device's. So on each device it must be above all
//! numbers that are there: a generator below them, in a range of the device's, would go on among the other device's records as soon as
//! one of those is put again, and overwrite the next. Hence places come again in each cycle of numbers, for each device another one.

use larder_idb::{Key, ObjectStore};

use super::error::Result;
use super::options::MirrorOptions;

/// So many numbers are in a cycle; each device has one place in it.
const CYCLE_LEN: u64 = 1 << 28;
/// So many numbers are between one place and the next.
const PLACE_LEN: u64 = CYCLE_LEN / (MirrorOptions::DEVICE_NUMBER_MAX as u64 + 1);
/// So far a generator goes on from its place. It may come to another device's by that, where few devices rarely have one.
const RUN_LEN: u64 = 1 << 20;
/// The greatest number that a key generator gives.
const GREATEST: u64 = 1 << 53;

/// Where a device's place begins in each cycle, from 0. Devices whose numbers are close are far apart.
const fn place_of(device_number: u32) -> u64 {
    let bits = MirrorOptions::DEVICE_NUMBER_MAX.count_ones();
    (device_number.reverse_bits() >> (u32::BITS - bits)) as u64 * PLACE_LEN
}

/// Where the generator is to go on for a device, if it is at `next` and so above all numbers that are there: at the same number, if that is in a run from a
/// place of the device's, or at its next place. Behind the last one it goes on as it would without a mirror.
const fn goes_on_at(next: u64, device_number: u32) -> u64 {
    let place = place_of(device_number);
    let wanted = match (next - 1).checked_sub(place) {
        None => place + 1,
        Some(behind) if behind % CYCLE_LEN < RUN_LEN => next,
        Some(behind) => (behind / CYCLE_LEN + 1) * CYCLE_LEN + place + 1,
    };
    match wanted <= GREATEST {
        true => wanted,
        false => next,
    }
}

/// Where the generator goes on behind a record, as IndexedDB has it: behind a number. One that no generator gives would use it up, on all
/// devices, and is left out.
fn behind(key: &Key) -> Option<u64> {
    match key {
        Key::Number(number) if (1.0..GREATEST as f64).contains(number) => Some(*number as u64 + 1),
        _ => None,
    }
}

/// The number that the key generator of an object store is to give next on a device.
pub(super) struct Generator {
    is: u64,
    next: u64,
    device_number: u32,
}

impl Generator {
    pub(super) async fn of(object_store: &ObjectStore, device_number: u32) -> Result<Self> {
        let is = object_store.key_generator()?.await?.max(1);
        Ok(Self {
            is,
            next: goes_on_at(is, device_number),
            device_number,
        })
    }

    /// Whether it is to give another number than it would.
    pub(super) const fn moves(&self) -> bool {
        self.next != self.is
    }

    /// A record comes in.
    pub(super) fn meet(&mut self, key: &Key) {
        if let Some(behind) = behind(key)
            && behind > self.next
        {
            self.next = goes_on_at(behind, self.device_number);
        }
    }

    /// Sets the object store's, whatever it has gone on to since.
    pub(super) async fn set(&self, object_store: &ObjectStore) -> Result<()> {
        Ok(object_store.set_key_generator(self.next)?.await?)
    }
}

#[cfg(test)]
mod tests {
    use super::{CYCLE_LEN, GREATEST, PLACE_LEN, RUN_LEN, goes_on_at, place_of};
    use crate::mirror::MirrorOptions;

    #[test]
    fn each_device_has_a_place_of_its_own() {
        let mut places: Vec<u64> = (0..=MirrorOptions::DEVICE_NUMBER_MAX)
            .map(place_of)
            .collect();
        assert_eq!(
            places[..4],
            [0, CYCLE_LEN / 2, CYCLE_LEN / 4, CYCLE_LEN / 4 * 3]
        );
        places.sort_unstable();
        let each = (0..CYCLE_LEN).step_by(PLACE_LEN as usize);
        assert!(places.into_iter().eq(each));
    }

    #[test]
    fn a_generator_never_goes_back_and_is_in_a_run_of_the_device() {
        let half = CYCLE_LEN / 2;
        for (next, device_number, wanted) in [
            (1, 0, 1),
            (RUN_LEN, 0, RUN_LEN),
            (RUN_LEN + 1, 0, CYCLE_LEN + 1),
            (CYCLE_LEN, 0, CYCLE_LEN + 1),
            (1, 1, half + 1),
            (half, 1, half + 1),
            (half + RUN_LEN, 1, half + RUN_LEN),
            (half + RUN_LEN + 1, 1, CYCLE_LEN + half + 1),
            (half + 2, 0, CYCLE_LEN + 1),
            // Behind the last place there is none.
            (GREATEST - half + 2, 1, GREATEST - half + 2),
            (
                GREATEST - half + RUN_LEN + 1,
                1,
                GREATEST - half + RUN_LEN + 1,
            ),
            (GREATEST + 1, 0, GREATEST + 1),
            (GREATEST + 1, 1, GREATEST + 1),
        ] {
            assert_eq!(
                goes_on_at(next, device_number),
                wanted,
                "{next} of {device_number}"
            );
        }
    }
}
