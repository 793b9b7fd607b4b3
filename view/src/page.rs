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

/// Every file of `page/`.
const FILES: &[File] = files! {
    "index.html": HTML,
};

/// The file at `path`; `/` is the page itself.
pub(crate) fn file(path: &str) -> Option<&'static File> {
    let path = if path == "/" { "/index.html" } else { path };
    FILES.iter().find(|file| file.path == path)
}
