//! What tests share.

/// Pages, beside maps.
pub(crate) mod page {
    pub(crate) use crate::page::tests::{Map, change, check_rows, content, open, options};
}

/// Numbers that look random: splitmix64.
#[derive(Clone, Debug)]
pub(crate) struct Random(u64);

impl Random {
    pub(crate) fn new(seed: u64) -> Random {
        Random(seed)
    }

    pub(crate) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ z >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ z >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ z >> 31
    }

    pub(crate) fn below(&mut self, n: u64) -> u64 {
        self.next() % n
    }
}

/// Says that a comparison with another program is left out; where other programs are required, that is a failure.
pub(crate) fn is_missing(what: &str) {
    assert!(
        std::env::var_os("LARDER_REQUIRE_PEERS").is_none(),
        "{what} is missing"
    );
    println!("SKIPPED: {what} is missing");
}
