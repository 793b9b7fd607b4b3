//! Modules of scripts: which file a specifier means, CommonJS, JSON and `import.meta`.
#![expect(clippy::unwrap_used, reason = "what fails here fails the test")]

use std::io::Write;
use std::path::Path;
use std::sync::{Arc, Mutex};

use larder_idb::{Executor, StorageOptions, SystemClock};
use larder_js_host::{Global, Host, Options};

/// A folder with these files in it.
fn folder(files: &[(&str, &str)]) -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    for (name, text) in files {
        let path = folder.path().join(name);
        std::fs::DirBuilder::new()
            .recursive(true)
            .create(path.parent().unwrap())
            .unwrap();
        let mut options = std::fs::OpenOptions::new();
        let mut file = options.write(true).create_new(true).open(path).unwrap();
        file.write_all(text.as_bytes()).unwrap();
    }
    folder
}

/// Runs one of the files, and gives all that it says, the folder's name left out.
fn said(folder: &Path, name: &str) -> Vec<String> {
    let folder = folder.canonicalize().unwrap();
    let path = folder.join(name);
    let source = std::fs::read_to_string(&path).unwrap();
    let path = path.to_str().unwrap();
    let mut storage = StorageOptions::in_memory(Arc::new(SystemClock));
    storage.executor = Executor::Driven { seed: None };
    let lines = Arc::new(Mutex::new(Vec::new()));
    let collected = Arc::clone(&lines);
    let host = Host::new(Options {
        global: Global::Window,
        origin: "https://example.com".into(),
        search: String::new(),
        storage,
        console: Box::new(move |_, line| collected.lock().unwrap().push(line.to_owned())),
    })
    .unwrap();
    match name.ends_with(".cjs") {
        true => host.run_common_js(path),
        false => host.run_module(path, &source),
    }
    host.run_until_idle();
    drop(host);
    let folder = folder.display().to_string();
    let lines = std::mem::take(&mut *lines.lock().unwrap());
    lines
        .iter()
        .map(|line| line.replace(&folder, "HERE"))
        .collect()
}

/// What a module says among these files.
fn says(module: &str, files: &[(&str, &str)]) -> Vec<String> {
    let folder = folder(&[&[("main.mjs", module)], files].concat());
    said(folder.path(), "main.mjs")
}

#[test]
fn json_is_a_module_whose_names_are_its_own() {
    let module = r#"
        import plain from "./a.json";
        import same from "./a.json" with { type: "json" };
        import other from "./b.txt" with { type: "json" };
        console.log(plain === same, Object.keys(plain).join(), Object.getPrototypeOf(plain) === Object.prototype, other[1]);
        for (const [file, type] of [["broken.json", "json"], ["none.json", "json"], ["a.json", "css"]]) {
          await import(`./${file}`, { with: { type } }).catch((error) => console.log(`${error}`));
        }"#;
    let files = [
        (
            "a.json",
            "\u{feff}{ \"b\": 1, \"__proto__\": [], \"a\": 2 }",
        ),
        ("b.txt", "[1, \"two\"]"),
        ("broken.json", "{ \"a\": }"),
    ];
    let said = says(module, &files);
    assert_eq!(said[0], "true b,__proto__,a true two");
    assert!(
        said[1].starts_with("SyntaxError: HERE/broken.json: "),
        "{said:?}"
    );
    assert_eq!(
        said[2..],
        [
            "TypeError: Cannot find \"./none.json\", imported by HERE/main.mjs: no such file: HERE/none.json",
            "TypeError: There are no modules of type \"css\"",
        ]
    );
}

#[test]
fn a_module_has_its_url_and_resolves_others() {
    let module = r#"
        const { url } = import.meta;
        console.log(url.startsWith("file:///"), url.endsWith("/main.mjs"), new URL("a%20b/c.js", url).href === import.meta.resolve("./a b/c.js"));
        import inner from "./a b/c.js";
        console.log(inner === import.meta.resolve("./a b/c.js"), (await import(inner)).default === inner);"#;
    let files = [("a b/c.js", "export default import.meta.url;")];
    assert_eq!(says(module, &files), ["true true true", "true true"]);
}

