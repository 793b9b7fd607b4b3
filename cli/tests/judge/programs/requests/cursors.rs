//! Random cursors: where they are opened, how they move, what they change.

use super::{DEPTH_MAX, Requests};
use crate::programs::literals::{any_key, query, range, value, weighted};
use crate::programs::tree::Step;

impl Requests<'_> {
    pub(super) fn cursor(&mut self) -> Step {
        let (path, _) = self.source();
        let method = self
            .random
            .pick(&["openCursor", "openCursor", "openKeyCursor"]);
        let over = match self.random.below(4) {
            0 | 1 => "undefined".to_owned(),
            2 => range(self.random),
            _ => query(self.random),
        };
        let direction = self.direction();
        let mut moves = Vec::new();
        for _ in 0..self.random.below(6) {
            let mut body = Vec::new();
            for _ in 0..self.random.below(2) {
                body.push(self.change());
            }
            if self.depth + 1 < DEPTH_MAX && self.random.one_in(8) {
                body.extend(self.steps(1));
            }
            body.push(self.move_on());
            if self.random.one_in(15) {
                body.push(self.move_on());
            }
            moves.push(Step::block("(c) => {", body, "},"));
        }
        let onward = self.random.below(3) > 0;
        let head = format!("t.cursor('{path}', '{method}', () => [{over}, {direction}], [");
        Step::block(
            head,
            moves,
            if onward {
                "], { onward: true, error() { t.prevent(); } });"
            } else {
                "]);"
            },
        )
    }

    /// Known difference: Chromium puts generated keys into values when it reads them, also into blobs, dates, maps and other
    /// objects whose own properties are never stored; by the specification they have none. Nor has a clone of them.
    fn change(&mut self) -> Step {
        let head = if self.random.one_in(3) {
            "t.change(c, 'delete', () => [], {".to_owned()
        } else {
            let value = match self.random.one_in(2) {
                true => format!(
                    "{{ ...structuredClone(c.value), x: {} }}",
                    any_key(self.random)
                ),
                false => value(self.random, false),
            };
            format!("t.change(c, 'update', () => [{value}], {{")
        };
        let handlers = self.handlers(false);
        Step::block(head, handlers, "});")
    }

    fn move_on(&mut self) -> Step {
        Step::line(match weighted(self.random, &[50, 15, 15, 15, 5]) {
            0 => "t.move(c, 'continue');".into(),
            1 => format!("t.move(c, 'continue', () => [{}]);", any_key(self.random)),
            2 => {
                let count = self
                    .random
                    .pick(&["1", "2", "3", "7", "0", "-1", "2 ** 32"]);
                format!("t.move(c, 'advance', () => [{count}]);")
            }
            3 => {
                let key = match self.random.one_in(2) {
                    true => "c.key".to_owned(),
                    false => any_key(self.random),
                };
                format!(
                    "t.move(c, 'continuePrimaryKey', () => [{key}, {}]);",
                    any_key(self.random)
                )
            }
            _ => "t.soon(() => t.move(c, 'continue'), 2);".into(),
        })
    }
}
