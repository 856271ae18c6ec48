//! Scheduling as scripts: what comes in, and every effect that goes out, one a line.

mod bounds;
mod breaker;
mod choosing;
mod conflicts;
mod cooldowns;
mod landing;
mod questions;
mod refactoring;
mod replaying;
mod resuming;
mod steering;

use super::*;
use crate::{
    AgentReport, Answer, AttemptStep, CommitId, Dispatch, Edition, Ended, Failure, LandingRefusal,
    PlanOptions, PrepareRefusal, Proof, StopMode, Task, TddMode,
};
use std::num::NonZeroU32;

/// One run under a script, with a clock that moves only when told.
struct Script {
    scheduler: Scheduler,
    now: Timestamp,
}

impl Script {
    fn new(edges: &[(&str, &[&str])], tdd: TddMode, slots: u32) -> Self {
        Self::with_limits(
            edges,
            tdd,
            Limits::with_slots(NonZeroU32::new(slots).expect("slots")),
        )
    }

    fn with_limits(edges: &[(&str, &[&str])], tdd: TddMode, limits: Limits) -> Self {
        let tasks: Vec<Task> = edges
            .iter()
            .map(|(id, dependencies)| {
                let mut task = Task::new(*id, "Build");
                task.dependencies = dependencies.iter().map(|&id| id.into()).collect();
                task
            })
            .collect();
        let plan = WavePlan::new(
            &tasks,
            &PlanOptions {
                tdd,
                ..PlanOptions::default()
            },
        )
        .expect("a plan");
        Self {
            scheduler: Scheduler::new(plan, limits),
            now: Timestamp(0),
        }
    }

    fn gives(&mut self, input: Input, expected: &[&str]) {
        let shown = format!("{input:?}");
        let effects = self
            .scheduler
            .handle(self.now, input)
            .expect("a legal input");
        let lines: Vec<String> = effects.iter().map(line).collect();
        assert_eq!(lines, expected, "after {shown}");
    }

    fn answer(&mut self, task: &str, answer: Answer, expected: &[&str]) {
        let attempt = AttemptNumber(count_u32(
            self.scheduler
                .task(&task.into())
                .expect("a task")
                .attempts
                .len(),
        ));
        self.gives(
            Input::Answer {
                task: task.into(),
                attempt,
                answer,
            },
            expected,
        );
    }

    /// Takes a task from `Prepared` to where its commit is waited for; the next one starts when its agent ends.
    fn work_before(&mut self, task: &str, next: &str) {
        self.answer(
            task,
            prepared(),
            &[
                &format!("say attempt:started {task}"),
                &format!("run {task}#1"),
            ],
        );
        self.answer(
            task,
            exited(0),
            &[
                &format!("prove {task}#1"),
                &format!("say task:started {next} none"),
                &format!("status {next} in-progress"),
                &format!("prepare {next}#1 on [] with []"),
            ],
        );
        self.answer(
            task,
            proved(None),
            &[&format!("say test:run {task}"), &format!("commit {task}#1")],
        );
    }

    /// Takes a task from `Prepared` to where its commit is waited for, none of which does anything for others.
    fn work(&mut self, task: &str) {
        let number = self
            .scheduler
            .task(&task.into())
            .expect("a task")
            .attempts
            .len();
        self.answer(
            task,
            prepared(),
            &[
                &format!("say attempt:started {task}"),
                &format!("run {task}#{number}"),
            ],
        );
        self.answer(task, exited(0), &[&format!("prove {task}#{number}")]);
        self.answer(
            task,
            proved(None),
            &[
                &format!("say test:run {task}"),
                &format!("commit {task}#{number}"),
            ],
        );
    }
}

fn line(effect: &Effect) -> String {
    let (task, attempt, step) = match effect {
        Effect::Step {
            task,
            attempt,
            step,
        } => (task, attempt, step),
        Effect::SetStatus { task, status } => return format!("status {task} {status}"),
        Effect::Tell(event) => return format!("say {}", describe(event)),
    };
    match step {
        AttemptStep::Prepare {
            on_top_of,
            must_contain,
        } => {
            let list = |commits: &[CommitId]| {
                commits
                    .iter()
                    .map(CommitId::as_str)
                    .collect::<Vec<_>>()
                    .join(",")
            };
            format!(
                "prepare {task}#{attempt} on [{}] with [{}]",
                list(on_top_of),
                list(must_contain)
            )
        }
        AttemptStep::RunAgent { .. } => format!("run {task}#{attempt}"),
        AttemptStep::Adopt { .. } => format!("adopt {task}#{attempt}"),
        AttemptStep::StopAgent(StopMode::Gently) => format!("stop {task} after grace"),
        AttemptStep::StopAgent(StopMode::Now) => format!("stop {task} now"),
        AttemptStep::Prove => format!("prove {task}#{attempt}"),
        AttemptStep::Commit => format!("commit {task}#{attempt}"),
        AttemptStep::Refactor { commit, .. } => format!("refactor {task}#{attempt} {commit}"),
        AttemptStep::Land { commit } => format!("land {task}#{attempt} {commit}"),
        AttemptStep::TestAhead { on_top_of, commit } => {
            let on_top_of = on_top_of.iter().map(CommitId::as_str);
            let on_top_of = on_top_of.collect::<Vec<_>>().join(",");
            format!("test ahead {task}#{attempt} {commit} on [{on_top_of}]")
        }
        AttemptStep::Release(keep) => format!("release {task}#{attempt} {keep:?}"),
    }
}

