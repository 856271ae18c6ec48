//! A seeded simulation: random backlogs, random answers in random order, random requests, crashes at random moments.
//!
//! Invariants, checked after every input: never more agents than slots; nothing is prepared before what it depends on
//! has landed (or is held, for a GREEN; or was skipped as satisfied); at most one landing at a time, in the order of the
//! queue; what is tested ahead stands on all that lands before it, is no more than the limits say, is not begun again
//! because something joined, and changes nothing: a run without it is the same in all else; nothing is started
//! while the run is paused, and no agent whose account is behind a wall or was refused to two tasks, but for one at a time
//! that tries what another task alone has said of it; a wall ends at its moment, after a day, or when somebody passes it; with one slot nothing is prepared while work waits to land; no task is tried more often
//! than `retries + 1` times and ten that are not charged, but for what people ended and opened again; no more conflicts go
//! uncharged than the limits say; an attempt carries over what an attempt of the same task left, and nothing starts that may
//! touch the files of a task which conflicted twice and is under way; a run is broken off after enough ends in a row that
//! were the same, and then only; what is refused changes nothing; the same inputs give the same effects. At the end: every task has settled, a task that failed or was
//! skipped blocks exactly its dependants, no attempt that ran into a wall was charged, no RED was questioned twice for the
//! same cause or more than twice, no status is left `in-progress`.

mod blocked;
mod conflicts;
mod hostile;
mod landing;
mod ledger;

use super::*;
use crate::{
    AgentCandidate, AgentPool, AgentReport, Answer, AtBreaker, AttemptStep, Breaker, Choice,
    CommitId, Dispatch, Ended, Failure, LandingRefusal, Overlap, PlanOptions, PrepareRefusal,
    Proof, Reason, RedStart, Refactor, Request, ServiceRefusal, Task, TddMode, pair,
};
use fastrand::Rng;
use hostile::Hostile;
use landing::TestedAhead;
use ledger::Ledger;
use std::num::NonZeroU32;

const SEEDS: u64 = 4_000;

/// What the outside owes the scheduler: the steps under way.
#[derive(Clone, Debug)]
enum Owed {
    Prepare,
    Agent,
    Proof,
    Commit,
    Refactor(CommitId),
    Landing,
}

struct World {
    random: Rng,
    scheduler: Scheduler,
    twin: Scheduler,
    /// The same run where each waits for its turn to be tested.
    one_by_one: Scheduler,
    tested_ahead: TestedAhead,
    owed: Vec<(TaskId, AttemptNumber, Owed)>,
    now: Timestamp,
    commits: u64,
    statuses: BTreeMap<TaskId, Status>,
    failure_percent: usize,
    /// Requests among a thousand inputs.
    requests: usize,
    tdd: TddMode,
    added: usize,
    /// Milliseconds between two inputs.
    stride: u64,
    hostile: Option<Hostile>,
    ledger: Ledger,
}

/// Up to three agents for each kind of work, some of whom share an account.
fn roster(random: &mut Rng) -> AgentPool {
    let mut candidates = || -> Vec<AgentCandidate> {
        let count = 1 + random.usize(..3);
        let all = (0..count).map(|number| AgentCandidate {
            agent: format!("agent{number}").into(),
            account: format!("account{}", random.usize(..2)).into(),
            if_refused: String::new(),
        });
        all.collect()
    };
    AgentPool {
        red: candidates(),
        green: candidates(),
        plain: candidates(),
        seed: 1,
    }
}

/// None, or one of some size.
fn breaker(random: &mut Rng) -> Breaker {
    let then = if random.usize(..2) == 0 {
        AtBreaker::Pause
    } else {
        AtBreaker::Stop
    };
    match random.usize(..3) {
        0 => Breaker::default(),
        1 => Breaker {
            tasks: NonZeroU32::new(3),
            attempts: None,
            then,
        },
        _ => Breaker {
            tasks: NonZeroU32::new(3),
            attempts: NonZeroU32::new(5),
            then,
        },
    }
}

/// Some tasks, of which some wait for others.
fn backlog(random: &mut Rng) -> Vec<Task> {
    let count = 1 + random.usize(..14);
    (1..=count)
        .map(|number| {
            let mut task = Task::new(number.to_string(), "Build");
            let before = (1..number)
                .filter(|_| random.usize(..100) < 20)
                .map(|before| before.to_string().into());
            task.dependencies = before.collect();
            task
        })
        .collect()
}

