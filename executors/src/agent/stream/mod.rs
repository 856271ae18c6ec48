//! What an agent says of itself in the events that it prints, whatever its dialect.
//!
//! Each dialect is a file that turns one event into facts. Lines that no dialect knows say nothing and break nothing.

mod acp;
mod aider;
mod claude;
mod cline;
mod codex;
mod gemini;
mod listener;
mod moment;
mod opencode;
mod refused;
#[cfg(test)]
mod tests;

pub(super) use listener::Listener;

use super::output::{LINE_CHARACTERS, last_line};
use serde_json::Value;
use tm_scheduler::{OutputFormat, ServiceRefusal, Timestamp, Tokens};

/// So much of a line is looked at for that.
const LINE_BYTES: usize = 16 * 1024;
/// A final message has so many bytes at the most; more of it is not kept.
const MESSAGE_BYTES: usize = 256 * 1024;
/// So many refused tool calls are named.
const MOST_REFUSED_TOOLS: usize = 10;

/// What stands for the reason of an agent that gives up without one.
const NO_REASON: &str = "it gives no reason";

/// The events of one format.
struct Dialect {
    format: OutputFormat,
    /// Turns an event into facts.
    hear: fn(&mut StreamState, &Value),
    /// Whether an event of this type is one that no other format has, where nothing says which format it is.
    is_told_by: fn(&Value, &str) -> bool,
}

/// Every format that has events.
static DIALECTS: [Dialect; 7] = [
    Dialect {
        format: OutputFormat::ClaudeStreamJson,
        hear: |heard, event| claude::hear(heard, event, &claude::INPUT),
        is_told_by: |event, kind| {
            kind == "system" && event["subtype"].is_string()
                || kind == "result"
                    && (event["result"].is_string() || event["total_cost_usd"].is_number())
        },
    },
    Dialect {
        format: OutputFormat::QwenStreamJson,
        hear: |heard, event| claude::hear(heard, event, &claude::INPUT[..1]),
        is_told_by: |_, _| false,
    },
    Dialect {
        format: OutputFormat::CodexJsonl,
        hear: codex::hear,
        is_told_by: |_, kind| {
            kind.starts_with("turn.") || matches!(kind, "thread.started" | "item.completed")
        },
    },
    Dialect {
        format: OutputFormat::GeminiStreamJson,
        hear: gemini::hear,
        is_told_by: |event, kind| kind == "init" && event["session_id"].is_string(),
    },
    Dialect {
        format: OutputFormat::OpencodeJson,
        hear: opencode::hear,
        is_told_by: |event, kind| {
            matches!(kind, "step_start" | "step_finish") && event["part"].is_object()
        },
    },
    Dialect {
        format: OutputFormat::ClineJson,
        hear: cline::hear,
        is_told_by: |_, kind| matches!(kind, "agent_event" | "run_result"),
    },
    Dialect {
        format: OutputFormat::Acp,
        hear: acp::hear,
        is_told_by: |_, _| false,
    },
];

/// Returns what an event of any dialect tells people: what the agent says, and the tools that it uses, in brackets.
pub(super) fn told(event: &Value) -> Vec<String> {
    let of_dialect = |row: &Dialect| {
        let mut heard = StreamState::default();
        (row.hear)(&mut heard, event);
        heard.told
    };
    let mut told = DIALECTS.iter().map(of_dialect);
    told.find(|told| !told.is_empty()).unwrap_or_default()
}

/// Returns what a line that is no event tells of the service; of limits and credentials events alone are believed.
pub(super) fn trouble_of_service(line: &str) -> Option<ServiceRefusal> {
    let is_trouble = |refusal: &ServiceRefusal| {
        matches!(
            refusal,
            ServiceRefusal::ServiceError | ServiceRefusal::ConnectionLost
        )
    };
    refused::by_words(line, Timestamp(0)).filter(is_trouble)
}

