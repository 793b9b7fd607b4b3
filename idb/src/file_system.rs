//! What a host implements that keeps its files elsewhere than on a disk or in memory: in a database, behind a process of its own,
//! in a map.
//!
//! [`FileSystem`] is the whole of it, with the types in its signatures; the contract is on its methods and, for all of them together, in
//! [`larder_leveldb::storage`]. [`conformance::check`] tries an implementation. `idb/tests/own_file_system.rs` is one over a
//! `HashMap`, with nothing but this crate.

pub use larder_leveldb::storage::{
    CrashImage, DiskFileSystem, FileLock, FileSystem, LockHolder, MemoryFileSystem, Metadata,
    RandomFile, SequentialFile, WritableFile, conformance, is_out_of_space,
};
