//! Where a copy goes: the paths of the new store, from what a person has named.

use std::path::{Path, PathBuf};

use larder_backing_store::StorePaths;
use larder_codec::Origin;

/// The place of the copy of the store at `store`, which was found below `from`. A `to` with the name of a store's folder is that
/// folder itself; else the store lies below it as it lies below `from`. A store whose folder has an origin's name gets that of the
/// new origin.
pub(crate) fn place(
    from: &Path,
    store: &StorePaths,
    to: &Path,
    origin: Option<&Origin>,
) -> StorePaths {
    if StorePaths::is_leveldb_name(to) {
        return StorePaths::of_leveldb(to);
    }
    let leveldb = store.in_leveldb();
    let below = leveldb.strip_prefix(from).ok();
    let below = below.filter(|below| *below != Path::new(""));
    let name = || leveldb.file_name().map(PathBuf::from);
    let mut leveldb = to.join(below.map(PathBuf::from).or_else(name).unwrap_or_default());
    if let (Some(origin), Some(_)) = (origin, store.identifier()) {
        leveldb.set_file_name(origin.leveldb_folder_name());
    } else if !StorePaths::is_leveldb_name(&leveldb) {
        // A folder with a name of its own would not be found as a store again.
        if let Some(origin) = origin {
            leveldb.set_file_name(origin.leveldb_folder_name());
        }
    }
    StorePaths::of_leveldb(&leveldb)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn placed(from: &str, store: &str, to: &str, origin: Option<&str>) -> String {
        let origin = origin.map(|origin| Origin::from_url(origin).unwrap());
        let store = StorePaths::of_leveldb(Path::new(store));
        let placed = place(Path::new(from), &store, Path::new(to), origin.as_ref());
        placed.leveldb.display().to_string()
    }

    #[test]
    fn a_copy_lies_as_its_store_lay_and_is_named_by_its_origin() {
        let a = "/p/IndexedDB/https_a.example_0.indexeddb.leveldb";
        let b = "https_b.example_0.indexeddb.leveldb";
        let of = Some("https://b.example");
        assert_eq!(
            placed("/p", a, "/q", None),
            "/q/IndexedDB/https_a.example_0.indexeddb.leveldb"
        );
        assert_eq!(placed("/p", a, "/q", of), format!("/q/IndexedDB/{b}"));
        assert_eq!(placed(a, a, "/q", of), format!("/q/{b}"));
        assert_eq!(placed(a, a, &format!("/x/{b}"), None), format!("/x/{b}"));
        let bucket = "/p/WebStorage/7/IndexedDB/indexeddb.leveldb";
        let below = "/q/WebStorage/7/IndexedDB/indexeddb.leveldb";
        assert_eq!(placed("/p", bucket, "/q", of), below);
        assert_eq!(placed("/old", "/old", "/q", of), format!("/q/{b}"));
    }
}
