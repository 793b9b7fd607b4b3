//! The suite's folder: which files there are, and what their `META` lines ask for.

use std::io;
use std::path::Path;

/// One `.any.js`.
pub(crate) struct TestFile {
    pub(crate) source: String,
    pub(crate) scripts: Vec<String>,
    pub(crate) variants: Vec<String>,
    pub(crate) title: String,
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
        Ok(Self {
            scripts: meta("script"),
            variants,
            title: title.unwrap_or_else(|| file.trim_end_matches(".any.js").to_owned()),
            source,
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
