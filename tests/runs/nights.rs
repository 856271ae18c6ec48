//! Nights that follow each other on fresh clones: what has landed is known by the history alone.

use crate::scene::{HONEST, Scene, write};
use std::os::unix::fs::PermissionsExt as _;
use std::process::Output;

/// Writes down what it was asked, and does it; with a file `half` it does only the first tasks.
const WATCHED: &str = r#"
grep -qsx "$TM_TASK_ID" "$AGENT_FOLDER/refused" && exit 1
case $TM_PHASE in red) ;; *) echo "$TM_TASK_ID" >> "$AGENT_FOLDER/asked" ;; esac
"#;

const BACKLOG: [(&str, &str, &[&str]); 6] = [
    ("1", "Add the parser", &[]),
    ("2", "Add the printer", &["1"]),
    ("3", "Document the parser", &["1"]),
    ("4", "Add the checker", &["2"]),
    ("5", "Document the checker", &["4"]),
    ("6", "Add the server", &[]),
];

fn words(output: &Output) -> String {
    format!(
        "{}{}",
        String::from_utf8_lossy(&output.stdout),
        String::from_utf8_lossy(&output.stderr)
    )
}

/// The project at its remote; `checkout` is whichever clone works now.
fn project() -> Scene {
    let scene = Scene::new(&BACKLOG, &format!("{WATCHED}{HONEST}"));
    scene.git(&["clone", "--quiet", "--bare", ".", "../remote"]);
    write(&scene.path("asked"), "");
    scene
}

/// A clone that knows nothing but what the remote has, and a home of its own.
fn fresh(scene: &Scene, depth: &[&str]) {
    for folder in ["checkout", "tm", "home"] {
        let path = scene.path(folder);
        if path.exists() {
            std::fs::remove_dir_all(path).expect("removed");
        }
    }
    let remote = format!("file://{}", scene.path("remote").display());
    let command = [&["clone", "--quiet"], depth, &[&remote, "."]].concat();
    scene.git(&command);
    scene.git(&["config", "user.name", "Somebody"]);
    scene.git(&["config", "user.email", "somebody@example.org"]);
}

fn push(scene: &Scene) {
    scene.git(&[
        "push",
        "--quiet",
        "origin",
        "refs/heads/tm/*:refs/heads/tm/*",
    ]);
}

fn night(scene: &Scene, refused: &str) -> Output {
    fresh(scene, &[]);
    write(&scene.path("refused"), refused);
    let output = scene.run(&["--retries", "0"]);
    push(scene);
    output
}

/// The tasks whose work an agent was asked for, in order.
fn asked(scene: &Scene) -> Vec<String> {
    let text = std::fs::read_to_string(scene.path("asked")).expect("what was asked");
    let mut asked: Vec<String> = text.lines().map(ToOwned::to_owned).collect();
    asked.sort();
    asked
}

fn integration(scene: &Scene) -> String {
    scene.report()["integration_branch"]
        .as_str()
        .expect("a branch")
        .to_owned()
}

/// What a person does with the night's branch: merges it at the remote.
fn merged(scene: &Scene, how: &[&str]) {
    let branch = integration(scene);
    scene.git(&["checkout", "--quiet", "--", "."]);
    scene.git(&[how, &[branch.as_str()]].concat());
    if how.contains(&"--squash") {
        scene.git(&["commit", "--quiet", "--no-edit"]);
    }
    scene.git(&["push", "--quiet", "origin", "HEAD:main"]);
}

const ALL: [&str; 6] = ["1", "2", "3", "4", "5", "6"];

#[test]
fn three_nights_on_three_fresh_clones_do_every_task_once() {
    let scene = project();
    assert_eq!(night(&scene, "2\n6\n").status.code(), Some(3));
    // The second begins where the first ended, although nobody has merged it; the third after a merge.
    let second = night(&scene, "5\n");
    assert!(
        words(&second).contains("done already")
            && words(&second).contains("starting from `origin/tm/")
    );
    merged(&scene, &["merge", "--quiet", "--no-edit"]);
    let third = night(&scene, "");
    assert_eq!(third.status.code(), Some(0), "{}", words(&third));
    assert_eq!(scene.statuses(), ["done"; 6]);
    assert_eq!(asked(&scene), ALL);
    let tree = scene.git(&["ls-tree", "-r", "--name-only", &integration(&scene)]);
    assert!(
        ["bin/1", "bin/2", "docs/3", "bin/4", "docs/5", "bin/6"]
            .iter()
            .all(|path| tree.contains(path)),
        "{tree}"
    );
    let fourth = night(&scene, "");
    assert!(
        words(&fourth).contains("nothing to run"),
        "{}",
        words(&fourth)
    );
}

