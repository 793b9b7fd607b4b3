//! Mirrors: random programs of several devices beside a naive model, crashes at file operations, and cases by name. `LARDER_SYNC_SEEDS` says
//! how many programs (200), `LARDER_SYNC_SEED` where they begin.
#![cfg(test)]

mod backups;
mod cases;
mod crash;
mod device;
mod feeds;
mod model;
mod schemas;
mod values;

fn setting(name: &str, default: u64) -> u64 {
    let value = std::env::var(name).ok();
    value.map_or(default, |value| value.parse().unwrap())
}
