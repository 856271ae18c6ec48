//! What is known of trees that were measured, as much of it as is kept.

use crate::Turn;
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};
use tm_scheduler::TestReport;
use tokio::sync::OnceCell;

/// So much is kept, in bytes; beyond it, what nobody asked about for longest goes until half of that is left, and is measured
/// anew where it is wanted.
const KEPT_BYTES: usize = 256 * 1024 * 1024;

/// What is known of a tree, or about to be, and when it is its turn to be measured.
#[derive(Debug)]
pub(super) struct MeasuredTree {
    pub(super) report: OnceCell<TestReport>,
    pub(super) turn: Turn,
    /// When somebody last asked, counted in asks.
    asked: AtomicU64,
    /// How much the report takes, once that is counted.
    bytes: OnceLock<usize>,
}

/// All of it, by tree and command.
#[derive(Debug, Default)]
pub(super) struct MeasuredTrees {
    by_tree: BTreeMap<String, Arc<MeasuredTree>>,
    asks: u64,
    /// How much the reports take.
    bytes: usize,
}

impl MeasuredTree {
    fn new(turn: Turn) -> Self {
        Self {
            report: OnceCell::new(),
            turn,
            asked: AtomicU64::new(0),
            bytes: OnceLock::new(),
        }
    }
}

impl MeasuredTrees {
    /// Returns what is known by a name, nothing yet where nobody has asked.
    pub(super) fn get(&mut self, name: String, turn: impl FnOnce() -> Turn) -> Arc<MeasuredTree> {
        let new = || Arc::new(MeasuredTree::new(turn()));
        let measured = Arc::clone(self.by_tree.entry(name).or_insert_with(new));
        self.asks += 1;
        measured.asked.store(self.asks, Ordering::Relaxed);
        measured
    }

    /// Counts what is known by now, and forgets what is too much.
    pub(super) fn count(&mut self, measured: &MeasuredTree) {
        self.count_up_to(measured, KEPT_BYTES);
    }

    fn count_up_to(&mut self, measured: &MeasuredTree, most: usize) {
        let Some(report) = measured.report.get() else {
            return;
        };
        let mut is_new = false;
        let bytes = *measured.bytes.get_or_init(|| {
            is_new = true;
            bytes_of(report)
        });
        if is_new {
            self.bytes += bytes;
            if self.bytes > most {
                self.forget_until(most / 2);
            }
        }
    }

    fn forget_until(&mut self, most: usize) {
        let counted = self.by_tree.iter().filter_map(|(name, measured)| {
            let bytes = *measured.bytes.get()?;
            Some((measured.asked.load(Ordering::Relaxed), name.clone(), bytes))
        });
        let mut counted: Vec<(u64, String, usize)> = counted.collect();
        counted.sort_unstable();
        for (_, name, bytes) in counted {
            if self.bytes <= most {
                return;
            }
            self.by_tree.remove(&name);
            self.bytes -= bytes;
        }
    }
}

/// About how much a report takes.
fn bytes_of(report: &TestReport) -> usize {
    let names = report.tests.keys().map(|name| name.len() + 64);
    let messages = report.messages.values().map(String::len);
    names.chain(messages).sum()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::test_queue::Urgency;
    use tm_scheduler::{CommandEnd, TestOutcome};

    fn report(names: usize) -> TestReport {
        let mut report = TestReport::without_results(CommandEnd::Exited(Some(0)));
        let name = |number| (format!("{number:036}"), TestOutcome::Passed);
        report.tests = (0..names).map(name).collect();
        report
    }

    #[test]
    fn what_nobody_asked_about_for_longest_is_forgotten_and_nothing_under_way() {
        let mut all = MeasuredTrees::default();
        let turn = || Turn::new(Urgency::Ahead);
        all.get("under way".to_owned(), turn);
        let mut left = |names: &[&str]| {
            for name in names {
                let measured = all.get((*name).to_owned(), turn);
                let _already_known = measured.report.set(report(5));
                all.count_up_to(&measured, 1_200);
            }
            all.by_tree.keys().cloned().collect::<Vec<_>>().join(", ")
        };
        assert_eq!(
            left(&["a", "b", "a"]),
            "a, b, under way",
            "each is counted once"
        );
        assert_eq!(left(&["c"]), "c, under way");
        assert_eq!(left(&["b"]), "b, c, under way");
    }
}
