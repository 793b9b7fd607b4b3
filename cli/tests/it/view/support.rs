//! Questions to a viewer, as the page's server asks them.

use std::io::{self, Write};
use std::path::Path;
use std::sync::Arc;

use larder::locate::find_stores;
use larder::view::Viewer;
use larder_leveldb::storage::DiskFileSystem;
use larder_view::{Answer, Form, Refusal, Source};
use serde_json::{Value, json};

/// An answer in memory, which takes so many bytes and then no more.
pub(super) struct Kept {
    pub(super) bytes: Vec<u8>,
    pub(super) form: Form,
    pub(super) room: usize,
}

impl Kept {
    pub(super) fn new() -> Self {
        Self {
            bytes: Vec::new(),
            form: Form::Json,
            room: usize::MAX,
        }
    }
}

impl Write for Kept {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if self.bytes.len() >= self.room {
            return Err(io::ErrorKind::BrokenPipe.into());
        }
        self.bytes.extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Answer for Kept {
    fn set_form(&mut self, form: Form) {
        assert!(self.bytes.is_empty(), "the form comes first");
        self.form = form;
    }
}

/// The stores below a folder.
pub(super) fn view(path: &Path) -> Viewer {
    let fs = Arc::new(DiskFileSystem::new());
    let found = find_stores(&*fs, &|path| path.to_owned(), path).unwrap();
    Viewer::new(fs, path.to_owned(), found.stores, Vec::new())
}

/// An object store, or an index of it, in store 0.
#[derive(Debug, Clone, Copy)]
pub(super) struct Place {
    pub(super) database: i64,
    pub(super) object_store: i64,
    pub(super) index: Option<i64>,
}

impl Place {
    /// What a question has of it, and what else there is in `more`.
    pub(super) fn with(self, more: Value) -> Value {
        let mut asked =
            json!({"store": 0, "database": self.database, "objectStore": self.object_store});
        if let Some(index) = self.index {
            asked["index"] = index.into();
        }
        let members = more.as_object().unwrap().clone();
        asked.as_object_mut().unwrap().extend(members);
        asked
    }
}

/// A viewer that is asked.
pub(super) struct Asked<'v>(pub(super) &'v Viewer);

impl Asked<'_> {
    pub(super) fn ask(&self, question: &str, asked: &Value) -> Result<Kept, Refusal> {
        let mut kept = Kept::new();
        self.0
            .answer(question, asked.to_string().as_bytes(), &mut kept)?;
        Ok(kept)
    }

    pub(super) fn json(&self, question: &str, asked: &Value) -> Result<Value, String> {
        let kept = self
            .ask(question, asked)
            .map_err(|refusal| refusal.to_string())?;
        assert_eq!(kept.form, Form::Json);
        Ok(larder_fixtures::parse_json(&kept.bytes))
    }

    pub(super) fn lines(&self, question: &str, asked: &Value) -> Result<Vec<Value>, String> {
        let kept = self
            .ask(question, asked)
            .map_err(|refusal| refusal.to_string())?;
        assert_eq!(kept.form, Form::Lines);
        let lines = kept
            .bytes
            .split(|byte| *byte == b'\n')
            .filter(|line| !line.is_empty());
        Ok(lines
            .map(|line| serde_json::from_slice(line).unwrap())
            .collect())
    }

    /// All rows, page by page.
    pub(super) fn all(
        &self,
        place: Place,
        direction: &str,
        limit: usize,
    ) -> Result<Vec<Value>, String> {
        let limit = limit.min(500);
        let mut rows = Vec::new();
        let mut asked = place.with(json!({"direction": direction, "limit": limit}));
        loop {
            let mut page = self.json("records", &asked)?;
            let records = page["records"].as_array_mut().unwrap();
            assert!(records.len() <= limit);
            rows.append(records);
            if page["more"] != true {
                return Ok(rows);
            }
            asked["after"] = page["after"].take();
        }
    }

    /// A record as whole as it comes.
    pub(super) fn record(&self, place: Place, key: &Value) -> Result<Value, String> {
        let most = 1 << 30;
        let asked =
            place.with(json!({"primaryKey": key, "strings": most, "bytes": most, "nodes": most}));
        self.json("record", &asked)
    }
}
