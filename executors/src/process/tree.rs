//! One started program with all its descendants, from spawn to the last of them being gone.
//!
//! Does not know what the program is for. Dropping a tree kills it.

use super::beginning::Beginning;
use super::bound::ProcessBound;
use super::leader::Leader;
use super::ownership::Tree;
use super::registry::{self, Left, TreeId};
use super::table::Process;
use super::{ProcessIdentity, TreeCommand, become_subreaper, signal, stamp_of, system};
use crate::Error;
use rustix::process::Signal;
use std::collections::BTreeSet;
use std::process::ExitStatus;
use std::sync::Arc;
use std::time::{Duration, Instant};
use tm_sandbox::{Exceeded, Group, Level, Sandbox};
use tm_scheduler::StopSignal;
use tokio::process::Child;

/// How long processes are killed again and again before tm gives up on those that the kernel holds.
const KILL_LIMIT: Duration = Duration::from_secs(10);
/// How often a dropped tree is walked and killed.
const DROP_ROUNDS: u32 = 50;
/// The first pause between two looks at a tree that is ending.
const FIRST_PAUSE: Duration = Duration::from_millis(1);
/// So long whoever held a program that has ended may take to end as well, before it is looked for like anything else.
const KEEPER_LIMIT: Duration = if cfg!(test) {
    // On a machine that is busy with much else, a test's own holder may be a while without a processor.
    Duration::from_mins(1)
} else {
    Duration::from_millis(250)
};
/// The longest pause between two looks at a tree that is ending.
const LONGEST_PAUSE: Duration = Duration::from_millis(50);

/// A program with all its descendants; dropping it kills them.
#[derive(Debug)]
pub struct ProcessTree {
    id: TreeId,
    leader: Option<ProcessIdentity>,
    state: State,
    /// Where its beginning is told, as long as nobody has asked.
    beginning: Option<Beginning>,
    /// What bounds it as a whole.
    group: Option<Group>,
    /// How many processes it may have, where only this process counts them.
    pub(super) bound: Option<Arc<ProcessBound>>,
}

#[derive(Debug)]
enum State {
    /// This process started it and waits for it.
    Child(Child),
    /// An earlier tm started it, or nobody knows who did; how it ends can't be learnt.
    Foreign,
    /// All of it is gone.
    Gone,
}

impl ProcessTree {
    /// Starts a program as a tree of its own; must be called within a tokio runtime.
    pub fn spawn(command: &TreeCommand) -> Result<Self, Error> {
        become_subreaper()?;
        let stamp = command.sandbox.as_ref().and_then(|sandbox| sandbox.stamp);
        let tree = Tree::new(Leader::Starting, &command.env_markers, stamp);
        let level = command.sandbox.as_ref().map(|sandbox| sandbox.level);
        let bound = command.sandbox.as_deref().and_then(bound_of);
        let id = registry::add(tree.held_at(level).bounded(bound.clone()));
        let may_start =
            tm_faults::check("spawn: before").map_err(|source| command.not_started(source));
        match may_start.and_then(|()| command.spawn()) {
            Ok((child, identity, beginning)) => {
                tm_faults::point("spawn: after");
                registry::started(id, identity);
                Ok(Self {
                    id,
                    leader: Some(identity),
                    state: State::Child(child),
                    beginning,
                    group: None,
                    bound,
                })
            }
            Err(error) => {
                registry::remove(id);
                Err(error)
            }
        }
    }

    /// Takes over the tree of a program that an earlier tm started; with no identity, whatever holds the marks.
    ///
    /// Where no group bounds it and its program has the stamp of those that nothing else counts, it may have `most_processes`.
    pub fn adopt(
        leader: Option<ProcessIdentity>,
        env_markers: &[(String, String)],
        most_processes: Option<u64>,
    ) -> Self {
        let known = leader.map_or(Leader::Unknown, Leader::Adopted);
        let stamp = stamp_of(env_markers);
        let group = leader.and_then(group_of);
        let is_stamped =
            |leader: ProcessIdentity| stamp.is_some() && system::most_locks(leader.pid) == stamp;
        let is_counted_here = group.is_none() && leader.is_some_and(is_stamped);
        let bound = most_processes.filter(|_| is_counted_here);
        let bound = bound.map(ProcessBound::new).map(Arc::new);
        Self {
            id: registry::add(Tree::new(known, env_markers, stamp).bounded(bound.clone())),
            leader,
            state: State::Foreign,
            beginning: None,
            group,
            bound,
        }
    }

