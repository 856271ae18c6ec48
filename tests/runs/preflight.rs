//! What is seen of a base before agents are paid: a run on one that can't be tested costs nothing, or says what it is.

use crate::scene::{HONEST, Scene, task, write};
use std::process::Output;

fn words(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

/// An agent that leaves a trace of having been started.
fn traced() -> String {
    format!("echo \"$TM_TASK_ID\" >> \"$AGENT_FOLDER/started-agents\"\n{HONEST}")
}

fn agents_started(scene: &Scene) -> usize {
    std::fs::read_to_string(scene.path("started-agents"))
        .unwrap_or_default()
        .lines()
        .count()
}

fn commit(scene: &Scene) {
    scene.git(&["add", "--all"]);
    scene.git(&[
        "commit",
        "--quiet",
        "--allow-empty",
        "--message",
        "as it is",
    ]);
}

fn scene_with_tests(script: &str) -> Scene {
    let scene = Scene::new(
        &[("1", "Add the parser", &[]), ("2", "Document it", &[])],
        &traced(),
    );
    write(&scene.root().join("run-tests.sh"), script);
    commit(&scene);
    scene
}

/// Refuses a run, with these words, and starts nobody.
fn refuses(scene: &Scene, arguments: &[&str], expected: &[&str]) -> String {
    let output = scene.run(arguments);
    let words = words(&output);
    assert_eq!(output.status.code(), Some(1), "{words}");
    for expected in expected {
        assert!(words.contains(expected), "{expected}: {words}");
    }
    assert_eq!(agents_started(scene), 0, "{words}");
    assert_eq!(scene.statuses(), ["pending"; 2]);
    assert_eq!(
        scene.git(&["for-each-ref", "refs/heads/tm"]),
        "",
        "no branch is left"
    );
    assert_eq!(scene.git(&["worktree", "list"]).lines().count(), 1);
    words
}

#[test]
fn tests_that_can_not_be_run_are_refused_with_what_they_said_and_cost_no_agent() {
    let scene = scene_with_tests("echo 'boom: dependency missing' >&2\nexit 127\n");
    refuses(
        &scene,
        &["--retries", "0"],
        &[
            "exit code 127",
            "\n    boom: dependency missing",
            "hint: `worktree.setup`",
            "`--allow-broken-base`",
        ],
    );
    let listed = scene.tm(&["waves", "list"]).output().expect("tm");
    let listed = String::from_utf8_lossy(&listed.stdout).into_owned();
    assert!(
        listed.contains("refused") && listed.contains("exit code 127"),
        "{listed}"
    );
}

#[test]
fn a_run_on_a_broken_base_that_somebody_allows_says_so_everywhere() {
    let scene = scene_with_tests("echo 'boom: dependency missing' >&2\nexit 127\n");
    let output = scene.run(&["--allow-broken-base", "--tdd", "off"]);
    let shown = String::from_utf8_lossy(&output.stdout).into_owned();
    assert_eq!(output.status.code(), Some(0), "{}", words(&output));
    let line = words(&output)
        .lines()
        .find(|line| line.starts_with("base: "))
        .expect("a line")
        .to_owned();
    assert!(
        line.contains("exit code 127") && line.ends_with("(`--allow-broken-base`)"),
        "{line}"
    );
    assert!(
        !shown.contains("settled well") && shown.contains("no test proves any of it"),
        "{shown}"
    );
    let status = scene.tm(&["waves", "status"]).output().expect("tm");
    for name in ["summary.md", "report.html"] {
        let text = std::fs::read_to_string(scene.waves_folder().join(name)).expect("a report");
        assert!(
            text.contains("exit code 127") && !text.contains("settled well"),
            "{name}: {text}"
        );
    }
    assert!(String::from_utf8_lossy(&status.stdout).contains("exit code 127"));
    let report = scene.report();
    assert_eq!(report["preflight"]["is_overridden"], true);
    assert_eq!(report["preflight"]["problems"][0]["check"], "tests");
}

#[test]
fn the_base_is_the_first_line_of_a_run_and_is_measured_once() {
    let scene = scene_with_tests(include_str!("../../cli/demo/repository/run-tests.sh"));
    write(
        &scene.root().join("t/bad.t"),
        ". t/check.sh\ncheck 'the bad one' 1 2\n",
    );
    let count = format!(
        "echo run >> '{}'\n. t/check.sh\ncheck 'the old one' 1 1\n",
        scene.path("count").display()
    );
    write(&scene.root().join("t/old.t"), &count);
    commit(&scene);
    write(&scene.path("agent.sh"), "exit 3");
    let output = scene.run(&["--retries", "0", "--tdd", "off"]);
    let words = words(&output);
    let lines: Vec<&str> = words.lines().collect();
    let at = lines
        .iter()
        .position(|line| *line == "base: 1 pass, 1 fail")
        .unwrap_or_else(|| panic!("{words}"));
    assert!(lines[at + 1].contains("2 tasks in 1 wave"), "{words}");
    assert_eq!(scene.report()["preflight"]["bases"][0]["failed"], 1);
    let runs = std::fs::read_to_string(scene.path("count"))
        .expect("runs")
        .lines()
        .count();
    assert_eq!(
        runs, 2,
        "once, and once more since something fails; the run itself measures nothing again"
    );
}

#[test]
fn a_repository_without_tests_yet_is_let_through() {
    for (files, command, said) in [
        (
            vec![("bin/a", "echo a\n")],
            "echo 'No test files found, exiting with code 1'; ls t > /dev/null",
            "no tests yet",
        ),
        (vec![("bin/a", "echo a\n")], "exit 5", "no tests yet"),
        (vec![("bin/a", "echo a\n")], "exit 0", "exit status only"),
        (vec![], "sh run-tests.sh", "no tests yet"),
    ] {
        let scene = Scene::new(&[("1", "Document it", &[])], HONEST);
        scene.git(&["rm", "--quiet", "-r", "t", "run-tests.sh"]);
        for (path, text) in files {
            write(&scene.root().join(path), text);
        }
        commit(&scene);
        write(&scene.path("agent.sh"), HONEST);
        let output = scene.run(&["--tdd", "off", "--retries", "0", "--test-command", command]);
        let words = words(&output);
        assert!(
            words.contains(&format!("base: {said}")) || words.contains(said),
            "{command}: {words}"
        );
        assert_ne!(output.status.code(), Some(1), "{command}: {words}");
    }
}

#[test]
fn a_set_up_that_fails_is_refused_before_any_agent_and_one_that_works_is_timed() {
    let scene = scene_with_tests(include_str!("../../cli/demo/repository/run-tests.sh"));
    let setup = |command: &str| {
        write(
            &scene.root().join(".taskmaster/tm.yaml"),
            &format!("worktree:\n  setup: \"{command}\"\n"),
        );
    };
    setup("echo no such registry >&2; exit 9");
    refuses(
        &scene,
        &[],
        &[
            "set-up: `echo no such registry >&2; exit 9` exited with code 9",
            "\n    no such registry",
        ],
    );
    setup("true");
    let output = scene.run(&["--tdd", "off"]);
    assert_eq!(output.status.code(), Some(0), "{}", words(&output));
    assert!(
        words(&output).contains(" is set up, which took "),
        "{}",
        words(&output)
    );
    assert!(
        scene.report()["setups"]["count"].as_u64().expect("a count") >= 2,
        "{}",
        scene.report()
    );
    let shown = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(shown.contains(" set-up"), "{shown}");
}

#[test]
fn submodules_out_of_reach_and_missing_filters_are_refused_with_what_to_set() {
    let scene = scene_with_tests(include_str!("../../cli/demo/repository/run-tests.sh"));
    let head = scene.git(&["rev-parse", "HEAD"]);
    write(
        &scene.root().join(".gitmodules"),
        "[submodule \"lib\"]\n\tpath = lib\n\turl = ./nowhere\n",
    );
    scene.git(&["add", ".gitmodules"]);
    scene.git(&[
        "update-index",
        "--add",
        "--cacheinfo",
        &format!("160000,{head},lib"),
    ]);
    scene.git(&["commit", "--quiet", "--message", "a submodule"]);
    refuses(
        &scene,
        &[],
        &[
            "get the submodule `lib`",
            "`worktree.submodules: off` leaves its folder empty",
        ],
    );
    let scene = scene_with_tests(include_str!("../../cli/demo/repository/run-tests.sh"));
    write(
        &scene.root().join(".gitattributes"),
        "*.bin filter=nowhere\n",
    );
    write(&scene.root().join("a.bin"), "1\n");
    commit(&scene);
    refuses(
        &scene,
        &[],
        &[
            "filters: `a.bin` has the filter `nowhere`",
            "filter.nowhere.clean",
        ],
    );
}

#[test]
fn the_doctor_runs_the_tests_when_asked() {
    let scene = scene_with_tests(include_str!("../../cli/demo/repository/run-tests.sh"));
    let good = scene.tm(&["doctor", "--tests"]).output().expect("tm");
    let shown = String::from_utf8_lossy(&good.stdout).into_owned();
    assert!(shown.contains("ok    base      1 pass, 0 fail"), "{shown}");
    write(&scene.root().join("run-tests.sh"), "echo 1..0\n");
    commit(&scene);
    let none = scene.tm(&["doctor", "--tests"]).output().expect("tm");
    let shown = String::from_utf8_lossy(&none.stdout).into_owned();
    assert!(
        shown.contains("note  base      no tests yet; the command finds none, although `t/"),
        "{shown}"
    );
    write(
        &scene.root().join("run-tests.sh"),
        "echo 'boom' >&2; exit 127\n",
    );
    commit(&scene);
    let bad = scene
        .tm(&["doctor", "--tests"])
        .env("TM_AGENT_DEFAULT", "replay")
        .output()
        .expect("tm");
    let shown = String::from_utf8_lossy(&bad.stdout).into_owned();
    assert_eq!(bad.status.code(), Some(1), "{shown}");
    assert!(
        shown.contains("BAD   base      tests: ") && shown.contains("\n                  boom"),
        "{shown}"
    );
    assert_eq!(scene.git(&["worktree", "list"]).lines().count(), 1);
}

#[test]
fn a_loop_that_verifies_is_refused_where_the_tests_can_not_be_run() {
    let scene = scene_with_tests("echo boom >&2; exit 127\n");
    let agent = format!("sh '{}'", scene.path("agent.sh").display());
    let arguments = [
        "loop",
        "--iterations",
        "1",
        "--verify",
        "--agent-command",
        &agent,
    ];
    let refused = scene.tm(&arguments).output().expect("tm");
    assert_eq!(refused.status.code(), Some(1), "{}", words(&refused));
    assert!(
        words(&refused).contains("\n    boom") && agents_started(&scene) == 0,
        "{}",
        words(&refused)
    );
    let allowed = scene
        .tm(&arguments)
        .arg("--allow-broken-base")
        .output()
        .expect("tm");
    assert!(agents_started(&scene) > 0, "{}", words(&allowed));
}

#[test]
fn an_exit_status_is_another_word_than_proven_wherever_a_result_is_shown() {
    let claiming = HONEST.replace(
        "printf 'status: PASS\\n'",
        "printf 'status: PASS\\ntests_passed: 1\\n'",
    );
    let scene = Scene::new(
        &[("1", "Add the parser", &[]), ("2", "Document it", &[])],
        &claiming,
    );
    write(
        &scene.root().join("run-tests.sh"),
        "for t in t/*.t; do sh \"$t\" > /dev/null 2>&1 || exit 1; grep -q '^not' out 2>/dev/null && exit 1; done; \
         ! for t in t/*.t; do sh \"$t\"; done | grep -q '^not ok'\n",
    );
    commit(&scene);
    let plan = scene.tm(&["waves", "plan"]).output().expect("tm");
    assert!(
        String::from_utf8_lossy(&plan.stdout).contains("else exit status only; "),
        "{plan:?}"
    );
    let output = scene.run(&["--retries", "0"]);
    let (log, shown) = (
        words(&output),
        String::from_utf8_lossy(&output.stdout).into_owned(),
    );
    assert_eq!(output.status.code(), Some(0), "{log}");
    assert!(
        log.contains("base: the test command passes, exit status only; TAP can be, and JUnit XML"),
        "{log}"
    );
    assert!(
        log.contains("(GREEN): exit status only") && !log.contains("proven\n"),
        "{log}"
    );
    assert!(
        shown.contains("pairs: 0 of 1") && shown.contains("proof: 2 exit status only"),
        "{shown}"
    );
    assert!(!shown.contains("claims 1 tests passed"), "{shown}");
    let status = scene.tm(&["waves", "status"]).output().expect("tm");
    assert!(
        String::from_utf8_lossy(&status.stdout).contains("Add the parser · exit status only"),
        "{status:?}"
    );
    let verified = scene.tm(&["verify", "2"]).output().expect("tm");
    assert!(
        String::from_utf8_lossy(&verified.stdout).contains("exit status only"),
        "{verified:?}"
    );
    for (name, text) in [
        (
            "report.html",
            "<span class=\"weak\">exit status only</span>",
        ),
        ("junit.xml", "value=\"exit status only\""),
    ] {
        let report = std::fs::read_to_string(scene.waves_folder().join(name)).expect("a report");
        assert!(report.contains(text), "{name}: {report}");
    }
    assert_eq!(
        task(&scene.report(), "2")["attempts"][0]["proof"]["strength"],
        "exit-status-only"
    );
}

#[test]
fn autopilot_looks_before_it_starts_and_not_twice_at_the_same() {
    let scene = Scene::with_backlog(&crate::autopilot::backlog(), "");
    let script = include_str!("../../cli/demo/repository/run-tests.sh");
    write(
        &scene.root().join("run-tests.sh"),
        &format!("echo run >> \"$AGENT_FOLDER/count\"\n{script}"),
    );
    write(
        &scene.root().join(".taskmaster/tm.yaml"),
        "worktree: { setup: \"true\" }\n",
    );
    commit(&scene);
    let runs = || {
        std::fs::read_to_string(scene.path("count"))
            .expect("runs")
            .lines()
            .count()
    };
    for _ in 0..2 {
        let started = scene.autopilot_ok(&["start", "1"]);
        assert_eq!(
            started["base"],
            serde_json::json!(["base: 1 pass, 0 fail"]),
            "{started:#}"
        );
        scene.autopilot_ok(&["abort", "--cleanup", "--no-confirm"]);
        scene.git(&["switch", "--quiet", "main"]);
    }
    assert_eq!(runs(), 1);
    write(
        &scene.root().join("run-tests.sh"),
        "echo 'boom: dependency missing' >&2\nexit 127\n",
    );
    commit(&scene);
    let refused = scene.refused(&["start", "1"], 1);
    for part in [
        "exit code 127",
        "\n    boom: dependency missing",
        "hint: `worktree.setup`",
        "`--allow-broken-base`",
    ] {
        assert!(refused.contains(part), "{part}: {refused}");
    }
    assert_eq!(
        scene.git(&["for-each-ref", "refs/heads/tm"]),
        "",
        "no branch is left"
    );
    assert_eq!(scene.git(&["worktree", "list"]).lines().count(), 1);
    let allowed = scene.autopilot_ok(&["start", "1", "--allow-broken-base"]);
    assert!(
        allowed["base"][0]
            .as_str()
            .is_some_and(|line| line.contains("(`--allow-broken-base`)")),
        "{allowed:#}"
    );
}

#[test]
fn a_place_that_is_none_is_refused_by_the_plan_as_by_a_run() {
    let backlog = r#"{"master": {"tasks": [{"id": 1, "title": "Document it", "status": "pending", "dependencies": [],
        "metadata": {"on": "mars"}}]}}"#;
    let scene = Scene::with_backlog(backlog, &traced());
    let planned = scene.tm(&["waves", "plan"]).output().expect("tm");
    for output in [planned, scene.run(&[])] {
        let said = words(&output);
        assert_eq!(output.status.code(), Some(1), "{said}");
        assert!(
            said.contains("failed to find the place `mars` of task 1")
                && said.contains("`tm waves run --help` lists what"),
            "{said}"
        );
    }
    assert_eq!(agents_started(&scene), 0);
}
