//! `larder find`: prints each place that fits.

use std::io::{self, Write};
use std::ops::ControlFlow;

use larder_codec::JsString;
use regex_lite::RegexBuilder;
use serde::Serialize;
use serde_json::Value;

use super::{Hit, HitPlace, Pattern, find};
use crate::args::FindArgs;
use crate::canonical::write_key;
use crate::copy::key_text;
use crate::display::{Quoted, ShownKey, write_harmless};
use crate::output::Output;
use crate::per_store::{PerStore, Problems};
use crate::scan::{Scan, Stop};
use crate::store_origin::StoreOrigin;
use crate::style::Style;

/// So many characters of a text are shown to eyes.
const TEXT_SHOWN_MAX: usize = 200;

/// The command.
pub(crate) struct Find {
    pattern: Pattern,
    json: bool,
    left: u64,
    output: Output,
    style: Style,
}

/// A hit as `--format json` prints it. Field names are part of the command's contract.
#[derive(Debug, Serialize)]
struct Listing<'a> {
    origin: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    bucket: Option<&'a str>,
    database: &'a JsString,
    object_store: &'a JsString,
    /// In canonical form.
    key: Value,
    /// `key`, `value` or `index`.
    r#in: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    path: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    index: Option<&'a JsString>,
    r#type: &'a str,
    text: &'a str,
}

impl Find {
    /// The command.
    ///
    /// # Errors
    /// In words, if what is looked for has no meaning.
    pub(crate) fn new(args: &FindArgs, output: Output, color: bool) -> Result<Self, String> {
        let pattern = match (&args.text, &args.regex, &args.key, &args.r#type) {
            (Some(text), None, None, None) => Pattern::text(text, args.ignore_case),
            (None, Some(regex), None, None) => {
                let built = RegexBuilder::new(regex)
                    .case_insensitive(args.ignore_case)
                    .build();
                Pattern::Regex(built.map_err(|error| format!("--regex: {error}"))?)
            }
            (None, None, Some(key), None) => {
                Pattern::Key(key_text::parse(key).map_err(|error| format!("--key: {error}"))?)
            }
            (None, None, None, Some(kind)) => Pattern::Type(kind.clone()),
            _ => {
                return Err("say one thing to look for: TEXT, --regex, --key or --type".to_owned());
            }
        };
        Ok(Self {
            pattern,
            json: args.report.is_json(),
            left: args.limit.unwrap_or(u64::MAX),
            output,
            style: Style::new(color),
        })
    }
}

impl PerStore for Find {
    fn problems(&self) -> Problems {
        Problems::AreBeside
    }

    fn store(&mut self, scan: &mut Scan<'_>, origin: &StoreOrigin) -> Result<(), Stop> {
        let Self {
            pattern,
            json,
            left,
            output,
            style,
        } = self;
        if *left == 0 {
            return Ok(());
        }
        let found = find(
            scan,
            pattern,
            &mut || ControlFlow::Continue(()),
            &mut |hit| {
                match json {
                    true => write_json(output, origin, hit)?,
                    false => write_text(output, *style, origin, hit)?,
                }
                *left -= 1;
                Ok(match *left {
                    0 => ControlFlow::Break(()),
                    _ => ControlFlow::Continue(()),
                })
            },
        );
        found.map(drop)
    }

    fn finish(self: Box<Self>) -> io::Result<()> {
        self.output.finish()
    }
}

fn write_json(out: &mut Output, origin: &StoreOrigin, hit: &Hit<'_>) -> io::Result<()> {
    let mut key = Vec::new();
    write_key(&mut key, hit.key);
    let (r#in, path, index) = match hit.place {
        HitPlace::Key => ("key", None, None),
        HitPlace::Value(path) => ("value", Some(path), None),
        HitPlace::Index(name) => ("index", None, Some(name)),
    };
    let listing = Listing {
        origin: &origin.shown,
        bucket: origin.bucket.as_deref(),
        database: &hit.database.name,
        object_store: &hit.object_store.name,
        key: serde_json::from_slice(&key)?,
        r#in,
        path,
        index,
        r#type: hit.kind,
        text: hit.text,
    };
    serde_json::to_writer(&mut *out, &listing)?;
    writeln!(out)
}

fn write_text(
    out: &mut Output,
    style: Style,
    origin: &StoreOrigin,
    hit: &Hit<'_>,
) -> io::Result<()> {
    let (database, store) = (Quoted(&hit.database.name), Quoted(&hit.object_store.name));
    write!(
        out,
        "{} {} / {} {}",
        style.faint(&origin.shown),
        style.name(database),
        style.name(store),
        style.key(ShownKey(hit.key))
    )?;
    match hit.place {
        HitPlace::Key => write!(out, " key")?,
        HitPlace::Value(path) => {
            write!(out, " ")?;
            write_harmless(out, path)?;
        }
        HitPlace::Index(name) => write!(out, " index {}", Quoted(name))?,
    }
    let shown = hit.text.char_indices().nth(TEXT_SHOWN_MAX);
    let shown = shown.and_then(|(end, _)| hit.text.get(..end));
    write!(out, ": ")?;
    write_harmless(out, shown.unwrap_or(hit.text))?;
    writeln!(out, "{}", if shown.is_some() { "…" } else { "" })
}