#[test]
fn what_cannot_be_found_is_reported_with_its_importer() {
    let module = r##"
        for (const name of ["./a.js", "pkg", "pkg/inner", "@scope/none/x", "https://a.example/b.js", "#in", "fs", "larder:binding/mod.js", "./uses.js"]) {
          await import(name).catch((error) => console.log(`${error}`));
        }"##;
    let files = [
        (
            "node_modules/pkg/package.json",
            r#"{ "exports": { "./other": "./o.js" } }"#,
        ),
        ("uses.js", "import './gone.js';"),
    ];
    let manifest = "HERE/node_modules/pkg/package.json";
    let cannot = |name: &str, why: &str| {
        format!("TypeError: Cannot find \"{name}\", imported by HERE/main.mjs: {why}")
    };
    let none =
        |name: &str| format!("no package {name} in a node_modules folder beside or above it");
    assert_eq!(
        says(module, &files),
        [
            cannot("./a.js", "no such file: HERE/a.js"),
            cannot("pkg", &format!("{manifest} does not export .")),
            cannot("pkg/inner", &format!("{manifest} does not export ./inner")),
            cannot("@scope/none/x", &none("@scope/none")),
            cannot("https://a.example/b.js", "modules of https: URLs are not loaded, only files"),
            cannot("#in", "the importer's package.json has no such \"imports\""),
            cannot("fs", &none("fs")),
            cannot("larder:binding/mod.js", "modules of larder: URLs are not loaded, only files"),
            "TypeError: Cannot find \"./gone.js\", imported by HERE/uses.js: no such file: HERE/gone.js".into(),
        ]
    );
}

