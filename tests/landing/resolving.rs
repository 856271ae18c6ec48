//! Proven work that conflicts with what has landed: put together, proven, and landed without another attempt where that
//! can be; and whoever puts it together wrongly lands nothing that way.

use crate::scene::{Scene, task, write};
use serde_json::Value;

/// What an agent begins with: its name, and how it waits until a task has landed.
const BEGIN: &str = r#"
name=$(printf %s "$TM_TASK_ID" | sed 's/:red$//')
until_landed() {
    until git -C "$AGENT_FOLDER/checkout" log --all --format=%s | grep --quiet "^Land task $1:"; do sleep 0.05; done
}
trap 'printf "status: PASS\n" > "$TM_RESULT_FILE"' EXIT
"#;

fn scene(count: usize, agent: &str, files: &[(&str, &str)]) -> Scene {
    let ids: Vec<String> = (1..=count).map(|number| number.to_string()).collect();
    let tasks: Vec<(&str, &str, &[&str])> = ids
        .iter()
        .map(|id| (id.as_str(), "Add to it", &[][..]))
        .collect();
    let scene = Scene::new(&tasks, &format!("{BEGIN}{agent}"));
    for (path, text) in files {
        write(&scene.root().join(path), text);
    }
    scene.git(&["add", "--all"]);
    scene.git(&["commit", "--quiet", "--message", "what there is"]);
    scene
}

fn attempts(report: &Value, id: &str) -> usize {
    task(report, id)["attempts"]
        .as_array()
        .expect("attempts")
        .len()
}

fn landed(scene: &Scene, report: &Value, path: &str) -> String {
    let branch = report["integration_branch"].as_str().expect("a branch");
    scene.git(&["show", &format!("{branch}:{path}")])
}

/// The trailers by which merges of the run say how they came about.
fn resolutions(scene: &Scene, report: &Value) -> Vec<String> {
    let branch = report["integration_branch"].as_str().expect("a branch");
    let format = "--format=%(trailers:key=Resolution,valueonly,separator=%x2C)";
    let log = scene.git(&[
        "log",
        "--reverse",
        "--topo-order",
        format,
        &format!("main..{branch}"),
    ]);
    log.lines()
        .filter(|line| !line.is_empty())
        .map(ToOwned::to_owned)
        .collect()
}

fn assert_audited(scene: &Scene) {
    let output = scene.tm(&["audit"]).output().expect("tm");
    let words = format!(
        "{}{}",
        String::from_utf8_lossy(&output.stdout),
        String::from_utf8_lossy(&output.stderr)
    );
    assert_eq!(output.status.code(), Some(0), "{words}");
}

/// RED appends a test to the one file of tests; the second GREEN ends after the first has landed.
const APPENDING: &str = r#"
case $TM_PHASE in
red) printf 'check "%s works" "%s" "$(sh bin/%s 2>/dev/null)"\n' "$name" "$name" "$name" >> t/all.t ;;
green)
    if [ "$name" = 2 ] && [ -n "$SIDE_BY_SIDE" ]; then until_landed 1; fi
    mkdir -p bin; echo "echo $name" > "bin/$name" ;;
esac
"#;

fn assert_both_landed_at_once(scene: &Scene, report: &Value) {
    for id in ["1:red", "1", "2:red", "2"] {
        assert_eq!(attempts(report, id), 1, "{id}: {report:#}");
    }
    let tests = landed(scene, report, "t/all.t");
    assert!(
        tests.contains("1 works") && tests.contains("2 works"),
        "{tests}"
    );
    assert_eq!(scene.statuses(), ["done"; 2]);
    assert!(
        resolutions(scene, report).contains(&"union".to_owned()),
        "{:?}",
        resolutions(scene, report)
    );
    assert_audited(scene);
}

#[test]
fn two_tasks_that_append_to_the_same_file_of_tests_both_land_without_another_attempt() {
    let agent = format!("SIDE_BY_SIDE=1\n{APPENDING}");
    let scene = scene(
        2,
        &agent,
        &[("t/all.t", ". t/check.sh\ncheck 'the first' 1 1\n")],
    );
    let report = scene.runs(&["--max-parallel", "2"], 0);
    assert_both_landed_at_once(&scene, &report);
}

#[test]
fn a_held_red_that_appends_where_something_has_landed_meanwhile_is_not_done_again() {
    let scene = scene(
        2,
        APPENDING,
        &[("t/all.t", ". t/check.sh\ncheck 'the first' 1 1\n")],
    );
    let report = scene.runs(&["--max-parallel", "1", "--red-early"], 0);
    assert_both_landed_at_once(&scene, &report);
}

