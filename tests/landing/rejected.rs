//! What a review rejected never leaves by `tm waves land`, `tm pr` or as the base of new work, in this run or a later one.

use crate::scene::{HONEST, Scene, task, write};
use std::process::Output;

/// Does plain work; refuses the tasks that a file names.
const PLAIN: &str = r#"
cp "$TM_PROMPT_FILE" "$AGENT_FOLDER/prompt-$TM_TASK_ID"
grep -qsx "$TM_TASK_ID" "$AGENT_FOLDER/refused" && exit 1
echo "$TM_TASK_ID" >> "$AGENT_FOLDER/asked"
mkdir -p docs; echo "$TM_TASK_ID of $TM_RUN_ID" > "docs/$TM_TASK_ID"
[ ! -e "$AGENT_FOLDER/shared" ] || echo "$TM_TASK_ID" >> docs/all
printf 'status: PASS\n' > "$TM_RESULT_FILE"
"#;

const NO_RETRIES: [&str; 4] = ["--retries", "0", "--max-parallel", "1"];

fn words(output: &Output) -> String {
    format!(
        "{}{}",
        String::from_utf8_lossy(&output.stdout),
        String::from_utf8_lossy(&output.stderr)
    )
}

fn says(scene: &Scene, arguments: &[&str], code: i32) -> String {
    let output = scene.tm(arguments).output().expect("tm");
    assert_eq!(
        output.status.code(),
        Some(code),
        "{arguments:?}: {}",
        words(&output)
    );
    words(&output)
}

fn reject(scene: &Scene, id: &str, reason: &str) -> String {
    says(scene, &["review", "reject", id, "--reason", reason], 0)
}

fn branch(scene: &Scene) -> String {
    scene.report()["integration_branch"]
        .as_str()
        .expect("a branch")
        .to_owned()
}

/// Whether a branch has a file.
fn has(scene: &Scene, branch: &str, path: &str) -> bool {
    scene
        .try_git(&["cat-file", "-e", &format!("{branch}:{path}")])
        .status
        .success()
}

fn refuse(scene: &Scene, ids: &str) {
    write(&scene.path("refused"), ids);
}

fn documents(count: usize) -> Scene {
    let ids = ["1", "2", "3", "4"];
    let tasks: Vec<(&str, &str, &[&str])> = ids[..count]
        .iter()
        .map(|id| (*id, "Document it", &[][..]))
        .collect();
    Scene::new(&tasks, PLAIN)
}

#[test]
fn rejected_work_does_not_leave_by_the_next_run() {
    let scene = documents(3);
    refuse(&scene, "3\n");
    scene.runs(&NO_RETRIES, 3);
    let first = branch(&scene);
    reject(&scene, "1", "a bad secret is in it");
    assert!(says(&scene, &["waves", "land", "--yes"], 3).contains("`1`"));
    // Doing it again fails, and something else lands on top.
    refuse(&scene, "1\n");
    let output = scene.run(&NO_RETRIES);
    assert!(
        words(&output).contains("taking back `1`"),
        "{}",
        words(&output)
    );
    let second = branch(&scene);
    assert!(
        has(&scene, &first, "docs/1")
            && !has(&scene, &second, "docs/1")
            && has(&scene, &second, "docs/3")
    );
    scene.git(&["init", "--quiet", "--bare", "../remote"]);
    scene.git(&["remote", "add", "origin", "../remote"]);
    let pushed = says(&scene, &["pr", "--dry-run"], 0);
    assert!(pushed.contains(&second), "{pushed}");
    assert!(
        says(
            &scene,
            &[
                "pr",
                "--dry-run",
                first.rsplit("run-").next().expect("a run")
            ],
            3
        )
        .contains("`1`")
    );
    says(&scene, &["waves", "land", "--yes"], 0);
    assert!(
        !has(&scene, "main", "docs/1")
            && has(&scene, "main", "docs/2")
            && has(&scene, "main", "docs/3")
    );
    // The reason is in the history, and an audit understands it.
    assert!(
        scene
            .git(&["log", "main"])
            .contains("> a bad secret is in it")
    );
    let audit = says(
        &scene,
        &[
            "audit",
            &format!(
                "{}..main",
                scene.git(&["rev-list", "--max-parents=0", "main"])
            ),
        ],
        0,
    );
    assert!(audit.contains("taken-back"), "{audit}");
}

