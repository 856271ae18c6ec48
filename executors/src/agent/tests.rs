//! Agents as shell scripts, each with a habit of its own.

use super::stall::LifeWatch;
use super::*;
use crate::engine::{Holding, JobHandle};
use crate::environment::{AgentHome, HomeNeeds};
use crate::process::{Besides, JobKind, Needs};
use crate::proxy::AllowList;
use std::path::Path;
use std::sync::Arc;
use std::time::SystemTime;
use tempfile::TempDir;
use tm_scheduler::{AgentReport, ClaimStatus, Ended, ResultFile, ServiceRefusal, StopMode};
use tokio::sync::watch;
use tokio::time::Instant;

pub(super) struct Scene {
    folder: TempDir,
    pub(super) command: AgentCommand,
}

impl Scene {
    pub(super) fn new(script: &str) -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        let path = |name: &str| folder.path().join(name);
        let mark = folder.path().display().to_string();
        let command = AgentCommand {
            agent: "scripted".into(),
            executor: Executor::local(path("records")),
            tree: TreeCommand {
                program: "sh".into(),
                arguments: vec!["-c".into(), script.into()],
                working_folder: folder.path().to_owned(),
                environment: vec![("RESULT".into(), path("result.md").into())],
                stdout: path("stdout.log"),
                stderr: path("stderr.log"),
                env_markers: vec![("TM_TEST_MARK".into(), mark)],
                ..TreeCommand::default()
            },
            identity_file: path("agent.json"),
            result_file: path("result.md"),
            held: None,
            limits: AttemptLimits {
                timeout: Duration::from_mins(1),
                stall: None,
                grace: Duration::from_millis(200),
                log_bytes: 1024 * 1024,
            },
            polite_stop: StopSignal::Terminate,
            output: OutputFormat::Text,
            refusal_patterns: RefusalPatterns {
                rate_limited: vec!["slow down".into()],
                auth: Vec::new(),
            },
        };
        Self { folder, command }
    }

    pub(super) fn limits(mut self, change: impl FnOnce(&mut AttemptLimits)) -> Self {
        change(&mut self.command.limits);
        self
    }

    pub(super) async fn run(&self) -> AgentReport {
        let (_sender, orders) = watch::channel(None);
        let report = run_attempt(Box::new(self.command.clone()), orders, |_| {})
            .await
            .expect("room");
        self.assert_nothing_left();
        report
    }

    /// No process has this folder's mark in its environment, or works in it.
    fn assert_nothing_left(&self) {
        let mark = format!("TM_TEST_MARK={}", self.folder.path().display());
        for entry in std::fs::read_dir("/proc")
            .expect("a list of processes")
            .flatten()
        {
            let environment = std::fs::read(entry.path().join("environ")).unwrap_or_default();
            let is_marked = environment
                .split(|&byte| byte == 0)
                .any(|variable| variable == mark.as_bytes());
            let works_here = std::fs::read_link(entry.path().join("cwd"))
                .is_ok_and(|cwd| cwd == self.folder.path());
            let is_dead = std::fs::read_to_string(entry.path().join("stat")).is_ok_and(|stat| {
                stat.rsplit(')')
                    .next()
                    .is_some_and(|rest| rest.trim_start().starts_with('Z'))
            });
            assert!(
                is_dead || !(is_marked || works_here),
                "{:?} is left",
                entry.path()
            );
        }
    }
}

const PASS: &str = "printf 'status: PASS\\n' > \"$RESULT\"";

