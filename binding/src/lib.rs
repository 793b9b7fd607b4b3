//! IndexedDB for scripts: the interfaces of W3C's "Indexed Database API 3.0" in JavaScript, on an engine and a host that are passed in.
//!
//! The modules are plain ES modules without imports but of one another. A host loads `mod.js`, calls `createBinding` in each realm, and
//! `createFactory` on it for each engine; `README.md` has the contract. This crate holds their sources for hosts in Rust, and
//! the numbers by which scripts name what an engine has ([`Numbers`]); a host in JavaScript imports the modules as they are.
//!
//! ```
//! let main = larder_binding::source("mod.js").unwrap();
//! assert!(main.contains("export function createBinding"));
//! assert!(larder_binding::names().all(|name| larder_binding::source(name).is_some()));
//! assert_eq!(larder_binding::source("no such.js"), None);
//! ```

mod numbers;

pub use numbers::Numbers;

macro_rules! sources {
    ($($name:literal)*) => {
        &[$(($name, include_str!($name))),*]
    };
}

static SOURCES: &[(&str, &str)] = sources![
    "built_ins.js"
    "changes.js"
    "checkpoint.js"
    "cursor.js"
    "database.js"
    "event.js"
    "event_target.js"
    "factory.js"
    "index.js"
    "internals.js"
    "key.js"
    "key_path.js"
    "key_range.js"
    "link.js"
    "listeners.js"
    "mod.js"
    "names.js"
    "object_store.js"
    "open_request.js"
    "record.js"
    "request.js"
    "slot.js"
    "source.js"
    "string_list.js"
    "transaction.js"
    "version_change_event.js"
    "webidl.js"
];

/// The source of a module, by the name of its file.
#[must_use]
pub fn source(name: &str) -> Option<&'static str> {
    let found = SOURCES.iter().find(|(known, _)| *known == name);
    found.map(|(_, source)| *source)
}

/// The names of all modules. They lie beside one another, and import one another so.
pub fn names() -> impl Iterator<Item = &'static str> {
    SOURCES.iter().map(|(name, _)| *name)
}

#[cfg(test)]
mod tests {
    #[test]
    fn every_module_is_there() {
        let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
        let mut found: Vec<String> = folder
            .read_dir()
            .unwrap()
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .filter(|name| name.ends_with(".js"))
            .collect();
        found.sort();
        assert_eq!(found, super::names().collect::<Vec<_>>());
    }
}
