//! `search`: texts, keys and types in keys and values, as they are found.

use std::cell::RefCell;
use std::ops::ControlFlow;

use larder_view::{Answer, Form, Refusal};
use regex_lite::RegexBuilder;
use serde::Deserialize;
use serde_json::json;

use super::asked::{Content, read};
use super::said::Said;
use super::shown::{hex, key, limited};
use super::stores::{OpenStore, Stores};
use super::{answer_line, tree};
use crate::copy::key_text;
use crate::display::Quoted;
use crate::find::{Hit, HitPlace, Pattern, find};
use crate::progress::Progress;
use crate::scan::{Scan, Stop};

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
    asked: &[u8],
    answer: &mut dyn Answer,
) -> Result<(), Refusal> {
    let asked: Asked = read(asked)?;
    let pattern = asked.pattern()?;
    let numbers = match asked.content.store {
        Some(number) => vec![number],
        None => (0..stores.paths().count()).collect(),
    };
    answer.set_form(Form::Lines);
    let mut searched = Searched {
        answer: RefCell::new(answer),
        records: 0,
        hits: 0,
    };
    for number in numbers {
        let open = match stores.open(number) {
            Ok(open) => open,
            // The others are searched.
            Err(error) => {
                searched.line(&json!({"problem": error.to_string()}))?;
                continue;
            }
        };
        let selection = open.selection(&asked.content)?;
        if searched.store(&open, &selection, &pattern)?.is_break() {
            break;
        }
    }
    let (hits, cut) = (searched.hits, searched.hits == HITS_MAX);
    searched.line(&json!({"done": true, "hits": hits, "cut": cut}))
}

/// A search on its way.
struct Searched<'a> {
    answer: RefCell<&'a mut dyn Answer>,
    records: u64,
    hits: u64,
}

impl Searched<'_> {
    fn line(&self, line: &serde_json::Value) -> Result<(), Refusal> {
        answer_line(*self.answer.borrow_mut(), line)
    }

    fn store(
        &mut self,
        open: &OpenStore,
        selection: &crate::scan::Selection,
        pattern: &Pattern,
    ) -> Result<ControlFlow<()>, Refusal> {
        let said = Said::default();
        let (mut report, mut progress) = (said.report(), Progress::new(true));
        let mut scan = Scan::new(&open.store, selection, &mut report, &mut progress);
        let Self {
            answer,
            records,
            hits,
        } = self;
        let mut gone = None;
        let mut say = |line: &serde_json::Value| {
            let sent = answer_line(*answer.borrow_mut(), line);
            match sent {
                Ok(()) => true,
                Err(error) => {
                    gone = Some(error);
                    false
                }
            }
        };
        let say = RefCell::new(&mut say);
        let found = find(
            &mut scan,
            pattern,
            &mut || {
                *records += 1;
                let is_due = records.is_multiple_of(RECORDS_A_LINE);
                if is_due && !(say.borrow_mut())(&json!({"progress": {"records": *records}})) {
                    return ControlFlow::Break(());
                }
                ControlFlow::Continue(())
            },
            &mut |hit| {
                *hits += 1;
                let is_sent = (say.borrow_mut())(&json!({"hit": shown(open, hit)}));
                Ok(match is_sent && *hits < HITS_MAX {
                    true => ControlFlow::Continue(()),
                    false => ControlFlow::Break(()),
                })
            },
        );
        if let Some(error) = gone {
            return Err(error);
        }
        let found = match found {
            Ok(found) => found,
            Err(Stop::Output(error)) => return Err(error.into()),
            Err(Stop::Store(error)) => {
                said.add(error.to_string());
                ControlFlow::Continue(())
            }
        };
        for problem in said.take().into_iter().take(PROBLEMS_MAX) {
            self.line(&json!({"problem": problem}))?;
        }
        Ok(found)
    }
}

fn shown(open: &OpenStore, hit: &Hit<'_>) -> serde_json::Value {
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
        "primaryKeyHex": hex(hit.key.as_bytes()),
        "place": place,
        "kind": hit.kind,
        "text": limited(hit.text, TEXT_MAX),
    })
}
