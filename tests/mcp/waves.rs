//! Waves, reports and prompts over MCP, with the official Rust client: long calls, their progress, and how they end.

use crate::autopilot::backlog;
use crate::mcp::{Client, accepted, call, connect_with};
use crate::scene::{HONEST, Scene, write};
use rmcp::ClientHandler;
use rmcp::model::{
    ArgumentInfo, CompleteRequestParams, GetPromptRequestParams, ProgressNotificationParam,
    ReadResourceRequestParams, Reference, ResourceContents,
};
use rmcp::service::NotificationContext;
use serde_json::{Value, json};
use std::io::Write as _;
use tokio::sync::mpsc;

/// A client that hands on every progress notification.
#[derive(Clone)]
struct Listener(mpsc::UnboundedSender<ProgressNotificationParam>);

impl ClientHandler for Listener {
    async fn on_progress(
        &self,
        progress: ProgressNotificationParam,
        _: NotificationContext<rmcp::RoleClient>,
    ) {
        self.0.send(progress).expect("somebody listens");
    }
}

/// A repository whose settings name the scene's agent.
fn scene(agent: &str) -> Scene {
    let scene = Scene::with_backlog(&backlog(), agent);
    let path = scene.path("agent.sh");
    let settings = json!({"agent": {"default": "mine", "grace": "100ms"}, "tdd": {"mode": "off"},
                          "agents": {"mine": {"command": ["sh", path], "prompt": "stdin", "output": "text"}}});
    write(
        &scene.root().join(".taskmaster/tm.yaml"),
        &settings.to_string(),
    );
    scene.git(&["add", "--all"]);
    scene.git(&["commit", "--quiet", "--message", "settings"]);
    scene
}

