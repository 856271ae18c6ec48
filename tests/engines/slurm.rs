//! Runs of waves whose set-ups, agents and tests are jobs of Slurm.

use super::cluster::{Cluster, PATIENCE};
use super::scenes::{
    Fate, OfTest as _, TASKS, Waiting, assert_all_landed, assert_landed_once, assert_placed,
    assert_reaches_one_alone, assert_waits, attempts, first_of_two, jobs, reaching, slow,
    under_way,
};
use crate::sandbox::has;
use crate::scene::{HONEST, Scene, executable, task, tm_binary, write};
use serde_json::{Value, json};
use std::cell::Cell;
use std::fs::File;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::time::Instant;

fn on_slurm(scene: &Scene, cluster: &Cluster, arguments: &[&str]) -> Command {
    let mut command = cluster.with(scene.run_command(&["--on", "slurm", "-j", "6"]));
    command.args(arguments);
    command
}

fn begun(arguments: &[&str]) -> Option<Waiting<Cluster>> {
    let scene = Waiting::<Cluster>::scene();
    let cluster = Cluster::start(&scene)?;
    let run = |scene: &Scene, cluster: &Cluster| on_slurm(scene, cluster, arguments);
    Some(Waiting::begin(scene, cluster, run))
}

/// The report of a run that goes on, and what it said.
fn resumed(scene: &Scene, cluster: &Cluster) -> (Value, String) {
    let output = cluster
        .with(scene.tm(&["waves", "resume"]))
        .output()
        .expect("tm");
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(0), "{said}");
    (scene.report(), said)
}

#[test]
fn a_run_over_three_nodes_of_which_one_dies_with_tm_lands_each_task_once() {
    let scene = Scene::new(&TASKS, &slow());
    let Some(mut cluster) = Cluster::start(&scene) else {
        return;
    };
    let (mut run, _lines) = under_way(on_slurm(&scene, &cluster, &[]));
    // The first task has landed, and others are under way.
    let running = ["-h", "-t", "R", "-o", "%N"];
    let node = cluster.until(&running, "squeue", |said| !said.is_empty());
    let node = node.lines().next().expect("a node").trim().to_owned();
    cluster.kill_node(&node);
    run.kill().expect("it runs");
    run.wait().expect("it ends");
    let (report, _) = resumed(&scene, &cluster);
    assert_all_landed(&report);
    assert_landed_once(&scene, &report);
    assert_placed(&report, |place| {
        place.starts_with('n') && place.contains(" (slurm job ")
    });
    let tree = scene.landed_tree();
    cluster.assert_empty();
    assert_eq!(jobs(&scene), Vec::<PathBuf>::new());
    scene.assert_no_process_is_left();
    drop(cluster);

    let here = Scene::new(&TASKS, HONEST);
    here.runs(&[], 0);
    assert_eq!(tree, here.landed_tree(), "the same as on this machine");
}

#[test]
fn a_second_copy_of_a_job_ends_itself_and_the_report_names_it() {
    let Some(waiting) = begun(&[]) else {
        return;
    };
    waiting.started();
    let of_agent: Vec<PathBuf> = jobs(&waiting.scene);
    assert_eq!(of_agent.len(), 1, "{of_agent:?}");
    let second = waiting
        .engine
        .call(&tm_binary().display().to_string())
        .args([
            "node",
            "--id",
            "77",
            "--name",
            "n9",
            "--restarts",
            "1",
            "--job",
        ])
        .arg(&of_agent[0])
        .output()
        .expect("tm");
    assert_eq!(second.status.code(), Some(75), "{second:?}");
    let noticed = waiting.end().to_string();
    assert!(
        noticed.contains("a second copy of it was started on `n9` (job 77)"),
        "{noticed}"
    );
}

