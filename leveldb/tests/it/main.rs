//! Whole stores, read through the public interface.

#[cfg(test)]
mod bounds;
#[cfg(test)]
mod cpp_leveldb;
#[cfg(test)]
mod damage;
#[cfg(test)]
mod engine_crash;
#[cfg(test)]
mod engine_damage;
#[cfg(test)]
mod engine_failure;
#[cfg(test)]
mod engine_faults;
#[cfg(test)]
mod engine_full_disk;
#[cfg(test)]
mod engine_handover;
#[cfg(test)]
mod engine_laws;
#[cfg(test)]
mod engine_model;
#[cfg(test)]
mod engine_oracle;
#[cfg(test)]
mod engine_pause;
#[cfg(test)]
mod engine_process;
#[cfg(test)]
mod engine_reclaim;
#[cfg(test)]
mod false_restarts;
#[cfg(test)]
mod foreign_order;
#[cfg(test)]
mod forgotten;
#[cfg(test)]
mod hostile;
#[cfg(test)]
mod idb_like;
#[cfg(test)]
mod ingestion;
#[cfg(test)]
mod last_sequences;
#[cfg(test)]
mod model;
#[cfg(test)]
mod multi_get;
#[cfg(test)]
mod older_versions;
#[cfg(test)]
mod passing_errors;
#[cfg(test)]
mod power_cut;
#[cfg(test)]
mod regressions;
#[cfg(test)]
mod repair;
#[cfg(test)]
mod shared_cache;
#[cfg(test)]
mod store;
#[cfg(test)]
mod support;
#[cfg(test)]
mod tombstones;
#[cfg(test)]
mod zstd;
