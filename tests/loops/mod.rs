//! `tm loop` with scripted agents: what ends it, what it counts, what it leaves behind.

mod held;
mod left_in_git;
mod outside;
mod pruned;

use crate::scene::{Scene, write};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;
use std::process::{Child, Command, Output, Stdio};

/// Sets the next pending task to done, commits a file for it, and says so.
const WORKER: &str = r#"
number=$(sed -n 's/.*"id": "\([^"]*\)".*/\1/p; /"status": "pending"/q' "$TM_BACKLOG_FILE" | tail -1)
echo "$number" > "done-$number"
sed -i "0,/\"status\": \"pending\"/s//\"status\": \"done\"/" "$TM_BACKLOG_FILE"
git add "done-$number"; git commit --quiet --message "task $number"
echo "Finished task $number."
"#;

fn backlog(tag: &str, count: usize) -> Value {
    let tasks: Vec<Value> = (1..=count)
        .map(|id| serde_json::json!({"id": format!("{tag}{id}"), "title": "Do it", "description": "", "status": "pending", "priority": "medium", "dependencies": [], "subtasks": []}))
        .collect();
    serde_json::json!({"tasks": tasks})
}

fn scene(count: usize, agent: &str) -> Scene {
    let json = serde_json::json!({"master": backlog("", count)});
    Scene::with_backlog(&serde_json::to_string_pretty(&json).expect("json"), agent)
}

fn loop_command(scene: &Scene, arguments: &[&str]) -> Command {
    let agent = format!("sh '{}'", scene.path("agent.sh").display());
    let mut command = scene.tm(&["loop", "--sleep", "0", "--agent-command", &agent]);
    command.args(arguments);
    command
}

fn words(output: &Output) -> String {
    format!(
        "{}{}",
        String::from_utf8_lossy(&output.stdout),
        String::from_utf8_lossy(&output.stderr)
    )
}

fn looped(scene: &Scene, arguments: &[&str], code: i32) -> Output {
    let output = loop_command(scene, arguments).output().expect("tm");
    assert_eq!(output.status.code(), Some(code), "{}", words(&output));
    output
}

fn summary(scene: &Scene, arguments: &[&str], code: i32) -> Value {
    let output = looped(scene, &[arguments, &["--json"]].concat(), code);
    serde_json::from_slice(&output.stdout).expect("one JSON document")
}

fn progress(scene: &Scene) -> String {
    std::fs::read_to_string(scene.root().join(".taskmaster/loop-progress.txt"))
        .expect("a progress file")
}

fn start_and_wait_for_agent(scene: &Scene, arguments: &[&str]) -> Child {
    let child = loop_command(scene, arguments)
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("tm");
    // Opening a pipe waits until the agent opens its end.
    drop(std::fs::read(scene.path("started")).expect("the agent starts"));
    child
}

fn send(child: &Child, signal: Signal) {
    let pid = Pid::from_raw(i32::try_from(child.id()).expect("a pid")).expect("a pid");
    kill_process(pid, signal).expect("sent");
}

/// Says that it works, and starts a child in a session of its own that would live on.
const HANGING: &str = "setsid sleep 1000 & echo started > \"$AGENT_FOLDER/started\"; sleep 1000\n";

#[test]
fn ten_tasks_with_failures_and_a_lie_end_with_the_truth() {
    let agent = format!(
        "case $TM_ITERATION in\n2|5) echo 'no memory' >&2; exit 1 ;;\n\
         7) echo '<loop-complete>ALL_TASKS_DONE</loop-complete>'; exit 0 ;;\nesac\n{WORKER}"
    );
    let scene = scene(10, &agent);
    let summary = summary(&scene, &["-n", "20"], 0);
    assert_eq!(
        (
            &summary["final_status"],
            &summary["total_iterations"],
            &summary["tasks_completed"],
            &summary["tasks_open"]
        ),
        (&"all_complete".into(), &13.into(), &10.into(), &0.into()),
        "{summary}"
    );
    let iterations = summary["lanes"][0]["iterations"]
        .as_array()
        .expect("iterations");
    let failures: Vec<&str> = iterations
        .iter()
        .filter_map(|record| record["failure"].as_str())
        .collect();
    assert_eq!(failures, ["no-result", "no-result", "false-completion"]);
    assert_eq!(
        (&iterations[0]["task_id"], &iterations[0]["work"]["files"]),
        (&"1".into(), &1.into())
    );
    assert_eq!(iterations[0]["work"]["commits"][0][1], "task 1");
    let progress = progress(&scene);
    for part in [
        "# Preset: default",
        "## Iteration 2: error",
        "it said last: no memory",
        "## Iteration 7: error",
        "6 tasks are open: 5, 6, 7, 8, 9, 10",
        "- Task 10: pending -> done",
        "- Tasks completed: 10\n- Final status: all_complete",
    ] {
        assert!(progress.contains(part), "{part} in {progress}");
    }
    assert_eq!(scene.statuses(), ["done"; 10]);
    let events: Vec<Value> = std::fs::read_to_string(format!(
        "{}/activity.jsonl",
        summary["directory"].as_str().expect("a folder")
    ))
    .expect("events")
    .lines()
    .map(|line| serde_json::from_str(line).expect("an event a line"))
    .collect();
    let count = |name: &str| events.iter().filter(|event| event["event"] == name).count();
    assert_eq!(
        (
            count("loop:started"),
            count("iteration:ended"),
            count("loop:ended")
        ),
        (1, 13, 1)
    );
}

