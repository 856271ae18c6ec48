//! `tm loop` and the world around it: a sandbox, an agent that reports its cost, a crash in a worktree.

use crate::scene::{Scene, write};
use std::os::unix::fs::PermissionsExt as _;
use std::process::{Output, Stdio};

fn scene(agent: &str) -> Scene {
    Scene::new(&[("1", "Do it", &[]), ("2", "Do more", &["1"])], agent)
}

fn agent(scene: &Scene) -> String {
    format!("sh '{}'", scene.path("agent.sh").display())
}

fn words(output: &Output) -> String {
    format!(
        "{}{}",
        String::from_utf8_lossy(&output.stdout),
        String::from_utf8_lossy(&output.stderr)
    )
}

#[test]
fn the_sandbox_is_asked_first_and_then_given_the_prompt() {
    let scene = scene("");
    let docker = scene.path("bin/docker");
    write(
        &docker,
        "#!/bin/sh\necho \"$1 $2 $3 $4\" >> \"$AGENT_FOLDER/calls\"\nif [ \"$2\" = version ] && [ ! -e \"$AGENT_FOLDER/answer\" ]; then\n\
         echo \"docker: unknown command: docker sandbox\" >&2; exit 1\nfi\ncase \"$*\" in\n\
         *\"word OK\"*) cat \"$AGENT_FOLDER/answer\" ;;\n\
         *\"Iteration 1 of 10\"*) echo '<loop-complete>OK</loop-complete>' ;;\nesac\n",
    );
    std::fs::set_permissions(&docker, std::fs::Permissions::from_mode(0o755)).expect("executable");
    let path = format!(
        "{}:{}",
        scene.path("bin").display(),
        std::env::var("PATH").expect("a path")
    );
    let run_with = |more: &[&str]| {
        let mut command = scene.tm(&["loop", "--sandbox"]);
        let command = command.args(more).args(["-p", "linting"]);
        command.env("PATH", &path).output().expect("tm")
    };
    let run = || run_with(&[]);
    for flag in ["--verbose", "--worktree", "--agent=codex"] {
        let refused = run_with(&[flag]);
        assert_eq!(refused.status.code(), Some(2), "{}", words(&refused));
        assert!(
            words(&refused).contains("'--sandbox' cannot be used with '--")
                && words(&refused).contains("`--sandbox auto` holds every agent"),
            "{}",
            words(&refused)
        );
    }
    let without = run();
    assert!(
        words(&without).contains("docker has none, it says: docker: unknown command")
            && !words(&without).contains("log in"),
        "{}",
        words(&without)
    );
    write(&scene.path("answer"), "Please log in\n");
    let refused = run();
    assert_eq!(refused.status.code(), Some(1), "{}", words(&refused));
    assert!(
        words(&refused).contains("docker sandbox run claude"),
        "{}",
        words(&refused)
    );
    write(&scene.path("answer"), "OK.\n");
    let output = run();
    assert_eq!(output.status.code(), Some(0), "{}", words(&output));
    assert!(
        words(&output).contains("; sandbox: docker"),
        "{}",
        words(&output)
    );
    let calls = std::fs::read_to_string(scene.path("calls")).expect("calls");
    let looked = "sandbox version  \n";
    let asked = "sandbox run claude -p\n";
    assert_eq!(
        calls,
        [looked, looked, asked, looked, asked, asked].concat()
    );
}

#[test]
fn the_budget_counts_what_agents_report_and_their_final_message_is_the_one_that_counts() {
    let scene = scene(
        r#"
echo '{"type":"user","message":{"content":[{"type":"tool_result","content":"<loop-complete>READ</loop-complete>"}]}}'
echo '{"type":"result","result":"Not yet.","total_cost_usd":0.75,"usage":{"input_tokens":10,"output_tokens":2}}'
"#,
    )
    .prints_events();
    let arguments = [
        "loop",
        "-p",
        "entropy",
        "--sleep",
        "0",
        "--max-cost",
        "1",
        "--json",
        "--agent-command",
        &agent(&scene),
    ];
    let output = scene.tm(&arguments).output().expect("tm");
    assert_eq!(output.status.code(), Some(6), "{}", words(&output));
    let summary: serde_json::Value =
        serde_json::from_slice(&output.stdout).expect("one JSON document");
    assert_eq!(
        (&summary["final_status"], &summary["total_iterations"]),
        (&"budget".into(), &2.into())
    );
    assert_eq!(
        (&summary["cost_usd"], &summary["tokens"]["input"]),
        (&1.5.into(), &20.into())
    );
    assert_eq!(
        summary["lanes"][0]["iterations"][0]["final_message"],
        "Not yet."
    );
}

#[test]
fn after_a_kill_the_next_loop_takes_over_the_worktree_with_what_is_in_it() {
    let scene = scene("echo one > one; echo started > \"$AGENT_FOLDER/started\"; sleep 1000\n");
    scene.pipe("started");
    let agent = agent(&scene);
    let arguments = [
        "loop",
        "--worktree",
        "--sleep",
        "0",
        "--agent-command",
        &agent,
    ];
    let mut child = scene
        .tm(&arguments)
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .expect("tm");
    drop(std::fs::read(scene.path("started")).expect("the agent starts"));
    child.kill().expect("killed");
    child.wait().expect("an end");
    write(
        &scene.path("agent.sh"),
        "ls; echo '<loop-blocked>enough</loop-blocked>'\n",
    );
    let output = scene.tm(&arguments).output().expect("tm");
    assert_eq!(output.status.code(), Some(3), "{}", words(&output));
    assert!(
        words(&output).contains("going on with"),
        "{}",
        words(&output)
    );
    let branches = scene.git(&["for-each-ref", "--format=%(refname:short)", "refs/heads/tm"]);
    assert_eq!(branches.lines().count(), 1, "{branches}");
    assert!(
        scene
            .git(&["ls-tree", "--name-only", &branches])
            .lines()
            .any(|file| file == "one")
    );
    assert_eq!(scene.git(&["worktree", "list"]).lines().count(), 1);
    scene.assert_no_process_is_left();
}

#[test]
fn a_run_ends_what_a_killed_loop_left_running() {
    let scene = scene("echo started > \"$AGENT_FOLDER/started\"; setsid sleep 1000\n");
    scene.pipe("started");
    let arguments = ["loop", "--agent-command", &agent(&scene)];
    let mut child = scene
        .tm(&arguments)
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .expect("tm");
    drop(std::fs::read(scene.path("started")).expect("the agent starts"));
    child.kill().expect("killed");
    child.wait().expect("an end");
    write(&scene.path("agent.sh"), crate::scene::HONEST);
    scene.runs(&["--tdd", "off"], 0);
    scene.assert_no_process_is_left();
}
