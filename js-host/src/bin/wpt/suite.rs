//! The suite's folder: which files there are, and what their `META` lines ask for.

use std::io;
use std::path::Path;

use serde::{Deserialize, Serialize};

/// The global scope that a file is run in.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Form {
    /// A window's, as `.any.html` of the suite's server.
    #[default]
    Window,
    /// A dedicated worker's, as its `.any.worker.html`.
    Worker,
}

impl Form {
    pub(crate) const ALL: [Self; 2] = [Self::Window, Self::Worker];

    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Window => "window",
            Self::Worker => "worker",
        }
    }

    pub(crate) fn of_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|form| form.name() == name)
    }
}

/// One `.any.js`.
pub(crate) struct TestFile {
    pub(crate) scripts: Vec<String>,
    pub(crate) variants: Vec<String>,
    pub(crate) title: String,
    pub(crate) forms: Vec<Form>,
}

impl TestFile {
    pub(crate) fn read(suite: &Path, file: &str) -> io::Result<Self> {
        let source = std::fs::read_to_string(suite.join("IndexedDB").join(file))?;
        let meta = |key: &str| -> Vec<String> {
            let prefix = format!("// META: {key}=");
            let lines = source.lines();
            lines
                .filter_map(|line| Some(line.strip_prefix(&prefix)?.trim().to_owned()))
                .collect()
        };
        let mut variants = meta("variant");
        if variants.is_empty() {
            variants.push(String::new());
        }
        let title = meta("title").pop();
        let globals = meta("global").pop();
        let is_for = |form: &Form| match &globals {
            None => true,
            Some(globals) => globals.split(',').any(|name| {
                name == form.name() || (*form == Form::Worker && name == "dedicatedworker")
            }),
        };
        Ok(Self {
            scripts: meta("script"),
            variants,
            title: title.unwrap_or_else(|| file.trim_end_matches(".any.js").to_owned()),
            forms: Form::ALL.into_iter().filter(is_for).collect(),
        })
    }
}

/// All `.any.js` of the suite's IndexedDB folder and of those within it, as paths from there, sorted.
pub(crate) fn files(suite: &Path) -> io::Result<Vec<String>> {
    let mut files = Vec::new();
    let mut folders = vec![String::new()];
    while let Some(folder) = folders.pop() {
        for entry in suite.join("IndexedDB").join(&folder).read_dir()? {
            let entry = entry?;
            let Ok(name) = entry.file_name().into_string() else {
                continue;
            };
            let path = format!("{folder}{name}");
            if entry.file_type()?.is_dir() {
                folders.push(path + "/");
            } else if name.ends_with(".any.js") {
                files.push(path);
            }
        }
    }
    files.sort();
    Ok(files)
}
