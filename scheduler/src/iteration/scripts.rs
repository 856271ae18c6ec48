//! Loops as scripts: what comes in, and every effect that goes out, one a line.

use super::*;
use crate::{Claim, ClaimStatus, Ended, ResultFile, ServiceRefusal, Status, TaskId};

struct Script {
    machine: Iteration,
    now: Timestamp,
    statuses: Vec<(&'static str, &'static str)>,
}

fn limits(iterations: u32) -> LoopLimits {
    let iterations = NonZeroU32::new(iterations).expect("iterations");
    LoopLimits {
        iterations,
        first: 1,
        sleep_ms: 5_000,
        retries: 3,
        deadline: None,
        max_cost_usd: None,
    }
}

fn well(message: &str) -> AgentEnd {
    AgentEnd {
        report: AgentReport::new(
            "scripted",
            Timestamp(0),
            Timestamp(7),
            Ended::Exited(Some(0)),
        ),
        final_message: message.to_owned(),
        prompt: String::new(),
        work: WorkChanges {
            commits: vec![("abc".into(), "did it".into())],
            files: 2,
            ..WorkChanges::default()
        },
    }
}

fn idle(message: &str) -> AgentEnd {
    AgentEnd {
        work: WorkChanges::default(),
        ..well(message)
    }
}

fn badly(ended: Ended) -> AgentEnd {
    let mut end = idle("");
    end.report.ended = ended;
    end
}

fn refused(refusal: ServiceRefusal) -> AgentEnd {
    let mut end = badly(Ended::Exited(Some(1)));
    end.report.refusal = Some(refusal);
    end
}

