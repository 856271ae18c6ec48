//! What has landed passed when it landed, and fails by itself by now: nobody who lands next is blamed, and what people are
//! told says whether that is around the tests or came with work that landed.

use crate::scene::{Scene, task, write};
use serde_json::Value;

/// All begin together, and are done one after the other.
const IN_ORDER: &str = r#"
waits() { for _ in $(seq 400); do "$@" && return; sleep 0.05; done; exit 1; }
landed() { git -C "$AGENT_FOLDER/checkout" log --all --format=%s | grep --quiet "^Land task $1:"; }
began() { for id in 1 2 3 4; do [ -e "$AGENT_FOLDER/began-$id" ] || return 1; done; }
touch "$AGENT_FOLDER/began-$TM_TASK_ID"
waits began
if [ -e "$AGENT_FOLDER/was-broken" ]; then
    word=sound
elif [ "$TM_TASK_ID" != 1 ]; then
    waits landed $((TM_TASK_ID - 1))
fi
mkdir -p docs
echo "${word:-fragile}" > "docs/$TM_TASK_ID"
printf 'status: PASS\n' > "$TM_RESULT_FILE"
"#;

/// Something outside of the repository breaks, once, when what 4 did is tested with what has landed.
const BREAKS_THE_MACHINE: &str = r#"
NAMES
if [ -e docs/3 ] && [ -e docs/4 ] && ! [ -e "$AGENT_FOLDER/was-broken" ]; then
    touch "$AGENT_FOLDER/is-broken" "$AGENT_FOLDER/was-broken"
fi
needs_it() { CONDITION; }
if needs_it && [ -e "$AGENT_FOLDER/is-broken" ]; then echo "not ok - $name"; else echo "ok - $name"; fi
"#;

const ONE_TEST: &str = "echo 1..1; name=fine";
/// The one that needs the machine comes with what 1 did.
const ANOTHER_WITH_1: &str =
    "if [ -e docs/1 ]; then echo 1..2; echo 'ok - fine'; name=later; else echo 1..1; name=fine; fi";

/// Three tasks have landed when the machine breaks, and the fourth is about to; returns what people are told. The tests
/// need the machine only under a condition.
fn stopped(names: &str, needs_the_machine: &str) -> (Scene, String) {
    let tasks = ["1", "2", "3", "4"].map(|id| (id, "Document it", &[][..]));
    let scene = Scene::new(&tasks, IN_ORDER);
    let tests = BREAKS_THE_MACHINE
        .replace("NAMES", names)
        .replace("CONDITION", needs_the_machine);
    write(&scene.root().join("run-tests.sh"), &tests);
    scene.git(&["commit", "--quiet", "--all", "--message", "tests"]);
    let stopped = scene.run(&["--max-parallel", "4"]);
    let words = String::from_utf8_lossy(&stopped.stderr).into_owned();
    assert!(
        stopped.status.code() == Some(1) && words.contains("now without it, too"),
        "{words}"
    );
    let report = scene.report();
    let attempts = &task(&report, "4")["attempts"];
    assert_eq!(attempts[0]["failure"], Value::Null, "{report:#}");
    (scene, words)
}

#[test]
fn nobody_is_blamed_where_what_the_run_began_with_fails_by_now_as_well() {
    let (scene, words) = stopped(ONE_TEST, "true");
    assert!(
        words.contains("something around them is not as it was"),
        "{words}"
    );
    assert!(!words.contains("git revert"), "{words}");
    std::fs::remove_file(scene.path("is-broken")).expect("removed");
    let report = scene.runs(&[], 0);
    let last = task(&report, "4");
    assert_eq!(last["state"], "landed", "{report:#}");
    let attempts = last["attempts"].as_array().expect("attempts");
    assert_eq!(attempts.len(), 1, "{report:#}");
}

#[test]
fn nobody_is_blamed_by_tests_that_came_with_what_has_landed() {
    let (_scene, words) = stopped(ANOTHER_WITH_1, "[ $name = later ]");
    assert!(words.contains("came with what has landed"), "{words}");
    assert!(!words.contains("git revert"), "{words}");
}

