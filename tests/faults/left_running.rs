//! Programs that a killed tm had started and that are of no use without it: tests, and the hooks of a commit.

use crate::scene::{HONEST, Scene, write};
use rustix::process::{Pid, Signal, kill_process};
use std::process::{Child, Stdio};

/// Says that it runs and waits for ever, the first time; fails when one of before is still there.
const HANGS_ONCE: &str = r#"
if [ -s "$AGENT_FOLDER/pid" ]; then
    grep -q . "/proc/$(cat "$AGENT_FOLDER/pid")/cmdline" 2> /dev/null && echo overlap >> "$AGENT_FOLDER/overlaps"
elif [ -e "$AGENT_FOLDER/hang" ]; then
    rm "$AGENT_FOLDER/hang"
    echo $$ > "$AGENT_FOLDER/pid"
    setsid sleep 1000 &
    echo started > "$AGENT_FOLDER/started"
    read -r never < "$AGENT_FOLDER/gate"
fi
"#;

fn scene() -> Scene {
    let scene = Scene::new(&[("1", "Document it", &[])], HONEST);
    scene.pipe("started");
    scene.pipe("gate");
    write(&scene.path("hang"), "");
    scene
}

fn with_hanging_tests() -> Scene {
    let scene = scene();
    write(
        &scene.root().join("run-tests.sh"),
        &format!("{HANGS_ONCE}\necho 1..1\necho ok - fine\n"),
    );
    scene.git(&["add", "--all"]);
    scene.git(&["commit", "--quiet", "--message", "tests that hang"]);
    scene
}

fn kill(mut child: Child) {
    let pid = Pid::from_raw(i32::try_from(child.id()).expect("a pid")).expect("a pid");
    kill_process(pid, Signal::KILL).expect("sent");
    child.wait().expect("an end");
}

fn assert_ended_well(scene: &Scene, arguments: &[&str]) {
    let output = scene.run(arguments);
    let words = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(0), "{words}");
    assert!(
        words.contains("ended what was still there of tests"),
        "{words}"
    );
    assert!(
        !scene.path("overlaps").exists(),
        "the old one was there when the new one began"
    );
    assert_eq!(scene.statuses(), ["done"]);
    scene.assert_no_process_is_left();
}

#[test]
fn tests_that_a_killed_tm_left_running_are_gone_before_it_goes_on() {
    let scene = with_hanging_tests();
    kill(scene.start_and_wait_for_agent(&[]));
    assert_ended_well(&scene, &[]);
}

#[test]
fn tests_that_a_killed_tm_left_running_are_gone_before_a_fresh_run_begins() {
    let scene = with_hanging_tests();
    kill(scene.start_and_wait_for_agent(&[]));
    assert_ended_well(&scene, &["--on-interrupted", "fresh"]);
}

#[test]
fn a_hook_that_a_killed_tm_left_running_is_gone_before_the_commit_is_made_again() {
    let scene = scene();
    let hook = scene.root().join(".git/hooks/pre-commit");
    write(&hook, &format!("#!/bin/sh\n{HANGS_ONCE}exit 0\n"));
    std::fs::set_permissions(&hook, std::os::unix::fs::PermissionsExt::from_mode(0o755))
        .expect("executable");
    kill(scene.start_and_wait_for_agent(&[]));
    assert_ended_well(&scene, &[]);
    let branch = scene.report()["integration_branch"]
        .as_str()
        .expect("a branch")
        .to_owned();
    let commits = scene.git(&[
        "log",
        "--no-merges",
        "--format=%s",
        &format!("main..{branch}"),
    ]);
    assert_eq!(commits, "Document it", "it was committed once");
}

#[test]
fn folders_for_temporary_files_of_a_killed_tm_are_gone_after_the_next_start() {
    let scene = Scene::new(&[("1", "Add the parser", &[])], HONEST);
    let temporary = scene.path("tmp");
    std::fs::create_dir(&temporary).expect("a folder");
    write(
        &scene.root().join("run-tests.sh"),
        "[ ! -e \"$AGENT_FOLDER/wait\" ] || { echo x > \"$AGENT_FOLDER/started\"; sleep 1000; }\necho 1..1\necho ok - fine\n",
    );
    scene.git(&["commit", "--quiet", "--all", "--message", "tests that wait"]);
    scene.pipe("started");
    write(&scene.path("wait"), "");
    let folders = || {
        let entries = std::fs::read_dir(&temporary).expect("a folder").flatten();
        let names = entries.map(|entry| entry.file_name().to_string_lossy().into_owned());
        // The folder of ports that are taken stays, one for each user.
        names
            .filter(|name| name.starts_with("tm-") && !name.starts_with("tm-ports-"))
            .count()
    };
    let mut command = scene.run_command(&["--tdd", "off"]);
    command
        .env("TMPDIR", &temporary)
        .stdout(Stdio::null())
        .stderr(Stdio::null());
    let mut child = command.spawn().expect("tm");
    drop(std::fs::read(scene.path("started")).expect("the tests have started"));
    child.kill().expect("killed");
    child.wait().expect("gone");
    assert!(folders() > 0, "the killed tm could not remove them");
    std::fs::remove_file(scene.path("wait")).expect("removed");
    let output = scene
        .run_command(&["--tdd", "off"])
        .env("TMPDIR", &temporary)
        .output()
        .expect("tm");
    assert!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    assert_eq!(folders(), 0);
    scene.assert_no_process_is_left();
}