impl World {
    fn new(seed: u64) -> Self {
        let mut random = Rng::with_seed(seed);
        let tasks = backlog(&mut random);
        let tdd = if random.usize(..100) < 50 {
            TddMode::Auto
        } else {
            TddMode::Off
        };
        let plan = WavePlan::new(
            &tasks,
            &PlanOptions {
                tdd,
                ..PlanOptions::default()
            },
        )
        .expect("a plan");
        let slots = 1 + random.u32(..5);
        let mut limits = Limits::with_slots(NonZeroU32::new(slots).expect("slots"));
        limits.tests_at_once = NonZeroU32::new(1 + random.u32(..4)).expect("a place");
        limits.retries = random.u32(..3);
        limits.dispatch = if random.usize(..100) < 30 {
            Dispatch::Barrier
        } else {
            Dispatch::Rolling
        };
        limits.refactor = if random.usize(..100) < 30 {
            Refactor::On
        } else {
            Refactor::Off
        };
        limits.landing = if random.usize(..100) < 15 {
            Landing::Off
        } else {
            Landing::Each
        };
        if random.usize(..100) < 10 {
            limits.deadline = Some(Timestamp(random.u64(..200)));
        }
        limits.overlap = if random.usize(..100) < 30 {
            Overlap::Avoid
        } else {
            Overlap::Allow
        };
        limits.conflict_rounds = random.u32(..5);
        limits.choice = match seed % 4 {
            0 => Choice::FirstInOrder,
            _ => Choice::LookingAround,
        };
        limits.agents = roster(&mut random);
        limits.land_batch = NonZeroU32::new(1 + random.u32(..6)).expect("a batch");
        limits.breaker = breaker(&mut random);
        let failure_percent = [0, 5, 20, 50][random.usize(..4)];
        let requests = [0, 20, 100, 300][random.usize(..4)];
        let stride = [1, 1, 1, 7_000][random.usize(..4)];
        let one_by_one = Scheduler::new(plan.clone(), landing::one_by_one(&limits));
        let scheduler = Scheduler::new(plan, limits);
        Self {
            twin: scheduler.clone(),
            one_by_one,
            tested_ahead: TestedAhead::default(),
            scheduler,
            random,
            owed: Vec::new(),
            now: Timestamp(0),
            commits: 0,
            statuses: BTreeMap::new(),
            failure_percent,
            requests,
            tdd,
            added: 0,
            stride,
            hostile: None,
            ledger: Ledger::default(),
        }
    }

    fn input(&mut self, input: Input) {
        self.ledger.note_input(&input);
        let effects = self
            .scheduler
            .handle(self.now, input.clone())
            .expect("a legal input");
        let is_taken_up = matches!(input, Input::Resumed(_));
        let again = self
            .twin
            .handle(self.now, input.clone())
            .expect("a legal input");
        assert_eq!(effects, again, "the same inputs give the same effects");
        self.check_one_by_one(input, &effects);
        let starts = |effect: &Effect| match effect {
            Effect::Step { step, .. } => {
                matches!(
                    step,
                    AttemptStep::Prepare { .. } | AttemptStep::RunAgent { .. }
                )
            }
            Effect::SetStatus { .. } | Effect::Tell(_) => false,
        };
        assert!(
            !self.scheduler.is_paused() || !effects.iter().any(starts),
            "nothing is started while paused"
        );
        let prepares = |effect: &Effect| {
            matches!(
                effect,
                Effect::Step {
                    step: AttemptStep::Prepare { .. },
                    ..
                }
            )
        };
        let most = self.scheduler.limits().most_to_land.unwrap_or(u32::MAX);
        let [proving, landing] = [State::is_being_proven, State::is_landing].map(|is| {
            let states = self.scheduler.states.iter();
            count_u32(states.filter(|&state| is(state)).count())
        });
        let at_once = self.scheduler.limits().tests_at_once.get();
        assert!(
            is_taken_up
                || landing + proving.saturating_sub(at_once) < most
                || !effects.iter().any(prepares),
            "nothing is started while proofs and landings are far behind"
        );
        for effect in effects {
            self.perform(effect);
        }
        self.check();
    }

