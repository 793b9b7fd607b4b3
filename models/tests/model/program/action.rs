//! What a program is made of. Things are picked by number among what there is when the action's turn comes, so that a program
//! without some of its actions is a program still.

use crate::naive::{Direction, Key, KeyPath, Mode, Range, Value, What};

/// One of those that there are: the number modulo how many; most numbers pick among the live ones, the last few among all.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Pick(pub(crate) u8);

/// An object store of a transaction, or a handle that was got earlier; and perhaps an index of it.
#[derive(Clone, Debug)]
pub(crate) struct On {
    pub(crate) transaction: Pick,
    pub(crate) store: Pick,
    pub(crate) index: Option<Pick>,
    /// Take a handle that is there already.
    pub(crate) is_old: bool,
}

/// Whether a key is given along with a value.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Give {
    Always,
    Never,
    /// If the store needs one.
    Fit,
}

#[derive(Clone, Debug)]
pub(crate) enum Read {
    Get {
        range: Range,
        what: What,
    },
    GetMany {
        ranges: Vec<Range>,
    },
    GetAll {
        range: Range,
        direction: Direction,
        count: u32,
        what: What,
    },
    Count {
        range: Range,
    },
    /// Three pages of so many records.
    Pages {
        range: Range,
        direction: Direction,
        len: u32,
    },
}

#[derive(Clone, Debug)]
pub(crate) enum Action {
    Open {
        database: usize,
        version: Option<u64>,
        polite: bool,
    },
    DeleteDatabase {
        database: usize,
    },
    Databases,
    Close {
        connection: Pick,
    },
    DropConnection {
        connection: Pick,
    },
    ForceClose {
        database: Option<usize>,
    },
    /// Ends all, closes the storage, and opens another on the same files.
    Restart,

    Begin {
        connection: Pick,
        stores: Vec<usize>,
        mode: Mode,
        strict: bool,
    },
    Commit {
        transaction: Pick,
    },
    CommitIfIdle {
        transaction: Pick,
    },
    Abort {
        transaction: Pick,
        with_error: bool,
    },
    DropTransaction {
        transaction: Pick,
    },

    CreateStore {
        transaction: Pick,
        name: usize,
        key_path: Option<KeyPath>,
        auto_increment: bool,
    },
    DeleteStore {
        transaction: Pick,
        name: usize,
    },
    RenameStore {
        on: On,
        name: usize,
    },
    CreateIndex {
        on: On,
        name: usize,
        key_path: KeyPath,
        unique: bool,
        multi_entry: bool,
    },
    DeleteIndex {
        on: On,
        name: usize,
    },
    RenameIndex {
        on: On,
        name: usize,
    },

    Put {
        on: On,
        value: Value,
        key: Key,
        give: Give,
        no_overwrite: bool,
        watched: bool,
    },
    PutMany {
        on: On,
        records: Vec<(Value, Key)>,
        give: Give,
    },
    Delete {
        on: On,
        range: Option<Range>,
        watched: bool,
    },
    Read {
        on: On,
        read: Read,
        watched: bool,
    },

    OpenCursor {
        on: On,
        range: Range,
        direction: Direction,
        key_only: bool,
    },
    Continue {
        cursor: Pick,
        key: Option<Key>,
    },
    ContinuePrimaryKey {
        cursor: Pick,
        key: Key,
        primary_key: Key,
    },
    Advance {
        cursor: Pick,
        count: u32,
    },
    Update {
        cursor: Pick,
        value: Value,
        watched: bool,
    },
    DeleteAt {
        cursor: Pick,
        watched: bool,
    },

    /// Waits for a request and looks at its result.
    Observe {
        request: Pick,
    },
    /// Forgets a request.
    DropRequest {
        request: Pick,
    },
    /// A few steps, where the host drives.
    Run {
        steps: usize,
    },
    /// Until nothing more happens.
    Settle,
}
