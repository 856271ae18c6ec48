//! What real programs printed when they succeeded, were refused, or were killed in the middle, replayed by a script that
//! prints it and ends as they did: one cassette per program and case.
//!
//! Recorded against models on loopback; paths of the machine and lists of commands were shortened.

use super::RefusalPatterns;
use super::tests::Scene;
use std::path::Path;
use tm_scheduler::{AgentReport, AgentVerdict, Failure, OutputFormat, judge_agent};

/// How a program ended.
#[derive(Clone, Copy, Debug)]
enum End {
    Code(u8),
    /// By KILL, in the middle of a tool call.
    Killed,
}

/// Format, recording, how the program ended, and the failure that this is; `None` for work that is worth proving.
type Cassette = (OutputFormat, &'static str, End, Option<Failure>);

const CASSETTES: [Cassette; 28] = [
    (OutputFormat::Aider, "aider.success.txt", End::Code(0), None),
    (
        OutputFormat::Aider,
        "aider.401.txt",
        End::Code(0),
        Some(Failure::Auth),
    ),
    (
        OutputFormat::ClaudeStreamJson,
        "claude-stream-json.success.jsonl",
        End::Code(0),
        None,
    ),
    (
        OutputFormat::ClaudeStreamJson,
        "claude-stream-json.429.jsonl",
        End::Code(1),
        Some(Failure::RateLimited),
    ),
    (
        OutputFormat::ClaudeStreamJson,
        "claude-stream-json.usage-limit.jsonl",
        End::Code(1),
        Some(Failure::RateLimited),
    ),
    (
        OutputFormat::ClaudeStreamJson,
        "claude-stream-json.401.jsonl",
        End::Code(1),
        Some(Failure::Auth),
    ),
    (
        OutputFormat::ClaudeStreamJson,
        "claude-stream-json.max_turns.jsonl",
        End::Code(1),
        Some(Failure::NoResult),
    ),
    (
        OutputFormat::ClaudeStreamJson,
        "claude-stream-json.crash.jsonl",
        End::Killed,
        Some(Failure::NoResult),
    ),
    (
        OutputFormat::ClineJson,
        "cline-json.success.jsonl",
        End::Code(0),
        None,
    ),
    (
        OutputFormat::ClineJson,
        "cline-json.429.jsonl",
        End::Code(1),
        Some(Failure::RateLimited),
    ),
    (
        OutputFormat::ClineJson,
        "cline-json.401.jsonl",
        End::Code(1),
        Some(Failure::Auth),
    ),
    (
        OutputFormat::CodexJsonl,
        "codex-exec-json.success.jsonl",
        End::Code(0),
        None,
    ),
    (
        OutputFormat::CodexJsonl,
        "codex-exec-json.429.jsonl",
        End::Code(1),
        Some(Failure::RateLimited),
    ),
    (
        OutputFormat::CodexJsonl,
        "codex-exec-json.usage-limit.jsonl",
        End::Code(1),
        Some(Failure::RateLimited),
    ),
    (
        OutputFormat::CodexJsonl,
        "codex-exec-json.401.jsonl",
        End::Code(1),
        Some(Failure::Auth),
    ),
    (
        OutputFormat::CodexJsonl,
        "codex-exec-json.crash.jsonl",
        End::Killed,
        Some(Failure::NoResult),
    ),
    (
        OutputFormat::GeminiStreamJson,
        "gemini-stream-json.success.jsonl",
        End::Code(0),
        None,
    ),
    (
        OutputFormat::GeminiStreamJson,
        "gemini-stream-json.429.jsonl",
        End::Code(173),
        Some(Failure::RateLimited),
    ),
    (
        OutputFormat::GeminiStreamJson,
        "gemini-stream-json.401.jsonl",
        End::Code(145),
        Some(Failure::Auth),
    ),
    (
        OutputFormat::GeminiStreamJson,
        "gemini-stream-json.crash.jsonl",
        End::Killed,
        Some(Failure::NoResult),
    ),
    (
        OutputFormat::OpencodeJson,
        "opencode-run-json.success.jsonl",
        End::Code(0),
        None,
    ),
    (
        OutputFormat::OpencodeJson,
        "opencode-run-json.429.jsonl",
        End::Code(1),
        Some(Failure::RateLimited),
    ),
    (
        OutputFormat::OpencodeJson,
        "opencode-run-json.401.jsonl",
        End::Code(1),
        Some(Failure::Auth),
    ),
    (
        OutputFormat::OpencodeJson,
        "opencode-run-json.crash.jsonl",
        End::Killed,
        Some(Failure::NoResult),
    ),
    (
        OutputFormat::QwenStreamJson,
        "qwen-stream-json.success.jsonl",
        End::Code(0),
        None,
    ),
    (
        OutputFormat::QwenStreamJson,
        "qwen-stream-json.429.jsonl",
        End::Code(1),
        Some(Failure::RateLimited),
    ),
    (
        OutputFormat::QwenStreamJson,
        "qwen-stream-json.401.jsonl",
        End::Code(1),
        Some(Failure::Auth),
    ),
    (
        OutputFormat::QwenStreamJson,
        "qwen-stream-json.crash.jsonl",
        End::Killed,
        Some(Failure::NoResult),
    ),
];

/// Replays the recording, with these words of a shell behind it.
async fn replayed(format: OutputFormat, recording: &str, then: &str) -> AgentReport {
    let path = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("src/agent/stream/fixtures")
        .join(recording);
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
    for (format, recording, end, expected) in CASSETTES {
        let then = match end {
            End::Code(code) => format!("exit {code}"),
            End::Killed => "kill -9 $$".to_owned(),
        };
        let report = replayed(format, recording, &then).await;
        assert_eq!(failure(&report), expected, "{recording}: {report:#?}");
        assert!(
            expected.is_some() || report.tokens.is_some(),
            "{recording} tells its tokens"
        );
        assert!(
            matches!(end, End::Killed) || !report.last_words.is_empty(),
            "{recording} says something"
        );
    }
}

#[tokio::test]
async fn a_usage_limit_holds_until_the_moment_that_it_names() {
    for (format, recording) in [
        (
            OutputFormat::CodexJsonl,
            "codex-exec-json.usage-limit.jsonl",
        ),
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
    for (format, recording, _, expected) in CASSETTES {
        let garbage =
            "printf '\\0\\377\\033[31m{\"type\":\\n[]\\n{}\\n{\"type\":1}\\n\"'; exit 134";
        let report = replayed(format, recording, garbage).await;
        assert_eq!(
            failure(&report),
            expected.or(Some(Failure::NoResult)),
            "{recording}: {report:#?}"
        );
        assert!(!report.last_words.contains('\u{1b}'), "{recording}");
    }
}
