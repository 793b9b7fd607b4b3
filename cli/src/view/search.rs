//! `search`: texts, keys and types in keys and values, as they are found.

use std::cell::RefCell;
use std::ops::ControlFlow;

use larder_view::{Answer, Form, Refusal};
use regex_lite::RegexBuilder;
use serde::Deserialize;
use serde_json::{Value, json};

use super::asked::{Content, read};
use super::said::Said;
use super::shown::{key, limited};
use super::stores::{OpenStore, Stores};
use super::{answer_line, tree};
use crate::copy::key_text;
use crate::display::Quoted;
use crate::find::{Hit, HitPlace, Pattern, find};
use crate::progress::Progress;
use crate::scan::{Scan, Selection};

/// So many hits are enough.
const HITS_MAX: u64 = 10_000;
/// So many characters of what fits are shown.
const TEXT_MAX: usize = 300;
/// After so many records a line says how far it is, and it is found out whether the page is still there.
const RECORDS_A_LINE: u64 = 2_000;
/// So many problems are named for each store.
const PROBLEMS_MAX: usize = 50;

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Asked {
    #[serde(flatten)]
    content: Content,
    text: String,
    #[serde(default)]
    kind: Kind,
    #[serde(default)]
    ignore_case: bool,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Kind {
    #[default]
    Text,
    Regex,
    Key,
    Type,
}

impl Asked {
    fn pattern(&self) -> Result<Pattern, Refusal> {
        Ok(match self.kind {
            Kind::Text => Pattern::text(&self.text, self.ignore_case),
            Kind::Regex => {
                let mut builder = RegexBuilder::new(&self.text);
                let built = builder.case_insensitive(self.ignore_case).build();
                Pattern::Regex(built.map_err(|error| Refusal::Malformed(error.to_string()))?)
            }
            Kind::Key => {
                Pattern::Key(key_text::parse(self.text.trim()).map_err(Refusal::Malformed)?)
            }
            Kind::Type => Pattern::Type(self.text.trim().to_owned()),
        })
    }
}

pub(super) fn search(
    stores: &Stores,
    asked: &Value,
    answer: &mut dyn Answer,
) -> Result<(), Refusal> {
    let asked: Asked = read(asked)?;
    let pattern = asked.pattern()?;
    let numbers = match asked.content.store {
        Some(number) => vec![number],
        None => (0..stores.paths().count()).collect(),
    };
    answer.set_form(Form::Lines);
    let out = RefCell::new(Out {
        answer,
        gone: None,
        records: 0,
        hits: 0,
    });
    for number in numbers {
        let searched = match stores.open(number) {
            Ok(open) => {
                let selection = open.selection(&asked.content)?;
                search_store(stores, &open, &selection, &pattern, &out)
            }
            // The others are searched.
            Err(error) => out
                .borrow_mut()
                .line(&json!({"problem": error.to_string()})),
        };
        if searched.is_break() {
            break;
        }
    }
    let mut out = out.into_inner();
    let (hits, cut) = (out.hits, out.hits == HITS_MAX);
    let _ = out.line(&json!({"done": true, "hits": hits, "cut": cut}));
    out.gone.map_or(Ok(()), Err)
}

/// Where what is found goes. It breaks when the page has gone, or has enough.
struct Out<'a> {
    answer: &'a mut dyn Answer,
    /// Why nothing more can be sent.
    gone: Option<Refusal>,
    records: u64,
    hits: u64,
}

impl Out<'_> {
    fn line(&mut self, line: &Value) -> ControlFlow<()> {
        if self.gone.is_none() {
            self.gone = answer_line(self.answer, line).err();
        }
        match self.gone {
            None => ControlFlow::Continue(()),
            Some(_) => ControlFlow::Break(()),
        }
    }

    /// One more record is looked at.
    fn record(&mut self) -> ControlFlow<()> {
        self.records += 1;
        match self.records.is_multiple_of(RECORDS_A_LINE) {
            true => self.line(&json!({"progress": {"records": self.records}})),
            false => ControlFlow::Continue(()),
        }
    }

    fn hit(&mut self, hit: &Value) -> ControlFlow<()> {
        self.hits += 1;
        self.line(&json!({"hit": hit}))?;
        match self.hits == HITS_MAX {
            true => ControlFlow::Break(()),
            false => ControlFlow::Continue(()),
        }
    }
}

fn search_store(
    stores: &Stores,
    open: &OpenStore,
    selection: &Selection,
    pattern: &Pattern,
    out: &RefCell<Out<'_>>,
) -> ControlFlow<()> {
    let said = Said::default();
    let (mut report, mut progress) = (said.report(), Progress::new(true));
    let mut scan = Scan::new(&open.store, selection, &mut report, &mut progress);
    let found = find(
        &mut scan,
        pattern,
        &mut || out.borrow_mut().record(),
        &mut |hit| Ok(out.borrow_mut().hit(&shown(stores, open, hit))),
    );
    let mut problems = said.take().problems;
    let found = found.unwrap_or_else(|stop| {
        problems.push(stop.to_string());
        ControlFlow::Continue(())
    });
    for problem in problems.into_iter().take(PROBLEMS_MAX) {
        out.borrow_mut().line(&json!({"problem": problem}))?;
    }
    found
}

fn shown(stores: &Stores, open: &OpenStore, hit: &Hit<'_>) -> Value {
    let place = match hit.place {
        HitPlace::Key => "key".to_owned(),
        HitPlace::Value(path) => limited(path, TEXT_MAX),
        HitPlace::Index(name) => format!("index {}", Quoted(name)),
    };
    json!({
        "store": open.number,
        "database": hit.database.id.get(),
        "objectStore": hit.object_store.id.get(),
        "names": [open.origin.shown, tree::name(&hit.database.name), tree::name(&hit.object_store.name)],
        "primaryKey": key(hit.key),
        "primaryKeyHex": stores.long_keys.shown(hit.key.as_bytes()),
        "place": place,
        "kind": hit.kind,
        "text": limited(hit.text, TEXT_MAX),
    })
}
