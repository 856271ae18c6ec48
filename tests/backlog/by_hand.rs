//! The backlog changed and looked at by hand: what tasks say, their subtasks, and lists.

use super::{answer, backlog, json};
use crate::scene::{HONEST, Scene, write};

const BACKLOG: &str = r#"{
  "master": {
    "tasks": [
      {"id": 1, "title": "Read settings", "status": "done", "priority": "high", "dependencies": [], "subtasks": [
        {"id": 1, "title": "Names", "status": "pending"},
        {"id": 2, "title": "Values", "status": "done", "dependencies": [1], "details": "é\u0041 1e3", "x": 1e3}
      ]},
      {"id": 2, "title": "Show settings on a page that has a title which is longer than there is room on a line", "status": "pending", "dependencies": [1], "complexity": 5},
      {"id": 3,   "title": "Write settings", "status": "pending", "priority": "critical", "dependencies": [1, 2]}
    ]
  }
}
"#;

fn scene() -> Scene {
    Scene::with_backlog(BACKLOG, HONEST)
}

#[test]
fn what_a_task_says_is_changed_and_nothing_else() {
    let scene = scene();
    answer(
        &scene,
        &[
            "update-task",
            "--id=3",
            "--title",
            "Keep settings",
            "--priority=low",
        ],
        0,
    );
    let (text, stamp) = (
        backlog(&scene),
        &json(&scene, &["show", "3", "--json"], 0)["task"]["updatedAt"],
    );
    let expected = BACKLOG.replace("Write settings", "Keep settings").replace(
        "\"critical\", \"dependencies\": [1, 2]",
        &format!("\"low\", \"dependencies\": [1, 2],   \"updatedAt\": {stamp}"),
    );
    assert_eq!(text, expected);
    answer(
        &scene,
        &["update-subtask", "--id", "1.2", "--prompt", "seen"],
        0,
    );
    let details = json(&scene, &["show", "1.2", "--json"], 0)["task"]["details"].to_string();
    assert!(
        details.starts_with("\"éA 1e3\\n\\n[20") && details.ends_with("Z] seen\""),
        "{details}"
    );
    let before = backlog(&scene);
    for refused in [
        &["update-task", "--id=3", "--title="][..],
        &["update-task", "--id=3"],
        &["update-task", "--id=3", "--prompt", "make it better"],
        &["update-task", "--id=3", "--complexity", "huge"],
        &["update-subtask", "--id=3", "--append", "x"],
        &["remove-subtask", "--id=3"],
    ] {
        let answer = json(&scene, &[refused, &["--json"]].concat(), 2);
        let error = answer["error"].as_str().expect("an error");
        assert!(!error.starts_with("failed to"), "{error}");
    }
    assert_eq!(backlog(&scene), before);
}

#[test]
fn subtasks_are_removed_made_tasks_of_and_cleared() {
    let scene = scene();
    let converted = json(
        &scene,
        &["remove-subtask", "--id=1.2", "--convert", "--json"],
        0,
    );
    assert_eq!(converted["ids"], serde_json::json!(["4"]));
    assert_eq!(
        json(&scene, &["show", "4", "--json"], 0)["task"]["title"],
        "Values"
    );
    answer(&scene, &["clear-subtasks", "--id=9"], 1);
    answer(&scene, &["clear-subtasks", "--all"], 1);
    answer(&scene, &["clear-subtasks", "--id=1"], 0);
    let all = json(&scene, &["list", "all", "--json"], 0);
    assert_eq!(all["tasks"][0]["subtasks"], serde_json::json!([]));
    assert_eq!(all["tasks"].as_array().map(Vec::len), Some(4));
}