#[test]
fn nothing_is_started_when_all_tasks_are_done_and_completion_runs_a_command() {
    let scene = scene(0, "exit 9");
    let output = looped(
        &scene,
        &["--on-complete", "echo \"ended $TM_LOOP_STATUS\""],
        0,
    );
    assert!(
        words(&output).contains("ended all_complete"),
        "{}",
        words(&output)
    );
    assert!(!progress(&scene).contains("## Iteration"));
}

#[test]
fn limits_blocked_and_errors_have_exit_codes_of_their_own() {
    let scene = scene(3, WORKER);
    let used_up = looped(&scene, &["-n", "1", "--on-complete", "echo never"], 6);
    assert!(
        words(&used_up).contains("next: `tm loop` goes on") && !words(&used_up).contains("never")
    );
    looped(&scene, &["--deadline", "1ms"], 6);
    write(
        &scene.path("agent.sh"),
        "echo 'I need a password.'; echo '<loop-blocked>no password</loop-blocked>'; exit 1\n",
    );
    let blocked = summary(&scene, &[], 3);
    assert_eq!(
        (&blocked["final_status"], &blocked["reason"]),
        (&"blocked".into(), &"no password".into())
    );
    write(&scene.path("agent.sh"), "exit 1\n");
    let failed = summary(&scene, &["--retries", "1"], 3);
    assert_eq!(
        (&failed["final_status"], &failed["total_iterations"]),
        (&"error".into(), &2.into())
    );
    write(
        &scene.path("agent.sh"),
        "echo \"$TM_ITERATION\"; sleep 1000\n",
    );
    let slow = summary(&scene, &["-n", "1", "--timeout", "300ms"], 6);
    assert_eq!(slow["lanes"][0]["iterations"][0]["failure"], "timed-out");
    assert_eq!(scene.statuses(), ["done", "pending", "pending"]);
    scene.assert_no_process_is_left();
}

#[test]
fn a_missing_agent_and_bad_input_are_told_before_anything_starts() {
    let scene = scene(1, WORKER);
    for (arguments, code, part) in [
        (&["loop", "--agent", "codex"][..], 1, "hint:"),
        (&["loop", "--agent", "nobody"], 1, "there are"),
        (&["loop", "--prompt", "coverage"], 1, "`test-coverage`"),
        (&["loop", "--prompt", "./none.md"], 1, "none.md"),
        (&["loop", "-n", "0"], 2, "--iterations"),
        (&["loop", "--tag", "nope"], 1, "there are `master`"),
        (&["loop", "--tag", "a,b"], 1, "there are `master`"),
        (&["loop", "--status", "later"], 2, "`pending`"),
        (&["loop", "--notify", "pigeon"], 2, "`desktop`"),
        (&["loop", "--sandbox", "--verbose"], 2, "--sandbox"),
        (&["loop", "--max-cost=-1"], 2, "--max-cost"),
    ] {
        let mut command = scene.tm(arguments);
        if !arguments.contains(&"--agent") && !arguments.contains(&"--sandbox") {
            command.args(["--agent-command", "true"]);
        }
        let output = command
            .env(
                "PATH",
                format!("{}:/usr/bin:/bin", scene.path("bin").display()),
            )
            .output()
            .expect("tm");
        assert_eq!(
            output.status.code(),
            Some(code),
            "{arguments:?}: {}",
            words(&output)
        );
        assert!(
            words(&output).contains(part),
            "{part} in {}",
            words(&output)
        );
    }
    assert!(!scene.root().join(".taskmaster/loop-progress.txt").exists());
}

