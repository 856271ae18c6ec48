//! Agents that leave something else than files where tm looks.

use super::tests::Scene;
use super::{Follower, LogEnd, closing};
use crate::Error;
use std::time::Duration;
use tm_scheduler::{AgentReport, Ended, OutputFormat, ResultFile};

/// Runs an agent that has less time than it wants; whatever it leaves, its time limit ends it.
async fn run(script: &str) -> AgentReport {
    let scene = Scene::new(script).limits(|limits| limits.timeout = Duration::from_secs(2));
    tokio::time::timeout(Duration::from_mins(1), scene.run())
        .await
        .expect("the time limit counts")
}

fn malformed(report: &AgentReport) -> &str {
    let ResultFile::Malformed(why) = &report.result else {
        panic!("{report:?}")
    };
    why
}

#[tokio::test]
async fn a_pipe_in_the_place_of_the_result_is_malformed_and_the_time_limit_counts() {
    let report = run("mkfifo \"$RESULT\"; sleep 1000").await;
    assert_eq!(report.ended, Ended::TimedOut);
    assert_eq!(malformed(&report), "it is a pipe, not a regular file");
}

#[tokio::test]
async fn a_link_in_the_place_of_the_result_is_not_followed() {
    let report = run("echo 'status: PASS' > elsewhere; ln -s elsewhere \"$RESULT\"").await;
    assert_eq!(malformed(&report), "it is a link, not a regular file");
    assert_eq!(report.ended, Ended::Exited(Some(0)));
}

#[tokio::test]
async fn a_result_of_gigabytes_is_malformed_and_costs_no_memory() {
    let report = run("echo 'status: PASS' > \"$RESULT\"; truncate -s 2G \"$RESULT\"").await;
    assert_eq!(malformed(&report), "it is longer than 1048576 bytes");
}

#[tokio::test]
async fn logs_that_the_agent_replaced_by_pipes_and_links_hold_up_nobody() {
    let pipes = "rm stdout.log stderr.log; mkfifo stdout.log stderr.log; sleep 1000";
    assert_eq!(run(pipes).await.ended, Ended::TimedOut);
    let links = "echo a-secret > secret; rm stdout.log; ln -s secret stdout.log; exit 1";
    let report = run(links).await;
    assert!(!report.last_words.contains("a-secret"), "{report:?}");
}

#[tokio::test]
async fn pipes_that_are_there_before_are_no_logs_of_an_agent() {
    let scene = Scene::new("echo fine; printf 'status: PASS\\n' > \"$RESULT\"");
    let folder = scene.command.tree.working_folder.clone();
    for name in ["stdout.log", "stderr.log", "agent.json", "result.md"] {
        let mode = rustix::fs::Mode::from_raw_mode(0o600);
        rustix::fs::mkfifoat(rustix::fs::CWD, folder.join(name), mode).expect("a pipe");
    }
    let report = scene.run().await;
    assert!(
        matches!(report.result, ResultFile::Claimed(_)),
        "{report:?}"
    );
    assert_eq!(report.last_words, "fine");
}

#[test]
fn a_pipe_is_followed_by_nobody_and_closes_nothing() {
    let folder = tempfile::tempdir().expect("a folder");
    let pipe = folder.path().join("stdout.log");
    rustix::fs::mkfifoat(
        rustix::fs::CWD,
        &pipe,
        rustix::fs::Mode::from_raw_mode(0o600),
    )
    .expect("a pipe");
    assert!(Follower::new(pipe.clone()).lines(LogEnd::Final).is_empty());
    assert_eq!(closing(&pipe, OutputFormat::Text).message, "");
}

#[tokio::test]
async fn orders_to_a_terminal_and_keys_are_in_nothing_that_an_agent_says() {
    let key = "sk-ant-api03-0123456789abcdef0123456789";
    let report = run(&format!(
        "printf 'the key is {key}\\n\\033]52;c;ZXZpbA==\\007end\\n'\n\
         printf 'status: FAIL\\n\\n## Issues\\n- bad \\033]52;c;ZXZpbA==\\007{key}\\n' > \"$RESULT\"; exit 1"
    ))
    .await;
    let ResultFile::Claimed(claim) = &report.result else {
        panic!("{report:?}")
    };
    assert_eq!(claim.issues, ["bad [redacted]"]);
    assert_eq!(report.last_words, "the key is [redacted]\nend");
}

#[test]
fn a_full_disk_is_of_the_surroundings_and_a_missing_program_is_not() {
    let error = |number: rustix::io::Errno| Error::Use {
        what: "write `agent.json`".to_owned(),
        source: number.into(),
    };
    for number in [
        rustix::io::Errno::NOSPC,
        rustix::io::Errno::MFILE,
        rustix::io::Errno::AGAIN,
        rustix::io::Errno::NOMEM,
    ] {
        assert!(error(number).is_of_surroundings(), "{number}");
    }
    for number in [
        rustix::io::Errno::NOENT,
        rustix::io::Errno::ACCESS,
        rustix::io::Errno::TOOBIG,
    ] {
        assert!(!error(number).is_of_surroundings(), "{number}");
    }
}
