//! Pages that are synced: clouds, devices beside maps, crashes, and clouds that lie.
//! `LARDER_SYNC_SEEDS` says how many programs of devices (150), `LARDER_SEED` where they begin.
#![cfg(test)]
#![expect(
    clippy::disallowed_methods,
    reason = "helpers of tests fail like tests, and make files of others"
)]

mod attacks;
mod clouds;
mod crash;
mod device;
mod devices;
mod fanouts;
mod lazy;
mod random;
mod shared;
