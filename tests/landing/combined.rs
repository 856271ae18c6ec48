//! What several ways of tm give together: put together, signed, rejected, taken back, done again, audited.

use crate::landing::hooks::signs_with_ssh;
use crate::scene::{Scene, write};

/// Adds a line to a file that all tasks add to; the second and third end when the first has landed.
const APPENDING: &str = r#"
until_landed() {
    until git -C "$AGENT_FOLDER/checkout" log --all --format=%s | grep --quiet "^Land task $1:"; do sleep 0.05; done
}
[ "$TM_TASK_ID" = 1 ] || [ -e "$AGENT_FOLDER/again" ] || until_landed 1
echo "$TM_TASK_ID" >> list
echo "$TM_RUN_ID" > "made-$TM_TASK_ID"
printf 'status: PASS\n' > "$TM_RESULT_FILE"
"#;

fn says(scene: &Scene, arguments: &[&str], code: i32) -> String {
    let output = scene.tm(arguments).output().expect("tm");
    let words = format!(
        "{}{}",
        String::from_utf8_lossy(&output.stdout),
        String::from_utf8_lossy(&output.stderr)
    );
    assert_eq!(output.status.code(), Some(code), "{arguments:?}: {words}");
    words
}

#[test]
fn work_that_was_put_together_is_taken_back_alone_signed_and_audited() {
    let tasks: [(&str, &str, &[&str]); 3] = [
        ("1", "Add a line", &[]),
        ("2", "Add one", &[]),
        ("3", "Add more", &[]),
    ];
    let scene = Scene::new(&tasks, APPENDING);
    write(&scene.root().join("list"), "first\n");
    scene.git(&["add", "--all"]);
    scene.git(&["commit", "--quiet", "--message", "a list"]);
    let start = scene.git(&["rev-parse", "main"]);
    signs_with_ssh(&scene);
    scene.runs(&["--max-parallel", "3", "--tdd", "off"], 0);
    says(&scene, &["review", "reject", "1", "--reason", "no"], 0);
    says(&scene, &["waves", "land", "--yes"], 3);
    write(&scene.path("again"), "");
    let again = scene.runs(&["--tdd", "off"], 0);
    assert_eq!(
        again["tasks"].as_array().map(Vec::len),
        Some(1),
        "the others stay: {again}"
    );
    let branch = again["integration_branch"].as_str().expect("a branch");
    let mut lines: Vec<String> = scene
        .git(&["show", &format!("{branch}:list")])
        .lines()
        .map(str::to_owned)
        .collect();
    lines.sort();
    assert_eq!(lines, ["1", "2", "3", "first"]);
    says(&scene, &["waves", "land", "--yes"], 0);
    let audit = says(&scene, &["audit", &format!("{start}..main")], 0);
    assert!(audit.contains("taken-back"), "{audit}");
    for commit in scene.git(&["rev-list", &format!("{start}..main")]).lines() {
        let subject = scene.git(&["log", "-1", "--format=%s", commit]);
        assert!(
            scene.try_git(&["verify-commit", commit]).status.success(),
            "`{subject}` is not signed"
        );
    }
}
