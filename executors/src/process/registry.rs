//! All trees of this process, and what is remembered of them.
//!
//! One list for the process, because orphans of every tree become children of the same one. Who belongs where is
//! decided in `ownership`.

use super::bound::ProcessBound;
use super::leader::Leader;
use super::ownership::{Own, Reading, Scene, Tree};
use super::system::LooksAtAll;
use super::table::{Process, ProcessTable};
use super::trees_by_mark::variables_of;
use super::{ProcessIdentity, observer, signal, system};
use crate::SharedLook;
use parking_lot::{Condvar, Mutex, MutexGuard};
use std::collections::{BTreeMap, BTreeSet};
use std::ops::BitOr;
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

/// The number of a tree within this process.
#[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd)]
pub(super) struct TreeId(pub(super) u64);

#[derive(Default)]
struct Registry {
    next: u64,
    trees: BTreeMap<TreeId, Tree>,
    first_start: Option<u64>,
}

impl Registry {
    /// Returns the numbers of programs that this process started and waits for.
    fn started_here(&self) -> impl Iterator<Item = u32> {
        self.trees.values().filter_map(|tree| match tree.leader {
            Leader::Child(leader) => Some(leader.pid),
            Leader::Starting | Leader::Adopted(_) | Leader::Unknown => None,
        })
    }

    /// Tells whether there is a tree whose processes can leave it, so that somebody has to see where they go.
    fn has_some_to_observe(&self) -> bool {
        self.trees.values().any(|tree| !tree.is_apart)
    }

    fn bounds(&self) -> impl Iterator<Item = &ProcessBound> {
        let bounds = self.trees.values().map(|tree| tree.bound.as_deref());
        bounds.flatten()
    }

    /// Returns the marks of all trees.
    fn marks(&self) -> BTreeSet<&[u8]> {
        let marks = self.trees.values().flat_map(|tree| tree.env_markers.iter());
        marks.map(String::as_bytes).collect()
    }

    /// Tells whether an orphan is another tree's, and not this one's: by its stamp, or else by its variables.
    fn is_of_another(&self, tree: &Tree, stamp: Option<u64>, variables: &BTreeSet<&[u8]>) -> bool {
        if stamp.is_some() && self.trees.values().any(|other| other.stamp == stamp) {
            return tree.stamp != stamp;
        }
        !tree.marks(variables) && self.trees.values().any(|other| other.marks(variables))
    }
}

/// So many pairs of an orphan and a tree are told apart by marks: some ten microseconds for a hundred.
const MOST_TOLD_APART: usize = 1_000;

/// So long a look at all processes waits in all for those that are just becoming another program, whose marks can't be
/// read: without that one is nobody's, and left to live.
const BECOMING_LIMIT: Duration = if cfg!(test) {
    Duration::from_secs(30)
} else {
    Duration::from_millis(500)
};

/// Returns children of this process that are in no tree and stay: no program has left them behind.
static OWN_CHILDREN: OnceLock<fn() -> BTreeSet<u32>> = OnceLock::new();

/// Says once for this process who returns the numbers of such children.
pub fn own_children_are(children: fn() -> BTreeSet<u32>) {
    OWN_CHILDREN.get_or_init(|| children);
}

/// Rung when a tree is added.
static ADDED: Condvar = Condvar::new();

fn registry() -> MutexGuard<'static, Registry> {
    static REGISTRY: OnceLock<Mutex<Registry>> = OnceLock::new();
    // Every change under the lock is a single insert or remove, so a panic elsewhere leaves nothing half done.
    REGISTRY.get_or_init(Mutex::default).lock()
}

/// Adds a tree; from now on no orphan is killed as somebody else's that can be its own.
pub(super) fn add(tree: Tree) -> TreeId {
    let mut registry = registry();
    registry.next += 1;
    let id = TreeId(registry.next);
    registry.trees.insert(id, tree);
    drop(registry);
    observer::begin();
    ADDED.notify_one();
    id
}

/// Why a wait for a tree is over.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Woken {
    /// A tree was added.
    ByAStart,
    /// There are trees to observe, and the time is over.
    ByTime,
}

