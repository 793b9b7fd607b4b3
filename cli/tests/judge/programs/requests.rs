//! Random steps of a transaction: requests and what their handlers do; cursors and changes of the schema beside this file.

mod cursors;
mod schema;

use super::generate::StoreGuess;
use super::literals::{any_key, query, value, weighted};
use super::tree::Step;
use larder_fixtures::random::Random;

/// Handlers nest so deep.
const DEPTH_MAX: u32 = 3;

pub(super) struct Requests<'a> {
    random: &'a mut Random,
    /// The object stores of the database, or of a transaction's scope when there is one.
    stores: &'a mut Vec<StoreGuess>,
    is_upgrade: bool,
    labels: &'a mut u64,
    depth: u32,
    /// The connection on which handlers may begin further transactions.
    pub(super) nests_on: Option<String>,
    /// An earlier transaction, which is ended or not active.
    pub(super) intruded: Option<String>,
}

impl<'a> Requests<'a> {
    pub(super) fn new(
        random: &'a mut Random,
        stores: &'a mut Vec<StoreGuess>,
        is_upgrade: bool,
        labels: &'a mut u64,
    ) -> Self {
        Self {
            random,
            stores,
            is_upgrade,
            labels,
            depth: 0,
            nests_on: None,
            intruded: None,
        }
    }

    /// A transaction of one world of the program, with its first requests.
    pub(super) fn transaction(mut self, who: &str, label: &str, connection: &str) -> Step {
        let mut names: Vec<String> = Vec::new();
        for store in self.stores.iter() {
            if self.random.below(3) > 0 {
                names.push(format!("'{}'", store.name));
            }
        }
        if self.random.one_in(20) {
            names.push(self.random.pick(&["'gone'", "'s'", "null"]).into());
        }
        let mode = self.random.pick(&[
            "readwrite",
            "readwrite",
            "readwrite",
            "readonly",
            "readonly",
        ]);
        let mode = if self.random.one_in(40) {
            "versionchange"
        } else {
            mode
        };
        let options = self.random.pick(&[
            "undefined",
            "{}",
            "{ durability: 'strict' }",
            "{ durability: 'relaxed' }",
        ]);
        let mut scope = self.stores.clone();
        scope.retain(|store| names.contains(&format!("'{}'", store.name)));
        let head = format!(
            "{who}.begin('{label}', '{connection}', [{}], '{mode}', {options}, (t) => {{",
            names.join(", ")
        );
        let mut inner = Requests {
            stores: &mut scope,
            random: self.random,
            labels: self.labels,
            nests_on: self.nests_on.take(),
            intruded: self.intruded.take(),
            ..self
        };
        let mut body = Vec::new();
        if inner.random.one_in(3) {
            body.push(inner.listen());
        }
        for _ in 0..1 + inner.random.below(7) {
            body.extend(inner.step());
        }
        Step::block(head, body, "});")
    }

    /// What a handler does, or the first function of a transaction.
    fn steps(&mut self, most: u64) -> Vec<Step> {
        self.depth += 1;
        let mut steps = Vec::new();
        for _ in 0..self.random.below(most + 1) {
            steps.extend(self.step());
        }
        self.depth -= 1;
        steps
    }

    fn step(&mut self) -> Option<Step> {
        if self.is_upgrade && self.random.one_in(4) {
            return self.schema();
        }
        Some(match weighted(self.random, &[64, 18, 6, 5, 7]) {
            0 => self.ask(),
            1 => self.cursor(),
            2 => {
                let hops = 1 + self.random.below(3);
                let body = self.steps(if self.depth < DEPTH_MAX { 2 } else { 0 });
                let tail = ["}, 1);", "}, 2);", "}, 3);"][hops as usize - 1];
                Step::block("t.soon(() => {", body, tail)
            }
            3 => return self.act(),
            _ => return self.further(),
        })
    }

    /// Something with the transaction itself.
    fn act(&mut self) -> Option<Step> {
        Some(match weighted(self.random, &[12, 25, 8, 25, 20, 10]) {
            0 => Step::line("t.abort();"),
            1 => Step::line("t.commit();"),
            2 => Step::line("t.throw();"),
            3 => self.listen(),
            4 => {
                let (source, _) = self.source();
                let method = self
                    .random
                    .pick(&["get", "put", "count", "openCursor", "clear"]);
                let key = any_key(self.random);
                Step::line(format!("t.later('{source}', '{method}', () => [{key}]);"))
            }
            _ => Step::line("t.describe();"),
        })
    }

    /// Something with other transactions.
    fn further(&mut self) -> Option<Step> {
        if self.depth > 0 && self.random.one_in(2) {
            let connection = self.nests_on.take()?;
            *self.labels += 1;
            let label = format!("n{}", self.labels);
            let requests = Requests::new(self.random, self.stores, false, self.labels);
            let step = requests.transaction("t", &label, &connection);
            self.nests_on = Some(connection);
            return Some(step);
        }
        let label = self.intruded.clone()?;
        let (source, _) = self.source();
        let method = self.random.pick(&["get", "put", "count"]);
        let key = any_key(self.random);
        Some(Step::line(format!(
            "t.intrude('{label}', '{source}', '{method}', () => [{key}]);"
        )))
    }