    /// Keeps what bounds it as long as it is there.
    #[must_use]
    pub(crate) fn bounded_by(mut self, group: Option<Group>) -> Self {
        self.group = group;
        self
    }

    /// Returns what it wanted more of than it may have.
    pub(crate) fn exceeded(&self) -> Vec<Exceeded> {
        let of_group = self.group.iter().flat_map(Group::exceeded);
        let was_exceeded = self.bound.iter().any(|bound| bound.was_exceeded());
        let of_bound = was_exceeded.then_some(Exceeded::Processes);
        of_group.chain(of_bound).collect()
    }

    /// Tells whether the program has begun, which what is to hold it may keep it from; waits for that.
    pub async fn has_begun(&mut self) -> bool {
        match (self.beginning.take(), &mut self.state) {
            (Some(beginning), State::Child(child)) => beginning.come(child).await,
            (_, _) => true,
        }
    }

    /// Returns who the program is, `None` for an adopted tree whose program nobody knows.
    pub const fn leader(&self) -> Option<ProcessIdentity> {
        self.leader
    }

    /// Waits until the program has ended, and returns how; `None` when that can't be learnt.
    ///
    /// Its descendants may live on. May be dropped and called again.
    pub async fn wait(&mut self) -> Result<Option<ExitStatus>, Error> {
        match &mut self.state {
            State::Child(child) => {
                let pid = self.leader.map_or(0, |leader| leader.pid);
                child
                    .wait()
                    .await
                    .map(Some)
                    .map_err(|source| Error::of_watching(pid, source))
            }
            State::Foreign => {
                if let Some(leader) = self.leader {
                    leader.ended().await;
                }
                Ok(None)
            }
            State::Gone => Ok(None),
        }
    }

    /// Asks the program politely to stop, with those of its descendants that are in its group, as a terminal does.
    pub fn ask_to_stop(&self, stop_signal: StopSignal) {
        let Some(leader) = self.leader else { return };
        let members = registry::members(self.id);
        // Who holds a program would die of it and leave the program behind; what is asked to stop is the program.
        let is_asked =
            |one: &&Process| one.group == leader.pid && !tm_sandbox::is_keeper(one.identity.pid);
        for process in members.iter().filter(is_asked) {
            signal::send(process.identity, signal::of_stop(stop_signal));
        }
    }

    /// Ends everything that is left: TERM to all, KILL to those that are still there after `grace`; at once when that is
    /// zero. Returns how many descendants were still alive after the program had ended.
    pub async fn end(&mut self, grace: Duration) -> u32 {
        let mut leftovers = BTreeSet::new();
        let until = Instant::now() + KEEPER_LIMIT;
        let mut left = self.left();
        while let Left::Keeper(keeper) = left
            && Instant::now() < until
        {
            // The kernel tells in that moment: a pause, however short, is longer than what is left of the namespaces.
            let _told = tokio::time::timeout_at(until.into(), keeper.ended()).await;
            left = self.left();
        }
        if left != Left::Nothing {
            if !grace.is_zero() {
                self.send_until_gone(Signal::TERM, grace, &mut leftovers)
                    .await;
            }
            self.send_until_gone(Signal::KILL, KILL_LIMIT, &mut leftovers)
                .await;
        }
        if let Some(group) = &self.group {
            // Whoever is in there is one of it, whatever it has made of its marks.
            group.kill();
        }
        self.reap_leader().await;
        registry::remove(self.id);
        self.state = State::Gone;
        u32::try_from(leftovers.len()).unwrap_or(u32::MAX)
    }

    /// Tells whether the program has ended, as far as this process can wait for it.
    fn has_ended(&mut self) -> bool {
        match &mut self.state {
            State::Child(child) => matches!(child.try_wait(), Ok(Some(_))),
            State::Foreign => false,
            State::Gone => true,
        }
    }