#[test]
fn forty_tasks_that_each_add_a_line_to_the_same_file_all_land() {
    const TASKS: usize = 40;
    let cheap = [
        ("run-tests.sh", "echo 1..1\necho ok - fine\n"),
        ("list", "first\n"),
    ];
    let scene = scene(TASKS, "echo \"$name\" >> list\n", &cheap);
    let report = scene.runs(&["--tdd", "off", "--max-parallel", "8"], 0);
    let made: usize = (1..=TASKS)
        .map(|id| attempts(&report, &id.to_string()))
        .sum();
    assert!(made <= TASKS + TASKS * 3 / 10, "{made} attempts");
    let mut lines: Vec<String> = landed(&scene, &report, "list")
        .lines()
        .map(ToOwned::to_owned)
        .collect();
    lines.sort();
    let mut expected: Vec<String> = (1..=TASKS)
        .map(|id| id.to_string())
        .chain(["first".to_owned()])
        .collect();
    expected.sort();
    assert_eq!(lines, expected);
    assert_eq!(scene.statuses(), ["done"; TASKS]);
}

/// Both tasks change the only line of a file; the second one ends after the first has landed. What its second attempt
/// does stands in `RESOLVING`; a third one does the task anew.
const QUARRELSOME: &str = r#"
write_anew() { sed "s/\$/ $name/" words > words.new; mv words.new words; mkdir -p docs; echo "$name" > "docs/$name"; }
case "$name $TM_ATTEMPT" in
"2 1") until_landed 1; write_anew ;;
"2 2") RESOLVING ;;
*) write_anew ;;
esac
"#;

fn quarrel(resolving: &str) -> Scene {
    let words = "# words\nall: a\n# end\n";
    let agent = QUARRELSOME.replace("RESOLVING", resolving).replace(
        "write_anew() { sed \"s/\\$/",
        "write_anew() { sed \"/all/s/\\$/",
    );
    let cheap = "echo 1..1\ntest -e t/secret && echo ok - fine || echo not ok - fine\n";
    scene(
        2,
        &agent,
        &[
            ("words", words),
            ("run-tests.sh", cheap),
            ("t/secret", "x\n"),
        ],
    )
}

const RIGHT: &str = "printf '# words\\nall: a 1 2\\n# end\\n' > words";

#[test]
fn the_tasks_own_agent_puts_proven_work_together_with_what_has_landed() {
    let scene = quarrel(&format!(
        "grep --quiet '<<<<<<<' words && test -e docs/1 && test -e docs/2 && {RIGHT}"
    ));
    let report = scene.runs(
        &["--tdd", "off", "--max-parallel", "2", "--retries", "0"],
        0,
    );
    assert_eq!(attempts(&report, "2"), 2, "{report:#}");
    let first = &task(&report, "2")["attempts"][0];
    assert_eq!(first["failure"], "conflict", "{first:#}");
    assert_eq!(
        landed(&scene, &report, "words"),
        "# words\nall: a 1 2\n# end"
    );
    assert_eq!(
        landed(&scene, &report, "docs/2"),
        "2",
        "the rest of the proven work is kept as it was"
    );
    assert_eq!(resolutions(&scene, &report), ["agent"]);
    let prompt = std::fs::read_to_string(scene.waves_folder().join("tasks/2/attempt-2/prompt.md"))
        .expect("a prompt");
    assert!(
        prompt.contains("`words`") && prompt.contains("What has landed: task 1, Add to it"),
        "{prompt}"
    );
    assert_audited(&scene);
}

#[test]
fn whoever_resolves_a_conflict_wrongly_lands_nothing_that_way() {
    for (name, resolving, evidence) in [
        (
            "drops the other's words",
            "printf '# words\\nall: a 2\\n# end\\n' > words",
            "`1`, which a side added, is gone",
        ),
        (
            "drops its own",
            "printf '# words\\nall: a 1\\n# end\\n' > words",
            "`2`, which a side added, is gone",
        ),
        (
            "leaves the marks",
            "true",
            "a marker of the conflict was left",
        ),
        (
            "touches another file",
            &format!("{RIGHT}; echo x > docs/1"),
            "in which nothing conflicts: docs/1",
        ),
        (
            "makes a file",
            &format!("{RIGHT}; echo x > more"),
            "in which nothing conflicts: more",
        ),
        (
            "edits a test",
            &format!("{RIGHT}; echo y > t/secret"),
            "in which nothing conflicts: t/secret",
        ),
        ("removes the file", "rm words", "`words`: it is gone"),
        (
            "puts back what was there",
            "printf '# words\\nall: a\\nall: a 1 2\\n# end\\n' > words",
            "is back",
        ),
        (
            "changes other lines",
            "printf '# Words\\nall: a 1 2\\n# end\\n' > words",
            "outside of the conflicts",
        ),
    ] {
        let scene = quarrel(resolving);
        let report = scene.runs(
            &["--tdd", "off", "--max-parallel", "2", "--retries", "0"],
            0,
        );
        let second = &task(&report, "2")["attempts"];
        assert_eq!(
            second.as_array().expect("attempts").len(),
            3,
            "{name}: {second:#}"
        );
        let said = second[1]["evidence"].as_str().unwrap_or_default();
        assert!(said.contains(evidence), "{name}: {said}");
        assert_eq!(
            landed(&scene, &report, "words"),
            "# words\nall: a 1 2\n# end",
            "{name}: by the third attempt"
        );
        assert_eq!(landed(&scene, &report, "docs/1"), "1", "{name}");
        assert!(resolutions(&scene, &report).is_empty(), "{name}");
    }
}