    /// Asks for something at random, of a task at random; what is refused changes nothing.
    fn request(&mut self) {
        let count = self.scheduler.states.len();
        let task = self.scheduler.id(TaskIndex(self.random.usize(..count)));
        let request = match self.random.usize(..12) {
            0 => Request::Pause,
            1..=3 => Request::Continue,
            4 | 5 => Request::StopTask {
                task,
                order: StopMode::Gently,
            },
            6..=8 => Request::Retry(task),
            9 => Request::Skip {
                task,
                dependants: Dependants::Blocked,
            },
            10 => Request::Skip {
                task,
                dependants: Dependants::Released,
            },
            _ => self.addition(),
        };
        if self.scheduler.refusal(&request).is_none() {
            self.input(Input::Request(request));
            return;
        }
        let before = self.scheduler.clone();
        assert!(
            self.scheduler
                .handle(self.now, Input::Request(request))
                .is_err()
        );
        let (after, seen) = (&self.scheduler, |run: &Scheduler| {
            (run.is_paused, run.pending_stops.clone())
        });
        assert_eq!(
            (&after.states, seen(after)),
            (&before.states, seen(&before)),
            "refused: nothing changes"
        );
    }

    fn addition(&mut self) -> Request {
        self.added += 1;
        let mut task = Task::new(format!("{}", 100 + self.added), "Build");
        let backlog: BTreeSet<TaskId> = self
            .scheduler
            .plan
            .tasks
            .iter()
            .map(|placed| placed.task.backlog_id.clone())
            .collect();
        task.dependencies = backlog
            .into_iter()
            .filter(|_| self.random.usize(..100) < 15)
            .collect();
        Request::Add(if self.added > 5 {
            vec![self.scheduler.plan.tasks[0].task.clone()]
        } else {
            pair(&[&task], self.tdd, RedStart::AfterDependencies).tasks
        })
    }

    fn perform(&mut self, effect: Effect) {
        match effect {
            Effect::Step {
                task,
                attempt,
                step,
            } => self.perform_step(task, attempt, step),
            Effect::SetStatus { task, status } => {
                self.statuses.insert(task, status);
            }
            Effect::Tell(event) => {
                self.ledger.hear(&event, self.now);
                // A run that had ended with enough of the same counts anew when it is taken up.
                if matches!(event, Event::RunResumed { .. }) && self.scheduler.streak.is_none() {
                    self.ledger.count_nothing_before();
                }
            }
        }
    }

    fn perform_step(&mut self, task: TaskId, attempt: AttemptNumber, step: AttemptStep) {
        match step {
            AttemptStep::Prepare { must_contain, .. } => {
                let placed = self.scheduler.task(&task).expect("a task").placed;
                let needed = placed
                    .task
                    .dependencies
                    .iter()
                    .filter(|id| !self.is_left_out(id))
                    .count();
                assert_eq!(
                    must_contain.len(),
                    needed,
                    "`{task}` starts from all it needs"
                );
                let is_single = self.scheduler.limits().slots == NonZeroU32::MIN;
                let is_on_its_way =
                    |view: TaskView<'_>| view.state.is_being_proven() || view.state.is_landing();
                assert!(
                    !is_single || !self.scheduler.tasks().any(is_on_its_way),
                    "`{task}` is prepared while work is proven or lands"
                );
                self.check_apart(&task);
                self.owed.push((task, attempt, Owed::Prepare));
            }
            AttemptStep::RunAgent { .. } => {
                let account = self.account(&task);
                self.ledger.check_breaker(self.scheduler.limits());
                self.ledger
                    .check_start(&task, &account, self.scheduler.limits().retries, self.now);
                self.owed.push((task, attempt, Owed::Agent));
            }
            AttemptStep::Adopt { .. } => self.owed.push((task, attempt, Owed::Agent)),
            AttemptStep::Refactor { commit, .. } => {
                self.owed.push((task, attempt, Owed::Refactor(commit)));
            }
            AttemptStep::Prove => self.owed.push((task, attempt, Owed::Proof)),
            AttemptStep::Commit => self.owed.push((task, attempt, Owed::Commit)),
            AttemptStep::TestAhead { on_top_of, commit } => {
                self.check_ahead(&task, (&on_top_of, &commit));
            }
            AttemptStep::Land { .. } => {
                self.tested_ahead.end(&task);
                assert!(
                    !self
                        .owed
                        .iter()
                        .any(|(_, _, owed)| matches!(owed, Owed::Landing)),
                    "one landing at a time"
                );
                self.owed.push((task, attempt, Owed::Landing));
            }
            AttemptStep::StopAgent(_) | AttemptStep::Release(_) => {}
        }
    }

