//! Backlogs and settings that nobody would write by hand: each call ends soon, in words, and orders no terminal about.

use super::belongings::PRIVATE;
use super::driver::{control_characters, with_little_memory, within};
use crate::scene::{HONEST, Scene, write};
use serde_json::json;
use std::process::Output;

/// Calls that only read.
const LOOKS: [&[&str]; 6] = [
    &["list"],
    &["next"],
    &["show", "1"],
    &["waves", "plan"],
    &["waves", "status"],
    &["tasks", "check"],
];

/// How long a call that only reads may take.
const SOON: u64 = 20;

/// What a terminal takes for orders: its title, its clipboard, its screen, in seven and in eight bits.
const ORDERS: &str = "\u{1b}]0;title\u{7}\u{1b}]52;c;cm0=\u{7}\u{1b}[2J\u{9b}2J\r\u{8}";

fn scene(id: &str, title: &str) -> Scene {
    let task = json!({"id": id, "title": title, "description": title, "details": title, "status": "pending",
                      "priority": "medium", "dependencies": [], "subtasks": []});
    Scene::with_backlog(&json!({"master": {"tasks": [task]}}).to_string(), HONEST)
}

/// A call that has to end soon, with little memory, in words.
fn call(scene: &Scene, arguments: &[&str]) -> Output {
    let output = within(with_little_memory(scene, &scene.tm(arguments)), SOON);
    let output = output.unwrap_or_else(|| {
        panic!(
            "`tm {}` had not ended after {SOON} seconds",
            arguments.join(" ")
        )
    });
    let words = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(
        output.status.code().is_some_and(|code| code < 101),
        "{arguments:?}: {:?} {words:.2000}",
        output.status
    );
    assert!(!words.contains("panicked"), "{arguments:?}: {words:.2000}");
    assert_eq!(control_characters(&arguments.join(" "), &output), None);
    output
}

fn looks(scene: &Scene) {
    for arguments in LOOKS {
        call(scene, arguments);
    }
}

fn runs(scene: &Scene) {
    let run = within(scene.run_command(&["--tdd", "off"]), 60).expect("the run ends");
    assert_eq!(
        run.status.code(),
        Some(0),
        "{}",
        String::from_utf8_lossy(&run.stderr)
    );
    assert_eq!(control_characters("waves run", &run), None);
    for arguments in [
        &["waves", "report"][..],
        &["waves", "status"],
        &["worktrees", "list"],
        &["worktrees", "log", "1"],
        &["waves", "list"],
    ] {
        call(scene, arguments);
    }
}

/// What is in the place of a file.
enum Odd {
    Endless,
    Pipe,
    Folder,
    Gigabytes,
}

fn put(scene: &Scene, file: &str, odd: &Odd) {
    let path = scene.root().join(file);
    drop(std::fs::remove_file(&path));
    match odd {
        Odd::Endless => std::os::unix::fs::symlink("/dev/zero", &path).expect("a link"),
        Odd::Pipe => scene.pipe(&format!("checkout/{file}")),
        Odd::Folder => std::fs::create_dir(&path).expect("a folder"),
        Odd::Gigabytes => std::fs::File::create(&path)
            .and_then(|made| made.set_len(8 << 30))
            .expect("a file"),
    }
}

const ALL_ODD: [Odd; 4] = [Odd::Endless, Odd::Pipe, Odd::Folder, Odd::Gigabytes];

#[test]
fn orders_to_the_terminal_in_a_title_reach_nobody() {
    let scene = scene("1", &format!("Document {ORDERS} it"));
    looks(&scene);
    runs(&scene);
}

#[test]
fn programs_are_given_a_text_as_it_is() {
    let details = format!("Document {ORDERS} it \u{2028}\u{9b}31m\u{e0041}");
    let task = json!({"id": "1", "title": "x", "status": "pending", "details": details});
    let scene = Scene::with_backlog(&json!({"master": {"tasks": [task]}}).to_string(), HONEST);
    for (words, place) in [
        (["list", "--json"].as_slice(), "/tasks/0/details"),
        (&["show", "1", "--json"], "/task/details"),
    ] {
        let output = call(&scene, words);
        let document: serde_json::Value =
            serde_json::from_slice(&output.stdout).expect("a JSON document");
        assert_eq!(document.pointer(place), Some(&json!(details)), "{words:?}");
    }
}

#[test]
fn orders_to_the_terminal_in_names_of_tags_and_statuses_reach_nobody() {
    let task = json!({"id": "1", "title": "x", "status": format!("odd{ORDERS}"), "priority": format!("odd{ORDERS}"), "dependencies": [ORDERS]});
    let scene = Scene::with_backlog(
        &json!({format!("tag{ORDERS}"): {"tasks": [task.clone()]}, "master": {"tasks": [task]}})
            .to_string(),
        HONEST,
    );
    looks(&scene);
    call(&scene, &["tags"]);
    call(&scene, &["list", "--tag", &format!("none{ORDERS}")]);
}

