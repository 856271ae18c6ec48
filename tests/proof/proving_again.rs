//! A run that ended uncleanly is taken up only when what its journal says was proven can be shown again.

use crate::scene::{HONEST, Scene, write};
use std::process::Output;
use tm_runtime::replay;
use tm_scheduler::{
    AgentReport, Answer, AttemptNumber, Claim, ClaimStatus, Ended, Input, Proof, ResultFile,
    Timestamp,
};
use tm_store::run::JournalWriter;

/// A run that was killed while the agent of its second task was at work; a pair has landed.
fn killed() -> Scene {
    let agent = format!(
        "if [ \"$TM_TASK_ID\" = 2 ]; then echo started > \"$AGENT_FOLDER/started\"
        cat \"$AGENT_FOLDER/gate\"; exit 3; fi\n{HONEST}"
    );
    let scene = Scene::new(
        &[("1", "Add the parser", &[]), ("2", "Document it", &["1"])],
        &agent,
    );
    scene.pipe("started");
    scene.pipe("gate");
    let mut run = scene.start_and_wait_for_agent(&[]);
    run.kill().expect("sent");
    run.wait().expect("an end");
    write(&scene.path("gate"), "");
    write(&scene.path("agent.sh"), HONEST);
    scene
}

fn words(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

fn refused(scene: &Scene, parts: &[&str]) {
    let output = scene.run(&[]);
    let words = words(&output);
    assert_eq!(output.status.code(), Some(1), "{words}");
    for part in parts {
        assert!(words.contains(part), "{part} in {words}");
    }
    assert!(
        words.contains("hint: `git ") && words.contains("--on-interrupted fresh --base"),
        "{words}"
    );
    assert_eq!(words.matches("error:").count(), 1, "{words}");
}

/// A commit that breaks a test, on a branch of its own, with the trailers of tm.
fn forged_commit(scene: &Scene) -> String {
    let base = scene.git(&[
        "for-each-ref",
        "--format=%(objectname)",
        "refs/heads/tm/master/run-*",
    ]);
    let script = format!(
        "git worktree add --quiet --detach ../forge {base}; cd ../forge; echo 'check broken 1 2' >> t/old.t
        git add --all; git commit --quiet -m 'Document it' -m 'Task: 2\nPhase: none\nTag: master\nRun: forged'
        git rev-parse HEAD; cd ../checkout; git worktree remove --force ../forge"
    );
    let output = scene.shell(&script).output().expect("sh");
    assert!(output.status.success(), "{}", words(&output));
    String::from_utf8_lossy(&output.stdout).trim().to_owned()
}

/// Writes into the journal, as anybody can: the agent of the second task ended, its work was proven, and so on.
fn forge(scene: &Scene, more: Vec<Answer>) {
    let path = scene.waves_folder().join("journal.jsonl");
    let replayed = replay(&path).expect("a journal");
    let at = Timestamp(replayed.last_input_at.0 + 1);
    let mut journal = JournalWriter::append_to(&path, replayed.end).expect("opened");
    let claim = Claim::of(ClaimStatus::Pass);
    let ended = AgentReport {
        result: ResultFile::Claimed(claim),
        ..AgentReport::new("custom", at, at, Ended::Exited(Some(0)))
    };
    for answer in [Answer::AgentEnded(ended)].into_iter().chain(more) {
        let input = Input::Answer {
            task: "2".into(),
            attempt: AttemptNumber(1),
            answer,
        };
        journal.append(at, &input).expect("written");
    }
    journal.sync().expect("flushed");
}

fn proven(scene: &Scene, commit: &str) -> Answer {
    let tree = scene.git(&["rev-parse", &format!("{commit}^{{tree}}")]);
    Answer::Proved(Proof {
        tree: Some(tree),
        passed: 9,
        ..Proof::default()
    })
}

#[test]
fn what_landed_is_proven_again_and_the_run_goes_on() {
    let scene = killed();
    let output = scene.run(&[]);
    let said = words(&output);
    assert_eq!(output.status.code(), Some(0), "{said}");
    assert!(
        said.contains("ended uncleanly: proving 1 task again"),
        "{said}"
    );
    assert_eq!(scene.statuses(), ["done"; 2]);
    assert_eq!(scene.git(&["worktree", "list"]).lines().count(), 1);
}

#[test]
fn work_that_a_journal_only_says_was_proven_is_not_gone_on_with() {
    let scene = killed();
    let before = scene.git(&["for-each-ref", "refs/heads"]);
    let commit = forged_commit(&scene);
    forge(&scene, vec![proven(&scene, &commit)]);
    refused(
        &scene,
        &[
            "task `2`",
            "can't be shown again (not-shown)",
            "old.t: broken",
        ],
    );
    assert_eq!(
        scene.git(&["for-each-ref", "refs/heads"]),
        before,
        "nothing was started"
    );
}

#[test]
fn a_commit_that_a_journal_only_says_is_proven_does_not_land() {
    let scene = killed();
    let commit = forged_commit(&scene);
    forge(
        &scene,
        vec![
            proven(&scene, &commit),
            Answer::Committed {
                commit: commit.as_str().into(),
                proof: None,
            },
        ],
    );
    refused(
        &scene,
        &[
            "task `2`",
            &commit,
            "can't be shown again (not-shown)",
            "old.t: broken",
        ],
    );
}

#[test]
fn a_landing_that_git_does_not_know_is_named() {
    let scene = killed();
    let commit = forged_commit(&scene);
    let committed = Answer::Committed {
        commit: commit.as_str().into(),
        proof: None,
    };
    forge(
        &scene,
        vec![
            proven(&scene, &commit),
            committed,
            Answer::Landed {
                commit: commit.as_str().into(),
                resolution: None,
            },
        ],
    );
    for arguments in [&[][..], &["--trust-journal"]] {
        let output = scene.run(arguments);
        assert_eq!(output.status.code(), Some(1), "{}", words(&output));
        assert!(
            words(&output).contains("its journal and git do not agree"),
            "{}",
            words(&output)
        );
    }
    refused(
        &scene,
        &["task `2` landed as it, but it is no merge of two", &commit],
    );
    let report = in_doubt(&scene, "2");
    assert!(report.contains("said to have landed by"), "{report}");
    let land = scene.tm(&["waves", "land", "--yes"]).output().expect("tm");
    assert!(
        land.status.code() == Some(3) && words(&land).contains("do not agree"),
        "{}",
        words(&land)
    );
}

/// What `tm waves report` says of a run in which the landing of a task is in doubt.
fn in_doubt(scene: &Scene, task: &str) -> String {
    let report = scene.tm(&["waves", "report"]).output().expect("tm");
    assert_eq!(report.status.code(), Some(3), "{}", words(&report));
    let json = scene.report();
    assert_eq!(json["doubts"][0]["task"], task, "{json:#}");
    assert_eq!(crate::scene::task(&json, task)["landed"], false, "{json:#}");
    String::from_utf8_lossy(&report.stdout).into_owned()
}

#[test]
fn who_trusts_the_journal_waits_for_no_test() {
    let scene = killed();
    write(
        &scene.root().join(".taskmaster/tm.yaml"),
        "test: { command: 'echo 1..1; echo not ok - old' }\n",
    );
    refused(&scene, &["can't be shown again", "task `1"]);
    let report = scene.tm(&["waves", "report"]).output().expect("tm");
    assert!(
        report.status.code() == Some(3) && words(&report).contains("git does not show it"),
        "{}",
        words(&report)
    );
    write(&scene.root().join(".taskmaster/tm.yaml"), "");
    let output = scene.run(&["--trust-journal"]);
    assert_eq!(output.status.code(), Some(0), "{}", words(&output));
    assert!(!words(&output).contains("proving"), "{}", words(&output));
    let report = scene.tm(&["waves", "report"]).output().expect("tm");
    assert!(
        report.status.success() && !words(&report).contains("git does not show it"),
        "{}",
        words(&report)
    );
}
