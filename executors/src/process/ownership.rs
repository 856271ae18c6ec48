//! Which process belongs to which tree.
//!
//! An orphan is found by what was seen of it before, by its group or session, or by its tree's marks. One that hid all
//! three is left to the last tree that can have started it: killing it earlier could hit another attempt. A
//! stamp, which nobody puts off, goes before all that. Decides from one table for all trees at once, so that the work grows
//! with the processes, not with processes times trees.

use super::bound::ProcessBound;
use super::leader::Leader;
use super::lineage::variable_in;
use super::registry::TreeId;
use super::table::{Process, ProcessTable};
use super::trees_by_mark::{Marks, Stamps};
use super::{ProcessIdentity, SPARED};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use tm_sandbox::Level;

/// What is remembered of one tree.
#[derive(Clone, Debug)]
pub(super) struct Tree {
    pub(super) leader: Leader,
    /// Entries of an environment, `NAME=value`.
    pub(super) env_markers: Arc<[String]>,
    /// What each of its processes is stamped with, where they are.
    pub(super) stamp: Option<u64>,
    /// Whether its processes have numbers of their own, all of which the kernel ends with the first: none of them comes to
    /// anybody outside, wherever it hides.
    pub(super) is_apart: bool,
    /// How many processes it may have, where that is to be seen here.
    pub(super) bound: Option<Arc<ProcessBound>>,
    pub(super) known: BTreeSet<ProcessIdentity>,
}

impl Tree {
    pub(super) fn new(
        leader: Leader,
        env_markers: &[(String, String)],
        stamp: Option<u64>,
    ) -> Self {
        let env_markers = env_markers
            .iter()
            .map(|(name, value)| format!("{name}={value}"))
            .collect();
        Self {
            leader,
            env_markers,
            stamp,
            is_apart: false,
            bound: None,
            known: BTreeSet::new(),
        }
    }

    /// As it is where it is held at this level, if at any.
    #[must_use]
    pub(super) fn held_at(mut self, level: Option<Level>) -> Self {
        self.is_apart = level == Some(Level::Bwrap);
        self
    }

    /// As it is where no more processes than these may be in it.
    #[must_use]
    pub(super) fn bounded(mut self, bound: Option<Arc<ProcessBound>>) -> Self {
        self.bound = bound;
        self
    }

    /// Tells whether what hides from it may be anybody's child, and has to be looked for where so many are in the system.
    fn is_to_be_looked_for(&self, in_system: u64) -> bool {
        let bound = self.bound.as_ref();
        self.starts_orphans_from().is_none()
            && bound.is_some_and(|bound| bound.can_be_exceeded(in_system))
    }

    /// Returns its marks by name and value.
    pub(super) fn named_marks(&self) -> Vec<(String, String)> {
        let named = |mark: &String| {
            let (name, value) = mark.split_once('=')?;
            Some((name.to_owned(), value.to_owned()))
        };
        self.env_markers.iter().filter_map(named).collect()
    }

    /// Tells whether these variables have all its marks.
    pub(super) fn marks(&self, variables: &BTreeSet<&[u8]>) -> bool {
        let has = |mark: &String| variables.contains(mark.as_bytes());
        !self.env_markers.is_empty() && self.env_markers.iter().all(has)
    }

    /// When the first process of the tree was started; nothing of the tree is older.
    pub(super) fn started_at(&self) -> u64 {
        self.leader.identity().map_or(0, |leader| leader.start_time)
    }

    /// The earliest start of an orphan that can come from here; `None` when none comes to this process.
    fn starts_orphans_from(&self) -> Option<u64> {
        match self.leader {
            Leader::Starting => Some(0),
            Leader::Child(leader) => Some(leader.start_time),
            Leader::Adopted(_) | Leader::Unknown => None,
        }
    }