#[test]
fn rejected_work_is_done_again_from_a_base_without_it() {
    let scene = Scene::new(
        &[
            ("1", "Add the parser", &[]),
            ("2", "Add the printer", &["1"]),
        ],
        HONEST,
    );
    scene.runs(&[], 0);
    reject(&scene, "1", "use printf");
    let again = scene.runs(&[], 0);
    assert_eq!(task(&again, "1")["landed"], true, "{again}");
    assert_eq!(scene.statuses(), ["done", "done"]);
    let (base, tip) = (
        again["base_commit"].as_str().expect("a base").to_owned(),
        branch(&scene),
    );
    assert!(
        !has(&scene, &base, "bin/1") && !has(&scene, &base, "t/1.t") && has(&scene, &base, "bin/2")
    );
    assert!(has(&scene, &tip, "bin/1") && has(&scene, &tip, "t/1.t"));
    says(&scene, &["waves", "land", "--yes"], 0);
    says(
        &scene,
        &[
            "audit",
            &format!(
                "{}..main",
                scene.git(&["rev-list", "--max-parents=0", "main"])
            ),
        ],
        0,
    );
}

#[test]
fn later_work_on_the_same_lines_is_done_again_too() {
    let scene = documents(3);
    write(&scene.path("shared"), "");
    scene.runs(&NO_RETRIES, 0);
    write(&scene.path("asked"), "");
    reject(&scene, "1", "no");
    let output = scene.run(&NO_RETRIES);
    let said = words(&output);
    assert!(
        output.status.success() && said.contains("taking back `3` too") && said.contains("`1`"),
        "{said}"
    );
    let asked = std::fs::read_to_string(scene.path("asked")).expect("the tasks");
    let mut asked: Vec<&str> = asked.lines().collect();
    asked.sort_unstable();
    assert_eq!(asked, ["1", "2", "3"]);
    assert_eq!(
        scene
            .git(&["show", &format!("{}:docs/all", branch(&scene))])
            .lines()
            .count(),
        3
    );
}

#[test]
fn changes_of_people_on_the_same_lines_are_never_taken_back() {
    let scene = documents(1);
    scene.runs(&NO_RETRIES, 0);
    says(&scene, &["waves", "land", "--yes"], 0);
    write(&scene.root().join("docs/1"), "a person's words\n");
    scene.git(&["commit", "--quiet", "--message", "mine", "docs/1"]);
    reject(&scene, "1", "no");
    let refused = scene.run(&NO_RETRIES);
    let said = words(&refused);
    assert!(
        refused.status.code() == Some(3)
            && said.contains("docs/1")
            && said.contains("hint: `git revert"),
        "{said}"
    );
    // A revert by hand is as good as tm's.
    let commit = scene.git(&["log", "--format=%H", "--grep=Phase: none", "main"]);
    scene.git(&["rm", "--quiet", "docs/1"]);
    scene.git(&[
        "commit",
        "--quiet",
        "--message",
        &format!("Revert it\n\nThis reverts commit {commit}."),
    ]);
    scene.runs(&NO_RETRIES, 0);
    assert!(has(&scene, &branch(&scene), "docs/1"));
}

