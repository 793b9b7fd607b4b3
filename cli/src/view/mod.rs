//! `larder view`: what the page of larder-view asks, answered over stores (view/README.md).

mod asked;
mod blobs;
mod command;
mod counts;
mod downloads;
mod fate;
mod feed;
mod filter;
mod hidden;
mod long_keys;
mod preview;
mod problems;
mod record;
mod records;
mod row;
mod said;
mod search;
mod shown;
mod stores;
mod tree;
mod version;

pub(crate) use command::run;

use std::fmt::{self, Display};
use std::path::PathBuf;
use std::sync::Arc;

use larder_backing_store::StorePaths;
use larder_leveldb::storage::FileSystem;
use larder_view::{Answer, Refusal, Source};
use serde_json::Value;

use stores::Stores;

/// The stores below a path, for [`larder_view::Server`].
pub struct Viewer {
    stores: Stores,
    notes: Vec<String>,
}

impl Viewer {
    /// A viewer of stores that were found below a path, and what could not be looked at on the way to them.
    #[must_use]
    pub fn new(
        fs: Arc<dyn FileSystem>,
        path: PathBuf,
        found: Vec<StorePaths>,
        notes: Vec<String>,
    ) -> Self {
        let stores = Stores::new(fs, path, found);
        Self { stores, notes }
    }
}

impl fmt::Debug for Viewer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut debug = f.debug_struct("Viewer");
        debug
            .field("path", &self.stores.path)
            .finish_non_exhaustive()
    }
}

impl Source for Viewer {
    fn answer(&self, question: &str, asked: &[u8], answer: &mut dyn Answer) -> Result<(), Refusal> {
        let stores = &self.stores;
        let malformed = |error: serde_json::Error| Refusal::Malformed(error.to_string());
        let mut members = serde_json::from_slice(asked).map_err(malformed)?;
        stores.long_keys.put_in(&mut members);
        let asked = &Value::Object(members);
        match question {
            "stores" => tree::stores(stores, &self.notes, answer),
            "store" => tree::store(stores, asked, answer),
            "objectStores" => tree::object_stores(stores, asked, answer),
            "state" => tree::state(stores, answer),
            "counts" => counts::counts(stores, asked, answer),
            "records" => records::records(stores, asked, answer),
            "record" => record::record(stores, asked, answer),
            "json" => record::json(stores, asked, answer),
            "row" => row::row(stores, asked, answer),
            "hidden" => hidden::hidden(stores, asked, answer),
            "search" => search::search(stores, asked, answer),
            "problems" => problems::problems(stores, asked, answer),
            "feed" => feed::feed(stores, asked, answer),
            "blob" => blobs::blob(stores, asked, answer),
            "download" => downloads::download(stores, asked, answer),
            other => Err(Refusal::NotFound(format!("there is no question {other:?}"))),
        }
    }
}

fn answer_json(answer: &mut dyn Answer, value: &Value) -> Result<(), Refusal> {
    let text = serde_json::to_vec(value).map_err(failed)?;
    Ok(answer.write_all(&text)?)
}

/// One line, which is sent at once.
fn answer_line(answer: &mut dyn Answer, value: &Value) -> Result<(), Refusal> {
    let mut text = serde_json::to_vec(value).map_err(failed)?;
    text.push(b'\n');
    answer.write_all(&text)?;
    Ok(answer.flush()?)
}

/// What has no better kind.
fn failed(error: impl Display) -> Refusal {
    Refusal::Failed(error.to_string())
}
