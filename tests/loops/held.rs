//! Agents of loops that are held: what they reach in the checkout that they work in, what they leave there for the next one
//! and for tm, and what becomes of them when tm dies.

use super::*;
use crate::sandbox::has;
use std::path::Path;

/// Tries a way out, and writes down whether it led there. What is tried runs in a shell of its own.
const TRY: &str = r#"
try() { name=$1; shift; if sh -c "$1" > /dev/null 2>&1; then echo "$name" >> ways; else echo "$name" >> refused; fi; }
"#;

const SECRET: &str = "the secret of the user";

/// The ways that are refused at every level.
const WAYS: [(&str, &str); 13] = [
    ("home-read", "cat \"$AT/home/.ssh/id\""),
    ("home-new", "echo x > \"$AT/home/.profile\""),
    ("home-append", "echo x >> \"$AT/home/.bashrc\""),
    ("home-list", "ls \"$AT/home/.ssh\""),
    ("tm-new", "echo x > \"$AT/tm/new\""),
    (
        "tm-journal",
        "cat \"$AT\"/tm/projects/*/loops/*/activity.jsonl",
    ),
    ("other-worktree", "echo x > \"$AT/other/new\""),
    ("environment", "cat /proc/$OUTSIDE/environ"),
    ("signal", "kill -0 $OUTSIDE"),
    ("mount", "mount -t tmpfs none /mnt"),
    ("namespace", "unshare --user true"),
    ("own-prompt", "echo x >> \"$TM_PROMPT_FILE\""),
    ("own-settings", "echo x >> \"$GIT_CONFIG_VALUE_0\""),
];

/// Those that change the checkout's git folder or settings: refused where a folder that is written can have parts that are not.
const IN_GIT: [(&str, &str); 10] = [
    ("config", "git config core.pager evil"),
    ("config-file", "echo '[core] pager = evil' >> .git/config"),
    ("config-moved", "mv .git/config .git/aside"),
    ("hook", "echo evil > .git/hooks/pre-commit"),
    ("attributes", "echo '* filter=evil' > .git/info/attributes"),
    ("worktrees", "echo x > .git/worktrees/other/HEAD"),
    ("pack", "rm -f .git/objects/pack/*"),
    ("git-moved", "mv .git .aside"),
    (
        "level",
        "echo 'sandbox: { level: none }' > .taskmaster/tm.yaml",
    ),
    ("task-master", "echo x > .taskmaster/config.json"),
];

pub(super) fn hostile(level: &str, agent: &str) -> Scene {
    let scene = scene(2, "");
    let root = scene.root();
    write(&scene.path("home/.ssh/id"), SECRET);
    write(&scene.path("home/.bashrc"), "# of the user\n");
    write(
        &root.join(".taskmaster/tm.yaml"),
        &format!("sandbox: {{ level: {level} }}\n"),
    );
    write(&root.join(".taskmaster/config.json"), "{}");
    write(&root.join(".gitignore"), "ways\nrefused\n");
    scene.git(&["add", "--all"]);
    scene.git(&["commit", "--quiet", "--message", "settings"]);
    scene.git(&["gc", "--quiet"]);
    let other = scene.path("other").display().to_string();
    scene.git(&["worktree", "add", "--quiet", "--detach", &other]);
    let at = format!(
        "AT='{}' OUTSIDE={}; export AT OUTSIDE\n",
        scene.path("").display(),
        std::process::id()
    );
    write(&scene.path("agent.sh"), &[&at, TRY, agent, WORKER].concat());
    scene
}

/// A loop whose agents are held as the project's settings say.
fn held(scene: &Scene, arguments: &[&str]) -> Output {
    let mut command = loop_command(scene, arguments);
    let command = command.env_remove("TM_SANDBOX_LEVEL");
    command.env_remove("TM_SANDBOX_WRITE").output().expect("tm")
}

fn lines(scene: &Scene, file: &str) -> Vec<String> {
    let text = std::fs::read_to_string(scene.root().join(file)).unwrap_or_default();
    text.lines().map(str::to_owned).collect()
}

fn tries(ways: &[(&str, &str)]) -> String {
    let one = |(name, way): &(&str, &str)| format!("try {name} '{}'\n", way.replace('\'', "'\\''"));
    ways.iter().map(one).collect()
}

pub(super) fn assert_user_is_unharmed(scene: &Scene) {
    let read = |path: &str| std::fs::read_to_string(scene.path(path)).expect("it is there");
    assert_eq!(read("home/.bashrc"), "# of the user\n");
    assert_eq!(read("home/.ssh/id"), SECRET);
    for path in ["home/.profile", "tm/new", "other/new", "owned"] {
        assert!(!scene.path(path).exists(), "{path}");
    }
}

