//! `tm tasks`: a backlog as a whole, checked, repaired, counted, written in another form.

mod check;
mod rewritten;
mod stats;

use super::Perform;
use crate::failure::Result;
use check::TasksCheck;
use rewritten::{TasksConvert, TasksFix};
use stats::TasksStats;

commands! {
    /// What is done with a backlog as a whole.
    TasksCommand {
        /// Tell everything that can't be planned and everything that is odd, and where it stands; exit code 3 when
        /// something can't be planned.
        Check(TasksCheck),
        /// Repair what has one right answer, and say each repair.
        Fix(TasksFix),
        /// Count tasks by status, priority, tag and complexity, and tell how they depend on each other.
        Stats(TasksStats),
        /// Write the backlog in another form: to a `.json` file, a `.yaml` file, or the folder of a Claude Code list.
        Convert(TasksConvert),
    }
}
