//! What all tools take alike: ids, pages, and no argument that they don't have.

use crate::answer::Refusal;
use rmcp::model::{CallToolResult, JsonObject, Tool};
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::{Value, json};
use std::borrow::Cow;
use std::collections::BTreeSet;
use tm_scheduler::quoted;

/// So many entries of a list are returned at once when nothing is said.
const PAGE: usize = 50;
/// So many are returned at the most.
const LONGEST_PAGE: usize = 200;
/// After so many bytes no further one is: what clients hand to their models is bounded, too.
const LARGEST_PAGE: usize = 48 * 1024;

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

/// A number of entries, from the least on that makes sense.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Count<const LEAST: usize>(usize);

impl<'de, const LEAST: usize> Deserialize<'de> for Count<LEAST> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let given = Value::deserialize(deserializer)?;
        let count = given.as_u64().and_then(|count| count.try_into().ok());
        let count = count.filter(|count| *count >= LEAST).map(Self);
        count.ok_or_else(|| {
            let words = format!("`{given}` is no number of entries: give {LEAST} or more");
            serde::de::Error::custom(words)
        })
    }
}

impl<const LEAST: usize> JsonSchema for Count<LEAST> {
    fn schema_name() -> Cow<'static, str> {
        "Count".into()
    }

    fn inline_schema() -> bool {
        true
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({"type": "integer", "minimum": LEAST})
    }
}

/// A part of a list.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(default, rename_all = "camelCase")]
pub(crate) struct Page {
    /// The entries to leave out before the first.
    offset: Count<0>,
    /// The most to return, up to 200; 50 when not given.
    limit: Option<Count<1>>,
}

impl Page {
    /// Returns the entries that are on it, and where the next one begins.
    pub(crate) fn of<T: Serialize>(
        &self,
        entries: impl ExactSizeIterator<Item = T>,
    ) -> (Vec<T>, Option<usize>) {
        let limit = self.limit.map_or(PAGE, |limit| limit.0).min(LONGEST_PAGE);
        let (Count(offset), count) = (self.offset, entries.len());
        let mut bytes = 0;
        let fits = |entry: &T| {
            let is_room = bytes < LARGEST_PAGE;
            bytes += json!(entry).to_string().len();
            is_room
        };
        let page: Vec<T> = entries.skip(offset).take(limit).take_while(fits).collect();
        let end = offset.saturating_add(page.len());
        (page, (end < count).then_some(end))
    }

    /// Leaves of a document what is on the page: of the tasks, of what it says of waves, and of its other lists.
    pub(crate) fn cut(&self, document: &mut Value, tasks: &str) {
        let Value::Array(entries) = document[tasks].take() else {
            return;
        };
        let total = entries.len();
        let (page, mut next) = self.of(entries.into_iter());
        let ids: BTreeSet<&str> = page.iter().filter_map(|task| task["id"].as_str()).collect();
        for wave in document["waves"].as_array_mut().into_iter().flatten() {
            let is_here = |id: &Value| id.as_str().is_some_and(|id| ids.contains(id));
            wave.as_array_mut()
                .into_iter()
                .for_each(|wave| wave.retain(is_here));
        }
        let all = document.as_object_mut().into_iter().flatten();
        for (name, list) in all {
            let Value::Array(entries) = list else {
                continue;
            };
            if name == "waves" {
                entries.retain(|wave| *wave != json!([]));
            } else {
                let (rest, goes_on) = self.of(std::mem::take(entries).into_iter());
                (*entries, next) = (rest, [next, goes_on].into_iter().flatten().min());
            }
        }
        document[tasks] = page.into();
        document["total"] = json!(total);
        document["nextOffset"] = json!(next);
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
