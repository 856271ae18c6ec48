//! What set-ups, tests and agents write into git's settings does not reach the user.

use super::{one_task, runs, scene, words};
use crate::scene::{HONEST, write};

/// As installers of hooks do, and then as tests that look at their repository.
const SETTING: &str = "git config core.hooksPath .hooks && git config tm.setup yes";
const TESTS: &str = "git config tm.tests yes || exit 7\n\
    echo 1..4\n\
    [ -f .ready ] && echo ok - set up\n\
    [ \"$(git rev-parse HEAD:docs 2>/dev/null || git rev-parse HEAD)\" ] && echo ok - a head\n\
    [ \"$(git config user.name)\" = Somebody ] && echo ok - the settings of the repository\n\
    [ -z \"$(git status --porcelain --untracked-files=no)\" ] && echo ok - clean\n";

#[test]
fn what_a_set_up_and_tests_set_in_git_reaches_nobody() {
    let settings = format!(
        "worktree: {{ setup: [\"{SETTING}\", \"touch .ready\"], teardown: \"git config tm.end yes\" }}\n"
    );
    let scene = one_task(&settings, TESTS);
    let before = std::fs::read_to_string(scene.root().join(".git/config")).expect("settings");
    let said = runs(&scene, 0);
    assert_eq!(
        std::fs::read_to_string(scene.root().join(".git/config")).expect("settings"),
        before,
        "{said}"
    );
    assert_eq!(scene.statuses(), ["done"]);
    let report = scene.report();
    let tests = crate::scene::task(&report, "1")["attempts"][0]["proof"]["passed"].clone();
    assert_eq!(tests, 4, "{report:#}");
}

#[test]
fn hooks_that_an_agent_sets_for_all_checkouts_are_told_of_and_put_back() {
    let agent = format!("git config core.hooksPath .hooks\n{HONEST}");
    let scene = scene(
        &[("1", "Document it", &[])],
        &agent,
        "git: { escape: warn }\n",
        "echo 1..1; echo ok - fine\n",
    );
    let output = scene.run(&["--retries", "0"]);
    assert_eq!(output.status.code(), Some(0), "{}", words(&output));
    assert!(
        !scene
            .try_git(&["config", "--get", "core.hooksPath"])
            .status
            .success(),
        "it is as it was"
    );
    assert!(
        words(&output).contains("`core.hooksPath` of the repository was set to `.hooks`"),
        "{}",
        words(&output)
    );
}

#[test]
fn an_installer_that_asks_whether_hooks_are_wanted_is_told_no_in_an_agents_worktree() {
    let agent = format!("[ \"$HUSKY\" = 0 ] || git config core.hooksPath .husky/_\n{HONEST}");
    let scene = scene(
        &[("1", "Document it", &[])],
        &agent,
        "",
        "echo 1..1; echo ok - fine\n",
    );
    runs(&scene, 0);
}

#[test]
fn a_set_up_of_an_agents_that_fails_where_others_begin_stops_nobody_elses_task() {
    let agent = format!(
        "if [ \"$TM_TASK_ID\" = 2 ]; then echo 'case $PWD in *judge-*) exit 0;; esac; exit 1' > setup.sh; fi\n{HONEST}"
    );
    let scene = scene(
        &[
            ("1", "Document it", &[]),
            ("2", "Document the set-up", &["1"]),
            ("3", "Document what builds on that", &["2"]),
        ],
        &agent,
        "worktree: { setup: [sh setup.sh], setup_when: [setup.sh] }\n",
        "echo 1..1; echo ok - fine\n",
    );
    write(&scene.root().join("setup.sh"), "exit 0\n");
    scene.git(&["add", "--all"]);
    scene.git(&["commit", "--quiet", "--message", "a set-up"]);
    let said = runs(&scene, 3);
    assert_eq!(scene.statuses(), ["done", "done", "pending"], "{said}");
    assert!(said.contains("`sh setup.sh` exited with code 1"), "{said}");
}
