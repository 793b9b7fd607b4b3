//! Random programs: phases of openings, upgrades, transactions, contests for a database.
//!
//! What a program does is ordered by the specification, as far as it is logged: one phase's steps are begun in one task, and the
//! next phase comes when all have ended. A guess of the schema is kept, so that most steps hit something; where the guess is
//! wrong, there is an exception to compare.

use super::literals;
use super::requests::Requests;
use super::tree::{Program, Step};
use larder_fixtures::random::Random;

#[derive(Debug, Clone, Default)]
pub(super) struct StoreGuess {
    pub(super) name: String,
    pub(super) auto_increment: bool,
    pub(super) inline: bool,
    pub(super) indexes: Vec<String>,
}

#[derive(Debug, Default)]
struct DatabaseGuess {
    name: &'static str,
    version: u64,
    stores: Vec<StoreGuess>,
    /// Those that should be open.
    connections: Vec<String>,
}

pub(crate) fn program(random: &mut Random) -> Program {
    let mut generator = Generator {
        random,
        databases: ["a", "b"].map(|name| DatabaseGuess {
            name,
            ..DatabaseGuess::default()
        }),
        labels: 0,
        transactions: Vec::new(),
    };
    let mut phases = vec![generator.first()];
    for _ in 0..2 + generator.random.below(5) {
        if generator.random.one_in(3) {
            phases.push(Step::line("await world.task();"));
        }
        let phase = match literals::weighted(generator.random, &[60, 18, 8, 6, 8]) {
            0 => generator.transactions(),
            1 => generator.upgrades(),
            2 => generator.contest(),
            3 => generator.looks(),
            _ => generator.aftermath(),
        };
        phases.push(Step::block("await world.phase(() => {", phase, "});"));
    }
    Program(phases)
}

struct Generator<'r> {
    random: &'r mut Random,
    databases: [DatabaseGuess; 2],
    labels: u64,
    transactions: Vec<String>,
}

