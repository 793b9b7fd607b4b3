//! `problems`: what `larder verify` finds.

use larder_backing_store::{Error, ErrorKind};
use larder_view::{Answer, Form, Refusal};
use serde::Deserialize;
use serde_json::{Value, json};

use super::asked::read;
use super::stores::{Stores, refused};
use super::{answer_line, failed};
use crate::display::Counted;
use crate::verify::{VerifyOptions, verify};

/// After so many rows a line says how far it is, and it is found out whether the page is still there.
const ROWS_A_LINE: u64 = 20_000;

pub(super) fn problems(
    stores: &Stores,
    asked: &Value,
    answer: &mut dyn Answer,
) -> Result<(), Refusal> {
    #[derive(Deserialize)]
    struct Asked {
        store: usize,
        #[serde(default)]
        full: bool,
    }
    let Asked { store, full } = read(asked)?;
    let open = stores.open_anew(store)?;
    answer.set_form(Form::Lines);
    let options = VerifyOptions {
        full,
        ..VerifyOptions::default()
    };
    let mut rows = 0_u64;
    let mut gone = None;
    let verdict = verify(&open.store, options, &mut || {
        rows += 1;
        if rows.is_multiple_of(ROWS_A_LINE) {
            gone = answer_line(answer, &json!({"progress": {"rows": rows}})).err();
        }
        match gone {
            None => Ok(()),
            Some(_) => Err(Error::new(ErrorKind::Usage, "no more is wanted")),
        }
    });
    if let Some(error) = gone {
        return Err(error);
    }
    let verdict = verdict.map_err(refused)?;
    let findings = &verdict.findings;
    for finding in findings.list() {
        let mut line = serde_json::to_value(finding).map_err(failed)?;
        line["where"] = match (&finding.place[..], &finding.key, &finding.file) {
            ("", _, Some(file)) => file.clone().into(),
            ("", _, None) => "the store".into(),
            (place, Some(key), _) => format!("{place}, key {key}").into(),
            (place, None, _) => place.into(),
        };
        line["kind"] = finding.check.name().into();
        line["what"] = match finding.more {
            0 => finding.problem.clone().into(),
            more => format!("{} (and {more} more of this kind)", finding.problem).into(),
        };
        answer_line(answer, &json!({"finding": line}))?;
    }
    let text = match verdict.is_clean() {
        true => format!(
            "nothing is wrong: {} looked at",
            Counted(verdict.counts.rows, "row")
        ),
        false => format!(
            "{} and {} in {}",
            Counted(findings.faults(), "fault"),
            Counted(findings.notes(), "note"),
            Counted(verdict.counts.rows, "row")
        ),
    };
    answer_line(
        answer,
        &json!({"done": true, "sound": verdict.is_clean(), "text": text}),
    )
}
