//! Somebody writes over what has landed when nothing lands any more: the run says so at its end.

use crate::scene::{HONEST, Scene};
use std::process::Stdio;

#[test]
fn what_is_written_over_after_the_last_landing_is_told_at_the_end() {
    let waits = "[ \"$TM_TASK_ID\" = 2 ] && { echo > \"$AGENT_FOLDER/started\"; cat \"$AGENT_FOLDER/gate\"; exit 1; }\n";
    let tasks: [(&str, &str, &[&str]); 2] =
        [("1", "Document it", &[]), ("2", "Explain it", &["1"])];
    let scene = Scene::new(&tasks, &format!("{waits}{HONEST}"));
    scene.pipe("started");
    scene.pipe("gate");
    let mut run = scene.run_command(&["--retries", "0"]);
    let run = run.stdout(Stdio::null()).stderr(Stdio::piped());
    let run = run.spawn().expect("tm starts");
    drop(std::fs::read(scene.path("started")).expect("an agent"));
    let blob = scene.shell("git rev-parse \"$(git for-each-ref --format='%(objectname)' 'refs/heads/tm/*/run-*'):docs/1\"");
    let blob = String::from_utf8({ blob }.output().expect("git").stdout).expect("text");
    let blob = blob.trim();
    let over = format!(
        "cd .git/objects/{}; chmod u+w {1}; echo rubbish > {1}; echo > \"$AGENT_FOLDER/gate\"",
        &blob[..2],
        &blob[2..]
    );
    let done = scene.shell(&over).output().expect("sh");
    assert!(done.status.success(), "{done:?}");
    let output = run.wait_with_output().expect("an end");
    let words = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(1), "{words}");
    assert!(
        words.contains("failed to find all that landed as it was judged") && words.contains(blob),
        "{words}"
    );
}
