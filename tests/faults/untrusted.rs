//! What strangers write: pipes and links where files are wanted, orders to terminals, keys, texts without an end.

use crate::scene::{HONEST, Scene, task, write};
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

const KEY: &str = "hunter2-and-some-more";
const CLAIMS_FAIL: &str =
    r"printf 'status: FAIL\n\n## Issues\n- \033]52;c;ZXZpbA==\007\033[2Jbad %s\n'";

/// Does something in the first attempt at a task, and works as a good agent does in every other.
fn first(id: &str, how: &str) -> String {
    format!(
        "if [ \"$TM_TASK_ID\" = {id} ] && [ \"$TM_ATTEMPT\" = 1 ]; then\n{how}\nexit 0\nfi\n{HONEST}"
    )
}

fn two_tasks(agent: &str) -> Scene {
    Scene::new(
        &[("1", "Document it", &[]), ("2", "Document more", &["1"])],
        agent,
    )
}

/// All files below a folder that tm itself wrote.
fn written_by_tm(folder: &Path) -> Vec<PathBuf> {
    const OF_AGENTS: [&str; 3] = ["stdout.log", "stderr.log", "result.md"];
    let mut files = Vec::new();
    for entry in std::fs::read_dir(folder).expect("a folder").flatten() {
        let (path, kind) = (entry.path(), entry.file_type().expect("a kind"));
        let is_of_agent = OF_AGENTS.iter().any(|name| entry.file_name() == *name)
            || entry.file_name() == "context.md" && folder.ends_with("attempt-1");
        if kind.is_dir() {
            files.extend(written_by_tm(&path));
        } else if kind.is_file() && !is_of_agent {
            files.push(path);
        }
    }
    files
}

fn assert_in_no_file(scene: &Scene, secret: &str) {
    let files = written_by_tm(&scene.waves_folder());
    assert!(
        files.iter().any(|path| path.ends_with("prompt.md")) && files.len() > 10,
        "{files:?}"
    );
    for path in files {
        let text = String::from_utf8_lossy(&std::fs::read(&path).expect("a file")).into_owned();
        assert!(!text.contains(secret), "{} has it: {text}", path.display());
    }
}

fn printed(scene: &Scene, arguments: &[&str]) -> String {
    let output = scene
        .tm(arguments)
        .env("MY_API_KEY", KEY)
        .output()
        .expect("tm");
    String::from_utf8_lossy(&[output.stdout, output.stderr].concat()).into_owned()
}

#[test]
fn nothing_that_tasks_and_agents_say_is_an_order_to_a_terminal() {
    let title = "Document \u{1b}]52;c;ZXZpbA==\u{7}\u{1b}[2J\u{9b}2J\u{202e}it";
    let how =
        format!("printf '\\033]52;c;ZXZpbA==\\007said\\n'\n{CLAIMS_FAIL} x > \"$TM_RESULT_FILE\"");
    let scene = Scene::new(&[("1", title, &[])], &first("1", &how));
    let run = scene.run(&["--tdd", "off"]);
    assert_eq!(
        run.status.code(),
        Some(0),
        "{}",
        String::from_utf8_lossy(&run.stderr)
    );
    let mut all = vec![String::from_utf8_lossy(&[run.stdout, run.stderr].concat()).into_owned()];
    for arguments in [
        &["list"][..],
        &["list", "--compact"],
        &["list", "--json"],
        &["show", "1"],
        &["show", "1", "--json"],
        &["next"],
        &["waves", "plan"],
        &["waves", "status"],
        &["waves", "list"],
        &["waves", "report"],
        &["waves", "report", "--markdown"],
        &["waves", "report", "--html"],
        &["waves", "report", "--junit"],
        &["waves", "report", "--json"],
        &["waves", "logs", "1"],
        &["waves", "logs", "1", "--attempt", "1"],
        &["worktrees", "list"],
        &["worktrees", "show", "1"],
        &["review", "--json"],
        &["tasks", "check"],
        &["tasks", "stats"],
        &["tags"],
    ] {
        all.push(format!("{arguments:?}: {}", printed(&scene, arguments)));
    }
    for text in &all {
        let is_order = |letter: char| {
            letter.is_control() && !matches!(letter, '\n' | '\t') || letter == '\u{202e}'
        };
        assert!(!text.contains(is_order), "{text:?}");
    }
    assert!(
        all.iter().any(|text| text.contains("bad x"))
            && all.iter().any(|text| text.contains("said")),
        "{all:?}"
    );
    assert_in_no_file(&scene, "\u{1b}");
    let subject = scene.git(&["log", "--all", "--format=%B", "--grep", "Task: 1"]);
    assert!(!subject.contains('\u{1b}'), "{subject:?}");
}