fn describe(event: &Event) -> String {
    match event {
        Event::RunStarted { tasks, waves, .. } => format!("run:started {tasks} in {waves}"),
        Event::RunResumed { landed, under_way } => {
            format!("run:resumed {landed} landed, {under_way} under way")
        }
        Event::WaveOpened { wave, tasks } => format!("wave:opened {wave} of {tasks}"),
        Event::TaskStarted { task, phase, .. } => format!("task:started {task} {phase}"),
        Event::AttemptStarted { task, .. } => format!("attempt:started {task}"),
        Event::AttemptEnded { task, failure, .. } => {
            format!(
                "attempt:ended {task} {}",
                failure.map_or("well", Failure::as_str)
            )
        }
        Event::TestRun { task, .. } => format!("test:run {task}"),
        Event::CommitCreated { task, .. } => format!("commit:created {task}"),
        Event::RefactorEnded {
            task,
            commit,
            dropped,
        } => {
            format!(
                "refactor:ended {task} {commit}{}",
                if dropped.is_some() { " dropped" } else { "" }
            )
        }
        Event::TaskWaiting { task, until, .. } => format!("task:waiting {task} until {}", until.0),
        Event::TaskOverBudget { task } => format!("task:over-budget {task}"),
        Event::AgentLimited {
            agent,
            account,
            until,
            declared,
        } => {
            format!(
                "agent:limited {agent} of {account} until {}{}",
                until.0,
                if *declared { " declared" } else { "" }
            )
        }
        Event::LandingBehind { queued } => format!("landing:behind {queued}"),
        Event::LandingCaughtUp => "landing:caught-up".to_owned(),
        Event::AgentAvailable { account } => format!("agent:available {account}"),
        Event::AgentRefused {
            agent,
            account,
            what_to_do,
        } => {
            format!("agent:refused {agent} of {account} {what_to_do}")
        }
        Event::ConflictAhead { task, files, .. } => {
            format!("task:conflict-ahead {task} {}", files.join(","))
        }
        Event::TaskLanded { task, .. } => format!("task:landed {task}"),
        Event::TaskFailed { task, failure, .. } => format!("task:failed {task} {failure}"),
        Event::TaskBlocked { task, by } => {
            format!(
                "task:blocked {task} by {}",
                by.iter().map(TaskId::as_str).collect::<Vec<_>>().join(",")
            )
        }
        Event::TaskStopping { task, .. } => format!("task:stopping {task}"),
        Event::TaskSkipped { task, dependants } => format!("task:skipped {task} {dependants:?}"),
        Event::TaskReopened { task } => format!("task:reopened {task}"),
        Event::TaskUnblocked { task } => format!("task:unblocked {task}"),
        Event::TaskAdded {
            task, phase, wave, ..
        } => format!("task:added {task} {phase} in {wave}"),
        Event::RunPaused { why: None } => "run:paused".to_owned(),
        Event::RunPaused { why: Some(why) } => format!("run:paused because {why}"),
        Event::RunContinued => "run:continued".to_owned(),
        Event::RunStopping { why } => format!("run:stopping {why:?}"),
        Event::RunEnded { status, exit_code } => {
            format!("run:ended {} {exit_code}", status.as_str())
        }
    }
}

fn prepared() -> Answer {
    Answer::Prepared(Place {
        branch: crate::BranchName::new("b").expect("a name"),
        base: "base".into(),
        worktree: "w".into(),
    })
}

fn ended(ended: Ended) -> Answer {
    Answer::AgentEnded(AgentReport::new(
        "scripted",
        Timestamp(0),
        Timestamp(0),
        ended,
    ))
}

fn exited(code: i32) -> Answer {
    ended(Ended::Exited(Some(code)))
}

