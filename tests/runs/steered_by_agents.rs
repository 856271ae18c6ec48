//! Agents that reach for what is the user's: the run that they work for, its tasks, and where its work goes.

use crate::scene::{HONEST, Scene, task, write};
use serde_json::Value;

/// Calls tm and keeps its exit code and its words in a file of that name.
const TRY: &str = r#"
try() { name=$1; shift; "$@" > "$AGENT_FOLDER/$name" 2>&1; echo "exit $?" >> "$AGENT_FOLDER/$name"; }
"#;

fn scene(agent: &str) -> Scene {
    let tm = assert_cmd::cargo::cargo_bin!("tm").display().to_string();
    let agent = format!("tm='{tm}'\n{TRY}\n{agent}\n{HONEST}");
    Scene::new(
        &[("1", "Document it", &[]), ("2", "Document more", &["1"])],
        &agent,
    )
}

fn said(scene: &Scene, name: &str) -> String {
    std::fs::read_to_string(scene.path(name)).unwrap_or_else(|error| panic!("{name}: {error}"))
}

fn noticed(report: &Value, id: &str) -> String {
    task(report, id)["attempts"][0]["noticed"].to_string()
}

#[test]
fn what_is_the_users_is_refused_to_an_agent_and_named() {
    let scene = scene(
        r#"
if [ "$TM_TASK_ID" = 1 ]; then
    cd "$AGENT_FOLDER/checkout"
    try pause "$tm" waves pause
    try stop "$tm" waves stop --now
    try stop-task "$tm" waves stop 2
    try skip env -u TM_RUN_ID -u TM_TASK_ID -u TM_REPOSITORY "$tm" waves skip 2 --satisfied
    try status env -i HOME="$HOME" PATH="$PATH" TM_HOME="$TM_HOME" "$tm" set-status --id=2 --status=done
    (cd / && try elsewhere "$tm" set-status --id=2 --status=done --backlog "$AGENT_FOLDER/checkout/.taskmaster/tasks/tasks.json")
    (cd "$TM_WORKTREE" && try worktree "$tm" set-status --id=2 --status=done)
    try other-home env TM_HOME=/tmp/none "$tm" waves run --yes
    try land "$tm" waves land --yes
    try approve "$tm" review approve --all
    try pr "$tm" pr --yes
    try add "$tm" add-task --title=More
    try list "$tm" list
    try next "$tm" next
    try claim "$tm" next --claim
    try look "$tm" waves status
    cd "$TM_WORKTREE"
fi
"#,
    );
    let report = scene.runs(&[], 0);
    let refused =
        "pause stop stop-task skip status elsewhere worktree other-home land approve pr add claim";
    for name in refused.split(' ') {
        let words = said(&scene, name);
        assert!(
            words.contains("exit 3") && words.contains("attempt 1 of task `1` of the run"),
            "{name}: {words}"
        );
        assert!(words.contains("hint:"), "{name}: {words}");
    }
    for name in ["list", "next", "look"] {
        assert!(
            said(&scene, name).contains("exit 0"),
            "{name}: {}",
            said(&scene, name)
        );
    }
    let noticed = noticed(&report, "1");
    for command in [
        "waves pause",
        "waves stop",
        "set-status",
        "waves land",
        "review approve",
        "pr",
        "add-task",
    ] {
        assert!(
            noticed.contains(&format!("`tm {command}` was refused to it")),
            "{command}: {noticed}"
        );
    }
    assert_eq!(
        task(&report, "2")["attempts"][0]["noticed"]
            .as_array()
            .map(Vec::len),
        Some(0)
    );
    assert_eq!(scene.statuses(), ["done", "done"]);
    assert!(
        !report.to_string().contains("stopped by the user")
            && !said(&scene, "stop").contains("asked the run")
    );
}

#[test]
fn a_daemon_that_hides_where_it_comes_from_and_a_test_are_refused_too() {
    let scene = scene(
        r#"
if [ "$TM_TASK_ID" = 1 ]; then
    hidden="env -i HOME=$HOME PATH=$PATH TM_HOME=$TM_HOME AGENT_FOLDER=$AGENT_FOLDER"
    mkfifo "$AGENT_FOLDER/over"
    cat > "$AGENT_FOLDER/daemon.sh" <<END
cd "$AGENT_FOLDER/checkout"
"$tm" waves pause > "$AGENT_FOLDER/daemon" 2>&1
python3 - "\$(cat $TM_HOME/projects/*/control/socket)" > "$AGENT_FOLDER/raw" <<'PYTHON'
import socket, sys
caller = socket.socket(socket.AF_UNIX)
caller.connect(sys.argv[1])
caller.sendall(b'{"version":1,"do":"stop","now":true}\n')
print(caller.makefile().readline())
PYTHON
echo over > "$AGENT_FOLDER/over"
END
    ($hidden setsid sh "$AGENT_FOLDER/daemon.sh" &) 
    cat "$AGENT_FOLDER/over"
    mkdir -p t
    echo "cd $AGENT_FOLDER/checkout; '$tm' waves pause > $AGENT_FOLDER/test 2>&1; echo 'ok - steered'" > t/steering.t
fi
"#,
    );
    let report = scene.runs(&[], 0);
    for name in ["daemon", "test", "raw"] {
        let words = said(&scene, name);
        assert!(
            words.contains("refused, because it is called from within"),
            "{name}: {words}"
        );
    }
    assert!(
        said(&scene, "raw").contains("\"reason\":\"agent\""),
        "{}",
        said(&scene, "raw")
    );
    let noticed = noticed(&report, "1");
    assert!(
        noticed.contains("`tm waves pause` was refused") && noticed.contains("`tm waves stop` was"),
        "{noticed}"
    );
    assert_eq!(scene.statuses(), ["done", "done"]);
}

#[test]
fn an_agent_may_run_tm_in_a_repository_of_its_own() {
    let scene = scene(
        r#"
if [ "$TM_TASK_ID" = 1 ] && [ -z "$NESTED" ]; then
    git clone --quiet "$AGENT_FOLDER/checkout" "$AGENT_FOLDER/own" && cd "$AGENT_FOLDER/own"
    git config user.name Agent && git config user.email agent@example.org
    try status "$tm" set-status --id=2 --status=cancelled
    NESTED=1 try run "$tm" waves run --yes --agent-command "sh '$AGENT_FOLDER/agent.sh'"
    try land "$tm" waves land --yes
    cd "$TM_WORKTREE"
fi
"#,
    );
    let report = scene.runs(&[], 0);
    for name in ["status", "run", "land"] {
        assert!(
            said(&scene, name).contains("exit 0"),
            "{name}: {}",
            said(&scene, name)
        );
    }
    assert_eq!(noticed(&report, "1"), "[]");
    let own =
        std::fs::read_to_string(scene.path("own/.taskmaster/tasks/tasks.json")).expect("a backlog");
    assert!(
        own.contains("cancelled") && own.contains("\"done\""),
        "{own}"
    );
    assert_eq!(scene.statuses(), ["done", "done"]);
}

#[test]
fn what_follows_a_run_by_its_users_order_may_change_its_tasks() {
    let scene = scene("");
    let tm = assert_cmd::cargo::cargo_bin!("tm").display().to_string();
    write(
        &scene.path("after.sh"),
        &format!("'{tm}' set-status --id=1 --status=review\n"),
    );
    let after = format!("sh '{}'", scene.path("after.sh").display());
    scene.runs(&["--on-complete", &after], 0);
    assert_eq!(scene.statuses(), ["review", "done"]);
}
