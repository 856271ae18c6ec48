//! Worktrees of loops.

use super::one_task;
use crate::scene::{Scene, write};
use std::process::{Command, Stdio};

const SETTINGS: &str = "worktree:\n  setup: 'echo \"$TM_SLOT $TM_PORT\" > .ready'\n  copy: [.env]\n  teardown: 'cat .ready >> \"$AGENT_FOLDER/torn\"'\n";
const TESTS: &str = "echo 1..1\n[ \"$(cat .env)\" = key ] && [ -e .ready ] && [ -n \"$TM_PORT\" ] && echo ok - prepared\n";
const AGENT: &str = r#"[ "$(cat .ready) $(cat .env)" = "$TM_SLOT $TM_PORT key" ] || exit 9
echo "$TM_SLOT $TM_PORT" > "$AGENT_FOLDER/found"; echo work > work
echo '<loop-blocked>enough</loop-blocked>'
"#;

fn prepared() -> Scene {
    let scene = one_task(SETTINGS, TESTS);
    write(&scene.path("agent.sh"), AGENT);
    write(&scene.root().join(".gitignore"), ".ready\n.env\n");
    scene.git(&["commit", "--quiet", "--all", "--message", "ignored"]);
    write(&scene.root().join(".env"), "key\n");
    scene
}

fn loop_command(scene: &Scene) -> Command {
    let agent = format!("sh '{}'", scene.path("agent.sh").display());
    scene.tm(&[
        "loop",
        "--worktree",
        "--verify",
        "--sleep",
        "0",
        "--agent-command",
        &agent,
    ])
}

fn looped(scene: &Scene, code: i32) -> String {
    let output = loop_command(scene).output().expect("tm");
    let words = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(
        output.status.code(),
        Some(code),
        "{words}{}",
        String::from_utf8_lossy(&output.stdout)
    );
    words
}

fn read(scene: &Scene, name: &str) -> String {
    std::fs::read_to_string(scene.path(name)).unwrap_or_default()
}

#[test]
fn a_loop_finds_its_worktree_as_a_wave_does_and_what_prepared_it_is_in_no_commit() {
    let scene = prepared();
    let words = looped(&scene, 3);
    assert!(words.contains("base: 1 pass, 0 fail"), "{words}");
    assert!(
        !read(&scene, "found").is_empty() && read(&scene, "found") == read(&scene, "torn"),
        "{words}"
    );
    let branch = scene.git(&["for-each-ref", "--format=%(refname:short)", "refs/heads/tm"]);
    assert_eq!(scene.git(&["diff", "--name-only", "HEAD", &branch]), "work");
    assert_eq!(scene.git(&["worktree", "list"]).lines().count(), 1);
}

#[test]
fn a_worktree_that_a_killed_loop_left_is_torn_down_by_the_loop_that_takes_it_over() {
    let scene = prepared();
    let breaking =
        "echo 'exit 127' > run-tests.sh; echo started > \"$AGENT_FOLDER/started\"; sleep 1000\n";
    write(&scene.path("agent.sh"), breaking);
    scene.pipe("started");
    let mut child = loop_command(&scene)
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .expect("tm");
    drop(std::fs::read(scene.path("started")).expect("the agent starts"));
    child.kill().expect("killed");
    child.wait().expect("an end");
    write(
        &scene.path("agent.sh"),
        "cp .ready \"$AGENT_FOLDER/found\"; echo '<loop-blocked>enough</loop-blocked>'\n",
    );
    let words = looped(&scene, 3);
    assert!(
        !read(&scene, "found").is_empty() && read(&scene, "found") == read(&scene, "torn"),
        "{words}"
    );
    assert!(
        !words.contains("base: "),
        "what was left half done is nothing to begin with, and in nobody's way: {words}"
    );
}

#[test]
fn a_set_up_that_fails_is_named_and_nothing_of_the_loop_is_left() {
    let scene = prepared();
    write(
        &scene.root().join(".taskmaster/tm.yaml"),
        "worktree: { setup: \"echo no such registry; exit 9\" }\n",
    );
    let words = looped(&scene, 1);
    for part in [
        "`echo no such registry; exit 9` exited with code 9",
        "\n  no such registry",
        "hint: `worktree.setup`",
    ] {
        assert!(words.contains(part), "{part}: {words}");
    }
    assert_eq!(read(&scene, "found"), "", "no agent is started");
    assert_eq!(scene.git(&["for-each-ref", "refs/heads/tm"]), "");
    assert_eq!(scene.git(&["worktree", "list"]).lines().count(), 1);
    assert!(
        !scene.root().join(".taskmaster/loop-progress.txt").exists(),
        "there was no loop"
    );
}
