//! SlateDB on the bucket of the same gateway: the program of `peers/slate/`, a process for each run.

use crate::work::{Costs, ROWS, Work};
use larder_fixtures::servers::S3;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// Its settings, and what a column of them is called.
pub(crate) const SETTINGS: [(&str, &str); 2] =
    [("default", "SlateDB"), ("tuned", "SlateDB, tuned")];

/// The program, if it has been built, and the gateway.
pub(crate) struct Slate {
    program: PathBuf,
    gateway: &'static S3,
}

impl Slate {
    /// Finds both. `None`, with a word, if one is not there.
    pub(crate) fn find() -> Option<Slate> {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
        let program = root.join("target/peers/release/larder-peer-slate");
        if !program.exists() {
            println!(
                "skipped: SlateDB is not built: cargo build --release --locked --target-dir target/peers --manifest-path peers/slate/Cargo.toml"
            );
            return None;
        }
        let gateway = S3::shared()?;
        Some(Slate { program, gateway })
    }

    /// All of the work once, below an unused prefix.
    pub(crate) fn run(&self, prefix: &str, work: &Work, settings: &str) -> Costs {
        let (key, secret) = self.gateway.keys();
        let numbers = [work.strict_puts, work.records, work.gets];
        let output = Command::new(&self.program)
            .arg(prefix)
            .args(numbers.map(|number| number.to_string()))
            .arg(settings)
            .env("AWS_ENDPOINT_URL", self.gateway.endpoint())
            .env("AWS_BUCKET", self.gateway.bucket())
            .env("AWS_REGION", "us-east-1")
            .env("AWS_ACCESS_KEY_ID", key)
            .env("AWS_SECRET_ACCESS_KEY", secret)
            .stderr(Stdio::inherit())
            .output()
            .unwrap();
        assert!(output.status.success(), "SlateDB: {}", output.status);
        let rows: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
        ROWS.map(|row| rows[row].as_f64())
    }
}
