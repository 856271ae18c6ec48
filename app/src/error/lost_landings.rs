//! Work that landed and whose commits are not in the repository any more.

use std::collections::BTreeSet;
use std::fmt;
use tm_scheduler::{BranchName, CommitId, TaskId, quoted};

/// Landed work whose commits are gone, and what there is of it still.
#[derive(Clone, Debug)]
pub struct LostLandings {
    /// The integration branch.
    pub branch: BranchName,
    /// The newest merge that is gone.
    pub gone: CommitId,
    /// The branches of tasks that hold proven work, in the order in which they were proven.
    pub kept: Vec<BranchName>,
    /// Those of them that together hold everything.
    pub needed: Vec<BranchName>,
    /// The tasks of which there was proven work.
    pub ids: BTreeSet<TaskId>,
}

impl fmt::Display for LostLandings {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            branch, gone, kept, ..
        } = self;
        write!(
            formatter,
            "go on with the integration branch `{branch}`: the commit `{gone}`, where work of this run landed, is not in \
             the repository any more; "
        )?;
        match quoted(kept) {
            none if none.is_empty() => {
                formatter.write_str("no branch of a task holds proven work any more")
            }
            names => write!(formatter, "the proven work is still on {names}"),
        }
    }
}