#[test]
fn an_agent_runs_where_its_task_says_and_its_job_has_what_the_size_of_the_task_is_given() {
    let task_of = |id: u32, metadata: Value| {
        json!({"id": id, "title": format!("Document {id}"), "status": "pending", "dependencies": [],
               "metadata": metadata})
    };
    let large = task_of(1, json!({"on": "slurm", "complexity": "L"}));
    let backlog = json!({"master": {"tasks": [large, task_of(2, json!({}))]}});
    let agent = format!(
        "[ \"$TM_TASK_ID\" != 1 ] || {{ echo on > \"$AGENT_FOLDER/started\"; read _ < \"$AGENT_FOLDER/go\"; }}\n{HONEST}"
    );
    let scene = Scene::with_backlog(&backlog.to_string(), &agent);
    write(
        &scene.root().join(".taskmaster/tm.yaml"),
        "slurm: { cpus: 1, by_complexity: { L: { cpus: 3 } } }\n",
    );
    let Some(cluster) = Cluster::start(&scene) else {
        return;
    };
    let waiting = Waiting::begin(scene, cluster, |scene, cluster| {
        cluster.with(scene.run_command(&["--tdd", "off"]))
    });
    waiting.started();
    let running = ["-h", "-t", "R", "-o", "%C"];
    (waiting.engine).until(&running, "squeue", |said| said.trim() == "3");
    let shown = |words: &[&str], wanted: &str| {
        let begins = Instant::now();
        loop {
            let output = waiting.scene.tm(words).output().expect("tm");
            let text = String::from_utf8(output.stdout).expect("text");
            if text.contains(wanted) {
                return;
            }
            assert!(begins.elapsed() < PATIENCE, "{text}");
        }
    };
    // tm hears of it a moment after it has begun.
    shown(&["waves", "status"], "Document 1 · on n");
    shown(&["waves", "metrics"], ",node=\"n");
    let report = waiting.end_all();
    let place = |id: &str| task(&report, id)["attempts"][0]["place"].clone();
    assert!(
        place("1")
            .as_str()
            .is_some_and(|place| place.starts_with('n')),
        "{report}"
    );
    assert_eq!(place("2"), Value::Null, "{report}");
}

#[test]
fn a_job_that_somebody_cancels_is_done_again_and_not_charged() {
    let Some(waiting) = begun(&["--retries", "0"]) else {
        return;
    };
    waiting.started();
    let cluster = &waiting.engine;
    let running = ["-h", "-t", "R", "-o", "%i"];
    let job = cluster.until(&running, "squeue", |said| !said.is_empty());
    let cancelled = cluster.ask("scancel", &[job.trim()]);
    assert!(cancelled.status.success(), "{cancelled:?}");
    waiting.started();
    let first = first_of_two(&waiting.end());
    assert!(first.contains("was cancelled by somebody"), "{first}");
}

#[test]
fn while_slurm_is_down_a_run_waits_and_nothing_is_charged() {
    let scene = Scene::new(&TASKS, &slow());
    let Some(mut cluster) = Cluster::start(&scene) else {
        return;
    };
    let run = on_slurm(&scene, &cluster, &[]);
    assert_waits(&scene, run, "Slurm", |fate| match fate {
        Fate::GoesAway => cluster.end_controller(),
        Fate::ComesBack => cluster.start_controller(),
    });
    cluster.assert_empty();
}

#[test]
fn an_agent_on_a_node_reaches_whom_the_list_names_and_nobody_else() {
    for level in ["bwrap", "landlock"] {
        let scene = reaching();
        let Some(cluster) = Cluster::start(&scene).filter(|_| has(level)) else {
            continue;
        };
        let run = on_slurm(&scene, &cluster, &[]);
        assert_reaches_one_alone(level, (&scene, run), |place| place.starts_with('n'));
        cluster.assert_empty();
        // The folders of proxies are gone with them.
        let of_node = scene.path("slurm/of-node");
        let left = std::fs::read_dir(of_node).expect("a folder").flatten();
        let left: Vec<PathBuf> = left.map(|entry| entry.path()).collect();
        assert_eq!(left, Vec::<PathBuf>::new());
    }
}

/// A call of tm with an agent whose program is looked for where only nodes have one.
fn with_worker(scene: &Scene, cluster: &Cluster, words: &[&str]) -> Command {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let mut folders: Vec<PathBuf> = std::env::split_paths(&path).collect();
    folders.push(scene.path("slurm/of-host"));
    let mut command = cluster.with(scene.tm(words));
    command
        .env("PATH", std::env::join_paths(folders).expect("a path"))
        .env("TM_WAVES_ON", "slurm");
    command
}

