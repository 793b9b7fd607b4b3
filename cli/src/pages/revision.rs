//! Commits as a person names them.

use larder_pages::{Commit, CommitId, Page};

use super::PagesError;
use crate::copy::key_text;
use crate::display::Hex;

/// So many digits of an id are shown at least.
const DIGITS_MIN: usize = 8;
/// So many commits are named where several fit.
const CANDIDATES_MAX: usize = 10;

/// The commit with a name: `head`, `first`, the first digits of an id that no other begins with; and `~N` behind it, N first parents back.
///
/// # Errors
/// `NoCommit`, `SeveralCommits`; those of reading.
pub fn resolve_commit(page: &Page, name: &str) -> Result<Commit, PagesError> {
    let (base, back) = name.split_once('~').unwrap_or((name, "0"));
    let no_commit = || PagesError::NoCommit(format!("{name:?}"));
    let back: u64 = match back {
        "" => 1,
        digits => digits.parse().map_err(|_| no_commit())?,
    };
    let mut commit = match base {
        "head" => only_head(page)?,
        "first" => Commit::first(),
        digits => by_digits(page, digits)?,
    };
    for _ in 0..back {
        let parent = commit.parents().first().ok_or_else(no_commit)?;
        commit = page.commit_by_id(*parent)?.ok_or_else(|| {
            let (child, parent) = (short_text(&commit), Hex(&parent.0));
            PagesError::NoCommit(format!(
                "{name:?}: {child} came of {parent}, which is not here"
            ))
        })?;
    }
    Ok(commit)
}

fn short_text(commit: &Commit) -> String {
    Hex(&commit.id().0).to_string()
}

fn only_head(page: &Page) -> Result<Commit, PagesError> {
    let mut heads = page.heads();
    match heads.len() {
        0 => Err(PagesError::NoCommit("head".to_owned())),
        1 => Ok(heads.remove(0)),
        _ => {
            let ids = heads.iter().map(short_text).collect();
            Err(PagesError::SeveralCommits("head".to_owned(), ids))
        }
    }
}

fn by_digits(page: &Page, digits: &str) -> Result<Commit, PagesError> {
    let no_commit = || PagesError::NoCommit(format!("{digits:?}"));
    let digits = digits.to_ascii_lowercase();
    let is_start = !digits.is_empty() && digits.bytes().all(|digit| digit.is_ascii_hexdigit());
    if !is_start || digits.len() > 64 {
        return Err(no_commit());
    }
    let start = key_text::from_hex(&digits[..digits.len() / 2 * 2]).unwrap_or_default();
    // The first commit has no row.
    let first = digits
        .bytes()
        .all(|digit| digit == b'0')
        .then_some(CommitId::FIRST);
    let mut found: Vec<CommitId> = first.into_iter().collect();
    for id in page.commit_ids(&start)? {
        // A key that is no id is no candidate.
        let Ok(id) = id else { continue };
        if Hex(&id.0).to_string().starts_with(&digits) {
            found.push(id);
        }
        if found.len() > CANDIDATES_MAX {
            break;
        }
    }
    match found[..] {
        [] => Err(no_commit()),
        [id] => page.commit_by_id(id)?.ok_or_else(no_commit),
        _ => {
            let ids = found.iter().map(|id| Hex(&id.0).to_string());
            let mut ids: Vec<String> = ids.take(CANDIDATES_MAX).collect();
            if found.len() > CANDIDATES_MAX {
                ids.push("and more".to_owned());
            }
            Err(PagesError::SeveralCommits(format!("{digits:?}"), ids))
        }
    }
}

/// The first digits of an id, so many that no other commit of the page begins with them; eight at least.
///
/// # Errors
/// Those of the engine.
pub fn short_id(page: &Page, id: CommitId) -> Result<String, PagesError> {
    let hex = Hex(&id.0).to_string();
    let mut common = 0;
    let first = (id != CommitId::FIRST).then_some(CommitId::FIRST);
    let others = page.commit_ids(&id.0[..DIGITS_MIN / 2])?.flatten();
    for other in others.chain(first).filter(|other| *other != id) {
        let other = Hex(&other.0).to_string();
        let same = hex.bytes().zip(other.bytes()).take_while(|(a, b)| a == b);
        common = common.max(same.count());
    }
    let len = (common + 1).clamp(DIGITS_MIN, hex.len());
    Ok(hex[..len].to_owned())
}
