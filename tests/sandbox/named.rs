//! What a job is given because something names it is what the user named: no word of a task or a test, no link that a job left,
//! and no login beside a toolchain.

use super::*;

/// What no job may read.
const KEY: &str = "the-key-of-the-user-4711";
/// Tries to read it in both places, and says what there was.
const LOOKS: &str =
    "cat 'HOME/.ssh/id' 'HOME/.cache/uv/id' 'HOME/.cargo/credentials.toml' 2> /dev/null";

/// A scene whose backlog names the key, and whose first agent leaves a link to it where jobs may write.
fn scene() -> Scene {
    let scene = Scene::new(&[], "");
    let home = scene.path("home").display().to_string();
    let title = format!("Look at :{home}/.ssh/id and :{home}/.ssh: or at {home}/.ssh");
    write(&scene.path("home/.ssh/id"), KEY);
    write(&scene.path("home/.cargo/credentials.toml"), KEY);
    write(&scene.path("home/.cargo/config.toml"), "# of the user\n");
    write(&scene.path("home/.cache/uv/fetched"), "");
    let task = |id: u32, dependencies: &[u32]| {
        serde_json::json!({"id": id, "title": title, "description": "", "status": "pending",
                           "dependencies": dependencies, "subtasks": []})
    };
    let backlog = serde_json::json!({"master": {"tasks": [task(1, &[]), task(2, &[1])]}});
    let backlog_file = scene.root().join(".taskmaster/tasks/tasks.json");
    write(&backlog_file, &backlog.to_string());
    let looks = LOOKS.replace("HOME", &home);
    let agent = format!(
        "({looks}) > \"found-$TM_TASK_ID\"; ls '{home}/.cargo' > \"seen-$TM_TASK_ID\"\n\
         rm -r '{home}/.cache/uv'; ln -s '{home}/.ssh' '{home}/.cache/uv'\n\
         printf 'status: PASS\\n' > \"$TM_RESULT_FILE\"\n"
    );
    write(&scene.path("agent.sh"), &agent);
    let tests = format!("{looks} | grep -q . && echo not ok 1 || echo ok 1; echo 1..1\n");
    write(&scene.root().join("run-tests.sh"), &tests);
    let settings = format!(
        "sandbox: {{write: ['~/.cache']}}\ntdd: {{mode: 'off'}}\nagent: {{default: mine}}\n\
         agents:\n  mine:\n    command: [sh, '{}', '{{prompt}}']\n    prompt: arg\n    env: {{SAID: 'x:{{prompt}}'}}\n",
        scene.path("agent.sh").display()
    );
    write(&scene.root().join(".taskmaster/tm.yaml"), &settings);
    scene.git(&["add", "--all"]);
    scene.git(&["commit", "--quiet", "--message", "settings"]);
    scene
}

fn at(level: &str) {
    if !has(level) {
        return;
    }
    let scene = scene();
    let of_home = |name: &str| scene.path("home").join(name);
    let output = scene
        .tm(&["waves", "run", "--yes", "--retries", "0"])
        .env("TM_SANDBOX_LEVEL", level)
        .env("CARGO_HOME", of_home(".cargo"))
        .env("UV_CACHE_DIR", of_home(".cache/uv"))
        .output()
        .expect("tm");
    let words = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(0), "{level}: {words}");
    assert!(
        of_home(".cache/uv").is_symlink(),
        "{level}: a job may leave one"
    );
    let landed = scene.landed_tree();
    for id in [1, 2] {
        let text = |name: &str| scene.git(&["show", &format!("{landed}:{name}-{id}")]);
        assert_eq!(text("found"), "", "{level}");
        assert!(text("seen").contains("config.toml"), "{level}");
    }
}

#[test]
fn nothing_is_opened_in_bubblewrap_that_the_user_did_not_name() {
    at("bwrap");
}

#[test]
fn nothing_is_opened_in_landlock_that_the_user_did_not_name() {
    at("landlock");
}

#[test]
fn a_login_that_the_user_names_is_read() {
    let scene = scene();
    let login = scene.path("home/.cargo/credentials.toml");
    let tests = format!(
        "grep -q {KEY} '{}' && echo ok 1; echo 1..1\n",
        login.display()
    );
    write(&scene.root().join("run-tests.sh"), &tests);
    scene.git(&["commit", "--quiet", "--all", "--message", "tests"]);
    for level in ["bwrap", "landlock"].into_iter().filter(|level| has(level)) {
        let said = |read: &str| {
            let output = scene
                .tm(&["doctor", "--tests"])
                .env("TM_SANDBOX_LEVEL", level)
                .env("TM_SANDBOX_READ", read)
                .env("TM_AGENT_DEFAULT", "replay")
                .env("CARGO_HOME", scene.path("home/.cargo"))
                .output()
                .expect("tm");
            String::from_utf8_lossy(&output.stdout).into_owned()
        };
        let words = said(&format!("[{}]", login.display()));
        assert!(words.contains("1 pass, 0 fail"), "{level}: {words}");
        assert!(!said("[]").contains("1 pass"), "{level}");
    }
}
