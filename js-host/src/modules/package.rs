//! `package.json`: which file of a package stands for what.
//!
//! Conditions of `exports` and `imports` hold in the order in which the manifest has them (Node.js, "Packages"), so objects keep
//! their order here.

use std::fmt;
use std::path::{Path, PathBuf};

use serde::Deserialize;
use serde::de::{Deserializer, MapAccess, SeqAccess, Visitor};

use super::resolve::By;

/// What of JSON matters here.
#[derive(Debug, Clone, PartialEq)]
enum Json {
    Text(String),
    Bool(bool),
    List(Vec<Json>),
    Object(Vec<(String, Json)>),
    Other,
}

impl Json {
    fn get(&self, wanted: &str) -> Option<&Self> {
        let Self::Object(entries) = self else {
            return None;
        };
        entries
            .iter()
            .find_map(|(name, value)| (name == wanted).then_some(value))
    }

    fn text(&self) -> Option<&str> {
        match self {
            Self::Text(text) => Some(text),
            _ => None,
        }
    }
}

impl<'de> Deserialize<'de> for Json {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(AnyJson)
    }
}

struct AnyJson;

impl<'de> Visitor<'de> for AnyJson {
    type Value = Json;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("JSON")
    }

    fn visit_bool<E>(self, value: bool) -> Result<Json, E> {
        Ok(Json::Bool(value))
    }

    fn visit_i64<E>(self, _: i64) -> Result<Json, E> {
        Ok(Json::Other)
    }

    fn visit_u64<E>(self, _: u64) -> Result<Json, E> {
        Ok(Json::Other)
    }

    fn visit_f64<E>(self, _: f64) -> Result<Json, E> {
        Ok(Json::Other)
    }

    fn visit_unit<E>(self) -> Result<Json, E> {
        Ok(Json::Other)
    }

    fn visit_str<E>(self, value: &str) -> Result<Json, E> {
        Ok(Json::Text(value.to_owned()))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Json, A::Error> {
        let mut list = Vec::new();
        while let Some(item) = items.next_element()? {
            list.push(item);
        }
        Ok(Json::List(list))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> Result<Json, A::Error> {
        let mut object = Vec::new();
        while let Some(entry) = entries.next_entry()? {
            object.push(entry);
        }
        Ok(Json::Object(object))
    }
}

/// A `package.json` and the folder that it is in.
#[derive(Debug)]
pub(super) struct Package {
    pub(super) folder: PathBuf,
    manifest: Json,
}

/// What the `browser` field has in the place of something.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Replaced<'p> {
    /// A path in the package, or another package.
    By(&'p str),
    /// A module without anything in it.
    Nothing,
}

impl Package {
    /// The package whose folder this is; `None` if it has no manifest.
    ///
    /// # Errors
    /// In words, if there is one that cannot be read.
    pub(super) fn read(folder: &Path) -> Result<Option<Self>, String> {
        let path = folder.join("package.json");
        if !path.is_file() {
            return Ok(None);
        }
        let unreadable = |error: &dyn fmt::Display| format!("{}: {error}", path.display());
        let text = std::fs::read_to_string(&path).map_err(|error| unreadable(&error))?;
        let text = text.trim_start_matches('\u{feff}');
        let manifest = serde_json::from_str(text).map_err(|error| unreadable(&error))?;
        let folder = folder.to_owned();
        Ok(Some(Self { folder, manifest }))
    }

    /// Whether its files in `.js` say themselves to be modules (`Some(true)`), or not to be.
    pub(super) fn is_of_modules(&self) -> Option<bool> {
        match self.manifest.get("type")?.text()? {
            "module" => Some(true),
            "commonjs" => Some(false),
            _ => None,
        }
    }

    pub(super) fn name(&self) -> Option<&str> {
        self.manifest.get("name")?.text()
    }

    /// Whether what is not in `exports` cannot be had from outside.
    pub(super) fn has_exports(&self) -> bool {
        !matches!(
            self.manifest.get("exports"),
            None | Some(Json::Other | Json::Bool(_))
        )
    }

    /// What `exports` has for a subpath: `.`, `./feature`.
    pub(super) fn exported(&self, subpath: &str, by: By) -> Option<String> {
        let exports = self.manifest.get("exports")?;
        let is_of_subpaths = matches!(exports, Json::Object(entries)
            if entries.iter().any(|(key, _)| key.starts_with('.')));
        match is_of_subpaths {
            true => matched(exports, subpath, by),
            false if subpath == "." => conditional(exports, by),
            false => None,
        }
    }

    /// What `imports` has for a name that begins with `#`.
    pub(super) fn imported(&self, name: &str, by: By) -> Option<String> {
        matched(self.manifest.get("imports")?, name, by)
    }

    /// The files that the package begins with, the best first, where it has no `exports`.
    pub(super) fn entries(&self, by: By) -> impl Iterator<Item = &str> {
        let fields: &[&str] = match by {
            By::Import => &["browser", "module", "main"],
            By::Require => &["browser", "main", "module"],
        };
        let fields = fields.iter().filter_map(|field| self.manifest.get(field));
        fields.filter_map(Json::text)
    }

    /// What the object form of `browser` says of a name: that of another package, or `./path` in this one.
    pub(super) fn replaced(&self, name: &str) -> Option<Replaced<'_>> {
        match self.manifest.get("browser")?.get(name)? {
            Json::Text(other) => Some(Replaced::By(other)),
            Json::Bool(false) => Some(Replaced::Nothing),
            _ => None,
        }
    }
}

