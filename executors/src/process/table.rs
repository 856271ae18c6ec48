//! The processes of this machine at one moment, and who descends from whom.
//!
//! Does not know how the operating system tells; that is `system`.

use super::ProcessIdentity;
use std::collections::{BTreeMap, BTreeSet};

/// What is known about one process.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) struct Process {
    pub(super) identity: ProcessIdentity,
    pub(super) parent: u32,
    pub(super) group: u32,
    pub(super) session: u32,
    pub(super) state: ProcessState,
    /// As many as it had when it was read.
    pub(super) threads: u32,
}

/// Whether a process still does anything.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum ProcessState {
    /// It runs, sleeps or is stopped.
    Running,
    /// It ended, and its parent has not asked how.
    Ended,
}

impl Process {
    pub(super) fn is_running(&self) -> bool {
        self.state == ProcessState::Running
    }
}

/// All processes by number, with who belongs to whom.
#[derive(Debug, Default)]
pub(super) struct ProcessTable {
    processes: BTreeMap<u32, Process>,
    children: BTreeMap<u32, Vec<u32>>,
    same_group: BTreeMap<u32, Vec<u32>>,
}

impl FromIterator<Process> for ProcessTable {
    fn from_iter<Processes: IntoIterator<Item = Process>>(processes: Processes) -> Self {
        let mut table = Self::default();
        for process in processes {
            let pid = process.identity.pid;
            table.children.entry(process.parent).or_default().push(pid);
            for leader in BTreeSet::from([process.group, process.session]) {
                table.same_group.entry(leader).or_default().push(pid);
            }
            table.processes.insert(pid, process);
        }
        table
    }
}

impl ProcessTable {
    pub(super) fn get(&self, pid: u32) -> Option<&Process> {
        self.processes.get(&pid)
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = &Process> {
        self.processes.values()
    }

    /// Tells whether exactly this process is in the table, ended or not.
    pub(super) fn holds(&self, identity: ProcessIdentity) -> bool {
        self.get(identity.pid)
            .is_some_and(|process| process.identity == identity)
    }

    /// Returns the processes whose parent is this one.
    pub(super) fn children(&self, parent: u32) -> impl Iterator<Item = &Process> {
        self.listed(&self.children, parent)
    }

    /// Returns the processes in the group or the session that this one leads or led.
    pub(super) fn same_group(&self, leader: u32) -> impl Iterator<Item = &Process> {
        self.listed(&self.same_group, leader)
    }

    fn listed<'a>(
        &'a self,
        lists: &'a BTreeMap<u32, Vec<u32>>,
        below: u32,
    ) -> impl Iterator<Item = &'a Process> {
        lists
            .get(&below)
            .into_iter()
            .flatten()
            .filter_map(|pid| self.get(*pid))
    }

    /// Adds all descendants of `roots` to them.
    ///
    /// A child that is older than its parent is not its child: the number of a dead parent went to somebody else.
    pub(super) fn with_descendants(&self, roots: BTreeSet<u32>) -> BTreeSet<u32> {
        let mut open: Vec<u32> = roots.iter().copied().collect();
        let mut all = roots;
        while let Some(pid) = open.pop() {
            let started_at = self.get(pid).map_or(0, |parent| parent.identity.start_time);
            for child in self
                .children(pid)
                .filter(|child| child.identity.start_time >= started_at)
            {
                if all.insert(child.identity.pid) {
                    open.push(child.identity.pid);
                }
            }
        }
        all
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn process(pid: u32, parent: u32, start_time: u64) -> Process {
        let identity = ProcessIdentity { pid, start_time };
        Process {
            identity,
            parent,
            group: pid,
            session: pid,
            state: ProcessState::Running,
            threads: 1,
        }
    }

    #[test]
    fn descendants_are_found_through_all_generations() {
        let table: ProcessTable = [
            process(1, 0, 1),
            process(10, 1, 5),
            process(11, 10, 6),
            process(12, 11, 7),
            process(20, 1, 8),
        ]
        .into_iter()
        .collect();
        assert_eq!(
            table.with_descendants(BTreeSet::from([10])),
            BTreeSet::from([10, 11, 12])
        );
    }

    #[test]
    fn child_older_than_its_parent_is_not_its_child() {
        let table: ProcessTable = [process(10, 1, 50), process(11, 10, 6)]
            .into_iter()
            .collect();
        assert_eq!(
            table.with_descendants(BTreeSet::from([10])),
            BTreeSet::from([10])
        );
    }

    #[test]
    fn group_and_session_of_a_dead_leader_are_still_its_own() {
        let in_group = Process {
            group: 9,
            session: 3,
            ..process(20, 1, 5)
        };
        let in_session = Process {
            group: 21,
            session: 9,
            ..process(21, 1, 5)
        };
        let table: ProcessTable = [in_group, in_session, process(22, 1, 5)]
            .into_iter()
            .collect();
        let same_group: Vec<u32> = table
            .same_group(9)
            .map(|process| process.identity.pid)
            .collect();
        assert_eq!(same_group, [20, 21]);
    }
}
