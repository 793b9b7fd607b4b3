//! Laws of version edits and MANIFESTs.

use std::sync::Arc;

use larder_backing_store::IdbComparator;
use larder_leveldb::Comparator;
use larder_leveldb::version_edit::VersionEdit;

use crate::base::Base;
use crate::files::Files;
use crate::input::Input;
use crate::log::change_byte;
use crate::{reading, write};

/// The first byte chooses: the rest is a MANIFEST; or its records, which get right checksums; or damage to a MANIFEST. The
/// other files of the store are whole, so whatever is shown is something that was written.
pub fn manifest(data: &[u8]) {
    let mut input = Input(data);
    let choice = input.byte();
    edit_reads_back(input.0);
    let base = Base::lite();
    let name = format!("{}/MANIFEST-000001", reading::DIR);
    let manifest = match choice % 3 {
        0 => input.0.to_vec(),
        1 => write::log(&records(input)),
        _ => {
            let mut bytes = base.files.0.get(&name).expect("a store has one").clone();
            change_byte(&mut input, &mut bytes);
            bytes
        }
    };
    let mut files: Files = base.files.clone();
    files.0.insert(name, manifest);
    let comparator: Arc<dyn Comparator> = Arc::new(IdbComparator);
    let Some(shown) = reading::read(&files, &comparator) else {
        return;
    };
    if choice % 3 == 2 {
        base.written.check_one_byte(&shown);
    } else {
        base.written.check_damaged(&shown);
    }
}

fn edit_reads_back(bytes: &[u8]) {
    match VersionEdit::decode_exact(bytes) {
        Err(error) => assert!(error.offset < bytes.len(), "{error:?}"),
        Ok(edit) => {
            let mut again = Vec::new();
            edit.encode(&mut again);
            assert_eq!(VersionEdit::decode_exact(&again), Ok(edit));
        }
    }
}

/// Records, each with its length (2 bytes) before it.
fn records(mut input: Input<'_>) -> Vec<&[u8]> {
    let mut records = Vec::new();
    while !input.is_empty() {
        let len = usize::from(input.u16());
        let record = input.bytes(len);
        edit_reads_back(record);
        records.push(record);
    }
    records
}