    /// Returns what the program has left, as far as that is cheap to see.
    fn left(&mut self) -> Left {
        let has_ended = self.has_ended();
        match self.state {
            State::Gone => Left::Nothing,
            State::Child(_) if has_ended => registry::left(self.id),
            State::Child(_) | State::Foreign => Left::Unknown,
        }
    }

    /// Signals whatever is left until nothing is, or until the limit; adds those besides the program to `leftovers`.
    ///
    /// KILL is sent again in each round, since a process can start another between the look and the signal.
    async fn send_until_gone(
        &mut self,
        signal: Signal,
        limit: Duration,
        leftovers: &mut BTreeSet<ProcessIdentity>,
    ) {
        let give_up_at = Instant::now() + limit;
        let mut pause = FIRST_PAUSE;
        let (mut signalled, mut is_first) = (BTreeSet::new(), true);
        loop {
            // Reaped here, or it would be seen as a dead process for ever; its status was asked for by `wait`.
            let _ended = self.has_ended();
            let alive = alive(self.id).await;
            if alive.is_empty() {
                return;
            }
            let is_leader = |process: &Process| self.leader == Some(process.identity);
            // Who holds a program ends by itself once nothing that it holds is left, and says so by that.
            let is_spared = is_first && registry::is_apart(self.id) && !alive.iter().all(is_leader);
            for process in &alive {
                if !is_leader(process) {
                    leftovers.insert(process.identity);
                } else if is_spared {
                    continue;
                }
                if signal == Signal::KILL || signalled.insert(process.identity) {
                    signal::send(process.identity, signal);
                }
            }
            is_first = false;
            if Instant::now() >= give_up_at {
                return;
            }
            self.wait_a_little(&mut pause).await;
            let is_gone = is_spared && self.has_ended() && alive.iter().all(is_gone);
            if is_gone || self.left() == Left::Nothing {
                return;
            }
        }
    }

    /// Waits for the program to end, but not for long; a little longer each time where it has.
    async fn wait_a_little(&mut self, pause: &mut Duration) {
        if let State::Child(child) = &mut self.state
            && let Ok(None) = child.try_wait()
        {
            // Whether it has ended is seen by whoever looks next.
            let _ended = tokio::time::timeout(LONGEST_PAUSE, child.wait()).await;
        } else {
            tokio::time::sleep(*pause).await;
            *pause = (*pause * 2).min(LONGEST_PAUSE);
        }
    }

    async fn reap_leader(&mut self) {
        if let State::Child(child) = &mut self.state {
            // Only a process that the kernel holds is still there; it is reaped when tm ends.
            let _reaped = tokio::time::timeout(LONGEST_PAUSE, child.wait()).await;
        }
    }
}

impl Drop for ProcessTree {
    fn drop(&mut self) {
        if let Some(group) = &self.group {
            group.kill();
        }
        for _ in 0..DROP_ROUNDS {
            if self.left() == Left::Nothing {
                break;
            }
            let alive: Vec<Process> = registry::members(self.id)
                .into_iter()
                .filter(Process::is_running)
                .collect();
            if alive.is_empty() {
                break;
            }
            for process in &alive {
                signal::send(process.identity, Signal::KILL);
            }
            std::thread::sleep(FIRST_PAUSE);
        }
        registry::remove(self.id);
    }
}

/// How many processes a job may have that is held like this, where nothing else counts them for it alone; one that a group
/// bounds has no limit of its own.
fn bound_of(sandbox: &Sandbox) -> Option<Arc<ProcessBound>> {
    let limits = sandbox.confinement.limits;
    let most = limits
        .processes
        .filter(|_| sandbox.level == Level::Landlock)?;
    Some(Arc::new(ProcessBound::new(most)))
}

/// The group of a program that is alive, and not of one that has its number by now.
fn group_of(leader: ProcessIdentity) -> Option<Group> {
    let group = Group::of(leader.pid)?;
    leader.is_alive().then_some(group)
}

/// Tells whether a process has ended that is this one's child once its parent has.
fn is_gone(process: &Process) -> bool {
    signal::reap(process.identity.pid);
    !process.identity.is_alive()
}

async fn alive(id: TreeId) -> Vec<Process> {
    let mut members = registry::members_seen(id).await;
    members.retain(Process::is_running);
    members
}
