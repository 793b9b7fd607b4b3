//! The files of the page, inside the binary.

/// One file: its path in the server, what it is, what is in it.
pub(crate) struct File {
    pub(crate) path: &'static str,
    pub(crate) media_type: &'static str,
    pub(crate) bytes: &'static [u8],
}

macro_rules! files {
    ($($name:literal: $media_type:ident,)*) => {
        &[$(File {
            path: concat!("/", $name),
            media_type: $media_type,
            bytes: include_bytes!(concat!("../page/", $name)),
        },)*]
    };
}

const HTML: &str = "text/html; charset=utf-8";
const CSS: &str = "text/css; charset=utf-8";
const JS: &str = "text/javascript; charset=utf-8";
const SVG: &str = "image/svg+xml";

/// Every file of `page/`.
const FILES: &[File] = files! {
    "api.js": JS,
    "app.js": JS,
    "blob.js": JS,
    "check.js": JS,
    "columns.js": JS,
    "database-view.js": JS,
    "dom.js": JS,
    "elements.js": JS,
    "feed.js": JS,
    "frame.js": JS,
    "heading.js": JS,
    "help.js": JS,
    "hex.js": JS,
    "hidden.js": JS,
    "icon.svg": SVG,
    "index.html": HTML,
    "keys.js": JS,
    "layout.css": CSS,
    "live.js": JS,
    "menu.js": JS,
    "model.js": JS,
    "more-list.js": JS,
    "overview.js": JS,
    "pages.js": JS,
    "parts.js": JS,
    "pixels.js": JS,
    "places.js": JS,
    "provenance.js": JS,
    "record-view.js": JS,
    "record.css": CSS,
    "records.js": JS,
    "route.js": JS,
    "search.js": JS,
    "shape.js": JS,
    "stretches.js": JS,
    "table-view.js": JS,
    "table.css": CSS,
    "text.js": JS,
    "theme.css": CSS,
    "tree.css": CSS,
    "troubles.js": JS,
    "types.js": JS,
    "value.js": JS,
    "views.css": CSS,
    "virtual.js": JS,
};

/// The file at `path`; `/` is the page itself.
pub(crate) fn file(path: &str) -> Option<&'static File> {
    let path = if path == "/" { "/index.html" } else { path };
    FILES.iter().find(|file| file.path == path)
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;

    /// Paths and contents of what is below a folder.
    #[expect(clippy::disallowed_methods, reason = "the sources of the page")]
    fn below(folder: &Path, path: &str, found: &mut Vec<(String, Vec<u8>)>) {
        for entry in std::fs::read_dir(folder).unwrap() {
            let entry = entry.unwrap();
            let path = format!("{path}/{}", entry.file_name().to_str().unwrap());
            match entry.file_type().unwrap().is_dir() {
                true => below(&entry.path(), &path, found),
                false => found.push((path, std::fs::read(entry.path()).unwrap())),
            }
        }
    }

    #[test]
    fn every_file_of_the_page_is_served_and_no_other() {
        let mut found = Vec::new();
        below(
            &Path::new(env!("CARGO_MANIFEST_DIR")).join("page"),
            "",
            &mut found,
        );
        for (path, bytes) in &found {
            let file = file(path).unwrap_or_else(|| panic!("{path} is not in FILES"));
            assert_eq!(file.bytes, bytes, "{path}");
            let media_type = match path.rsplit_once('.').map(|(_, ending)| ending) {
                Some("html") => "text/html; charset=utf-8",
                Some("js") => "text/javascript; charset=utf-8",
                Some("css") => "text/css; charset=utf-8",
                Some("svg") => "image/svg+xml",
                _ => panic!("{path}: what is it?"),
            };
            assert_eq!(file.media_type, media_type, "{path}");
        }
        assert_eq!(found.len(), FILES.len());
        assert_eq!(file("/").unwrap().path, "/index.html");
    }
}