#[test]
fn an_agent_s_program_is_looked_for_where_it_is_started_and_nowhere_else() {
    let scene = Scene::new(&[("1", "Document it", &[])], "");
    write(
        &scene.root().join(".taskmaster/tm.yaml"),
        "agents: { worker: { command: [worker, '{prompt_file}'] } }\nagent: { default: worker }\n",
    );
    let Some(cluster) = Cluster::start(&scene) else {
        return;
    };
    let doctor = || {
        let output = with_worker(&scene, &cluster, &["doctor", "--json"]).output();
        let output = output.expect("tm").stdout;
        let found: Value = serde_json::from_slice(&output).expect("one JSON document");
        let findings = found.as_array().expect("findings").clone();
        let is_of_agent =
            |one: &Value| one["what"] == "agent" && one.to_string().contains("worker");
        findings.into_iter().filter(is_of_agent).collect::<Vec<_>>()
    };
    let run = ["waves", "run", "--yes", "--tdd", "off"];
    // What is started here is looked for here.
    let mut here = with_worker(&scene, &cluster, &[&run[..], &["--on", "local"]].concat());
    let said = here.output().expect("tm").stderr;
    let said = String::from_utf8_lossy(&said).into_owned();
    assert!(
        said.contains("failed to find the program `worker` of the agent `worker`\n"),
        "{said}"
    );
    let refused = with_worker(&scene, &cluster, &run).output().expect("tm");
    let said = String::from_utf8_lossy(&refused.stderr).into_owned();
    assert_eq!(refused.status.code(), Some(1), "{said}");
    assert!(
        said.contains("failed to find the program `worker` of the agent `worker` on n"),
        "{said}"
    );
    assert!(said.contains("install it where jobs run"), "{said}");
    cluster.assert_empty();
    let found = doctor();
    assert!(
        !found.is_empty() && found.iter().all(|one| one["weight"] == "bad"),
        "{found:?}"
    );

    executable(&scene.path("slurm/of-node/worker"), HONEST);
    let output = with_worker(&scene, &cluster, &run).output().expect("tm");
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(0), "{said}");
    assert_all_landed(&scene.report());
    let found = doctor();
    assert!(
        !found.is_empty() && found.iter().all(|one| one["weight"] == "good"),
        "{found:?}"
    );
}

#[test]
fn where_nodes_have_no_tm_a_run_does_not_begin_and_says_why() {
    let scene = Scene::new(&[("1", "Document it", &[])], HONEST);
    let Some(cluster) = Cluster::start(&scene) else {
        return;
    };
    let mut run = on_slurm(&scene, &cluster, &[]);
    let output = run.env("TM_SLURM_TM", "/nowhere/tm").output().expect("tm");
    assert_eq!(output.status.code(), Some(1));
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(
        said.contains("failed to run a first job: Slurm job "),
        "{said}"
    );
    assert!(said.contains("/nowhere/tm"), "{said}");
    let refused = on_slurm(&scene, &cluster, &[])
        .env("TM_SLURM_PARTITION", "nope")
        .output();
    let refused = String::from_utf8_lossy(&refused.expect("tm").stderr).into_owned();
    assert!(
        refused.contains("invalid partition specified: nope"),
        "{refused}"
    );
    cluster.assert_empty();
    assert_eq!(jobs(&scene), Vec::<PathBuf>::new());
}

/// Has a script of the test's own called for `sbatch`, which goes on as that.
fn with_sbatch(run: &mut Command, scene: &Scene, script: &str) {
    let sbatch = which::which("sbatch").expect("a program");
    let (sbatch, folder) = (sbatch.display(), scene.path(""));
    let folder = folder.display();
    let script = format!("folder={folder}\nsbatch={sbatch}\n{script}\nexec {sbatch} \"$@\"");
    executable(&scene.path("calls/sbatch"), &script);
    let path = std::env::var("PATH").expect("a path");
    let calls = scene.path("calls");
    run.env("PATH", format!("{}:{path}", calls.display()));
}

/// The call for the first agent takes until the jobs of five others are there, too.
const OTHERS_COME: &str = r#"jobs() { ls -d "$folder"/tm/projects/*/jobs/job-* | wc -l; }
case "$*" in *=tm\ */[0-9]/1\ *)
    until [ -e "$folder/asked" ] || [ "$(jobs)" -ge 6 ]; do sleep 0.05; done
    : > "$folder/asked" ;;
esac"#;

fn six(agent: &str) -> Scene {
    let title = "Document a part";
    let tasks = ["1", "2", "3", "4", "5", "6"].map(|id| (id, title, &[][..]));
    Scene::new(&tasks, agent)
}

