//! [`run`]: what `larder run` does.

use std::io::Write;
use std::path::PathBuf;
use std::sync::Arc;

use larder_idb::{
    DiskFileSystem, Executor, RaiseDataVersion, StorageOptions, SystemClock, TornTailCallback,
};

use crate::{Error, Global, Host, Options, Stream};

/// Which scripts run, where, and as whom.
#[derive(Debug, Clone)]
pub struct RunOptions {
    /// Run one after the other in one realm: as modules if their names end in `.mjs`, else as classic
    /// scripts.
    pub scripts: Vec<PathBuf>,
    /// Every script is a module.
    pub all_modules: bool,
    /// The folder of the origin's store, Chromium's `IndexedDB`; made if it is missing. None: databases
    /// are gone at the end.
    pub storage: Option<PathBuf>,
    /// Whose databases scripts see: `https://example.com`.
    pub origin: String,
    /// The engine works on threads of its own, not on the scripts' thread.
    pub threads: bool,
    /// A store's data version is raised for values that need it; browsers with lesser versions delete the store then.
    pub raise_data_version: bool,
}

/// Runs scripts until nothing is left to do; what they print goes to standard output and standard error.
/// Gives the number of exceptions and rejections that nobody caught, each of which has been told.
///
/// # Errors
/// If a script cannot be read, the origin is none, or the storage cannot be set up.
pub fn run(options: &RunOptions) -> Result<u64, Error> {
    let host = Host::new(Options {
        global: Global::Window,
        origin: options.origin.clone(),
        search: String::new(),
        storage: storage(options)?,
        console: Box::new(|stream, line| {
            // Nobody is left to be told that nobody listens.
            let _ = match stream {
                Stream::Out => writeln!(std::io::stdout(), "{line}"),
                Stream::Err => writeln!(std::io::stderr(), "{line}"),
            };
        }),
    })?;
    for script in &options.scripts {
        let unreadable = |error| Error::new(format!("{}: {error}", script.display()));
        let source = std::fs::read_to_string(script).map_err(unreadable)?;
        let name = script.to_string_lossy();
        let is_module = script
            .extension()
            .is_some_and(|extension| extension == "mjs");
        if is_module || options.all_modules {
            host.run_module(&name, &source);
        } else {
            host.run_script(&name, &source);
        }
    }
    host.run_until_idle();
    Ok(host.uncaught_count())
}

fn storage(options: &RunOptions) -> Result<StorageOptions, Error> {
    let clock = Arc::new(SystemClock);
    let mut storage = match &options.storage {
        None => StorageOptions::in_memory(clock),
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
    storage.on_torn_tail = Some(TornTailCallback::new(|origin, tail| {
        // Nobody is left to be told that nobody listens.
        let _ = writeln!(std::io::stderr(), "larder: note: {origin}: {tail}");
    }));
    if options.raise_data_version {
        storage.raise_data_version = RaiseDataVersion::WhenNeeded;
    }
    if !options.threads {
        storage.executor = Executor::Driven { seed: None };
    }
    Ok(storage)
}