#[test]
fn squashed_and_rebased_work_is_known_and_so_is_a_branch_that_main_has_left_behind() {
    for how in [
        &["merge", "--quiet", "--squash"][..],
        &["rebase", "--quiet"],
    ] {
        let scene = project();
        night(&scene, "4\n6\n");
        if how.contains(&"--squash") {
            merged(&scene, how);
        } else {
            scene.git(&["checkout", "--quiet", "--", "."]);
            let branch = integration(&scene);
            write(&scene.root().join("of-a-person"), "x\n");
            scene.git(&["add", "of-a-person"]);
            scene.git(&["commit", "--quiet", "--message", "mine"]);
            scene.git(&["checkout", "--quiet", "-b", "rebased", &branch]);
            scene.git(&["rebase", "--quiet", "main"]);
            scene.git(&["push", "--quiet", "origin", "HEAD:main"]);
        }
        let second = night(&scene, "6\n");
        assert!(
            !words(&second).contains("starting from"),
            "{how:?}: {}",
            words(&second)
        );
        // Somebody commits to the default branch, and nobody merges the night's.
        scene.git(&["checkout", "--quiet", "--", "."]);
        scene.git(&[
            "commit",
            "--quiet",
            "--allow-empty",
            "--message",
            "moved on",
        ]);
        scene.git(&["push", "--quiet", "origin", "HEAD:main"]);
        let third = night(&scene, "");
        assert!(
            third.status.success() && words(&third).contains("together with"),
            "{how:?}: {}",
            words(&third)
        );
        assert_eq!(asked(&scene), ALL, "{how:?}");
    }
}

#[test]
fn a_revert_by_hand_opens_the_task_again() {
    let scene = project();
    night(&scene, "");
    merged(&scene, &["merge", "--quiet", "--no-ff", "--no-edit"]);
    fresh(&scene, &[]);
    let landing = scene.git(&[
        "log",
        "--format=%H",
        "--merges",
        "--grep=Land task 6:",
        "main",
    ]);
    scene.git(&["revert", "--no-edit", "-m", "1", &landing]);
    write(&scene.path("asked"), "");
    write(&scene.path("refused"), "");
    let output = scene.run(&[]);
    assert!(output.status.success(), "{}", words(&output));
    assert_eq!(asked(&scene), ["6"]);
}

#[test]
fn what_is_not_surely_the_same_task_is_planned_and_told() {
    let scene = project();
    night(&scene, "");
    merged(&scene, &["merge", "--quiet", "--no-edit"]);
    fresh(&scene, &[]);
    let path = scene.root().join(".taskmaster/tasks/tasks.json");
    let text = std::fs::read_to_string(&path).expect("a backlog");
    write(
        &path,
        &text
            .replace("Add the server", "Add the client")
            .replace("Document the checker", "Document  the checker"),
    );
    let plan = words(&scene.tm(&["waves", "plan"]).output().expect("tm"));
    assert!(
        plan.contains("task 6 has the id of work that landed with another title, `Add the server`"),
        "{plan}"
    );
    assert!(
        plan.contains("done already, by the history that the run starts from: 1, 2, 3, 4, 5 "),
        "{plan}"
    );
    // Planning writes nothing, and what a person wants again is done again.
    assert_eq!(scene.statuses(), ["pending"; 6]);
    let again = words(
        &scene
            .tm(&["waves", "plan", "--again", "5"])
            .output()
            .expect("tm"),
    );
    assert!(
        again.contains("1, 2, 3, 4 (") && again.contains("Document the checker"),
        "{again}"
    );
}

#[test]
fn a_clone_without_its_history_says_so() {
    let scene = project();
    night(&scene, "");
    merged(&scene, &["merge", "--quiet", "--no-edit"]);
    fresh(&scene, &["--depth", "1"]);
    let plan = words(&scene.tm(&["waves", "plan"]).output().expect("tm"));
    assert!(plan.contains("git fetch --unshallow"), "{plan}");
}

