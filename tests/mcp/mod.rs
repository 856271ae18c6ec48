//! The MCP server as its clients see it: the official Rust client over stdio, the Python client if it is there.

#[cfg(all(feature = "mcp-http", feature = "webhooks"))]
mod built_in;
mod clients;
mod waves;

use crate::autopilot::begun::{assert_unrun, forge};
use crate::autopilot::{backlog, reporting, scene};
use crate::scene::{Scene, write};
use crate::skipping::lacks;
use rmcp::model::CallToolRequestParams;
use rmcp::service::Peer;
use rmcp::transport::TokioChildProcess;
use rmcp::{ClientHandler, RoleClient, ServiceExt as _};
use serde_json::{Value, json};
use std::io::{BufRead as _, BufReader, Write as _};
use std::path::Path;
use std::process::Stdio;

pub(crate) type Client<H> = rmcp::service::RunningService<RoleClient, H>;

/// Starts a server on standard input and output.
pub(crate) async fn connect_with<H: ClientHandler>(
    scene: &Scene,
    handler: H,
    arguments: &[&str],
) -> Client<H> {
    let command = tokio::process::Command::from(scene.tm(arguments));
    handler
        .serve(TokioChildProcess::new(command).expect("tm starts"))
        .await
        .expect("a server")
}

async fn connect(scene: &Scene) -> Client<()> {
    connect_with(scene, (), &["mcp"]).await
}

/// Calls a tool and returns whether it was refused, and its answer: the structured content of one that was done, which
/// its text repeats, and the text of one that was refused.
pub(crate) async fn call(
    client: &Peer<RoleClient>,
    name: &'static str,
    arguments: Value,
) -> (bool, Value) {
    let arguments = arguments.as_object().cloned().expect("an object");
    let result = client
        .call_tool(CallToolRequestParams::new(name).with_arguments(arguments))
        .await
        .expect(name);
    let is_refused = result.is_error == Some(true);
    assert_eq!(is_refused, result.structured_content.is_none(), "{name}");
    let text = &result.content[0].as_text().expect("a text").text;
    (is_refused, serde_json::from_str(text).expect("a document"))
}

pub(crate) async fn accepted(
    client: &Peer<RoleClient>,
    name: &'static str,
    arguments: Value,
) -> Value {
    let (refused, document) = call(client, name, arguments).await;
    assert!(!refused, "{name}: {document:#}");
    document
}

#[tokio::test(flavor = "multi_thread")]
async fn a_task_with_three_subtasks_is_done_over_mcp_by_following_next() {
    let scene = reporting();
    let client = connect(&scene).await;
    let (refused, early) = call(&client, "autopilot_next", json!({})).await;
    assert!(
        refused
            && early["suggestion"]
                .as_str()
                .expect("words")
                .contains("start"),
        "{early:#}"
    );
    accepted(
        &client,
        "autopilot_start",
        json!({"taskId": "1", "options": {"maxAttempts": 2}}),
    )
    .await;
    let mut actions = Vec::new();
    loop {
        let next = accepted(&client, "autopilot_next", json!({})).await;
        let action = next["action"].as_str().expect("an action").to_owned();
        let subtask = next["subtask"]["id"]
            .as_str()
            .unwrap_or_default()
            .to_owned();
        scene.work(&action, &subtask);
        actions.push(action.clone());
        let report = |passed, failed| json!({"phase": action, "subtaskId": subtask, "testResults": {"passed": passed, "failed": failed}});
        match action.as_str() {
            "red" => {
                let (refused, document) =
                    call(&client, "autopilot_complete_phase", report(3, 0)).await;
                assert!(refused && document["validated"] == false, "{document:#}");
                accepted(&client, "autopilot_complete_phase", report(0, 1)).await
            }
            "green" => accepted(&client, "autopilot_complete_phase", report(1, 0)).await,
            "commit" => {
                let committed =
                    accepted(&client, "autopilot_commit", json!({"subtaskId": subtask})).await;
                assert_eq!(
                    committed["commitSha"],
                    scene.git(&["rev-parse", "HEAD"]).as_str()
                );
                committed
            }
            "finalize" => {
                let counts = json!({"testResults": {"passed": 4, "failed": 0}});
                assert_eq!(
                    accepted(&client, "autopilot_finalize", counts).await["phase"],
                    "COMPLETE"
                );
                break;
            }
            other => panic!("nothing is known of {other}"),
        };
    }
    assert_eq!(actions.len(), 10);
    let status = accepted(&client, "autopilot_status", json!({})).await;
    assert_eq!(
        (&status["status"], &status["commits"]),
        (&json!("completed"), &json!(3))
    );
    client.cancel().await.expect("ended");
}

