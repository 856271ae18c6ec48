//! A run of no-op tasks without worktrees, the journal on, against the bare spawn of the same program, in one run.
//!
//! Everything that a run does beside git is real: the scheduler decides, each input is journaled and flushed to disk
//! before its effects, each agent is a supervised process tree. What git would do is answered at once. Two numbers as
//! arguments are the tasks and the slots; else there are several of each.
#![expect(
    clippy::print_stdout,
    clippy::disallowed_methods,
    reason = "a benchmark prints, and spawns the floor itself"
)]

use std::num::NonZeroU32;
use std::path::Path;
use std::time::{Duration, Instant};
use tm_benches::layered_backlog;
use tm_executors::process::{ProcessTree, Stdin, TreeCommand};
use tm_scheduler::{
    AgentReport, Answer, AttemptNumber, AttemptStep, Effect, Ended, Input, Limits, Place,
    PlanOptions, Proof, Scheduler, TaskId, TddMode, Timestamp, WavePlan,
};
use tm_store::run::JournalWriter;
use tokio::sync::mpsc;

const PROGRAM: &str = "/bin/true";

fn main() {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()
        .expect("a runtime");
    println!(
        "{:>6} {:>6} {:>14} {:>14} {:>7}",
        "tasks", "slots", "floor ms/task", "tm ms/task", "ratio"
    );
    let wanted: Vec<u32> = (std::env::args().filter_map(|word| word.parse().ok())).collect();
    let (counts, slots) = match wanted[..] {
        [count, slots] => (vec![count as usize], vec![slots]),
        _ => (vec![100, 1_000, 10_000], vec![2, 8]),
    };
    for slots in slots {
        for &count in &counts {
            let floor = per_task(count, floor(count, slots));
            let run = per_task(count, runtime.block_on(no_op_run(count, slots)));
            println!(
                "{count:>6} {slots:>6} {floor:>14.3} {run:>14.3} {:>7.2}",
                run / floor
            );
        }
    }
}

fn per_task(count: usize, time: Duration) -> f64 {
    let count = u32::try_from(count).expect("not so many");
    time.as_secs_f64() * 1_000.0 / f64::from(count)
}

/// The bare cost: so many threads that spawn the program and wait for it.
fn floor(count: usize, slots: u32) -> Duration {
    let begin = Instant::now();
    std::thread::scope(|scope| {
        for slot in 0..slots as usize {
            scope.spawn(move || {
                for _ in (slot..count).step_by(slots as usize) {
                    std::process::Command::new(PROGRAM)
                        .status()
                        .expect("a process");
                }
            });
        }
    });
    begin.elapsed()
}

async fn no_op_run(count: usize, slots: u32) -> Duration {
    let folder = tempfile::tempdir().expect("a folder");
    let options = PlanOptions {
        tdd: TddMode::Off,
        ..PlanOptions::default()
    };
    let plan = WavePlan::new(&layered_backlog(count), &options).expect("a plan");
    let mut scheduler = Scheduler::new(
        plan,
        Limits::with_slots(NonZeroU32::new(slots).expect("slots")),
    );
    let mut journal =
        JournalWriter::create(&folder.path().join("journal.jsonl"), &"no-op").expect("a journal");
    let (sender, mut receiver) = mpsc::unbounded_channel();
    let begin = Instant::now();
    let mut inputs = vec![Input::Begin];
    while scheduler.ended().is_none() {
        let mut effects = Vec::new();
        let at = Timestamp(u64::try_from(begin.elapsed().as_millis()).expect("not so long"));
        while let Some(input) = inputs.pop() {
            journal.append(at, &input).expect("journaled");
            for effect in scheduler.handle(at, input).expect("a legal input") {
                match answer_of_git(&effect) {
                    Some(input) => inputs.push(input),
                    None => effects.push(effect),
                }
            }
        }
        if !effects.is_empty() {
            journal.sync().expect("flushed");
        }
        for effect in effects {
            if let Effect::Step {
                task,
                attempt,
                step: AttemptStep::RunAgent { .. },
            } = effect
            {
                let (sender, folder) = (sender.clone(), folder.path().to_owned());
                tokio::spawn(async move { sender.send(agent(task, attempt, &folder).await) });
            }
        }
        if scheduler.ended().is_none() {
            inputs.extend(receiver.recv().await);
            while let Ok(input) = receiver.try_recv() {
                inputs.push(input);
            }
        }
    }
    begin.elapsed()
}

/// Starts the program as an agent is started, and waits until nothing of it is left.
async fn agent(task: TaskId, attempt: AttemptNumber, folder: &Path) -> Input {
    let command = TreeCommand {
        program: PROGRAM.into(),
        working_folder: folder.to_owned(),
        stdin: Stdin::Closed,
        stdout: folder.join("stdout.log"),
        stderr: folder.join("stderr.log"),
        env_markers: vec![("TM_TASK_ID".to_owned(), task.to_string())],
        ..TreeCommand::default()
    };
    let mut tree = ProcessTree::spawn(&command).expect("a process");
    let status = tree.wait().await.expect("an end");
    let leftovers = tree.end(std::time::Duration::ZERO).await;
    let report = AgentReport {
        leftovers,
        ..AgentReport::new(
            "no-op",
            Timestamp(0),
            Timestamp(0),
            Ended::Exited(status.and_then(|status| status.code())),
        )
    };
    Input::Answer {
        task,
        attempt,
        answer: Answer::AgentEnded(report),
    }
}

/// What git would do is done at once.
fn answer_of_git(effect: &Effect) -> Option<Input> {
    let Effect::Step {
        task,
        attempt,
        step,
    } = effect
    else {
        return None;
    };
    let answer = match step {
        AttemptStep::Prepare { .. } => Answer::Prepared(Place {
            branch: tm_scheduler::BranchName::new("branch").expect("a name"),
            base: "base".into(),
            worktree: String::new(),
        }),
        AttemptStep::Prove => Answer::Proved(Proof::default()),
        AttemptStep::Commit => Answer::Committed {
            commit: "commit".into(),
            proof: None,
        },
        AttemptStep::Land { commit } => Answer::Landed {
            commit: commit.clone(),
            resolution: None,
        },
        AttemptStep::RunAgent { .. }
        | AttemptStep::Adopt { .. }
        | AttemptStep::Refactor { .. }
        | AttemptStep::StopAgent(_)
        | AttemptStep::TestAhead { .. }
        | AttemptStep::Release(_) => return None,
    };
    Some(Input::Answer {
        task: task.clone(),
        attempt: *attempt,
        answer,
    })
}