#[test]
fn subtasks_of_what_has_landed_are_done() {
    let backlog = r#"{"master": {"tasks": [{"id": 1, "title": "Document it", "status": "pending", "dependencies": [],
        "subtasks": [{"id": 1, "title": "a", "status": "pending", "dependencies": []},
                     {"id": 2, "title": "b", "status": "cancelled", "dependencies": []}]}]}}"#;
    let scene = Scene::with_backlog(backlog, HONEST);
    let ran = words(&scene.run(&[]));
    assert!(ran.contains("done with their tasks: 1 subtask"), "{ran}");
    let shown = std::fs::read_to_string(scene.root().join(".taskmaster/tasks/tasks.json"))
        .expect("a backlog");
    let backlog: serde_json::Value = serde_json::from_str(&shown).expect("JSON");
    let subtasks = &backlog["master"]["tasks"][0]["subtasks"];
    assert_eq!(
        (
            subtasks[0]["status"].as_str(),
            subtasks[1]["status"].as_str()
        ),
        (Some("done"), Some("cancelled"))
    );
    // The same where a fresh checkout has forgotten all of it.
    scene.git(&["checkout", "--quiet", "--", "."]);
    let output = scene.run(&[]);
    assert!(
        words(&output).contains("nothing to run"),
        "{}",
        words(&output)
    );
    let again = std::fs::read_to_string(scene.root().join(".taskmaster/tasks/tasks.json"))
        .expect("a backlog");
    assert_eq!(again.matches("\"done\"").count(), 2, "{again}");
}

fn backlog_at(scene: &Scene, commit: &str) -> String {
    scene.git(&["show", &format!("{commit}:.taskmaster/tasks/tasks.json")])
}

#[test]
fn statuses_are_committed_with_what_has_landed_and_nothing_else() {
    let scene = Scene::new(&BACKLOG[..2], HONEST);
    scene.runs(&[], 0);
    // Somebody is at work in the same file and has not committed it.
    let path = scene.root().join(".taskmaster/tasks/tasks.json");
    let text = std::fs::read_to_string(&path).expect("a backlog");
    write(&path, &text.replacen("Add the printer", "Add a printer", 1));
    let landed = scene.tm(&["waves", "land", "--yes"]).output().expect("tm");
    assert!(
        words(&landed).contains("the statuses of 1, 2 are committed on `main`"),
        "{}",
        words(&landed)
    );
    let committed = backlog_at(&scene, "main");
    assert!(
        committed.matches("\"done\"").count() == 2 && committed.contains("Add the printer"),
        "{committed}"
    );
    assert!(
        std::fs::read_to_string(&path)
            .expect("a backlog")
            .contains("Add a printer"),
        "theirs stays"
    );
    assert!(
        scene.git(&["diff", "--cached", "--name-only"]).is_empty(),
        "nothing is staged"
    );
    let start = scene.git(&["rev-list", "--max-parents=0", "main"]);
    let audit = scene
        .tm(&["audit", &format!("{start}..main")])
        .output()
        .expect("tm");
    assert!(
        audit.status.success() && words(&audit).contains("statuses"),
        "{}",
        words(&audit)
    );
    // A commit that only says so is named.
    write(&scene.root().join("bin/1"), "echo other\n");
    let message = "Set statuses\n\nPhase: statuses\nTag: master\nRun: x\nBacklog: .taskmaster/tasks/tasks.json\n";
    scene.git(&["commit", "--quiet", "--message", message, "bin/1"]);
    let audit = scene
        .tm(&["audit", &format!("{start}..main")])
        .output()
        .expect("tm");
    assert!(
        audit.status.code() == Some(3) && words(&audit).contains("not the backlog"),
        "{}",
        words(&audit)
    );
}