#[tokio::test(flavor = "multi_thread")]
async fn settings_that_are_written_while_a_server_runs_begin_nothing() {
    let scene = scene();
    let client = connect(&scene).await;
    let start = || json!({"taskId": "2", "branch": "again"});
    accepted(&client, "autopilot_start", json!({"taskId": "2"})).await;
    let run = scene.run_folder();
    forge(&scene, &run);
    scene.work("red", "2.1");
    let (refused, document) = call(&client, "autopilot_complete_phase", json!({})).await;
    assert!(
        refused && document.to_string().contains("other values of `secrets`"),
        "{document:#}"
    );
    accepted(&client, "autopilot_abort", json!({})).await;
    // A clone in the checkout goes by the settings around it.
    scene.git(&["clone", "--quiet", ".", "nested"]);
    std::fs::copy(
        scene.root().join(".taskmaster/tm.yaml"),
        scene.root().join("nested/.taskmaster/tm.yaml"),
    )
    .expect("copied");
    let nested = json!({"taskId": "2", "projectRoot": scene.root().join("nested")});
    for (tool, arguments) in [
        ("autopilot_start", start()),
        ("autopilot_start", nested),
        ("waves_run", json!({"ids": ["2"]})),
    ] {
        let (refused, document) = call(&client, tool, arguments).await;
        let words = document.to_string();
        assert!(
            refused && words.contains("since this server began: `secrets`, "),
            "{tool}: {words}"
        );
        assert!(words.contains("`tm autopilot start`"), "{words}");
    }
    assert_unrun(&scene);
    // A person may begin a run with other ones, and the server goes on with that.
    for path in [".taskmaster/tm.yaml", "t/part_2_1.t"] {
        std::fs::remove_file(scene.root().join(path)).expect("removed");
    }
    for path in [".taskmaster/reports", "nested"] {
        std::fs::remove_dir_all(scene.root().join(path)).expect("removed");
    }
    accepted(&client, "autopilot_start", start()).await;
    accepted(&client, "autopilot_abort", json!({"cleanup": true})).await;
    write(
        &scene.root().join(".taskmaster/tm.yaml"),
        "autopilot: { verify: reported, require_clean_working_tree: false }\n",
    );
    let (refused, _) = call(&client, "autopilot_start", start()).await;
    assert!(refused);
    scene.autopilot_ok(&["start", "2", "--branch", "again"]);
    scene.work("red", "2.1");
    let report = json!({"testResults": {"passed": 0, "failed": 1}});
    accepted(&client, "autopilot_complete_phase", report).await;
    client.cancel().await.expect("ended");
}