#[test]
fn packages_are_found_as_bundlers_for_browsers_find_them() {
    let module = r##"
        for (const name of ["conditions", "conditions/sub", "conditions/deep/x", "text", "object", "plain", "plain/lib/file", "folder", "@s/p", "linked"]) {
          const { default: value } = await import(name);
          console.log(name, value);
        }"##;
    let js = |text: &'static str| text;
    let files = [
        (
            "node_modules/conditions/package.json",
            r##"{ "name": "conditions", "type": "module", "imports": { "#in": { "node": "./n.js", "browser": "./in.js" } },
            "exports": { ".": { "node": "./n.js", "import": { "browser": "./b.js" }, "default": "./n.js" },
                         "./sub": { "require": "./r.cjs", "default": "./sub.js" }, "./deep/*": "./d/*.js" } }"##,
        ),
        (
            "node_modules/conditions/b.js",
            js("import { x } from 'conditions/sub'; export default `import, browser, ${x}`;"),
        ),
        (
            "node_modules/conditions/sub.js",
            js("import x from '#in'; export { x }; export default 'default';"),
        ),
        (
            "node_modules/conditions/in.js",
            js("export default 'own import';"),
        ),
        (
            "node_modules/conditions/d/x.js",
            js("export default 'pattern';"),
        ),
        (
            "node_modules/text/package.json",
            r#"{ "main": "m.js", "module": "e.js", "browser": "b" }"#,
        ),
        ("node_modules/text/b.js", js("export default 'browser';")),
        (
            "node_modules/object/package.json",
            r#"{ "main": "lib/m", "browser": { "./lib/m.js": "./lib/b.js", "fs": false, "net": "plain", "./lib/no.js": false } }"#,
        ),
        (
            "node_modules/object/lib/b.js",
            js(
                "import fs from 'fs'; import net from 'net'; import no, { some } from './no'; export default [Object.keys(fs).length, net, Object.keys(no).length, some].join();",
            ),
        ),
        ("node_modules/object/lib/m.js", js("throw 1;")),
        ("node_modules/object/lib/no.js", js("throw 2;")),
        ("node_modules/plain/package.json", r#"{ "main": "./" }"#),
        ("node_modules/plain/index.js", js("export default 'index';")),
        (
            "node_modules/plain/lib/file.mjs",
            js("export default 'inner file';"),
        ),
        ("node_modules/folder/index.json", "[1]"),
        (
            "node_modules/@s/p/package.json",
            r#"{ "exports": [{ "node": "./n.js" }, "./l.js"] }"#,
        ),
        ("node_modules/@s/p/l.js", js("export default 'scoped';")),
        ("elsewhere/linked/package.json", r#"{ "module": "a.js" }"#),
        (
            "elsewhere/linked/a.js",
            js("import b from 'beside'; export default b;"),
        ),
        (
            "elsewhere/node_modules/beside/index.js",
            js("export default 'beside what the link leads to';"),
        ),
        ("main.mjs", module),
    ];
    let folder = folder(&files);
    let link = folder.path().join("node_modules/linked");
    #[cfg(unix)]
    std::os::unix::fs::symlink("../elsewhere/linked", link).unwrap();
    assert_eq!(
        said(folder.path(), "main.mjs"),
        [
            "conditions import, browser, own import",
            "conditions/sub default",
            "conditions/deep/x pattern",
            "text browser",
            "object 0,index,0,",
            "plain index",
            "plain/lib/file inner file",
            "folder [1]",
            "@s/p scoped",
            "linked beside what the link leads to",
        ]
    );
}

#[test]
fn commonjs_modules_are_imported_by_default_and_by_names() {
    let module = r#"
        console.log("first");
        import whole, { a, hidden as h, none } from "old";
        import * as all from "old";
        import again, { hidden } from "old";
        import translated, { named } from "translated";
        import { deep, more } from "./passes.cjs";
        console.log(whole === again, a, h === hidden, h, none, Object.keys(all).join());
        console.log(translated, named, deep, more);
        console.log(Object.keys(await import("./passes.cjs")).join());"#;
    let files = [
        ("node_modules/old/package.json", r#"{ "main": "main.js" }"#),
        (
            "node_modules/old/main.js",
            "console.log('old runs, its this is its exports:', this === exports); const inner = require('./inner'); exports.a = inner.up(); exports['b'] = 2; exports['hid' + 'den'] = 3;",
        ),
        (
            "node_modules/old/inner/index.js",
            "module.exports = { up: () => require('../main').b === undefined ? typeof process + process_env : 0 }; var process_env = process.env.NODE_ENV;",
        ),
        (
            "node_modules/translated/package.json",
            r#"{ "main": "t.js" }"#,
        ),
        (
            "node_modules/translated/t.js",
            "Object.defineProperty(exports, '__esModule', { value: true }); exports.default = 'its default'; exports.named = 'named';",
        ),
        (
            "passes.cjs",
            "#!/usr/bin/env node\nmodule.exports = { deep: 1, ...require('./more.cjs') }; 0 && (module.exports = require('./more.cjs'));",
        ),
        ("more.cjs", "module.exports.more = 2;"),
    ];
    assert_eq!(
        says(module, &files),
        [
            "old runs, its this is its exports: true",
            "first",
            "true undefinedproduction true 3 undefined a,b,default,hidden,none",
            "its default named 1 2",
            "deep,default,more",
        ]
    );
}

#[test]
fn commonjs_modules_require_each_other_json_and_es_modules() {
    let main = r#"
        const a = require("./a"), data = require("./d.json"), es = require("./es.mjs");
        console.log(a.fromB, require("./a.cjs") === a, data.x, es.default, es.named, es.__esModule, typeof global.indexedDB);
        console.log(__filename, __dirname, require.resolve("./d"), module.loaded, require.main === undefined);
        for (const name of ["./none", "./throws", "./throws", "./waits.mjs", "./broken.json"]) {
          try { require(name); } catch (error) { console.log(`${error}`); }
        }
        try { require(5); } catch (error) { console.log(`${error}`); }"#;
    let files = [
        ("main.cjs", main),
        (
            "a.cjs",
            "exports.early = 1; exports.fromB = require('./b.cjs').seen;",
        ),
        (
            "b.cjs",
            "exports.seen = Object.keys(require('./a.cjs')).join();",
        ),
        ("d.json", r#"{ "x": 5 }"#),
        ("es.mjs", "export const named = 'n'; export default 'd';"),
        (
            "throws.js",
            "console.log('throws runs'); module.exports = 1; throw new RangeError('mine');",
        ),
        ("waits.mjs", "await new Promise(() => {});"),
        ("broken.json", "{"),
    ];
    let folder = folder(&files);
    let said = said(folder.path(), "main.cjs");
    assert_eq!(
        said[..said.len() - 2],
        [
            "early true 5 d n true object",
            "HERE/main.cjs HERE HERE/d.json false true",
            "TypeError: Cannot find \"./none\", required by HERE/main.cjs: no such file: HERE/none",
            "throws runs",
            "RangeError: mine",
            "throws runs",
            "RangeError: mine",
            "TypeError: HERE/waits.mjs awaits something at its top and cannot be required: import it",
        ]
    );
    assert!(
        said[said.len() - 2].starts_with("SyntaxError: HERE/broken.json"),
        "{said:?}"
    );
    assert!(
        said[said.len() - 1].starts_with("TypeError: require:"),
        "{said:?}"
    );
}

#[test]
fn a_js_file_is_what_its_package_or_its_text_says() {
    let module = r#"
        import "./neither.js"; import "./es.js"; import { x } from "./typed/a.js"; import old from "./old.js";
        console.log(x, old);"#;
    let files = [
        (
            "neither.js",
            "console.log('strict', (function () { return this; })() === undefined);",
        ),
        (
            "es.js",
            "import.meta.url; console.log('a word: require'); export {};",
        ),
        ("typed/package.json", r#"{ "type": "module" }"#),
        (
            "typed/a.js",
            "export const x = typeof module + typeof exports;",
        ),
        (
            "old.js",
            "module.exports = (function () { return this === globalThis; })();",
        ),
    ];
    let said = says(module, &files);
    assert_eq!(
        said,
        ["strict true", "a word: require", "undefinedundefined true"]
    );
}

#[test]
fn a_module_that_awaits_what_never_comes_is_reported() {
    let said = says(
        "import './other.mjs'; await new Promise(() => {});",
        &[("other.mjs", "await 1;")],
    );
    assert_eq!(
        said,
        ["HERE/main.mjs: what the module awaits at its top never came"]
    );
    assert!(
        says(
            "await new Promise((resolve) => setTimeout(resolve, 5));",
            &[]
        )
        .is_empty()
    );
}
