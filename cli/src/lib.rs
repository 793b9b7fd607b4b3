//! What the `larder` command is made of.

pub mod archive;
pub mod args;
mod bucket_names;
pub mod canonical;
mod command;
pub mod copy;
mod damage;
pub mod diff;
pub mod display;
mod dump;
mod external_blob;
pub mod feed;
mod feed_notes;
mod file_part;
pub mod find;
mod in_use;
mod index_keys;
mod interrupt;
mod leaves;
pub mod locate;
mod ls;
pub mod maintain;
mod manual;
mod open_store;
pub mod output;
pub mod pages;
mod per_store;
pub mod progress;
pub mod record;
mod remote;
pub mod repair;
pub mod report;
mod rows;
pub mod scan;
#[cfg(feature = "scripts")]
mod scripts;
mod set_aside;
mod sizes;
mod sqlite;
pub mod stat;
mod store_notes;
mod store_origin;
mod stores_at;
mod style;
#[cfg(feature = "sync")]
pub mod sync;
pub mod table;
mod value_json;
pub mod verify;
#[cfg(feature = "view")]
pub mod view;
mod within;

pub use command::run;
