//! A device: a browser's profile or a folder of `larder run`'s, which `larder sync` keeps alike with another.

use std::ffi::OsString;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::Command;

use larder_fixtures::chromium::{Chromium, Store};
use serde_json::Value;

use crate::ORIGIN;

/// What runs the scripts of a device.
#[derive(Clone, Copy)]
pub(super) enum Host {
    /// A page in a Chromium on a profile of its own.
    Page(&'static Chromium),
    /// `larder run`.
    Run,
}

pub(super) struct Device {
    pub(super) name: &'static str,
    host: Host,
    /// The profile, or the folder of stores.
    pub(super) path: PathBuf,
    /// What `larder sync` is called with beside the path.
    options: Vec<OsString>,
    scratch: PathBuf,
}

/// What `larder sync` has said.
#[derive(Debug)]
pub(super) struct Said {
    pub(super) code: Option<i32>,
    pub(super) out: String,
    pub(super) err: String,
}

impl Said {
    /// The lines of a call that has succeeded, as JSON.
    pub(super) fn lines(&self) -> Vec<Value> {
        assert_eq!((self.code, &*self.err), (Some(0), ""), "{self:?}");
        let lines = self.out.lines();
        lines
            .map(|line| serde_json::from_str(line).unwrap())
            .collect()
    }
}

impl Device {
    /// A device in a folder. `cloud` is what all of them are called with.
    pub(super) fn new(name: &'static str, host: Host, dir: &Path, cloud: &[OsString]) -> Self {
        let mut options: Vec<OsString> = ["--origin", ORIGIN].map(OsString::from).to_vec();
        options.push("--pages".into());
        options.push(dir.join(format!("pages of {name}")).into());
        options.extend_from_slice(cloud);
        Self {
            name,
            host,
            path: dir.join(name),
            options,
            scratch: dir.to_owned(),
        }
    }

    pub(super) fn store(&self) -> Store {
        match self.host {
            Host::Page(_) => Store::within(&self.path.join("Default/IndexedDB"), ORIGIN),
            Host::Run => Store::within(&self.path, ORIGIN),
        }
    }

    /// The path that `larder sync` gets.
    fn synced(&self) -> PathBuf {
        match self.host {
            Host::Page(_) => self.path.join("Default"),
            Host::Run => self.path.clone(),
        }
    }

    /// Runs the body of an async function of `args`, and gives what it returns.
    pub(super) fn run(&self, script: &str, args: &Value) -> Value {
        if let Host::Page(chromium) = self.host {
            let page = chromium.run_in_profile(&self.path, ORIGIN, script, args);
            return page.unwrap();
        }
        let mut file = tempfile::NamedTempFile::new_in(&self.scratch).unwrap();
        let report = "(said) => console.log(JSON.stringify(said))";
        let text = format!("(async (args) => {{ {script} }})({args}).then({report});");
        file.write_all(text.as_bytes()).unwrap();
        let ran = Command::new(env!("CARGO_BIN_EXE_larder"))
            .args(["run", "--origin", ORIGIN, "--storage"])
            .arg(&self.path)
            .arg(file.path())
            .output()
            .unwrap();
        let said = String::from_utf8_lossy(&ran.stderr);
        assert!(ran.status.success(), "{}: {said}", self.name);
        serde_json::from_slice(&ran.stdout).unwrap()
    }

    /// `larder sync` of a database, with more options.
    pub(super) fn sync(&self, database: &str, more: &[&str]) -> Said {
        let ran = Command::new(env!("CARGO_BIN_EXE_larder"))
            .arg("sync")
            .arg(self.synced())
            .args(&self.options)
            .args(["--database", database])
            .args(more)
            .output()
            .unwrap();
        let text = |bytes| String::from_utf8(bytes).unwrap();
        Said {
            code: ran.status.code(),
            out: text(ran.stdout),
            err: text(ran.stderr),
        }
    }
}