#[test]
fn a_merge_program_that_the_user_names_merges_what_lines_alone_do_not() {
    const UNITE: &str = r#"set -e; test "$4" = words; sed -n '/all/s/all: a//p' "$3" > more
        sed "/all/s/\$/$(cat more)/" "$2" > merged; mv merged "$2""#;
    let scene = quarrel("false");
    write(&scene.path("unite.sh"), UNITE);
    let driver = format!("sh '{}' %O %A %B %P", scene.path("unite.sh").display());
    write(
        &scene.root().join(".taskmaster/tm.yaml"),
        &format!("git:\n  merge_driver: \"{driver}\"\n"),
    );
    let report = scene.runs(
        &["--tdd", "off", "--max-parallel", "2", "--retries", "0"],
        0,
    );
    assert_eq!(attempts(&report, "2"), 1, "{report:#}");
    assert_eq!(
        landed(&scene, &report, "words"),
        "# words\nall: a 1 2\n# end"
    );
    assert_eq!(resolutions(&scene, &report), ["driver"]);
    assert_audited(&scene);
}

#[test]
fn a_lock_file_in_conflict_is_made_again_from_what_has_landed_together() {
    for (name, joined) in [("Cargo.lock", "0\n1\n2"), ("bun.lockb", "0\x001\x002")] {
        let make = if name == "bun.lockb" {
            "cat wanted/* | tr '\\n' '\\0'"
        } else {
            "cat wanted/*"
        };
        let agent = format!(
            "if [ \"$name\" = 2 ]; then until_landed 1; fi\n\
             mkdir -p wanted; echo \"$name\" > \"wanted/$name\"; {make} > {name}\n"
        );
        let cheap =
            format!("echo 1..1\n{make} | cmp - {name} && echo ok - fine || echo not ok - fine\n");
        let before = if name == "bun.lockb" { "0\0" } else { "0\n" };
        let scene = scene(
            2,
            &agent,
            &[
                ("wanted/0", "0\n"),
                (name, before),
                ("run-tests.sh", &cheap),
            ],
        );
        let settings = format!(
            "git: {{ lock_files: {{ {name}: \"{} > {name}\" }} }}\n",
            make.replace('\\', "\\\\")
        );
        write(&scene.root().join(".taskmaster/tm.yaml"), &settings);
        let report = scene.runs(
            &["--tdd", "off", "--max-parallel", "2", "--retries", "0"],
            0,
        );
        assert_eq!(attempts(&report, "2"), 1, "{report:#}");
        assert_eq!(landed(&scene, &report, name).trim_end_matches('\0'), joined);
        assert_eq!(resolutions(&scene, &report), ["lockfile"]);
        assert_audited(&scene);
    }
}