/// Waits until a tree is added; not longer than `most` when there are some to observe.
pub(super) fn wait_for_start(most: Duration) -> Woken {
    let mut registry = registry();
    if !registry.has_some_to_observe() {
        ADDED.wait(&mut registry);
        return Woken::ByAStart;
    }
    let has_timed_out = ADDED.wait_for(&mut registry, most).timed_out();
    [Woken::ByAStart, Woken::ByTime][usize::from(has_timed_out)]
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

/// Tells whether the kernel ends all of a tree with its first process.
pub(super) fn is_apart(id: TreeId) -> bool {
    registry().trees.get(&id).is_some_and(|tree| tree.is_apart)
}

/// The processes of all trees at one moment.
type AllMembers = BTreeMap<TreeId, Vec<Process>>;

/// Looks at all processes and returns the tree's, dead ones that nobody waits for excluded; reaps those.
pub(super) fn members(id: TreeId) -> Vec<Process> {
    of_tree(id, &all_members())
}

/// As [`members`], away from the loop; whoever asks at about the same moment is answered by the same look.
pub(super) async fn members_seen(id: TreeId) -> Vec<Process> {
    static LOOK: SharedLook<AllMembers> = SharedLook::new();
    let look = async { tokio::task::spawn_blocking(all_members).await.ok() };
    let all = LOOK.next(look).await;
    all.map_or_else(Vec::new, |all| of_tree(id, &all))
}

fn all_members() -> AllMembers {
    with_scene(&system::processes(), |scene| {
        scene.ended_orphans().for_each(signal::reap);
        scene.members()
    })
}

fn of_tree(id: TreeId, all: &AllMembers) -> Vec<Process> {
    let members = all.get(&id).cloned().unwrap_or_default();
    let mut registry = registry();
    if let Some(tree) = registry.trees.get_mut(&id) {
        tree.known
            .extend(members.iter().map(|process| process.identity));
    }
    members
}

/// Returns the marks of the tree of this process's that another process belongs to, wherever that has gone since.
pub fn env_markers_of(pid: u32) -> Option<Vec<(String, String)>> {
    let is_its_own =
        |members: &Vec<Process>| members.iter().any(|process| process.identity.pid == pid);
    let (id, _) = with_scene(&system::processes(), |scene| {
        scene
            .members()
            .into_iter()
            .find(|(_, members)| is_its_own(members))
    })?;
    registry().trees.get(&id).map(Tree::named_marks)
}

/// Tells whether a tree can have more processes than it may have, where there were so many in the system at the last look;
/// `None` where none has a bound.
pub(super) fn can_be_too_many(in_system: u64) -> Option<bool> {
    let registry = registry();
    let mut bounds = registry.bounds().peekable();
    bounds.peek()?;
    let added = everywhere().saturating_sub(in_system);
    Some(bounds.any(|bound| bound.can_be_exceeded_since(added)))
}

/// Returns how many processes and threads there are in the system; where nobody tells, any number may be.
pub(super) fn everywhere() -> u64 {
    tm_sandbox::processes_and_threads().unwrap_or(u64::MAX)
}

/// Looks at all processes, remembers whom each tree has, and ends those that have more than they may; does nothing when there
/// is none to observe. Tells whether a tree had more.
pub(super) fn observe(in_system: u64) -> bool {
    static LOOKS: Mutex<LooksAtAll> = Mutex::new(LooksAtAll::new());
    let waited_for = {
        let registry = registry();
        if !registry.has_some_to_observe() {
            return false;
        }
        registry.started_here().collect()
    };
    let table = LOOKS.lock().look(&waited_for);
    let observed = with_scene(&table, |scene| {
        scene.ended_orphans().for_each(signal::reap);
        scene.observed(in_system)
    });
    let bounded = remember(observed);
    // Without the lock: that may be thousands of signals.
    let enforce = |(bound, members): (Arc<ProcessBound>, _)| bound.enforce(&members, in_system);
    bounded.into_iter().map(enforce).fold(false, BitOr::bitor)
}

/// Has each tree remember its processes, and returns those of trees with a bound.
fn remember(
    observed: BTreeMap<TreeId, BTreeSet<ProcessIdentity>>,
) -> Vec<(Arc<ProcessBound>, BTreeSet<ProcessIdentity>)> {
    let mut registry = registry();
    let mut bounded = Vec::new();
    for (id, known) in observed {
        if let Some(tree) = registry.trees.get_mut(&id) {
            let bound = tree.bound.iter().cloned();
            bounded.extend(bound.map(|bound| (bound, known.clone())));
            tree.known = known;
        }
    }
    bounded
}

/// What a tree whose leader ended has left behind, as far as that is seen without a look at all processes.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Left {
    /// Nothing: orphans come to this process, and none is there that could be the tree's.
    Nothing,
    /// Whoever held the program, this process among others, and ends a moment after it.
    Keeper(ProcessIdentity),
    /// Something, or it can't be seen.
    Unknown,
}