#[tokio::test(flavor = "multi_thread")]
async fn next_tells_the_work_unit_with_all_that_it_needs() {
    let scene = scene();
    let client = connect(&scene).await;
    let run = accepted(&client, "autopilot_start", json!({"taskId": "2"})).await["runId"].clone();
    let next = accepted(&client, "autopilot_next", json!({"runId": run})).await;
    let unit = &next["workUnit"];
    assert_eq!(
        (&unit["id"], &unit["phase"]),
        (&json!("workUnit-2.1-RED"), &json!("RED"))
    );
    assert!(
        unit["preconditions"]
            .as_array()
            .expect("a list")
            .iter()
            .all(|one| one["met"] == true),
        "{unit:#}"
    );
    assert!(unit["context"]["redPhase"]["testFile"].is_string());
    let report = |phase: &str| json!({"runId": run, "phase": phase});
    let (refused, _) = call(&client, "autopilot_complete_phase", report("green")).await;
    assert!(refused, "it is not time for GREEN");
    scene.work("red", "2.1");
    accepted(&client, "autopilot_complete_phase", report("red")).await;
    accepted(&client, "autopilot_pause", json!({})).await;
    accepted(&client, "autopilot_resume", json!({})).await;
    let (refused, _) = call(&client, "autopilot_complete_phase", report("green")).await;
    assert!(refused, "nothing passes yet");
    let next = accepted(&client, "autopilot_next", json!({})).await;
    assert_eq!(next["workUnit"]["id"], "workUnit-2.1-GREEN-2");
    scene.work("green", "2.1");
    let green = accepted(&client, "autopilot_complete_phase", report("green")).await;
    let commit = &green["nextAction"]["workUnit"]["context"]["commitPhase"];
    assert_eq!(
        commit["filesToCommit"],
        json!(["bin/part_2_1", "t/part_2_1.t"])
    );
    let committed = accepted(&client, "autopilot_commit", json!({"runId": run})).await;
    assert_eq!(committed["nextAction"]["action"], "finalize");
    let status = accepted(&client, "autopilot_status", json!({"runId": run})).await;
    assert_eq!(status["progress"]["completed"], json!(["2.1"]));
    client.cancel().await.expect("ended");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_name_that_a_tool_has_no_more_is_refused_with_todays() {
    let scene = scene();
    let client = connect(&scene).await;
    for (name, today) in [
        ("autopilot_complete_work_unit", "`autopilot_complete_phase`"),
        ("autopilot_get_state", "`autopilot_status`"),
        ("autopilot_next_work_unit", "`autopilot_next`"),
    ] {
        let (refused, document) = call(&client, name, json!({})).await;
        let words = document["suggestion"].as_str().expect("words");
        assert!(refused && words.contains(today), "{document:#}");
    }
    client.cancel().await.expect("ended");
    let few = connect_with(&scene, (), &["mcp", "--tools", "core"]).await;
    let request = CallToolRequestParams::new("autopilot_get_state");
    assert!(
        few.call_tool(request).await.is_err(),
        "nothing is named that is not offered"
    );
    few.cancel().await.expect("ended");
}

#[tokio::test(flavor = "multi_thread")]
async fn what_a_backlog_does_not_have_is_told_with_the_tool_that_lists_it() {
    let scene = Scene::with_backlog(&backlog(), "");
    let client = connect(&scene).await;
    let (is_refused, told) = call(&client, "get_tasks", json!({"tag": "nowhere"})).await;
    assert!(
        is_refused && told["suggestion"] == "name one of these as `tag`",
        "{told}"
    );
    let unknown = json!({"id": "99", "status": "done"});
    let (is_refused, told) = call(&client, "set_task_status", unknown).await;
    assert!(
        is_refused && told["suggestion"] == "`get_tasks` lists what there is",
        "{told}"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn tools_have_schemas_and_tasks_are_read_and_written() {
    let scene = Scene::with_backlog(&backlog(), "");
    let client = connect(&scene).await;
    let tools = client.list_all_tools().await.expect("tools");
    for name in [
        "autopilot_start",
        "autopilot_next",
        "get_tasks",
        "next_task",
        "waves_run",
        "waves_report",
    ] {
        let tool = tools
            .iter()
            .find(|tool| tool.name == name)
            .unwrap_or_else(|| panic!("no {name}"));
        assert!(
            tool.description.is_some() && tool.annotations.is_some(),
            "{name}"
        );
    }
    let page = accepted(&client, "get_tasks", json!({"limit": 2})).await;
    assert_eq!(
        (&page["total"], &page["nextOffset"]),
        (&json!(3), &json!(2))
    );
    assert_eq!(
        accepted(&client, "next_task", json!({})).await["nextTask"]["id"],
        "1"
    );
    let set = accepted(
        &client,
        "set_task_status",
        json!({"id": "1.1,1.2,1.3", "status": "done"}),
    )
    .await;
    assert!(
        set["tasks"]
            .as_array()
            .expect("a list")
            .iter()
            .any(|one| one["taskId"] == "1"),
        "the parent follows"
    );
    assert!(
        call(
            &client,
            "set_task_status",
            json!({"id": "1", "status": "finished"})
        )
        .await
        .0
    );
    assert_eq!(
        accepted(&client, "get_task", json!({"id": 1})).await["tasks"][0]["status"],
        "done"
    );
    let plan = accepted(&client, "waves_plan", json!({})).await;
    assert!(
        plan["waves"]
            .as_array()
            .is_some_and(|waves| !waves.is_empty()),
        "{plan:#}"
    );
    let (refused, none) = call(&client, "waves_report", json!({})).await;
    assert!(
        refused
            && none["suggestion"]
                .as_str()
                .expect("words")
                .contains("`waves_run`"),
        "{none:#}"
    );
    client.cancel().await.expect("ended");
}

#[tokio::test(flavor = "multi_thread")]
async fn arguments_that_a_tool_can_not_take_are_named_with_those_that_it_can() {
    let scene = Scene::with_backlog(&backlog(), "");
    let client = connect(&scene).await;
    for (arguments, words) in [
        (
            json!({"limit": 0}),
            "`0` is no number of entries: give 1 or more",
        ),
        (
            json!({"offset": -1}),
            "`-1` is no number of entries: give 0 or more",
        ),
        (json!({"last": 2}), "`last`"),
    ] {
        let (refused, document) = call(&client, "get_tasks", arguments).await;
        let error = document["error"].as_str().expect("words");
        let suggestion = document["suggestion"].as_str().expect("words");
        assert!(
            refused && error.contains(words) && suggestion.contains("`limit`"),
            "{document:#}"
        );
    }
    client.cancel().await.expect("ended");
}

#[tokio::test(flavor = "multi_thread")]
async fn answers_are_bounded_whatever_the_backlog_and_nothing_of_it_is_out_of_reach() {
    let subtasks: Value = (1..=300)
        .map(|id| json!({"id": id, "title": "x".repeat(300)}))
        .collect();
    let task = |id: usize| {
        json!({"id": id, "title": "A title of a usual length", "details": "y".repeat(900),
                                  "dependencies": if id % 9 == 1 { json!([]) } else { json!([id - 1]) }})
    };
    let mut tasks: Vec<Value> = (1..=300).map(task).collect();
    tasks[0]["subtasks"] = subtasks;
    let scene = Scene::with_backlog(&json!({"master": {"tasks": tasks}}).to_string(), "");
    let client = connect(&scene).await;
    let all: Vec<String> = (1..=300).map(|id| id.to_string()).collect();
    let bounded = async |tool, given| {
        let answer = accepted(&client, tool, given).await;
        let bytes = answer.to_string().len();
        assert!(bytes < 128 * 1024, "{tool} {bytes}");
        answer
    };
    for (tool, given) in [
        ("waves_plan", json!({"limit": 200})),
        ("get_tasks", json!({"withSubtasks": true})),
    ] {
        let (mut seen, mut offset) = (Vec::new(), json!(0));
        while !offset.is_null() {
            let mut given = given.clone();
            given["offset"] = offset;
            let page = bounded(tool, given).await;
            let tasks = page["tasks"].as_array().expect("a list");
            if tool == "waves_plan" {
                let ids: Value = tasks.iter().map(|task| task["id"].clone()).collect();
                let waves = page["waves"].as_array().expect("a list");
                let of_waves: Value = waves
                    .iter()
                    .flat_map(|wave| wave.as_array().expect("ids"))
                    .cloned()
                    .collect();
                assert_eq!(ids, of_waves);
                assert_eq!(page["wave_count"], 18);
            }
            let green = tasks.iter().filter(|task| task["phase"] != "red");
            seen.extend(green.map(|task| task["id"].as_str().expect("an id").to_owned()));
            offset = page["nextOffset"].clone();
        }
        seen.sort_by_key(|id| id.parse::<usize>().expect("a number"));
        assert_eq!(seen, all, "{tool}");
    }
    let (mut seen, mut wanted) = (Vec::new(), all.clone());
    while !wanted.is_empty() {
        let answer = bounded("get_task", json!({"id": wanted.join(",")})).await;
        let ids = answer["tasks"].as_array().expect("a list").iter();
        seen.extend(ids.map(|task| task["id"].as_str().expect("an id").to_owned()));
        let next = answer["nextId"].as_str().map(ToOwned::to_owned);
        wanted = wanted.split_off(next.map_or(wanted.len(), |next| {
            wanted
                .iter()
                .position(|id| *id == next)
                .expect("one of them")
        }));
    }
    assert_eq!(seen, all);
    let deep = bounded("next_task", json!({})).await;
    let next = &deep["nextTask"]["nextId"];
    assert_eq!(*next, "1.51");
    let rest = bounded("get_task", json!({"id": next})).await;
    assert_eq!(rest["tasks"][0]["id"], "1.51");
    let set = bounded(
        "set_task_status",
        json!({"id": all.join(","), "status": "deferred"}),
    )
    .await;
    assert_eq!(set["message"], "300 statuses are set");
    client.cancel().await.expect("ended");
}

#[test]
fn nothing_but_protocol_goes_to_standard_output() {
    let scene = scene();
    let mut child = scene
        .tm(&["mcp"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("tm");
    let mut input = child.stdin.take().expect("a pipe");
    let initialize = json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {
        "protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "test", "version": "1"}}});
    let start = json!({"jsonrpc": "2.0", "id": 2, "method": "tools/call",
                       "params": {"name": "autopilot_start", "arguments": {"taskId": "1"}}});
    let initialized = json!({"jsonrpc": "2.0", "method": "notifications/initialized"});
    for message in [initialize, initialized, start] {
        writeln!(input, "{message}").expect("written");
    }
    let mut lines = BufReader::new(child.stdout.take().expect("a pipe")).lines();
    for id in 1..=2 {
        let line = lines.next().expect("an answer").expect("a line");
        let answer: Value = serde_json::from_str(&line).expect("one message a line");
        assert_eq!(answer["id"], id);
    }
    drop(input);
    assert!(lines.next().is_none(), "and nothing else");
    assert_eq!(child.wait().expect("ended").code(), Some(0));
}

#[cfg(not(feature = "mcp-http"))]
#[test]
fn what_was_not_built_in_is_refused_by_the_name_of_its_feature() {
    let scene = scene();
    for (arguments, feature) in [
        (&["mcp", "--http", "127.0.0.1:0"][..], "mcp-http"),
        (
            &["loop", "--notify", "https://example.org/secret"],
            "webhooks",
        ),
    ] {
        let output = scene.tm(arguments).output().expect("tm");
        let words = String::from_utf8_lossy(&output.stderr);
        let hint = format!("`--features {feature}`");
        assert!(
            !output.status.success() && words.contains(&hint) && !words.contains("secret"),
            "{words}"
        );
    }
}

#[test]
fn the_official_python_client_does_a_task() {
    let python = Path::new(env!("CARGO_MANIFEST_DIR")).join("target/tools/python/bin/python3");
    let python = std::env::var_os("TM_TEST_MCP_PYTHON").map_or(python, Into::into);
    let has_client = |python: &Path| {
        let output = scene().program(python).args(["-c", "import mcp"]).output();
        output.is_ok_and(|output| output.status.success())
    };
    if !has_client(&python) {
        lacks("client of MCP in Python");
        return;
    }
    let scene = scene();
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/mcp/client.py");
    let output = scene
        .program(&python)
        .arg(script)
        .arg(scene.tm(&[]).get_program())
        .output()
        .expect("python");
    assert!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    assert!(
        String::from_utf8_lossy(&output.stdout).contains("complete after 10 steps"),
        "{output:?}"
    );
}

#[test]
fn every_tool_says_why_it_refuses_on_the_command_line_of_the_inspector() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("target/tools");
    let node = root.join("conformance/node_modules/node/bin/node");
    let inspector = root.join("inspector/node_modules/.bin/mcp-inspector");
    if !node.is_file() || !inspector.exists() {
        return lacks("Inspector of MCP");
    }
    let scene = scene();
    let refused: Value = serde_json::from_str(include_str!("refused.json")).expect("a document");
    let refused: Vec<_> = refused.as_object().expect("tools").iter().collect();
    let ask = |tool: &str, given: &Value| {
        let output = scene
            .program(&node)
            .arg(&inspector)
            .arg("--cli")
            .arg(scene.tm(&[]).get_program())
            .args(["mcp", "--method", "tools/call", "--tool-name", tool])
            .args(["--tool-args-json", &given.to_string()])
            .output()
            .expect("node");
        let answer: Value = serde_json::from_slice(&output.stdout)
            .unwrap_or_else(|error| panic!("{tool}: {error}: {output:?}"));
        let text = answer["content"][0]["text"].as_str().expect("a text");
        let told: Value = serde_json::from_str(text).expect("a document");
        assert!(
            answer["isError"] == true && told["error"].is_string(),
            "{tool}: {answer:#}"
        );
    };
    std::thread::scope(|scope| {
        for few in refused.chunks(refused.len().div_ceil(4)) {
            scope.spawn(|| few.iter().for_each(|(tool, given)| ask(tool, given)));
        }
    });
}

#[test]
fn every_tool_says_why_it_refuses_through_the_official_client_in_typescript() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let modules = root.join("target/tools/conformance/node_modules");
    let node = modules.join("node/bin/node");
    if !node.is_file() || !modules.join("@modelcontextprotocol/sdk").is_dir() {
        return lacks("client of MCP in TypeScript");
    }
    let scene = scene();
    let output = scene
        .program(&node)
        .args([&root.join("tests/mcp/refused.mjs"), &modules])
        .arg(scene.tm(&[]).get_program())
        .output()
        .expect("node");
    let words = String::from_utf8_lossy(&output.stdout);
    assert_eq!(words.trim_end(), "18 tools were refused in words");
}
