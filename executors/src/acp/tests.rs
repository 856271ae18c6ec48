//! Programs that are shell scripts, and speak the protocol as far as the case needs.

use super::*;
use serde_json::json;
use std::sync::{Arc, Mutex};
use tokio::sync::oneshot;

/// Reads requests line by line, answers the first two as every agent does, and leaves the prompt in `$prompt`.
const BEGIN: &str = r#"
id() { printf %s "$1" | sed 's/.*"id":\("[^"]*"\|[0-9]*\).*/\1/'; }
answer() { printf '{"jsonrpc":"2.0","id":%s,"result":%s}\n' "$(id "$1")" "$2"; }
heard() { while read -r line; do case $line in *optionId*) printf %s "$line" | grep -o '"optionId":"[a-z]*"' | tr -d '"'; return ;; esac; done; }
tell() { printf '{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"s","update":%s}}\n' "$1"; }
ask() { printf '{"jsonrpc":"2.0","id":77,"method":"session/request_permission","params":{"sessionId":"s","toolCall":%s,"options":[{"optionId":"yes","name":"Yes","kind":"allow_once"},{"optionId":"no","name":"No","kind":"reject_once"}]}}\n' "$1"; }
read -r hello; answer "$hello" '{"protocolVersion":1,"agentCapabilities":{}}'
read -r session; answer "$session" '{"sessionId":"s"}'
read -r prompt
"#;

const LOOKS_LIKE: &str =
    r#"{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"All "}}"#;

/// Runs a script, and returns how it ended and what was told; `stop_at` is a text at which it is to stop.
async fn driven(script: &str, stop_at: Option<&'static str>) -> (AcpEnd, Vec<Value>) {
    let folder = tempfile::tempdir().expect("a folder");
    let command = AcpCommand {
        program: "sh".into(),
        arguments: vec!["-c".into(), format!("{BEGIN}{script}").into()],
        worktree: folder.path().to_owned(),
        writable: Vec::new(),
        allowed: Allowed::Worktree,
        prompt: "Do \"it\"\nnow".to_owned(),
    };
    let told = Arc::new(Mutex::new(Vec::new()));
    let (stop, stopped) = oneshot::channel();
    let (lines, stop) = (Arc::clone(&told), Mutex::new(Some(stop)));
    let tell = move |line: Value| {
        if stop_at.is_some_and(|text| line.to_string().contains(text))
            && let Some(stop) = stop.lock().expect("one thread").take()
        {
            stop.send(()).expect("somebody waits");
        }
        lines.lock().expect("one thread").push(line);
    };
    let never = async {
        if stopped.await.is_err() {
            std::future::pending::<()>().await;
        }
    };
    let end = drive(command, never, tell).await.expect("it starts");
    let told = told.lock().expect("one thread").clone();
    (end, told)
}

#[tokio::test]
async fn a_turn_is_told_line_by_line_and_its_questions_are_answered() {
    let script = format!(
        r#"
case $prompt in *'"text":"Do \"it\"\nnow"'*) ;; *) exit 9 ;; esac
tell '{LOOKS_LIKE}'
tell '{{"sessionUpdate":"of_a_later_version","anything":1}}'
printf 'a line that is no message\n5\n"x"\n[]\n'
ask '{{"toolCallId":"1","kind":"execute","title":"make"}}'; first=$(heard)
ask '{{"toolCallId":"2","kind":"edit","title":"Write /etc/passwd","locations":[{{"path":"/etc/passwd"}}]}}'; second=$(heard)
tell "$(printf '{{"sessionUpdate":"agent_message_chunk","content":{{"type":"text","text":"%s %s"}}}}' \
    "$first" "$second")"
