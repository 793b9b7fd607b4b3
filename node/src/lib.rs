//! The native half of the npm package `larder-idb`: `larder-idb` behind one function that JavaScript calls.
//!
//! Calls from JavaScript into native code cost 20 to 50 ns each, and as much again for every argument and result that is an object. So there is one
//! function, without arguments: what it is asked, and what it answers, lies in memory that both sides have (`wire`). What is asked is in
//! `calls`; what comes of it is taken by one call each, in order (`instance`).
//!
//! | module | what it is |
//! |---|---|
//! | `addon` | Node-API: the one function, the memory, waking the event loop. All `unsafe` code |
//! | `wire` | reading requests from the memory, writing answers into it |
//! | `instance` | what an environment (a thread with JavaScript) has: its engines, handles, requests |
//! | `queues` | the requests of each transaction, in order: executed here if they are short, by threads if not |
//! | `outcome`, `answers` | what requests come to, and how it is written |
//! | `lanes` | which transactions' ends script hears first |
//! | `inbox` | what comes from other threads |
//! | `storages` | one storage for each folder and process |
//! | `sources`, `contents` | blobs that are written and read |
//! | `changes`, `futures` | change feeds, and what takes several requests |

mod addon;
mod answers;
mod calls;
mod changes;
mod contents;
mod futures;
mod handles;
mod inbox;
mod instance;
mod lanes;
mod outcome;
mod queues;
mod sources;
mod storages;
#[cfg(test)]
mod tests;
mod wire;