#[test]
fn agents_that_start_at_once_are_an_array_that_a_resumed_run_takes_over() {
    let agent = format!("until [ -e \"$AGENT_FOLDER/go\" ]; do sleep 0.05; done\n{HONEST}");
    let scene = six(&agent);
    let Some(cluster) = Cluster::start(&scene) else {
        return;
    };
    let mut run = on_slurm(&scene, &cluster, &[]);
    // The array is taken, and nobody hears of it.
    let losing = r#"case "$*" in *--array=*)
    if [ ! -e "$folder/lost" ]; then
        : > "$folder/lost"
        "$sbatch" "$@" > "$folder/answer"
        echo "sbatch: error: Batch job submission failed: Socket timed out on send/recv operation" >&2
        exit 1
    fi ;;
esac"#;
    with_sbatch(&mut run, &scene, &format!("{OTHERS_COME}\n{losing}"));
    let said = File::create(scene.path("said")).expect("a file");
    let run = run.stdout(Stdio::null()).stderr(said).spawn();
    let mut run = run.expect("tm");
    let running = ["-h", "-r", "-t", "R", "-o", "%i"];
    cluster.until(&running, "squeue", |said| said.lines().count() == 6);
    run.kill().expect("it runs");
    run.wait().expect("it ends");
    write(&scene.path("go"), "");
    let (report, said) = resumed(&scene, &cluster);
    let first = "a first job ran";
    assert!(!said.contains(first), "its own ones come first: {said}");
    assert_all_landed(&report);
    assert_eq!(attempts(&report), (6, 6), "{report}");
    assert_landed_once(&scene, &report);
    let of_array = Cell::new(0);
    assert_placed(&report, |place| {
        of_array.set(of_array.get() + u32::from(place.contains('_')));
        place.contains(" (slurm job ")
    });
    assert!(of_array.get() >= 2, "{report}");
    assert!(scene.path("lost").exists());
    cluster.assert_empty();
    assert_eq!(jobs(&scene), Vec::<PathBuf>::new());
}

#[test]
fn where_a_site_takes_no_arrays_each_job_is_asked_for_alone() {
    let scene = six(HONEST);
    let Some(cluster) = Cluster::start(&scene) else {
        return;
    };
    let refusing = r#"case "$*" in *--array=*)
    echo "sbatch: error: Batch job submission failed: Invalid job array specification" >&2
    exit 1 ;;
esac"#;
    let mut run = on_slurm(&scene, &cluster, &[]);
    with_sbatch(&mut run, &scene, &format!("{OTHERS_COME}\n{refusing}"));
    let output = run.output().expect("tm");
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(0), "{said}");
    let report = scene.report();
    assert_eq!(attempts(&report), (6, 6), "{report}");
    assert_placed(&report, |place| !place.contains('_'));
    cluster.assert_empty();
}

#[test]
fn of_a_job_that_slurm_has_twice_the_one_that_works_is_followed() {
    let scene = Waiting::<Cluster>::scene();
    let Some(cluster) = Cluster::start(&scene) else {
        return;
    };
    // The agent is asked for twice, and the number of the second one is told, which ends itself.
    let twice = r#"case "$*" in *=tm\ */1/1\ *)
    "$sbatch" "$@" > "$folder/first" ;;
esac"#;
    let waiting = Waiting::begin(scene, cluster, |scene, cluster| {
        let mut run = on_slurm(scene, cluster, &["--retries", "0"]);
        with_sbatch(&mut run, scene, twice);
        run
    });
    waiting.started();
    let first = std::fs::read_to_string(waiting.scene.path("first")).expect("a number");
    let (first, cluster) = (first.trim().to_owned(), &waiting.engine);
    let running = ["-h", "-t", "R,PD", "-o", "%i"];
    cluster.until(&running, "squeue", |said| said.lines().count() == 1);
    // Looked at by tm since then: it has heard how the second one ended.
    let ended = ["-h", "-t", "F,CD", "-o", "%i"];
    cluster.until(&ended, "squeue", |said| !said.is_empty());
    let task = waiting.end();
    let attempts = task["attempts"].as_array().expect("attempts");
    assert_eq!(attempts.len(), 1, "{task}");
    let noticed = attempts[0]["noticed"].to_string();
    assert!(
        noticed.contains("a second copy of it was started"),
        "{first}: {task}"
    );
}
