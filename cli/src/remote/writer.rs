//! A namespace that this process writes: its lease, and its name for people.

use std::time::Duration;

use larder_remote_files::{Options, SessionOptions, Writer};

use super::connection::{Connection, explain};

/// After so long without a sign of life another process takes the namespace over.
fn lease() -> Result<Duration, String> {
    let Ok(text) = std::env::var("LARDER_LEASE_SECONDS") else {
        return Ok(Duration::from_secs(10));
    };
    let seconds: Option<u64> = text.parse().ok().filter(|seconds| *seconds > 0);
    let seconds =
        seconds.ok_or_else(|| format!("LARDER_LEASE_SECONDS={text}: a number from 1 on"))?;
    Ok(Duration::from_secs(seconds))
}

/// Takes the namespace of an address.
///
/// # Errors
/// In words.
pub(super) fn take(path: &std::path::Path) -> Result<Writer, String> {
    take_of(&Connection::open(path)?)
}

pub(super) fn take_of(connection: &Connection) -> Result<Writer, String> {
    let namespace = connection.namespace()?;
    let mut nonce = [0; 16];
    getrandom::fill(&mut nonce).map_err(|error| format!("no random numbers: {error}"))?;
    let host = ["/proc/sys/kernel/hostname", "/etc/hostname"]
        .iter()
        .find_map(|path| std::fs::read_to_string(path).ok());
    let host = host.unwrap_or_else(|| "larder".to_owned());
    let session = SessionOptions {
        nonce,
        label: format!("{}:{}", host.trim(), std::process::id()),
        duration: lease()?,
    };
    Writer::take(&connection.cluster, namespace, session, Options::default())
        .map_err(|error| explain(&error))
}
