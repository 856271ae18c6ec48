//! All trees of this process, and which process belongs to which of them.
//!
//! One list for the process, because orphans of every tree become children of the same one. An orphan is found by
//! what was seen of it before, by its group or session, or by its tree's marks. One that hid all three is left to the
//! last tree that can have started it: killing it earlier could hit another attempt.

use super::table::{Process, ProcessTable};
use super::{ProcessIdentity, SPARED, signal, system};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::{Duration, Instant};

/// How often all processes are looked at while trees are alive.
pub(super) const OBSERVE_EVERY: Duration = Duration::from_secs(1);

/// The number of a tree within this process.
#[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd)]
pub(super) struct TreeId(u64);

/// How a tree's first process is known.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Leader {
    /// It is being started.
    Starting,
    /// This process started it.
    Child(ProcessIdentity),
    /// An earlier tm started it; its orphans do not come to this process.
    Adopted(ProcessIdentity),
    /// Nobody knows it; only the marks tell who belongs to the tree.
    Unknown,
}

impl Leader {
    const fn identity(self) -> Option<ProcessIdentity> {
        match self {
            Self::Child(identity) | Self::Adopted(identity) => Some(identity),
            Self::Starting | Self::Unknown => None,
        }
    }
}

/// What is remembered of one tree.
#[derive(Clone, Debug)]
pub(super) struct Tree {
    pub(super) leader: Leader,
    pub(super) marks: Vec<Vec<u8>>,
    pub(super) known: BTreeSet<ProcessIdentity>,
}

impl Tree {
    pub(super) fn new(leader: Leader, marks: &[(String, String)]) -> Self {
        let marks = marks.iter().map(|(name, value)| format!("{name}={value}").into_bytes()).collect();
        Self { leader, marks, known: BTreeSet::new() }
    }

    /// Tells whether all the tree's marks are in this environment; a tree without marks has nothing to find by them.
    fn marked(&self, environment: &[u8]) -> bool {
        !self.marks.is_empty() && self.marks.iter().all(|mark| environment.split(|&byte| byte == 0).any(|v| v == mark))
    }

    fn remembers(&self, identity: ProcessIdentity) -> bool {
        self.leader.identity() == Some(identity) || self.known.contains(&identity)
    }

    /// Tells whether an orphan of this age can come from here.
    fn can_have_started(&self, orphan: ProcessIdentity) -> bool {
        match self.leader {
            Leader::Starting => true,
            Leader::Child(leader) => leader.start_time <= orphan.start_time,
            Leader::Adopted(_) | Leader::Unknown => false,
        }
    }

    /// Returns who belongs to the tree without a look at any environment.
    fn linked(&self, table: &ProcessTable) -> BTreeSet<u32> {
        let mut roots: BTreeSet<u32> =
            self.known.iter().filter(|identity| table.holds(**identity)).map(|identity| identity.pid).collect();
        if let Some(leader) = self.leader.identity() {
            let is_current = table.get(leader.pid).is_none_or(|process| process.identity == leader);
            let fellows = table.fellows(leader.pid).filter(|fellow| fellow.identity.start_time >= leader.start_time);
            roots.extend(fellows.filter(|_| is_current).map(|fellow| fellow.identity.pid));
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
    fn read() -> Option<Self> {
        let pid = std::process::id();
        system::process(pid).map(|process| Self { pid, group: process.group, session: process.session })
    }

    /// Tells whether this is an adopted orphan: a child that this process can't have started itself, because it is
    /// in another session, or in a group that is neither this process's nor its own.
    pub(super) fn adopted(&self, process: &Process) -> bool {
        let foreign_group = process.group != self.group && process.group != process.identity.pid;
        process.parent == self.pid && (process.session != self.session || foreign_group)
    }
}

/// Everything that deciding who belongs where is based on.
pub(super) struct Scene<'a> {
    pub(super) own: Own,
    pub(super) table: &'a ProcessTable,
    pub(super) trees: &'a BTreeMap<TreeId, Tree>,
    pub(super) first_start: u64,
    pub(super) environment: &'a dyn Fn(u32) -> Option<Vec<u8>>,
}

impl Scene<'_> {
    /// Returns all processes of a tree, its leader included.
    pub(super) fn members(&self, id: TreeId) -> Vec<Process> {
        let Some(tree) = self.trees.get(&id) else { return Vec::new() };
        let mut roots = tree.linked(self.table);
        let born = tree.leader.identity().map_or(0, |leader| leader.start_time);
        for process in self.table.iter().filter(|process| process.identity.start_time >= born && process.is_running()) {
            if !roots.contains(&process.identity.pid) && self.belongs(id, tree, process) {
                roots.insert(process.identity.pid);
            }
        }
        roots.extend(self.left_to(id));
        let all = self.table.with_descendants(roots);
        all.iter().filter(|&&pid| pid != self.own.pid).filter_map(|pid| self.table.get(*pid)).copied().collect()
    }

