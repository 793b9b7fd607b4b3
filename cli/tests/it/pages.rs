//! `larder pages`: what it prints is what was put, by plain maps; it changes nothing but by gc; what is damaged is named.

mod gc;
mod harmed;
mod history;
mod listing;
mod messages;
mod old_rows;
mod values;

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Output;
use std::sync::Arc;

use larder_leveldb::storage::DiskFileSystem;
use larder_pages::{Commit, OpenPage, Page, PageId, PageOptions, Repository, Timestamp};
use serde_json::Value;

use crate::support::{larder, stderr};

/// The entries of a commit.
type Map = BTreeMap<Vec<u8>, Vec<u8>>;

const SECOND: i64 = 1_000_000_000;

fn open(dir: &Path) -> Repository {
    let fs = Arc::new(DiskFileSystem::new());
    Repository::open(fs, dir, PageOptions::default(), Timestamp(SECOND)).unwrap()
}

fn page(repository: &Repository, ledger: &[u8], id: PageId) -> OpenPage {
    repository.ledger(ledger).unwrap().open_page(id).unwrap()
}

/// Commits changes: `None` takes an entry away.
fn commit(page: &Page, base: &Commit, changes: &[(&[u8], Option<&[u8]>)], time: i64) -> Commit {
    let mut journal = page.begin_on(base);
    for (key, value) in changes {
        match value {
            Some(value) => journal.put(key, value).unwrap(),
            None => journal.delete(key).unwrap(),
        }
    }
    page.commit(journal, Timestamp(time)).unwrap()
}

/// The command `larder pages`, by its words, with the path behind the first.
fn pages(path: &Path, words: &[&str]) -> Output {
    let path = path.to_str().unwrap();
    larder([&["pages", words[0], path], &words[1..]].concat())
}

fn printed(path: &Path, words: &[&str]) -> String {
    let output = pages(path, words);
    assert!(output.status.success(), "{words:?}: {}", stderr(&output));
    String::from_utf8(output.stdout).unwrap()
}

fn lines(path: &Path, words: &[&str]) -> Vec<Value> {
    let text = printed(path, words);
    text.lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect()
}

fn refused(path: &Path, words: &[&str], code: i32) -> String {
    let output = pages(path, words);
    let said = stderr(&output);
    assert_eq!(output.status.code(), Some(code), "{words:?}: {said}");
    said
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn id(commit: &Commit) -> String {
    hex(&commit.id().0)
}

/// Every file below a folder, with its bytes.
fn files(dir: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let mut found = BTreeMap::new();
    for entry in fs::read_dir(dir).unwrap() {
        let path = entry.unwrap().path();
        match path.is_dir() {
            true => found.extend(files(&path)),
            // Closing a file gives up the locks that this process has on it. It is empty.
            false if path.ends_with("LOCK") => drop(found.insert(path, Vec::new())),
            false => drop(found.insert(path.clone(), fs::read(&path).unwrap())),
        }
    }
    found
}

fn copy(from: &Path, to: &Path) {
    for (path, bytes) in files(from) {
        let path = to.join(path.strip_prefix(from).unwrap());
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, bytes).unwrap();
    }
}