fn proved(failure: Option<Failure>) -> Answer {
    Answer::Proved(Proof {
        failure,
        ..Proof::default()
    })
}

fn committed(commit: &str) -> Answer {
    Answer::Committed {
        commit: commit.into(),
        proof: None,
    }
}

fn landed(commit: &str) -> Answer {
    Answer::Landed {
        commit: commit.into(),
        resolution: None,
    }
}

#[test]
fn a_pair_lands_together_and_only_then_do_its_dependants_start() {
    let mut script = Script::new(&[("1", &[]), ("2", &["1"])], TddMode::Auto, 5);
    script.gives(
        Input::Begin,
        &[
            "say run:started 4 in 4",
            "say wave:opened 1 of 1",
            "say task:started 1:red red",
            "status 1 in-progress",
            "prepare 1:red#1 on [] with []",
        ],
    );
    script.work("1:red");
    script.answer(
        "1:red",
        committed("red1"),
        &[
            "say commit:created 1:red",
            "release 1:red#1 Nothing",
            "say attempt:ended 1:red well",
            "say wave:opened 2 of 1",
            "say task:started 1 green",
            "prepare 1#1 on [red1] with [red1]",
        ],
    );
    script.work("1");
    script.answer(
        "1",
        committed("green1"),
        &[
            "say commit:created 1",
            "release 1#1 Nothing",
            "land 1#1 green1",
        ],
    );
    script.answer(
        "1",
        landed("merge1"),
        &[
            "say attempt:ended 1 well",
            "say task:landed 1:red",
            "status 1 done",
            "say task:landed 1",
            "say wave:opened 3 of 1",
            "say task:started 2:red red",
            "status 2 in-progress",
            "prepare 2:red#1 on [] with [green1]",
        ],
    );
}

#[test]
fn a_failed_task_is_retried_and_then_blocks_only_its_dependants() {
    let mut limits = Limits::with_slots(NonZeroU32::new(1).expect("slots"));
    limits.retries = 1;
    let mut script = Script::with_limits(
        &[("1", &[]), ("2", &["1"]), ("3", &[])],
        TddMode::Off,
        limits,
    );
    script.gives(
        Input::Begin,
        &[
            "say run:started 3 in 2",
            "say wave:opened 1 of 2",
            "say task:started 1 none",
            "status 1 in-progress",
            "prepare 1#1 on [] with []",
        ],
    );
    script.answer("1", prepared(), &["say attempt:started 1", "run 1#1"]);
    script.answer(
        "1",
        exited(7),
        &[
            "release 1#1 Salvage",
            "say attempt:ended 1 no-result",
            "prepare 1#2 on [] with []",
        ],
    );
    script.answer("1", prepared(), &["say attempt:started 1", "run 1#2"]);
    script.answer("1", exited(0), &["prove 1#2"]);
    script.answer(
        "1",
        proved(Some(Failure::Regression)),
        &[
            "say test:run 1",
            "release 1#2 Salvage",
            "say attempt:ended 1 regression",
            "say task:failed 1 regression",
            "status 1 pending",
            "say task:blocked 2 by 1",
            "say task:started 3 none",
            "status 3 in-progress",
            "prepare 3#1 on [] with []",
        ],
    );
    script.work("3");
    script.answer(
        "3",
        committed("c3"),
        &["say commit:created 3", "release 3#1 Nothing", "land 3#1 c3"],
    );
    script.answer(
        "3",
        landed("m3"),
        &[
            "say attempt:ended 3 well",
            "say task:landed 3",
            "status 3 done",
            "say run:ended failed 3",
        ],
    );
    assert_eq!(script.scheduler.ended(), Some(RunStatus::Failed));
}

#[test]
fn a_barrier_opens_a_wave_when_the_one_before_has_settled() {
    let mut limits = Limits::with_slots(NonZeroU32::new(2).expect("slots"));
    limits.dispatch = Dispatch::Barrier;
    let mut script = Script::with_limits(
        &[("1", &[]), ("2", &["1"]), ("3", &[])],
        TddMode::Off,
        limits,
    );
    script
        .scheduler
        .handle(Timestamp(0), Input::Begin)
        .expect("begins");
    script.work("1");
    script.work("3");
    script.answer(
        "1",
        committed("c1"),
        &["say commit:created 1", "release 1#1 Nothing", "land 1#1 c1"],
    );
    script.answer(
        "1",
        landed("m1"),
        &[
            "say attempt:ended 1 well",
            "say task:landed 1",
            "status 1 done",
        ],
    );
    script.answer(
        "3",
        committed("c3"),
        &["say commit:created 3", "release 3#1 Nothing", "land 3#1 c3"],
    );
    script.answer(
        "3",
        landed("m3"),
        &[
            "say attempt:ended 3 well",
            "say task:landed 3",
            "status 3 done",
            "say wave:opened 2 of 1",
            "say task:started 2 none",
            "status 2 in-progress",
            "prepare 2#1 on [] with [c1]",
        ],
    );
}

