//! The committed header is what the crate says.

use std::path::Path;

/// In the order in which the header has them. `lib` is none of them: cbindgen follows its `mod`s, and would declare all a second time.
const SOURCES: [&str; 27] = [
    "version",
    "pointers",
    "error",
    "text",
    "callback",
    "options",
    "storage",
    "bucket",
    "origins",
    "factory",
    "request",
    "open",
    "connection",
    "transaction",
    "version_change",
    "object_store",
    "index",
    "cursor",
    "key",
    "key_range",
    "value",
    "builder",
    "foreign",
    "blob",
    "new_blob",
    "records",
    "loss",
];

fn generated(root: &Path) -> String {
    let config = cbindgen::Config::from_file(root.join("cbindgen.toml")).unwrap();
    let builder = SOURCES
        .iter()
        .fold(cbindgen::Builder::new(), |builder, name| {
            builder.with_src(root.join(format!("src/{name}.rs")))
        });
    let mut header = Vec::new();
    builder
        .with_config(config)
        .generate()
        .unwrap()
        .write(&mut header);
    String::from_utf8(header).unwrap()
}

#[expect(
    clippy::disallowed_methods,
    reason = "the header is one of the sources"
)]
fn write(path: &Path, header: &str) {
    std::fs::write(path, header).unwrap();
}

/// `LARDER_WRITE_HEADER=1 cargo test -p larder-c header` writes it.
#[test]
fn the_header_is_what_cbindgen_makes_of_the_crate() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let path = root.join("include/larder.h");
    let header = generated(root);
    if std::env::var_os("LARDER_WRITE_HEADER").is_some() {
        write(&path, &header);
    }
    let committed = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(
        committed == header,
        "include/larder.h is out of date: LARDER_WRITE_HEADER=1 cargo test -p larder-c header"
    );
}