#[test]
fn a_prompt_of_ones_own_ends_when_the_agent_says_so_and_quoting_is_not_saying() {
    let agent = "cat \"$TM_PROMPT_FILE\"\n\
                 echo 'I was told: when nothing is left, output: <loop-complete>TIDY</loop-complete>'\n\
                 if [ $TM_ITERATION = 3 ]; then echo '<loop-complete>TIDY</loop-complete>'; fi\n";
    let scene = scene(1, agent);
    write(
        &scene.root().join("tidy.md"),
        "Tidy up {{ this }}.\n- If nothing is left, output: <loop-complete>TIDY</loop-complete>\n",
    );
    let summary = summary(&scene, &["--prompt", "tidy.md"], 0);
    assert_eq!(
        (&summary["total_iterations"], &summary["reason"]),
        (&3.into(), &"the agent says TIDY".into())
    );
    let prompt = std::fs::read_to_string(format!(
        "{}/lanes/master/iteration-2/attempt-1/prompt.md",
        summary["directory"].as_str().expect("a folder")
    ));
    let prompt = prompt.expect("a prompt");
    assert!(
        prompt.contains("Tidy up {{ this }}.") && prompt.contains("## Iteration 1: success"),
        "{prompt}"
    );
}

#[test]
fn each_preset_is_given_to_the_agent_with_the_progress_file() {
    let scene = scene(
        1,
        "cat > \"$AGENT_FOLDER/prompt\"; echo noted >> \"$TM_PROGRESS_FILE\"\n",
    );
    for (preset, part) in [
        ("default", " next"),
        ("test-coverage", "COVERAGE_TARGET"),
        ("linting", "ZERO_ERRORS"),
        ("duplication", "LOW_DUPLICATION"),
        ("entropy", "LOW_ENTROPY"),
    ] {
        looped(
            &scene,
            &["-n", "1", "-p", preset, "--progress-file", "notes/loop.txt"],
            6,
        );
        let prompt = std::fs::read_to_string(scene.path("prompt")).expect("a prompt");
        assert!(
            prompt.contains(part) && prompt.contains("notes/loop.txt"),
            "{prompt}"
        );
    }
    let notes = std::fs::read_to_string(scene.root().join("notes/loop.txt")).expect("notes");
    assert_eq!(
        (
            notes.matches("noted\n").count(),
            notes.matches("# Loop ended").count()
        ),
        (5, 5),
        "{notes}"
    );
}

#[test]
fn tests_that_fail_keep_the_loop_from_being_complete() {
    let agent =
        format!("{WORKER}if [ $TM_ITERATION = 1 ]; then touch broken; else rm -f broken; fi\n");
    let scene = scene(1, &agent);
    let summary = summary(
        &scene,
        &["--verify", "--test-command", "test ! -e broken"],
        0,
    );
    let iterations = summary["lanes"][0]["iterations"]
        .as_array()
        .expect("iterations");
    assert_eq!(
        (&iterations[0]["failure"], &iterations[0]["verified"]),
        (&"unverified".into(), &false.into())
    );
    assert_eq!(
        (&iterations[1]["status"], &iterations[1]["verified"]),
        (&"complete".into(), &true.into())
    );
    assert_eq!(summary["tasks_completed"], 1);
}

#[test]
fn an_interrupted_loop_writes_its_footer_and_leaves_no_process() {
    let scene = scene(1, HANGING);
    scene.pipe("started");
    let child = start_and_wait_for_agent(&scene, &[]);
    let second = loop_command(&scene, &[]).output().expect("tm");
    assert_eq!(second.status.code(), Some(5), "{}", words(&second));
    let wave = scene.run(&[]);
    assert_eq!(
        wave.status.code(),
        Some(5),
        "a run and a loop know of each other: {}",
        words(&wave)
    );
    assert!(words(&wave).contains(" loop "), "{}", words(&wave));
    send(&child, Signal::INT);
    let output = child.wait_with_output().expect("an end");
    assert_eq!(output.status.code(), Some(130), "{}", words(&output));
    assert!(
        progress(&scene).contains("- Final status: interrupted"),
        "{}",
        progress(&scene)
    );
    scene.assert_no_process_is_left();
}