/// What an agent has said so far.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct StreamState {
    /// Whether it prints events of a known dialect.
    pub(super) prints_events: bool,
    /// Whether the dialect was guessed from what it prints.
    is_guessed: bool,
    /// What it said last to people, as far as it said it.
    pub(super) message: String,
    /// One line for people about what it does now.
    pub(super) line: Option<String>,
    /// Tokens, totals so far.
    pub(super) tokens: Option<Tokens>,
    /// US dollars, total so far.
    pub(super) cost_usd: Option<f64>,
    /// The error that it gave up with, or asks again behind.
    error: Option<String>,
    /// The refusal that it gave up with.
    pub(super) refusal: Option<ServiceRefusal>,
    /// A refusal behind which it tries again by itself; what it is when the agent gets no further.
    pub(super) waits_behind: Option<ServiceRefusal>,
    /// Tool calls that were refused to it.
    pub(super) refused_tools: Vec<String>,
    /// What the last event tells people.
    told: Vec<String>,
    /// What declared waits count from.
    now: Timestamp,
}

impl StreamState {
    /// Takes one line in. `now` is what declared waits count from.
    fn hear(&mut self, format: &mut OutputFormat, line: &str, now: Timestamp) {
        self.now = now;
        self.told.clear();
        if *format == OutputFormat::Aider {
            aider::hear(self, line);
            return;
        }
        let Some(event) = tm_untrusted::json_value(line.trim())
            .ok()
            .filter(Value::is_object)
        else {
            return;
        };
        if *format == OutputFormat::Text {
            *format = guessed(&event);
            self.is_guessed = true;
        }
        self.prints_events |= *format != OutputFormat::Text;
        if let Some(row) = DIALECTS.iter().find(|row| row.format == *format) {
            (row.hear)(self, &event);
        }
        if self.is_guessed {
            self.forget_what_decides_about_others();
        }
    }

    /// Keeps words and tool calls alone. Whatever a program of text runs or shows can print an event, and a limit, refused
    /// credentials or a cost would hold up all who share its account or its budget.
    fn forget_what_decides_about_others(&mut self) {
        (self.refusal, self.waits_behind) = (None, None);
        (self.tokens, self.cost_usd) = (None, None);
    }

    /// Notes what the agent says to people.
    fn says(&mut self, said: &Value) {
        self.told.extend(said.as_str().map(ToOwned::to_owned));
        self.closes_with(text(said));
    }

    /// Notes what people are told and what is no answer: what it thinks, or what its service says.
    fn notes(&mut self, said: &Value) {
        self.told.extend(said.as_str().map(ToOwned::to_owned));
        self.shows(text(said));
    }

    /// Notes what the agent says once more at its end.
    fn closes_with(&mut self, said: &str) {
        let said = &said[..said.floor_char_boundary(MESSAGE_BYTES)];
        said.clone_into(&mut self.message);
        self.shows(said);
    }

    /// Notes a further piece of what the agent says to people.
    fn goes_on(&mut self, piece: &Value) {
        let piece = text(piece);
        self.told.push(piece.to_owned());
        if self.message.len() + piece.len() <= MESSAGE_BYTES {
            self.message.push_str(piece);
        }
        let message = std::mem::take(&mut self.message);
        self.shows(&message);
        self.message = message;
    }

    /// Notes a line for people: the last of the text that says something.
    fn shows(&mut self, text: &str) {
        // No more is made safe than is looked at: a message is shown again with each piece of it.
        let says_something = |line: &&str| !tm_untrusted::line(line, 2).is_empty();
        let Some(last) = text.lines().rev().find(says_something) else {
            return;
        };
        let text = tm_untrusted::clean(&last[..last.floor_char_boundary(LINE_BYTES)]);
        self.line = last_line(&text).or_else(|| self.line.take());
    }

    /// Notes that a tool is used, with what it is used for where the agent says so.
    fn uses(&mut self, tool: &Value, what_for: &Value) {
        self.told.extend(tool.as_str().map(in_brackets));
        let what_for = text(what_for).lines().next().unwrap_or_default();
        let tool = tool.as_str().unwrap_or("a tool");
        self.shows(format!("{tool} {what_for}").trim());
    }

    /// Notes that a command is run.
    fn runs(&mut self, command: &Value) {
        self.uses(&"$".into(), command);
        self.told = command.as_str().map(in_brackets).into_iter().collect();
    }

    fn tool_was_refused(&mut self, tool: &Value) {
        let tool: String = tm_untrusted::clean(tool.as_str().unwrap_or("a tool"))
            .chars()
            .take(LINE_CHARACTERS)
            .collect();
        if self.refused_tools.len() < MOST_REFUSED_TOOLS && !self.refused_tools.contains(&tool) {
            self.refused_tools.push(tool);
        }
    }