#[test]
fn two_rejections_and_a_dependency_are_taken_back_and_the_rest_stays() {
    let scene = Scene::new(
        &[
            ("1", "Document it", &[]),
            ("2", "Document more", &["1"]),
            ("3", "Document all", &["2"]),
        ],
        PLAIN,
    );
    scene.runs(&NO_RETRIES, 0);
    says(&scene, &["review", "approve", "--all"], 0);
    says(&scene, &["review", "reject", "1", "2", "--reason", "no"], 0);
    refuse(&scene, "1\n2\n");
    scene.runs(&NO_RETRIES, 3);
    let tip = branch(&scene);
    assert!(
        !has(&scene, &tip, "docs/1") && !has(&scene, &tip, "docs/2") && has(&scene, &tip, "docs/3")
    );
    // Nothing of it comes back by naming an old base, and rejecting again on top works.
    refuse(&scene, "");
    scene.runs(&NO_RETRIES, 0);
    reject(&scene, "1", "still no");
    let prompt = {
        scene.runs(&NO_RETRIES, 0);
        std::fs::read_to_string(scene.path("prompt-1")).expect("a prompt")
    };
    assert!(prompt.contains("still no"), "{prompt}");
    assert!(has(&scene, &branch(&scene), "docs/1"));
}

#[test]
fn a_rejection_outlives_the_folders_of_runs_and_an_old_base() {
    let scene = documents(2);
    scene.runs(&NO_RETRIES, 0);
    let first = branch(&scene);
    reject(&scene, "1", "a bad secret");
    std::fs::remove_dir_all(scene.path("tm")).expect("all folders of runs are gone");
    refuse(&scene, "1\n");
    scene.runs(&["--retries", "0", "--base", &first], 3);
    assert!(!has(&scene, &branch(&scene), "docs/1"));
    let prompt = std::fs::read_to_string(scene.path("prompt-1")).expect("a prompt");
    assert!(prompt.contains("a bad secret"), "{prompt}");
}

#[test]
fn what_was_built_on_rejected_work_is_judged_anew() {
    let scene = Scene::new(
        &[
            ("1", "Document it", &[]),
            ("2", "Document more", &["1"]),
            ("3", "Document all", &[]),
        ],
        PLAIN,
    );
    scene.runs(&NO_RETRIES, 0);
    says(&scene, &["review", "approve", "--all"], 0);
    let run = branch(&scene)
        .rsplit("run-")
        .next()
        .expect("a run")
        .to_owned();
    let said = reject(&scene, "1", "no");
    assert!(
        said.contains("2 was built on `1`") && !said.contains("3 was built"),
        "{said}"
    );
    let list = says(&scene, &["review", "--json"], 0);
    let list: serde_json::Value = serde_json::from_str(&list).expect("JSON");
    let review_of = |id: &str| {
        list["branches"]
            .as_array()
            .expect("a list")
            .iter()
            .find(|one| one["id"] == id)
            .cloned()
    };
    let (second, third) = (review_of("2").expect("2"), review_of("3").expect("3"));
    assert!(
        second["review"].is_null() && second["built_on_rejected"][0] == "1",
        "{second}"
    );
    assert_eq!(third["review"]["decision"], "approved", "{third}");
    assert!(
        says(&scene, &["waves", "report", "--html"], 0).contains("which was rejected since"),
        "the report says so"
    );
    // Done again, and landed by another run: it is still said, until somebody has looked.
    let again = scene.runs(&NO_RETRIES, 0);
    assert_eq!(task(&again, "1")["landed"], true, "{again}");
    assert!(says(&scene, &["waves", "land"], 2).contains("warning: 2 was built on `1`"));
    says(&scene, &["review", "--run", &run, "approve", "2"], 0);
    assert!(!says(&scene, &["waves", "land", "--yes"], 0).contains("was built on"));
}

#[test]
fn work_that_was_squashed_is_taken_back_by_what_it_was() {
    let scene = documents(2);
    scene.runs(&NO_RETRIES, 0);
    scene.git(&["stash", "--quiet"]);
    scene.git(&["merge", "--quiet", "--squash", &branch(&scene)]);
    scene.git(&["commit", "--quiet", "--no-edit"]);
    scene.git(&["stash", "pop", "--quiet"]);
    reject(&scene, "1", "no");
    assert!(says(&scene, &["waves", "land", "--yes"], 3).contains("`1`"));
    refuse(&scene, "1\n");
    scene.runs(&["--retries", "0", "--base", "main"], 3);
    let tip = branch(&scene);
    assert!(!has(&scene, &tip, "docs/1") && has(&scene, &tip, "docs/2"));
}

