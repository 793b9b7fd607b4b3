//! Cuts against a naive twin, the published vectors of hashsplit, and the program `bup`.

use super::*;
use sha1::{Digest, Sha1};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// Lengths of chunks of a whole input that comes in parts.
fn lengths(
    parameters: SplitParameters,
    input: &[u8],
    mut part_len: impl FnMut() -> usize,
) -> Vec<usize> {
    let mut splitter = Splitter::new(parameters);
    let mut lengths = Vec::new();
    let mut rest = input;
    while !rest.is_empty() {
        let (part, behind) = rest.split_at(part_len().clamp(1, rest.len()));
        let mut part = part;
        while let Some(cut) = splitter.next_cut(part) {
            lengths.push(cut.chunk_len);
            part = &part[cut.consumed..];
        }
        rest = behind;
    }
    let mut left = input.len() - lengths.iter().sum::<usize>();
    while left > 0 {
        let len = splitter.last_chunk_len(left);
        lengths.push(len);
        left -= len;
    }
    lengths
}

fn whole(parameters: SplitParameters, input: &[u8]) -> Vec<usize> {
    lengths(parameters, input, || usize::MAX)
}

/// Every sum from its definition, no byte passed over.
fn naive(parameters: SplitParameters, input: &[u8]) -> Vec<usize> {
    let sum_at = |start: usize, end: usize| {
        let mut sum = RollingSum::new(parameters.start);
        let first = if parameters.starts_anew { start } else { 0 };
        sum.roll(&input[first.max(end.saturating_sub(WINDOW_LEN))..end]);
        sum.digest() & parameters.mask()
    };
    let mut lengths = Vec::new();
    let mut start = 0;
    for cut in 1..=input.len() {
        let len = cut - start;
        let is_sum = cut + parameters.lead() <= input.len()
            && sum_at(start, cut + parameters.lead()) == parameters.value();
        if (len >= parameters.len_min && is_sum) || len == parameters.len_max || cut == input.len()
        {
            lengths.push(len);
            start = cut;
        }
    }
    lengths
}

/// Bytes that look random: xorshift.
fn noise(seed: u64, len: usize) -> Vec<u8> {
    let mut x = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
    let mut next = || {
        x ^= x << 13;
        x ^= x >> 7;
        x ^= x << 17;
        (x >> 32) as u8
    };
    (0..len).map(|_| next()).collect()
}

#[test]
fn cuts_are_those_of_the_naive_twin_whatever_the_parts() {
    let small = SplitParameters {
        bits: 6,
        len_min: 200,
        len_max: 900,
        ..SplitParameters::LEDGER
    };
    let tiny = SplitParameters {
        len_min: 1,
        bits: 4,
        len_max: 70,
        ..small
    };
    let anew = SplitParameters {
        starts_anew: true,
        ..tiny
    };
    let ahead = SplitParameters::hashsplit(6, 100, 900);
    for seed in 0..40 {
        let input = noise(seed, 5000 + 37 * seed as usize);
        for parameters in [
            small,
            tiny,
            anew,
            ahead,
            SplitParameters::hashsplit(3, 1, 30),
        ] {
            let expected = naive(parameters, &input);
            assert_eq!(
                whole(parameters, &input),
                expected,
                "seed {seed}, {parameters:?}"
            );
            let mut parts = noise(seed + 1000, 10_000).into_iter().map(usize::from);
            let parts = || parts.next().unwrap_or(1);
            assert_eq!(
                lengths(parameters, &input, parts),
                expected,
                "seed {seed}, in parts"
            );
        }
    }
}

#[test]
fn zeros_have_no_cut_of_their_own() {
    let zeros = vec![0; 98_304];
    assert_eq!(
        whole(SplitParameters::hashsplit(13, 1024, 30_000), &zeros),
        [30_000, 30_000, 30_000, 8304]
    );
    assert_eq!(
        whole(SplitParameters::hashsplit(13, 1024, 15_000), &zeros),
        [15_000, 15_000, 15_000, 15_000, 15_000, 15_000, 8304]
    );
    assert_eq!(whole(SplitParameters::LEDGER, &zeros), [65_535, 32_769]);
}

#[test]
#[expect(
    clippy::disallowed_methods,
    reason = "a test that reads a checkout of the published vectors"
)]
fn published_vectors_of_hashsplit_hold() {
    let Some(folder) = std::env::var_os("HASHSPLIT_TESTS").map(PathBuf::from) else {
        return println!(
            "SKIPPED: HASHSPLIT_TESTS is not the folder `tests` of the published vectors"
        );
    };
    let mut cases = 0;
    for name in ["commonsense", "random", "zeros"] {
        let read = |file: &str| std::fs::read(folder.join(Path::new(name)).join(file)).unwrap();
        let input = read("input");
        let configs: serde_json::Value = serde_json::from_slice(&read("configs.json")).unwrap();
        for (case, value) in configs["cases"].as_object().unwrap() {
            let config = &value["config"];
            if config["hash"] != "rrs1" {
                continue;
            }
            let number = |name: &str| config[name].as_u64().unwrap() as usize;
            let parameters = SplitParameters::hashsplit(
                number("threshold") as u32,
                number("minSize"),
                number("maxSize"),
            );
            let sizes: Vec<usize> = serde_json::from_value(value["sizes"].clone()).unwrap();
            assert_eq!(whole(parameters, &input), sizes, "{name}, {case}");
            cases += 1;
        }
    }
    assert_eq!(cases, 8);
}

fn bup(folder: &Path, args: &[&str], input: &[u8]) -> Option<String> {
    let mut child = Command::new("bup")
        .args(args)
        .env("BUP_DIR", folder)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .ok()?;
    let mut stdin = child.stdin.take().unwrap();
    let input = input.to_vec();
    let writer = std::thread::Builder::new()
        .spawn(move || stdin.write_all(&input).unwrap())
        .unwrap();
    let output = child.wait_with_output().unwrap();
    writer.join().unwrap();
    assert!(output.status.success(), "{output:?}");
    Some(String::from_utf8(output.stdout).unwrap())
}

#[test]
fn chunks_are_those_of_bup() {
    let folder = tempfile::tempdir().unwrap();
    if bup(folder.path(), &["init"], b"").is_none() {
        return crate::testing::is_missing("the program bup");
    }
    let mixed = [
        noise(5, 300_000),
        vec![0; 90_000],
        noise(6, 10),
        noise(5, 300_000),
    ]
    .concat();
    for input in [noise(1, 1_000_000), vec![0; 100_000], noise(2, 1), mixed] {
        let args = ["split", "-b", "-q"];
        let theirs = bup(folder.path(), &args, &input).unwrap();
        let mut rest = &input[..];
        let mut ours = String::new();
        for len in whole(SplitParameters::BUP, &input) {
            let (chunk, behind) = rest.split_at(len);
            let mut hash = Sha1::new();
            hash.update(format!("blob {len}\0"));
            hash.update(chunk);
            let hash: Vec<String> = hash.finalize().iter().map(|b| format!("{b:02x}")).collect();
            ours += &format!("{}\n", hash.concat());
            rest = behind;
        }
        assert_eq!(ours, theirs, "an input of {} bytes", input.len());
    }
}