impl Script {
    fn new(statuses: &[&'static str], limits: LoopLimits) -> Self {
        Self::with(Goal::Backlog, Verification::Off, statuses, limits)
    }

    fn with(
        goal: Goal,
        verification: Verification,
        statuses: &[&'static str],
        limits: LoopLimits,
    ) -> Self {
        let ids = ["1", "2", "3", "4", "5"];
        let statuses = ids.into_iter().zip(statuses.iter().copied()).collect();
        Self {
            machine: Iteration::new(goal, verification, limits),
            now: Timestamp(0),
            statuses,
        }
    }

    fn set(&mut self, id: &str, status: &'static str) {
        self.statuses
            .iter_mut()
            .find(|(known, _)| *known == id)
            .expect("a task")
            .1 = status;
    }

    fn view(&self) -> BacklogView {
        let of = |wanted: &[&str]| -> Vec<TaskId> {
            self.statuses
                .iter()
                .filter(|(_, status)| wanted.contains(status))
                .map(|(id, _)| (*id).into())
                .collect()
        };
        BacklogView {
            statuses: self
                .statuses
                .iter()
                .map(|(id, status)| ((*id).into(), Status::from(*status)))
                .collect(),
            open: of(&["pending", "in-progress", "waiting"]),
            workable: of(&["pending", "in-progress"]),
        }
    }

    /// Gives an input and answers looks at the backlog itself.
    fn gives(&mut self, input: LoopInput, expected: &[&str]) {
        let shown = format!("{input:?}");
        let mut lines = Vec::new();
        let mut inputs = vec![input];
        while let Some(input) = inputs.pop() {
            for effect in self.machine.handle(self.now, input).expect("a legal input") {
                match effect {
                    LoopEffect::LookAtBacklog => inputs.push(LoopInput::Looked(self.view())),
                    LoopEffect::Sleep { until, .. } if until == self.now => {
                        inputs.push(LoopInput::Woke);
                    }
                    other => lines.push(line(&other)),
                }
            }
        }
        assert_eq!(lines, expected, "after {shown}");
    }

    fn begins(&mut self, expected: &[&str]) {
        self.gives(LoopInput::Begin, expected);
    }

    fn ends(&mut self, end: AgentEnd, expected: &[&str]) {
        self.gives(LoopInput::AgentEnded(end), expected);
    }

    fn wakes(&mut self, at: u64, expected: &[&str]) {
        self.now = Timestamp(at);
        self.gives(LoopInput::Woke, expected);
    }
}

fn line(effect: &LoopEffect) -> String {
    match effect {
        LoopEffect::LookAtBacklog => "look".to_owned(),
        LoopEffect::RunAgent { iteration, attempt } => format!("run {iteration}#{attempt}"),
        LoopEffect::Verify => "verify".to_owned(),
        LoopEffect::Record(record) => {
            format!(
                "{}#{} {}: {}",
                record.iteration,
                record.attempt,
                record.status.as_str(),
                record.message
            )
        }
        LoopEffect::Sleep {
            until,
            waits_out: None,
        } => format!("sleep until {}", until.0),
        LoopEffect::Sleep {
            until,
            waits_out: Some(failure),
        } => {
            format!("sleep until {} for {}", until.0, failure.as_str())
        }
        LoopEffect::StopStep => "stop step".to_owned(),
        LoopEffect::End { status, reason } => format!("end {status}: {reason}"),
    }
}

#[test]
fn a_loop_works_through_the_backlog_and_counts_what_the_backlog_says() {
    let mut script = Script::new(&["pending", "pending", "done"], limits(10));
    script.begins(&["run 1#1"]);
    script.set("1", "done");
    script.ends(
        well("Task 1 is finished."),
        &[
            "1#1 success: task 1 done; 1 commit, 2 files changed",
            "sleep until 5000",
        ],
    );
    script.wakes(5_000, &["run 2#1"]);
    script.set("2", "done");
    script.ends(
        well(""),
        &[
            "2#1 complete: task 2 done; 1 commit, 2 files changed; nothing is left to do",
            "end all_complete: nothing is left to do",
        ],
    );
    assert_eq!(
        (
            script.machine.tasks_completed(),
            script.machine.iterations()
        ),
        (2, 2)
    );
}

#[test]
fn nothing_is_started_where_nothing_is_open() {
    let mut script = Script::new(&["done", "cancelled"], limits(10));
    script.begins(&["end all_complete: nothing is left to do"]);
    let mut held_up = Script::new(&["waiting", "blocked"], limits(10));
    held_up.begins(&["end blocked: 1 open task waits for others that are not: 1"]);
}

#[test]
fn a_claim_that_the_backlog_contradicts_ends_nothing() {
    let mut script = Script::new(&["pending", "pending"], limits(2));
    script.begins(&["run 1#1"]);
    let lie = "<loop-complete>ALL_TASKS_DONE</loop-complete>";
    script.ends(
        idle(lie),
        &[
            "1#1 error: the agent says that everything is done, and 2 tasks are open: 1, 2; \
             no task was completed; no file changed",
            "sleep until 5000",
        ],
    );
    script.wakes(5_000, &["run 2#1"]);
    script.ends(
        idle("I finished task 1."),
        &[
            "2#1 error: nothing-done: neither a file nor a status changed",
            "end max_iterations: 2 iterations are used up",
        ],
    );
    assert_eq!(script.machine.tasks_completed(), 0);
}

#[test]
fn blocked_stops_with_the_reason_whatever_the_exit_code() {
    for mut end in [well(""), badly(Ended::Exited(Some(1)))] {
        end.final_message = "<loop-blocked>the database is down</loop-blocked>".to_owned();
        let mut script = Script::new(&["pending"], limits(5));
        script.begins(&["run 1#1"]);
        script.ends(
            end,
            &[
                "1#1 blocked: blocked: the database is down",
                "end blocked: the database is down",
            ],
        );
    }
}

#[test]
fn complete_of_an_agent_that_failed_is_not_believed() {
    let mut script = Script::with(Goal::Marker, Verification::Off, &[], limits(5));
    script.begins(&["run 1#1"]);
    let mut end = badly(Ended::Exited(Some(1)));
    end.final_message = "<loop-complete>ZERO_ERRORS</loop-complete>".to_owned();
    script.ends(
        end.clone(),
        &[
            "1#1 error: no-result: the agent ended with exit code 1 and left no result file",
            "sleep until 5000",
        ],
    );
    script.wakes(5_000, &["run 2#1"]);
    end.report.ended = Ended::Exited(Some(0));
    script.ends(
        end,
        &[
            "2#1 complete: complete: ZERO_ERRORS; no file changed",
            "end all_complete: the agent says ZERO_ERRORS",
        ],
    );
}

#[test]
fn failures_are_tried_again_and_too_many_in_a_row_end_the_loop() {
    let mut script = Script::new(
        &["pending"],
        LoopLimits {
            retries: 1,
            sleep_ms: 0,
            ..limits(9)
        },
    );
    script.begins(&["run 1#1"]);
    let failed = "1#1 error: timed-out: the attempt's time limit passed";
    let mut talkative = badly(Ended::TimedOut);
    talkative.report.last_words = "Compiling\nstill compiling\n\n".to_owned();
    script.ends(
        talkative,
        &[
            &format!("{failed}; it said last: still compiling"),
            "run 2#1",
        ],
    );
    script.ends(
        well(""),
        &[
            "2#1 success: no task was completed; 1 commit, 2 files changed",
            "run 3#1",
        ],
    );
    script.ends(
        badly(Ended::TimedOut),
        &[&failed.replace("1#1", "3#1"), "run 4#1"],
    );
    script.ends(
        badly(Ended::Stalled),
        &[
            "4#1 error: stalled: neither output nor file changes for the stall limit",
            "end error: 2 failures in a row, the last one: stalled: \
             neither output nor file changes for the stall limit",
        ],
    );
}

#[test]
fn what_trying_again_does_not_help_ends_the_loop_at_once() {
    for (end, name) in [
        (
            refused(ServiceRefusal::Auth),
            "auth: the service behind the agent refused the credentials",
        ),
        (
            badly(Ended::NotStarted("no such file".into())),
            "not-started: no such file",
        ),
    ] {
        let mut script = Script::new(&["pending"], limits(9));
        script.begins(&["run 1#1"]);
        script.ends(
            end,
            &[&format!("1#1 error: {name}"), &format!("end error: {name}")],
        );
    }
}

#[test]
fn a_full_disk_ends_the_loop_and_is_no_try_of_anybody() {
    let mut script = Script::new(&["pending"], limits(9));
    script.begins(&["run 1#1"]);
    let effects = script.machine.handle(
        script.now,
        LoopInput::InfrastructureFailed("the disk is full".into()),
    );
    let end = LoopEffect::End {
        status: LoopStatus::Surroundings,
        reason: "the disk is full".into(),
    };
    assert_eq!(effects, Ok(vec![end]));
    assert!(
        script.machine.records().is_empty()
            && crate::exit_code::of_loop(LoopStatus::Surroundings) == 1
    );
}

#[test]
fn a_reset_that_is_declared_for_another_year_is_asked_for_again_after_a_day() {
    let mut script = Script::new(&["pending"], limits(1));
    let words = "rate-limited: the service behind the agent refused: rate or usage limit";
    let cooldown = |until| {
        refused(ServiceRefusal::RateLimited {
            until: Some(Timestamp(until)),
        })
    };
    script.begins(&["run 1#1"]);
    script.ends(
        cooldown(u64::MAX),
        &[
            &format!("1#1 error: {words}"),
            "sleep until 86400000 for rate-limited",
        ],
    );
}

#[test]
fn nobody_asks_a_service_that_refused_another_lane_until_its_time_is_over() {
    let mut script = Script::new(&["pending"], limits(1));
    assert_eq!(script.machine.limited_until(), None);
    script.gives(LoopInput::LimitedElsewhere(Timestamp(40_000)), &[]);
    script.gives(LoopInput::Begin, &["sleep until 40000 for rate-limited"]);
    script.wakes(40_000, &["run 1#1"]);
    let refusal =
        "1#1 error: rate-limited: the service behind the agent refused: rate or usage limit";
    let limited = refused(ServiceRefusal::RateLimited { until: None });
    script.ends(limited, &[refusal, "sleep until 70000 for rate-limited"]);
    assert_eq!(script.machine.limited_until(), Some(Timestamp(70_000)));
    script.wakes(70_000, &["run 1#2"]);
    let mut late = Script::new(
        &["pending"],
        LoopLimits {
            deadline: Some(Timestamp(9_000)),
            ..limits(1)
        },
    );
    late.gives(LoopInput::LimitedElsewhere(Timestamp(40_000)), &[]);
    late.gives(
        LoopInput::Begin,
        &["end deadline: the time is used up before the next iteration"],
    );
}

#[test]
fn a_rate_limit_is_waited_out_and_uses_up_no_iteration() {
    let mut script = Script::new(
        &["pending"],
        LoopLimits {
            retries: 0,
            ..limits(1)
        },
    );
    let words = "rate-limited: the service behind the agent refused: rate or usage limit";
    let cooldown = |until| refused(ServiceRefusal::RateLimited { until });
    script.begins(&["run 1#1"]);
    script.ends(
        cooldown(None),
        &[
            &format!("1#1 error: {words}"),
            "sleep until 30000 for rate-limited",
        ],
    );
    script.wakes(30_000, &["run 1#2"]);
    script.ends(
        cooldown(None),
        &[
            &format!("1#2 error: {words}"),
            "sleep until 90000 for rate-limited",
        ],
    );
    script.wakes(90_000, &["run 1#3"]);
    let until = Some(Timestamp(500_000));
    script.ends(
        cooldown(until),
        &[
            &format!("1#3 error: {words}"),
            "sleep until 500000 for rate-limited",
        ],
    );
    script.wakes(500_000, &["run 1#4"]);
    script.set("1", "done");
    script.ends(
        well(""),
        &[
            "1#4 complete: task 1 done; 1 commit, 2 files changed; nothing is left to do",
            "end all_complete: nothing is left to do",
        ],
    );
    assert_eq!(script.machine.iterations(), 1);
}

#[test]
fn a_wall_beyond_the_deadline_is_not_waited_for() {
    let mut script = Script::new(
        &["pending"],
        LoopLimits {
            deadline: Some(Timestamp(20_000)),
            ..limits(9)
        },
    );
    script.begins(&["run 1#1"]);
    script.ends(
        refused(ServiceRefusal::RateLimited { until: None }),
        &[
            "1#1 error: rate-limited: the service behind the agent refused: rate or usage limit",
            "end deadline: the time is used up before the next iteration",
        ],
    );
}

#[test]
fn time_and_money_start_nothing_more() {
    let mut script = Script::new(
        &["pending"],
        LoopLimits {
            deadline: Some(Timestamp(0)),
            ..limits(9)
        },
    );
    script.begins(&["end deadline: the time is used up"]);
    let mut script = Script::new(
        &["pending"],
        LoopLimits {
            max_cost_usd: Some(1.0),
            ..limits(9)
        },
    );
    script.begins(&["run 1#1"]);
    script.gives(LoopInput::SpentElsewhere(0.75), &[]);
    let mut end = well("");
    end.report.cost_usd = Some(0.5);
    script.ends(
        end,
        &[
            "1#1 success: no task was completed; 1 commit, 2 files changed",
            "end budget: the budget is used up: 1.25 dollars",
        ],
    );
}

#[test]
fn tests_that_fail_keep_a_loop_from_being_complete() {
    let mut script = Script::with(
        Goal::Backlog,
        Verification::Each,
        &["pending"],
        LoopLimits {
            sleep_ms: 0,
            ..limits(9)
        },
    );
    script.begins(&["run 1#1"]);
    script.set("1", "done");
    script.ends(
        well("<loop-complete>ALL_TASKS_DONE</loop-complete>"),
        &["verify"],
    );
    let failed = LoopInput::Verified(Err("2 of 9 tests fail".to_owned()));
    script.gives(
        failed,
        &[
            "1#1 error: the tests do not pass: 2 of 9 tests fail",
            "run 2#1",
        ],
    );
    script.ends(well("Repaired."), &["verify"]);
    script.gives(
        LoopInput::Verified(Ok(())),
        &[
            "2#1 complete: no task was completed; 1 commit, 2 files changed; nothing is left to do",
            "end all_complete: nothing is left to do",
        ],
    );
}

#[test]
fn a_stop_ends_the_agent_and_then_the_loop() {
    let mut script = Script::with(Goal::Backlog, Verification::Each, &["pending"], limits(9));
    script.begins(&["run 1#1"]);
    script.gives(LoopInput::Stop, &["stop step"]);
    script.gives(LoopInput::Stop, &[]);
    script.ends(
        badly(Ended::Killed),
        &["1#1 interrupted: stopped", "end interrupted: stopped"],
    );
    let mut verifying = Script::with(Goal::Backlog, Verification::Each, &["pending"], limits(9));
    verifying.begins(&["run 1#1"]);
    verifying.ends(well(""), &["verify"]);
    verifying.gives(LoopInput::Stop, &["stop step"]);
    verifying.gives(
        LoopInput::Verified(Err("cut off".to_owned())),
        &[
            "1#1 success: no task was completed; 1 commit, 2 files changed",
            "end interrupted: stopped",
        ],
    );
    let mut sleeping = Script::new(&["pending"], limits(9));
    sleeping.begins(&["run 1#1"]);
    sleeping.ends(
        well(""),
        &[
            "1#1 success: no task was completed; 1 commit, 2 files changed",
            "sleep until 5000",
        ],
    );
    sleeping.gives(LoopInput::Stop, &["end interrupted: stopped"]);
}

#[test]
fn a_loop_that_was_cut_off_goes_on_counting() {
    let mut script = Script::new(
        &["pending"],
        LoopLimits {
            first: 4,
            sleep_ms: 0,
            ..limits(2)
        },
    );
    script.begins(&["run 4#1"]);
    script.ends(
        well(""),
        &[
            "4#1 success: no task was completed; 1 commit, 2 files changed",
            "run 5#1",
        ],
    );
    script.ends(
        well(""),
        &[
            "5#1 success: no task was completed; 1 commit, 2 files changed",
            "end max_iterations: 2 iterations are used up",
        ],
    );
}

#[test]
fn an_agent_that_says_itself_that_it_failed_is_an_error() {
    let mut script = Script::new(&["pending"], limits(9));
    script.begins(&["run 1#1"]);
    let mut end = well("");
    let issues = vec!["no compiler".to_owned()];
    end.report.result = ResultFile::Claimed(Claim {
        issues,
        ..Claim::of(ClaimStatus::Fail)
    });
    script.ends(
        end,
        &["1#1 error: claimed-fail: no compiler", "sleep until 5000"],
    );
}

#[test]
fn an_input_that_can_not_come_changes_nothing() {
    let mut machine = Iteration::new(Goal::Backlog, Verification::Off, limits(1));
    let before = machine.clone();
    for input in [
        LoopInput::Woke,
        LoopInput::Verified(Ok(())),
        LoopInput::Looked(BacklogView::default()),
    ] {
        machine.handle(Timestamp(0), input).expect_err("illegal");
        assert_eq!(machine, before);
    }
}

#[test]
fn a_subtask_does_not_count_as_a_task() {
    let view = |status: &str| BacklogView {
        statuses: [
            ("3", "pending"),
            ("3.1", status),
            ("3.2", "pending"),
            ("4", status),
        ]
        .map(|(id, status)| (id.into(), Status::from(status)))
        .into(),
        open: vec!["3".into()],
        workable: vec!["3".into()],
    };
    let mut machine = Iteration::new(Goal::Backlog, Verification::Off, limits(1));
    machine
        .handle(Timestamp(0), LoopInput::Begin)
        .expect("legal");
    machine
        .handle(Timestamp(0), LoopInput::Looked(view("pending")))
        .expect("legal");
    machine
        .handle(Timestamp(0), LoopInput::AgentEnded(well("")))
        .expect("legal");
    machine
        .handle(Timestamp(0), LoopInput::Looked(view("done")))
        .expect("legal");
    assert_eq!(
        (machine.tasks_completed(), machine.records()[0].tasks.len()),
        (1, 2)
    );
}

#[test]
fn a_backlog_that_can_not_be_read_ends_the_loop() {
    let lost = || LoopInput::Unreadable("the backlog can't be read".to_owned());
    let mut machine = Iteration::new(Goal::Backlog, Verification::Off, limits(9));
    machine
        .handle(Timestamp(0), LoopInput::Begin)
        .expect("legal");
    machine.handle(Timestamp(0), lost()).expect("legal");
    assert_eq!(machine.ended(), Some(LoopStatus::Error));
    let mut script = Script::new(&["pending"], limits(9));
    script.begins(&["run 1#1"]);
    script
        .machine
        .handle(Timestamp(0), LoopInput::AgentEnded(well("")))
        .expect("legal");
    script.gives(
        lost(),
        &[
            "1#1 error: the backlog can't be read",
            "end error: the backlog can't be read",
        ],
    );
}

#[test]
fn work_that_can_not_be_seen_is_not_taken_for_nothing() {
    let mut script = Script::new(&["pending"], limits(1));
    script.begins(&["run 1#1"]);
    let work = WorkChanges {
        unseen: Some("git refused".to_owned()),
        ..WorkChanges::default()
    };
    script.ends(
        AgentEnd { work, ..idle("") },
        &[
            "1#1 success: no task was completed; what changed could not be seen",
            "end max_iterations: 1 iteration is used up",
        ],
    );
}