#[test]
fn tests_that_were_merged_alone_come_back_with_their_implementation() {
    let agent = format!(
        "echo \"$TM_TASK_ID\" >> \"$AGENT_FOLDER/asked\"\n[ -e \"$AGENT_FOLDER/broken\" ] && [ $TM_PHASE = green ] && \
         exit 1\n{HONEST}"
    );
    let scene = Scene::new(&[("1", "Add the parser", &[])], &agent);
    write(&scene.path("broken"), "");
    scene.runs(&["--retries", "0"], 3);
    says(&scene, &["worktrees", "merge", "1:red", "--yes"], 0);
    std::fs::remove_dir_all(scene.path("tm")).expect("all folders of runs are gone");
    std::fs::remove_file(scene.path("broken")).expect("removed");
    write(&scene.path("asked"), "");
    let output = scene.run(&[]);
    let said = words(&output);
    assert!(
        output.status.success() && said.contains("taking back the tests of `1`"),
        "{said}"
    );
    assert_eq!(
        std::fs::read_to_string(scene.path("asked")).expect("who was asked"),
        "1\n"
    );
    assert!(has(&scene, &branch(&scene), "t/1.t") && has(&scene, &branch(&scene), "bin/1"));
}

#[test]
fn a_rejection_is_refused_while_a_run_is_live() {
    let scene = documents(2);
    refuse(&scene, "2\n");
    scene.runs(&NO_RETRIES, 3);
    let first = branch(&scene)
        .rsplit("run-")
        .next()
        .expect("a run")
        .to_owned();
    refuse(&scene, "");
    let agent = format!(
        "[ \"$TM_TASK_ID\" != 2 ] || {{ echo > \"$AGENT_FOLDER/started\"; cat \"$AGENT_FOLDER/go\"; }}\n{PLAIN}"
    );
    write(&scene.path("agent.sh"), &agent);
    scene.pipe("started");
    scene.pipe("go");
    let mut child = scene.start_and_wait_for_agent(&NO_RETRIES);
    let refused = says(
        &scene,
        &["review", "--run", &first, "reject", "1", "--reason", "no"],
        5,
    );
    assert!(
        refused.contains("hint:") && scene.git(&["for-each-ref", "refs/tm/rejected"]).is_empty(),
        "{refused}"
    );
    write(&scene.path("go"), "");
    assert!(child.wait().expect("an end").success());
}

#[test]
fn a_mind_can_be_changed_before_and_after_the_work_was_taken_back() {
    let scene = documents(1);
    scene.runs(&NO_RETRIES, 0);
    reject(&scene, "1", "no");
    says(&scene, &["review", "approve", "1"], 0);
    assert_eq!(scene.statuses(), ["done"]);
    let run = branch(&scene)
        .rsplit("run-")
        .next()
        .expect("a run")
        .to_owned();
    reject(&scene, "1", "no");
    refuse(&scene, "1\n");
    scene.runs(&NO_RETRIES, 3);
    let said = says(&scene, &["review", "approve", "--run", &run, "1"], 0);
    assert!(said.contains("was taken back since"), "{said}");
    assert_eq!(scene.statuses(), ["pending"]);
}

