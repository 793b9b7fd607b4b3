//! Names, found by looking at the text of modules without parsing it: which an importer takes from another module, and
//! which a CommonJS module exports.
//!
//! An ES module's imports are bound before anything has run, and what a CommonJS module exports is there only when it
//! has run. So names are guessed from both sides. One too many, from a comment for one, is an export that is
//! `undefined`.

use std::collections::{BTreeSet, HashMap};

/// Names of exports.
pub(super) type Names = BTreeSet<String>;

/// By specifier, the names that a module's text imports from it, or passes on.
pub(super) fn wanted(text: &str) -> HashMap<String, Names> {
    let mut all: HashMap<String, Names> = HashMap::new();
    for (at, _) in text.match_indices("from") {
        let Some(clause) = text[..at].trim_end().strip_suffix('}') else {
            continue;
        };
        let Some((_, names)) = clause.rsplit_once('{') else {
            continue;
        };
        let Some((specifier, _)) = quoted(text[at + "from".len()..].trim_start()) else {
            continue;
        };
        let items = without_comments(names);
        let names = items
            .split(',')
            .filter_map(|item| item.split_whitespace().next())
            .filter(|name| is_name(name) && *name != "default")
            .map(str::to_owned);
        all.entry(specifier.to_owned()).or_default().extend(names);
    }
    all
}

/// What a CommonJS module's text exports.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Exported {
    /// By name.
    pub(super) names: Names,
    /// All that these have, too.
    pub(super) from: Vec<String>,
}

/// Finds `exports.name =`, `Object.defineProperty(exports, "name"`, `module.exports = { name }`, `module.exports = require("…")`
/// and `__exportStar(require("…"))`.
pub(super) fn exported(text: &str) -> Exported {
    let mut all = Exported::default();
    for (at, word) in text.match_indices("exports") {
        let before = &text[..at];
        let after = text[at + word.len()..].trim_start();
        if before.ends_with(is_name_char) {
            continue;
        }
        if let Some(name) = assigned(after).or_else(|| defined(before, after)) {
            all.names.insert(name.to_owned());
        } else if before.ends_with("module.")
            && let Some(value) = value_assigned(after)
        {
            if let Some(list) = value.strip_prefix('{') {
                all.names.extend(listed(list));
            } else if let Some(other) = required(value) {
                all.from.push(other.to_owned());
            }
        }
    }
    for marker in ["__exportStar(", "__export(", "__reExport("] {
        for (at, _) in text.match_indices(marker) {
            let arguments = &text[at + marker.len()..];
            let other = required(arguments.trim_start());
            all.from.extend(other.map(str::to_owned));
        }
    }
    all.names.remove("default");
    all.names.remove("__esModule");
    all
}

fn is_name_char(c: char) -> bool {
    c.is_alphanumeric() || c == '_' || c == '$'
}

fn is_name(text: &str) -> bool {
    !text.starts_with(|c: char| c.is_ascii_digit())
        && !text.is_empty()
        && text.chars().all(is_name_char)
}

/// The name at the beginning of a text, and what follows it.
fn name(text: &str) -> Option<(&str, &str)> {
    let end = text.find(|c| !is_name_char(c)).unwrap_or(text.len());
    let (name, rest) = text.split_at(end);
    is_name(name).then_some((name, rest))
}

/// A string literal at the beginning of a text, and what follows it.
fn quoted(text: &str) -> Option<(&str, &str)> {
    let quote = text.chars().next().filter(|c| matches!(c, '"' | '\''))?;
    let (inner, rest) = text[1..].split_once(quote)?;
    (!inner.contains(['\n', '\\'])).then_some((inner, rest))
}

/// What follows the `=` of an assignment.
fn value_assigned(text: &str) -> Option<&str> {
    let value = text.strip_prefix('=')?;
    (!value.starts_with('=')).then(|| value.trim_start())
}

/// `.name =` or `["name"] =`.
fn assigned(after: &str) -> Option<&str> {
    let (name, rest) = match after.strip_prefix('.') {
        Some(rest) => name(rest)?,
        None => {
            let (name, rest) = quoted(after.strip_prefix('[')?.trim_start())?;
            (name, rest.trim_start().strip_prefix(']')?)
        }
    };
    value_assigned(rest.trim_start())?;
    is_name(name).then_some(name)
}

/// `Object.defineProperty(exports, "name"`.
fn defined<'t>(before: &str, after: &'t str) -> Option<&'t str> {
    let before = before.strip_suffix("module.").unwrap_or(before);
    before.trim_end().strip_suffix("defineProperty(")?;
    let (name, _) = quoted(after.strip_prefix(',')?.trim_start())?;
    is_name(name).then_some(name)
}

/// `require("…")`.
fn required(text: &str) -> Option<&str> {
    let argument = text.strip_prefix("require(")?.trim_start();
    quoted(argument).map(|(specifier, _)| specifier)
}

/// The names of an object literal, as far as they are plain.
fn listed(list: &str) -> Vec<String> {
    let end = list.find('}').unwrap_or(list.len());
    let inner = without_comments(&list[..end]);
    let items = inner.split(',').map(str::trim);
    let plain = items.map_while(|item| {
        let (name, rest) = name(item)?;
        let rest = rest.trim_start();
        (rest.is_empty() || rest.starts_with(':')).then(|| name.to_owned())
    });
    plain.collect()
}

fn without_comments(text: &str) -> String {
    let mut rest = text;
    let mut plain = String::new();
    while let Some(at) = rest.find('/') {
        plain.push_str(&rest[..at]);
        let comment = &rest[at..];
        let end = match comment.as_bytes().get(1) {
            Some(b'/') => comment.find('\n'),
            Some(b'*') => comment.find("*/").map(|end| end + 2),
            _ => Some(1),
        };
        rest = &comment[end.unwrap_or(comment.len())..];
    }
    plain + rest
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names<const N: usize>(all: [&str; N]) -> Names {
        all.map(str::to_owned).into()
    }

    #[test]
    fn an_importer_wants_what_its_braces_name() {
        let text = r#"
            import plain from "p";
            import d, { a, b as c, /* not, these */ default as e, // nor this
              f, } from 'one';
            import{g}from"one";export { h as default, i } from "./two.js";
            import * as ns from "three"; const x = { y } ; from; "é} from \"z";
        "#;
        let found = wanted(text);
        assert_eq!(found["one"], names(["a", "b", "f", "g"]));
        assert_eq!(found["./two.js"], names(["h", "i"]));
        assert_eq!(found.get("three"), None);
        assert_eq!(found.get("p"), None);
    }

    #[test]
    fn a_commonjs_module_exports_what_it_assigns_or_defines() {
        let text = r#"
            Object.defineProperty(exports, "__esModule", { value: true });
            exports.a = exports.b = void 0; module.exports.c = 1; exports['d'] = 2; exports.e == 3; myexports.f = 1;
            Object.defineProperty(module.exports, "g", {}); exports.default = 1;
            0 && (module.exports = { h, i: 1, /* no */ j, ...rest, k });
            module.exports = require("./x"); tslib_1.__exportStar(require('./y'), exports);
        "#;
        let found = exported(text);
        assert_eq!(found.names, names(["a", "b", "c", "d", "g", "h", "i", "j"]));
        assert_eq!(found.from, ["./x", "./y"]);
        assert_eq!(exported("exports"), Exported::default());
        assert_eq!(exported("module.exports = "), Exported::default());
    }
}
