//! Where modules come from: the host's own, built in, and those of scripts, from files.
//!
//! Specifiers of scripts are paths, relative to the module or absolute, or names of packages in the
//! nearest `node_modules` (as bundlers resolve them: `module`, which has no CommonJS in it, then `exports`
//! with `browser`, `import`, `module` or `default`, then `main`). Scripts cannot import the host's own.

use std::path::{Component, Path, PathBuf};

use rquickjs::loader::{ImportAttributes, Loader, Resolver};
use rquickjs::module::Declared;
use rquickjs::{Ctx, Error, Module, Result};

const SCHEME: &str = "larder:";
/// The module that sets up the global scope.
pub(crate) const MAIN: &str = "larder:platform/mod.js";

macro_rules! built_in {
    ($($path:literal)*) => {
        &[$((concat!("larder:", $path), include_str!($path))),*]
    };
}

static BUILT_IN: &[(&str, &str)] = built_in![
    "binding/built_ins.js"
    "binding/cursor.js"
    "binding/database.js"
    "binding/event.js"
    "binding/event_target.js"
    "binding/factory.js"
    "binding/hooks.js"
    "binding/index.js"
    "binding/internals.js"
    "binding/key.js"
    "binding/key_path.js"
    "binding/key_range.js"
    "binding/listeners.js"
    "binding/mod.js"
    "binding/names.js"
    "binding/object_store.js"
    "binding/open_request.js"
    "binding/record.js"
    "binding/request.js"
    "binding/source.js"
    "binding/string_list.js"
    "binding/transaction.js"
    "binding/version_change_event.js"
    "binding/webidl.js"
    "clone/helpers.js"
    "platform/abort.js"
    "platform/array_join.js"
    "platform/blob.js"
    "platform/console.js"
    "platform/crypto.js"
    "platform/custom_event.js"
    "platform/encoding.js"
    "platform/event_loop.js"
    "platform/fetch.js"
    "platform/file_reader.js"
    "platform/location.js"
    "platform/message_channel.js"
    "platform/mod.js"
    "platform/native.js"
    "platform/report_error.js"
    "platform/url.js"
    "platform/window.js"
    "platform/worker.js"
];

/// The source of one of the host's modules.
pub(crate) fn built_in(name: &str) -> Option<&'static str> {
    let found = BUILT_IN.iter().find(|(known, _)| *known == name);
    found.map(|(_, source)| *source)
}

/// Resolves and loads modules.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Modules;

impl Resolver for Modules {
    fn resolve<'js>(
        &mut self,
        _: &Ctx<'js>,
        base: &str,
        name: &str,
        _: Option<ImportAttributes<'js>>,
    ) -> Result<String> {
        let missing = || Error::new_resolving(base, name);
        if let Some(base) = base.strip_prefix(SCHEME) {
            let path = joined(Path::new(base), name).ok_or_else(missing)?;
            return Ok(format!("{SCHEME}{path}"));
        }
        if name.starts_with('.') || name.starts_with('/') {
            let path = joined(Path::new(base), name).ok_or_else(missing)?;
            return Ok(path);
        }
        package(Path::new(base), name).ok_or_else(missing)
    }
}

impl Loader for Modules {
    fn load<'js>(
        &mut self,
        ctx: &Ctx<'js>,
        name: &str,
        _: Option<ImportAttributes<'js>>,
    ) -> Result<Module<'js, Declared>> {
        match built_in(name) {
            Some(source) => Module::declare(ctx.clone(), name, source),
            None => {
                let source = std::fs::read_to_string(name)
                    .map_err(|error| Error::new_loading_message(name, error.to_string()))?;
                Module::declare(ctx.clone(), name, source)
            }
        }
    }
}

/// A path beside that of `base`, without `.` and `..`.
fn joined(base: &Path, name: &str) -> Option<String> {
    let mut path = PathBuf::new();
    let folder = base.parent().unwrap_or(Path::new(""));
    for component in folder.join(name).components() {
        match component {
            Component::CurDir => {}
            Component::ParentDir if path.file_name().is_some() => {
                path.pop();
            }
            // At the front of a relative path they stay; above the root is the root.
            Component::ParentDir if !path.has_root() => path.push(".."),
            Component::ParentDir => {}
            other => path.push(other),
        }
    }
    Some(path.to_str()?.to_owned())
}

/// The entry of a package, or a file in it.
fn package(base: &Path, name: &str) -> Option<String> {
    let (scope, rest) = match name.strip_prefix('@') {
        Some(scoped) => {
            let (scope, rest) = scoped.split_once('/')?;
            (format!("@{scope}/"), rest)
        }
        None => (String::new(), name),
    };
    let (first, inside) = match rest.split_once('/') {
        Some((first, inside)) => (first, Some(inside)),
        None => (rest, None),
    };
    let folder = base
        .ancestors()
        .map(|at| at.join("node_modules").join(format!("{scope}{first}")))
        .find(|folder| folder.is_dir())?;
    let manifest = std::fs::read_to_string(folder.join("package.json")).ok()?;
    let manifest: serde_json::Value = serde_json::from_str(&manifest).ok()?;
    let wanted = inside.map_or_else(|| ".".to_owned(), |inside| format!("./{inside}"));
    let exports = &manifest["exports"];
    let entry = exports.get(&wanted).unwrap_or(if inside.is_none() {
        exports
    } else {
        &serde_json::Value::Null
    });
    let file = match inside {
        Some(inside) => conditional(entry).or(Some(inside)),
        None => manifest["module"]
            .as_str()
            .or_else(|| conditional(entry))
            .or_else(|| manifest["main"].as_str()),
    };
    let path = folder.join(file.unwrap_or("index.js").trim_start_matches("./"));
    Some(path.to_str()?.to_owned())
}

/// The file that an entry of `exports` names for a host like this.
fn conditional(entry: &serde_json::Value) -> Option<&str> {
    match entry {
        serde_json::Value::String(file) => Some(file),
        serde_json::Value::Object(conditions) => ["browser", "import", "module", "default"]
            .iter()
            .filter_map(|condition| conditions.get(*condition))
            .find_map(conditional),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn relative_specifiers_are_resolved_without_dots() {
        let at = |base: &str, name| joined(Path::new(base), name).unwrap();
        assert_eq!(at("a/b.js", "./c.js"), "a/c.js");
        assert_eq!(at("a/b.js", "../c.js"), "c.js");
        assert_eq!(at("b.js", "../../c.js"), "../../c.js");
        assert_eq!(at("/a/b/c.js", "../d/e.js"), "/a/d/e.js");
    }

    #[test]
    fn every_module_of_the_host_is_built_in() {
        let here = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
        let mut seen = 0;
        for folder in ["binding", "clone", "platform"] {
            for entry in here.join(folder).read_dir().unwrap() {
                let name = entry.unwrap().file_name().into_string().unwrap();
                if name.ends_with(".js") {
                    assert!(
                        built_in(&format!("larder:{folder}/{name}")).is_some(),
                        "{name}"
                    );
                    seen += 1;
                }
            }
        }
        assert_eq!(seen, BUILT_IN.len());
    }
}