#[test]
fn taking_back_survives_a_kill_at_any_point() {
    let whole = documents(2);
    whole.runs(&NO_RETRIES, 0);
    reject(&whole, "1", "no");
    let log = whole.path("points");
    let output = whole
        .run_command(&NO_RETRIES)
        .env("CRASH_POINT_LOG", &log)
        .output()
        .expect("tm");
    assert!(output.status.success(), "{}", words(&output));
    let names = std::fs::read_to_string(&log).expect("the points");
    let first_agent = names
        .lines()
        .position(|name| name.contains("worktree"))
        .expect("a worktree is made");
    let tree = whole.git(&["ls-tree", "-r", "--name-only", &branch(&whole)]);
    for point in
        (1..=first_agent + 2).step_by(if std::env::var_os("TM_TEST_EVERY_POINT").is_some() {
            1
        } else {
            7
        })
    {
        let scene = documents(2);
        scene.runs(&NO_RETRIES, 0);
        reject(&scene, "1", "no");
        let died = scene
            .run_command(&NO_RETRIES)
            .env("CRASH_POINT", point.to_string())
            .output()
            .expect("tm");
        assert!(!died.status.success(), "it dies at {point}");
        let output = scene.run(&NO_RETRIES);
        assert!(
            output.status.success(),
            "after a kill at {point}: {}",
            words(&output)
        );
        let tip = branch(&scene);
        assert_eq!(
            scene.git(&["ls-tree", "-r", "--name-only", &tip]),
            tree,
            "after a kill at {point}"
        );
        let taken = scene.git(&["log", "--format=%s", "--grep=Phase: taken-back", &tip]);
        assert_eq!(taken.lines().count(), 1, "after a kill at {point}: {taken}");
    }
}

#[test]
fn kept_tests_come_back_as_they_were_and_only_the_implementation_is_done_again() {
    let agent = format!("echo \"$TM_TASK_ID\" >> \"$AGENT_FOLDER/asked\"\n{HONEST}");
    let scene = Scene::new(&[("1", "Add the parser", &[])], &agent);
    scene.runs(&[], 0);
    let tests = scene.git(&["rev-parse", &format!("{}:t/1.t", branch(&scene))]);
    write(&scene.path("asked"), "");
    let said = says(
        &scene,
        &[
            "review",
            "reject",
            "1",
            "--keep-tests",
            "--reason",
            "use printf",
        ],
        0,
    );
    assert!(said.contains("its tests are kept"), "{said}");
    scene.runs(&[], 0);
    assert_eq!(
        std::fs::read_to_string(scene.path("asked")).expect("who was asked"),
        "1\n"
    );
    assert_eq!(
        scene.git(&["rev-parse", &format!("{}:t/1.t", branch(&scene))]),
        tests
    );
    says(&scene, &["waves", "land", "--yes"], 0);
    let start = scene.git(&["rev-list", "--max-parents=0", "main"]);
    says(&scene, &["audit", &format!("{start}..main")], 0);
}

#[test]
fn approved_tests_are_kept_when_their_implementation_is_rejected() {
    let agent = format!(
        "echo \"$TM_TASK_ID\" >> \"$AGENT_FOLDER/asked\"\n[ -e \"$AGENT_FOLDER/broken\" ] && exit 1\n{HONEST}"
    );
    let scene = Scene::new(&[("1", "Add the parser", &[])], &agent);
    scene.runs(&[], 0);
    says(&scene, &["review", "approve", "1:red"], 0);
    assert!(reject(&scene, "1", "slow").contains("its tests are kept"));
    // A night that fails in between loses them neither.
    write(&scene.path("broken"), "");
    scene.runs(&["--retries", "0"], 3);
    std::fs::remove_file(scene.path("broken")).expect("removed");
    write(&scene.path("asked"), "");
    scene.runs(&[], 0);
    assert_eq!(
        std::fs::read_to_string(scene.path("asked")).expect("who was asked"),
        "1\n"
    );
    // With the tests themselves rejected, all is done again.
    says(
        &scene,
        &["review", "reject", "1:red", "--reason", "wrong name"],
        0,
    );
    write(&scene.path("asked"), "");
    scene.runs(&[], 0);
    assert_eq!(
        std::fs::read_to_string(scene.path("asked")).expect("who was asked"),
        "1:red\n1\n"
    );
    let usage = says(
        &scene,
        &["review", "reject", "1:red", "--keep-tests", "--reason", "x"],
        2,
    );
    assert!(usage.contains("they are what is rejected"), "{usage}");
}
