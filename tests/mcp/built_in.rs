//! What is built in by features: MCP over HTTP for this machine alone, and notices to servers.

use crate::autopilot::scene;
use crate::scene::Scene;
use crate::skipping::lacks;
use serde_json::json;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Stdio};

/// A server on a loopback address, killed at the end.
struct HttpScene {
    child: Child,
    address: String,
    token: &'static str,
}

impl HttpScene {
    fn serve(scene: &Scene) -> Self {
        let token = "secret";
        let mut command = scene.tm(&["mcp", "--http", "127.0.0.1:0"]);
        command.env("TM_MCP_TOKEN", token);
        let mut child = command.stderr(Stdio::piped()).spawn().expect("tm");
        let mut line = String::new();
        BufReader::new(child.stderr.take().expect("a pipe"))
            .read_line(&mut line)
            .expect("a line");
        let address = line
            .split("http://")
            .nth(1)
            .and_then(|rest| rest.split("/mcp").next());
        Self {
            child,
            address: address.expect("an address").to_owned(),
            token,
        }
    }
}

impl Drop for HttpScene {
    fn drop(&mut self) {
        self.child.kill().expect("killed");
        self.child.wait().expect("gone");
    }
}

#[test]
fn http_wants_loopback_a_token_and_a_host_of_this_machine() {
    let scene = scene();
    let outside = scene
        .tm(&["mcp", "--http", "0.0.0.0:0"])
        .output()
        .expect("tm");
    assert!(
        String::from_utf8_lossy(&outside.stderr).contains("only loopback"),
        "{outside:?}"
    );
    let http = HttpScene::serve(&scene);
    let address = http.address.clone();
    let initialize = json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {
        "protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "test", "version": "1"}}})
    .to_string();
    let ask = |host: &str, headers: &str| -> String {
        let mut stream = TcpStream::connect(&address).expect("a connection");
        let request = format!(
            "POST /mcp HTTP/1.1\r\nHost: {host}\r\nContent-Type: application/json\r\nConnection: close\r\n\
             Accept: application/json, text/event-stream\r\nContent-Length: {}\r\n{headers}\r\n{initialize}",
            initialize.len()
        );
        stream.write_all(request.as_bytes()).expect("sent");
        let mut answer = [0; 12];
        stream.read_exact(&mut answer).expect("an answer");
        String::from_utf8_lossy(&answer[9..]).into_owned()
    };
    assert_eq!(ask(&address, ""), "401");
    assert_eq!(ask(&address, "Authorization: Bearer wrong!\r\n"), "401");
    assert_eq!(
        ask("evil.example", "Authorization: Bearer secret\r\n"),
        "403"
    );
    assert_eq!(
        ask(
            &address,
            "Authorization: Bearer secret\r\nOrigin: http://evil.example\r\n"
        ),
        "403"
    );
    assert_eq!(ask(&address, "Authorization: Bearer secret\r\n"), "200");
}

#[test]
fn a_webhook_is_told_how_the_loop_ended() {
    let scene = Scene::new(
        &[("1", "Do it", &[]), ("2", "Do more", &["1"])],
        "echo '<loop-blocked>no key</loop-blocked>'\n",
    );
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let url = format!("http://{}/hook", listener.local_addr().expect("an address"));
    let server = std::thread::spawn(move || {
        let (mut stream, _) = listener.accept().expect("a connection");
        let mut request = Vec::new();
        let mut buffer = [0; 4096];
        // The document ends with the end of `lanes`, the last of its keys.
        while !request.ends_with(b"]}}") {
            let read = stream.read(&mut buffer).expect("bytes");
            request.extend_from_slice(&buffer[..read]);
        }
        stream
            .write_all(b"HTTP/1.1 204 No Content\r\nConnection: close\r\n\r\n")
            .expect("an answer");
        String::from_utf8_lossy(&request).into_owned()
    });
    let output = scene
        .tm(&[
            "loop",
            "--agent-command",
            &format!("sh '{}'", scene.path("agent.sh").display()),
            "--notify",
            &url,
        ])
        .output()
        .expect("tm");
    assert_eq!(
        output.status.code(),
        Some(3),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    let request = server.join().expect("served");
    let (_, body) = request.split_once("\r\n\r\n").expect("a body");
    let body: serde_json::Value = serde_json::from_str(body).expect("JSON");
    let summary = &body["summary"];
    assert_eq!(
        (&summary["final_status"], &summary["exit_code"]),
        (&"blocked".into(), &3.into()),
        "{body}"
    );
    assert!(
        body["text"]
            .as_str()
            .is_some_and(|text| text.contains("no key")),
        "{body}"
    );
}

/// Where `.ci/run` puts the suite, and a Node that can run it.
fn suite() -> Option<(PathBuf, PathBuf)> {
    let modules =
        Path::new(env!("CARGO_MANIFEST_DIR")).join("target/tools/conformance/node_modules");
    let modules = std::env::var_os("TM_TEST_NODE_MODULES").map_or(modules, PathBuf::from);
    let node = modules.join("node/bin/node");
    (node.is_file() && modules.join("@modelcontextprotocol/conformance").is_dir())
        .then_some((node, modules))
}

#[test]
fn the_conformance_suite_passes_as_far_as_it_applies() {
    let Some((node, modules)) = suite() else {
        lacks("conformance suite of MCP");
        return;
    };
    let scene = scene();
    let http = HttpScene::serve(&scene);
    let tests = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/conformance");
    let output = scene
        .program(&node)
        .arg("--import")
        .arg(tests.join("bearer.mjs"))
        .arg(modules.join("@modelcontextprotocol/conformance/dist/index.js"))
        .args([
            "server",
            "--url",
            &format!("http://{}/mcp", http.address),
            "--expected-failures",
        ])
        .arg(tests.join("not-applicable.yaml"))
        .args(["--output-dir", "results"])
        .current_dir(scene.path(""))
        .env("SUITE_MODULES", &modules)
        .env("SUITE_TOKEN", http.token)
        .output()
        .expect("node");
    let words = String::from_utf8_lossy(&output.stdout).into_owned()
        + &String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{words}");
    for scenario in [
        "server-initialize",
        "tools-list",
        "resources-list",
        "prompts-list",
        "dns-rebinding-protection",
    ] {
        assert!(
            words.contains(&format!("✓ {scenario}")),
            "{scenario} in {words}"
        );
    }
}
