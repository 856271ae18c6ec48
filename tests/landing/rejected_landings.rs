//! Rejected work that a merge program put together with other work where it landed: it is taken back all the same.

use crate::scene::{Scene, write};
use std::process::Output;

/// Both tasks change the one line; the second one ends after the first has landed.
const AGENT: &str = r#"
grep -qsx "$TM_TASK_ID" "$AGENT_FOLDER/refused" && exit 1
if [ "$TM_TASK_ID" = 2 ]; then
    until git -C "$AGENT_FOLDER/checkout" log --all --format=%s | grep --quiet "^Land task 1:"; do sleep 0.05; done
fi
sed "/all/s/\$/ $TM_TASK_ID/" words > words.new; mv words.new words
printf 'status: PASS\n' > "$TM_RESULT_FILE"
"#;
const UNITE: &str = r#"set -e; sed -n '/all/s/all: a//p' "$3" > more
sed "/all/s/\$/$(cat more)/" "$2" > merged; mv merged "$2""#;
const BOTH_AT_ONCE: [&str; 6] = ["--tdd", "off", "--max-parallel", "2", "--retries", "0"];

fn words(output: &Output) -> String {
    format!(
        "{}{}",
        String::from_utf8_lossy(&output.stdout),
        String::from_utf8_lossy(&output.stderr)
    )
}

fn shown(scene: &Scene, revision: &str) -> String {
    scene.git(&["show", &format!("{revision}:words")])
}

/// Two tasks have landed in parallel, in a line that only the merge program could put together.
fn landed() -> Scene {
    let scene = Scene::new(&[("1", "Add to it", &[]), ("2", "Add to it", &[])], AGENT);
    write(&scene.path("unite.sh"), UNITE);
    write(&scene.root().join("words"), "# words\nall: a\n# end\n");
    write(
        &scene.root().join("run-tests.sh"),
        "echo 1..1\necho ok - fine\n",
    );
    let driver = format!("sh '{}' %O %A %B", scene.path("unite.sh").display());
    write(
        &scene.root().join(".taskmaster/tm.yaml"),
        &format!("git:\n  merge_driver: \"{driver}\"\n"),
    );
    scene.git(&["add", "--all"]);
    scene.git(&["commit", "--quiet", "--message", "what there is"]);
    let report = scene.runs(&BOTH_AT_ONCE, 0);
    let branch = report["integration_branch"].as_str().expect("a branch");
    assert_eq!(shown(&scene, branch), "# words\nall: a 1 2\n# end");
    scene
}

/// Rejects a task, has the next run end without it, and returns where that began.
fn base_without(scene: &Scene, id: &str) -> String {
    let rejected = scene
        .tm(&["review", "reject", id, "--reason", "no"])
        .output()
        .expect("tm");
    assert!(rejected.status.success(), "{}", words(&rejected));
    write(&scene.path("refused"), "1\n2\n");
    let output = scene.run(&BOTH_AT_ONCE);
    assert_eq!(output.status.code(), Some(3), "{}", words(&output));
    let base = scene.report()["base_commit"]
        .as_str()
        .expect("a base")
        .to_owned();
    let from = scene.git(&["rev-parse", "main"]);
    let audit = scene
        .tm(&["audit", &format!("{from}..{base}")])
        .output()
        .expect("tm");
    assert!(
        audit.status.success() && words(&audit).contains("taken-back"),
        "{}",
        words(&audit)
    );
    base
}

#[test]
fn the_later_of_two_is_taken_back_by_the_merge_by_which_it_landed() {
    let scene = landed();
    let base = base_without(&scene, "2");
    assert_eq!(shown(&scene, &base), "# words\nall: a 1\n# end");
}

#[test]
fn with_the_earlier_of_two_the_later_goes_too_and_both_are_done_again() {
    let scene = landed();
    let base = base_without(&scene, "1");
    assert_eq!(shown(&scene, &base), "# words\nall: a\n# end");
    write(&scene.path("refused"), "");
    let report = scene.runs(&BOTH_AT_ONCE, 0);
    let branch = report["integration_branch"].as_str().expect("a branch");
    // Nobody waits for anybody this time: task 1 has landed once before.
    let all = shown(&scene, branch);
    assert!(
        ["# words\nall: a 1 2\n# end", "# words\nall: a 2 1\n# end"].contains(&all.as_str()),
        "{all}"
    );
}