    /// Returns who belongs to the tree without a look at any environment.
    fn linked(&self, table: &ProcessTable) -> BTreeSet<u32> {
        let mut roots: BTreeSet<u32> = self
            .known
            .iter()
            .filter(|identity| table.holds(**identity))
            .map(|identity| identity.pid)
            .collect();
        if let Some(leader) = self.leader.identity()
            && table
                .get(leader.pid)
                .is_none_or(|process| process.identity == leader)
        {
            let same_group = table
                .same_group(leader.pid)
                .filter(|member| member.identity.start_time >= leader.start_time);
            roots.extend(same_group.map(|member| member.identity.pid));
        }
        roots
    }
}

/// This process, whose children orphans become.
#[derive(Clone, Copy, Debug)]
pub(super) struct Own {
    pub(super) pid: u32,
    pub(super) group: u32,
    pub(super) session: u32,
}

impl Own {
    /// Tells whether this is an adopted orphan: a child that this process can't have started itself, because it is
    /// in another session, or in a group that is neither this process's nor its own.
    pub(super) fn adopted(&self, process: &Process) -> bool {
        let foreign_group = process.group != self.group && process.group != process.identity.pid;
        process.parent == self.pid && (process.session != self.session || foreign_group)
    }
}

/// What is read of one process when it is needed, which takes longer than all else; `None` for somebody else's.
pub(super) struct Reading<'a> {
    pub(super) environment: &'a dyn Fn(u32) -> Option<Vec<u8>>,
    pub(super) stamp: &'a dyn Fn(u32) -> Option<u64>,
}

/// Whose processes are, as far as that is sure without a look at any environment.
struct Links {
    roots: BTreeMap<TreeId, BTreeSet<u32>>,
    /// Those with a tree's stamp: whatever else speaks for another tree, they are that one's.
    stamped: BTreeSet<u32>,
}

/// Everything that deciding who belongs where is based on.
pub(super) struct Scene<'a> {
    own: Own,
    table: &'a ProcessTable,
    trees: &'a BTreeMap<TreeId, Tree>,
    first_start: u64,
    reading: Reading<'a>,
    /// The trees that remember a process.
    remembering: BTreeMap<ProcessIdentity, Vec<TreeId>>,
    leaders: BTreeSet<ProcessIdentity>,
    /// The trees that can have started an orphan, by the earliest start of such an orphan.
    starters: Vec<(u64, TreeId)>,
}

impl<'a> Scene<'a> {
    pub(super) fn new(
        own: Own,
        table: &'a ProcessTable,
        trees: &'a BTreeMap<TreeId, Tree>,
        first_start: u64,
        reading: Reading<'a>,
    ) -> Self {
        let leaders: BTreeSet<_> = trees
            .values()
            .filter_map(|tree| tree.leader.identity())
            .collect();
        let mut remembering: BTreeMap<ProcessIdentity, Vec<TreeId>> = BTreeMap::new();
        for (id, tree) in trees {
            let leader = tree
                .leader
                .identity()
                .filter(|leader| !tree.known.contains(leader));
            for identity in tree.known.iter().copied().chain(leader) {
                remembering.entry(identity).or_default().push(*id);
            }
        }
        let mut starters: Vec<_> = trees
            .iter()
            .filter_map(|(id, tree)| Some((tree.starts_orphans_from()?, *id)))
            .collect();
        starters.sort_unstable();
        Self {
            own,
            table,
            trees,
            first_start,
            reading,
            remembering,
            leaders,
            starters,
        }
    }

    /// Returns all processes of each tree, its leader included.
    pub(super) fn members(&self) -> BTreeMap<TreeId, Vec<Process>> {
        let mut links = self.links(self.table.iter());
        self.add_marked(&mut links);
        self.add_left(&mut links);
        let is_other = |pid: &u32| *pid != self.own.pid;
        let members = |roots: BTreeSet<u32>| {
            self.table
                .with_descendants(roots)
                .into_iter()
                .filter(is_other)
                .filter_map(|pid| self.table.get(pid))
                .copied()
                .collect()
        };
        links
            .roots
            .into_iter()
            .map(|(id, roots)| (id, members(roots)))
            .collect()
    }