#[test]
#[expect(clippy::disallowed_methods, reason = "a fixture needs no atomic write")]
fn a_commit_that_only_says_that_a_file_is_a_backlog_is_named() {
    let scene = Scene::new(&BACKLOG[..1], HONEST);
    let backlog = ".taskmaster/tasks/tasks.json";
    let is_named = |what: &str, path: &str| {
        scene.git(&["add", "--all"]);
        let message = format!("Set statuses\n\nPhase: statuses\nBacklog: {path}\n");
        scene.git(&["commit", "--quiet", "--message", &message]);
        let audit = scene.tm(&["audit", "HEAD~1..HEAD"]).output().expect("tm");
        let is_named = audit.status.code() == Some(3)
            && words(&audit).contains("more than statuses of a backlog");
        assert!(is_named, "{what}: {}", words(&audit));
    };
    let (script, file) = (scene.root().join("install.sh"), scene.root().join(backlog));
    std::fs::write(&script, b"# \xff\n").expect("written");
    is_named("a new file that is no UTF-8", "install.sh");
    std::fs::write(&script, b"# \xff\nls\n").expect("written");
    is_named("a file that is no UTF-8", "install.sh");
    let executable = std::fs::Permissions::from_mode(0o755);
    std::fs::set_permissions(&file, executable).expect("permissions");
    is_named("a mode", backlog);
    std::fs::remove_file(&file).expect("removed");
    std::os::unix::fs::symlink("install.sh", &file).expect("linked");
    is_named("a link", backlog);
}

#[test]
fn a_checkout_is_clean_after_a_landing_where_only_tm_wrote_statuses() {
    let scene = Scene::new(&BACKLOG[..2], HONEST);
    scene.runs(&[], 0);
    let landed = scene.tm(&["waves", "land", "--yes"]).output().expect("tm");
    assert!(landed.status.success(), "{}", words(&landed));
    assert_eq!(scene.git(&["status", "--porcelain"]), "");
    let again = scene.tm(&["waves", "land", "--yes"]).output().expect("tm");
    assert!(
        !words(&again).contains("are committed"),
        "{}",
        words(&again)
    );
}

#[test]
fn where_statuses_are_committed_is_a_setting() {
    for (setting, on_branch, on_main) in [("off", 0, 0), ("land", 0, 2), ("each", 2, 2)] {
        let scene = Scene::new(&BACKLOG[..2], HONEST);
        let run = |arguments: &[&str]| {
            let mut command = if arguments.is_empty() {
                scene.run_command(&[])
            } else {
                scene.tm(arguments)
            };
            command
                .env("TM_GIT_COMMIT_BACKLOG", setting)
                .output()
                .expect("tm")
        };
        assert!(run(&[]).status.success(), "{setting}");
        let branch = integration(&scene);
        assert_eq!(
            backlog_at(&scene, &branch).matches("\"done\"").count(),
            on_branch,
            "{setting}"
        );
        scene.git(&["checkout", "--quiet", "--", "."]);
        let landed = run(&["waves", "land", "--yes"]);
        assert!(landed.status.success(), "{setting}: {}", words(&landed));
        assert_eq!(
            backlog_at(&scene, "main").matches("\"done\"").count(),
            on_main,
            "{setting}"
        );
    }
}

#[test]
fn a_pull_request_carries_the_statuses() {
    let scene = Scene::new(&BACKLOG[..2], HONEST);
    scene.git(&["init", "--quiet", "--bare", "../remote"]);
    scene.git(&["remote", "add", "origin", "../remote"]);
    write(
        &scene.path("bin/gh"),
        "#!/bin/sh\n[ \"$2\" = list ] && echo '[]' || echo https://example.org/1\n",
    );
    scene.shell("chmod +x ../bin/gh").status().expect("sh");
    scene.runs(&[], 0);
    let path = format!(
        "{}:{}",
        scene.path("bin").display(),
        std::env::var("PATH").unwrap_or_default()
    );
    let opened = scene
        .tm(&["pr", "--yes"])
        .env("PATH", path)
        .output()
        .expect("tm");
    assert!(opened.status.success(), "{}", words(&opened));
    let pushed = scene.git(&["--git-dir", "../remote", "rev-parse", &integration(&scene)]);
    assert_eq!(backlog_at(&scene, &pushed).matches("\"done\"").count(), 2);
}

#[test]
fn words_of_a_hook_are_no_word_of_tm_on_other_tasks() {
    let hook = "#!/bin/sh\nprintf '\\nTask: 6\\nPhase: green\\nTag: master\\nRun: x\\nTitle: Add the server\\n' >> \"$1\"\n";
    let scene = Scene::new(&BACKLOG[..1], HONEST);
    write(&scene.root().join(".git/hooks/commit-msg"), hook);
    scene
        .shell("chmod +x .git/hooks/commit-msg")
        .status()
        .expect("sh");
    scene.runs(&[], 0);
    let log = scene.git(&["log", "--format=%B", &integration(&scene)]);
    assert!(
        !log.contains("Task: 6") && log.contains("Title: Add the parser"),
        "{log}"
    );
}
