//! One file of the suite in a process of its own: prints what `testharness.js` says as JSON.

use std::error::Error;
use std::io::Write;
use std::path::Path;
use std::sync::Arc;

use larder_idb::{DiskFileSystem, Executor, StorageOptions, SystemClock};
use larder_js_host::{Host, Options, Stream};

use crate::run::Settings;
use crate::suite::TestFile;

const STAND_INS: &str = include_str!("stand_ins.js");
const ORIGIN: &str = "http://web-platform.test:8000";
/// Lines that begin so carry the result.
pub(crate) const RESULT: &str = "larder-wpt-result ";

/// Puts the results out when the harness is done.
const REPORT: &str = r#"
setup({ explicit_done: true });
add_completion_callback((tests, status) => {
  const statuses = ["PASS", "FAIL", "TIMEOUT", "NOTRUN", "PRECONDITION_FAILED"];
  const all = tests.map(({ name, status, message }) => ({ name, status: statuses[status], message }));
  console.log("larder-wpt-result " + JSON.stringify({ status: status.status, message: status.message, tests: all }));
});
"#;

/// What two tests ask of a document. Not before the harness, which would take it for a window's.
const DOCUMENT: &str = r#"
{
  const { files } = self;
  delete self.files;
  self.document = { getElementsByTagName: () => new EventTarget(), createElement: () => ({ files }) };
}
"#;

/// Runs a file and variant.
pub(crate) fn run(settings: &Settings, file: &str, variant: &str) -> Result<(), Box<dyn Error>> {
    let suite = &settings.suite;
    let test = TestFile::read(suite, file)?;
    let storage = storage(settings, file, variant)?;
    let host = Host::new(Options {
        origin: ORIGIN.to_owned(),
        search: variant.to_owned(),
        storage,
        console: Box::new(|stream, line| {
            let _ = match stream {
                Stream::Out => writeln!(std::io::stdout(), "{line}"),
                Stream::Err => writeln!(std::io::stderr(), "{line}"),
            };
        }),
    })?;
    host.run_script("stand_ins.js", STAND_INS);
    let title = serde_json::to_string(&test.title)?;
    host.run_script("title.js", &format!("self.META_TITLE = {title};"));
    if test
        .scripts
        .iter()
        .any(|script| script.ends_with("idlharness.js"))
    {
        host.run_script("interfaces.js", &interfaces(suite)?);
    }
    let harness = suite.join("resources/testharness.js");
    host.run_script("testharness.js", &std::fs::read_to_string(harness)?);
    host.run_script("report.js", REPORT);
    host.define_file_list("files")?;
    host.run_script("document.js", DOCUMENT);
    for script in &test.scripts {
        let path = match script.strip_prefix('/') {
            Some(absolute) => suite.join(absolute),
            None => suite.join("IndexedDB").join(script),
        };
        // What is not there has a stand-in.
        if let Ok(source) = std::fs::read_to_string(path) {
            host.run_script(script, &source);
        }
    }
    host.run_script(file, &test.source);
    host.run_script("done.js", "done();");
    host.run_until_idle();
    // Nothing more can come. The harness, if it has not told yet, waits in vain.
    host.run_script("timeout.js", "timeout();");
    Ok(())
}

/// Where a file's databases are kept: in memory, or in a folder of its own.
fn storage(
    settings: &Settings,
    file: &str,
    variant: &str,
) -> Result<StorageOptions, Box<dyn Error>> {
    let clock = Arc::new(SystemClock);
    let mut storage = match &settings.storage {
        None => StorageOptions::in_memory(clock),
        Some(folder) => {
            let name = format!("{file}{}", variant.replace('?', "-"));
            let folder = folder.join(name);
            let fs = DiskFileSystem::new();
            std::fs::DirBuilder::new().recursive(true).create(&folder)?;
            StorageOptions::new(Arc::new(fs), folder, clock)
        }
    };
    if !settings.threads {
        storage.executor = Executor::Driven { seed: None };
    }
    Ok(storage)
}

/// `fetch` of the interface definitions, which idlharness asks for.
fn interfaces(suite: &Path) -> Result<String, Box<dyn Error>> {
    let mut files = serde_json::Map::new();
    for entry in suite.join("interfaces").read_dir()? {
        let path = entry?.path();
        if let Some(name) = path.file_name().and_then(|name| name.to_str()) {
            let text = std::fs::read_to_string(&path)?;
            files.insert(format!("/interfaces/{name}"), text.into());
        }
    }
    let files = serde_json::to_string(&files)?;
    Ok(format!(
        "{{ const files = {files}; self.fetch = async (url) => ({{ ok: url in files, status: url in files ? 200 : 404, text: async () => files[url] }}); }}"
    ))
}