    fn is_left_out(&self, id: &TaskId) -> bool {
        matches!(
            self.scheduler.task(id).expect("a task").state,
            State::Skipped {
                dependants: Dependants::Released
            }
        )
    }

    fn account(&self, task: &TaskId) -> AccountName {
        let view = self.scheduler.task(task).expect("a task");
        let agent = view
            .attempts
            .last()
            .map(|record| &record.agent)
            .expect("an agent");
        let candidate = self
            .scheduler
            .limits()
            .agents
            .candidate(view.placed.task.phase, agent);
        candidate
            .expect("only who may do such work does it")
            .account
            .clone()
    }

    fn check(&self) {
        assert!(
            self.scheduler.slots_in_use() <= self.scheduler.limits().slots.get(),
            "never more than the slots"
        );
        let is_improved = self.scheduler.limits().refactor == Refactor::On;
        let in_slots = (self.scheduler.tasks())
            .filter(|view| {
                let is_green = view.placed.task.phase == Phase::Green;
                let is_coming = view.state.is_being_proven() && is_green && is_improved;
                view.state.has_agent() || *view.state == State::Preparing || is_coming
            })
            .count();
        assert_eq!(in_slots, self.scheduler.slots_in_use() as usize);
        for view in self.scheduler.tasks() {
            if view.state.has_worktree() {
                for dependency in &view.placed.task.dependencies {
                    self.check_satisfied(view, dependency);
                }
            }
        }
    }

    /// Says in words of its own, apart from the machine's, when a dependency is satisfied.
    fn check_satisfied(&self, view: TaskView<'_>, dependency: &TaskId) {
        let before = self
            .scheduler
            .task(dependency)
            .expect("a dependency is planned");
        let is_its_red = view.placed.task.phase == Phase::Green
            && view.placed.task.pair.as_ref() == Some(dependency);
        let is_satisfied = match before.state {
            State::Landed { .. }
            | State::Skipped {
                dependants: Dependants::Released,
            } => true,
            State::Held { .. } => is_its_red || self.scheduler.limits().landing == Landing::Off,
            _ => false,
        };
        assert!(
            is_satisfied,
            "`{}` starts before `{dependency}` has landed",
            view.placed.task.id
        );
    }

    fn commit(&mut self) -> CommitId {
        self.commits += 1;
        CommitId::new(format!("c{}", self.commits))
    }

    fn answer_one(&mut self) {
        let (task, attempt, owed) = self.owed.swap_remove(self.random.usize(..self.owed.len()));
        let fails = self.random.usize(..100) < self.failure_percent;
        if self.random.usize(..400) == 0 {
            return self.input(Input::Answer {
                task,
                attempt,
                answer: Answer::InfrastructureFailed("disk full".into()),
            });
        }
        if let Some(answer) = self
            .hostile
            .and_then(|hostile| self.hostile_answer(hostile, &task, &owed))
        {
            return self.input(Input::Answer {
                task,
                attempt,
                answer,
            });
        }
        let answer = match (owed, fails) {
            (Owed::Prepare, false) => Answer::Prepared(Place {
                branch: crate::BranchName::new("b").expect("a name"),
                base: self.commit(),
                worktree: "w".into(),
            }),
            (Owed::Prepare, true) if self.random.usize(..100) < 50 => {
                Answer::PrepareRefused(PrepareRefusal::Conflict {
                    files: vec!["f".into()],
                })
            }
            (Owed::Prepare, true) => Answer::PrepareRefused(PrepareRefusal::Failed("disk".into())),
            (Owed::Agent, _) => self.agent_end(&task, fails),
            (Owed::Proof, false) => Answer::Proved(Proof {
                touched: vec![self.file()],
                ..Proof::default()
            }),
            (Owed::Proof, true) => {
                let failure = match Failure::ALL[self.random.usize(..Failure::ALL.len())] {
                    // Of accounts agents alone tell.
                    Failure::RateLimited | Failure::Auth => Failure::GateFailed,
                    failure => failure,
                };
                Answer::Proved(Proof {
                    failure: Some(failure),
                    ..self.doubtful()
                })
            }
            (Owed::Commit, false) => Answer::Committed {
                commit: self.commit(),
                proof: None,
            },
            (Owed::Commit, true) if self.random.usize(..100) < 50 => {
                Answer::WorkLost("gone".into())
            }
            (Owed::Commit, true) => Answer::CommitRefused("hook".into()),
            (Owed::Refactor(commit), fails) => Answer::Refactored(Box::new(Refactored {
                commit: if fails { commit } else { self.commit() },
                report: None,
                proof: None,
                dropped: fails.then(|| "it broke a test".to_owned()),
            })),
            (Owed::Landing, false) => Answer::Landed {
                commit: self.commit(),
                resolution: None,
            },
            (Owed::Landing, true) => Answer::LandingRefused(LandingRefusal::Conflict {
                files: vec![self.file()],
                with: Vec::new(),
                mendable: self.random.bool(),
                tried: Vec::new(),
            }),
        };
        self.input(Input::Answer {
            task,
            attempt,
            answer,
        });
    }

