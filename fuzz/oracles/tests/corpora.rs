//! Every law over its corpus: the seeds from real stores, and whatever a fuzzer once found.

#![expect(
    clippy::disallowed_methods,
    clippy::unwrap_used,
    reason = "helpers of tests, which read the corpora in this repository"
)]

use std::fs;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;

/// Runs a law over all files in its folder. Says which of them break it.
fn run(target: &str, law: fn(&[u8])) {
    let dir = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../corpus")
        .join(target);
    let mut paths: Vec<_> = fs::read_dir(dir)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .collect();
    paths.sort();
    assert!(!paths.is_empty(), "the corpus of {target} is empty");
    let breaks = |path: &&std::path::PathBuf| {
        let input = fs::read(path).unwrap();
        catch_unwind(AssertUnwindSafe(|| law(&input))).is_err()
    };
    let broken: Vec<_> = paths.iter().filter(breaks).collect();
    assert!(
        broken.is_empty(),
        "{} of {} inputs break a law: {broken:#?}",
        broken.len(),
        paths.len()
    );
}

#[test]
fn archives_hold_over_their_corpus() {
    run("archive", larder_fuzz_oracles::archive);
}

#[test]
fn files_of_dexie_hold_over_their_corpus() {
    run("dexie", larder_fuzz_oracles::dexie);
}

#[test]
fn codec_round_trip_holds_over_its_corpus() {
    run("codec_round_trip", larder_fuzz_oracles::codec_round_trip);
}

#[test]
fn comparator_laws_hold_over_their_corpus() {
    run("comparator_laws", larder_fuzz_oracles::comparator_laws);
}

#[test]
fn value_decoding_holds_over_its_corpus() {
    run("value_decoding", larder_fuzz_oracles::value_decoding);
}

#[test]
fn value_encoding_holds_over_the_corpus_of_decoding() {
    run("value_decoding", larder_fuzz_oracles::value_encoding);
}

#[test]
fn key_paths_hold_over_their_corpus() {
    run("key_paths", larder_fuzz_oracles::key_paths);
}

#[test]
fn log_holds_over_its_corpus() {
    run("log", larder_fuzz_oracles::log);
}

#[test]
fn table_holds_over_its_corpus() {
    run("table", larder_fuzz_oracles::table);
}

#[test]
fn manifest_holds_over_its_corpus() {
    run("manifest", larder_fuzz_oracles::manifest);
}

#[test]
fn store_directory_holds_over_its_corpus() {
    run("store_directory", larder_fuzz_oracles::store_directory);
}

#[test]
fn store_writing_holds_over_the_corpus_of_store_directory() {
    run("store_directory", larder_fuzz_oracles::store_writing);
}

#[test]
fn hostile_store_holds_over_its_corpus() {
    run("hostile_store", larder_fuzz_oracles::hostile_store);
}

#[test]
fn transactions_hold_over_their_corpus() {
    run("transactions", larder_fuzz_oracles::transactions);
}
