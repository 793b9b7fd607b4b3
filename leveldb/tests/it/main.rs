//! Whole stores, read through the public interface.

#[cfg(test)]
mod cpp_leveldb;
#[cfg(test)]
mod support;
