//! Programs as trees of lines, so that a failing one can be made smaller: any line can be left out with what is inside it.

use std::collections::BTreeSet;

/// A line of a program, with the lines inside it.
#[derive(Debug, Clone)]
pub(crate) struct Step {
    head: String,
    body: Vec<Step>,
    /// What closes it; empty for a line with nothing inside.
    tail: &'static str,
}

impl Step {
    pub(crate) fn line(text: impl Into<String>) -> Step {
        Step::block(text, Vec::new(), "")
    }

    pub(crate) fn block(head: impl Into<String>, body: Vec<Step>, tail: &'static str) -> Step {
        Step {
            head: head.into(),
            body,
            tail,
        }
    }

    fn print(&self, depth: usize, out: &mut String) {
        let indent = "  ".repeat(depth);
        out.push_str(&indent);
        out.push_str(&self.head);
        if !self.body.is_empty() {
            out.push('\n');
            self.body.iter().for_each(|step| step.print(depth + 1, out));
            out.push_str(&indent);
        }
        out.push_str(self.tail);
        out.push('\n');
    }

    fn count(&self) -> usize {
        1 + self.body.iter().map(Step::count).sum::<usize>()
    }
}

/// A program: the body of an async function of `world`.
#[derive(Debug, Clone)]
pub(crate) struct Program(pub(crate) Vec<Step>);

impl Program {
    pub(crate) fn source(&self) -> String {
        let mut out = String::new();
        self.0.iter().for_each(|step| step.print(0, &mut out));
        out
    }

    /// The program without the steps of these numbers, counted in reading order.
    fn without(&self, left_out: &BTreeSet<usize>) -> Program {
        fn kept(steps: &[Step], left_out: &BTreeSet<usize>, next: &mut usize) -> Vec<Step> {
            let mut out = Vec::new();
            for step in steps {
                let number = *next;
                if left_out.contains(&number) {
                    *next += step.count();
                    continue;
                }
                *next += 1;
                let body = kept(&step.body, left_out, next);
                out.push(Step {
                    body,
                    ..step.clone()
                });
            }
            out
        }
        Program(kept(&self.0, left_out, &mut 0))
    }

    fn count(&self) -> usize {
        self.0.iter().map(Step::count).sum()
    }

    /// A smaller program for which `fails` still holds; it is asked about many programs at once.
    pub(crate) fn shrunk(mut self, fails: impl Fn(&[Program]) -> Vec<bool>) -> Program {
        loop {
            let singles: Vec<BTreeSet<usize>> = (0..self.count()).map(|n| [n].into()).collect();
            let removable = self.failing(&singles, &fails);
            // Many at once, if they do not need each other.
            let mut sum = BTreeSet::new();
            let sums: Vec<BTreeSet<usize>> = removable
                .iter()
                .map(|n| {
                    sum.extend(&singles[*n]);
                    sum.clone()
                })
                .collect();
            let Some(most) = self.failing(&sums, &fails).pop() else {
                return self;
            };
            self = self.without(&sums[most]);
        }
    }

    fn failing(
        &self,
        removals: &[BTreeSet<usize>],
        fails: impl Fn(&[Program]) -> Vec<bool>,
    ) -> Vec<usize> {
        let programs: Vec<Program> = removals.iter().map(|one| self.without(one)).collect();
        let failed = fails(&programs).into_iter().enumerate();
        failed
            .filter_map(|(n, failed)| failed.then_some(n))
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sample() -> Program {
        let inner = |name: &str| {
            Step::block(
                format!("{name} {{"),
                vec![Step::line("x"), Step::line("y")],
                "}",
            )
        };
        Program(vec![Step::line("first"), inner("a"), inner("b")])
    }

    #[test]
    fn a_step_is_left_out_with_what_is_inside_it() {
        assert_eq!(
            sample().without(&[1, 5].into()).source(),
            "first\nb {\n  y\n}\n"
        );
    }

    #[test]
    fn shrinking_leaves_what_the_failure_needs_and_nothing_else() {
        let small = sample().shrunk(|programs| {
            let needs = |program: &Program| {
                let source = program.source();
                source.contains("first") && source.contains("b {\n") && source.contains("  y\n")
            };
            programs.iter().map(needs).collect()
        });
        assert_eq!(small.source(), "first\nb {\n  y\n}\n");
    }
}