#[tokio::test]
async fn no_home_is_left_where_its_proxy_can_not_be_started() {
    let Scene {
        folder,
        mut command,
    } = Scene::new("true");
    let own_folder = folder.path().join("own");
    std::fs::File::create(folder.path().join("proxy")).expect("a file in the place of a folder");
    command.executor = command.executor.held(Arc::new(Holding {
        wanted: tm_sandbox::Wanted::Auto,
        level: Some(tm_sandbox::Level::Landlock),
        refused: Vec::new(),
        tm_program: "tm".into(),
        hidden: Vec::new(),
        read: Vec::new(),
        write: Vec::new(),
        limits: tm_sandbox::Limits::default(),
        hosts: Some(Vec::new()),
        networks: [].into(),
    }));
    command.tree.needs = Some(Needs {
        kind: JobKind::Agent,
        own_folder: own_folder.clone(),
        besides: Besides::default(),
        hosts: Some(AllowList::read([]).expect("a list")),
        network: None,
        only_reads: false,
        said_by_others: Vec::new(),
        pass: Vec::new(),
    });
    command.held = Some(Held {
        home: AgentHome::new(own_folder.clone(), HomeNeeds::default()),
        left: Vec::new(),
    });
    let (_sender, orders) = watch::channel(None);
    let error = run_attempt(Box::new(command), orders, |_| {})
        .await
        .expect_err("a file is no folder");
    assert!(error.to_string().contains("proxy"), "{error}");
    assert!(!own_folder.exists());
}

#[tokio::test]
async fn a_result_and_an_exit_are_a_claim() {
    let report = Scene::new(&format!("echo working; {PASS}")).run().await;
    assert_eq!(report.ended, Ended::Exited(Some(0)));
    assert!(
        matches!(report.result, ResultFile::Claimed(claim) if claim.status == ClaimStatus::Pass)
    );
    assert_eq!(
        (report.last_words.as_str(), report.leftovers),
        ("working", 0)
    );
}

#[tokio::test]
async fn an_agent_that_dies_leaves_its_exit_code_and_last_words() {
    let report = Scene::new("echo oh no >&2; exit 7").run().await;
    assert_eq!(
        (report.ended, report.result),
        (Ended::Exited(Some(7)), ResultFile::Missing)
    );
    assert_eq!(report.last_words, "oh no");
    assert_eq!(
        Scene::new("kill -9 $$").run().await.ended,
        Ended::Exited(None)
    );
}

#[tokio::test]
async fn trouble_that_was_the_last_word_of_an_agent_that_came_to_nothing_has_its_name() {
    let event = r#"echo '{"type":"step_start","part":{}}'"#;
    let log = |error| {
        let session = "x".repeat(250);
        format!(
            "echo 'level=ERROR session.id={session} error.error=\"AI_APICallError: {error}\"' >&2; sleep 0.05"
        )
    };
    let (broken, limit) = (log("Bad luck"), log("429 Too Many Requests"));
    let lost = log("Cannot connect to API");
    for (script, refusal) in [
        (
            format!("{event}; sleep 0.05; {broken}; sleep 1000"),
            Some(ServiceRefusal::ServiceError),
        ),
        (
            format!("{broken}; {lost}; sleep 1000"),
            Some(ServiceRefusal::ConnectionLost),
        ),
        (format!("{broken}; {event}; sleep 1000"), None),
        (format!("{limit}; sleep 1000"), None),
        (format!("{broken}; exit 1"), None),
    ] {
        let mut scene =
            Scene::new(&script).limits(|limits| limits.timeout = Duration::from_secs(1));
        scene.command.output = OutputFormat::OpencodeJson;
        assert_eq!(scene.run().await.refusal, refusal, "{script}");
    }
}

#[tokio::test]
async fn an_agent_that_can_not_be_started_is_said_so() {
    let mut scene = Scene::new("");
    scene.command.tree.program = "/nonexistent/agent".into();
    assert!(
        matches!(scene.run().await.ended, Ended::NotStarted(why) if why.contains("/nonexistent/agent"))
    );
}

#[tokio::test]
async fn a_hanging_agent_that_ignores_the_signal_is_ended() {
    let scene = Scene::new("trap '' TERM INT; sleep 1000 & wait; sleep 1000")
        .limits(|limits| limits.timeout = Duration::from_millis(300));
    assert_eq!(scene.run().await.ended, Ended::TimedOut);
}

