//! Random programs.

use super::action::{Action, Give, On, Pick, Read};
use super::data;
use crate::naive::{Mode, What};
use larder_fixtures::random::Random;

/// What a program is mostly about.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Flavour {
    Records,
    Cursors,
    Schema,
    Connections,
    Transactions,
}

const FLAVOURS: [Flavour; 5] = [
    Flavour::Records,
    Flavour::Cursors,
    Flavour::Schema,
    Flavour::Connections,
    Flavour::Transactions,
];

/// The program of a seed: a database with a few stores is made first, then anything goes.
pub(crate) fn program(seed: u64) -> Vec<Action> {
    let mut random = Random::new(seed);
    let flavour = *random.of(&FLAVOURS);
    let mut actions = Vec::new();
    upgrade(&mut random, 0, Some(1), true, &mut actions);
    let count = 40 + random.index(80);
    while actions.len() < count {
        match random.one_in(3) && !matches!(flavour, Flavour::Connections) {
            true => block(&mut random, flavour, &mut actions),
            false => step(&mut random, flavour, &mut actions),
        }
    }
    actions
}

fn pick(random: &mut Random) -> Pick {
    // Later things are more interesting than the first of all.
    Pick(random.next() as u8)
}

fn on(random: &mut Random) -> On {
    On {
        transaction: pick(random),
        store: pick(random),
        index: random.one_in(3).then(|| pick(random)),
        is_old: random.one_in(20),
    }
}

/// A transaction from begin to end, with little else in between.
fn block(random: &mut Random, flavour: Flavour, out: &mut Vec<Action>) {
    out.push(begin(random));
    for _ in 0..2 + random.index(10) {
        let choice = match flavour {
            Flavour::Cursors => random.index(9),
            _ => random.index(6),
        };
        out.push(match choice {
            0 if random.one_in(3) => delete_or_many(random),
            0..3 => put(random),
            3 | 4 => read(random),
            5 => observe(random),
            _ => cursor(random),
        });
    }
    if !random.one_in(4) {
        out.push(finish(random));
    }
}

fn observe(random: &mut Random) -> Action {
    Action::Observe {
        request: pick(random),
    }
}

fn upgrade(
    random: &mut Random,
    database: usize,
    version: Option<u64>,
    is_first: bool,
    out: &mut Vec<Action>,
) {
    let polite = !random.one_in(3);
    out.push(Action::Open {
        database,
        version,
        polite,
    });
    let (changes, puts) = if is_first { (6, 12) } else { (3, 6) };
    for _ in 0..1 + random.index(changes) {
        schema(random, true, out);
    }
    for _ in 0..random.index(puts) {
        out.push(put(random));
    }
    if random.one_in(2) {
        schema(random, true, out);
    }
    // Of the newest transaction, which 255 is not: picks are modulo what there is, so this ends all that live.
    let transaction = pick(random);
    out.push(match random.one_in(8) && !is_first {
        true => Action::Abort {
            transaction,
            with_error: random.one_in(2),
        },
        false => Action::Commit { transaction },
    });
    out.push(Action::Settle);
}

fn schema(random: &mut Random, is_growing: bool, out: &mut Vec<Action>) {
    let name = random.index(3);
    let choice = if is_growing {
        random.index(6)
    } else {
        random.index(12)
    };
    match choice {
        0..3 => {
            let key_path = data::store_key_path(random);
            out.push(Action::CreateStore {
                transaction: pick(random),
                name,
                key_path,
                auto_increment: random.one_in(2),
            });
        }
        3..6 => out.push(Action::CreateIndex {
            on: on(random),
            name,
            key_path: data::key_path(random),
            unique: random.one_in(3),
            multi_entry: random.one_in(3),
        }),
        6 | 7 => out.push(Action::DeleteStore {
            transaction: pick(random),
            name,
        }),
        8 => out.push(Action::RenameStore {
            on: on(random),
            name: random.index(5),
        }),
        9 => out.push(Action::DeleteIndex {
            on: on(random),
            name,
        }),
        _ => out.push(Action::RenameIndex {
            on: on(random),
            name: random.index(5),
        }),
    }
}

fn put(random: &mut Random) -> Action {
    Action::Put {
        on: on(random),
        value: data::value(random),
        key: data::key(random),
        give: match random.index(12) {
            0 => Give::Always,
            1 => Give::Never,
            _ => Give::Fit,
        },
        no_overwrite: random.one_in(4),
        watched: random.one_in(3),
    }
}

fn read(random: &mut Random) -> Action {
    let range = data::range(random);
    let what = *random.of(&[What::Keys, What::Values, What::Records]);
    let read = match random.index(9) {
        8 => Read::Pages {
            range,
            direction: data::direction(random),
            len: 1 + random.index(3) as u32,
        },
        0..2 => Read::Get {
            range,
            what: *random.of(&[What::Keys, What::Values]),
        },
        2 => Read::Count { range },
        3 => Read::GetMany {
            ranges: (0..random.index(4)).map(|_| data::range(random)).collect(),
        },
        _ => Read::GetAll {
            range,
            direction: data::direction(random),
            count: random.index(4) as u32 * random.index(3) as u32,
            what,
        },
    };
    Action::Read {
        on: on(random),
        read,
        watched: random.one_in(3),
    }
}