#[test]
fn an_agent_in_the_checkout_commits_there_and_changes_nothing_of_how_git_works_in_bubblewrap() {
    if !has("bwrap") {
        return;
    }
    let scene = hostile("bwrap", &(tries(&WAYS) + &tries(&IN_GIT)));
    let before = scene.git(&["config", "--list"]);
    let output = held(&scene, &["-n", "5", "--json"]);
    assert_eq!(output.status.code(), Some(0), "{}", words(&output));
    let summary: Value = serde_json::from_slice(&output.stdout).expect("one JSON document");
    assert_eq!(
        (&summary["sandbox"], &summary["tasks_completed"]),
        (&"bwrap".into(), &2.into()),
        "{summary}"
    );
    assert_eq!(lines(&scene, "ways"), [""; 0], "{}", words(&output));
    assert_eq!(
        lines(&scene, "refused").len(),
        2 * (WAYS.len() + IN_GIT.len())
    );
    assert_eq!(scene.git(&["config", "--list"]), before);
    assert_eq!(
        scene.git(&["log", "--format=%s %an", "-2"]),
        "task 2 Somebody\ntask 1 Somebody"
    );
    assert_eq!(
        scene.git(&["status", "--short", "--untracked-files=no"]),
        " M .taskmaster/tasks/tasks.json"
    );
    scene.git(&["fsck", "--strict"]);
    assert_user_is_unharmed(&scene);
    let status = scene.tm(&["loop", "status"]).output().expect("tm");
    assert!(words(&status).contains("bwrap"), "{}", words(&status));
}

#[test]
fn what_landlock_can_not_keep_from_an_agent_in_the_checkout_is_seen_and_told() {
    if !has("landlock") {
        return;
    }
    let changes = tries(&IN_GIT[..1]) + &tries(&IN_GIT[3..5]);
    let scene = hostile("landlock", &(tries(&WAYS) + &changes));
    let output = held(&scene, &["-n", "5"]);
    let text = words(&output);
    assert_eq!(output.status.code(), Some(0), "{text}");
    for part in [
        "; sandbox: landlock",
        "escaped: the user's checkout changed",
        "core.pager (new)",
        ".git/hooks/pre-commit (new)",
        ".git/info/attributes (new)",
    ] {
        assert!(text.contains(part), "{part} in {text}");
    }
    let out: Vec<String> = lines(&scene, "ways");
    assert!(
        out.iter()
            .all(|name| IN_GIT.iter().any(|(way, _)| way == name)),
        "{out:?}"
    );
    assert_user_is_unharmed(&scene);
}