    fn file(&mut self) -> String {
        ["f", "g", "h"][self.random.usize(..3)].to_owned()
    }

    /// What may be said of work that is refused: sometimes that tests of its RED are wrong.
    fn doubtful(&mut self) -> Proof {
        let reasons = [
            None,
            Some(Reason::RedTestsFail),
            Some(Reason::RedNotFailing),
            Some(Reason::TestMistake),
        ];
        let reason = reasons[self.random.usize(..reasons.len())];
        let red_failing = vec![["a", "b"][self.random.usize(..2)].to_owned()];
        Proof {
            red_failing,
            reason,
            ..Proof::default()
        }
    }

    fn agent_end(&mut self, task: &TaskId, fails: bool) -> Answer {
        let refusal = if fails { self.refusal(task) } else { None };
        let is_stopped =
            self.scheduler.stop_reason().is_some() || !self.scheduler.pending_stops.is_empty();
        let ended = match (
            is_stopped && self.random.usize(..100) < 50,
            fails,
            self.random.usize(..4),
        ) {
            (true, _, _) => Ended::Killed,
            (false, false, _) => Ended::Exited(Some(0)),
            (false, true, 0) => Ended::Lost,
            (false, true, 1) => Ended::TimedOut,
            (false, true, _) => Ended::Exited(Some(1)),
        };
        if ended == Ended::Exited(Some(0)) {
            let account = self.account(task);
            let mut limited = self.scheduler.cooldowns().map(|(account, _)| account);
            let is_limited = limited.any(|limited| *limited == account);
            (self.ledger).note_answered((account, task), is_limited, self.now);
        }
        let attempts = self.scheduler.task(task).map(|view| view.attempts);
        let last = attempts.and_then(<[AttemptRecord]>::last);
        let began = last.map_or(self.now, |record| record.started_at);
        Answer::AgentEnded(AgentReport {
            refusal,
            ..AgentReport::new("simulated", began, self.now, ended)
        })
    }

    /// Makes some failures refusals by the service behind the agent of a task.
    fn refusal(&mut self, task: &TaskId) -> Option<ServiceRefusal> {
        let account = self.account(task);
        match self.random.usize(..12) {
            0..=2 => {
                let most = [200, 60_000, 48 * 3_600_000][self.random.usize(..3)];
                let until = Some(self.now.plus(self.random.u64(..most)));
                self.ledger.note_limit((account, task), until, self.now);
                Some(ServiceRefusal::RateLimited { until })
            }
            3 => {
                self.ledger.note_limit((account, task), None, self.now);
                Some(ServiceRefusal::RateLimited { until: None })
            }
            4 => {
                self.ledger.note_refused(account, task, self.now);
                Some(ServiceRefusal::Auth)
            }
            5 => Some(ServiceRefusal::ContextTooLong),
            6 => Some(ServiceRefusal::RefusedByModel),
            7 => Some(ServiceRefusal::ServiceError),
            8 => Some(ServiceRefusal::ConnectionLost),
            _ => None,
        }
    }