/// The target of a key, or of the pattern with the longest beginning that fits.
fn matched(targets: &Json, wanted: &str, by: By) -> Option<String> {
    if let Some(target) = targets.get(wanted) {
        return conditional(target, by);
    }
    let Json::Object(entries) = targets else {
        return None;
    };
    let fitting = entries.iter().filter_map(|(key, target)| {
        let (start, end) = key.split_once('*')?;
        let rest = wanted.strip_prefix(start)?.strip_suffix(end)?;
        (!rest.is_empty()).then_some((start.len(), rest, target))
    });
    let (_, rest, target) = fitting.max_by_key(|(len, ..)| *len)?;
    Some(conditional(target, by)?.replace('*', rest))
}

/// The first target whose conditions hold for a page.
fn conditional(target: &Json, by: By) -> Option<String> {
    match target {
        Json::Text(file) => Some(file.clone()),
        Json::List(targets) => targets.iter().find_map(|target| conditional(target, by)),
        Json::Object(conditions) => conditions
            .iter()
            .filter(|(condition, _)| by.holds(condition))
            .find_map(|(_, target)| conditional(target, by)),
        Json::Bool(_) | Json::Other => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn package(manifest: &str) -> Package {
        Package {
            folder: PathBuf::new(),
            manifest: serde_json::from_str(manifest).unwrap(),
        }
    }

    #[test]
    fn conditions_hold_in_the_order_of_the_manifest() {
        let package = package(
            r#"{ "exports": { ".": { "node": "./n.js", "default": "./d.js", "browser": "./b.js" },
                 "./two": { "require": "./r.cjs", "browser": { "import": "./i.js" }, "import": "./late.js" },
                 "./three": null, "./list": [{ "node": "./n.js" }, "./l.js"],
                 "./both": { "module": "./m.js", "require": "./r.cjs" } } }"#,
        );
        let of = |subpath, by| package.exported(subpath, by);
        assert_eq!(of(".", By::Import).as_deref(), Some("./d.js"));
        assert_eq!(of("./two", By::Import).as_deref(), Some("./i.js"));
        assert_eq!(of("./two", By::Require).as_deref(), Some("./r.cjs"));
        assert_eq!(of("./list", By::Import).as_deref(), Some("./l.js"));
        assert_eq!(of("./both", By::Import).as_deref(), Some("./m.js"));
        assert_eq!(of("./both", By::Require).as_deref(), Some("./r.cjs"));
        assert_eq!(of("./three", By::Import), None);
        assert_eq!(of("./four", By::Import), None);
    }

    #[test]
    fn of_two_patterns_the_longer_is_taken() {
        let package = package(
            r##"{ "exports": { "./*": "./all/*.js", "./inner/*": "./in/*", "./inner/x/*.css": null },
                 "imports": { "#a": "./a.js", "#deep/*": "./deep/*.js" } }"##,
        );
        let exported = |subpath| package.exported(subpath, By::Import);
        assert_eq!(exported("./a/b").as_deref(), Some("./all/a/b.js"));
        assert_eq!(exported("./inner/a.js").as_deref(), Some("./in/a.js"));
        assert_eq!(exported("./inner/x/a.css"), None);
        assert_eq!(exported("."), None);
        let imported = |name| package.imported(name, By::Require);
        assert_eq!(imported("#deep/b").as_deref(), Some("./deep/b.js"));
        assert_eq!(imported("#b"), None);
    }

    #[test]
    fn a_text_in_browser_is_the_entry_and_an_object_replaces() {
        let text = package(r#"{ "main": "m.js", "module": "e.mjs", "browser": "b.js" }"#);
        assert!(text.entries(By::Import).eq(["b.js", "e.mjs", "m.js"]));
        assert!(text.entries(By::Require).eq(["b.js", "m.js", "e.mjs"]));
        let object =
            package(r#"{ "main": "m.js", "browser": { "fs": false, "./a.js": "./b.js" } }"#);
        assert!(object.entries(By::Import).eq(["m.js"]));
        assert_eq!(object.replaced("fs"), Some(Replaced::Nothing));
        assert_eq!(object.replaced("./a.js"), Some(Replaced::By("./b.js")));
        assert_eq!(object.replaced("path"), None);
    }
}