answer "$prompt" '{{"stopReason":"end_turn","usage":{{"totalTokens":12,"inputTokens":10,"outputTokens":2}}}}'
read -r nothing_more
"#
    );
    let (end, told) = driven(&script, None).await;
    assert_eq!(end, AcpEnd::Done, "{told:?}");
    let said: Vec<&str> = told
        .iter()
        .filter_map(|line| line["update"]["content"]["text"].as_str())
        .collect();
    assert_eq!(said, ["All ", "optionId:yes optionId:no"], "{told:?}");
    let answers: Vec<_> = told
        .iter()
        .filter_map(|line| Some((line["tool"].as_str()?, line["answer"].as_str()?)))
        .collect();
    assert_eq!(
        answers,
        [("make", "allowed"), ("Write /etc/passwd", "refused")]
    );
    let last = told.last().expect("an end");
    assert_eq!(
        (&last["type"], &last["usage"]["totalTokens"]),
        (&"acp/end".into(), &12.into()),
        "{last}"
    );
}

#[tokio::test]
async fn a_turn_that_is_to_stop_is_cancelled() {
    let script = format!(
        "tell '{LOOKS_LIKE}'\nread -r cancel\ncase $cancel in *session/cancel*) ;; *) exit 9 ;; esac\n\
         answer \"$prompt\" '{{\"stopReason\":\"cancelled\"}}'\nread -r nothing_more"
    );
    let (end, told) = driven(&script, Some("All ")).await;
    assert_eq!(end, AcpEnd::NotDone);
    assert_eq!(told.last().expect("an end")["stop_reason"], "cancelled");
}

#[tokio::test]
async fn errors_and_a_program_that_breaks_off_are_told() {
    let error = r#"printf '{"jsonrpc":"2.0","id":%s,"error":{"code":429,"message":"Rate limit reached"}}\n' "$(id "$prompt")"; read -r nothing_more"#;
    let (end, told) = driven(error, None).await;
    let expected =
        json!({"type": "acp/error", "code": 429, "message": "Rate limit reached", "data": null});
    assert_eq!((end, told), (AcpEnd::NotDone, vec![expected]));
    let unfinished = "answer \"$prompt\" '{\"stopReason\":\"end_turn\"}' | tr -d '\\n'";
    assert_eq!(driven(unfinished, None).await.0, AcpEnd::Done);
    let (end, told) = driven("exit 3", None).await;
    assert_eq!(
        (end, &told.last().expect("an end")["type"]),
        (AcpEnd::NotDone, &"acp/error".into()),
        "{told:?}"
    );
}

#[tokio::test]
async fn a_line_without_an_end_costs_no_memory_and_what_follows_it_is_heard() {
    let before = memory();
    let script = "head -c 100000000 /dev/zero; echo; answer \"$prompt\" '{\"stopReason\":\"end_turn\"}'; read -r nothing_more";
    assert_eq!(driven(script, None).await.0, AcpEnd::Done);
    let after = memory();
    assert!(after < before + 80 * 1024, "{before} and {after} KiB");
}

/// The most memory that this process has had at once, in KiB.
fn memory() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    peak.and_then(|peak| peak.trim().split(' ').next()?.parse().ok())
        .unwrap_or_default()
}

#[tokio::test]
async fn a_program_that_asks_without_end_and_never_reads_costs_no_memory() {
    let question =
        "yes '{\"id\":7,\"method\":\"fs/read_text_file\",\"params\":{}}' | head -n 100000";
    let script = format!("{question}; answer \"$prompt\" '{{\"stopReason\":\"end_turn\"}}'");
    let before = memory();
    assert_eq!(driven(&script, None).await.0, AcpEnd::Done);
    let after = memory();
    assert!(after < before + 64 * 1024, "{before} and {after} KiB");
}

#[tokio::test]
async fn a_program_that_lives_on_is_ended() {
    let (end, _) = driven(
        "answer \"$prompt\" '{\"stopReason\":\"end_turn\"}'\ntrap '' TERM; exec sleep 1000",
        None,
    )
    .await;
    assert_eq!(end, AcpEnd::Done);
}

#[tokio::test]
async fn a_program_that_is_not_there_is_named() {
    let command = AcpCommand {
        program: "no-such-agent".into(),
        arguments: Vec::new(),
        worktree: "/".into(),
        writable: Vec::new(),
        allowed: Allowed::Everything,
        prompt: String::new(),
    };
    let error = drive(command, std::future::pending(), |_| {})
        .await
        .expect_err("there is none");
    assert!(
        error.to_string().contains("start `no-such-agent`"),
        "{error}"
    );
}
