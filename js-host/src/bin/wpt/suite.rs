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

/// All `.any.js` of the suite's IndexedDB folder, sorted.
pub(crate) fn files(suite: &Path) -> io::Result<Vec<String>> {
    let mut files = Vec::new();
    for entry in suite.join("IndexedDB").read_dir()? {
        if let Ok(name) = entry?.file_name().into_string()
            && name.ends_with(".any.js")
        {
            files.push(name);
        }
    }
    files.sort();
    Ok(files)
}