#[tokio::test]
async fn an_agent_without_signs_of_life_is_stalled() {
    let scene =
        Scene::new("sleep 1000").limits(|limits| limits.stall = Some(Duration::from_millis(300)));
    assert_eq!(scene.run().await.ended, Ended::Stalled);
}

/// Looked at when it would have been still for too long, and not before: what it wrote last says from when on it was.
#[tokio::test]
async fn an_agent_that_falls_silent_is_stalled_when_the_limit_has_passed_since_its_last_sign() {
    let limit = Duration::from_mins(10);
    let scene = Scene::new("").limits(|limits| limits.stall = Some(limit));
    let (start, began) = (Instant::now(), SystemTime::now());
    let path = |name: &str| scene.folder.path().join(name);
    let write_at = |name: &str, passed: Duration| {
        std::fs::File::create(path(name))
            .and_then(|file| file.set_modified(began + passed))
            .expect("written");
    };
    let has_stalled = |life: &mut LifeWatch, passed: Duration| {
        life.has_stalled(&scene.command, (start + passed, began + passed))
    };
    for sign in ["stderr.log", "work.txt"] {
        let mut life = LifeWatch::new(&scene.command, start);
        assert_eq!(life.due(), Some(start + limit));
        let last = Duration::from_mins(7);
        write_at(sign, last);
        assert!(!has_stalled(&mut life, limit), "{sign}");
        assert_eq!(life.due(), Some(start + last + limit), "{sign}");
        assert!(!has_stalled(&mut life, Duration::from_secs(16 * 60 + 59)));
        assert!(has_stalled(&mut life, last + limit), "{sign}");
        std::fs::remove_file(path(sign)).expect("removed");
    }
    let mut life = LifeWatch::new(&scene.command, start);
    let printed_at = Duration::from_mins(2);
    life.seen_alive(start + printed_at);
    assert!(!has_stalled(&mut life, limit));
    // What was there before it began is no sign, nor is what bears a date of next year.
    write_at("old.txt", Duration::ZERO);
    write_at("odd.txt", Duration::from_hours(24 * 365));
    assert!(has_stalled(&mut life, printed_at + limit));
}

#[tokio::test]
async fn half_a_result_and_rubbish_are_malformed() {
    let result = async |script: &str| Scene::new(script).run().await.result;
    let results = tokio::join!(
        result("printf 'stat' > \"$RESULT\""),
        result("head -c 2000 /dev/urandom > \"$RESULT\""),
        result(": > \"$RESULT\"")
    );
    for result in [results.0, results.1, results.2] {
        assert!(matches!(result, ResultFile::Malformed(_)), "{result:?}");
    }
}

#[tokio::test]
async fn an_agent_that_writes_its_result_without_end_is_ended_at_its_time() {
    let scene = Scene::new("while :; do echo > \"$RESULT\"; done")
        .limits(|limits| limits.timeout = Duration::from_millis(300));
    assert_eq!(scene.run().await.ended, Ended::TimedOut);
}

#[tokio::test]
async fn grandchildren_in_sessions_of_their_own_are_found_and_ended() {
    let report = Scene::new(&format!(
        "(setsid sleep 1000 &) ; setsid sleep 1000 & {PASS}"
    ))
    .run()
    .await;
    assert_eq!(report.ended, Ended::Exited(Some(0)));
    assert!(report.leftovers >= 1, "{report:?}");
}

#[tokio::test]
async fn an_agent_that_lives_on_after_its_result_has_ended_well() {
    let report = Scene::new(&format!("{PASS}; sleep 1000")).run().await;
    assert_eq!(report.ended, Ended::Lingered);
    assert!(matches!(report.result, ResultFile::Claimed(_)));
}

