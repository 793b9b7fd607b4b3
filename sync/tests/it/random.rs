//! What is random in these tests.

use larder_fixtures::random::Random;

/// Bytes, often enough for several pieces, of which few are alike.
pub(crate) fn value(random: &mut Random) -> Vec<u8> {
    let len = random.pick(&[3, 20, 33, 500, 9000, 90_000]);
    Random::new(random.below(40)).bytes(len)
}