    fn listen(&mut self) -> Step {
        let place = self
            .random
            .pick(&["transaction", "transaction", "database"]);
        let event = self
            .random
            .pick(&["error", "error", "success", "complete", "abort"]);
        let capture = self.random.one_in(2);
        let mut body = Vec::new();
        if self.random.one_in(2) && place == "transaction" {
            body.push(Step::line(self.event_step()));
        }
        Step::block(
            format!("t.listen('{place}', '{event}', {capture}, () => {{"),
            body,
            "});",
        )
    }

    /// Something with the event that is being dispatched.
    fn event_step(&mut self) -> &'static str {
        self.random.pick(&[
            "t.prevent();",
            "t.prevent();",
            "t.stop();",
            "t.stop(true);",
            "t.throw();",
        ])
    }

    /// An object store or an index: its path, and its store.
    fn source(&mut self) -> (String, StoreGuess) {
        if self.stores.is_empty() || self.random.one_in(60) {
            return (
                self.random.pick(&["s", "gone", "s.gone"]).into(),
                StoreGuess::default(),
            );
        }
        let store = self.random.pick(self.stores);
        if store.indexes.is_empty() || self.random.one_in(2) {
            return (store.name.clone(), store);
        }
        let index = self.random.pick(&store.indexes);
        (format!("{}.{index}", store.name), store)
    }

    fn ask(&mut self) -> Step {
        let (mut path, store) = self.source();
        let mut arguments = String::new();
        let method = match weighted(self.random, &[40, 14, 8, 2, 10, 5, 8, 5, 6, 6]) {
            n @ 0..4 => {
                path = path.split('.').next().unwrap_or_default().to_owned();
                match n {
                    3 => "clear",
                    2 => {
                        arguments = query(self.random);
                        "delete"
                    }
                    _ => {
                        let without_id = store.auto_increment && self.random.below(3) > 0;
                        arguments = value(self.random, without_id);
                        let wants_key = !store.inline && !store.auto_increment;
                        if wants_key ^ self.random.one_in(12) {
                            arguments += &format!(", {}", any_key(self.random));
                        }
                        if n == 0 { "put" } else { "add" }
                    }
                }
            }
            4 => {
                arguments = query(self.random);
                "get"
            }
            5 => {
                arguments = query(self.random);
                "getKey"
            }
            9 => {
                arguments = query(self.random);
                "count"
            }
            n => {
                arguments = self.many(n == 8);
                ["getAll", "getAllKeys", "getAllRecords"][n - 6]
            }
        };
        let head = format!("t.ask('{path}', '{method}', () => [{arguments}], {{");
        let handlers = self.handlers(true);
        Step::block(head, handlers, "});")
    }

    /// The arguments of `getAll` and its kin.
    fn many(&mut self, only_options: bool) -> String {
        let count =
            self.random
                .pick(&["1", "2", "3", "0", "undefined", "2 ** 32 - 1", "-1", "1.5"]);
        if only_options || self.random.one_in(2) {
            let direction = self.direction();
            let query = if self.random.one_in(2) {
                format!("query: {}, ", query(self.random))
            } else {
                String::new()
            };
            let count = if self.random.one_in(2) {
                format!("count: {count}, ")
            } else {
                String::new()
            };
            return format!("{{ {query}{count}direction: {direction} }}");
        }
        match self.random.below(3) {
            0 => String::new(),
            1 => query(self.random),
            _ => format!("{}, {count}", query(self.random)),
        }
    }

    fn direction(&mut self) -> &'static str {
        if self.random.one_in(40) {
            return "'sideways'";
        }
        self.random.pick(&[
            "'next'",
            "'nextunique'",
            "'prev'",
            "'prevunique'",
            "undefined",
        ])
    }

    fn handlers(&mut self, with_success: bool) -> Vec<Step> {
        let mut handlers = Vec::new();
        let depth_left = self.depth < DEPTH_MAX;
        if with_success && depth_left && self.random.one_in(3) {
            let mut body = self.steps(2);
            if self.random.one_in(25) {
                body.push(Step::line(self.event_step()));
            }
            handlers.push(Step::block("success() {", body, "},"));
        }
        if self.random.below(5) > 0 {
            let mut body = Vec::new();
            if self.random.below(8) > 0 {
                body.push(Step::line("t.prevent();"));
            }
            if self.random.one_in(12) {
                body.push(Step::line(self.event_step()));
            }
            if depth_left && self.random.one_in(4) {
                body.extend(self.steps(1));
            }
            handlers.push(Step::block("error() {", body, "},"));
        }
        handlers
    }
}