/// Leaves links where the next one is given something, and a repository whose settings name a program where tm looks.
const PLANTS: &str = r#"
PATH=${PATH#*:}; PATH=${PATH#*:}
if [ "$TM_ITERATION" = 1 ]; then
  for name in lfs reftable branches remotes; do rm -rf ".git/$name"; ln -s "$AT/home/.ssh" ".git/$name"; done
  ln -s "$AT/home" planted
  git init --quiet sub; git -C sub -c user.name=a -c user.email=a commit --quiet --allow-empty --message x
  git add sub
  echo '* filter=evil' > sub/.gitattributes; echo one > sub/file; git -C sub add file; echo two > sub/file
  git -C sub config core.fsmonitor "echo x > '$AT/owned'; false"
  git -C sub config filter.evil.clean "echo x > '$AT/owned'; cat"
  mkdir -p .venv/bin
  printf '#!/bin/sh\n{ echo x > "%s/owned"; } 2> /dev/null\nexec %s "$@"\n' "$AT" "$(command -v git)" > .venv/bin/evil
  chmod +x .venv/bin/evil
  cp .venv/bin/evil tools/git
  mv .venv/bin/evil .venv/bin/git
  printf '#!/bin/sh\necho x > "%s/owned"\ncat\n' "$AT" > tools/clean
  echo '* filter=of-user' > .gitattributes
else
  try planted 'ls planted/.ssh'
  for name in lfs reftable branches remotes; do
    try "through-$name" "cat .git/$name/id"; try "into-$name" "echo x > .git/$name/new"
  done
fi
"#;

fn plants_at(level: &str) {
    if !has(level) {
        return;
    }
    let scene = hostile(level, PLANTS);
    scene.git(&["config", "filter.of-user.clean", "./tools/clean"]);
    for tool in ["git", "clean"] {
        crate::scene::executable(&scene.root().join("tools").join(tool), "exit 1");
    }
    std::fs::create_dir(scene.path("links")).expect("a folder");
    let link = scene.path("links/git");
    std::os::unix::fs::symlink(scene.root().join("tools/git"), link).expect("a link");
    let of_user = std::env::var("PATH").expect("a path");
    let (root, links) = (scene.root(), scene.path("links"));
    let path = format!("{}/.venv/bin:{}:{of_user}", root.display(), links.display());
    let mut command = loop_command(&scene, &["-n", "5"]);
    command.env("PATH", path).env_remove("TM_SANDBOX_LEVEL");
    let output = command.env_remove("TM_SANDBOX_WRITE").output().expect("tm");
    let text = words(&output);
    assert!(text.contains("iteration 2 "), "{text}");
    assert_eq!(lines(&scene, "ways"), [""; 0], "{text}");
    assert!(lines(&scene, "refused").len() >= 9, "{text}");
    assert!(!scene.path("home/.ssh/new").exists(), "{text}");
    assert_user_is_unharmed(&scene);
}

#[test]
fn what_an_agent_leaves_in_the_checkout_opens_nothing_to_the_next_one_in_bubblewrap() {
    plants_at("bwrap");
}

#[test]
fn what_an_agent_leaves_in_the_checkout_opens_nothing_to_the_next_one_in_landlock() {
    plants_at("landlock");
}

fn at_home_in_the_checkout(level: &str) -> Option<(Scene, Output)> {
    if !has(level) {
        return None;
    }
    let agent = "echo one > one; git add --all; git commit --quiet --message all\n";
    let scene = scene(1, agent);
    let output = loop_command(&scene, &["-n", "1", "--json"])
        .env_remove("TM_SANDBOX_WRITE")
        .env("TM_SANDBOX_LEVEL", level)
        .env("TM_HOME", scene.root().join("of-tm"))
        .output()
        .expect("tm");
    Some((scene, output))
}

#[test]
fn a_home_in_the_checkout_is_no_work_of_an_agent_in_bubblewrap() {
    let Some((scene, output)) = at_home_in_the_checkout("bwrap") else {
        return;
    };
    let summary: Value = serde_json::from_slice(&output.stdout).expect("one JSON document");
    assert_eq!(summary["sandbox"], "bwrap", "{summary}");
    let committed = scene.git(&["show", "--format=", "--name-only"]);
    assert!(
        committed.contains("one") && !committed.contains("of-tm"),
        "{committed}"
    );
    let left = scene.git(&["status", "--short"]);
    assert!(!left.contains("of-tm"), "{left}");
    let work = summary.to_string();
    assert!(work.contains("\"files\":1,"), "{work}");
}

#[test]
fn landlock_starts_no_agent_that_could_change_a_home_in_the_checkout() {
    let Some((scene, output)) = at_home_in_the_checkout("landlock") else {
        return;
    };
    let words = words(&output);
    assert_ne!(output.status.code(), Some(0), "{words}");
    assert!(
        words.contains("with Landlock agents could change"),
        "{words}"
    );
    assert!(!scene.root().join("one").exists(), "{words}");
}

/// Has a login renewed, and hangs with a child that would live on.
const RENEWS: &str = "cat ~/.login\necho renewed > ~/.login\n";

fn with_login(level: &str) -> Scene {
    let scene = scene(2, "");
    write(&scene.path("home/.login"), "old\n");
    write(&scene.path("agent.sh"), &[RENEWS, HANGING].concat());
    let agent = scene.path("agent.sh").display().to_string();
    write(
        &scene.root().join(".taskmaster/tm.yaml"),
        &format!(
            "sandbox: {{ level: {level}, write: ['{folder}/started'] }}\n\
             agents:\n  mine:\n    command: [sh, '{agent}']\n    sandbox: {{ write: ['~/.login'], pass: [AGENT_FOLDER] }}\n\
             agent: {{ default: mine }}\n",
            folder = scene.path("").display()
        ),
    );
    scene.pipe("started");
    scene
}

fn begun(scene: &Scene) -> Child {
    let child = scene
        .tm(&["loop", "--sleep", "0"])
        .env_remove("TM_SANDBOX_LEVEL")
        .env_remove("TM_SANDBOX_WRITE")
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("tm");
    drop(std::fs::read(scene.path("started")).expect("the agent starts"));
    child
}

fn killed_at(level: &str) {
    if !has(level) {
        return;
    }
    let scene = with_login(level);
    let mut child = begun(&scene);
    send(&child, Signal::KILL);
    child.wait().expect("an end");
    write(&scene.path("agent.sh"), WORKER);
    let output = held(&scene, &["-n", "5"]);
    let text = words(&output);
    assert_eq!(output.status.code(), Some(0), "{text}");
    assert!(text.contains("was cut off in iteration 1; "), "{text}");
    let login = std::fs::read_to_string(scene.path("home/.login")).expect("a login");
    assert_eq!(login, "renewed\n", "what was renewed is the user's: {text}");
    scene.assert_no_process_is_left();
}

#[test]
fn after_a_kill_nothing_is_left_of_an_agent_in_bubblewrap_but_its_renewed_login() {
    killed_at("bwrap");
}

#[test]
fn after_a_kill_nothing_is_left_of_an_agent_in_landlock_but_its_renewed_login() {
    killed_at("landlock");
}

fn interrupted_at(level: &str) {
    if !has(level) {
        return;
    }
    let scene = with_login(level);
    let child = begun(&scene);
    send(&child, Signal::INT);
    let output = child.wait_with_output().expect("an end");
    assert_eq!(output.status.code(), Some(130), "{}", words(&output));
    let login = std::fs::read_to_string(scene.path("home/.login")).expect("a login");
    assert_eq!(login, "renewed\n", "{}", words(&output));
    assert!(progress(&scene).contains("interrupted"));
    scene.assert_no_process_is_left();
}

#[test]
fn an_interrupted_loop_leaves_nothing_of_an_agent_in_bubblewrap() {
    interrupted_at("bwrap");
}

#[test]
fn an_interrupted_loop_leaves_nothing_of_an_agent_in_landlock() {
    interrupted_at("landlock");
}

#[test]
fn a_level_that_does_not_work_here_starts_nothing() {
    let scene = scene(1, "echo started > started\n");
    let output = held(&scene, &["--sandbox", "seatbelt"]);
    assert_eq!(output.status.code(), Some(2), "{}", words(&output));
    // Namespaces that nobody may make.
    let inner = format!(
        "echo 0 > /proc/sys/user/max_user_namespaces && exec '{}' loop --sandbox bwrap --agent-command 'sh agent.sh'",
        crate::scene::tm_binary().display()
    );
    let mut command = scene.program(Path::new("unshare"));
    let output = command
        .args(["--user", "--map-root-user", "sh", "-c", &inner])
        .output()
        .expect("unshare");
    if words(&output).contains("unshare failed") || words(&output).contains("Permission denied") {
        crate::skipping::lacks_what_a_machine_may_have("user namespaces");
        return;
    }
    assert_eq!(output.status.code(), Some(1), "{}", words(&output));
    assert!(
        words(&output).contains("failed to hold agents: not to be had (bwrap does not work here"),
        "{}",
        words(&output)
    );
    assert!(!scene.root().join("started").exists());
}

/// Says what tests find of the user's from the next loop on; beside the backlog an agent of a worktree may write.
fn sets_tm_at(level: &str, place: &[&str], backlog: &str) {
    if !has(level) {
        return;
    }
    let scene = scene(1, "");
    let root = scene.root();
    let from = root.join(".taskmaster/tasks/tasks.json");
    let text = std::fs::read_to_string(from).expect("a backlog");
    write(&root.join(backlog), &text);
    let agent = format!(
        "echo '{{\"test\": {{\"home\": \"user\"}}}}' > '{}/.taskmaster/config.json'; echo worked\n",
        root.display()
    );
    write(&scene.path("agent.sh"), &agent);
    let arguments = [place, &["-n", "1", "--backlog", backlog]].concat();
    let mut command = loop_command(&scene, &arguments);
    command.env("TM_SANDBOX_LEVEL", level);
    let output = command.env_remove("TM_SANDBOX_WRITE").output().expect("tm");
    let text = words(&output);
    for part in [
        "escaped: the user's checkout changed",
        "tm's settings: .taskmaster/config.json (new)",
    ] {
        assert!(text.contains(part), "{level}: {part} in {text}");
    }
}

#[test]
fn an_iteration_that_sets_tm_by_the_file_of_task_master_has_failed() {
    for level in ["bwrap", "landlock"] {
        sets_tm_at(level, &[], ".taskmaster/tasks/tasks.json");
        sets_tm_at(level, &["--worktree"], ".taskmaster/backlog.json");
    }
}
