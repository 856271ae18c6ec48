//! Clients of the MCP server that are not polite: killed servers, foreign settings, the suite that judges servers.

use crate::autopilot::scene;
use crate::scene::{Scene, executable, tm_binary, write};
use crate::skipping::lacks;
use serde_json::{Value, json};
use std::io::{BufRead as _, BufReader, Write as _};
use std::path::{Path, PathBuf};
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

/// Where `.ci/run` installs the real programs.
fn programs() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("target/tools/node/node_modules/.bin")
}

/// `tm mcp install`, with programs of clients in this folder and no others.
fn install(scene: &Scene, programs: &Path, arguments: &[&str]) -> (i32, String) {
    let path = format!("{}:/usr/bin:/bin", programs.display());
    let output: Output = scene
        .tm(&[&["mcp", "install"], arguments].concat())
        .env("PATH", path)
        .output()
        .expect("tm");
    let words = String::from_utf8_lossy(&output.stderr).into_owned()
        + &String::from_utf8_lossy(&output.stdout);
    (output.status.code().expect("a code"), words)
}

#[test]
fn real_clients_are_told_of_the_server_by_their_own_commands() {
    let scene = scene();
    let home = scene.path("home");
    std::fs::create_dir_all(&home).expect("a folder");
    let before = scene.git(&["status", "--porcelain"]);
    for (client, files) in [
        ("claude", &[".claude.json"][..]),
        ("codex", &[".codex/config.toml"]),
        ("gemini", &[".gemini/settings.json"]),
        (
            "opencode",
            &[
                ".config/opencode/opencode.jsonc",
                ".config/opencode/opencode.json",
            ],
        ),
    ] {
        if !programs().join(client).exists() {
            lacks(client);
            continue;
        }
        let (code, words) = install(&scene, &programs(), &[client, "--tools", "core"]);
        assert_eq!(code, 0, "{client}: {words}");
        let text = || {
            let read = |name| std::fs::read_to_string(home.join(name)).ok();
            files.iter().find_map(read).unwrap_or_default()
        };
        let told = text();
        assert!(
            told.contains("--tools=core") && told.contains("\"mcp\""),
            "{client}: {told}"
        );
        let kept = scene.path("tm").display().to_string();
        assert!(
            told.contains(&kept),
            "its files stay where tm's are: {told}"
        );
        let (code, words) = install(&scene, &programs(), &[client, "--remove"]);
        assert_eq!(code, 0, "{client}: {words}");
        assert!(!text().contains("--tools=core"), "{client}: {}", text());
    }
    assert_eq!(
        scene.git(&["status", "--porcelain"]),
        before,
        "nothing of it is in the checkout"
    );
}

#[test]
fn what_a_client_would_be_asked_is_printed_as_it_is_typed() {
    let scene = scene();
    let nowhere = scene.path("none");
    let printed = |client: &str, scope: &str| {
        let arguments = [client, "--scope", scope, "--print", "--tools", "core"];
        let words = install(&scene, &nowhere, &arguments).1;
        let words = words.replace(&tm_binary().display().to_string(), "TM");
        words.replace(&scene.path("tm").display().to_string(), "HOME")
    };
    let ours = "--env 'TM_HOME=HOME' --";
    for (client, scope, command) in [
        (
            "claude",
            "project",
            format!("claude mcp add tm --scope project {ours} TM mcp '--tools=core'"),
        ),
        (
            "codex",
            "user",
            format!("codex mcp add tm {ours} TM mcp '--tools=core'"),
        ),
        (
            "gemini",
            "user",
            format!("gemini mcp add tm TM --scope user {ours} mcp '--tools=core'"),
        ),
        (
            "opencode",
            "user",
            format!("opencode mcp add tm {ours} TM mcp '--tools=core'"),
        ),
    ] {
        assert_eq!(printed(client, scope), format!("run this:\n{command}\n"));
    }
    assert!(printed("cursor", "project").contains("\"mcpServers\": {\n    \"tm\": {"));
}

#[test]
fn what_a_client_can_not_do_is_said_in_its_words() {
    let scene = scene();
    let folder = scene.path("programs");
    let (code, words) = install(&scene, &folder, &["claude"]);
    assert!(
        code == 1 && words.contains("find `claude` in PATH") && words.contains("--print"),
        "{words}"
    );
    executable(
        &folder.join("claude"),
        "echo 'tm is there, says claude' >&2; exit 3",
    );
    let (code, words) = install(&scene, &folder, &["claude"]);
    assert!(
        code == 1 && words.contains("tm is there, says claude") && words.contains("--remove"),
        "{words}"
    );
    let (code, words) = install(&scene, &folder, &["codex", "--scope", "project"]);
    assert!(
        code == 2 && words.contains("for all projects only"),
        "{words}"
    );
    assert_eq!(install(&scene, &folder, &["emacs"]).0, 2);
}

#[test]
fn files_of_clients_without_a_command_keep_their_other_settings() {
    let scene = scene();
    let (home, root, nowhere) = (scene.path("home"), scene.root(), scene.path("none"));
    write(
        &root.join("opencode.json"),
        "{\n  \"theme\": \"dark\",\n  \"autoupdate\": false\n}\n",
    );
    for (arguments, file, part) in [
        (
            ["opencode", "--scope", "project"],
            root.join("opencode.json"),
            "{\n  \"theme\": \"dark\",\n  \"autoupdate\": false",
        ),
        (
            ["cursor", "--scope", "project"],
            root.join(".cursor/mcp.json"),
            "\"mcpServers\"",
        ),
        (
            ["cursor", "--scope", "user"],
            home.join(".cursor/mcp.json"),
            "\"mcpServers\"",
        ),
    ] {
        let (code, words) = install(&scene, &nowhere, &arguments);
        assert_eq!(code, 0, "{words}");
        let read = || std::fs::read_to_string(&file).expect("a file");
        let text = read();
        assert!(text.contains(part) && text.contains("TM_HOME"), "{text}");
        assert!(install(&scene, &nowhere, &arguments).1.contains("already"));
        assert_eq!(read(), text, "twice is once");
        let remove = [&arguments[..], &["--remove"]].concat();
        assert_eq!(install(&scene, &nowhere, &remove).0, 0);
        assert!(!read().contains("TM_HOME"), "{}", read());
    }
    let file = root.join(".cursor/mcp.json");
    write(&file, "{ // mine\n}");
    let (code, words) = install(&scene, &nowhere, &["cursor", "--scope", "project"]);
    assert!(
        code == 1 && words.contains(".cursor/mcp.json") && words.contains("--print"),
        "{words}"
    );
    assert_eq!(
        std::fs::read_to_string(file).expect("a file"),
        "{ // mine\n}"
    );
}