/// Runs a task with this id and finds nothing outside of where things belong.
fn stays_within(id: &str) {
    let scene = scene(id, "Document it");
    let before = scene.git(&["status", "--porcelain"]);
    looks(&scene);
    let run = within(scene.run_command(&["--tdd", "off"]), 60).expect("the run ends");
    assert_eq!(control_characters("waves run", &run), None, "{id:?}");
    let after = scene.git(&["status", "--porcelain", "--", ".", ":!.taskmaster"]);
    assert_eq!(before, after, "{id:?}");
    for place in [
        scene.path("up"),
        scene.path("ran"),
        scene.root().join("ran"),
    ] {
        assert!(!place.exists(), "{id:?} made {}", place.display());
    }
    scene.git(&["fsck", "--connectivity-only"]);
}

#[test]
fn ids_that_are_paths_or_options_stay_within_their_folders() {
    for id in [
        "../../../up",
        "a/b",
        "-rf",
        "--help",
        "$(touch ran)",
        ".git",
        "HEAD",
        "@{-1}",
        "a..b",
        "x.lock",
    ] {
        stays_within(id);
    }
}

#[test]
fn ids_with_control_characters_stay_within_their_folders() {
    for id in ["line\nbreak", "\u{1b}[2J", "\u{0}", "\r", &"x".repeat(3000)] {
        stays_within(id);
    }
}

#[test]
fn a_title_of_ten_megabytes_is_cut_soon() {
    looks(&scene("1", &"a long title ".repeat(800_000)));
}

#[test]
fn a_title_of_ten_megabytes_without_a_space_is_cut_soon() {
    looks(&scene("1", &"x".repeat(10_000_000)));
}

#[test]
fn deep_json_is_refused_in_words() {
    for (open, close) in [("[", "]"), ("{\"a\":", "}")] {
        let scene = scene("1", "Document it");
        let deep = format!("{}1{}", open.repeat(200_000), close.repeat(200_000));
        write(&scene.root().join(".taskmaster/tasks/tasks.json"), &deep);
        looks(&scene);
        let within_a_task = format!(
            "{{\"master\":{{\"tasks\":[{{\"id\":1,\"title\":\"x\",\"metadata\":{deep}}}]}}}}"
        );
        write(
            &scene.root().join(".taskmaster/tasks/tasks.json"),
            &within_a_task,
        );
        looks(&scene);
    }
}

#[test]
fn settings_that_are_no_file_are_refused_in_words() {
    for odd in ALL_ODD {
        let scene = scene("1", "Document it");
        put(&scene, ".taskmaster/tm.yaml", &odd);
        for arguments in [
            &["list"][..],
            &["config", "show"],
            &["waves", "plan"],
            &["doctor"],
        ] {
            call(&scene, arguments);
        }
    }
}

#[test]
fn a_backlog_that_is_no_file_is_refused_in_words() {
    for odd in ALL_ODD {
        let scene = scene("1", "Document it");
        put(&scene, ".taskmaster/tasks/tasks.json", &odd);
        looks(&scene);
    }
}

#[test]
fn settings_that_multiply_are_refused_in_words() {
    let scene = scene("1", "Document it");
    let mut bomb = String::from("a0: &a0 [x, x, x, x, x, x, x, x, x]\n");
    for level in 1..12 {
        let below = format!("*a{}", level - 1);
        bomb.extend([
            format!("a{level}: &a{level} ["),
            vec![below; 9].join(", "),
            "]\n".to_owned(),
        ]);
    }
    for text in [
        bomb,
        "[".repeat(100_000),
        "\u{0}".repeat(1000),
        "waves: { max_parallel: 99999999999999999999 }".to_owned(),
    ] {
        write(&scene.root().join(".taskmaster/tm.yaml"), &text);
        eprintln!("settings that begin with {text:.20}");
        call(&scene, &["config", "show"]);
        call(&scene, &["waves", "plan"]);
    }
}

#[test]
fn a_summary_that_became_a_link_shows_no_private_file() {
    let scene = scene("1", "Document it");
    runs(&scene);
    write(&scene.path("home/key"), PRIVATE);
    for name in [
        "summary.md",
        "summary.json",
        "report.html",
        "plan.md",
        "context.md",
    ] {
        let file = scene.waves_folder().join(name);
        drop(std::fs::remove_file(&file));
        std::os::unix::fs::symlink(scene.path("home/key"), &file).expect("a link");
    }
    for arguments in [
        &["waves", "report"][..],
        &["waves", "status"],
        &["waves", "list"],
        &["worktrees", "list"],
        &["review", "--json"],
    ] {
        let output = call(&scene, arguments);
        assert!(
            !String::from_utf8_lossy(&output.stdout).contains(PRIVATE),
            "{arguments:?}"
        );
    }
}

#[test]
fn files_of_a_run_that_became_pipes_hold_nobody_up() {
    let scene = scene("1", "Document it");
    runs(&scene);
    for name in [
        "summary.md",
        "summary.json",
        "activity.jsonl",
        "journal.jsonl",
        "manifest.json",
        "tm.log",
    ] {
        let file = scene.waves_folder().join(name);
        drop(std::fs::remove_file(&file));
        let mode = rustix::fs::Mode::from_raw_mode(0o600);
        rustix::fs::mknodat(rustix::fs::CWD, &file, rustix::fs::FileType::Fifo, mode, 0)
            .expect("a pipe");
    }
    for arguments in [
        &["waves", "report"][..],
        &["waves", "status"],
        &["waves", "list"],
        &["worktrees", "list"],
        &["waves", "plan"],
    ] {
        call(&scene, arguments);
    }
}