/// Waits until the agent can be told to go on, and tells it.
async fn let_go(scene: &Scene) {
    let pipe = scene.path("go");
    let told = tokio::task::spawn_blocking(move || {
        let mut pipe = std::fs::OpenOptions::new()
            .write(true)
            .open(pipe)
            .expect("the agent waits");
        pipe.write_all(b"on\n").expect("told");
    });
    told.await.expect("no panic");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_run_tells_its_progress_and_returns_its_report() {
    let scene = scene(&format!("read word < \"$AGENT_FOLDER/go\"\n{HONEST}"));
    scene.pipe("go");
    let (sender, mut progress) = mpsc::unbounded_channel();
    let client = connect_with(&scene, Listener(sender), &["mcp"]).await;
    let run = accepted(&client, "waves_run", json!({"ids": ["2"]}));
    let goes_on = async {
        let first = progress.recv().await.expect("progress");
        assert!(
            first.progress >= 1.0 && first.message.is_some(),
            "{first:?}"
        );
        let live = accepted(&client, "waves_status", json!({})).await;
        let second = call(&client, "waves_run", json!({})).await;
        let_go(&scene).await;
        (live, second)
    };
    let (report, (live, (refused, second))) = tokio::join!(run, goes_on);
    assert_eq!(
        (&report["status"], &report["tasks"][0]["verdict"]),
        (&json!("completed"), &json!("pass")),
        "{report:#}"
    );
    assert_eq!(live["run_id"], report["run_id"]);
    assert!(
        refused
            && second["suggestion"]
                .as_str()
                .expect("words")
                .contains("`waves_stop`"),
        "{second:#}"
    );
    let by_id = accepted(&client, "waves_report", json!({"runId": report["run_id"]})).await;
    assert_eq!(by_id["integration_commit"], report["integration_commit"]);
    assert_eq!(scene.statuses()[1], "done");
    client.cancel().await.expect("ended");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_run_outlives_the_client_and_can_be_stopped_by_another() {
    let scene = scene("echo > \"$AGENT_FOLDER/started\"; exec sleep 60");
    scene.pipe("started");
    let (sender, _progress) = mpsc::unbounded_channel();
    let first = connect_with(&scene, Listener(sender.clone()), &["mcp"]).await;
    let started = accepted(&first, "waves_run", json!({"ids": ["2"], "wait": false})).await;
    let run = started["run_id"].as_str().expect("a run").to_owned();
    let pipe = scene.path("started");
    tokio::task::spawn_blocking(|| drop(std::fs::read(pipe).expect("the agent starts")))
        .await
        .expect("no panic");
    first.cancel().await.expect("ended");
    let second = connect_with(&scene, Listener(sender), &["mcp"]).await;
    let status = accepted(&second, "waves_status", json!({"runId": run})).await;
    assert_eq!(status["status"], "running", "{status:#}");
    let stopped = accepted(&second, "waves_stop", json!({})).await;
    assert!(stopped["message"].is_string(), "{stopped:#}");
    // Follows the agent until it has ended.
    let followed = scene
        .tm(&["waves", "logs", "2", "--follow"])
        .output()
        .expect("tm");
    assert!(followed.status.success(), "{followed:?}");
    second.cancel().await.expect("ended");
}

fn text(contents: &ResourceContents) -> (&str, &str) {
    match contents {
        ResourceContents::TextResourceContents {
            mime_type, text, ..
        } => (mime_type.as_deref().unwrap_or(""), text),
        other => panic!("{other:?}"),
    }
}

async fn completed(client: &Client<Listener>, request: CompleteRequestParams) -> Vec<String> {
    let completed = client.complete(request).await.expect("values");
    completed.completion.values
}

#[tokio::test(flavor = "multi_thread")]
async fn reports_are_resources() {
    let scene = scene(HONEST);
    let (sender, _progress) = mpsc::unbounded_channel();
    let client = connect_with(&scene, Listener(sender), &["mcp"]).await;
    assert_eq!(client.list_all_resources().await.expect("a list"), []);
    let report = accepted(&client, "waves_run", json!({"ids": ["2"]})).await;
    let run = report["run_id"].as_str().expect("a run").to_owned();
    accepted(&client, "autopilot_start", json!({"taskId": "1"})).await;
    let resources = client.list_all_resources().await.expect("a list");
    let addresses: Vec<&str> = resources
        .iter()
        .map(|resource| resource.uri.as_str())
        .collect();
    let summary = format!("tm://waves/{run}/summary.md");
    assert!(addresses.contains(&summary.as_str()), "{addresses:?}");
    assert!(
        addresses
            .iter()
            .any(|uri| uri.starts_with("tm://autopilot/") && uri.ends_with("/state.json")),
        "{addresses:?}"
    );
    for resource in &resources {
        let read = client
            .read_resource(ReadResourceRequestParams::new(&resource.uri))
            .await
            .expect("contents");
        let (mime_type, _) = text(&read.contents[0]);
        assert_eq!(
            Some(mime_type),
            resource.mime_type.as_deref(),
            "{}",
            resource.uri
        );
    }
    let read = client
        .read_resource(ReadResourceRequestParams::new(&summary))
        .await
        .expect("contents");
    assert!(
        text(&read.contents[0]).1.contains(&format!("Run {run}")),
        "{read:?}"
    );
    for wrong in [
        "tm://waves/../summary.md",
        "tm://waves/x/summary.md",
        &summary.replace("summary.md", "journal.jsonl"),
        "file:///etc/passwd",
    ] {
        let error = client
            .read_resource(ReadResourceRequestParams::new(wrong))
            .await
            .expect_err(wrong);
        assert!(
            error.to_string().contains("no such resource"),
            "{wrong}: {error}"
        );
    }
    let templates = client
        .list_all_resource_templates()
        .await
        .expect("templates");
    assert_eq!(templates[0].uri_template, "tm://waves/{run}/{file}");
    let ask = |name: &str, value: &str| {
        CompleteRequestParams::new(
            Reference::for_resource(&templates[0].uri_template),
            ArgumentInfo::new(name, value),
        )
    };
    assert_eq!(completed(&client, ask("run", &run[..4])).await, [run]);
    assert_eq!(
        completed(&client, ask("file", "summary.j")).await,
        ["summary.json"]
    );
    client.cancel().await.expect("ended");
}

#[tokio::test(flavor = "multi_thread")]
async fn presets_are_prompts() {
    let scene = scene(HONEST);
    write(
        &scene.root().join(".taskmaster/presets/ours.md"),
        "# Our own\n\nDo it for {{ tag }}.\n",
    );
    let (sender, _progress) = mpsc::unbounded_channel();
    let client = connect_with(&scene, Listener(sender), &["mcp"]).await;
    let prompts = client.list_all_prompts().await.expect("a list");
    let names: Vec<&str> = prompts.iter().map(|prompt| prompt.name.as_str()).collect();
    assert_eq!(
        names,
        [
            "autopilot",
            "default",
            "test-coverage",
            "linting",
            "duplication",
            "entropy",
            "ours"
        ]
    );
    let get = async |name: &str, arguments: Value| {
        let request = GetPromptRequestParams::new(name)
            .with_arguments(arguments.as_object().cloned().expect("an object"));
        let result = client
            .get_prompt(request)
            .await
            .map_err(|error| error.to_string())?;
        Ok::<_, String>(
            serde_json::to_value(&result.messages).expect("JSON")[0]["content"]["text"]
                .as_str()
                .expect("text")
                .to_owned(),
        )
    };
    for name in &names[..6] {
        assert!(
            get(name, json!({})).await.expect(name).len() > 200,
            "{name}"
        );
    }
    for (name, arguments, words) in [
        ("default", json!({"tag": "later"}), "tm next --tag=later"),
        ("ours", json!({"tag": "later"}), "Do it for later."),
        ("autopilot", json!({"task": "2"}), "`taskId` \"2\""),
    ] {
        assert!(get(name, arguments).await.expect("words").contains(words));
    }
    assert!(
        get("nope", json!({}))
            .await
            .expect_err("unknown")
            .contains("there are `default`")
    );
    let ask = |name: &str| {
        CompleteRequestParams::new(
            Reference::for_prompt("autopilot"),
            ArgumentInfo::new(name, ""),
        )
    };
    assert_eq!(completed(&client, ask("task")).await, ["1", "2", "3"]);
    assert_eq!(completed(&client, ask("tag")).await, ["master"]);
    client.cancel().await.expect("ended");
}
