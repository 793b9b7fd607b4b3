//! [`run`]: what `larder run` does.

use std::ffi::OsStr;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use larder_idb::{
    DiskFileSystem, Executor, FileSystem, LossCallback, LossKind, RaiseDataVersion, StorageOptions,
    StoreForm, SystemClock,
};

use crate::files::Files;
use crate::{Error, Global, Host, Options, Process, Stream, System};

/// Which script runs, in which folder, and for which origin.
#[derive(Debug, Clone)]
pub struct RunOptions {
    /// The script: a file, or `-` for standard input. It runs as a module if its name ends in `.mjs`, as
    /// CommonJS if in `.cjs`, else as a classic script.
    pub script: PathBuf,
    /// What `larder.args` is.
    pub arguments: Vec<String>,
    /// Scripts that run before it, one after the other in the same realm.
    pub preloads: Vec<PathBuf>,
    /// The folder below which scripts may read files.
    pub files: Option<PathBuf>,
    /// Every script is a module.
    pub all_modules: bool,
    /// The folder of the origin's store, Chromium's `IndexedDB`; made if it is missing. None: databases
    /// are gone at the end.
    pub storage: Option<PathBuf>,
    /// The files that the folder is in; this machine's, if there are none. The folder must be there.
    pub file_system: Option<Arc<dyn FileSystem>>,
    /// Whose databases scripts see: `https://example.com`.
    pub origin: String,
    /// The engine works on threads of its own, not on the scripts' thread.
    pub threads: bool,
    /// The form of a store that is made. One that is there keeps its own.
    pub new_store_form: StoreForm,
    /// A store's data version is raised for values that need it; browsers with lesser versions delete the store then.
    pub raise_data_version: bool,
}

/// How scripts have ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Outcome {
    /// Exceptions and rejections that no handler caught, and stores that could not be opened; each has been reported.
    pub uncaught: u64,
    /// What a script has called `larder.exit` with: nothing ran after that.
    pub exit_code: Option<u8>,
}

/// The name of standard input in place of a file's.
const STDIN: &str = "-";

/// Runs scripts until nothing is left to do; what they print goes to standard output and standard error.
///
/// # Errors
/// If a script cannot be read, the origin is none, or the storage cannot be set up. Nothing has run then.
pub fn run(options: &RunOptions) -> Result<Outcome, Error> {
    if let Some(folder) = &options.files {
        Files::below(folder).map_err(Error::new)?;
    }
    let scripts = options.preloads.iter().chain([&options.script]);
    let scripts: Vec<_> = scripts.map(|path| read(path)).collect::<Result<_, _>>()?;
    let main = scripts
        .last()
        .and_then(|(name, _)| Path::new(name).parent());
    let folder = main.map(Path::to_owned);
    let process = Process {
        arguments: options.arguments.clone(),
        input: Box::new(std::io::stdin()),
    };
    let host_options = Options {
        global: Global::Window,
        origin: options.origin.clone(),
        search: String::new(),
        storage: storage(options)?,
        console: Box::new(|stream, line| {
            // If this stream is closed, there is none left to report that on.
            let _ = match stream {
                Stream::Out => writeln!(std::io::stdout(), "{line}"),
                Stream::Err => writeln!(std::io::stderr(), "{line}"),
            };
        }),
    };
    let system = System {
        process: Some(process),
        files: options.files.clone(),
        scripts: folder,
    };
    let host = Host::with_system(host_options, system)?;
    for (name, source) in scripts {
        match Path::new(&name).extension().and_then(OsStr::to_str) {
            _ if options.all_modules => host.run_module(&name, &source),
            Some("mjs") => host.run_module(&name, &source),
            Some("cjs") => host.run_common_js(&name),
            _ => host.run_script(&name, &source),
        }
        if host.exit_code().is_some() {
            break;
        }
    }
    host.run_until_idle();
    Ok(Outcome {
        uncaught: host.uncaught_count(),
        exit_code: host.exit_code(),
    })
}

/// The full name of a script, beside which its imports lie, and its text.
fn read(path: &Path) -> Result<(String, String), Error> {
    let unreadable = |error| Error::new(format!("{}: {error}", path.display()));
    let (full, text) = if path == Path::new(STDIN) {
        let text = std::io::read_to_string(std::io::stdin()).map_err(unreadable)?;
        let here = std::env::current_dir().map_err(unreadable)?;
        (here.join("stdin.js"), text)
    } else {
        let text = std::fs::read_to_string(path).map_err(unreadable)?;
        // A pipe (`<(command)` of a shell) has no other name.
        let full = path.canonicalize().or_else(|_| std::path::absolute(path));
        (full.map_err(unreadable)?, text)
    };
    let no_name = || Error::new(format!("{}: its name is not UTF-8", path.display()));
    let name = full.to_str().ok_or_else(no_name)?.to_owned();
    let text = match text.strip_prefix('\u{feff}') {
        Some(rest) => rest.to_owned(),
        None => text,
    };
    Ok((name, text))
}

fn storage(options: &RunOptions) -> Result<StorageOptions, Error> {
    let clock = Arc::new(SystemClock);
    let mut storage = match &options.storage {
        None => StorageOptions::in_memory(clock),
        Some(folder) if let Some(files) = &options.file_system => {
            StorageOptions::new(Arc::clone(files), folder, clock)
        }
        Some(folder) => {
            let unusable = |error| Error::new(format!("{}: {error}", folder.display()));
            let mut builder = std::fs::DirBuilder::new();
            // Its owner's alone, as every folder of a browser's profile.
            #[cfg(unix)]
            std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
            builder.recursive(true).create(folder).map_err(unusable)?;
            StorageOptions::new(Arc::new(DiskFileSystem::new()), folder, clock)
        }
    };
    storage.on_loss = Some(LossCallback::new(|loss| {
        // What cannot be read is the error of the request that asked for it.
        if let LossKind::TornTail(tail) = &loss.what {
            // If this stream is closed, there is none left to report that on.
            let _ = writeln!(std::io::stderr(), "larder: note: {}: {tail}", loss.origin);
        }
    }));
    storage.new_store_form = options.new_store_form;
    if options.raise_data_version {
        storage.raise_data_version = RaiseDataVersion::WhenNeeded;
    }
    if !options.threads {
        storage.executor = Executor::Driven { seed: None };
    }
    Ok(storage)
}
