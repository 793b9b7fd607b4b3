//! Programs: lists of actions, random from a seed, that can be cut down to what still fails.

mod action;
mod data;
mod generate;

pub(crate) use action::{Action, Give, On, Pick, Read};
pub(crate) use generate::program;

/// Drops actions as long as `fails` says that the rest still fails: halves first, then quarters, then one by one. At most
/// `tries` times, since some failures take long.
pub(crate) fn shrink(
    mut actions: Vec<Action>,
    mut tries: usize,
    fails: impl Fn(&[Action]) -> bool,
) -> Vec<Action> {
    let mut len = actions.len() / 2;
    while len > 0 {
        let mut at = 0;
        while at < actions.len() {
            if tries == 0 {
                return actions;
            }
            tries -= 1;
            let mut fewer = actions.clone();
            fewer.drain(at..(at + len).min(actions.len()));
            if fails(&fewer) {
                actions = fewer;
            } else {
                at += len;
            }
        }
        len /= 2;
    }
    actions
}
