//! Two values that differ, property by property, for eyes.
//!
//! What is compared are the texts, bytes and types at the end of each way through the values ([`walk`]); a way that only one of them has is
//! reported once, without what lies behind it.

use std::collections::HashMap;
use std::ops::ControlFlow;

use larder_codec::value::Tree;
use serde::Serialize;
use sha2::{Digest, Sha256};

use super::Change;
use super::records::content;
use crate::display::Hex;
use crate::leaves::{Leaf, walk};
use crate::record::StoreBlobs;

/// So many bytes of a text, or of other bytes, are kept.
const TEXT_LEN_MAX: usize = 1000;
const BYTES_LEN_MAX: usize = 32;

/// A property that differs. Field names are part of the command's contract.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct PropertyChange {
    /// The way to it, as JavaScript writes it: `.a[0]`; empty for the value itself. Of what is no value, its name.
    pub path: String,
    /// In which of the two it is.
    pub change: Change,
    /// What it is in the first.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub from: Option<Shown>,
    /// What it is in the second.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub to: Option<Shown>,
}

/// Something as a text.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Shown {
    /// Its type.
    #[serde(rename = "type")]
    pub kind: &'static str,
    /// The text; long ones are cut, and end with how long they are.
    pub text: String,
}

/// What stands at the end of a way.
struct End {
    way: String,
    /// How many came before it at that way.
    nth: usize,
    shown: Shown,
    /// The digest of all of it, if that is not shown.
    digest: Option<[u8; 32]>,
}

impl End {
    fn is(&self, other: &Self) -> bool {
        self.shown == other.shown && self.digest == other.digest
    }
}

pub(super) fn property_changes(
    a: (&Tree<'_>, &StoreBlobs<'_>),
    b: (&Tree<'_>, &StoreBlobs<'_>),
) -> Vec<PropertyChange> {
    let (of_a, of_b) = (ends(a.0, a.1), ends(b.0, b.1));
    fn by_way(ends: &[End]) -> HashMap<(&str, usize), &End> {
        let keyed = ends.iter().map(|end| ((&*end.way, end.nth), end));
        keyed.collect()
    }
    let (in_a, in_b) = (by_way(&of_a), by_way(&of_b));
    let mut changes = Changes::default();
    for end in &of_a {
        match in_b.get(&(&*end.way, end.nth)) {
            None => changes.push(Change::Removed, end, Some(&end.shown), None),
            Some(other) if !end.is(other) => {
                let (from, to) = (Some(&end.shown), Some(&other.shown));
                changes.push(Change::Changed, end, from, to);
            }
            Some(_) => {}
        }
    }
    for end in &of_b {
        if !in_a.contains_key(&(&*end.way, end.nth)) {
            changes.push(Change::Added, end, None, Some(&end.shown));
        }
    }
    changes.list
}

#[derive(Default)]
struct Changes {
    list: Vec<PropertyChange>,
}

impl Changes {
    /// One of each way; none behind a way that only one value has.
    fn push(&mut self, change: Change, end: &End, from: Option<&Shown>, to: Option<&Shown>) {
        if let Some(last) = self.list.last() {
            let behind = end.way.strip_prefix(&*last.path);
            let is_lone = last.change != Change::Changed && last.change == change;
            let is_said = match behind {
                Some("") => true,
                Some(rest) => is_lone && rest.starts_with(['.', '[', '<']),
                None => false,
            };
            if is_said {
                return;
            }
        }
        self.list.push(PropertyChange {
            path: end.way.clone(),
            change,
            from: from.cloned(),
            to: to.cloned(),
        });
    }
}

fn ends(tree: &Tree<'_>, blobs: &StoreBlobs<'_>) -> Vec<End> {
    let mut ends: Vec<End> = Vec::new();
    let (ControlFlow::Continue(()) | ControlFlow::Break(())) =
        walk(tree, blobs.objects, &mut |way, leaf| {
            let (kind, text, digest) = match leaf {
                Leaf::Text("property name", _) => return ControlFlow::Continue(()),
                Leaf::Text(kind, text) => {
                    let (text, digest) = cut(&text);
                    (kind, text, digest)
                }
                Leaf::Bytes(bytes) => {
                    let (text, digest) = cut_bytes(bytes);
                    ("bytes", text, digest)
                }
                Leaf::Object(kind) => (kind, kind.to_owned(), None),
                Leaf::External(kind, object) => match content(blobs, object) {
                    Some(text) => (kind, text, None),
                    None => return ControlFlow::Continue(()),
                },
            };
            let way = way.to_string();
            let nth = match ends.last() {
                Some(last) if last.way == way => last.nth + 1,
                _ => 0,
            };
            let shown = Shown { kind, text };
            ends.push(End {
                way,
                nth,
                shown,
                digest,
            });
            ControlFlow::Continue(())
        });
    ends
}

fn cut(text: &str) -> (String, Option<[u8; 32]>) {
    if text.len() <= TEXT_LEN_MAX {
        return (text.to_owned(), None);
    }
    let shown = text.get(..text.floor_char_boundary(TEXT_LEN_MAX));
    let shown = format!("{}… ({} bytes)", shown.unwrap_or_default(), text.len());
    (shown, Some(Sha256::digest(text.as_bytes()).into()))
}

fn cut_bytes(bytes: &[u8]) -> (String, Option<[u8; 32]>) {
    match bytes.get(..BYTES_LEN_MAX) {
        Some(first) if bytes.len() > BYTES_LEN_MAX => {
            let shown = format!("{}… ({} bytes)", Hex(first), bytes.len());
            (shown, Some(Sha256::digest(bytes).into()))
        }
        _ => (Hex(bytes).to_string(), None),
    }
}