impl Generator<'_> {
    fn label(&mut self, letter: char) -> String {
        self.labels += 1;
        format!("{letter}{}", self.labels)
    }

    fn first(&mut self) -> Step {
        let mut steps = vec![self.open(0, 1)];
        if self.random.one_in(3) {
            steps.push(self.open(1, 1));
        }
        Step::block("await world.phase(() => {", steps, "});")
    }

    /// Opens the database in so many versions more; with an upgrade, if there are any.
    fn open(&mut self, database: usize, versions: u64) -> Step {
        let label = self.label('c');
        let guess = &mut self.databases[database];
        let name = guess.name;
        let version = guess.version + versions;
        let asked = match versions {
            0 if self.random.one_in(2) => "undefined".into(),
            _ => version.to_string(),
        };
        let policy = self.random.pick(&["close", "close", "wait", "late"]);
        let body = if versions > 0 || guess.version == 0 {
            guess.version = version.max(1);
            guess.connections.clear();
            self.upgrade(database)
        } else {
            Vec::new()
        };
        self.databases[database].connections.push(label.clone());
        Step::block(
            format!("world.open('{label}', '{name}', {asked}, (t) => {{"),
            body,
            match policy {
                "close" => "}, 'close');",
                "wait" => "}, 'wait');",
                _ => "}, 'late');",
            },
        )
    }

    fn upgrade(&mut self, database: usize) -> Vec<Step> {
        let before = self.databases[database].stores.clone();
        let mut steps = Vec::new();
        if self.random.one_in(3) {
            steps.push(Step::line("t.describe();"));
        }
        let count = if before.is_empty() { 4 } else { 1 } + self.random.below(5);
        for _ in 0..count {
            let stores = &mut self.databases[database].stores;
            let schema = Requests::new(self.random, stores, true, &mut self.labels);
            steps.extend(schema.upgrade_step());
        }
        if self.random.one_in(2) {
            steps.push(Step::line("t.describe();"));
        }
        if self.random.one_in(12) {
            let fault = self.random.pick(&[
                "t.abort();",
                "t.throw();",
                "t.transaction.db.close();",
                "t.commit();",
                "t.soon(() => t.abort());",
            ]);
            steps.push(Step::line(fault));
            // Most of them undo it all.
            self.databases[database].stores = before;
        }
        steps
    }

    fn upgrades(&mut self) -> Vec<Step> {
        let database = usize::from(self.random.one_in(4));
        let versions = 1 + u64::from(self.random.one_in(5));
        vec![self.open(database, versions)]
    }

    /// Several requests for one database at once, while connections are open.
    fn contest(&mut self) -> Vec<Step> {
        let database = usize::from(self.random.one_in(4));
        let mut steps = Vec::new();
        for _ in 0..1 + self.random.below(4) {
            match literals::weighted(self.random, &[30, 25, 20, 10, 15]) {
                0 => steps.push(self.open(database, 0)),
                1 => steps.push(self.open(database, 1)),
                2 => {
                    let label = self.label('d');
                    let guess = &mut self.databases[database];
                    steps.push(Step::line(format!(
                        "world.remove('{label}', '{}');",
                        guess.name
                    )));
                    (guess.version, guess.stores) = (0, Vec::new());
                    guess.connections.clear();
                }
                3 => {
                    let label = self.label('c');
                    let version = self
                        .random
                        .pick(&["1", "0", "-1", "2 ** 53", "1.9", "NaN", "'x'", "null"]);
                    let name = self.databases[database].name;
                    steps.push(Step::line(format!(
                        "world.open('{label}', '{name}', {version}, (t) => t.describe());"
                    )));
                }
                _ => {
                    if let Some(label) = self.databases[database].connections.pop() {
                        steps.push(Step::line(format!("world.close('{label}');")));
                    }
                }
            }
        }
        steps
    }

    fn transactions(&mut self) -> Vec<Step> {
        let count = 1 + self.random.below(4);
        let mut steps = Vec::new();
        for _ in 0..count {
            let second = self.random.one_in(5);
            let Some(step) = self.transaction(usize::from(second), count == 1) else {
                steps.push(self.open(usize::from(second), 0));
                continue;
            };
            steps.push(step);
        }
        steps
    }

    fn transaction(&mut self, database: usize, may_nest: bool) -> Option<Step> {
        let guess = &self.databases[database];
        let connections = guess.connections.clone();
        let connection = match connections.is_empty() {
            true => return None,
            false => self.random.pick(&connections),
        };
        let label = self.label('t');
        let intruded = self.transactions.last().cloned();
        let stores = &mut self.databases[database].stores;
        let mut requests = Requests::new(self.random, stores, false, &mut self.labels);
        requests.nests_on = may_nest.then_some(connection.clone());
        requests.intruded = intruded;
        let step = requests.transaction("world", &label, &connection);
        self.transactions.push(label);
        Some(step)
    }

    fn looks(&mut self) -> Vec<Step> {
        let mut steps = Vec::new();
        for _ in 0..1 + self.random.below(6) {
            let (first, second) = (
                literals::any_key(self.random),
                literals::any_key(self.random),
            );
            steps.push(Step::line(match self.random.below(4) {
                0 => format!("world.look(() => indexedDB.cmp({first}, {second}));"),
                1 => format!("world.look(() => {});", literals::range(self.random)),
                2 => {
                    let range = literals::range(self.random);
                    format!("world.look(() => {range}.includes({first}));")
                }
                _ => "world.databases();".into(),
            }));
        }
        steps
    }

    /// What is left of earlier transactions.
    fn aftermath(&mut self) -> Vec<Step> {
        let labels = self.transactions.clone();
        let mut steps = Vec::new();
        if !labels.is_empty() {
            let label = self.random.pick(&labels);
            steps.push(Step::line(format!("world.stale('{label}');")));
        }
        if self.random.one_in(2) {
            let connections = self.databases[0].connections.clone();
            if let Some(label) = connections.first() {
                steps.push(Step::line(format!("world.close('{label}');")));
                steps.extend(self.transaction(0, false));
            }
        }
        steps
    }
}