    /// Returns what is linked to each tree; the stamps of those of `read` are read that may have gone to another one.
    fn links(&self, read: impl Iterator<Item = &'a Process>) -> Links {
        let linked = |(id, tree): (&TreeId, &Tree)| (*id, tree.linked(self.table));
        let mut roots: BTreeMap<TreeId, BTreeSet<u32>> = self.trees.iter().map(linked).collect();
        let stamps = Stamps::of(self.trees);
        let mut stamped = BTreeSet::new();
        if stamps.by_stamp.is_empty() {
            return Links { roots, stamped };
        }
        let linked = self
            .table
            .with_descendants(roots.values().flatten().copied().collect());
        // A child has its parent's stamp; whoever has joined a group or lost its parent may be anybody's.
        let is_read = |process: &&Process| {
            let comes_from_linked =
                process.parent != self.own.pid && linked.contains(&process.parent);
            process.is_running()
                && process.identity.pid != self.own.pid
                && process.identity.start_time >= stamps.started_at
                && !comes_from_linked
                && !self.leaders.contains(&process.identity)
        };
        for process in read.filter(is_read) {
            let pid = process.identity.pid;
            let stamp = (self.reading.stamp)(pid);
            let Some(owners) = stamp.and_then(|stamp| stamps.by_stamp.get(&stamp)) else {
                continue;
            };
            stamped.insert(pid);
            for (id, roots) in &mut roots {
                if owners.contains(id) {
                    roots.insert(pid);
                } else {
                    roots.remove(&pid);
                }
            }
        }
        Links { roots, stamped }
    }

    /// Adds to each tree the processes that have its marks, but for those that another tree remembers.
    fn add_marked(&self, Links { roots, stamped }: &mut Links) {
        let env_markers = Marks::of(self.trees);
        for process in self
            .table
            .iter()
            .filter(|process| process.is_running() && process.identity.pid != self.own.pid)
        {
            let only = match self.remembering.get(&process.identity).map(Vec::as_slice) {
                None => None,
                Some([only]) => Some(*only),
                Some(_) => continue,
            };
            let pid = process.identity.pid;
            if process.identity.start_time < env_markers.started_at
                || stamped.contains(&pid)
                || only
                    .is_some_and(|only| roots.get(&only).is_some_and(|roots| roots.contains(&pid)))
            {
                continue;
            }
            let Some(environment) = (self.reading.environment)(pid) else {
                continue;
            };
            for id in env_markers.trees_of(&environment, self.trees) {
                let is_old_enough = self
                    .trees
                    .get(&id)
                    .is_some_and(|tree| tree.started_at() <= process.identity.start_time);
                if is_old_enough && only.is_none_or(|only| only == id) {
                    roots.entry(id).or_default().insert(pid);
                }
            }
        }
    }

    /// Adds the unknown orphans to the one tree that can have started them; to every tree where none can.
    fn add_left(&self, Links { roots, stamped }: &mut Links) {
        for orphan in self.unknown_orphans(stamped) {
            let starters = self.starters_of(orphan.identity);
            if starters.len() > 1 {
                continue;
            }
            let remembering = self.remembering.get(&orphan.identity);
            let owners: BTreeSet<TreeId> = starters
                .iter()
                .map(|(_, id)| *id)
                .chain(remembering.into_iter().flatten().copied())
                .collect();
            let is_owner = |id: TreeId| owners.iter().all(|owner| *owner == id);
            for (_, roots) in roots.iter_mut().filter(|(id, _)| is_owner(**id)) {
                roots.insert(orphan.identity.pid);
            }
        }
    }

    /// Returns the trees that can have started an orphan of this age.
    fn starters_of(&self, orphan: ProcessIdentity) -> &[(u64, TreeId)] {
        &self.starters[..self
            .starters
            .partition_point(|(from, _)| *from <= orphan.start_time)]
    }

    fn unknown_orphans(&self, stamped: &BTreeSet<u32>) -> impl Iterator<Item = &Process> {
        self.table
            .children(self.own.pid)
            .filter(|process| process.is_running() && self.own.adopted(process))
            .filter(|process| process.identity.start_time >= self.first_start)
            .filter(|process| !stamped.contains(&process.identity.pid))
            .filter(|process| {
                let environment =
                    (self.reading.environment)(process.identity.pid).unwrap_or_default();
                variable_in(&environment, SPARED).is_none()
            })
    }

