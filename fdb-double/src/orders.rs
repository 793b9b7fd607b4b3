//! Instructions of a test to a cluster: rows under `\xff\xff/double/`, in text.
//!
//! | row | value |
//! |---|---|
//! | `commits` | what becomes of the next commits, one word each: `usual`, `1020`, `1021:made`, `1021:lost`, `1021:held`, `mute:made` |
//! | `release` | what is held is decided now |
//! | `slow` | each reply to a read takes so many milliseconds |
//! | `reads` | the errors of the next reads, one number each; 0 is none |
//! | `chance` | `SEED PERCENT`: so many commits of a hundred, and half as many reads, fail in one of these ways |
//! | `age` | the cluster's clock goes on by so many milliseconds |
//! | `reply` | so many bytes of rows at most in one reply to a range |
//! | `silent` | `1`: nothing is answered any more; `0`: everything is |
//!
//! The row `count` can be read: how many commits that write something have been sent to the cluster, made or not.

use crate::cluster::Request;
use crate::errors::Code;
use crate::fate::{Chance, Fate};
use std::collections::VecDeque;
use std::time::Duration;

/// What their keys begin with.
pub(crate) const PREFIX: &[u8] = b"\xff\xff/double/";

/// What was ordered.
#[derive(Debug, Default)]
pub(crate) struct Orders {
    commits: VecDeque<Fate>,
    reads: VecDeque<Code>,
    chance: Option<Chance>,
    pub(crate) reply_len_max: Option<usize>,
    /// How long each read takes.
    pub(crate) slow: Option<Duration>,
    /// Commits that were sent and not decided yet.
    pub(crate) held: Vec<Request>,
    /// Those that are to be decided now.
    pub(crate) released: Vec<Request>,
    pub(crate) is_silent: bool,
    /// How often a commit was sent.
    pub(crate) count: u64,
}

impl Orders {
    /// Carries one out; how much older the cluster is by it, or `None` if it is none.
    pub(crate) fn carry_out(&mut self, key: &[u8], value: &[u8]) -> Option<Duration> {
        let text = std::str::from_utf8(value).ok()?;
        match key.strip_prefix(PREFIX)? {
            b"commits" => {
                let fates: Option<Vec<Fate>> = text.split_whitespace().map(Fate::parse).collect();
                self.commits.extend(fates?);
            }
            b"reads" => {
                let codes: Result<Vec<Code>, _> = text.split_whitespace().map(str::parse).collect();
                self.reads.extend(codes.ok()?);
            }
            b"chance" => self.chance = Some(Chance::parse(text)?),
            b"age" => return Some(Duration::from_millis(text.parse().ok()?)),
            b"reply" => self.reply_len_max = Some(text.parse().ok()?),
            b"slow" => self.slow = Some(Duration::from_millis(text.parse().ok()?)),
            b"release" => self.released.append(&mut self.held),
            b"silent" => self.is_silent = text == "1",
            _ => return None,
        }
        Some(Duration::ZERO)
    }

    /// What becomes of the commit that is sent now.
    pub(crate) fn of_commit(&mut self) -> Fate {
        self.count += 1;
        let by_chance = self.chance.as_mut().map(Chance::of_commit);
        let ordered = self.commits.pop_front().or(by_chance);
        ordered.unwrap_or(Fate::USUAL)
    }

    /// The error of the read that is sent now, or 0.
    pub(crate) fn of_read(&mut self) -> Code {
        let by_chance = self.chance.as_mut().map(Chance::of_read);
        self.reads.pop_front().or(by_chance).unwrap_or(0)
    }
}
