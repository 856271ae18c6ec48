//! Output that real programs printed, one recording per program and case, and rubbish.

use super::*;
use proptest::prelude::*;

const NOW: Timestamp = Timestamp(1_000_000);

fn heard(format: OutputFormat, text: &str) -> StreamState {
    let (mut heard, mut format) = (StreamState::default(), format);
    text.lines()
        .for_each(|line| heard.hear(&mut format, line, NOW));
    heard
}

/// Format, recording, tokens read and written, dollars.
type Success = (OutputFormat, &'static str, (u64, u64), Option<f64>);

const SUCCESSES: [Success; 6] = [
    (
        OutputFormat::ClaudeStreamJson,
        include_str!("fixtures/claude-stream-json.success.jsonl"),
        (2_600, 68),
        Some(0.005_22),
    ),
    (
        OutputFormat::CodexJsonl,
        include_str!("fixtures/codex-jsonl.success.jsonl"),
        (2_400, 68),
        None,
    ),
    (
        OutputFormat::GeminiStreamJson,
        include_str!("fixtures/gemini-stream-json.success.jsonl"),
        (2_400, 68),
        None,
    ),
    (
        OutputFormat::OpencodeJson,
        include_str!("fixtures/opencode-json.success.jsonl"),
        (2_400, 68),
        Some(0.002_68),
    ),
    (
        OutputFormat::QwenStreamJson,
        include_str!("fixtures/qwen-stream-json.success.jsonl"),
        (2_400, 68),
        None,
    ),
    (
        OutputFormat::ClineJson,
        include_str!("fixtures/cline-json.success.jsonl"),
        (3_600, 102),
        None,
    ),
];

#[test]
fn a_success_tells_its_message_and_the_totals_of_tokens_and_cost() {
    for (format, text, (input, output), cost) in SUCCESSES {
        let heard = heard(format, text);
        assert_eq!(heard.message, "Done: wrote made_by_agent.txt", "{format:?}");
        assert_eq!(
            heard.line.as_deref(),
            Some("Done: wrote made_by_agent.txt"),
            "{format:?}"
        );
        assert_eq!(heard.tokens, Some(Tokens { input, output }), "{format:?}");
        let same = |(one, other): (f64, f64)| (one - other).abs() < 1e-9;
        assert!(
            heard
                .cost_usd
                .zip(cost)
                .map_or(heard.cost_usd == cost, same),
            "{format:?} {:?}",
            heard.cost_usd
        );
        assert_eq!(
            (heard.refusal, heard.error, heard.waits_behind),
            (None, None, None),
            "{format:?}"
        );
    }
}

#[test]
fn a_program_that_was_not_announced_is_known_by_its_events_and_only_its_words_count() {
    for (format, text, ..) in SUCCESSES
        .into_iter()
        .filter(|(format, ..)| *format != OutputFormat::QwenStreamJson)
    {
        let heard = heard(OutputFormat::Text, text);
        assert!(heard.prints_events, "{format:?}");
        assert_eq!(heard.message, "Done: wrote made_by_agent.txt", "{format:?}");
        assert_eq!((heard.tokens, heard.cost_usd), (None, None), "{format:?}");
    }
    for text in [
        include_str!("fixtures/claude-stream-json.429.jsonl"),
        include_str!("fixtures/claude-stream-json.usage-limit.jsonl"),
        include_str!("fixtures/codex-jsonl.usage-limit.jsonl"),
    ] {
        let heard = heard(OutputFormat::Text, text);
        assert!(heard.prints_events && heard.error.is_some(), "{text}");
        assert_eq!((heard.refusal, heard.waits_behind), (None, None), "{text}");
    }
}

#[test]
fn a_limit_is_known_by_the_last_event() {
    for (format, text) in [
        (
            OutputFormat::ClaudeStreamJson,
            include_str!("fixtures/claude-stream-json.429.jsonl"),
        ),
        (
            OutputFormat::CodexJsonl,
            include_str!("fixtures/codex-jsonl.429.jsonl"),
        ),
        (
            OutputFormat::GeminiStreamJson,
            include_str!("fixtures/gemini-stream-json.429.exit-173.jsonl"),
        ),
    ] {
        assert_eq!(
            heard(format, text).refusal,
            Some(ServiceRefusal::RateLimited { until: None }),
            "{format:?}"
        );
    }
    let declared = heard(
        OutputFormat::OpencodeJson,
        include_str!("fixtures/opencode-json.429.jsonl"),
    );
    assert_eq!(
        declared.refusal,
        Some(ServiceRefusal::RateLimited {
            until: Some(NOW.plus(1_000))
        })
    );
}

#[test]
fn refused_credentials_are_known_by_the_last_event() {
    let qwen = heard(
        OutputFormat::QwenStreamJson,
        include_str!("fixtures/qwen-stream-json.401.jsonl"),
    );
    assert_eq!(qwen.refusal, Some(ServiceRefusal::Auth));
    assert_eq!(
        qwen.error.as_deref(),
        Some("[API Error: 401 invalid x-api-key]")
    );
    for (format, text) in [
        (
            OutputFormat::ClaudeStreamJson,
            r#"{"type":"result","is_error":true,"api_error_status":401,"result":"no"}"#,
        ),
        (
            OutputFormat::ClaudeStreamJson,
            r#"{"type":"result","is_error":true,"result":"Not logged in · Please run /login"}"#,
        ),
        (
            OutputFormat::CodexJsonl,
            r#"{"type":"turn.failed","error":{"message":"unexpected status 401 Unauthorized"}}"#,
        ),
        (
            OutputFormat::OpencodeJson,
            r#"{"type":"error","error":{"data":{"message":"x","statusCode":401}}}"#,
        ),
        (
            OutputFormat::Aider,
            "litellm.AuthenticationError: AuthenticationError: OpenAIException - no key",
        ),
    ] {
        assert_eq!(
            heard(format, text).refusal,
            Some(ServiceRefusal::Auth),
            "{text}"
        );
    }
}

#[test]
fn an_end_for_another_reason_is_no_refusal() {
    for (format, text) in [
        (
            OutputFormat::ClaudeStreamJson,
            include_str!("fixtures/claude-stream-json.max_turns.jsonl"),
        ),
        (
            OutputFormat::GeminiStreamJson,
            include_str!("fixtures/gemini-stream-json.max_turns.jsonl"),
        ),
    ] {
        let heard = heard(format, text);
        assert!(
            heard.refusal.is_none() && heard.error.is_some() && heard.tokens.is_some(),
            "{heard:?}"
        );
    }
    let own_words = r#"{"type":"result","is_error":false,"result":"I made the 429 and the 401 page: rate limit"}"#;
    assert_eq!(
        heard(OutputFormat::ClaudeStreamJson, own_words).refusal,
        None
    );
}

#[test]
fn a_declared_reset_is_understood() {
    for (words, seconds) in [
        ("Rate limit reached. Please try again in 20s.", 20),
        (
            "You've hit your usage limit. Try again in 1 day 2 hours 5 minutes.",
            93_900,
        ),
        ("rate limit: retry after 1.5 seconds", 2),
        (
            "You have exhausted your capacity on this model. Your quota will reset after 2h24m12s.",
            8_652,
        ),
        (
            "You exceeded your current quota.\nPlease retry in 34.07s.",
            35,
        ),
        ("usage limit reached|1795217299", 1_795_217_299 - 1_000),
    ] {
        let until = refused::until(words, NOW).expect(words);
        assert_eq!(until.0.div_ceil(1_000), NOW.0 / 1_000 + seconds, "{words}");
    }
    assert_eq!(refused::until("try again later", NOW), None);
    let event =
        r#"{"type":"rate_limit_event","rate_limit_info":{"status":"rejected","resetsAt":2000}}"#;
    let last = r#"{"type":"result","is_error":true,"api_error_status":429,"result":"limit"}"#;
    let until = Some(Timestamp(2_000_000));
    let refusal = heard(OutputFormat::ClaudeStreamJson, &format!("{event}\n{last}")).refusal;
    assert_eq!(refusal, Some(ServiceRefusal::RateLimited { until }));
}

#[test]
fn silent_retries_are_noticed_and_forgotten_once_it_gets_through() {
    let text = include_str!("fixtures/claude-stream-json.429.jsonl");
    let retries = text.lines().take(3).collect::<Vec<_>>().join("\n");
    let stuck = heard(OutputFormat::ClaudeStreamJson, &retries);
    assert_eq!(
        stuck.waits_behind,
        Some(ServiceRefusal::RateLimited { until: None })
    );
    let through = format!("{retries}\n{}", SUCCESSES[0].1);
    assert_eq!(
        heard(OutputFormat::ClaudeStreamJson, &through).waits_behind,
        None
    );
    let stuck = heard(
        OutputFormat::QwenStreamJson,
        include_str!("fixtures/qwen-stream-json.waits.jsonl"),
    );
    assert_eq!(
        stuck.waits_behind,
        Some(ServiceRefusal::RateLimited {
            until: Some(NOW.plus(60_000))
        })
    );
    let asks_again =
        r#"{"type":"system","subtype":"retry","data":{"reason":"retry","discardedToolCalls":0}}"#;
    assert_eq!(
        heard(OutputFormat::QwenStreamJson, asks_again).waits_behind,
        None
    );
}

#[test]
fn what_an_agent_asks_again_behind_is_named_with_its_words() {
    let stuck = include_str!("fixtures/claude-stream-json.service-error.jsonl");
    let stuck = stuck.lines().take(2).collect::<Vec<_>>().join("\n");
    let lost = r#"{"type":"system","subtype":"api_retry","error_status":null,"error":"unknown"}"#;
    let demand = r#"{"type":"error","message":"Reconnecting... 1/5 (We’re currently experiencing high demand)"}"#;
    for (format, text, refusal, words) in [
        (
            OutputFormat::ClaudeStreamJson,
            stuck.as_str(),
            ServiceRefusal::ServiceError,
            "500 server_error",
        ),
        (
            OutputFormat::ClaudeStreamJson,
            lost,
            ServiceRefusal::ConnectionLost,
            "no answer (unknown)",
        ),
        (
            OutputFormat::CodexJsonl,
            demand,
            ServiceRefusal::ServiceError,
            "high demand",
        ),
    ] {
        let heard = heard(format, text);
        assert_eq!(heard.waits_behind, Some(refusal), "{text}");
        assert!(heard.closing_words().contains(words), "{heard:?}");
    }
}

#[test]
fn an_error_is_named_by_what_its_words_say_of_the_request_first() {
    for (words, expected) in [
        (
            "litellm.ContextWindowExceededError: 429 tokens too many",
            Some(ServiceRefusal::ContextTooLong),
        ),
        (
            "litellm.ContentPolicyViolationError: no",
            Some(ServiceRefusal::RefusedByModel),
        ),
        (
            "litellm.APIConnectionError: OpenAIException - Connection error.",
            Some(ServiceRefusal::ConnectionLost),
        ),
        (
            "litellm.InternalServerError: OpenAIException",
            Some(ServiceRefusal::ServiceError),
        ),
        ("HTTP 401", Some(ServiceRefusal::Auth)),
        (
            "This request would exceed the rate limit of 40,000 input tokens per minute",
            Some(ServiceRefusal::RateLimited { until: None }),
        ),
        ("Internal error: the session is gone", None),
    ] {
        assert_eq!(refused::by_words(words, NOW), expected, "{words}");
    }
}

#[test]
fn refused_tool_calls_are_named_once() {
    let denied = r#"{"type":"system","subtype":"permission_denied","tool_name":"Bash"}"#;
    let last = r#"{"type":"result","is_error":false,"result":"Done","permission_denials":[{"tool_name":"Bash"}]}"#;
    let heard = heard(
        OutputFormat::ClaudeStreamJson,
        &format!("{denied}\n{denied}\n{last}"),
    );
    assert_eq!(heard.refused_tools, ["Bash"]);
}

#[test]
fn a_tool_call_that_a_program_does_not_let_through_is_noticed() {
    for (format, event, tool) in [
        (
            OutputFormat::GeminiStreamJson,
            r#"{"type":"tool_result","tool_id":"write_file_1","status":"error","error":{"type":"invalid_tool_params","message":"Path not in workspace: Attempted path \"/outside.txt\" resolves outside the allowed workspace directories: /worktree"}}"#,
            "Path not in workspace",
        ),
        (
            OutputFormat::OpencodeJson,
            r#"{"type":"tool_use","part":{"type":"tool","tool":"write","state":{"status":"error","input":{"filePath":"/outside.txt"},"error":"The user rejected permission to use this specific tool call."}}}"#,
            "write",
        ),
        (
            OutputFormat::ClineJson,
            r#"{"type":"agent_event","event":{"type":"content_end","contentType":"tool","toolName":"run_commands","toolCallId":"call_0","output":{"error":"Tool \"run_commands\" requires approval in a TTY session -- NOT a tool or system failure. Clarify with user before proceeding."}}}"#,
            "run_commands",
        ),
    ] {
        let heard = heard(format, event);
        assert!(
            heard.refused_tools.len() == 1 && heard.refused_tools[0].starts_with(tool),
            "{heard:?}"
        );
    }
}

#[test]
fn a_tool_that_failed_with_words_of_a_refusal_is_no_refusal_of_the_service() {
    let recoverable = r#"{"type":"agent_event","event":{"type":"error","error":{"message":"1 tool call(s) failed: [run_commands] 401 Unauthorized"},"recoverable":true}}"#;
    let aborted = r#"{"type":"run_result","finishReason":"aborted","text":""}"#;
    let heard = heard(
        OutputFormat::ClineJson,
        &format!("{recoverable}\n{aborted}"),
    );
    assert_eq!(
        (heard.refusal, heard.waits_behind, heard.error.as_deref()),
        (None, None, Some("aborted"))
    );
}

#[test]
fn aider_tells_rounded_tokens_and_cost_of_each_message() {
    let text = include_str!("fixtures/aider.success.txt");
    assert_eq!(
        heard(OutputFormat::Aider, text).tokens,
        Some(Tokens {
            input: 2_400,
            output: 68
        })
    );
    let two = "Tokens: 1.2k sent, 34 received. Cost: $0.01 message, $0.01 session.\n\
               Tokens: 2M sent, 1.5k cache hit, 2k received. Cost: $0.02 message, $0.03 session.";
    let heard = heard(OutputFormat::Aider, two);
    assert_eq!(
        heard.tokens,
        Some(Tokens {
            input: 2_001_200,
            output: 2_034
        })
    );
    assert!(
        heard
            .cost_usd
            .is_some_and(|cost| (cost - 0.03).abs() < 1e-9)
    );
}

#[test]
fn figures_that_can_not_be_true_count_nothing_and_what_was_spent_never_becomes_less() {
    let claude = |cost: &str, tokens: &str| {
        format!(
            r#"{{"type":"result","is_error":false,"result":"x","total_cost_usd":{cost},"usage":{{"input_tokens":{tokens},"output_tokens":{tokens},"cache_read_input_tokens":{tokens}}}}}"#
        )
    };
    for cost in ["-1000000000", "-0.5", "null", "\"NaN\""] {
        let heard = heard(OutputFormat::ClaudeStreamJson, &claude(cost, "-5"));
        assert_eq!(
            (heard.cost_usd, heard.tokens),
            (None, Some(Tokens::default())),
            "{cost}"
        );
    }
    let twice = format!(
        "{}\n{}",
        claude("0.75", "10"),
        claude("0", "18446744073709551615")
    );
    let all = heard(OutputFormat::ClaudeStreamJson, &twice);
    assert_eq!(all.cost_usd, Some(0.75));
    assert_eq!(
        all.tokens,
        Some(Tokens {
            input: u64::MAX,
            output: u64::MAX
        })
    );
    for (format, line) in [
        (
            OutputFormat::OpencodeJson,
            r#"{"type":"step_finish","part":{"cost":-3,"tokens":{"input":-1,"output":-1}}}"#,
        ),
        (
            OutputFormat::ClineJson,
            r#"{"type":"run_result","finishReason":"completed","usage":{"totalCost":-3}}"#,
        ),
        (
            OutputFormat::Acp,
            r#"{"type":"acp/update","update":{"sessionUpdate":"usage_update","cost":{"currency":"USD","amount":-3}}}"#,
        ),
    ] {
        assert_eq!(heard(format, line).cost_usd, None, "{format:?}");
    }
    let endless = format!(
        "Tokens: 1 sent, 1 received. Cost: ${} message, $1 session.",
        "9".repeat(400)
    );
    assert_eq!(heard(OutputFormat::Aider, &endless).cost_usd, None);
}

#[test]
fn escapes_in_events_never_reach_a_line() {
    let event = r#"{"type":"item.completed","item":{"type":"agent_message","text":"\u001b[31mred\u001b[0m\n"}}"#;
    assert_eq!(
        heard(OutputFormat::CodexJsonl, event).line.as_deref(),
        Some("red")
    );
}

const FORMATS: &[OutputFormat] = OutputFormat::ALL;

proptest! {
    #[test]
    fn rubbish_in_any_place_breaks_nothing(
        which in 0..SUCCESSES.len(), format in 0..FORMATS.len(), cut in 0_usize..4_000, rubbish in "\\PC{0,60}",
    ) {
        let text = SUCCESSES[which].1;
        let cut = text.floor_char_boundary(cut);
        heard(FORMATS[format], &format!("{}{rubbish}{}", &text[..cut], &text[cut..]));
        let own = SUCCESSES[which].0;
        let around = heard(own, &format!("{rubbish}\n{{\"type\":\"{}\"}}\n[1]\n{text}", rubbish.escape_default()));
        prop_assert_eq!(around.tokens.map(|tokens| tokens.output), Some(SUCCESSES[which].2.1));
    }

    #[test]
    fn a_log_says_the_same_however_it_comes(which in 0..SUCCESSES.len(), cut in 0_usize..4_000) {
        let (format, text, ..) = SUCCESSES[which];
        let log = tempfile::NamedTempFile::new().expect("a file");
        let mut listener = Listener::new(format, log.path());
        let cut = cut.min(text.len());
        let mut writer = log.reopen().expect("a file");
        std::io::Write::write_all(&mut writer, &text.as_bytes()[..cut]).expect("written");
        listener.listen(NOW);
        std::io::Write::write_all(&mut writer, &text.as_bytes()[cut..]).expect("written");
        prop_assert_eq!(listener.finish(NOW), heard(format, text));
    }
}

#[test]
fn every_format_of_output_is_a_row() {
    for format in OutputFormat::ALL {
        let is_row = DIALECTS.iter().any(|row| row.format == *format);
        assert_eq!(is_row, format.has_events(), "{format:?}");
    }
}
