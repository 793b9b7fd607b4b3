//! `larder run`: scripts on the JavaScript host. Which folder of stores they get is found here.

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::io;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;

use larder_backing_store::StorePaths;
use larder_codec::Origin;
use larder_idb::StoreForm;
use larder_js_host::Outcome;
use larder_leveldb::storage::{DiskFileSystem, FileSystem};

use crate::args::{RunArgs, StoreFormat};
use crate::locate::{find_stores, resolve};
use crate::remote;
use crate::report::{EXIT_OK, EXIT_USAGE, complain, remark};
use crate::store_origin::{origins_text, shown};

/// The origin whose databases scripts see, unless one is given.
const ORIGIN: &str = "https://localhost";

/// The folder in which a browser's profile has its origins' stores.
const STORES: &str = "IndexedDB";

/// Runs scripts.
pub(crate) fn run(args: &RunArgs) -> ExitCode {
    match set_up(args).and_then(|options| run_in(args, options)) {
        Ok(outcome) => match outcome.exit_code {
            Some(code) => ExitCode::from(code),
            None if outcome.uncaught == 0 => ExitCode::from(EXIT_OK),
            None => ExitCode::FAILURE,
        },
        Err(error) => {
            complain(&error);
            ExitCode::from(EXIT_USAGE)
        }
    }
}

/// Runs scripts on what was set up; at an address, with the namespace taken until the end.
fn run_in(args: &RunArgs, mut options: larder_js_host::RunOptions) -> Result<Outcome, String> {
    let run = |options| larder_js_host::run(&options).map_err(|error| error.to_string());
    match args.storage.as_deref() {
        Some(path) if remote::is_address(path) => remote::write(path, |files| {
            options.file_system = Some(files);
            run(options)
        }),
        _ => run(options),
    }
}

fn set_up(args: &RunArgs) -> Result<larder_js_host::RunOptions, String> {
    let (script, arguments) = match &args.script_and_arguments[..] {
        [] => return Err("no script".to_owned()),
        [script, arguments @ ..] => (PathBuf::from(script), arguments),
    };
    let as_text = |argument: &OsString| {
        let text = argument.to_str().map(str::to_owned);
        text.ok_or_else(|| format!("{}: it is not UTF-8", argument.display()))
    };
    let arguments = arguments
        .iter()
        .map(as_text)
        .collect::<Result<Vec<String>, String>>()?;
    let meant = arguments.iter().take_while(|argument| *argument != "--");
    if args.storage.is_none() && meant.into_iter().any(|word| is_storage(word)) {
        remark(
            "--storage behind the script is the script's: its databases are in memory. Larder's options stand before the script",
        );
    }
    let mut origin = args.origin.clone();
    let mut storage = None;
    if let Some(path) = &args.storage {
        let (files, path) = match remote::is_address(path) {
            true => remote::files(path)?,
            false => (
                Arc::new(DiskFileSystem::new()) as Arc<dyn FileSystem>,
                path.clone(),
            ),
        };
        let place = Place::find(&*files, &path, origin.as_deref())?;
        if let Some(note) = &place.note {
            remark(note);
        }
        storage = Some(place.folder);
        origin = origin.or(place.origin);
    }
    Ok(larder_js_host::RunOptions {
        script,
        arguments,
        preloads: args.preload.clone(),
        files: args.files.clone(),
        all_modules: args.module,
        storage,
        file_system: None,
        origin: origin.unwrap_or_else(|| ORIGIN.to_owned()),
        threads: args.threads,
        new_store_form: new_store_form(args.format)?,
        raise_data_version: args.raise_data_version,
    })
}

/// Whether a word looks as the option does.
fn is_storage(word: &str) -> bool {
    word == "--storage" || word.starts_with("--storage=")
}

fn new_store_form(format: StoreFormat) -> Result<StoreForm, String> {
    match format {
        StoreFormat::Leveldb => Ok(StoreForm::LevelDb),
        #[cfg(feature = "sqlite")]
        StoreFormat::Sqlite => Ok(StoreForm::Sqlite),
        #[cfg(not(feature = "sqlite"))]
        StoreFormat::Sqlite => Err(
            "this larder was built without the feature sqlite: a store is made in LevelDB"
                .to_owned(),
        ),
    }
}