#[test]
fn landings_queue_one_behind_the_other_and_a_conflict_is_retried() {
    let mut script = Script::new(&[("1", &[]), ("2", &[])], TddMode::Off, 2);
    script
        .scheduler
        .handle(Timestamp(0), Input::Begin)
        .expect("begins");
    script.work("1");
    script.work("2");
    script.answer(
        "2",
        committed("c2"),
        &["say commit:created 2", "release 2#1 Nothing", "land 2#1 c2"],
    );
    script.answer(
        "1",
        committed("c1"),
        &["say commit:created 1", "release 1#1 Nothing"],
    );
    script.answer(
        "2",
        landed("m2"),
        &[
            "say attempt:ended 2 well",
            "say task:landed 2",
            "status 2 done",
            "land 1#1 c1",
        ],
    );
    let refusal = LandingRefusal::Conflict {
        files: vec!["a.txt".into()],
        with: vec!["2".into()],
        mendable: false,
        tried: Vec::new(),
    };
    script.answer(
        "1",
        Answer::LandingRefused(refusal),
        &["say attempt:ended 1 conflict", "prepare 1#2 on [] with []"],
    );
    let record = &script.scheduler.task(&"1".into()).expect("a task").attempts[0];
    assert_eq!(
        record.evidence(),
        "conflicts with the landed work of `2` in: a.txt"
    );
}

#[test]
fn a_red_that_conflicts_with_what_has_landed_is_done_again_before_its_green() {
    let mut script = Script::new(&[("1", &[])], TddMode::Auto, 2);
    script
        .scheduler
        .handle(Timestamp(0), Input::Begin)
        .expect("begins");
    script.work("1:red");
    let attempt = AttemptNumber(1);
    script
        .scheduler
        .handle(
            Timestamp(0),
            Input::Answer {
                task: "1:red".into(),
                attempt,
                answer: committed("red1"),
            },
        )
        .expect("held");
    let refusal = PrepareRefusal::Conflict {
        files: vec!["t".into()],
    };
    script.answer(
        "1",
        Answer::PrepareRefused(refusal),
        &[
            "release 1#1 Nothing",
            "say attempt:ended 1:red conflict",
            "prepare 1:red#2 on [] with []",
        ],
    );
    assert_eq!(
        script.scheduler.task(&"1".into()).expect("a task").state,
        &State::Waiting { unmet: 1 }
    );
}

#[test]
fn a_pause_is_over_at_its_moment_and_not_before() {
    let mut script = Script::new(&[("1", &[])], TddMode::Off, 1);
    script
        .scheduler
        .handle(Timestamp(0), Input::Begin)
        .expect("begins");
    script.now = Timestamp(500);
    script.answer(
        "1",
        Answer::PrepareRefused(PrepareRefusal::Failed("no space left".into())),
        &[
            "release 1#1 Salvage",
            "say attempt:ended 1 not-started",
            "say task:waiting 1 until 1500",
        ],
    );
    assert_eq!(script.scheduler.next_wake(), Some(Timestamp(1500)));
    script.now = Timestamp(1499);
    script.gives(Input::Tick, &[]);
    script.now = Timestamp(1500);
    script.gives(Input::Tick, &["prepare 1#2 on [] with []"]);
}

#[test]
fn a_gentle_stop_finishes_what_agents_finish_and_gives_the_rest_back() {
    let mut script = Script::new(&[("1", &[]), ("2", &[]), ("3", &[])], TddMode::Off, 2);
    script
        .scheduler
        .handle(Timestamp(0), Input::Begin)
        .expect("begins");
    script.answer("1", prepared(), &["say attempt:started 1", "run 1#1"]);
    script.answer("2", prepared(), &["say attempt:started 2", "run 2#1"]);
    script.gives(
        Input::Stop(StopMode::Gently),
        &[
            "say run:stopping Interrupted",
            "stop 1 after grace",
            "stop 2 after grace",
        ],
    );
    script.gives(Input::Stop(StopMode::Gently), &[]);
    script.answer("1", exited(0), &["prove 1#1"]);
    script.answer("1", proved(None), &["say test:run 1", "commit 1#1"]);
    script.answer(
        "2",
        ended(Ended::Killed),
        &["release 2#1 Salvage", "say attempt:ended 2 well"],
    );
    script.answer(
        "1",
        committed("c1"),
        &["say commit:created 1", "release 1#1 Nothing", "land 1#1 c1"],
    );
    script.answer(
        "1",
        landed("m1"),
        &[
            "say attempt:ended 1 well",
            "say task:landed 1",
            "status 1 done",
            "status 2 pending",
            "say run:ended interrupted 130",
        ],
    );
    let limits = script.scheduler.limits().clone();
    script.gives(
        Input::Resumed(limits),
        &[
            "say run:resumed 1 landed, 0 under way",
            "status 1 done",
            "status 2 pending",
            "status 2 in-progress",
            "prepare 2#2 on [] with []",
            "say task:started 3 none",
            "status 3 in-progress",
            "prepare 3#1 on [] with []",
        ],
    );
}

