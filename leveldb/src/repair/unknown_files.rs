//! Tables and logs beside the store: those that its MANIFEST does not name, or names as obsolete.
//!
//! They are left from interrupted work. What they hold is in the store, or was deleted since; only where the store has lost
//! something they may be all that is left of it.

use crate::core::Core;
use crate::error::Result;
use crate::file_name::FileName;
use crate::memtable::Replay;
use crate::on_damage::OnDamage;
use crate::options::Options;
use crate::order_check::{Effort, check};
use crate::read_state::ReadState;
use crate::source::Source;
use crate::table::TableContext;
use crate::table_file::TableFile;
use crate::torn::TornTail;
use crate::unordered;
use std::collections::BTreeSet;
use std::sync::Arc;

/// Files beside the store, open.
#[derive(Debug)]
pub(super) struct UnknownFiles {
    state: Option<ReadState>,
    names: BTreeSet<String>,
    /// Logs that end within a record.
    torn: Vec<TornTail>,
}

impl UnknownFiles {
    /// Opens every table and log in the store's directory that is not part of it. What cannot be opened is left out.
    pub(super) fn open(state: &ReadState, options: &Options) -> Result<UnknownFiles> {
        let names = names_beside(state);
        if names.is_empty() {
            return Ok(UnknownFiles {
                state: None,
                names,
                torn: Vec::new(),
            });
        }
        // Their damage is none of the store.
        let core = Arc::new({
            let context = TableContext::new(
                state.core.order.clone(),
                OnDamage::Skip,
                options.block_cache.clone(),
            );
            Core::new(
                &state.core.fs,
                &state.core.dir,
                context,
                options.open_tables_max,
            )
        });
        let mut replay = Replay::new(
            &core.order,
            core.on_damage,
            &core.damage,
            options.log_value_bytes,
        );
        let mut tables = Vec::new();
        for name in &names {
            match FileName::parse(name.as_ref()) {
                Some(FileName::Log(_)) => {
                    if let Ok(file) = core.fs.open_random(&core.dir.join(name)) {
                        replay.logs(&[(name.clone(), file)])?;
                    }
                }
                Some(FileName::Table(number) | FileName::OldTable(number)) => {
                    tables.push(TableFile {
                        number,
                        level: 0,
                        len_bytes: None,
                        smallest: None,
                        largest: None,
                        keys: None,
                        is_unsorted: false,
                    });
                }
                _ => {}
            }
        }
        let replayed = replay.finish();
        let tables = check(&core, tables, Effort::WHOLE, false).files;
        let version = Arc::new(unordered::version(&core, tables));
        let state = Some(ReadState {
            core,
            version,
            mem: Arc::new(replayed.mem),
            live: Vec::new(),
        });
        Ok(UnknownFiles {
            state,
            names,
            torn: replayed.torn,
        })
    }

    /// Whether this is the name of one.
    pub(super) fn has(&self, name: &str) -> bool {
        self.names.contains(name)
    }

    pub(super) fn has_tables(&self) -> bool {
        let parsed = self.names.iter().map(|name| FileName::parse(name.as_ref()));
        let is_table = |name| matches!(name, Some(FileName::Table(_) | FileName::OldTable(_)));
        parsed.into_iter().any(is_table)
    }

    pub(super) fn state(&self) -> Option<&ReadState> {
        self.state.as_ref()
    }

    pub(super) fn torn(&self) -> impl Iterator<Item = &str> {
        self.torn.iter().map(|tail| tail.file.as_str())
    }

    pub(super) fn sources(&self) -> Vec<Source> {
        self.state.as_ref().map_or(Vec::new(), ReadState::sources)
    }
}

/// The names of files that the store was read from.
pub(super) fn names_read(state: &ReadState) -> BTreeSet<String> {
    let tables = state.version.files().map(|file| state.core.file_name(file));
    tables.chain(state.mem.log_names()).collect()
}

fn names_beside(state: &ReadState) -> BTreeSet<String> {
    let core = &state.core;
    let read = names_read(state);
    let numbers: BTreeSet<u64> = state.version.files().map(|file| file.number).collect();
    let names = core.fs.list(&core.dir).unwrap_or_default();
    let is_beside = |name: &String| match FileName::parse(name.as_ref()) {
        Some(FileName::Log(_)) => !read.contains(name),
        // Under its number the store's own would be opened.
        Some(FileName::Table(number) | FileName::OldTable(number)) => !numbers.contains(&number),
        _ => false,
    };
    let names = names.iter().map(|name| name.to_string_lossy().into_owned());
    names.filter(is_beside).collect()
}
