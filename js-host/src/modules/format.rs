//! What a file is: an ES module, CommonJS or JSON.
//!
//! Endings and `"type"` say it, and else, as for bundlers, the text: it is CommonJS if it speaks of `require`, `exports` or `module`
//! and is a function's body, and an ES module otherwise.

use std::path::Path;

use rquickjs::Ctx;

use super::resolve::package_of;

/// What a file is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Format {
    Module,
    CommonJs,
    Json,
}

/// What CommonJS modules find, beside the global scope.
const PARAMETERS: &str = "exports, require, module, __filename, __dirname, global";

impl Format {
    pub(super) fn of(ctx: &Ctx<'_>, path: &str) -> Self {
        match Path::new(path).extension().and_then(|end| end.to_str()) {
            Some("mjs") => return Self::Module,
            Some("cjs") => return Self::CommonJs,
            Some("json") => return Self::Json,
            _ => {}
        }
        let package = package_of(Path::new(path)).ok().flatten();
        let is_module = package.and_then(|package| package.is_of_modules());
        if is_module == Some(true) {
            return Self::Module;
        }
        // What cannot be read is said when it is loaded.
        let Ok(text) = read_source(path) else {
            return Self::Module;
        };
        let speaks_of = |word| text.contains(word);
        if !(speaks_of("require") || speaks_of("exports") || speaks_of("module")) {
            return Self::Module;
        }
        // `import` and `export` stand in no function, and this runs none.
        match ctx.eval::<(), _>(wrapped(&text)) {
            Ok(()) => Self::CommonJs,
            Err(_) => {
                drop(ctx.catch());
                Self::Module
            }
        }
    }
}

/// The text of a CommonJS module as an expression that is a function. Lines keep their numbers.
pub(super) fn wrapped(text: &str) -> String {
    format!("(function ({PARAMETERS}) {{{text}\n}})")
}

/// The text of a module. As bundlers do, packages see an environment of production: many read that from Node.js.
///
/// # Errors
/// In words, if it cannot be read.
pub(super) fn read_source(path: &str) -> Result<String, String> {
    let text = std::fs::read_to_string(path).map_err(|error| format!("{path}: {error}"))?;
    let text = text.trim_start_matches('\u{feff}');
    let is_packages = Path::new(path)
        .components()
        .any(|part| part.as_os_str() == "node_modules");
    let text = match is_packages {
        true => text.replace("process.env.NODE_ENV", "\"production\""),
        false => text.to_owned(),
    };
    // A function's body begins with no interpreter's name.
    Ok(match text.strip_prefix("#!") {
        Some(rest) => format!("//{rest}"),
        None => text,
    })
}
