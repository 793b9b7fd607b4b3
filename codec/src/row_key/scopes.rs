//! Keys of the undo log: «0, 0, 0, 50, …» (`docs/FORMAT.md`, 4.2).

use byteorder::{BigEndian, ByteOrder};

use super::tag;
use crate::error::{ErrorKind, Result};
use crate::ids::ScopeId;
use crate::prefix::KeyPrefix;
use crate::primitive::var_int;
use crate::reader::Reader;

const GLOBAL_METADATA: u8 = 0;
const SCOPE_METADATA: u8 = 1;
const TASKS: u8 = 2;
const UNDO: u8 = 0;
const CLEANUP: u8 = 1;

/// A key of the scopes area. The values are in [`crate::scopes`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ScopesKey {
    /// The log's own version.
    GlobalMetadata,
    /// A scope: its locks, and whether it is committed.
    ScopeMetadata(ScopeId),
    /// Something to do for a scope.
    Task {
        /// The scope.
        scope: ScopeId,
        /// When: to undo it, or after its end.
        task: ScopeTask,
        /// Place in the order; undo tasks count down from 2^63-1, clean-up tasks up from 0.
        sequence: u64,
    },
}

/// The two lists of tasks of a scope.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ScopeTask {
    /// Takes back one change, if the scope did not commit.
    Undo,
    /// Is done when the scope has committed.
    Cleanup,
}

impl ScopesKey {
    /// Appends the key's bytes.
    pub fn encode(&self, out: &mut Vec<u8>) {
        match *self {
            Self::GlobalMetadata => {
                Self::encode_area(out);
                out.push(GLOBAL_METADATA);
            }
            Self::ScopeMetadata(scope) => {
                Self::encode_scopes_prefix(out);
                var_int::encode(scope.get(), out);
            }
            Self::Task {
                scope,
                task,
                sequence,
            } => {
                Self::encode_task_list_prefix(scope, task, out);
                out.extend_from_slice(&sequence.to_be_bytes());
            }
        }
    }

    /// Appends what all keys of the scopes area begin with.
    pub fn encode_area(out: &mut Vec<u8>) {
        KeyPrefix::GLOBAL.encode(out);
        out.push(tag::SCOPES);
    }

    /// Appends what all [`ScopesKey::ScopeMetadata`] begin with.
    pub fn encode_scopes_prefix(out: &mut Vec<u8>) {
        Self::encode_area(out);
        out.push(SCOPE_METADATA);
    }

    /// Appends what all tasks of all scopes begin with.
    pub fn encode_tasks_prefix(out: &mut Vec<u8>) {
        Self::encode_area(out);
        out.push(TASKS);
    }

    /// Appends what all tasks of a scope begin with.
    pub fn encode_scope_tasks_prefix(scope: ScopeId, out: &mut Vec<u8>) {
        Self::encode_tasks_prefix(out);
        var_int::encode(scope.get(), out);
    }

    /// Appends what all tasks of one list of a scope begin with.
    pub fn encode_task_list_prefix(scope: ScopeId, task: ScopeTask, out: &mut Vec<u8>) {
        Self::encode_scope_tasks_prefix(scope, out);
        out.push(match task {
            ScopeTask::Undo => UNDO,
            ScopeTask::Cleanup => CLEANUP,
        });
    }
}

/// Reads what follows the prefix, beginning with the area's type byte; `None` for unknown types.
pub(super) fn read(reader: &mut Reader<'_>) -> Result<Option<ScopesKey>> {
    reader.byte("metadata type")?;
    Ok(match reader.byte("scopes row type")? {
        GLOBAL_METADATA => Some(ScopesKey::GlobalMetadata),
        SCOPE_METADATA => Some(ScopesKey::ScopeMetadata(ScopeId::read(reader)?)),
        TASKS => {
            let scope = ScopeId::read(reader)?;
            let at_list = *reader;
            let task = match reader.byte("scope task type")? {
                UNDO => ScopeTask::Undo,
                CLEANUP => ScopeTask::Cleanup,
                tag => return Err(at_list.error(ErrorKind::UnknownTag { tag }, "scope task type")),
            };
            let sequence = BigEndian::read_u64(reader.take(8, "scope task sequence")?);
            Some(ScopesKey::Task {
                scope,
                task,
                sequence,
            })
        }
        _ => None,
    })
}
