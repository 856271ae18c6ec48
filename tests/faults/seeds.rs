//! Larger backlogs, agents that misbehave at random, tm killed at random points: the end is the undisturbed one.
//!
//! Everything follows from a seed. The suite tries seeds for some seconds; `TM_SEEDS=100` tries so many from
//! `TM_FIRST_SEED` (1 when not given) on, however long that takes.

use crate::scene::{HONEST, Scene};
use fastrand::Rng;
use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::process::{Command, Output};
use std::time::{Duration, Instant};

/// So long the suite goes on to the next seed.
const BUDGET: Duration = Duration::from_secs(8);
/// So often tm is killed in one run, at the most.
const KILLS: usize = 4;

/// Misbehaves in some first and second attempts, so that three retries are enough; some tasks it never does.
fn agent(seed: u64, hopeless: &BTreeSet<u64>) -> String {
    let mut cases = String::new();
    for task in hopeless {
        let _ = writeln!(cases, "[ \"$TM_TASK_ID\" != {task} ] || exit 5");
    }
    format!(
        "{cases}chance=$(printf '%s' '{seed}'\" $TM_TASK_ID $TM_ATTEMPT\" | cksum | cut -d' ' -f1)\n\
         [ \"$TM_ATTEMPT\" -gt 2 ] || case $((chance % 7)) in\n\
         0) exit 3 ;;\n\
         1) echo work > \"junk$TM_ATTEMPT\"; exit 4 ;;\n\
         2) kill -9 $$ ;;\n\
         3) printf 'status: PASS\\n' > \"$TM_RESULT_FILE\"; exit ;;\n\
         4) git commit --quiet --allow-empty --message 'my own'; setsid sleep 1000 & ;;\n\
         esac\n{HONEST}"
    )
}

/// A backlog of a seed: pairs and plain tasks, some on top of others, at the most one that can't be done.
fn scene(seed: u64) -> Scene {
    let mut random = Rng::with_seed(seed);
    let count = 4 + random.u64(..4);
    let mut tasks: Vec<(String, &str, Vec<String>)> = Vec::new();
    for id in 1..=count {
        let title = if random.u64(..4) == 0 {
            "Add the parser"
        } else {
            "Document it"
        };
        let on = (1..id)
            .filter(|_| random.u64(..4) == 0)
            .map(|id| id.to_string())
            .collect();
        tasks.push((id.to_string(), title, on));
    }
    let hopeless = if random.u64(..2) == 0 {
        BTreeSet::from([1 + random.u64(..count)])
    } else {
        BTreeSet::new()
    };
    let on: Vec<Vec<&str>> = tasks
        .iter()
        .map(|(_, _, on)| on.iter().map(String::as_str).collect())
        .collect();
    let tasks: Vec<(&str, &str, &[&str])> = tasks
        .iter()
        .zip(&on)
        .map(|((id, title, _), on)| (id.as_str(), *title, on.as_slice()))
        .collect();
    Scene::new(&tasks, &agent(seed, &hopeless))
}

#[derive(Debug, Eq, PartialEq)]
struct End {
    code: Option<i32>,
    tree: String,
    statuses: Vec<String>,
    landed: Vec<String>,
}

fn end(scene: &Scene, code: Option<i32>) -> End {
    let report = scene.report();
    let (base, branch) = (
        report["base_commit"].as_str(),
        report["integration_branch"].as_str(),
    );
    let range = format!("{}..{}", base.expect("a base"), branch.expect("a branch"));
    let listing = scene.git(&["log", "--first-parent", "--format=%s", &range]);
    let mut landed: Vec<String> = listing.lines().map(ToOwned::to_owned).collect();
    landed.sort();
    let mut once = landed.clone();
    once.dedup();
    assert_eq!(landed, once, "nothing lands twice");
    scene.assert_no_process_is_left();
    let locks = scene
        .shell("find .git -name '*.lock' ! -name tm-worktrees.lock ! -name tm-run.lock")
        .output()
        .expect("find");
    assert!(
        locks.stdout.is_empty(),
        "{}",
        String::from_utf8_lossy(&locks.stdout)
    );
    let pruned = scene.tm(&["worktrees", "prune"]).output().expect("tm");
    assert!(
        pruned.stdout.is_empty(),
        "a worktree was left: {}",
        String::from_utf8_lossy(&pruned.stdout)
    );
    End {
        code,
        tree: scene.landed_tree(),
        statuses: scene.statuses(),
        landed,
    }
}

const ARGUMENTS: [&str; 2] = ["--max-parallel", "3"];

fn run(scene: &Scene) -> Command {
    without_breaker(scene.run_command(&ARGUMENTS))
}

/// Which attempts end one after the other, and so whether a run is broken off, depends on when it was killed.
fn without_breaker(mut command: Command) -> Command {
    command.env("TM_WAVES_BREAKER", "off");
    command
}

/// Takes the run up, or begins it when it had not begun.
fn go_on(scene: &Scene, kill_at: Option<u64>) -> Output {
    let with_kill = |mut command: Command| {
        if let Some(point) = kill_at {
            command.env("CRASH_POINT", point.to_string());
        }
        command.output().expect("tm")
    };
    let resumed = with_kill(without_breaker(scene.tm(&["waves", "resume"])));
    let words = String::from_utf8_lossy(&resumed.stderr).into_owned();
    if words.contains("find a run") || words.contains("ended before it began") {
        return with_kill(run(scene));
    }
    resumed
}

/// Kills tm at random points again and again, lets it end, and compares; returns how often it was killed.
fn survives(seed: u64) -> usize {
    let calm = scene(seed);
    let log = calm.path("points");
    let output = run(&calm)
        .env("CRASH_POINT_LOG", &log)
        .output()
        .expect("tm");
    let expected = end(&calm, output.status.code());
    let points = std::fs::read_to_string(&log)
        .expect("points")
        .lines()
        .count() as u64;
    let (scene, mut random, mut kills) = (scene(seed), Rng::with_seed(!seed), 0);
    let mut output = run(&scene)
        .env("CRASH_POINT", random.u64(..points).to_string())
        .output()
        .expect("tm");
    while output.status.code().is_none() {
        kills += 1;
        output = go_on(&scene, (kills < KILLS).then(|| 1 + random.u64(..points)));
    }
    let words = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(!words.contains("panicked"), "seed {seed}: {words}");
    // One that died after its very last write has ended.
    let code = if words.contains("it has ended") {
        expected.code
    } else {
        output.status.code()
    };
    assert_eq!(
        end(&scene, code),
        expected,
        "seed {seed}, killed {kills} times: {words}"
    );
    kills
}

#[test]
fn random_agents_and_random_kills_end_as_undisturbed() {
    let number = |name: &str| {
        std::env::var(name)
            .ok()
            .and_then(|text| text.parse::<u64>().ok())
    };
    let first = number("TM_FIRST_SEED").unwrap_or(1);
    let started = Instant::now();
    let (mut seeds, mut kills) = (0, 0);
    for seed in first.. {
        let is_over = match number("TM_SEEDS") {
            Some(wanted) => seeds >= wanted,
            None => seeds > 0 && started.elapsed() >= BUDGET,
        };
        if is_over {
            break;
        }
        kills += survives(seed);
        seeds += 1;
    }
    eprintln!("{seeds} seeds from {first} on, {kills} kills");
}
