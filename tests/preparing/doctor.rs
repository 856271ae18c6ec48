//! What `tm doctor` finds of agents, hooks and `gh`, and what `--tests` leaves for whoever has to find out why a set-up
//! fails.

use super::one_task;
use crate::scene::{Scene, executable, write};
use std::process::Output;

#[test]
fn what_a_failing_set_up_printed_is_where_the_hint_says() {
    let setup = "echo the first line says why; seq 100; exit 9";
    let scene = one_task(
        &format!("agent: {{ default: replay }}\nworktree: {{ setup: \"{setup}\" }}\n"),
        "echo 1..1; echo ok - fine\n",
    );
    let looked = scene
        .tm(&["doctor", "--tests"])
        .env("TMPDIR", scene.path(""))
        .output()
        .expect("tm");
    let found = String::from_utf8_lossy(&looked.stdout).into_owned();
    assert_eq!(looked.status.code(), Some(1), "{found}");
    let (_, rest) = found
        .split_once("all that it printed is in `")
        .unwrap_or_else(|| panic!("{found}"));
    let (path, _) = rest.split_once('`').expect("the end of the path");
    assert!(
        std::fs::read_to_string(path)
            .expect("the log")
            .starts_with("the first line says why"),
        "{found}"
    );
}

/// Has the machine no programs but git, the shell and these.
fn machine(scene: &Scene, programs: &[(&str, &str)]) -> String {
    let bin = scene.path("bin");
    for (name, text) in programs {
        executable(&bin.join(name), text);
    }
    format!("{}:/usr/bin:/bin", bin.display())
}

fn doctor(scene: &Scene, path: &str) -> (Option<i32>, String) {
    let looked = scene.tm(&["doctor"]).env("PATH", path).output();
    let looked = looked.expect("tm");
    let found = String::from_utf8_lossy(&looked.stdout).into_owned();
    (looked.status.code(), found)
}

#[test]
fn where_no_agent_of_the_settings_can_be_started_the_doctor_says_which_ones_are_here() {
    let scene = one_task("{}\n", "echo 1..1; echo ok - fine\n");
    let (code, found) = doctor(&scene, &machine(&scene, &[]));
    assert_eq!(code, Some(3), "{found}");
    assert!(
        found.contains("BAD   agent     failed to find the program `claude`")
            && found.contains("no agent that tm knows is here"),
        "{found}"
    );
    let path = machine(&scene, &[("codex", "echo codex-cli 9.8.7")]);
    let (code, found) = doctor(&scene, &path);
    assert_eq!(code, Some(3), "{found}");
    assert!(
        found.contains("here is `codex`") && found.contains("codex-cli 9.8.7"),
        "{found}"
    );
    write(
        &scene.root().join(".taskmaster/tm.yaml"),
        "agent: { fallback: [codex] }\n",
    );
    let (code, found) = doctor(&scene, &path);
    assert_eq!(code, Some(0), "{found}");
    assert!(
        found.contains("note  agent     failed to find the program `claude`"),
        "{found}"
    );
}

#[test]
fn what_the_project_says_of_an_agent_is_not_started_to_ask_for_its_version() {
    let scene = one_task(
        "agent: { default: mine }\nagents: { mine: { command: [mine], version: [--version] } }\n",
        "echo 1..1; echo ok - fine\n",
    );
    let path = machine(&scene, &[("mine", "touch \"$AGENT_FOLDER/started\"")]);
    let (code, found) = doctor(&scene, &path);
    assert_eq!(code, Some(0), "{found}");
    assert!(!scene.path("started").exists());
}

#[test]
fn hooks_are_tried_on_a_commit_that_leaves_nothing() {
    let scene = one_task(
        "agent: { default: replay }\n",
        "echo 1..1; echo ok - fine\n",
    );
    let before = scene.git(&["for-each-ref"]);
    scene.hook(
        "pre-commit",
        "git rev-parse --is-inside-work-tree && git diff --cached --quiet",
    );
    let path = machine(&scene, &[]);
    let (code, found) = doctor(&scene, &path);
    assert_eq!(code, Some(0), "{found}");
    assert!(
        found.contains("ok    hook      they let a commit pass"),
        "{found}"
    );
    let rule = "grep -q '^feat' \"$1\" || { echo checking; echo 'error: no type in the subject'; echo bye; exit 1; }";
    scene.hook("commit-msg", rule);
    write(&scene.root().join("t/mine"), "not committed");
    scene.git(&["add", "t/mine"]);
    let (code, found) = doctor(&scene, &path);
    assert_eq!(code, Some(1), "{found}");
    assert!(
        found.contains(
            "BAD   hook      `commit-msg` refuses a commit: error: no type in the subject\n"
        ),
        "{found}"
    );
    let settings = "agent: { default: replay }\ngit: { commit_template: 'feat: {{ title }}' }\n";
    write(&scene.root().join(".taskmaster/tm.yaml"), settings);
    let (code, found) = doctor(&scene, &path);
    assert_eq!(code, Some(0), "{found}");
    assert_eq!(scene.git(&["for-each-ref"]), before);
    assert_eq!(scene.git(&["worktree", "list"]).lines().count(), 1);
    assert_eq!(scene.git(&["diff", "--cached", "--name-only"]), "t/mine");
}

#[test]
fn a_gh_without_a_login_is_told_from_one_that_can_open_pull_requests() {
    let scene = one_task(
        "agent: { default: replay }\n",
        "echo 1..1; echo ok - fine\n",
    );
    scene.git(&["remote", "add", "origin", "/nowhere"]);
    for (does, said) in [
        ("exit 1", "note  remote    origin; `gh` has no login"),
        (
            "echo secret",
            "ok    remote    origin; `gh` opens pull requests",
        ),
    ] {
        let (_, found) = doctor(&scene, &machine(&scene, &[("gh", does)]));
        assert!(found.contains(said) && !found.contains("secret"), "{found}");
    }
}

#[test]
fn an_agent_that_is_started_elsewhere_is_not_said_to_be_fine_where_nobody_looked_for_it() {
    let settings = "agents: { far: { command: [nowhere], on: slurm } }\nagent: { default: far }\n";
    let scene = one_task(settings, "echo 1..1; echo ok - fine\n");
    let (_, found) = doctor(&scene, &machine(&scene, &[]));
    let line = found.lines().find(|line| line.contains("far: "));
    assert!(
        line.is_some_and(|line| {
            line.starts_with("note") && line.contains("started on slurm, not looked for here")
        }),
        "{found}"
    );
    assert!(found.contains("`tm doctor --on slurm`"), "{found}");
}

#[test]
fn where_nothing_keeps_agents_to_their_hosts_it_is_said_once_by_plan_run_and_doctor() {
    let settings = "sandbox: { level: none, agents: { network: api } }\ntdd: { mode: 'off' }\n";
    let scene = one_task(settings, "echo 1..1; echo ok - fine\n");
    let said = |output: Output| {
        let text = [output.stdout, output.stderr].concat();
        String::from_utf8(text).expect("text")
    };
    let tm = |words: &[&str]| said(scene.tm(words).output().expect("tm"));
    for (text, beginning) in [
        (tm(&["waves", "plan"]), "warning: "),
        (said(scene.run(&[])), "warning: "),
        (tm(&["doctor"]), "note  sandbox   none: "),
    ] {
        let reach = "nothing keeps agents to their hosts: they reach everybody";
        assert_eq!(text.matches(reach).count(), 1, "{text}");
        assert!(text.contains(&format!("{beginning}{reach}")), "{text}");
    }
}