    fn belongs(&self, id: TreeId, tree: &Tree, process: &Process) -> bool {
        process.identity.pid != self.own.pid
            && !self.trees.iter().any(|(other, tree)| *other != id && tree.remembers(process.identity))
            && (self.environment)(process.identity.pid).is_some_and(|environment| tree.marked(&environment))
    }

    /// Returns the unknown orphans that no other living tree can have started.
    fn left_to(&self, id: TreeId) -> Vec<u32> {
        let others = || self.trees.iter().filter(move |&(other, _)| *other != id).map(|(_, tree)| tree);
        let nobody_elses = |orphan: &&Process| {
            !others().any(|tree| tree.can_have_started(orphan.identity) || tree.remembers(orphan.identity))
        };
        self.unknown_orphans().filter(nobody_elses).map(|orphan| orphan.identity.pid).collect()
    }

    fn unknown_orphans(&self) -> impl Iterator<Item = &Process> {
        self.table
            .children(self.own.pid)
            .filter(|process| process.is_running() && self.own.adopted(process))
            .filter(|process| process.identity.start_time >= self.first_start)
            .filter(|process| !(self.environment)(process.identity.pid).is_some_and(|text| is_spared(&text)))
    }

    /// Returns what each tree should remember from now on.
    fn observed(&self) -> BTreeMap<TreeId, BTreeSet<ProcessIdentity>> {
        let mut known: BTreeMap<TreeId, BTreeSet<ProcessIdentity>> = BTreeMap::new();
        let mut claimed = BTreeSet::new();
        for (id, tree) in self.trees {
            let members = self.table.with_descendants(tree.linked(self.table));
            claimed.extend(members.iter().copied());
            let identities = members.iter().filter_map(|pid| self.table.get(*pid)).map(|process| process.identity);
            known.insert(*id, identities.collect());
        }
        for orphan in self.unknown_orphans().filter(|orphan| !claimed.contains(&orphan.identity.pid)) {
            let mut candidates = self.trees.iter().filter(|(_, tree)| tree.can_have_started(orphan.identity));
            if let (Some((id, _)), None) = (candidates.next(), candidates.next()) {
                known.entry(*id).or_default().insert(orphan.identity);
            }
        }
        known
    }

    /// Returns the adopted children that ended and are waited for by nobody else.
    fn ended_orphans(&self) -> impl Iterator<Item = u32> {
        let remembered = |process: &Process| self.trees.values().any(|tree| tree.known.contains(&process.identity));
        self.table
            .children(self.own.pid)
            .filter(|process| !process.is_running() && !self.is_leader(process.identity))
            .filter(move |process| self.own.adopted(process) || remembered(process))
            .map(|process| process.identity.pid)
    }

    fn is_leader(&self, identity: ProcessIdentity) -> bool {
        self.trees.values().any(|tree| tree.leader.identity() == Some(identity))
    }
}

fn is_spared(environment: &[u8]) -> bool {
    environment
        .split(|&byte| byte == 0)
        .any(|variable| variable.strip_prefix(SPARED.as_bytes()).is_some_and(|rest| rest.starts_with(b"=")))
}

