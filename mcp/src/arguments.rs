//! What all tools take alike: ids, pages, and no argument that they don't have.

use crate::answer::Refusal;
use rmcp::model::{CallToolResult, JsonObject, Tool};
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Deserializer};
use serde_json::{Value, json};
use std::borrow::Cow;
use std::num::NonZeroUsize;
use tm_scheduler::quoted;

/// So many entries of a list are returned at once when nothing is said.
const PAGE: usize = 50;
/// So many are returned at the most.
const LONGEST_PAGE: usize = 200;

/// Names that Task Master has for arguments that are called otherwise.
const OTHER_NAMES: [&str; 1] = ["customMessage"];

/// An id, which models write as a number where it looks like one.
#[derive(Clone, Debug, Default)]
pub(crate) struct Id(pub(crate) String);

impl<'de> Deserialize<'de> for Id {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        match Value::deserialize(deserializer)? {
            Value::String(id) => Ok(Self(id)),
            Value::Number(id) if id.is_u64() => Ok(Self(id.to_string())),
            // As a number `1.10` is `1.1`.
            other => Err(serde::de::Error::custom(format!(
                "`{other}` is no id: write it as a text, such as \"3\" or \"3.1\""
            ))),
        }
    }
}

impl JsonSchema for Id {
    fn schema_name() -> Cow<'static, str> {
        "Id".into()
    }

    fn inline_schema() -> bool {
        true
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({"type": "string"})
    }
}

/// A part of a list.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(default, rename_all = "camelCase")]
pub(crate) struct Page {
    /// The entries to leave out before the first.
    offset: usize,
    /// The most to return, up to 200; 50 when not given.
    limit: Option<NonZeroUsize>,
}

impl Page {
    /// Returns the entries that are on it, and where the next one begins.
    pub(crate) fn of<T>(
        &self,
        entries: impl ExactSizeIterator<Item = T>,
    ) -> (Vec<T>, Option<usize>) {
        let limit = self.limit.map_or(PAGE, NonZeroUsize::get).min(LONGEST_PAGE);
        let (end, count) = (self.offset.saturating_add(limit), entries.len());
        let page = entries.skip(self.offset).take(limit).collect();
        (page, (end < count).then_some(end))
    }

    /// Leaves of a list in a document what is on the page.
    pub(crate) fn cut(&self, document: &mut Value, list: &str) {
        if let Value::Array(entries) = document[list].take() {
            let total = entries.len();
            let (page, next) = self.of(entries.into_iter());
            document[list] = page.into();
            document["total"] = json!(total);
            document["nextOffset"] = json!(next);
        }
    }
}

/// Refuses arguments that a tool does not have, and names those that it has.
pub(crate) fn unknown(tool: &Tool, arguments: Option<&JsonObject>) -> Option<Refusal> {
    let known = tool.input_schema.get("properties")?.as_object()?;
    let is_unknown =
        |name: &&String| !known.contains_key(*name) && !OTHER_NAMES.contains(&name.as_str());
    let unknown: Vec<&String> = arguments?.keys().filter(is_unknown).collect();
    if unknown.is_empty() {
        return None;
    }
    let words = format!("call `{}` with {}", tool.name, quoted(unknown));
    Some(Refusal::of_words(&words, Some(&there_are(tool))))
}

/// Puts what the protocol's own library says of arguments that it can't read into the form of every refusal.
pub(crate) fn misread(tool: &Tool, answer: &CallToolResult) -> Option<Refusal> {
    let text = &answer.content.first()?.as_text()?.text;
    let is_own = serde_json::from_str::<Value>(text).is_ok_and(|document| document.is_object());
    if answer.is_error != Some(true) || is_own {
        return None;
    }
    let why = text.strip_prefix("failed to deserialize parameters: ");
    let words = format!("call `{}`: {}", tool.name, why.unwrap_or(text));
    Some(Refusal::of_words(&words, Some(&there_are(tool))))
}

fn there_are(tool: &Tool) -> String {
    let known = tool.input_schema.get("properties");
    let known = known.and_then(Value::as_object).into_iter();
    format!("there are {}", quoted(known.flat_map(|known| known.keys())))
}
