//! Node's turns: the npm package `larder-idb` and Chromium write one store by turns.

use std::path::{Path, PathBuf};
use std::process::Command;

use larder_fixtures::chromium::{Chromium, Store};
use larder_fixtures::random::Random;
use serde_json::{Value, json};

use super::scripts::write_script;
use super::{NOTHING, take_turns, theirs, then_theirs};

/// The native half, if it was built with the tests of `larder-node`: it lies beside this test.
fn native(folder: &Path) -> Option<PathBuf> {
    let test = std::env::current_exe().unwrap();
    let built = test.with_file_name("liblarder_node.so");
    if !built.is_file() {
        assert!(
            std::env::var_os("LARDER_REQUIRE_PEERS").is_none(),
            "the library of larder-node is not there: cargo test --workspace --no-run builds it"
        );
        println!("skipped: cargo test -p larder-node --no-run builds what this needs");
        return None;
    }
    let module = folder.join("larder-idb.node");
    std::fs::copy(&built, &module).unwrap();
    Some(module)
}

/// Node runs the same script as the page does, on the store in place.
fn node(store: &Store, arguments: &Value, native: &Path, folder: &Path) {
    let package = Path::new(env!("CARGO_MANIFEST_DIR")).join("../node/js/index.js");
    let options = json!({ "folder": store.leveldb.parent().unwrap(), "origin": store.origin });
    let script = folder.join("turn.mjs");
    let text = format!(
        "import {{ close, install, open }} from {package};\n\
         const factory = install(globalThis, open({options}));\n\
         const fixture = {{ dump() {{}} }};\n\
         await (async (args) => {{ {body} }})({arguments});\n\
         await close(factory);\n",
        package = json!(package),
        body = theirs::SCRIPT,
    );
    write_script(&script, &text);
    let ran = Command::new("node")
        .arg(&script)
        .env("LARDER_IDB_NATIVE", native)
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&ran.stderr);
    assert!(ran.status.success(), "{said}");
}

fn round(
    chromium: &Chromium,
    store: &Store,
    random: &mut Random,
    out: &Path,
    what: &str,
) -> (Store, usize) {
    let folder = tempfile::tempdir().unwrap();
    let Some(native) = native(folder.path()) else {
        panic!("the library has gone");
    };
    let arguments = theirs::arguments(random.next());
    node(store, &arguments, &native, folder.path());
    let what = format!("{what}, after Node's turn {arguments}");
    then_theirs(chromium, store, random, out, &what, NOTHING)
}

#[test]
fn node_and_chromium_take_turns_on_one_store_and_always_agree() {
    let folder = tempfile::tempdir().unwrap();
    if native(folder.path()).is_some() {
        take_turns("LARDER_NODE_ROUND_TRIPS", round);
    }
}