#[test]
fn a_command_for_lock_files_that_writes_elsewhere_resolves_nothing() {
    let agent = r#"
if [ "$name" = 2 ] && [ "$TM_ATTEMPT" = 1 ]; then until_landed 1; fi
mkdir -p wanted; echo "$name" > "wanted/$name"; cat wanted/* > Cargo.lock
"#;
    let cheap = "echo 1..1\necho ok - fine\n";
    let scene = scene(
        2,
        agent,
        &[
            ("wanted/0", "0\n"),
            ("Cargo.lock", "0\n"),
            ("run-tests.sh", cheap),
        ],
    );
    let settings =
        "git:\n  lock_files:\n    Cargo.lock: cat wanted/* > Cargo.lock; echo x > wanted/9\n";
    write(&scene.root().join(".taskmaster/tm.yaml"), settings);
    let report = scene.runs(
        &["--tdd", "off", "--max-parallel", "2", "--retries", "0"],
        0,
    );
    let second = &task(&report, "2")["attempts"];
    assert_eq!(
        second.as_array().expect("attempts").len(),
        2,
        "a fresh attempt, uncharged: {second:#}"
    );
    let evidence = second[0]["evidence"].as_str().expect("evidence");
    assert!(
        evidence.contains("changed other files, too: wanted/9"),
        "{evidence}"
    );
    assert_eq!(landed(&scene, &report, "Cargo.lock"), "0\n1\n2");
}

/// Dies at some points of a run whose work conflicts, and goes on; returns how many points were reached.
fn goes_on_after_dying(
    make: impl Fn() -> Scene + Sync,
    points: &[usize],
    is_right: impl Fn(&Scene, &Value) + Sync,
) -> usize {
    const ARGUMENTS: [&str; 6] = ["--tdd", "off", "--max-parallel", "2", "--retries", "0"];
    let reached = std::sync::atomic::AtomicUsize::new(0);
    let dies_at = |point: usize| {
        let scene = make();
        let died = scene
            .run_command(&ARGUMENTS)
            .env("CRASH_POINT", point.to_string())
            .output()
            .expect("tm");
        if !died.status.success() {
            reached.fetch_add(1, std::sync::atomic::Ordering::SeqCst);
        }
        let again = scene.run(&ARGUMENTS);
        let words = String::from_utf8_lossy(&again.stderr).into_owned();
        assert!(again.status.success(), "after dying at {point}: {words}");
        scene.assert_no_process_is_left();
        assert_eq!(scene.statuses(), ["done"; 2], "after dying at {point}");
        is_right(&scene, &scene.report());
    };
    std::thread::scope(|scope| {
        for half in points.chunks(points.len().div_ceil(2)) {
            scope.spawn(move || half.iter().for_each(|&point| dies_at(point)));
        }
    });
    reached.into_inner()
}

/// So many points there are without a crash.
fn points_of(scene: &Scene) -> usize {
    let log = scene.path("points");
    let mut command = scene.run_command(&["--tdd", "off", "--max-parallel", "2", "--retries", "0"]);
    assert!(
        command
            .env("CRASH_POINT_LOG", &log)
            .status()
            .expect("tm")
            .success()
    );
    std::fs::read_to_string(&log)
        .expect("the points")
        .lines()
        .count()
}

/// Some of the points of the second half, where the conflict is; all of them where that is asked for.
fn second_half(points: usize) -> Vec<usize> {
    let step = if std::env::var_os("TM_TEST_EVERY_POINT").is_some() {
        1
    } else {
        23
    };
    (points / 2..points).step_by(step).collect()
}

#[test]
fn dying_while_proven_work_is_put_together_changes_nothing_about_the_end() {
    let make = || quarrel(RIGHT);
    let points = second_half(points_of(&make()));
    let reached = goes_on_after_dying(make, &points, |scene, report| {
        assert_eq!(landed(scene, report, "words"), "# words\nall: a 1 2\n# end");
        assert_eq!(landed(scene, report, "docs/2"), "2");
    });
    assert!(reached >= 3, "{reached} of {points:?} were reached");
}

#[test]
fn dying_while_a_lock_file_is_made_again_changes_nothing_about_the_end() {
    let make = || {
        let agent = r#"
if [ "$name" = 2 ]; then until_landed 1; fi
mkdir -p wanted; echo "$name" > "wanted/$name"; cat wanted/* > Cargo.lock
"#;
        let cheap =
            "echo 1..1\ncat wanted/* | cmp - Cargo.lock && echo ok - fine || echo not ok - fine\n";
        let scene = scene(
            2,
            agent,
            &[
                ("wanted/0", "0\n"),
                ("Cargo.lock", "0\n"),
                ("run-tests.sh", cheap),
            ],
        );
        let settings = "git:\n  lock_files:\n    Cargo.lock: cat wanted/* > Cargo.lock\n";
        write(&scene.root().join(".taskmaster/tm.yaml"), settings);
        scene
    };
    let points = second_half(points_of(&make()));
    let reached = goes_on_after_dying(make, &points, |scene, report| {
        assert_eq!(landed(scene, report, "Cargo.lock"), "0\n1\n2");
    });
    assert!(reached >= 3, "{reached} of {points:?} were reached");
}

#[test]
fn an_agent_that_is_about_to_conflict_is_told_of_while_it_works() {
    let agent = r#"
if [ "$name" = 2 ]; then
    [ "$TM_ATTEMPT" = 1 ] && echo "all: 2" > words
    until_landed 1
    if [ "$TM_ATTEMPT" = 1 ]; then until cat "$AGENT_FOLDER"/tm/projects/*/runs/*/activity.jsonl | grep --quiet conflict-ahead; do sleep 0.05; done; fi
fi
echo "all: $name" > words
"#;
    let cheap = "echo 1..1\necho ok - fine\n";
    let scene = scene(2, agent, &[("words", "all: a\n"), ("run-tests.sh", cheap)]);
    let output = scene.run(&["--tdd", "off", "--max-parallel", "2"]);
    let words = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(0), "{words}");
    let said = format!("{}{words}", String::from_utf8_lossy(&output.stdout));
    assert!(
        said.contains("2 Add to it will conflict with 1 in words"),
        "{said}"
    );
}
