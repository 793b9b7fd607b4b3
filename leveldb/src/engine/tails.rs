//! Sets aside what opening a store for writing does not read of its logs and MANIFEST: the files themselves are replaced and
//! removed then.
//!
//! Only the part that was not read is copied, into `lost/NAME.OFFSET`, before the store is changed in any way. Each opening adds
//! at most what no sync had covered of the live logs, which two memtables bound, and one edit of the MANIFEST.

use crate::core::Core;
use crate::error::{Error, Result};
use crate::lost;
use crate::torn::{TailKind, TornTail};
use std::path::Path;

/// Bytes of a log that has nothing but its mark.
const MARK_LEN: u64 = (crate::log::HEADER_LEN + crate::write_batch::HEADER_LEN) as u64;

/// Copies each tail that has something in it to `lost/`, durably, and says so in it.
///
/// # Errors
/// `Io`: nothing has been changed but for copies that are there.
pub(super) fn set_aside(core: &Core, torn: &mut [TornTail]) -> Result<()> {
    if !torn.iter().any(is_worth_it) {
        return Ok(());
    }
    lost::make_folder(core)?;
    let folder = core.dir.join(lost::FOLDER);
    let mut taken = lost::names_in(&*core.fs, &folder)?;
    let mut copies = Vec::new();
    let copied = torn
        .iter()
        .filter(|tail| is_worth_it(tail))
        .try_for_each(|tail| {
            let path = lost::free_path(&format!("{}.{}", tail.file, tail.offset), &taken);
            if let Some(name) = path.file_name() {
                taken.insert(name.to_string_lossy().into_owned());
            }
            copies.push(path.clone());
            copy(core, tail, &path)
        });
    let synced = copied.and_then(|()| {
        [&*folder, &*core.dir].into_iter().try_for_each(|dir| {
            let synced = core.fs.sync_dir(dir);
            synced.map_err(|error| Error::io(dir, "cannot sync the directory", error))
        })
    });
    synced.inspect_err(|_| {
        // The originals are there.
        for path in &copies {
            let _ = core.fs.remove(&core.dir.join(path));
        }
    })?;
    for (tail, path) in torn.iter_mut().filter(|tail| is_worth_it(tail)).zip(copies) {
        tail.set_aside = Some(path);
    }
    Ok(())
}

fn is_worth_it(tail: &TornTail) -> bool {
    if tail.set_aside.is_some() {
        return false;
    }
    match tail.kind {
        TailKind::Zeros => false,
        TailKind::AfterLoss => tail.len_bytes > MARK_LEN,
        TailKind::Cut | TailKind::Holes => tail.len_bytes > 0,
    }
}

fn copy(core: &Core, tail: &TornTail, to: &Path) -> Result<()> {
    let failed = |error| Error::io(to, "cannot be written", error);
    let from = core.fs.open_random(&core.dir.join(&tail.file));
    let from = from.map_err(|error| Error::io(&*tail.file, "cannot be opened", error))?;
    let path = core.dir.join(to);
    let mut file = core.fs.create(&path).map_err(failed)?;
    lost::copy(&*from, tail.offset, &mut *file).map_err(failed)
}