#[derive(Default)]
struct Registry {
    next: u64,
    trees: BTreeMap<TreeId, Tree>,
    first_start: Option<u64>,
    observed_at: Option<Instant>,
}

fn registry() -> MutexGuard<'static, Registry> {
    static REGISTRY: OnceLock<Mutex<Registry>> = OnceLock::new();
    // Every change under the lock is a single insert or remove, so a panic elsewhere leaves nothing half done.
    REGISTRY.get_or_init(Mutex::default).lock().unwrap_or_else(PoisonError::into_inner)
}

/// Adds a tree; from now on no orphan is killed as somebody else's that can be its own.
pub(super) fn add(tree: Tree) -> TreeId {
    let mut registry = registry();
    registry.next += 1;
    let id = TreeId(registry.next);
    registry.trees.insert(id, tree);
    id
}

/// Says who leads the tree that was being started.
pub(super) fn started(id: TreeId, leader: ProcessIdentity) {
    let mut registry = registry();
    registry.first_start.get_or_insert(leader.start_time);
    if let Some(tree) = registry.trees.get_mut(&id) {
        tree.leader = Leader::Child(leader);
    }
}

/// Forgets a tree that has ended.
pub(super) fn remove(id: TreeId) {
    registry().trees.remove(&id);
}

/// Looks at all processes and returns the tree's, dead ones that nobody waits for excluded; reaps those.
pub(super) fn members(id: TreeId) -> Vec<Process> {
    let members = with_scene(|scene| {
        scene.ended_orphans().for_each(signal::reap);
        scene.members(id)
    });
    let mut registry = registry();
    if let Some(tree) = registry.trees.get_mut(&id) {
        tree.known.extend(members.iter().map(|process| process.identity));
    }
    members
}

/// Looks at all processes, unless that was done a moment ago, and remembers whom each tree has.
pub(super) fn observe() {
    {
        let mut registry = registry();
        if registry.observed_at.is_some_and(|before| before.elapsed() < OBSERVE_EVERY / 2) {
            return;
        }
        registry.observed_at = Some(Instant::now());
    }
    let observed = with_scene(|scene| {
        scene.ended_orphans().for_each(signal::reap);
        scene.observed()
    });
    let mut registry = registry();
    for (id, known) in observed {
        if let Some(tree) = registry.trees.get_mut(&id) {
            tree.known = known;
        }
    }
}

/// Tells, without a look at all processes, that a tree whose leader ended has left nothing behind.
///
/// True only where orphans come to this process and none is there that could be the tree's.
pub(super) fn left_nothing(id: TreeId) -> bool {
    let (Some(own), Some(children)) = (Own::read(), system::adopted_children()) else { return false };
    let registry = registry();
    let Some(tree) = registry.trees.get(&id) else { return true };
    let Leader::Child(leader) = tree.leader else { return false };
    let is_waited_for = |pid: u32| {
        registry.trees.values().filter_map(|tree| tree.leader.identity()).any(|identity| identity.pid == pid)
    };
    if tree.known.iter().any(|identity| *identity != leader && identity.is_alive()) {
        return false;
    }
    children
        .into_iter()
        .filter(|pid| !is_waited_for(*pid))
        .filter_map(system::process)
        .all(|child| child.group == own.group && child.session == own.session)
}

/// The table is read before the trees, so that a tree which starts meanwhile is counted as a possible owner.
fn with_scene<Answer>(decide: impl FnOnce(&Scene<'_>) -> Answer) -> Answer {
    let table = system::processes();
    let (trees, first_start) = {
        let registry = registry();
        (registry.trees.clone(), registry.first_start.unwrap_or(u64::MAX))
    };
    let pid = std::process::id();
    let own = Own::read().unwrap_or(Own { pid, group: pid, session: pid });
    decide(&Scene { own, table: &table, trees: &trees, first_start, environment: &system::environment })
}
