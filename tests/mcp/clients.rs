//! Clients of the MCP server that are not polite: killed servers, foreign settings, the suite that judges servers.

use crate::autopilot::scene;
use crate::scene::{Scene, write};
use serde_json::{Value, json};
use std::io::{BufRead as _, BufReader, Write as _};
use std::process::{Output, Stdio};

/// Starts a server, calls one tool, and kills the server without a word; nothing where it died before it answered.
fn call_and_kill(
    scene: &Scene,
    crash_point: Option<u32>,
    name: &str,
    arguments: &Value,
) -> Option<Value> {
    let mut command = scene.tm(&["mcp"]);
    if let Some(point) = crash_point {
        command.env("CRASH_POINT", point.to_string());
    }
    let mut server = command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("tm");
    let mut input = server.stdin.take().expect("a pipe");
    let initialize = json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {
        "protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "test", "version": "1"}}});
    let initialized = json!({"jsonrpc": "2.0", "method": "notifications/initialized"});
    let tool = json!({"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": {"name": name, "arguments": arguments}});
    for message in [initialize, initialized, tool] {
        writeln!(input, "{message}").expect("written");
    }
    let lines = BufReader::new(server.stdout.take().expect("a pipe")).lines();
    let answer = lines
        .map_while(Result::ok)
        .find(|line| line.contains("\"id\":2"));
    server.kill().expect("killed");
    server.wait().expect("gone");
    let answer: Value = serde_json::from_str(&answer?).expect("JSON");
    Some(answer["result"]["structuredContent"].clone())
}

#[test]
fn a_task_is_done_over_servers_that_are_killed_in_and_after_every_call() {
    let scene = scene();
    call_and_kill(&scene, Some(12), "autopilot_start", &json!({"taskId": "1"}));
    call_and_kill(&scene, None, "autopilot_start", &json!({"taskId": "1"}));
    call_and_kill(&scene, None, "autopilot_resume", &json!({}));
    let mut steps = 0;
    loop {
        let next = call_and_kill(&scene, None, "autopilot_next", &json!({})).expect("an answer");
        let action = next["action"]
            .as_str()
            .unwrap_or_else(|| panic!("{next:#}"))
            .to_owned();
        let subtask = next["subtask"]["id"]
            .as_str()
            .unwrap_or_default()
            .to_owned();
        scene.work(&action, &subtask);
        let report = |passed, failed| json!({"phase": action, "subtaskId": subtask, "testResults": {"passed": passed, "failed": failed}});
        let (tool, arguments) = match action.as_str() {
            "complete" => break,
            "red" => ("autopilot_complete_phase", report(1, 1)),
            "green" => ("autopilot_complete_phase", report(2, 0)),
            "commit" => ("autopilot_commit", json!({"subtaskId": subtask})),
            "finalize" => ("autopilot_finalize", json!({"testResults": {"passed": 4}})),
            "resume" => ("autopilot_resume", json!({})),
            other => panic!("nothing is known of {other}"),
        };
        // Every other call dies in its middle; what it had not done then is what comes next.
        steps += 1;
        let point = (steps % 2 == 0).then_some(1 + steps);
        call_and_kill(&scene, point, tool, &arguments);
        assert!(steps < 30, "{action} of {subtask} again and again");
    }
    assert_eq!(
        scene.all_statuses(),
        "1:done 1.1:done 1.2:done 1.3:done 2:pending 2.1:pending 3:pending"
    );
    assert_eq!(scene.git(&["rev-list", "--count", "main..HEAD"]), "3");
}

fn install(scene: &Scene, arguments: &[&str]) -> (i32, String) {
    let output: Output = scene
        .tm(&[&["mcp", "install"], arguments].concat())
        .output()
        .expect("tm");
    let words = String::from_utf8_lossy(&output.stderr).into_owned()
        + &String::from_utf8_lossy(&output.stdout);
    (output.status.code().expect("a code"), words)
}

#[test]
fn clients_are_told_of_the_server_and_keep_their_other_settings() {
    let scene = scene();
    let (home, root) = (scene.path("home"), scene.root());
    write(
        &root.join(".gemini/settings.json"),
        "{\n  // mine\n  \"theme\": \"dark\"\n}\n",
    );
    for (client, file, part) in [
        (&["claude"][..], root.join(".mcp.json"), "\"mcpServers\""),
        (
            &["claude", "--scope", "user"],
            home.join(".claude.json"),
            "\"mcpServers\"",
        ),
        (
            &["codex"],
            home.join(".codex/config.toml"),
            "[mcp_servers.tm]",
        ),
        (
            &["gemini"],
            root.join(".gemini/settings.json"),
            "// mine\n  \"theme\": \"dark\"",
        ),
        (
            &["opencode"],
            root.join("opencode.json"),
            "\"type\": \"local\"",
        ),
        (
            &["cursor", "--tools", "core"],
            root.join(".cursor/mcp.json"),
            "--tools=core",
        ),
    ] {
        let (code, words) = install(&scene, client);
        assert_eq!(code, 0, "{words}");
        let text = std::fs::read_to_string(&file)
            .unwrap_or_else(|error| panic!("{}: {error}", file.display()));
        assert!(text.contains(part) && text.contains("\"mcp\""), "{text}");
        assert!(install(&scene, client).1.contains("already"));
        assert_eq!(
            std::fs::read_to_string(&file).expect("a file"),
            text,
            "twice is once"
        );
        let printed = install(&scene, &[client, &["--print"]].concat()).1;
        assert!(printed.contains("add this to"), "{printed}");
        let remove: Vec<&str> = client
            .iter()
            .copied()
            .filter(|word| !["--tools", "core"].contains(word))
            .collect();
        assert_eq!(install(&scene, &[&remove[..], &["--remove"]].concat()).0, 0);
        assert!(
            !std::fs::read_to_string(&file)
                .expect("a file")
                .contains("command"),
            "{}",
            file.display()
        );
    }
    write(&root.join(".mcp.json"), "{ broken");
    let (code, words) = install(&scene, &["claude"]);
    assert!(
        code == 1 && words.contains(".mcp.json") && words.contains("--print"),
        "{words}"
    );
    assert_eq!(
        std::fs::read_to_string(root.join(".mcp.json")).expect("a file"),
        "{ broken"
    );
    assert_eq!(install(&scene, &["emacs"]).0, 2);
}
