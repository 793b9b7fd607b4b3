//! What becomes of a commit when a test has ordered something, or chance has.

use crate::errors::{self, Code};
use std::time::Duration;

/// What the client hears of a commit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Reply {
    /// What became of it.
    Truth,
    /// An error, whatever became of it.
    Error(Code),
    /// Nothing, until the transaction's time is over.
    None,
}

/// What the cluster does with a commit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Deed {
    /// It decides now, by the transaction's conflicts.
    Decided,
    /// It never hears of it.
    Lost,
    /// It decides so much later.
    Later(Duration),
    /// It decides when the test says so.
    Held,
}

/// Both.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Fate {
    pub(crate) reply: Reply,
    pub(crate) deed: Deed,
}

impl Fate {
    /// What a commit meets that nothing was ordered for.
    pub(crate) const USUAL: Fate = Fate {
        reply: Reply::Truth,
        deed: Deed::Decided,
    };

    /// An order in words: `usual`, an error's number, or `mute`; and behind it `:made`, `:lost` (if nothing is said) or `:held`.
    pub(crate) fn parse(word: &str) -> Option<Fate> {
        let mut parts = word.split(':');
        let reply = match parts.next()? {
            "usual" => return Some(Fate::USUAL),
            "mute" => Reply::None,
            number => Reply::Error(number.parse().ok()?),
        };
        let deed = match parts.next() {
            None | Some("lost") => Deed::Lost,
            Some("made") => Deed::Decided,
            Some("held") => Deed::Held,
            Some(_) => return None,
        };
        Some(Fate { reply, deed })
    }
}

/// Fates by chance, the same for one seed.
#[derive(Clone, Debug)]
pub(crate) struct Chance {
    state: u64,
    percent: u64,
}

impl Chance {
    /// "SEED PERCENT".
    pub(crate) fn parse(text: &str) -> Option<Chance> {
        let (seed, percent) = text.split_once(' ')?;
        Some(Chance {
            state: seed.parse().ok()?,
            percent: percent.parse().ok()?,
        })
    }

    /// A number below another one: Vigna's splitmix64.
    fn below(&mut self, end: u64) -> u64 {
        self.state = self.state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.state;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (mixed ^ (mixed >> 31)) % end
    }

    /// What happens to the next commit.
    pub(crate) fn of_commit(&mut self) -> Fate {
        if self.below(100) >= self.percent {
            return Fate::USUAL;
        }
        let deed = match self.below(3) {
            0 => Deed::Decided,
            1 => Deed::Lost,
            _ => Deed::Later(Duration::from_millis(self.below(20))),
        };
        let (reply, deed) = match self.below(6) {
            0 => (errors::NOT_COMMITTED, Deed::Lost),
            1 => (errors::TRANSACTION_TOO_OLD, Deed::Lost),
            2 => (errors::TRANSACTION_TIMED_OUT, deed),
            3 => (errors::CLUSTER_VERSION_CHANGED, deed),
            _ => (errors::COMMIT_UNKNOWN_RESULT, deed),
        };
        let reply = Reply::Error(reply);
        Fate { reply, deed }
    }

    /// What happens to the next read.
    pub(crate) fn of_read(&mut self) -> Code {
        if self.below(200) >= self.percent {
            return 0;
        }
        let codes = [
            errors::TRANSACTION_TOO_OLD,
            errors::FUTURE_VERSION,
            errors::PROCESS_BEHIND,
        ];
        codes[self.below(codes.len() as u64) as usize]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fates_have_words() {
        let fate = |word| Fate::parse(word).map(|fate| (fate.reply, fate.deed));
        let unknown = Reply::Error(1021);
        assert_eq!(fate("usual"), Some((Reply::Truth, Deed::Decided)));
        assert_eq!(fate("1021:made"), Some((unknown, Deed::Decided)));
        assert_eq!(fate("1021"), Some((unknown, Deed::Lost)));
        assert_eq!(fate("mute:held"), Some((Reply::None, Deed::Held)));
        assert_eq!((fate("x"), fate("1021:x")), (None, None));
    }
}