#[test]
fn a_stop_now_waits_for_agents_alone_and_the_next_process_asks_again_for_every_step() {
    let mut script = Script::new(&[("1", &[]), ("2", &[]), ("3", &[])], TddMode::Off, 3);
    script
        .scheduler
        .handle(Timestamp(0), Input::Begin)
        .expect("begins");
    script.answer("1", prepared(), &["say attempt:started 1", "run 1#1"]);
    script.answer("2", prepared(), &["say attempt:started 2", "run 2#1"]);
    script.answer("2", exited(0), &["prove 2#1"]);
    script.gives(
        Input::Stop(StopMode::Now),
        &["say run:stopping Interrupted", "stop 1 now"],
    );
    script.answer(
        "1",
        exited(0),
        &[
            "status 1 pending",
            "status 2 pending",
            "status 3 pending",
            "say run:ended interrupted 130",
        ],
    );
    let limits = script.scheduler.limits().clone();
    script.gives(
        Input::Resumed(limits),
        &[
            "say run:resumed 0 landed, 3 under way",
            "status 1 in-progress",
            "prove 1#1",
            "status 2 in-progress",
            "prove 2#1",
            "status 3 in-progress",
            "prepare 3#1 on [] with []",
        ],
    );
}

#[test]
fn a_deadline_starts_nothing_more_and_a_spent_budget_too() {
    let mut limits = Limits::with_slots(NonZeroU32::new(1).expect("slots"));
    limits.deadline = Some(Timestamp(1000));
    let mut script = Script::with_limits(&[("1", &[]), ("2", &[])], TddMode::Off, limits);
    script
        .scheduler
        .handle(Timestamp(0), Input::Begin)
        .expect("begins");
    script.work("1");
    script.now = Timestamp(1000);
    script.gives(Input::Tick, &["say run:stopping Deadline"]);
    script.answer(
        "1",
        committed("c"),
        &["say commit:created 1", "release 1#1 Nothing", "land 1#1 c"],
    );
    script.answer(
        "1",
        landed("m"),
        &[
            "say attempt:ended 1 well",
            "say task:landed 1",
            "status 1 done",
            "say run:ended stopped 6",
        ],
    );
}

#[test]
fn without_landing_dependants_start_on_top_of_the_branches_and_tasks_go_to_review() {
    let mut limits = Limits::with_slots(NonZeroU32::new(1).expect("slots"));
    limits.landing = Landing::Off;
    let mut script = Script::with_limits(&[("1", &[]), ("2", &["1"])], TddMode::Off, limits);
    script
        .scheduler
        .handle(Timestamp(0), Input::Begin)
        .expect("begins");
    script.work("1");
    script.answer(
        "1",
        committed("c1"),
        &[
            "say commit:created 1",
            "release 1#1 Nothing",
            "say attempt:ended 1 well",
            "status 1 review",
            "say wave:opened 2 of 1",
            "say task:started 2 none",
            "status 2 in-progress",
            "prepare 2#1 on [c1] with [c1]",
        ],
    );
}

#[test]
fn an_answer_that_can_not_come_is_an_error_and_changes_nothing() {
    let mut script = Script::new(&[("1", &[])], TddMode::Off, 1);
    script
        .scheduler
        .handle(Timestamp(0), Input::Begin)
        .expect("begins");
    for (attempt, answer) in [
        (1, landed("m")),
        (1, exited(0)),
        (2, prepared()),
        (0, prepared()),
    ] {
        let input = Input::Answer {
            task: "1".into(),
            attempt: AttemptNumber(attempt),
            answer,
        };
        script
            .scheduler
            .handle(Timestamp(0), input)
            .expect_err("an illegal input");
    }
    script.answer("1", prepared(), &["say attempt:started 1", "run 1#1"]);
}
