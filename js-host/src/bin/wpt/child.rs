//! One file of the suite in a process of its own: prints what `testharness.js` says as JSON.

use std::error::Error;
use std::io::Write;
use std::path::{Path, PathBuf};

use larder_js_host::{Console, Global, Host, Options, Scripts, Stream};
use serde_json::json;

use crate::keep::{self, Keeper};
use crate::place::Place;
use crate::run::Settings;
use crate::server;
use crate::suite::{Form, TestFile};

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

/// Runs a file and variant in a form.
pub(crate) fn run(
    settings: &Settings,
    file: &str,
    variant: &str,
    form: Form,
) -> Result<(), Box<dyn Error>> {
    let suite = &settings.suite;
    let test = TestFile::read(suite, file)?;
    let name = format!("{file}{}.{}", variant.replace('?', "-"), form.name());
    let (place, storage) = Place::open(settings, &name)?;
    let host = Host::new(Options {
        global: match form {
            Form::Window => Global::Window,
            Form::Worker => Global::DedicatedWorker(scripts(suite.clone())),
        },
        origin: ORIGIN.to_owned(),
        search: variant.to_owned(),
        storage,
        console: console(Keeper::new(settings, &name)),
    })?;
    host.serve(Box::new(server::answer));
    let loader = Loader { host: &host, form };
    host.run_script("stand_ins.js", STAND_INS);
    let title = serde_json::to_string(&test.title)?;
    host.run_script("title.js", &format!("self.META_TITLE = {title};"));
    host.run_script("form.js", form_script(form));
    if settings.keep.is_some() {
        host.run_script("keep.js", keep::SCRIPT);
    }
    let asks_for_interfaces = |script: &String| script.ends_with("idlharness.js");
    if test.scripts.iter().any(asks_for_interfaces) {
        host.run_script("interfaces.js", &interfaces(suite)?);
    }
    loader.load(suite, "resources/testharness.js")?;
    host.run_script("report.js", REPORT);
    if form == Form::Window {
        host.define_file_list("files")?;
        host.run_script("document.js", DOCUMENT);
    }
    let source = Path::new("IndexedDB").join(file);
    for script in &test.scripts {
        let path = match script.strip_prefix('/') {
            Some(absolute) => PathBuf::from(absolute),
            None => source.with_file_name(script),
        };
        // What is not there has a stand-in.
        if suite.join(&path).exists() {
            loader.load(suite, &path.to_string_lossy())?;
        }
    }
    loader.load(suite, &source.to_string_lossy())?;
    host.run_script("done.js", "done();");
    host.run_until_idle();
    // Nothing more can come. If the harness has not reported yet, it waits in vain.
    host.run_script("timeout.js", "timeout();");
    drop(host);
    place.close()
}

/// Passes on what a test prints, and takes a copy of its store when the test requests one.
fn console(mut keeper: Keeper) -> Console {
    Box::new(move |stream, line| {
        let _ = match stream {
            Stream::Out if line == keep::ABOUT_TO_DELETE => match keeper.keep() {
                Ok(()) => Ok(()),
                Err(error) => {
                    let message = format!("the store could not be copied: {error}");
                    let failed = json!({ "status": -1, "message": message, "tests": [] });
                    // The first result counts.
                    writeln!(std::io::stdout(), "{RESULT}{failed}")
                }
            },
            Stream::Out => writeln!(std::io::stdout(), "{line}"),
            Stream::Err => writeln!(std::io::stderr(), "{line}"),
        };
    })
}

/// Brings files of the suite into the realm as its form does.
struct Loader<'h> {
    host: &'h Host,
    form: Form,
}

impl Loader<'_> {
    fn load(&self, suite: &Path, path: &str) -> Result<(), Box<dyn Error>> {
        match self.form {
            Form::Window => {
                let source = std::fs::read_to_string(suite.join(path))?;
                self.host.run_script(path, &source);
            }
            Form::Worker => {
                let url = serde_json::to_string(&format!("/{path}"))?;
                self.host
                    .run_script("worker.js", &format!("importScripts({url});"));
            }
        }
        Ok(())
    }
}

/// What a worker finds by its URL.
fn scripts(suite: PathBuf) -> Scripts {
    Box::new(move |url| {
        let path = url.strip_prefix(ORIGIN).unwrap_or(url);
        std::fs::read_to_string(suite.join(path.trim_start_matches('/')))
    })
}

/// What the suite's server sends a test for its form.
const fn form_script(form: Form) -> &'static str {
    match form {
        Form::Window => {
            "self.GLOBAL = { isWindow: () => true, isWorker: () => false, isShadowRealm: () => false };"
        }
        Form::Worker => {
            "self.GLOBAL = { isWindow: () => false, isWorker: () => true, isShadowRealm: () => false };"
        }
    }
}

/// `fetch` of the interface definitions, which idlharness uses.
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