    /// What comes in one batch with the end of the run changes nothing.
    fn answer_late(&mut self) {
        for (task, attempt, _) in std::mem::take(&mut self.owed) {
            let before = format!("{:?}", self.scheduler);
            let late = Input::Answer {
                task,
                attempt,
                answer: Answer::WorkLost("too late".to_owned()),
            };
            let effects = self.scheduler.handle(self.now, late);
            assert_eq!(effects.expect("no harm"), Vec::new());
            assert_eq!(format!("{:?}", self.scheduler), before);
        }
    }

    /// The process dies: what was owed is owed by nobody, and the next process takes over.
    fn crash(&mut self) {
        self.owed.clear();
        self.tested_ahead = TestedAhead::default();
        let limits = Limits {
            deadline: None,
            ..self.scheduler.limits().clone()
        };
        self.input(Input::Resumed(limits));
    }

    fn run(&mut self) {
        self.input(Input::Begin);
        for _ in 0..100_000 {
            if let Some(status) = self.scheduler.ended() {
                if status == RunStatus::Completed || status == RunStatus::Failed {
                    return;
                }
                assert!(
                    self.statuses
                        .values()
                        .all(|status| *status != Status::InProgress)
                );
                self.answer_late();
                self.crash();
                continue;
            }
            self.now = self.now.plus(self.stride);
            if self.random.usize(..1_000) < self.requests {
                self.request();
                continue;
            }
            match self.random.usize(..200) {
                0 => self.crash(),
                1 if self.hostile.is_none() => self.input(Input::Stop(StopMode::Gently)),
                2 if self.hostile.is_none() => self.input(Input::Stop(StopMode::Now)),
                _ if self.owed.is_empty()
                    && self.scheduler.next_wake().is_none()
                    && self.scheduler.is_paused() =>
                {
                    self.input(Input::Request(Request::Continue));
                }
                _ if self.owed.is_empty() => {
                    let wake = self
                        .scheduler
                        .next_wake()
                        .expect("a run that goes on waits for something");
                    self.now = self.now.max(wake);
                    self.input(Input::Tick);
                }
                3 | 4 => self.foresee(),
                _ => self.answer_one(),
            }
        }
        panic!("the run does not end");
    }

    fn check_end(&self) {
        for view in self.scheduler.tasks() {
            let id = &view.placed.task.id;
            assert!(view.state.is_settled(), "`{id}` settled");
            let failed_before: BTreeSet<TaskId> = self.failed_before(id);
            if let State::Blocked { by } = view.state {
                assert_eq!(*by, failed_before, "`{id}` says by what it is blocked");
            } else {
                assert!(
                    failed_before.is_empty()
                        || matches!(view.state, State::Failed { .. } | State::Skipped { .. }),
                    "`{id}` is blocked by {failed_before:?}"
                );
            }
        }
        self.check_conflicts();
        let records = || self.scheduler.tasks().flat_map(|view| view.attempts);
        let cooling = records().filter(|record| record.failure() == Some(Failure::RateLimited));
        assert!(
            cooling
                .map(AttemptRecord::is_charged)
                .all(|charged| !charged),
            "a wall is not charged"
        );
        for view in self.scheduler.tasks() {
            let causes: Vec<Reason> = view
                .attempts
                .iter()
                .filter_map(|record| record.failed()?.questioned)
                .collect();
            let different: BTreeSet<Reason> = causes.iter().copied().collect();
            assert!(
                causes.len() <= 2 && different.len() == causes.len(),
                "questioned for {causes:?}"
            );
        }
        assert!(
            self.statuses
                .values()
                .all(|status| *status != Status::InProgress),
            "no status is left in-progress"
        );
        let done = |view: &TaskView<'_>| matches!(view.state, State::Landed { .. });
        for view in self.scheduler.tasks().filter(done) {
            assert_eq!(
                self.statuses.get(&view.placed.task.backlog_id),
                Some(&Status::Done)
            );
        }
    }
}

#[test]
fn every_run_of_thousands_of_seeds_keeps_the_invariants() {
    for seed in 0..SEEDS {
        let outcome = std::panic::catch_unwind(|| {
            let mut world = World::new(seed);
            world.run();
            world.check_end();
        });
        assert!(outcome.is_ok(), "seed {seed}");
    }
}
