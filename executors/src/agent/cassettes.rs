//! What real programs printed when they succeeded, were refused, or were killed in the middle, replayed by a script that
//! prints it and ends as they did: one cassette per program and case.
//!
//! Recorded against models on loopback; paths of the machine and lists of commands were shortened.

use super::RefusalPatterns;
use super::tests::Scene;
use std::path::{Path, PathBuf};
use tm_scheduler::{AgentReport, AgentVerdict, Failure, OutputFormat, judge_agent};

/// A recording, how the program ended in the words of a shell, and the failure that this is; `None` for work that is worth
/// proving.
struct Cassette {
    format: OutputFormat,
    recording: String,
    end: String,
    expected: Option<Failure>,
}

/// Every recording of a case that is known here, by its name: the format, the case, and the exit code where that is not
/// the case's own.
fn cassettes() -> Vec<Cassette> {
    let folder = std::fs::read_dir(fixtures()).expect("recordings");
    let names = folder.map(|entry| entry.expect("a recording").file_name());
    let mut names: Vec<String> = names.filter_map(|name| name.into_string().ok()).collect();
    names.sort();
    names.into_iter().filter_map(cassette).collect()
}

fn cassette(recording: String) -> Option<Cassette> {
    let mut parts = recording.split('.');
    let (word, case) = (parts.next()?, parts.next()?);
    let (usual, expected) = match case {
        "success" => ("exit 0", None),
        "401" => ("exit 1", Some(Failure::Auth)),
        "429" | "usage-limit" => ("exit 1", Some(Failure::RateLimited)),
        "max_turns" => ("exit 1", Some(Failure::NoResult)),
        // By KILL, in the middle of a tool call.
        "crash" => ("kill -9 $$", Some(Failure::NoResult)),
        case => {
            let mut failures = Failure::ALL.iter();
            let named = failures.find(|failure| failure.as_str() == case)?;
            ("exit 1", Some(*named))
        }
    };
    let own = parts.next().filter(|part| part.starts_with("exit-"));
    let mut formats = OutputFormat::ALL.iter();
    Some(Cassette {
        format: *formats
            .find(|format| format.as_str() == word)
            .expect("a format"),
        end: own.map_or_else(|| usual.to_owned(), |own| own.replace('-', " ")),
        expected,
        recording,
    })
}

fn fixtures() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("src/agent/stream/fixtures")
}

#[test]
fn every_format_has_a_recording_of_a_success() {
    let formats: Vec<OutputFormat> = cassettes().iter().map(|cassette| cassette.format).collect();
    for format in OutputFormat::ALL {
        let is_recorded = formats.contains(format);
        let is_text = matches!(format, OutputFormat::Text | OutputFormat::Acp);
        assert!(is_recorded || is_text, "{format}");
    }
}

/// Replays the recording, with these words of a shell behind it.
async fn replayed(format: OutputFormat, recording: &str, then: &str) -> AgentReport {
    let path = fixtures().join(recording);
    assert!(path.is_file(), "{recording} is there");
    let mut scene = Scene::new(&format!("cat '{}'; {then}", path.display()));
    scene.command.output = format;
    scene.command.refusal_patterns = RefusalPatterns::default();
    scene.run().await
}

fn failure(report: &AgentReport) -> Option<Failure> {
    match judge_agent(report) {
        AgentVerdict::WorthProving => None,
        AgentVerdict::Interrupted => panic!("nobody stopped it"),
        AgentVerdict::Failed { failure, .. } => Some(failure),
    }
}

#[tokio::test]
async fn every_cassette_comes_to_its_failure() {
    for Cassette {
        format,
        recording,
        end,
        expected,
    } in cassettes()
    {
        let report = replayed(format, &recording, &end).await;
        assert_eq!(failure(&report), expected, "{recording}: {report:#?}");
        assert!(
            expected.is_some() || report.tokens.is_some(),
            "{recording} tells its tokens"
        );
        assert!(
            end.starts_with("kill") || !report.last_words.is_empty(),
            "{recording} says something"
        );
    }
}

#[tokio::test]
async fn a_usage_limit_holds_until_the_moment_that_it_names() {
    for (format, recording) in [
        (OutputFormat::CodexJsonl, "codex-jsonl.usage-limit.jsonl"),
        (
            OutputFormat::ClaudeStreamJson,
            "claude-stream-json.usage-limit.jsonl",
        ),
    ] {
        let report = replayed(format, recording, "exit 1").await;
        let AgentVerdict::Failed { not_before, .. } = judge_agent(&report) else {
            panic!("it failed")
        };
        assert!(not_before.is_some(), "{report:#?}");
    }
}

#[tokio::test]
async fn garbage_in_a_stream_is_a_failure_like_any_other_and_hides_none() {
    for Cassette {
        format,
        recording,
        expected,
        ..
    } in cassettes()
    {
        let garbage =
            "printf '\\0\\377\\033[31m{\"type\":\\n[]\\n{}\\n{\"type\":1}\\n\"'; exit 134";
        let report = replayed(format, &recording, garbage).await;
        assert_eq!(
            failure(&report),
            expected.or(Some(Failure::NoResult)),
            "{recording}: {report:#?}"
        );
        assert!(!report.last_words.contains('\u{1b}'), "{recording}");
    }
}
