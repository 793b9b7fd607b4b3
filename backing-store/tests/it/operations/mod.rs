//! Operations of transactions that write, against a reference in plain maps.
//!
//! A run is a list of transactions, each a list of four numbers that say what is done and to what. Both sides do it; what
//! they answer is compared at once, and everything there is after each transaction, committed, rolled back or cut off.

mod check;
mod cursors;
mod edges;
mod model;
mod run;
mod session;
mod support;

use quickcheck::{Gen, QuickCheck};

use run::{Run, Step};
pub(crate) use support::{bytes, open};

#[test]
fn stores_do_what_maps_do() {
    fn law(transactions: Vec<Vec<Step>>) -> bool {
        let mut run = Run::new();
        for steps in &transactions {
            run.transaction(steps);
        }
        true
    }
    QuickCheck::new()
        .rng(Gen::new(40))
        .tests(60 / larder_fixtures::sampled(6) as u64)
        .quickcheck(law as fn(Vec<Vec<Step>>) -> bool);
}