#[test]
fn a_key_that_an_agent_prints_is_in_no_prompt_no_report_and_no_log_that_is_shown() {
    let how = format!(
        "echo \"the key is $MY_API_KEY\"\necho \"found $MY_API_KEY\" > \"$TM_CONTEXT_FILE\"\n\
         {CLAIMS_FAIL} \"$MY_API_KEY\" > \"$TM_RESULT_FILE\""
    );
    let scene = two_tasks(&first("1", &how));
    let run = scene
        .run_command(&["--tdd", "off", "-v"])
        .env("MY_API_KEY", KEY)
        .output()
        .expect("tm");
    let said = String::from_utf8_lossy(&[run.stdout, run.stderr].concat()).into_owned();
    assert_eq!(
        (run.status.code(), said.contains(KEY)),
        (Some(0), false),
        "{said}"
    );
    assert_in_no_file(&scene, KEY);
    let prompt = scene.waves_folder().join("tasks/2/attempt-1/prompt.md");
    assert!(
        std::fs::read_to_string(prompt)
            .expect("a prompt")
            .contains("found [redacted]")
    );
    let log = printed(&scene, &["waves", "logs", "1", "--attempt", "1"]);
    assert!(
        log.contains("the key is [redacted]") && !log.contains(KEY),
        "{log}"
    );
}

#[test]
fn pipes_and_links_in_the_place_of_files_hold_up_nobody_and_lead_nowhere() {
    let how = "echo precious > \"$AGENT_FOLDER/precious\"\ncd \"$(dirname \"$TM_RESULT_FILE\")\"\n\
               rm -f stdout.log stderr.log agent.json\nmkfifo result.md context.md stdout.log stderr.log agent.json\n\
               mkdir ../attempt-2; ln -s \"$AGENT_FOLDER/precious\" ../attempt-2/prompt.md\n\
               mkfifo ../attempt-2/stdout.log ../attempt-2/agent.json\n\
               ln -s \"$AGENT_FOLDER/precious\" ../attempt-2/stderr.log";
    let scene = two_tasks(&first("1", how));
    let report = scene.runs(&["--tdd", "off"], 0);
    let attempts = task(&report, "1")["attempts"].as_array().expect("attempts");
    assert_eq!(attempts[0]["failure"], "malformed-result", "{report:#}");
    assert_eq!(
        (attempts.len(), &task(&report, "2")["landed"]),
        (2, &true.into()),
        "{report:#}"
    );
    assert_eq!(
        std::fs::read_to_string(scene.path("precious")).expect("there"),
        "precious\n"
    );
    printed(&scene, &["waves", "logs", "1", "--attempt", "1"]);
    scene.assert_no_process_is_left();
}

#[test]
fn a_link_to_a_private_key_gets_into_no_prompt_and_no_report() {
    let how = "ln -s \"$AGENT_FOLDER/id_rsa\" \"$TM_CONTEXT_FILE\"";
    let agent = format!("{how}\n{HONEST}");
    let scene = two_tasks(&agent);
    write(&scene.path("id_rsa"), "a very private text\n");
    scene.runs(&["--tdd", "off"], 0);
    assert_in_no_file(&scene, "a very private text");
}

#[test]
fn settings_and_backlogs_that_never_end_are_errors() {
    let scene = two_tasks(HONEST);
    let settings = scene.root().join(".taskmaster/tm.yaml");
    symlink("/dev/zero", &settings).expect("a link");
    let said = printed(&scene, &["waves", "plan"]);
    assert!(
        said.contains("tm.yaml") && said.contains("it is a device, not a regular file"),
        "{said}"
    );
    std::fs::remove_file(&settings).expect("gone");
    scene.pipe("backlog.json");
    let path = scene.path("backlog.json");
    let said = printed(&scene, &["list", "--file", path.to_str().expect("UTF-8")]);
    assert!(said.contains("it is a pipe, not a regular file"), "{said}");
}

#[test]
fn a_title_of_megabytes_is_listed_as_one_line() {
    let title = "very ".repeat(2 << 20);
    let scene = Scene::new(&[("1", &title, &[])], HONEST);
    for arguments in [
        &["list"][..],
        &["list", "--compact"],
        &["waves", "plan"],
        &["show", "1"],
    ] {
        let said = printed(&scene, arguments);
        assert!(
            said.contains("very very") && said.len() < 10_000,
            "{arguments:?} printed {} bytes",
            said.len()
        );
    }
}

#[test]
fn a_token_is_not_taken_from_the_command_line() {
    let scene = two_tasks(HONEST);
    let output = scene
        .tm(&["mcp", "--http", "127.0.0.1:0", "--token", "abc"])
        .output()
        .expect("tm");
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(
        output.status.code() == Some(2)
            && said.contains("TM_MCP_TOKEN")
            && said.contains("--token-file"),
        "{said}"
    );
    write(&scene.path("empty"), "\n");
    let path = scene.path("empty");
    let arguments = [
        "mcp",
        "--http",
        "127.0.0.1:0",
        "--token-file",
        path.to_str().expect("UTF-8"),
    ];
    let output = scene.tm(&arguments).output().expect("tm");
    assert!(String::from_utf8_lossy(&output.stderr).contains("it is empty"));
}