#[tokio::test]
async fn an_order_to_stop_ends_it_and_one_within_a_time_lets_it_finish() {
    let scene = Scene::new("echo started; sleep 1000");
    let (sender, orders) = watch::channel(None);
    let report = run_attempt(Box::new(scene.command.clone()), orders, move |_| {
        sender.send_replace(Some(StopMode::Now));
    })
    .await
    .expect("room");
    assert_eq!(report.ended, Ended::Killed);
    scene.assert_nothing_left();
    let scene = Scene::new(&format!("echo started; {PASS}"));
    let (sender, orders) = watch::channel(None);
    sender.send_replace(Some(StopMode::Gently));
    assert_eq!(
        run_attempt(Box::new(scene.command.clone()), orders, |_| {})
            .await
            .expect("room")
            .ended,
        Ended::Exited(Some(0))
    );
}

#[tokio::test]
async fn a_refusal_of_the_service_is_known_by_its_words() {
    let report = Scene::new("echo 'please Slow Down' >&2; exit 1")
        .run()
        .await;
    assert_eq!(
        report.refusal,
        Some(tm_scheduler::ServiceRefusal::RateLimited { until: None })
    );
}

#[tokio::test]
async fn a_program_that_has_events_tells_of_limits_in_them_alone() {
    let words = "usage limit reached|4102444800, slow down, 429 rate limit";
    let said = format!(
        r#"{{"type":"assistant","message":{{"content":[{{"type":"text","text":"{words}"}}]}}}}"#
    );
    let read = format!(
        r#"{{"type":"user","message":{{"content":[{{"type":"tool_result","content":"{words}"}}]}}}}"#
    );
    let message = format!(
        r#"{{"type":"item.completed","item":{{"type":"agent_message","text":"{words}"}}}}"#
    );
    let output = format!(
        r#"{{"type":"item.completed","item":{{"type":"command_execution","command":"x","aggregated_output":"{words}"}}}}"#
    );
    let aborted =
        format!(r#"{{"type":"run_result","finishReason":"max_iterations","text":"{words}"}}"#);
    for (format, line) in [
        (OutputFormat::ClaudeStreamJson, words),
        (OutputFormat::ClaudeStreamJson, &said),
        (OutputFormat::ClaudeStreamJson, &read),
        (OutputFormat::CodexJsonl, words),
        (OutputFormat::CodexJsonl, &message),
        (OutputFormat::CodexJsonl, &output),
        (OutputFormat::ClineJson, &aborted),
        (OutputFormat::GeminiStreamJson, words),
        (OutputFormat::OpencodeJson, words),
        (OutputFormat::QwenStreamJson, &said),
        (OutputFormat::Acp, words),
    ] {
        let mut scene = Scene::new(&format!("echo '{line}'; echo '{words}' >&2; exit 1"));
        scene.command.output = format;
        assert_eq!(scene.run().await.refusal, None, "{format:?} {line}");
    }
    assert!(
        Scene::new(&format!("echo '{words}'; exit 1"))
            .run()
            .await
            .refusal
            .is_some(),
        "text has nothing but words"
    );
}

#[tokio::test]
async fn credentials_without_which_a_program_can_not_begin_are_known_by_its_words_until_it_prints_an_event()
 {
    for (before, expected) in [
        ("true", Some(tm_scheduler::ServiceRefusal::Auth)),
        ("echo '{\"type\":\"init\"}'", None),
    ] {
        let mut scene = Scene::new(&format!(
            "{before}; echo 'Invalid auth method selected.' >&2; exit 41"
        ));
        scene.command.output = OutputFormat::GeminiStreamJson;
        scene.command.refusal_patterns.auth = vec!["Invalid auth method".into()];
        assert_eq!(scene.run().await.refusal, expected);
    }
}

/// Starts the scene's script as an earlier tm would have, and returns who it is.
#[expect(clippy::disallowed_methods, reason = "stands in for an earlier tm")]
fn started_before(scene: &Scene) -> std::process::Child {
    use std::os::unix::process::CommandExt as _;
    let child = std::process::Command::new("sh")
        .args(&scene.command.tree.arguments)
        .envs(scene.command.tree.environment.iter().cloned())
        .envs(scene.command.tree.env_markers.iter().cloned())
        .current_dir(scene.folder.path())
        .process_group(0)
        .spawn()
        .expect("a process");
    let process = crate::process::ProcessIdentity::of(child.id()).expect("a living process");
    super::identity::AgentIdentity::new(JobHandle::new("local", &process), 0)
        .write(&scene.command.identity_file)
        .expect("written");
    child
}

async fn adopt(scene: &Scene) -> AgentReport {
    let (_sender, orders) = watch::channel(None);
    adopt_attempt(Box::new(scene.command.clone()), orders, |_| {})
        .await
        .expect("room")
}

#[tokio::test]
async fn an_agent_that_finished_while_nobody_watched_keeps_its_result() {
    let scene = Scene::new(PASS);
    let mut child = started_before(&scene);
    child.wait().expect("an end");
    let report = adopt(&scene).await;
    assert_eq!(report.ended, Ended::Lost);
    assert!(matches!(report.result, ResultFile::Claimed(_)));
}

#[tokio::test]
async fn an_agent_that_is_alive_is_adopted_with_the_time_it_has_left() {
    // It began at the epoch, so its time is over.
    let scene = Scene::new("sleep 1000");
    let mut child = started_before(&scene);
    assert_eq!(adopt(&scene).await.ended, Ended::TimedOut);
    child.wait().expect("an end");
    scene.assert_nothing_left();
}

#[tokio::test]
async fn an_attempt_that_was_never_started_is_lost() {
    let scene = Scene::new("");
    assert!(!Path::new(&scene.command.identity_file).exists());
    let report = adopt(&scene).await;
    assert_eq!(
        (report.ended, report.result),
        (Ended::Lost, ResultFile::Missing)
    );
}

/// Plays a recording of a real program: what it printed, then its exit code.
async fn recorded(format: OutputFormat, recording: &str, code: u8) -> AgentReport {
    let mut scene = Scene::new(&format!("cat \"$RECORDING\"; exit {code}"));
    let fixtures = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/agent/stream/fixtures");
    scene
        .command
        .tree
        .environment
        .push(("RECORDING".into(), fixtures.join(recording).into()));
    scene.command.output = format;
    scene.run().await
}

#[tokio::test]
async fn tokens_cost_and_words_of_a_program_reach_the_report() {
    let report = recorded(
        OutputFormat::ClaudeStreamJson,
        "claude-stream-json.success.jsonl",
        0,
    )
    .await;
    assert_eq!(
        report.tokens,
        Some(tm_scheduler::Tokens {
            input: 2_600,
            output: 68
        })
    );
    assert!(report.cost_usd.is_some_and(|cost| cost > 0.005));
    assert_eq!(report.last_words, "Done: wrote made_by_agent.txt");
    assert_eq!(report.refusal, None);
}

#[tokio::test]
async fn a_limit_that_a_program_hit_reaches_the_report() {
    use tm_scheduler::ServiceRefusal;
    for (format, recording) in [
        (
            OutputFormat::ClaudeStreamJson,
            "claude-stream-json.429.jsonl",
        ),
        (OutputFormat::CodexJsonl, "codex-jsonl.429.jsonl"),
        (
            OutputFormat::GeminiStreamJson,
            "gemini-stream-json.429.exit-173.jsonl",
        ),
        (OutputFormat::OpencodeJson, "opencode-json.429.jsonl"),
    ] {
        let report = recorded(format, recording, 1).await;
        assert!(
            matches!(report.refusal, Some(ServiceRefusal::RateLimited { .. })),
            "{recording}: {report:?}"
        );
    }
    assert_eq!(
        recorded(
            OutputFormat::QwenStreamJson,
            "qwen-stream-json.401.jsonl",
            1
        )
        .await
        .refusal,
        Some(ServiceRefusal::Auth)
    );
}

#[tokio::test]
async fn a_program_that_retries_behind_a_limit_until_its_time_is_over_is_rate_limited() {
    let mut scene = Scene::new(
        "echo '{\"type\":\"system\",\"subtype\":\"api_retry\",\"error_status\":429}'; sleep 1000",
    )
    .limits(|limits| limits.timeout = Duration::from_millis(400));
    scene.command.output = OutputFormat::ClaudeStreamJson;
    let report = scene.run().await;
    assert_eq!(report.ended, Ended::TimedOut);
    assert_eq!(
        report.refusal,
        Some(tm_scheduler::ServiceRefusal::RateLimited { until: None })
    );
}

#[tokio::test]
async fn an_agent_that_reads_its_input_finds_the_end_of_it_and_does_not_hang() {
    let report = Scene::new(&format!("read answer; cat; {PASS}")).run().await;
    assert_eq!(report.ended, Ended::Exited(Some(0)));
}

#[tokio::test]
async fn an_agent_that_asks_and_waits_is_stalled_with_its_question_as_last_words() {
    let scene = Scene::new("echo working; printf 'Overwrite a.rs? [y/N] '; sleep 1000")
        .limits(|limits| limits.stall = Some(Duration::from_millis(600)));
    let report = scene.run().await;
    assert_eq!(report.ended, Ended::Stalled);
    assert!(
        report.last_words.ends_with("Overwrite a.rs? [y/N]"),
        "{report:?}"
    );
}

#[tokio::test]
async fn refused_tool_calls_are_noticed_although_the_agent_ends_well() {
    let said = concat!(
        r#"{"type":"result","is_error":false,"result":"Done","#,
        r#""permission_denials":[{"tool_name":"Bash"},{"tool_name":"Write"}]}"#
    );
    let mut scene = Scene::new(&format!("echo '{said}'"));
    scene.command.output = OutputFormat::ClaudeStreamJson;
    let report = scene.run().await;
    assert_eq!(report.ended, Ended::Exited(Some(0)));
    assert_eq!(report.noticed.len(), 2, "{report:?}");
    assert!(report.noticed[0].ends_with("Bash"), "{report:?}");
}

#[tokio::test]
async fn enormous_output_is_bounded_and_keeps_its_head_and_its_tail() {
    let scene = Scene::new("echo the head; yes | head -c 20000000; echo; echo the tail");
    let scene = scene.limits(|limits| limits.log_bytes = 256 * 1024);
    let report = scene.run().await;
    assert_eq!(report.ended, Ended::Exited(Some(0)));
    let log = std::fs::read_to_string(&scene.command.tree.stdout).expect("a log");
    assert!(
        log.starts_with("the head\n") && log.ends_with("the tail\n"),
        "{}",
        log.len()
    );
    assert!(
        log.len() < 257 * 1024 && log.contains("bytes are left out here"),
        "{}",
        log.len()
    );
    assert!(report.last_words.contains("the tail"));
}

#[tokio::test]
async fn why_an_agent_gave_up_is_noticed_where_its_exit_code_says_that_all_is_well() {
    let error = r#"{"type":"agent_event","event":{"type":"error","error":{"message":"no tools left"},"recoverable":false}}"#;
    let aborted = r#"{"type":"run_result","finishReason":"aborted","usage":{},"text":""}"#;
    let done = r#"{"type":"run_result","finishReason":"completed","usage":{},"text":"Done"}"#;
    for (lines, noticed) in [
        (vec![aborted], &["it gave up: aborted"][..]),
        (vec![error], &["it gave up: no tools left"]),
        (vec![error, done], &[]),
    ] {
        let printed = format!("printf '%s\\n' '{}'", lines.join("' '"));
        let mut scene = Scene::new(&printed);
        scene.command.output = OutputFormat::ClineJson;
        assert_eq!(scene.run().await.noticed, noticed, "{lines:?}");
    }
}