    /// Returns what each tree should remember from now on, where so many processes and threads are in the system.
    pub(super) fn observed(&self, in_system: u64) -> BTreeMap<TreeId, BTreeSet<ProcessIdentity>> {
        let mut known: BTreeMap<TreeId, BTreeSet<ProcessIdentity>> = BTreeMap::new();
        let mut claimed = BTreeSet::new();
        let mut trees = self.trees.values();
        let Links { roots, stamped } = if trees.any(|tree| tree.is_to_be_looked_for(in_system)) {
            self.links(self.table.iter())
        } else {
            self.links(self.table.children(self.own.pid))
        };
        for (id, roots) in roots {
            let members = self.table.with_descendants(roots);
            claimed.extend(members.iter().copied());
            known.insert(
                id,
                members
                    .iter()
                    .filter_map(|pid| self.table.get(*pid))
                    .map(|process| process.identity)
                    .collect(),
            );
        }
        for orphan in self
            .unknown_orphans(&stamped)
            .filter(|orphan| !claimed.contains(&orphan.identity.pid))
        {
            if let [(_, id)] = self.starters_of(orphan.identity) {
                known.entry(*id).or_default().insert(orphan.identity);
            }
        }
        known
    }

    /// Returns the adopted children that ended and are waited for by nobody else.
    pub(super) fn ended_orphans(&self) -> impl Iterator<Item = u32> {
        let remembered = |process: &Process| self.remembering.contains_key(&process.identity);
        self.table
            .children(self.own.pid)
            .filter(|process| !process.is_running() && !self.leaders.contains(&process.identity))
            .filter(move |process| self.own.adopted(process) || remembered(process))
            .map(|process| process.identity.pid)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::process::table::ProcessState;
    use std::cell::RefCell;

    const OWN: u32 = 100;

    fn process(pid: u32, parent: u32, group: u32, start_time: u64) -> Process {
        let identity = ProcessIdentity { pid, start_time };
        Process {
            identity,
            parent,
            group,
            session: OWN,
            state: ProcessState::Running,
            threads: 1,
        }
    }

    fn marked(leader: Leader, env_markers: &[(&str, &str)]) -> Tree {
        let env_markers: Vec<_> = env_markers
            .iter()
            .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()))
            .collect();
        Tree::new(leader, &env_markers, None)
    }

    fn child(pid: u32, start_time: u64) -> Leader {
        Leader::Child(ProcessIdentity { pid, start_time })
    }

    fn stamped(leader: Leader, stamp: u64) -> Tree {
        Tree::new(leader, &[], Some(stamp))
    }

    /// The numbers of the members of each tree, and of the processes whose environment was read.
    fn members(
        trees: Vec<Tree>,
        processes: &[Process],
        environments: &[(u32, &str)],
    ) -> (Vec<Vec<u32>>, Vec<u32>) {
        let read = RefCell::new(Vec::new());
        let environment = |pid: u32| {
            read.borrow_mut().push(pid);
            let of_pid = environments.iter().find(|(of, _)| *of == pid);
            of_pid.map(|(_, text)| text.replace(' ', "\0").into_bytes())
        };
        let reading = Reading {
            environment: &environment,
            stamp: &|_| panic!("no tree has one"),
        };
        let members = scene(trees, processes, reading, |scene| pids(scene.members()));
        (members, read.into_inner())
    }

    fn pids(members: BTreeMap<TreeId, Vec<Process>>) -> Vec<Vec<u32>> {
        let of_tree = |members: Vec<Process>| members.iter().map(|one| one.identity.pid).collect();
        members.into_values().map(of_tree).collect()
    }

    fn scene<Answer>(
        trees: Vec<Tree>,
        processes: &[Process],
        reading: Reading<'_>,
        ask: impl FnOnce(&Scene<'_>) -> Answer,
    ) -> Answer {
        let table: ProcessTable = processes
            .iter()
            .copied()
            .chain([process(OWN, 1, OWN, 1)])
            .collect();
        let trees: BTreeMap<TreeId, Tree> = (1..).map(TreeId).zip(trees).collect();
        let own = Own {
            pid: OWN,
            group: OWN,
            session: OWN,
        };
        ask(&Scene::new(own, &table, &trees, 0, reading))
    }

    #[test]
    fn a_stray_belongs_to_the_tree_that_has_all_its_marks() {
        let trees = vec![
            marked(child(200, 5), &[("RUN", "r"), ("TASK", "1"), ("TRY", "1")]),
            marked(child(300, 6), &[("RUN", "r"), ("TASK", "2"), ("TRY", "1")]),
            marked(Leader::Unknown, &[]),
        ];
        let processes = [
            process(200, OWN, 200, 5),
            process(201, 200, 200, 6),
            process(300, OWN, 300, 6),
            process(400, 1, 400, 7),
            process(401, 1, 401, 7),
            process(402, 1, 402, 4),
            process(403, 400, 403, 8),
        ];
        let environments = [
            (400, "A=b RUN=r TRY=1 TASK=2"),
            (401, "RUN=r TASK=2"),
            (402, "RUN=r TASK=1 TRY=1"),
        ];
        let (members, read) = members(trees, &processes, &environments);
        assert_eq!(
            members,
            [vec![200, 201], vec![300, 400, 403], vec![]],
            "402 is older than its tree"
        );
        let of_others: Vec<u32> = read.iter().copied().filter(|pid| *pid >= 400).collect();
        assert_eq!(
            of_others,
            [400, 401, 403],
            "each once, however many trees there are"
        );
    }

    #[test]
    fn a_process_that_another_tree_remembers_is_left_to_it() {
        let stray = process(400, 1, 400, 7);
        let mut first = marked(child(200, 5), &[("TASK", "1")]);
        first.known.insert(stray.identity);
        let second = marked(child(300, 6), &[("TASK", "2")]);
        let processes = [process(200, OWN, 200, 5), process(300, OWN, 300, 6), stray];
        let (members, _) = members(vec![first, second], &processes, &[(400, "TASK=2")]);
        assert_eq!(members, [vec![200, 400], vec![300]]);
    }

    #[test]
    fn an_unknown_orphan_is_left_to_the_only_tree_that_can_have_started_it() {
        // In a session of its own, so that this process can't have started it.
        let orphan = Process {
            session: 500,
            ..process(501, OWN, 500, 9)
        };
        let processes = [
            process(200, OWN, 200, 5),
            process(300, OWN, 300, 12),
            orphan,
        ];
        let (first, second) = (child(200, 5), child(300, 12));
        let trees = |leaders: &[Leader]| {
            leaders
                .iter()
                .map(|leader| marked(*leader, &[]))
                .collect::<Vec<_>>()
        };
        let found = |leaders: &[Leader]| members(trees(leaders), &processes, &[]).0;
        assert_eq!(found(&[first, second]), [vec![200, 501], vec![300]]);
        assert_eq!(
            found(&[first, second, Leader::Starting]),
            [vec![200], vec![300], vec![]],
            "two can have"
        );
        assert_eq!(
            found(&[second, Leader::Unknown]),
            [vec![300, 501], vec![501]],
            "none can have"
        );
        let spared = members(trees(&[first, second]), &processes, &[(501, "TM_SPARED=1")]).0;
        assert_eq!(spared, [vec![200], vec![300]]);
    }

    #[test]
    fn one_look_reads_no_environment_of_what_is_known() {
        let trees: Vec<Tree> = (0..300_u32)
            .map(|number| {
                let mut tree = marked(
                    child(1000 + number, 5),
                    &[("RUN", "r"), ("TASK", &number.to_string())],
                );
                tree.known.insert(ProcessIdentity {
                    pid: 1000 + number,
                    start_time: 5,
                });
                tree
            })
            .collect();
        let processes: Vec<Process> = (0..300)
            .map(|number| process(1000 + number, OWN, 1000 + number, 5))
            .collect();
        let (members, read) = members(trees, &processes, &[]);
        assert!(members.iter().all(|members| members.len() == 1));
        assert_eq!(read, [] as [u32; 0]);
    }

    /// Two trees that began before what is looked for, and what has hidden from the second.
    fn hidden() -> (Vec<Tree>, Vec<Process>) {
        let trees = vec![stamped(child(200, 5), 7), stamped(child(300, 6), 8)];
        let in_own_session = Process {
            session: 400,
            ..process(400, OWN, 400, 9)
        };
        let processes = vec![
            process(200, OWN, 200, 5),
            process(300, OWN, 300, 6),
            in_own_session,
            process(401, 400, 401, 10),
            // In the group of the other tree's program, in that of this process, and with somebody who is no parent of it.
            process(402, OWN, 200, 9),
            process(403, OWN, OWN, 9),
            process(404, 1, 404, 9),
        ];
        (trees, processes)
    }

    #[test]
    fn a_stamp_goes_before_groups_memory_and_variables() {
        let (mut trees, processes) = hidden();
        trees[0].known.insert(processes[2].identity);
        let read = RefCell::new(Vec::new());
        let reading = Reading {
            environment: &|_| Some(b"TM_SPARED=1".to_vec()),
            stamp: &|pid| {
                read.borrow_mut().push(pid);
                Some(8)
            },
        };
        let members = scene(trees, &processes, reading, |scene| pids(scene.members()));
        assert_eq!(members, [vec![200], vec![300, 400, 401, 402, 403, 404]]);
        assert_eq!(
            read.into_inner(),
            [400, 402, 403, 404],
            "neither of programs nor of what surely comes from a member"
        );
    }

    #[test]
    fn an_orphan_with_the_stamp_of_no_tree_is_left_to_the_only_one_that_can_have_started_it() {
        let (mut trees, processes) = hidden();
        trees.truncate(1);
        let reading = Reading {
            environment: &|_| Some(Vec::new()),
            stamp: &|_| Some(8),
        };
        let members = scene(trees, &processes, reading, |scene| pids(scene.members()));
        assert_eq!(members, [vec![200, 400, 401, 402]]);
    }

    #[test]
    fn a_stamped_orphan_is_remembered_by_its_tree_and_one_that_has_not_come_here_is_not_read() {
        let (trees, processes) = hidden();
        let reading = Reading {
            environment: &|_| Some(Vec::new()),
            stamp: &|pid| (pid != 404).then_some(8),
        };
        let numbers = |known: BTreeSet<ProcessIdentity>| known.iter().map(|one| one.pid).collect();
        let observed: Vec<Vec<u32>> = scene(trees, &processes, reading, |scene| {
            scene.observed(0).into_values().map(numbers).collect()
        });
        assert_eq!(observed, [vec![200], vec![300, 400, 401, 402, 403]]);
    }

    #[test]
    fn what_hides_from_a_bounded_tree_that_was_taken_over_is_looked_for_where_it_can_be_too_much() {
        let (_, processes) = hidden();
        let reading = || Reading {
            environment: &|_| None,
            stamp: &|_| Some(8),
        };
        let observed = |in_system| {
            let bound = Arc::new(ProcessBound::new(3));
            let tree = stamped(Leader::Unknown, 8).bounded(Some(bound));
            scene(vec![tree], &processes, reading(), |scene| {
                let numbers = |known: BTreeSet<ProcessIdentity>| known.len();
                scene
                    .observed(in_system)
                    .into_values()
                    .map(numbers)
                    .sum::<usize>()
            })
        };
        let all = processes.len();
        assert_eq!(
            [3, 4].map(observed),
            [all - 1, all],
            "404 is nobody's child here"
        );
    }

    #[test]
    fn what_is_stamped_is_found_by_a_tree_that_was_taken_over() {
        let (_, processes) = hidden();
        let trees = vec![
            stamped(child(200, 5), 7),
            stamped(Leader::Unknown, 8),
            stamped(Leader::Unknown, 9),
        ];
        let reading = Reading {
            environment: &|_| None,
            stamp: &|pid| Some(if pid == 404 { 9 } else { 8 }),
        };
        let members = scene(trees, &processes, reading, |scene| pids(scene.members()));
        assert_eq!(
            members,
            [vec![200], vec![300, 400, 401, 402, 403], vec![404]]
        );
    }
}
