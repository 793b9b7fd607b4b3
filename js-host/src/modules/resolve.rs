//! Which file a specifier means, as bundlers for browsers find it.
//!
//! A specifier is a path, relative to the importer or absolute, with or without its extension; a `file:` URL; `#name` of the
//! importer's package; or the name of a package in the nearest `node_modules`, or of the importer's own.

use std::path::{Path, PathBuf};

use url::Url;

use super::package::{Package, Replaced};

/// How a module is asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum By {
    /// `import`.
    Import,
    /// `require`.
    Require,
}

impl By {
    /// Whether a condition of `exports` or `imports` holds. Bundlers let `module` hold for `require`, too, so that a package is not
    /// twice in a bundle; here what is required is what its author meant for it.
    pub(super) fn holds(self, condition: &str) -> bool {
        match condition {
            "browser" | "default" => true,
            "import" | "module" => self == Self::Import,
            "require" => self == Self::Require,
            _ => false,
        }
    }
}

/// What a specifier means.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Found {
    /// A file, by its full name without symbolic links.
    File(String),
    /// A `browser` field has nothing in its place.
    Nothing,
}

/// What is tried where a file's name has been given without its end.
const EXTENSIONS: [&str; 4] = ["js", "mjs", "cjs", "json"];

/// Packages that refer to one another in a circle are given up after so many turns.
const TURNS_MAX: u32 = 16;

/// What `specifier` means to the importer `base`.
///
/// # Errors
/// In words, if there is no such file or package.
pub(crate) fn resolve(base: &Path, specifier: &str, by: By) -> Result<Found, String> {
    found(base, specifier, by, 0)
}

fn found(base: &Path, specifier: &str, by: By, turn: u32) -> Result<Found, String> {
    if turn > TURNS_MAX {
        return Err("its package.json leads in a circle".to_owned());
    }
    let own = package_of(base)?;
    if let Some(replaced) = own.as_ref().and_then(|own| own.replaced(specifier))
        && !is_path(specifier)
    {
        return match replaced {
            Replaced::Nothing => Ok(Found::Nothing),
            Replaced::By(other) => found(&at_root(own.as_ref()), other, by, turn + 1),
        };
    }
    if specifier.starts_with('#') {
        let target = own.as_ref().and_then(|own| own.imported(specifier, by));
        let target = target.ok_or("the importer's package.json has no such \"imports\"")?;
        return found(&at_root(own.as_ref()), &target, by, turn + 1);
    }
    let path = if let Some(path) = path_of(base, specifier)? {
        existing(&path, by)?
    } else {
        in_package(base, own.as_ref(), specifier, by)?
    };
    let path = path.canonicalize().map_err(|error| error.to_string())?;
    replaced_file(&path, by, turn)
}

/// A base beside the manifest.
fn at_root(package: Option<&Package>) -> PathBuf {
    package.map_or_else(PathBuf::new, |package| package.folder.join("package.json"))
}

fn is_path(specifier: &str) -> bool {
    let is_relative = |start: &str| {
        let rest = specifier.strip_prefix(start);
        rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
    };
    specifier.starts_with('/') || is_relative(".") || is_relative("..")
}

/// The path that a specifier is; `None` for one that is a name.
fn path_of(base: &Path, specifier: &str) -> Result<Option<PathBuf>, String> {
    if is_path(specifier) {
        let folder = base.parent().unwrap_or(Path::new(""));
        return Ok(Some(folder.join(specifier)));
    }
    match Url::parse(specifier) {
        Ok(url) if url.scheme() == "file" => {
            let path = url.to_file_path();
            path.map(Some)
                .map_err(|()| "the URL names no file".to_owned())
        }
        Ok(url) if specifier.starts_with(&format!("{}:", url.scheme())) => {
            let scheme = url.scheme();
            Err(format!(
                "modules of {scheme}: URLs are not loaded, only files"
            ))
        }
        _ => Ok(None),
    }
}

/// The file that a path means, which may lack its extension or be that of a package's folder.
fn existing(path: &Path, by: By) -> Result<PathBuf, String> {
    let is_folder = path.as_os_str().to_string_lossy().ends_with('/');
    if !is_folder && let Some(file) = file(path) {
        return Ok(file);
    }
    if path.is_dir() {
        return entry(path, by);
    }
    let path: PathBuf = path.components().collect();
    Err(format!("no such file: {}", path.display()))
}

