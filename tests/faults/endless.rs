//! Work that git never comes to an end with: it costs its own attempt, and holds up nobody.

use crate::scene::{HONEST, Scene, task, write};
use rustix::process::{Pid, Signal, kill_process};
use std::process::Stdio;
use std::time::{Duration, Instant};

/// Leaves attributes for which git compares a path of many folders in as many ways as there are.
const ENDLESS: &str = r#"
deep=$(printf 'a/%.0s' $(seq 80)); mkdir -p "$deep"; echo deep > "${deep}f"
echo "$(printf '**/a/%.0s' $(seq 30))b text" > .gitattributes
"#;

fn scene(at_last: &str) -> Scene {
    let agent = format!(
        "{HONEST}\nif [ \"$TM_TASK_ID\" = 1 ] && [ \"$TM_ATTEMPT\" = 1 ]; then\n{ENDLESS}\n{at_last}\nfi"
    );
    scene_of(&agent)
}

fn scene_of(agent: &str) -> Scene {
    let tasks = [("1", "Document it", &[][..]), ("2", "Document more", &[])];
    let scene = Scene::new(&tasks, agent);
    let tests = "echo 1..1\necho ok - fine\n";
    write(&scene.root().join("run-tests.sh"), tests);
    scene.git(&["commit", "--quiet", "--all", "--message", "cheap tests"]);
    scene
}

#[test]
fn work_that_git_takes_forever_for_costs_its_own_attempt() {
    let scene = scene("");
    let mut command = scene.run_command(&[]);
    let output = command.env("LONGEST_GIT", "4000").output().expect("tm");
    let words = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(0), "{words}");
    let report = scene.report();
    let attempts = &task(&report, "1")["attempts"];
    assert_eq!(attempts[0]["failure"], "work-refused", "{report:#}");
    assert_eq!(attempts.as_array().map(Vec::len), Some(2), "{report:#}");
    assert_eq!(
        task(&report, "2")["attempts"].as_array().map(Vec::len),
        Some(1)
    );
    assert!(
        attempts[0].to_string().contains("it took longer than"),
        "{report:#}"
    );
    assert_eq!(scene.statuses(), ["done"; 2]);
    scene.assert_no_process_is_left();
}

#[test]
fn work_whose_merge_takes_forever_is_done_again_on_what_has_landed() {
    let agent = r#"
if [ "$TM_TASK_ID $TM_ATTEMPT" = "2 1" ]; then
    until git -C "$AGENT_FOLDER/checkout" log --all --format=%s | grep --quiet "^Land task 1:"; do sleep 0.05; done
fi
mkdir -p docs
echo "$TM_TASK_ID" > docs/slow
echo "$TM_TASK_ID" > "docs/$TM_TASK_ID"
printf 'status: PASS\n' > "$TM_RESULT_FILE"
"#;
    let scene = scene_of(agent);
    scene.git(&["config", "merge.slow.driver", "sleep 300"]);
    write(&scene.root().join(".gitattributes"), "slow merge=slow\n");
    scene.git(&["add", "."]);
    scene.git(&["commit", "--quiet", "--message", "slow merges"]);
    let mut command = scene.run_command(&["--max-parallel", "2"]);
    let output = command.env("LONGEST_GIT", "4000").output().expect("tm");
    let words = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(0), "{words}");
    let report = scene.report();
    let attempts = |id| task(&report, id)["attempts"].as_array().expect("attempts");
    assert_eq!(attempts("1").len(), 1, "{report:#}");
    let refused = &attempts("2")[0];
    assert_eq!(refused["failure"], "commit-refused", "{report:#}");
    let evidence = refused["evidence"].to_string();
    assert!(evidence.contains("merge-tree") && evidence.contains("it took longer than"));
    assert_eq!(attempts("2").len(), 2, "{report:#}");
    assert_eq!(scene.statuses(), ["done"; 2]);
    scene.assert_no_process_is_left();
}

#[test]
fn a_run_that_is_to_stop_at_once_waits_for_no_git() {
    let scene = scene("echo ended > \"$AGENT_FOLDER/started\"");
    scene.pipe("started");
    let mut command = scene.run_command(&[]);
    // As long as the test may take where nothing ends it.
    command.env("LONGEST_GIT", "60000");
    command.stdout(Stdio::null()).stderr(Stdio::null());
    let mut run = command.spawn().expect("tm");
    drop(std::fs::read(scene.path("started")).expect("the agent has done its work"));
    let (began, id) = (Instant::now(), run.id().cast_signed());
    let pid = Pid::from_raw(id).expect("a pid");
    let code = loop {
        if let Some(status) = run.try_wait().expect("an answer") {
            break status.code();
        }
        // Signals of one kind that come together may count as one.
        kill_process(pid, Signal::INT).expect("sent");
        std::thread::yield_now();
    };
    assert_eq!(code, Some(130));
    assert!(
        began.elapsed() < Duration::from_secs(30),
        "{:?}",
        began.elapsed()
    );
    scene.assert_no_process_is_left();
}

/// Commits twelve trees in one another, each with ten entries of the next: a million millions of files.
const TREES: &str = r#"
line="100644 blob $(echo one | git hash-object -w --stdin)"
for level in 1 2 3 4 5 6 7 8 9 10 11 12; do
    line="040000 tree $(for at in 0 1 2 3 4 5 6 7 8 9; do printf '%s\tn%s\n' "$line" "$at"; done | git mktree)"
done
git update-ref HEAD "$(git commit-tree "${line##* }" -p HEAD -m large)"
"#;

#[test]
fn a_commit_of_more_files_than_anybody_has_is_walked_by_nobody() {
    let agent = format!(
        "{HONEST}\nif [ \"$TM_TASK_ID\" = 1 ] && [ \"$TM_ATTEMPT\" = 1 ]; then\n{TREES}\nfi"
    );
    for level in ["auto", "none"] {
        let scene = scene_of(&agent);
        let mut command = scene.run_command(&["--sandbox", level]);
        let output = command.env("LONGEST_GIT", "20000").output().expect("tm");
        let words = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(0), "{words}");
        assert_eq!(scene.statuses(), ["done"; 2], "{words}");
        let report = scene.report().to_string();
        for told in [&*words, &report] {
            assert!(!told.contains("took longer"), "{level}: {told}");
        }
        scene.assert_no_process_is_left();
    }
}

#[test]
fn a_loop_whose_agent_commits_more_files_than_anybody_has_says_so_and_goes_on() {
    let agent = format!(
        "if [ \"$TM_ITERATION\" = 1 ]; then\n{TREES}\nelse git update-ref HEAD HEAD~1; fi\n"
    );
    for arguments in [&[][..], &["--worktree"], &["--sandbox", "none"]] {
        let scene = scene_of(&agent);
        let agent = format!("sh '{}'", scene.path("agent.sh").display());
        let mut command = scene.tm(&[
            "loop",
            "--sleep",
            "0",
            "--iterations",
            "2",
            "--agent-command",
            &agent,
        ]);
        let output = command
            .args(arguments)
            .env("LONGEST_GIT", "20000")
            .output()
            .expect("tm");
        let words = String::from_utf8_lossy(&output.stderr);
        let refused = "iteration 1 error";
        assert!(
            words.contains(refused) && words.contains("work-refused"),
            "{words}"
        );
        assert!(words.contains("stands for more than"), "{words}");
        assert!(words.contains("iteration 2 "), "{words}");
        assert!(!words.contains("took longer"), "{words}");
        scene.assert_no_process_is_left();
    }
}
