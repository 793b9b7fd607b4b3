//! Methods of a file system that stands on another, its field `inner`, and does nothing of its own there.

/// Writes the named methods of [`FileSystem`](super::FileSystem): each calls the same of `self.inner`.
macro_rules! pass_on {
    ($($method:ident),+) => { $(pass_on! { @ $method })+ };
    (@ open_random) => { pass_on! { @ open_random(path: &Path) -> Arc<dyn $crate::storage::RandomFile> } };
    (@ open_sequential) => { pass_on! { @ open_sequential(path: &Path) -> Box<dyn $crate::storage::SequentialFile> } };
    (@ append) => { pass_on! { @ append(path: &Path) -> Box<dyn $crate::storage::WritableFile> } };
    (@ rename) => { pass_on! { @ rename(from: &Path, to: &Path) -> () } };
    (@ remove) => { pass_on! { @ remove(path: &Path) -> () } };
    (@ list) => { pass_on! { @ list(dir: &Path) -> Vec<std::ffi::OsString> } };
    (@ metadata) => { pass_on! { @ metadata(path: &Path) -> $crate::storage::Metadata } };
    (@ create_dir) => { pass_on! { @ create_dir(dir: &Path) -> () } };
    (@ remove_dir) => { pass_on! { @ remove_dir(dir: &Path) -> () } };
    (@ lock) => { pass_on! { @ lock(path: &Path) -> Box<dyn $crate::storage::FileLock> } };
    (@ lock_holder) => { pass_on! { @ lock_holder(path: &Path) -> Option<$crate::storage::LockHolder> } };
    (@ sync_dir) => { pass_on! { @ sync_dir(dir: &Path) -> () } };
    (@ $method:ident($($name:ident: &Path),+) -> $output:ty) => {
        fn $method(&self, $($name: &Path),+) -> io::Result<$output> {
            self.inner.$method($($name),+)
        }
    };
}

pub(crate) use pass_on;