    /// Notes that the agent asks its service again, behind what, and how it words that.
    fn waits(&mut self, behind: Option<ServiceRefusal>, words: &str) {
        self.error = behind.is_some().then(|| in_one_line(words));
        self.waits_behind = behind;
        self.shows(words);
    }

    /// Notes that its service answered.
    fn gets_through(&mut self) {
        self.error = None;
        self.waits_behind = None;
    }

    /// Notes that the agent gave up; its words tell whether its service refused.
    fn gives_up(&mut self, message: &Value) {
        let message = message.as_str().unwrap_or(NO_REASON);
        self.gave_up(message, refused::by_words(message, self.now));
    }

    /// Notes that the agent gave up, and whether its service refused.
    fn gave_up(&mut self, message: &str, refusal: Option<ServiceRefusal>) {
        self.error = Some(in_one_line(message));
        self.refusal = refusal;
        self.shows(message);
    }

    /// Notes that the agent got through after all.
    fn succeeds(&mut self) {
        self.gets_through();
        self.refusal = None;
    }

    /// Returns the error that was its last word.
    pub(super) fn error(&self) -> Option<&str> {
        self.error.as_deref()
    }

    /// Returns its final message, and the error that it gave up with.
    pub(super) fn closing_words(&self) -> String {
        let error = self.error.as_deref().unwrap_or_default();
        let message = tm_untrusted::clean(&self.message);
        if in_one_line(&message).contains(error) {
            message
        } else {
            format!("{message}\n{error}")
        }
    }

    fn add_tokens(&mut self, input: u64, output: u64) {
        let before = self.tokens.unwrap_or_default();
        self.tokens = Some(Tokens {
            input: before.input.saturating_add(input),
            output: before.output.saturating_add(output),
        });
    }

    fn add_cost(&mut self, dollars: Option<f64>) {
        if let Some(dollars) = dollars {
            self.cost_usd = Some((self.cost_usd.unwrap_or(0.0) + dollars).min(f64::MAX));
        }
    }

    /// Notes a cost of all so far; what was spent never becomes less.
    fn costs_in_all(&mut self, dollars: Option<f64>) {
        self.cost_usd = dollars
            .map(|dollars| dollars.max(self.cost_usd.unwrap_or(0.0)))
            .or(self.cost_usd);
    }
}

/// Returns the format that an event has the look of; text where it has that of none.
fn guessed(event: &Value) -> OutputFormat {
    let kind = text(&event["type"]);
    let mut dialects = DIALECTS.iter();
    let row = dialects.find(|row| (row.is_told_by)(event, kind));
    row.map_or(OutputFormat::Text, |row| row.format)
}

/// Puts an error into one line, so that none of it is lost where one line is shown.
fn in_one_line(error: &str) -> String {
    let words = tm_untrusted::clean(error);
    words.split_whitespace().collect::<Vec<_>>().join(" ")
}

fn in_brackets(tool: &str) -> String {
    format!("({tool})")
}

/// Returns a text, which is empty where there is none.
fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}

/// Returns what the arguments of a tool say that it is used for.
fn what_for(arguments: &Value) -> &Value {
    first(
        ["command", "file_path"].map(|name| &arguments[name]),
        Value::is_string,
    )
}

/// Returns the first value of its kind; nothing where there is none.
fn first(values: [&Value; 2], is_wanted: fn(&Value) -> bool) -> &Value {
    values
        .into_iter()
        .find(|value| is_wanted(value))
        .unwrap_or(&Value::Null)
}

/// Returns the number at a key, 0 when there is none, or one that counts nothing, such as a negative one.
fn number(value: &Value, key: &str) -> u64 {
    value[key].as_u64().unwrap_or(0)
}

/// Returns the sum of the numbers at some keys.
fn sum(value: &Value, keys: &[&str]) -> u64 {
    keys.iter()
        .fold(0, |sum, key| sum.saturating_add(number(value, key)))
}

/// Returns a cost, `None` where it can't be one: less than nothing, or no number.
fn dollars(value: &Value) -> Option<f64> {
    value
        .as_f64()
        .filter(|dollars| dollars.is_finite() && *dollars >= 0.0)
}