#[test]
fn a_live_loop_is_seen_and_stopped_from_elsewhere() {
    let scene = scene(1, HANGING);
    let said = |command: &[&str], code: i32| {
        let output = scene.tm(command).output().expect("tm");
        assert_eq!(
            output.status.code(),
            Some(code),
            "{command:?}: {}",
            words(&output)
        );
        words(&output)
    };
    assert!(
        said(&["loop", "status"], 1).contains("there has been none\nhint: `tm loop` starts one")
    );
    assert!(said(&["loop", "list"], 0).contains("there has been no loop"));
    assert!(said(&["loop", "stop"], 1).contains("none is live"));
    scene.pipe("started");
    let child = start_and_wait_for_agent(&scene, &[]);
    let status = said(&["loop", "status"], 0);
    assert!(
        status.contains("at work  master  1") && status.contains("logs: "),
        "{status}"
    );
    let id = status
        .lines()
        .nth(1)
        .and_then(|line| line.split(' ').next())
        .expect("a loop");
    let told = said(&["waves", "status"], 0);
    assert!(
        told.contains(&format!("the loop {id} is live; `tm loop status`")),
        "{told}"
    );
    let json: Value =
        serde_json::from_str(&said(&["loop", "status", id, "--json"], 0)).expect("JSON");
    assert_eq!(
        (&json["is_live"], &json["lanes"][0]["is_under_way"]),
        (&true.into(), &true.into())
    );
    let watching = scene
        .tm(&["loop", "watch"])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("tm");
    let beside = said(&["autopilot", "start", "1", "--no-confirm"], 5);
    assert!(
        beside.contains("`tm loop status` shows it, `tm loop stop` stops it"),
        "{beside}"
    );
    said(&["loop", "stop"], 0);
    let ended = child.wait_with_output().expect("an end");
    assert_eq!(ended.status.code(), Some(130), "{}", words(&ended));
    let watched = words(&watching.wait_with_output().expect("an end"));
    assert!(watched.contains("interrupted"), "{watched}");
    assert!(said(&["loop", "list"], 0).contains("interrupted  master  1"));
    assert!(
        said(&["loop", "status", "20000101-000000-0000"], 1)
            .contains("`tm loop list` lists the loops")
    );
    assert!(said(&["waves", "status"], 1).contains("there has been none"));
    scene.assert_no_process_is_left();
}

#[test]
fn after_a_kill_the_next_loop_ends_the_agent_and_goes_on_counting() {
    let scene = scene(2, HANGING);
    scene.pipe("started");
    let mut child = start_and_wait_for_agent(&scene, &["-n", "5"]);
    send(&child, Signal::KILL);
    child.wait().expect("an end");
    write(&scene.path("agent.sh"), WORKER);
    let output = looped(&scene, &["-n", "5"], 0);
    assert!(
        words(&output).contains("was cut off in iteration 1; "),
        "{}",
        words(&output)
    );
    let progress = progress(&scene);
    for part in [
        "## Iteration 1: cut off",
        "# Goes on after: iteration 1",
        "## Iteration 2: success",
        "## Iteration 3: complete",
    ] {
        assert!(progress.contains(part), "{part} in {progress}");
    }
    scene.assert_no_process_is_left();
    assert!(
        !words(&looped(&scene, &[], 0)).contains("cut off"),
        "it is told once"
    );
}

/// It can't be committed, and what was done is seen all the same, by nobody's settings but tm's.
#[test]
fn a_repository_that_an_agent_makes_in_a_worktree_is_seen_and_asked_nothing() {
    let agent = "git init --quiet sub; echo a > sub/file; git -C sub add file\n\
        git -C sub -c user.name=a -c user.email=a@b commit --quiet --message x; git add sub\n\
        echo '* filter=evil' > sub/.gitattributes; echo b > sub/file\n\
        git -C sub config filter.evil.clean \"touch '$AGENT_FOLDER/owned'; cat\"\n\
        echo one > one\n";
    let scene = scene(1, agent);
    let output = looped(&scene, &["--worktree", "-n", "1"], 6);
    let words = words(&output);
    assert!(
        words.contains("repositories inside the worktree"),
        "{words}"
    );
    assert!(!words.contains("could not be seen"), "{words}");
    assert!(!scene.path("owned").exists(), "{words}");
}