#[test]
fn a_task_that_is_done_takes_its_open_subtasks_along() {
    let scene = scene();
    let checked = json(&scene, &["tasks", "check", "--json"], 0);
    let warnings = checked["warnings"].to_string();
    assert!(
        warnings.contains("is done, and its subtasks 1.1 are not"),
        "{warnings}"
    );
    answer(&scene, &["set-status", "1", "pending"], 0);
    let before = backlog(&scene);
    insta::assert_snapshot!(answer(&scene, &["set-status", "1", "done", "--no-timestamps"], 0), @"
    1: pending → done
    1.1: pending → done (follows its task)
    ");
    let after = backlog(&scene);
    let differing = before
        .lines()
        .zip(after.lines())
        .filter(|(before, after)| before != after);
    assert_eq!(
        (before.lines().count(), differing.count()),
        (after.lines().count(), 2)
    );
    // What is not open is somebody's word.
    answer(&scene, &["set-status", "1,1.1", "pending"], 0);
    answer(&scene, &["set-status", "1.1", "deferred"], 0);
    answer(&scene, &["set-status", "1", "done"], 0);
    assert_eq!(
        json(&scene, &["show", "1.1", "--json"], 0)["task"]["status"],
        "deferred"
    );
}

#[test]
fn a_list_has_a_line_for_each_task_and_shows_what_is_asked_for() {
    let scene = scene();
    insta::assert_snapshot!(answer(&scene, &["list"], 0), @"
    tag master, 3 tasks: 2 pending, 1 done
    ID  STATUS   PRIORITY  SIZE  SUBTASKS  DEPENDS ON  TITLE
    2   pending  medium    M               1           Show settings on a page that…
    3   pending  critical                  1, 2        Write settings
    1   done     high            1/2                   Read settings
    ");
    let ids = |arguments: &[&str]| {
        let listed = json(&scene, &[&["list", "--json"], arguments].concat(), 0);
        let tasks = listed["tasks"].as_array().expect("tasks").iter();
        let ids = tasks.map(|task| task["id"].as_str().expect("an id").to_owned());
        ids.collect::<Vec<_>>().join(" ")
    };
    assert_eq!(ids(&[]), "1 2 3");
    let all = json(&scene, &["list", "all", "--json"], 0);
    assert_eq!(
        all["tasks"][0]["subtasks"][1]["dependencies"],
        serde_json::json!([1])
    );
    assert_eq!(ids(&["--sort", "priority"]), "3 1 2");
    assert_eq!(ids(&["--priority", "high,critical"]), "1 3");
    assert_eq!(ids(&["--search", "PAGE settings"]), "2");
    assert_eq!(ids(&["--limit", "1", "--sort", "title"]), "1");
    assert_eq!(ids(&["--blocking"]), "1 2");
    assert_eq!(ids(&["--ready"]), "2");
    insta::assert_snapshot!(answer(&scene, &["show", "2"], 0), @"
    2  Show settings on a page that has a title which is longer than there is room
    on a line
    status pending, priority medium, complexity M, depends on 1, waited for by 3
    ");
    answer(&scene, &["set-status", "1", "in-progress"], 0);
    insta::assert_snapshot!(answer(&scene, &["next"], 0), @"
    1.1  Names
    of task 1: Read settings
    status pending, priority high, waited for by 1.2
    ");
}

#[test]
fn task_masters_names_work_or_say_what_to_do_instead() {
    let scene = scene();
    answer(&scene, &["add-tag", "next", "--copy-from-current"], 0);
    answer(&scene, &["use-tag", "next"], 0);
    assert_eq!(json(&scene, &["tags", "--json"], 0)["currentTag"], "next");
    answer(&scene, &["use-tag", "master"], 0);
    answer(&scene, &["rename-tag", "next", "later"], 0);
    answer(&scene, &["copy-tag", "later", "latest"], 0);
    answer(&scene, &["delete-tag", "latest", "--yes"], 0);
    answer(&scene, &["delete-tag", "later", "--yes"], 0);
    assert_eq!(backlog(&scene), BACKLOG);
    for (words, name, instead) in [
        (["expand", "--id=1", "--json"], "expand", "add-subtask"),
        (
            ["add-task", "--prompt=Do it", "--json"],
            "--prompt",
            "--title",
        ),
    ] {
        let refusal = json(&scene, &words, 2);
        let error = format!("tm has no `{name}`, which is one of Task Master's");
        assert_eq!(refusal["error"], error.as_str());
        let hint = refusal["hint"].as_str().expect("a hint");
        assert!(hint.contains(instead), "{hint}");
    }
}

#[test]
fn a_form_changes_what_was_changed_in_it_and_what_can_not_be_read_is_kept() {
    let scene = scene();
    let edit = |editor: &str| {
        let mut tm = scene.tm(&["edit", "2"]);
        let output = tm.env("EDITOR", editor).output().expect("tm");
        let errors = String::from_utf8(output.stderr).expect("text");
        (output.status.code(), errors)
    };
    assert_eq!(edit("true").0, Some(0));
    assert_eq!(backlog(&scene), BACKLOG);
    let (code, errors) = edit("sed -i 's/^complexity: .*/complexity: huge/'");
    assert_eq!(code, Some(2), "{errors}");
    assert_eq!(backlog(&scene), BACKLOG);
    let kept = errors.split('`').find(|word| word.contains("tm-edit-"));
    let kept = kept.expect("a file that keeps it").to_owned();
    let form = std::fs::read_to_string(&kept).expect("the form");
    assert!(form.contains("\ncomplexity: huge\n"), "{form}");
    let form = form
        .replace("huge", "XL")
        .replace("dependencies: 1", "dependencies: 3")
        .replace("== details\n", "== details\nfirst\n\nsecond\n");
    crate::scene::write(std::path::Path::new(&kept), &form);
    answer(
        &scene,
        &["remove-dependency", "--id=3", "--depends-on=2"],
        0,
    );
    answer(&scene, &["edit", "2", "--from", &kept], 0);
    std::fs::remove_file(&kept).expect("removed");
    let task = &json(&scene, &["show", "2", "--json"], 0)["task"];
    assert_eq!(task["details"], "first\n\nsecond");
    assert_eq!(task["complexity"], "XL");
    assert_eq!(task["dependencies"], serde_json::json!([3]));
    assert!(backlog(&scene).contains("\"x\": 1e3"));
    let path = scene.root().join(".taskmaster/tasks/tasks.json");
    let meanwhile = format!("sed -i -e s/first/last/ '{}'", path.display());
    let (code, errors) = edit(&meanwhile);
    assert_eq!(code, Some(1), "{errors}");
    assert!(
        errors.contains("changed it meanwhile") && errors.contains("is kept in"),
        "{errors}"
    );
    assert!(backlog(&scene).contains("last\\n\\nsecond"));
}

#[test]
fn each_task_gets_a_file_of_text_and_nothing_of_the_users_is_touched() {
    let scene = scene();
    let folder = scene.root().join(".taskmaster/tasks");
    write(&folder.join("task_009.md"), "# Task ID: 9\n");
    write(&folder.join("task_010.md"), "my own notes\n");
    write(&folder.join("task_009_next.md"), "# Task ID: 9\n");
    let told = json(&scene, &["generate", "--format", "json"], 0);
    assert_eq!(
        (&told["count"], &told["orphanedFilesRemoved"]),
        (&3.into(), &1.into())
    );
    let names = || {
        let entries = std::fs::read_dir(&folder).expect("a folder");
        let names = entries.map(|entry| entry.expect("an entry").file_name());
        let mut names: Vec<_> = names
            .map(|name| name.into_string().expect("text"))
            .collect();
        names.sort();
        names.join(" ")
    };
    assert_eq!(
        names(),
        "task_001.md task_002.md task_003.md task_009_next.md task_010.md tasks.json"
    );
    let text = |name: &str| std::fs::read_to_string(folder.join(name)).expect("a file");
    insta::assert_snapshot!(text("task_001.md").replace("  \n", "<>\n"), @"
    # Task ID: 1

    **Title:** Read settings

    **Status:** done

    **Dependencies:** None

    **Priority:** high

    ## Subtasks

    ### 1.1. Names

    **Status:** pending<>
    **Dependencies:** None<>

    ### 1.2. Values

    **Status:** done<>
    **Dependencies:** 1.1<>

    **Details:**

    éA 1e3
    ");
    assert!(text("task_003.md").contains("**Dependencies:** 1 ✓, 2\n"));
    write(&folder.join("task_002.md"), "my own notes\n");
    let refused = json(&scene, &["generate", "--json"], 1);
    let (error, hint) = (refused["error"].to_string(), refused["hint"].to_string());
    assert!(
        error.contains("`task_002.md`") && hint.contains("--output DIR"),
        "{refused}"
    );
    assert_eq!(text("task_002.md"), "my own notes\n");
    answer(
        &scene,
        &["tags", "add", "next_one", "--copy-from-current"],
        0,
    );
    answer(
        &scene,
        &["generate", "--tag", "next_one", "--output", "../texts"],
        0,
    );
    assert!(scene.path("texts/task_001_next_one.md").exists());
}

/// The folder of runs is found without git where nothing has to be written there.
#[test]
fn a_task_that_is_done_after_all_is_not_to_be_done_again_wherever_that_is_said() {
    for settings in ["{}", "storage: { location: project }"] {
        let scene = scene();
        write(&scene.root().join(".taskmaster/tm.yaml"), settings);
        scene.git(&["add", "--all"]);
        scene.git(&["commit", "--quiet", "--message", "settings"]);
        scene.git(&["worktree", "add", "--quiet", "-b", "other", "../other"]);
        std::fs::create_dir_all(scene.root().join("deep/er")).expect("a folder");
        std::os::unix::fs::symlink(scene.root(), scene.path("link")).expect("a link");
        let reopened = || {
            let find = "find .. -path '*/reopened/*' -name '*.json' | wc -l";
            let found = scene.shell(find).output().expect("find").stdout;
            String::from_utf8(found).expect("text").trim().to_owned()
        };
        let set = |folder: &str, status: &str| {
            let words = ["set-status", "1", status, "--no-timestamps"];
            let output = scene.tm(&words).current_dir(scene.path(folder)).output();
            assert!(output.expect("tm").status.success(), "{folder} {status}");
        };
        for folder in ["checkout", "checkout/deep/er", "other", "link"] {
            set(folder, "pending");
            assert_eq!(reopened(), "1", "{folder}, {settings}");
            set(folder, "done");
            assert_eq!(reopened(), "0", "{folder}, {settings}");
        }
    }
}

#[test]
fn a_list_for_programs_is_one_document_however_long_it_is_and_ends_where_nobody_reads_on() {
    let details = "Say \\u001b[31mit\\u202e –日本. ".repeat(300);
    let tasks = (1..=400).map(|id| format!(r#"{{"id":{id},"title":"x","details":"{details}"}}"#));
    let tasks: Vec<String> = tasks.collect();
    let text = format!(r#"{{"master": {{"tasks": [{}]}}}}"#, tasks.join(","));
    let scene = Scene::with_backlog(&text, HONEST);
    let printed = answer(&scene, &["list", "--json"], 0);
    assert!(!printed.contains(['\u{1b}', '\u{202e}']));
    let listed: serde_json::Value = serde_json::from_str(&printed).expect("one document");
    let said = &serde_json::from_str::<serde_json::Value>(&text).expect("JSON")["master"]["tasks"];
    for id in [0, 199, 399] {
        assert_eq!(listed["tasks"][id]["details"], said[id]["details"]);
    }
    let mut child = scene.tm(&["list", "--json"]);
    child.stdout(std::process::Stdio::piped());
    let mut child = child.spawn().expect("tm");
    drop(child.stdout.take());
    assert!(child.wait().expect("ended").success());
}
