//! A process that reads beside the writers.

use super::schedule::Process;
use super::{GRACE, Setting, may_pass};
use crate::support::{LEASE, namespace};
use larder_leveldb::storage::FileSystem;
use larder_remote_files::{Cluster, Error, ErrorKind, RemoteFileSystem};
use std::io;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

pub(crate) fn run(setting: &Setting, slot: usize) {
    let schedule = &setting.schedule;
    schedule.pause(slot, Duration::ZERO);
    while !schedule.is_over() {
        let process = Process::of(schedule, slot, setting.per_mille);
        let (catalogue, blobs) = setting.engine(&process);
        let cluster = Cluster::new(catalogue, blobs, Arc::new(process.clone()), LEASE);
        let fs = RemoteFileSystem::read(&cluster, &namespace(), setting.options.clone()).unwrap();
        while !process.is_dead() {
            look(setting, &process, &fs);
            schedule.pause(slot, Duration::from_millis(schedule.random(4000)));
        }
    }
    schedule.finish(slot);
}

fn look(setting: &Setting, process: &Process, fs: &RemoteFileSystem) {
    for name in ["log", "table", "CURRENT", "tmp"] {
        let began = setting.schedule.now();
        let error = match content(setting, process, fs, name) {
            Ok(bytes) => {
                setting.oracle.seen(name, &bytes);
                continue;
            }
            Err(error) => error,
        };
        let is_late = setting.schedule.now() - began > GRACE / 2;
        let is_gone = Error::within(&error).is_some_and(|error| error.kind() == ErrorKind::Gone);
        let is_missing = error.kind() == io::ErrorKind::NotFound;
        if !(is_missing || may_pass(&error) || process.is_dead() || (is_gone && is_late)) {
            setting
                .oracle
                .violation(format!("a reader of {name}: {error}"));
        }
    }
}

/// A file as it was when it was opened, read a while later.
fn content(
    setting: &Setting,
    process: &Process,
    fs: &RemoteFileSystem,
    name: &str,
) -> io::Result<Vec<u8>> {
    let file = fs.open_random(Path::new(name))?;
    let mut bytes = vec![0; file.len()? as usize];
    let mut at = 0;
    while at < bytes.len() {
        let pause = Duration::from_millis(setting.schedule.random(1500));
        setting.schedule.pause(process.slot, pause);
        match file.read_at(at as u64, &mut bytes[at..])? {
            0 => return Err(io::ErrorKind::UnexpectedEof.into()),
            n => at += n,
        }
    }
    Ok(bytes)
}
