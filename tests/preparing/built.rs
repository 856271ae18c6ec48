//! What tests build before anybody works is there for everybody.

use super::words;
use crate::scene::{Scene, write};

#[test]
fn what_tests_need_built_is_built_once_before_the_first_agent() {
    let tasks: [(&str, &str, &[&str]); 3] =
        [("1", "One", &[]), ("2", "Two", &[]), ("3", "Three", &[])];
    let agent = r#"[ -e built/library ] || : > "$AGENT_FOLDER/missing"
        : > "$AGENT_FOLDER/began-$TM_TASK_ID"
        for id in 1 2 3; do until [ -e "$AGENT_FOLDER/began-$id" ]; do sleep 0.02; done; done
        mkdir -p docs; echo > docs/$TM_TASK_ID; printf 'status: PASS\n' > "$TM_RESULT_FILE""#;
    let scene = Scene::new(&tasks, agent);
    write(&scene.root().join(".gitignore"), "/built\n");
    scene.git(&["add", "--all"]);
    scene.git(&["commit", "--quiet", "--message", "what is built is ignored"]);
    let tests = r#"[ -e built/library ] || { echo >> "$AGENT_FOLDER/builds"; mkdir built; : > built/library; }
        sh run-tests.sh"#;
    let run = scene
        .run_command(&[
            "--tdd",
            "off",
            "--max-parallel",
            "3",
            "--test-command",
            tests,
        ])
        .env("TM_WORKTREE_CACHE", "[/built]")
        .output()
        .expect("tm");
    assert_eq!(run.status.code(), Some(0), "{}", words(&run));
    let builds = std::fs::read_to_string(scene.path("builds")).expect("it was built");
    assert_eq!(builds.lines().count(), 1);
    assert!(!scene.path("missing").exists(), "agents have it too");
    // It is needed no longer than the run goes on.
    assert!(!scene.waves_folder().join("built").exists());
}