#[test]
fn landed_work_with_which_the_tests_fail_by_now_is_named_and_what_goes_on_without_it_too() {
    let (scene, words) = stopped(ONE_TEST, "grep --quiet fragile docs/2 2>/dev/null");
    assert!(
        words.contains("begin to fail with the landed work of `2`"),
        "{words}"
    );
    let folder = scene.waves_folder().join("tasks/4/attempt-1");
    let measured = |name: &str| folder.join(format!("{name}.log")).is_file();
    assert!(measured("landing-base") && measured("landing-only-1"));
    assert!(!measured("landing-only-3"), "that is what has landed");
    let branch = scene.report()["integration_branch"].clone();
    let branch = branch.as_str().expect("a branch");
    let merge = scene.git(&["log", "--format=%H", "--grep=Land task 2:", branch]);
    let revert = format!("git revert -m 1 {merge}");
    assert!(words.contains(&revert), "{words}");
    scene.git(&["switch", "--quiet", branch]);
    scene.git(&["revert", "--no-edit", "-m", "1", &merge]);
    scene.git(&["switch", "--quiet", "main"]);
    let opening = ["set-status", "--id=2", "--status=pending"];
    assert!(words.contains(&opening.join(" ")), "{words}");
    let opened = scene.tm(&opening).output().expect("tm");
    assert!(opened.status.success(), "{opened:?}");
    let report = scene.runs(&["--on-interrupted", "fresh"], 0);
    assert_eq!(scene.statuses(), ["done"; 4]);
    let branch = report["integration_branch"].as_str().expect("a branch");
    let shown = |id: &str| scene.git(&["show", &format!("{branch}:docs/{id}")]);
    let landed = ["1", "2", "3", "4"].map(shown);
    assert_eq!(landed, ["fragile", "sound", "fragile", "sound"]);
}

/// Has a second task begin on top of what a first one has landed, with which a test is not what it was from then on; nobody
/// is blamed for that, and what is not judged is so once the machine is as it was.
fn assert_nobody_is_blamed(second: &str, is_now: &str) {
    let agent = r#"
mkdir -p docs
case $TM_TASK_ID-$TM_PHASE in
1-*) echo fragile > docs/1 ;;
*-red) echo "if [ -e docs/2 ]; then echo 'ok - new'; else echo 'not ok - new'; fi" > new.t ;;
*) touch "$AGENT_FOLDER/is-broken"; echo more > docs/2 ;;
esac
printf 'status: PASS\n' > "$TM_RESULT_FILE"
"#;
    let tasks: [(&str, &str, &[&str]); 2] = [("1", "Document it", &[]), ("2", second, &["1"])];
    let scene = Scene::new(&tasks, agent);
    let tests = "if [ -e docs/1 ] && [ -e \"$AGENT_FOLDER/is-broken\" ]; then IS_NOW; else echo ok - fine; fi\n\
                 echo ok - other\n[ ! -e new.t ] || . ./new.t\n[ -e new.t ] && echo 1..3 || echo 1..2\n";
    let tests = tests.replace("IS_NOW", is_now);
    write(&scene.root().join("run-tests.sh"), &tests);
    scene.git(&["commit", "--quiet", "--all", "--message", "tests"]);
    let stopped = scene.run(&[]);
    let words = String::from_utf8_lossy(&stopped.stderr).into_owned();
    assert_eq!(stopped.status.code(), Some(1), "{is_now}: {words}");
    let named = words.contains("begin to fail with the landed work of `1`");
    assert!(named, "{is_now}: {words}");
    let report = scene.report();
    let attempts = task(&report, "2")["attempts"].clone();
    let attempts = attempts.as_array().expect("attempts");
    assert_eq!(attempts.len(), 1, "{report:#}");
    let uncharged = attempts.iter().all(|one| one["failure"].is_null());
    assert!(uncharged, "{report:#}");
    std::fs::remove_file(scene.path("is-broken")).expect("removed");
    let report = scene.runs(&[], 0);
    assert_eq!(task(&report, "2")["state"], "landed", "{report:#}");
}

#[test]
fn who_begins_on_top_of_landed_work_that_fails_by_now_is_not_blamed_for_it() {
    assert_nobody_is_blamed("Document more", "echo not ok - fine");
}

#[test]
fn who_begins_on_top_of_landed_work_that_hides_tests_by_now_is_not_blamed_for_it() {
    assert_nobody_is_blamed("Document more", "echo 'ok - fine # SKIP no machine'");
    assert_nobody_is_blamed("Document more", "echo 'ok - another'");
}

#[test]
fn a_green_on_top_of_landed_work_that_fails_by_now_is_not_blamed_for_it() {
    assert_nobody_is_blamed("Add more", "echo not ok - fine");
}