#[test]
fn a_loop_in_a_worktree_leaves_the_checkout_alone_and_loses_nothing() {
    let agent = format!("{WORKER}echo rest > \"rest-$TM_ITERATION\"\n");
    let scene = scene(2, &agent);
    let summary = summary(&scene, &["--worktree"], 0);
    let branch = summary["lanes"][0]["branch"]
        .as_str()
        .expect("a branch")
        .to_owned();
    assert!(branch.starts_with("tm/master/loop-"), "{branch}");
    let files = scene.git(&["ls-tree", "-r", "--name-only", &branch]);
    for file in ["done-1", "done-2", "rest-1", "rest-2"] {
        assert!(files.contains(file), "{file} in {files}");
    }
    assert!(
        scene
            .git(&[
                "diff",
                "--name-only",
                &format!("main..{branch}"),
                "--",
                ".taskmaster"
            ])
            .is_empty()
    );
    assert_eq!(scene.statuses(), ["done"; 2]);
    let changed = scene.git(&["status", "--porcelain", "--untracked-files=all"]);
    assert_eq!(
        changed,
        " M .taskmaster/tasks/tasks.json\n?? .taskmaster/loop-progress.txt"
    );
    assert_eq!(scene.git(&["worktree", "list"]).lines().count(), 1);
    scene.git(&["checkout", "--quiet", &branch]);
}

#[test]
fn tags_are_looped_over_side_by_side() {
    let agent = "number=$(cat \"$AGENT_FOLDER/$TM_TAG\" 2>/dev/null || echo 0); number=$((number + 1))\n\
                 echo $number > \"$AGENT_FOLDER/$TM_TAG\"; echo work > \"$TM_TAG-$number\"\n\
                 echo \"one of $TM_TAG\"; echo '<loop-complete>OK</loop-complete>'\n";
    let mut json =
        serde_json::json!({"a": backlog("a", 1), "b": backlog("b", 1), "c": backlog("c", 1)});
    json["c"]["tasks"][0]["status"] = "done".into();
    let scene = Scene::with_backlog(&json.to_string(), agent);
    write(&scene.root().join("any.md"), "Anything.\n");
    let one_after_the_other = loop_command(&scene, &["--tag", "a,b"])
        .output()
        .expect("tm");
    assert_eq!(
        one_after_the_other.status.code(),
        Some(2),
        "{}",
        words(&one_after_the_other)
    );
    let output = looped(&scene, &["--parallel", "-p", "any.md"], 0);
    let text = words(&output);
    for part in [
        "[a] iteration 1 complete",
        "[b] iteration 1 complete",
        "[a] complete: the agent says OK",
    ] {
        assert!(text.contains(part), "{part} in {text}");
    }
    assert!(
        !text.contains("[c]"),
        "a tag without open tasks is left out: {text}"
    );
    for tag in ["a", "b"] {
        let branch = scene.git(&[
            "for-each-ref",
            "--format=%(refname:short)",
            &format!("refs/heads/tm/{tag}/"),
        ]);
        assert!(
            scene
                .git(&["ls-tree", "--name-only", &branch])
                .contains(&format!("{tag}-1"))
        );
        let notes = std::fs::read_to_string(
            scene
                .root()
                .join(format!(".taskmaster/loop-progress-{tag}.txt")),
        );
        assert!(notes.expect("notes").contains(&format!("# Tag: {tag}")));
    }
}

#[test]
fn agents_of_lanes_side_by_side_are_named_when_the_checkout_changes_and_other_worktrees_are_looked_at()
 {
    // The second loop's agent is at work until the first has written where neither may.
    let agent = "case \"$TM_TAG $TM_ITERATION\" in\n\
                 'a 1') cat \"$AGENT_FOLDER/gate\" > /dev/null; echo mine > \"$AGENT_FOLDER/other/from-agent\"\n\
                 echo hello > \"$AGENT_FOLDER/checkout/hello.txt\" ;;\n\
                 'b 1') echo go > \"$AGENT_FOLDER/gate\"\n\
                 until [ -e \"$AGENT_FOLDER/checkout/hello.txt\" ]; do sleep 0.02; done ;;\n\
                 esac\necho '<loop-complete>OK</loop-complete>'\n";
    let json = serde_json::json!({"a": backlog("a", 1), "b": backlog("b", 1)});
    let scene = Scene::with_backlog(&json.to_string(), agent);
    write(&scene.root().join("any.md"), "Anything.\n");
    write(
        &scene.root().join(".taskmaster/tm.yaml"),
        "git: { escape: fail }\n",
    );
    scene.git(&[
        "worktree",
        "add",
        "--quiet",
        "--detach",
        &scene.path("other").display().to_string(),
    ]);
    scene.pipe("gate");
    // Whoever is held can't write there.
    let arguments = ["--parallel", "-p", "any.md", "--sandbox", "none"];
    let text = words(&looped(&scene, &arguments, 0));
    for part in [
        "hello.txt",
        "`b iteration-1` attempt 1",
        "`a iteration-1` attempt 1",
        "other/from-agent",
    ] {
        assert!(text.contains(part), "{part} in {text}");
    }
    assert!(
        scene.root().join("hello.txt").exists(),
        "nothing is reverted"
    );
}