fn cursor(random: &mut Random) -> Action {
    let cursor = pick(random);
    match random.index(14) {
        0..3 => Action::OpenCursor {
            on: on(random),
            range: match random.one_in(2) {
                true => data::range(random),
                false => crate::naive::Range::default(),
            },
            direction: data::direction(random),
            key_only: random.one_in(4),
        },
        3..8 => Action::Continue {
            cursor,
            key: random.one_in(4).then(|| data::key(random)),
        },
        8 => Action::ContinuePrimaryKey {
            cursor,
            key: data::key(random),
            primary_key: data::key(random),
        },
        9 => Action::Advance {
            cursor,
            count: random.index(4) as u32,
        },
        10 | 11 => Action::Update {
            cursor,
            value: data::value(random),
            watched: random.one_in(3),
        },
        _ => Action::DeleteAt {
            cursor,
            watched: random.one_in(3),
        },
    }
}

fn begin(random: &mut Random) -> Action {
    let stores = match random.index(12) {
        0 => Vec::new(),
        1..7 => vec![random.index(3)],
        7..11 => vec![random.index(3), random.index(3)],
        _ => vec![random.index(5)],
    };
    Action::Begin {
        connection: pick(random),
        stores,
        mode: match random.one_in(3) {
            true => Mode::ReadOnly,
            false => Mode::ReadWrite,
        },
        strict: random.one_in(3),
    }
}

fn finish(random: &mut Random) -> Action {
    let transaction = pick(random);
    match random.index(8) {
        0 => Action::Abort {
            transaction,
            with_error: random.one_in(2),
        },
        1 => Action::DropTransaction { transaction },
        2 => Action::CommitIfIdle { transaction },
        _ => Action::Commit { transaction },
    }
}

fn connection(random: &mut Random, out: &mut Vec<Action>) {
    let database = random.index(2);
    let versions = [
        None,
        None,
        Some(1),
        Some(2),
        Some(3),
        Some(5),
        Some(0),
        Some(1 << 53),
    ];
    match random.index(12) {
        0..4 => out.push(Action::Open {
            database,
            version: *random.of(&versions),
            polite: random.one_in(2),
        }),
        4..6 => {
            let version = Some(1 + random.index(6) as u64);
            upgrade(random, database, version, false, out);
        }
        6 => out.push(Action::DeleteDatabase { database }),
        7 => out.push(Action::Databases),
        8 | 9 => out.push(Action::Close {
            connection: pick(random),
        }),
        10 => out.push(Action::DropConnection {
            connection: pick(random),
        }),
        _ if random.one_in(3) => out.push(Action::Restart),
        _ => out.push(Action::ForceClose {
            database: random.one_in(2).then_some(database),
        }),
    }
}

fn step(random: &mut Random, flavour: Flavour, out: &mut Vec<Action>) {
    // Weights of: records, reads, cursors, schema, connections, transactions begun, ended.
    let weights: [usize; 7] = match flavour {
        Flavour::Records => [10, 6, 3, 0, 1, 3, 2],
        Flavour::Cursors => [5, 1, 14, 0, 0, 3, 1],
        Flavour::Schema => [4, 2, 2, 6, 4, 2, 2],
        Flavour::Connections => [3, 1, 1, 1, 8, 3, 3],
        Flavour::Transactions => [8, 4, 2, 0, 1, 7, 5],
    };
    let mut at = random.index(weights.iter().sum::<usize>() + 4);
    let chosen = weights
        .iter()
        .position(|weight| match at.checked_sub(*weight) {
            Some(rest) => {
                at = rest;
                false
            }
            None => true,
        });
    match chosen {
        Some(0) if random.one_in(6) => out.push(delete_or_many(random)),
        Some(0) => out.push(put(random)),
        Some(1) => out.push(read(random)),
        Some(2) => out.push(cursor(random)),
        Some(3) => schema(random, false, out),
        Some(4) => connection(random, out),
        Some(5) => out.push(begin(random)),
        Some(6) => out.push(finish(random)),
        _ => out.push(match random.index(8) {
            0..4 => observe(random),
            4 => Action::DropRequest {
                request: pick(random),
            },
            5 => Action::Settle,
            _ => Action::Run {
                steps: random.index(6),
            },
        }),
    }
}

fn delete_or_many(random: &mut Random) -> Action {
    match random.index(6) {
        0 => Action::Delete {
            on: on(random),
            range: None,
            watched: false,
        },
        1 | 2 => Action::PutMany {
            on: on(random),
            records: (0..1 + random.index(3))
                .map(|_| (data::object(random), data::key(random)))
                .collect(),
            give: Give::Fit,
        },
        _ => Action::Delete {
            on: on(random),
            range: Some(data::range(random)),
            watched: random.one_in(3),
        },
    }
}
