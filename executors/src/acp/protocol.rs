//! The messages of the Agent Client Protocol as JSON, one a line, and who is asked what. Answers and updates stay JSON:
//! programs of later versions may say more, and what is told of them is what they said.

use super::permissions::Broker;
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader};
use tokio::process::{Child, ChildStdin, ChildStdout};
use tokio::sync::mpsc;

const METHOD_NOT_FOUND: i64 = -32_601;
const INTERNAL_ERROR: i64 = -32_603;

/// A message is no longer, in bytes: what a line has beyond is dropped, and the rest is no message then.
const LONGEST_MESSAGE: usize = 16 * 1024 * 1024;
/// So many messages wait for a program that does not read; it gets no more of them.
const MOST_UNREAD: usize = 1024;

/// An answer to a request; an error is what the program says went wrong.
pub(super) type Answer = Result<Value, Value>;

/// The pipes of a program.
pub(super) struct Connection<T> {
    output: BufReader<ChildStdout>,
    /// What was read of a line that goes on.
    line: Vec<u8>,
    /// Written by a task of its own, since a program may want to be read before it reads on.
    outbox: mpsc::Sender<Value>,
    broker: Broker,
    tell: T,
    requests: u64,
}

impl<T: Fn(Value)> Connection<T> {
    /// Takes the pipes of a program; `None` when it has none.
    pub(super) fn open(child: &mut Child, broker: Broker, tell: T) -> Option<Self> {
        let (input, output) = (child.stdin.take()?, child.stdout.take()?);
        let (outbox, messages) = mpsc::channel(MOST_UNREAD);
        tokio::spawn(write(input, messages));
        Some(Self {
            output: BufReader::new(output),
            line: Vec::new(),
            outbox,
            broker,
            tell,
            requests: 0,
        })
    }

    /// Asks the program for something; `hear` waits for its answer.
    pub(super) fn ask(&mut self, method: &str, parameters: &Value) {
        self.requests += 1;
        self.send(json!({"id": self.requests, "method": method, "params": parameters}));
    }

    /// Tells the program something.
    pub(super) fn notify(&self, method: &str, parameters: &Value) {
        self.send(json!({"method": method, "params": parameters}));
    }

    /// Hears what the program says and answers its questions, until it has answered the last request. May be dropped
    /// and called again.
    pub(super) async fn hear(&mut self) -> Answer {
        loop {
            let Some(line) = self.line().await else {
                return Err(error(INTERNAL_ERROR, "it ended before its turn did"));
            };
            // What is no message is for people.
            let Ok(message) = tm_untrusted::json_value(&line) else {
                continue;
            };
            match message["method"].as_str() {
                Some(method) => self.asked(method, &message),
                None if message["id"] == self.requests => {
                    return match message.get("error") {
                        Some(error) => Err(error.clone()),
                        None => Ok(message["result"].clone()),
                    };
                }
                None => {}
            }
        }
    }

    /// Returns the next line of the program, nothing when it says no more.
    async fn line(&mut self) -> Option<Vec<u8>> {
        loop {
            let read = self.output.fill_buf().await.ok()?;
            if read.is_empty() {
                // Some end their last message by ending.
                return Some(std::mem::take(&mut self.line)).filter(|line| !line.is_empty());
            }
            let end = read.iter().position(|&byte| byte == b'\n');
            let part = &read[..end.unwrap_or(read.len())];
            let room = LONGEST_MESSAGE.saturating_sub(self.line.len());
            self.line.extend_from_slice(&part[..part.len().min(room)]);
            let taken = part.len() + usize::from(end.is_some());
            self.output.consume(taken);
            if end.is_some() {
                return Some(std::mem::take(&mut self.line));
            }
        }
    }

    fn asked(&self, method: &str, message: &Value) {
        let parameters = &message["params"];
        if method == "session/update" {
            (self.tell)(json!({"type": "acp/update", "update": parameters["update"]}));
        }
        let Some(id) = message.get("id") else { return };
        if method != "session/request_permission" {
            let refusal = error(METHOD_NOT_FOUND, "Method not found");
            return self.send(json!({"id": id, "error": refusal}));
        }
        let answer = self.broker.answer(parameters);
        let tool = &parameters["toolCall"];
        (self.tell)(
            json!({"type": "acp/permission", "tool": tool["title"].as_str().unwrap_or("a tool"), "kind": tool["kind"],
                   "answer": answer.as_str(), "why": answer.refused}),
        );
        let outcome = match answer.option {
            Some(option) => json!({"outcome": "selected", "optionId": option}),
            None => json!({"outcome": "cancelled"}),
        };
        self.send(json!({"id": id, "result": {"outcome": outcome}}));
    }

    fn send(&self, mut message: Value) {
        message["jsonrpc"] = "2.0".into();
        // A program that reads no more is known by what it says no more.
        let _unread = self.outbox.try_send(message);
    }
}

/// An error as the protocol writes it.
fn error(code: i64, message: &str) -> Value {
    json!({"code": code, "message": message})
}

async fn write(mut input: ChildStdin, mut messages: mpsc::Receiver<Value>) {
    while let Some(message) = messages.recv().await {
        if input
            .write_all(format!("{message}\n").as_bytes())
            .await
            .is_err()
        {
            return;
        }
    }
}
