//! Journals that were written by another version, or damaged: one clear error, and nothing that landed is done again.

use crate::scene::{HONEST, Scene, write};
use std::process::Output;

/// A run that is killed when its second task is at work; the first has landed.
fn killed() -> Scene {
    let agent = format!(
        "echo \"$TM_TASK_ID\" >> \"$AGENT_FOLDER/runs\"\n\
         if [ \"$TM_TASK_ID\" = 2 ]; then echo started > \"$AGENT_FOLDER/started\"
         cat \"$AGENT_FOLDER/gate\"; exit 3; fi\n{HONEST}"
    );
    let scene = Scene::new(
        &[("1", "Document it", &[]), ("2", "Document more", &["1"])],
        &agent,
    );
    write(
        &scene.root().join("run-tests.sh"),
        "echo 1..1\necho ok - fine\n",
    );
    scene.git(&["commit", "--quiet", "--all", "--message", "cheap tests"]);
    scene.pipe("started");
    scene.pipe("gate");
    let mut run = scene.start_and_wait_for_agent(&[]);
    run.kill().expect("sent");
    run.wait().expect("an end");
    write(&scene.path("gate"), "");
    write(
        &scene.path("agent.sh"),
        &format!("echo \"$TM_TASK_ID\" >> \"$AGENT_FOLDER/runs\"\n{HONEST}"),
    );
    scene
}

fn words(output: &Output) -> String {
    let words = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(!words.contains("panicked"), "{words}");
    words
}

fn assert_first_task_was_done_once(scene: &Scene, words: &str) {
    let runs = std::fs::read_to_string(scene.path("runs")).expect("runs");
    assert_eq!(runs.lines().filter(|id| *id == "1").count(), 1, "{words}");
}

#[test]
fn a_journal_of_another_version_is_refused_and_can_be_left_alone() {
    let scene = killed();
    let journal = scene.waves_folder().join("journal.jsonl");
    let text = std::fs::read_to_string(&journal).expect("a journal");
    for version in ["0", "6", "99"] {
        write(
            &journal,
            &text.replacen("{\"version\":5,", &format!("{{\"version\":{version},"), 1),
        );
        for command in [
            &["waves", "run", "--yes"][..],
            &["waves", "resume"],
            &["waves", "status"],
            &["waves", "report"],
        ] {
            let refused = scene.tm(command).output().expect("tm");
            let words = words(&refused);
            assert_eq!(refused.status.code(), Some(1), "{words}");
            assert!(
                words.contains(&format!("version {version}, this tm reads versions 1 to 5")),
                "{words}"
            );
            assert_eq!(
                words.matches("error:").count() + words.matches("hint:").count(),
                2,
                "{words}"
            );
        }
    }
    let fresh = scene.run(&["--on-interrupted", "fresh"]);
    let words = words(&fresh);
    assert_eq!(fresh.status.code(), Some(0), "{words}");
    assert_first_task_was_done_once(&scene, &words);
    assert_eq!(scene.statuses(), ["done"; 2]);
    let branch = scene.report()["integration_branch"]
        .as_str()
        .expect("a branch")
        .to_owned();
    assert_eq!(
        scene.git(&["ls-tree", "--name-only", &format!("{branch}:docs")]),
        "1\n2",
        "it starts where work landed"
    );
}

#[test]
fn a_journal_with_flipped_bits_or_cut_off_never_panics_and_never_does_landed_work_again() {
    let scene = killed();
    let journal = scene.waves_folder().join("journal.jsonl");
    let bytes = std::fs::read(&journal).expect("a journal");
    let mut damaged: Vec<Vec<u8>> = Vec::new();
    for part in 0..12 {
        let place = bytes.len() * (2 * part + 1) / 24;
        let mut flipped = bytes.clone();
        flipped[place] ^= 1 << (part % 8);
        damaged.push(flipped);
    }
    // Cut off in the middle of a line: everything before it counts, and the last line is torn.
    damaged.push(bytes[..bytes.len() - 3].to_vec());
    let mut refused = 0;
    for damaged in damaged {
        #[expect(clippy::disallowed_methods, reason = "damage needs no atomic write")]
        std::fs::write(&journal, &damaged).expect("written");
        let output = scene.run(&[]);
        let words = words(&output);
        assert_first_task_was_done_once(&scene, &words);
        if output.status.code() == Some(1) {
            refused += 1;
            assert!(
                words.contains("error: failed to read") && words.contains("hint:"),
                "{words}"
            );
        } else {
            assert_eq!(output.status.code(), Some(0), "{words}");
            assert_eq!(scene.statuses(), ["done"; 2]);
            return assert!(refused >= 10, "{refused}");
        }
    }
    panic!("a torn last line is no reason to refuse");
}

#[test]
fn a_run_whose_folder_was_deleted_is_no_dead_end() {
    let scene = killed();
    std::fs::remove_dir_all(scene.waves_folder()).expect("removed");
    let gone_on = scene.run(&[]);
    let words = words(&gone_on);
    assert_eq!(gone_on.status.code(), Some(0), "{words}");
    assert!(
        words.contains("is gone, so it can't be taken up"),
        "{words}"
    );
    assert_first_task_was_done_once(&scene, &words);
    assert_eq!(scene.statuses(), ["done", "done"], "{words}");
}
