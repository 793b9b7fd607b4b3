//! Why pages cannot be shown.

use std::fmt;
use std::io;
use std::path::PathBuf;

use larder_leveldb::storage::LockHolder;

use crate::store_notes::holder_text;

/// Why something of a repository cannot be shown or done.
#[derive(Debug)]
#[non_exhaustive]
pub enum PagesError {
    /// There is no repository and no page at the path: with why, if the path cannot be looked at.
    NoRepository(PathBuf, Option<io::Error>),
    /// The LevelDB at the path has no page in it: with why.
    NotAPage(PathBuf, String),
    /// No page is what was asked for: in words, and the pages that are there.
    NoPage(String, Vec<String>),
    /// Several pages are here, and one is looked at at a time.
    SeveralPages(Vec<String>),
    /// No commit has the name.
    NoCommit(String),
    /// Several commits have the name: some of them.
    SeveralCommits(String, Vec<String>),
    /// The commit has no entry with the key, which is shown.
    NoEntry(String),
    /// An argument has no meaning: in words.
    Argument(String),
    /// A program has the page, or its repository, open.
    InUse(PathBuf, Option<LockHolder>),
    /// The page says what is wrong.
    Page(larder_pages::Error),
    /// The output cannot be written.
    Output(io::Error),
}

fn list(f: &mut fmt::Formatter<'_>, names: &[String]) -> fmt::Result {
    names.iter().try_for_each(|name| write!(f, "\n  {name}"))
}

impl fmt::Display for PagesError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoRepository(path, Some(error)) => write!(f, "{}: {error}", path.display()),
            Self::NoRepository(path, None) => write!(
                f,
                "{}: no repository of pages here: give the folder that has 1/ledgers in it, the folder of a page, or the folder leveldb in that",
                path.display()
            ),
            Self::NotAPage(path, why) => write!(f, "{}: no page here: {why}", path.display()),
            Self::NoPage(wanted, names) if names.is_empty() => {
                write!(f, "no {wanted} here: the repository has no page")
            }
            Self::NoPage(wanted, names) => {
                write!(f, "no {wanted} here; there is")?;
                list(f, names)
            }
            Self::SeveralPages(names) => {
                f.write_str("there are several pages here: choose one with --page, and --ledger")?;
                list(f, names)
            }
            Self::NoCommit(name) => {
                write!(
                    f,
                    "no commit {name} here: larder pages log lists those that are there"
                )
            }
            Self::SeveralCommits(name, ids) => {
                write!(f, "several commits are {name}: name one of them")?;
                list(f, ids)
            }
            Self::NoEntry(key) => write!(f, "the commit has no entry {key}"),
            Self::Argument(what) => f.write_str(what),
            Self::InUse(path, holder) => write!(
                f,
                "{}: {} has it open: close it, and try again",
                path.display(),
                holder.map_or_else(|| "another program".to_owned(), holder_text)
            ),
            Self::Page(error) => error.fmt(f),
            Self::Output(error) => write!(f, "the output cannot be written: {error}"),
        }
    }
}

impl std::error::Error for PagesError {}

impl From<larder_pages::Error> for PagesError {
    fn from(error: larder_pages::Error) -> Self {
        Self::Page(error)
    }
}

impl From<io::Error> for PagesError {
    fn from(error: io::Error) -> Self {
        Self::Output(error)
    }
}
