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

/// A test of the suite that this program does not run.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct NotRun {
    pub(crate) file: String,
    pub(crate) why: &'static str,
}

/// What is in the suite's IndexedDB folder and in those within it.
#[derive(Debug, Default)]
pub(crate) struct Files {
    /// All `.any.js`, as paths from there, sorted.
    pub(crate) run: Vec<String>,
    /// Tests of other kinds.
    pub(crate) not_run: Vec<NotRun>,
}

impl Files {
    pub(crate) fn read(suite: &Path) -> io::Result<Self> {
        let mut files = Self::default();
        let mut folders = vec![String::new()];
        while let Some(folder) = folders.pop() {
            for entry in suite.join("IndexedDB").join(&folder).read_dir()? {
                let entry = entry?;
                let name = entry.file_name().to_string_lossy().into_owned();
                let path = format!("{folder}{name}");
                if !entry.file_type()?.is_dir() {
                    files.add(path);
                // What tests use, and no tests.
                } else if name != "resources" {
                    folders.push(path + "/");
                }
            }
        }
        files.run.sort();
        files.not_run.sort();
        Ok(files)
    }

    fn add(&mut self, file: String) {
        match kind(&file) {
            Kind::NoTest => {}
            Kind::Document => self.skip(file, "asks for a document"),
            Kind::OtherScript => self.skip(file, "is a script of another kind"),
            Kind::Any => self.run.push(file),
        }
    }

    fn skip(&mut self, file: String, why: &'static str) {
        self.not_run.push(NotRun { file, why });
    }
}

/// What a file is by its name, as the suite's server goes by it.
enum Kind {
    /// Runs in several global scopes.
    Any,
    /// A page, or a script for one.
    Document,
    OtherScript,
    /// Settings, descriptions, headers.
    NoTest,
}

fn kind(name: &str) -> Kind {
    const DOCUMENTS: [&str; 5] = [".html", ".htm", ".xhtml", ".svg", ".window.js"];
    if name.ends_with(".any.js") {
        Kind::Any
    } else if DOCUMENTS.iter().any(|end| name.ends_with(end)) {
        Kind::Document
    } else if name.ends_with(".js") || name.ends_with(".mjs") {
        Kind::OtherScript
    } else {
        Kind::NoTest
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn make(path: &Path) {
        let mut folder = std::fs::DirBuilder::new();
        folder
            .recursive(true)
            .create(path.parent().unwrap())
            .unwrap();
        let mut file = std::fs::OpenOptions::new();
        file.write(true).create_new(true).open(path).unwrap();
    }

    #[test]
    fn every_test_of_the_folder_is_run_or_named_with_a_reason() {
        let suite = tempfile::tempdir().unwrap();
        for name in [
            "a.any.js",
            "crashtests/c.any.js",
            "d.html",
            "d.html.headers",
            "e.window.js",
            "f.worker.js",
            "resources/g.html",
            "META.yml",
        ] {
            make(&suite.path().join("IndexedDB").join(name));
        }
        let files = Files::read(suite.path()).unwrap();
        assert_eq!(files.run, ["a.any.js", "crashtests/c.any.js"]);
        let not_run = files.not_run.iter();
        let not_run: Vec<_> = not_run
            .map(|one| format!("{}: {}", one.file, one.why))
            .collect();
        let expected = [
            "d.html: asks for a document",
            "e.window.js: asks for a document",
            "f.worker.js: is a script of another kind",
        ];
        assert_eq!(not_run, expected);
    }
}
