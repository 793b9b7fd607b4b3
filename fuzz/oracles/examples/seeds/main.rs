//! Makes the two small stores in `fuzz/oracles/stores` and the seeds in `fuzz/corpus` from the golden stores.
//!
//! Run twice after a change of what is taken: the seeds are made with the small stores that are compiled in.
//! ```text
//! cargo run -p larder-fuzz-oracles --example seeds
//! ```
//! It overwrites files whose names begin with `seed-` and leaves all others: those are findings.
#![expect(
    clippy::disallowed_methods,
    clippy::expect_used,
    reason = "a tool of this repository: it writes real files"
)]

mod codec;
mod engine;
mod stores;

use std::fs;
use std::path::{Path, PathBuf};

use stores::{killed, lite};

fn main() {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    let stores = here.join("stores");
    fs::write(stores.join("lite.store"), lite().to_archive()).expect("lite.store");
    fs::write(stores.join("killed.store"), killed().to_archive()).expect("killed.store");
    let corpus = Corpus(here.parent().expect("fuzz/").join("corpus"));
    codec::keys(&corpus);
    codec::values(&corpus);
    engine::files(&corpus);
    engine::directories(&corpus);
    engine::transactions(&corpus);
    engine::hostile(&corpus);
}

/// The seeds' folder.
pub(crate) struct Corpus(PathBuf);

impl Corpus {
    pub(crate) fn add(&self, target: &str, name: &str, content: &[u8]) {
        let dir = self.0.join(target);
        fs::create_dir_all(&dir).expect("a folder");
        fs::write(dir.join(format!("seed-{name}")), content).expect("a seed");
    }

    /// With the byte before it that says how the rest is meant.
    pub(crate) fn add_as(&self, target: &str, name: &str, choice: u8, content: &[u8]) {
        self.add(target, name, &[&[choice], content].concat());
    }
}
