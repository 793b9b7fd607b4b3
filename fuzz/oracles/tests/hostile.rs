//! Random hostile stores: `LARDER_HOSTILE_STORES` of them (default 60), from `LARDER_SEED` (default 1) on.

use larder_fuzz_oracles::{hostile_files, hostile_store};

fn number(name: &str, default: u64) -> u64 {
    let text = std::env::var(name).ok();
    text.map_or(default, |text| text.parse().unwrap_or(default))
}

#[test]
fn hostile_stores_are_read_written_to_and_repaired_in_bounded_steps() {
    let (seed, count) = (
        number("LARDER_SEED", 1),
        number("LARDER_HOSTILE_STORES", 60),
    );
    for seed in seed..seed + count {
        println!("LARDER_SEED={seed} LARDER_HOSTILE_STORES=1");
        hostile_store(&seed.to_be_bytes());
    }
}

#[test]
fn the_same_choices_make_the_same_store() {
    for seed in 1_u64..4 {
        assert!(hostile_files(&seed.to_be_bytes()) == hostile_files(&seed.to_be_bytes()));
    }
}