#[test]
fn presets_of_ones_own_are_made_listed_and_used() {
    let scene = scene(
        1,
        "cat > \"$AGENT_FOLDER/prompt\"; echo '<loop-complete>OK</loop-complete>'\n",
    );
    let tm = |arguments: &[&str]| scene.tm(arguments).output().expect("tm");
    assert_eq!(
        tm(&["presets", "new", "docs", "--from", "linting"])
            .status
            .code(),
        Some(0)
    );
    assert_eq!(
        tm(&["presets", "new", "docs"]).status.code(),
        Some(1),
        "nothing is overwritten"
    );
    assert_eq!(
        tm(&["presets", "new", "mine", "--user"]).status.code(),
        Some(0)
    );
    write(
        &scene.root().join(".taskmaster/presets/docs.md"),
        "# Document one thing in iteration {{ iteration }}\n",
    );
    let listed = words(&tm(&["presets", "list"]));
    assert!(
        listed.contains("entropy") && listed.contains("docs ") && listed.contains("mine "),
        "{listed}"
    );
    assert!(words(&tm(&["presets", "show", "docs"])).starts_with("# Document one thing"));
    looped(&scene, &["--prompt", "docs"], 0);
    let prompt = std::fs::read_to_string(scene.path("prompt")).expect("a prompt");
    assert!(
        prompt.contains("# Document one thing in iteration 1\n"),
        "{prompt}"
    );
}

#[test]
fn the_commands_of_the_default_prompt_work_through_the_backlog_wherever_the_agent_is() {
    let agent = r#"
told() { sed -n "s/.*\`\([^\`]*$1[^\`]*\)\`.*/\1/p" "$TM_PROMPT_FILE" | head -1; }
id=$(sh -c "$(told ' next')" | sed -n '1s/ .*//p')
sh -c "$(told ' show ID' | sed "s/ID/$id/")" > /dev/null || exit 1
sh -c "$(told 'status=in-progress' | sed "s/=ID/=$id/")"
echo "$id" > "done-$id"
sh -c "$(told 'status=done' | sed "s/=ID/=$id/")"
"#;
    for arguments in [&["--worktree"][..], &["--tag", "master"], &["--parallel"]] {
        let scene = scene(2, agent);
        let summary = summary(&scene, arguments, 0);
        assert_eq!(summary["tasks_completed"], 2, "{summary}");
        assert_eq!(scene.statuses(), ["done"; 2]);
    }
}

#[test]
fn a_full_disk_at_the_start_of_an_agent_ends_the_loop_and_the_next_one_goes_on() {
    let make = || scene(1, WORKER);
    let undisturbed = make();
    let log = undisturbed.path("points");
    assert!(
        loop_command(&undisturbed, &[])
            .env("CRASH_POINT_LOG", &log)
            .output()
            .expect("tm")
            .status
            .success()
    );
    let names = std::fs::read_to_string(&log).expect("the points");
    let point = names
        .lines()
        .position(|name| name == "spawn: before?")
        .expect("the start of the agent")
        + 1;
    let scene = make();
    let output = loop_command(&scene, &["--json"])
        .env("FAULT_POINT", point.to_string())
        .output()
        .expect("tm");
    assert_eq!(output.status.code(), Some(1), "{}", words(&output));
    let ended: Value = serde_json::from_slice(&output.stdout).expect("one JSON document");
    assert_eq!(
        (&ended["final_status"], &ended["total_iterations"]),
        (&"surroundings".into(), &0.into()),
        "{ended:#}"
    );
    assert!(
        ended["reason"]
            .as_str()
            .expect("a reason")
            .contains("o space left"),
        "{ended:#}"
    );
    assert_eq!(summary(&scene, &[], 0)["total_iterations"], 1);
}