/// Where scripts find stores.
struct Place {
    /// The folder that has the origins' stores in it.
    folder: PathBuf,
    /// Whose store the path names.
    origin: Option<String>,
    /// A note for the user before the scripts run.
    note: Option<String>,
}

impl Place {
    /// From whatever a person points at: a folder of stores, one that is to be made, a profile, a user-data folder, or a store.
    fn find(fs: &dyn FileSystem, path: &Path, origin: Option<&str>) -> Result<Self, String> {
        if StorePaths::is_leveldb_name(path) {
            return Self::of_store(&StorePaths::of_leveldb(path), origin);
        }
        let mut folder = path.to_owned();
        let stores = match find_stores(fs, &resolve, path) {
            Ok(found) => found.stores,
            // It is made when a script opens a database.
            Err(error) if error.kind() == io::ErrorKind::NotFound => Vec::new(),
            Err(error) => return Err(format!("{}: {error}", path.display())),
        };
        if let [store] = &*stores
            && store.is_sqlite()
            && store.leveldb == *path
        {
            return Self::of_store(store, origin);
        }
        let wanted = Origin::from_url(origin.unwrap_or(ORIGIN));
        let wanted = wanted.map_or_else(|_| String::new(), |origin| origin.identifier());
        let is_wanted = |store: &&StorePaths| store.identifier() == Some(&*wanted);
        let is_in_it = stores.iter().any(|store| is_in(store, path));
        if fs
            .metadata(&path.join(STORES))
            .is_ok_and(|meta| meta.is_dir)
        {
            folder.push(STORES);
        } else if !is_in_it {
            // Below it, then: in one of several profiles.
            let all = folders(stores.iter());
            let with_origin = folders(stores.iter().filter(is_wanted));
            folder = match (all.len(), with_origin.len()) {
                (0, _) => folder,
                (1, _) => all.into_iter().collect(),
                (_, 1) => with_origin.into_iter().collect(),
                (_, 0) => return Err(several(path, "several folders of stores", &all)),
                _ => return Err(several(path, "several stores of the origin", &with_origin)),
            };
        }
        let here = || stores.iter().filter(|store| is_in(store, &folder));
        let others: BTreeSet<_> = here()
            .filter_map(StorePaths::identifier)
            .map(shown)
            .collect();
        let note = (!others.is_empty() && !here().any(|store| is_wanted(&store))).then(|| {
            format!(
                "{}: no store of {} yet: opening a database makes one; there is {}",
                folder.display(),
                origin.unwrap_or(ORIGIN),
                origins_text(&others)
            )
        });
        Ok(Self {
            folder,
            origin: None,
            note,
        })
    }

    fn of_store(paths: &StorePaths, wanted: Option<&str>) -> Result<Self, String> {
        let path = &*paths.leveldb;
        let Some(origin) = paths.identifier().and_then(Origin::from_identifier) else {
            let path = path.display();
            return Err(format!("{path}: its name is not that of an origin's store"));
        };
        if let Some(wanted) = wanted
            && Origin::from_url(wanted).is_ok_and(|wanted| wanted != origin)
        {
            let path = path.display();
            return Err(format!(
                "{path}: this is the store of {origin}, not of {wanted}"
            ));
        }
        let folder = match path.parent() {
            Some(folder) if folder != Path::new("") => folder,
            _ => Path::new("."),
        };
        Ok(Self {
            folder: folder.to_owned(),
            origin: Some(origin.to_string()),
            note: None,
        })
    }
}

/// Whether it is the store of an origin's default bucket, in this folder.
fn is_in(store: &StorePaths, folder: &Path) -> bool {
    store.identifier().is_some() && store.leveldb.parent() == Some(folder)
}

fn folders<'s>(stores: impl Iterator<Item = &'s StorePaths>) -> BTreeSet<&'s Path> {
    stores
        .filter(|store| store.identifier().is_some())
        .filter_map(|store| store.leveldb.parent())
        .collect()
}

fn several(path: &Path, what: &str, folders: &BTreeSet<&Path>) -> String {
    let list: Vec<String> = folders
        .iter()
        .map(|folder| folder.display().to_string())
        .collect();
    format!(
        "{}: {what} are below it; give one of them: {}",
        path.display(),
        list.join(", ")
    )
}