fn file(path: &Path) -> Option<PathBuf> {
    if path.is_file() {
        return Some(path.to_owned());
    }
    let name = path.file_name()?;
    let with_extension = |extension: &&str| {
        let mut name = name.to_owned();
        name.push(format!(".{extension}"));
        Some(path.with_file_name(name)).filter(|path| path.is_file())
    };
    EXTENSIONS.iter().find_map(with_extension)
}

/// The file that a folder begins with.
fn entry(folder: &Path, by: By) -> Result<PathBuf, String> {
    if let Some(package) = Package::read(folder)? {
        let entries = package.entries(by).map(|entry| folder.join(entry));
        for path in entries {
            let index = || file(&path.join("index")).filter(|_| path.is_dir());
            if let Some(file) = file(&path).or_else(index) {
                return Ok(file);
            }
        }
    }
    let none = || format!("{}: no file that it begins with", folder.display());
    file(&folder.join("index")).ok_or_else(none)
}

/// The nearest package that a file is in.
///
/// # Errors
/// In words, if its manifest cannot be read.
pub(super) fn package_of(file: &Path) -> Result<Option<Package>, String> {
    for folder in file.ancestors().skip(1) {
        if folder.ends_with("node_modules") {
            break;
        }
        if let Some(package) = Package::read(folder)? {
            return Ok(Some(package));
        }
    }
    Ok(None)
}

/// A package's name, and `./path` or `.` in it.
fn parted(specifier: &str) -> Option<(&str, String)> {
    let scope_len = match specifier.starts_with('@') {
        true => specifier.find('/')? + 1,
        false => 0,
    };
    let (name, inside) = match specifier[scope_len..].find('/') {
        Some(at) => specifier.split_at(scope_len + at),
        None => (specifier, ""),
    };
    (name.len() > scope_len).then(|| (name, format!(".{inside}")))
}

fn in_package(
    base: &Path,
    own: Option<&Package>,
    specifier: &str,
    by: By,
) -> Result<PathBuf, String> {
    let (name, subpath) = parted(specifier).ok_or("this is no name of a package")?;
    if let Some(own) = own
        && own.name() == Some(name)
        && own.has_exports()
    {
        return exported(own, &subpath, by);
    }
    let folder = base
        .ancestors()
        .skip(1)
        .filter(|folder| !folder.ends_with("node_modules"))
        .map(|folder| folder.join("node_modules").join(name))
        .find(|folder| folder.is_dir());
    let none = || format!("no package {name} in a node_modules folder beside or above it");
    let folder = folder.ok_or_else(none)?;
    match Package::read(&folder)? {
        Some(package) if package.has_exports() => exported(&package, &subpath, by),
        _ if subpath == "." => entry(&folder, by),
        _ => existing(&folder.join(subpath), by),
    }
}

fn exported(package: &Package, subpath: &str, by: By) -> Result<PathBuf, String> {
    let manifest = package.folder.join("package.json");
    let target = package.exported(subpath, by);
    let target =
        target.ok_or_else(|| format!("{} does not export {subpath}", manifest.display()))?;
    if !target.starts_with("./") {
        let what = format!(
            "{} exports {target}, which is no path in it",
            manifest.display()
        );
        return Err(what);
    }
    let path = package.folder.join(&target);
    file(&path).ok_or_else(|| {
        format!(
            "{} exports {target}, which is not there",
            manifest.display()
        )
    })
}

/// What the `browser` field of the file's package has in its place.
fn replaced_file(path: &Path, by: By, turn: u32) -> Result<Found, String> {
    let name = |path: &Path| {
        let name = path.to_str().map(str::to_owned);
        name.ok_or_else(|| format!("{}: its name is not UTF-8", path.display()))
    };
    let Some(package) = package_of(path)? else {
        return name(path).map(Found::File);
    };
    let inside = path.strip_prefix(&package.folder).unwrap_or(path);
    let inside = format!("./{}", name(inside)?);
    let stem = inside.strip_suffix(".js").unwrap_or(&inside);
    let keys = [&inside, stem, &inside[2..]];
    match keys.into_iter().find_map(|key| package.replaced(key)) {
        None => name(path).map(Found::File),
        Some(Replaced::Nothing) => Ok(Found::Nothing),
        Some(Replaced::By(other)) if other == inside => name(path).map(Found::File),
        // Some packages leave out the `./` on the right, too.
        Some(Replaced::By(other)) if file(&package.folder.join(other)).is_some() => {
            let path = package.folder.join(other);
            found(&path, &path.to_string_lossy(), by, turn + 1)
        }
        Some(Replaced::By(other)) => found(&at_root(Some(&package)), other, by, turn + 1),
    }
}