/// Returns what a tree whose leader ended has left behind; reaps orphans that ended.
pub(super) fn left(id: TreeId) -> Left {
    let Some(children) = system::adopted_children() else {
        return Left::Unknown;
    };
    let own = own();
    let registry = registry();
    let Some(tree) = registry.trees.get(&id) else {
        return Left::Nothing;
    };
    let Leader::Child(leader) = tree.leader else {
        return Left::Unknown;
    };
    let waited_for: BTreeSet<u32> = registry
        .trees
        .values()
        .filter_map(|tree| tree.leader.identity())
        .map(|leader| leader.pid)
        .chain(
            OWN_CHILDREN
                .get()
                .map(|children| children())
                .unwrap_or_default(),
        )
        .collect();
    let stamp = tree.stamp;
    let known = tree.known.iter();
    let known = known.filter(|identity| **identity != leader && identity.is_alive());
    let is_left = |child: &Process| {
        if own.adopted(child) && !child.is_running() {
            signal::reap(child.identity.pid);
            return false;
        }
        // Whoever has its stamp can have gone into the group of this process.
        let is_stamped = || stamp.is_some() && system::most_locks(child.identity.pid) == stamp;
        child.group != own.group || child.session != own.session || is_stamped()
    };
    let orphans = children
        .into_iter()
        .filter(|pid| !waited_for.contains(pid))
        .filter_map(system::process)
        .filter(is_left);
    let orphans: Vec<Process> = orphans.collect();
    let known: Vec<ProcessIdentity> = known.copied().collect();
    let count = registry.trees.len();
    drop(registry);
    let orphans = of_nobody_else(id, leader, orphans, count);
    let left: Vec<ProcessIdentity> = known.into_iter().chain(orphans).collect();
    match left.as_slice() {
        [] => Left::Nothing,
        [keeper, ..] if left.iter().all(|one| tm_sandbox::is_keeper(one.pid)) => {
            Left::Keeper(*keeper)
        }
        _ => Left::Unknown,
    }
}

/// Leaves out orphans with all marks of another tree, which are that one's to end, but for those that are in the group of the
/// tree's program. Their environments are read without the lock: that may take long.
fn of_nobody_else(
    id: TreeId,
    leader: ProcessIdentity,
    orphans: Vec<Process>,
    trees: usize,
) -> Vec<ProcessIdentity> {
    // Who has them is found out here as long as that takes less than a look at all processes.
    let is_told_apart = orphans.len() * trees <= MOST_TOLD_APART;
    let is_of_another = |orphan: &Process| {
        let environment =
            system::environment(orphan.identity.pid, Instant::now()).unwrap_or_default();
        let stamp = system::most_locks(orphan.identity.pid);
        let registry = registry();
        let marks = registry.marks();
        let variables = variables_of(&environment, |variable| marks.contains(variable));
        let tree = registry.trees.get(&id);
        tree.is_some_and(|tree| registry.is_of_another(tree, stamp, &variables))
    };
    orphans
        .into_iter()
        .filter(|orphan| !is_told_apart || orphan.group == leader.pid || !is_of_another(orphan))
        .map(|orphan| orphan.identity)
        .collect()
}

/// The table has to be read before the trees are, so that a tree which starts meanwhile is counted as a possible owner.
fn with_scene<Answer>(table: &ProcessTable, decide: impl FnOnce(&Scene<'_>) -> Answer) -> Answer {
    let (trees, first_start) = {
        let registry = registry();
        (
            registry.trees.clone(),
            registry.first_start.unwrap_or(u64::MAX),
        )
    };
    let own = own();
    let until = Instant::now() + BECOMING_LIMIT;
    let reading = Reading {
        environment: &|pid| system::environment(pid, until),
        stamp: &system::most_locks,
    };
    decide(&Scene::new(own, table, &trees, first_start, reading))
}

/// This process, which leaves neither its group nor its session.
fn own() -> Own {
    static OWN: OnceLock<Own> = OnceLock::new();
    let pid = std::process::id();
    let known = OWN.get().copied().or_else(|| {
        let own = system::process(pid).map(|process| Own {
            pid,
            group: process.group,
            session: process.session,
        })?;
        Some(*OWN.get_or_init(|| own))
    });
    known.unwrap_or(Own {
        pid,
        group: pid,
        session: pid,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use tm_sandbox::Level;

    fn held_at(level: Option<Level>) -> Tree {
        Tree::new(Leader::Starting, &[], None).held_at(level)
    }

    #[test]
    fn nobody_looks_after_trees_that_the_kernel_keeps_together() {
        let mut registry = Registry::default();
        assert!(!registry.has_some_to_observe());
        registry
            .trees
            .insert(TreeId(1), held_at(Some(Level::Bwrap)));
        assert!(!registry.has_some_to_observe());
        registry
            .trees
            .insert(TreeId(2), held_at(Some(Level::Landlock)));
        assert!(registry.has_some_to_observe());
        registry.trees = BTreeMap::from([(TreeId(3), held_at(None))]);
        assert!(registry.has_some_to_observe());
    }
}
