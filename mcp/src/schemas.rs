//! Schemas of tools in words that every validator knows.

use rmcp::model::Tool;
use serde_json::Value;
use std::sync::Arc;

/// Takes the widths of numbers out of what a tool takes and answers: strict clients complain about each of them.
pub(crate) fn without_widths(tool: &mut Tool) {
    plain(Arc::make_mut(&mut tool.input_schema).values_mut());
    if let Some(schema) = &mut tool.output_schema {
        plain(Arc::make_mut(schema).values_mut());
    }
}

fn plain<'v>(values: impl Iterator<Item = &'v mut Value>) {
    for value in values {
        match value {
            Value::Object(fields) => {
                let is_width = |format: &str| {
                    format.trim_start_matches('u').starts_with("int") || format == "double"
                };
                fields.retain(|name, value| {
                    name != "format" || !value.as_str().is_some_and(is_width)
                });
                plain(fields.values_mut());
            }
            Value::Array(values) => plain(values.iter_mut()),
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::server::Server;

    #[test]
    fn every_tool_says_what_it_does_and_no_schema_names_a_width() {
        for tool in Server::every_tool().list_all() {
            let text = serde_json::to_string(&tool).unwrap();
            assert!(
                !text.contains("\"format\":\"uint") && !text.contains("\"format\":\"double"),
                "{}",
                tool.name
            );
            assert!(
                tool.description.is_some() && tool.annotations.is_some(),
                "{}",
                tool.name
            );
            assert_eq!(tool.input_schema["type"], "object", "{}", tool.name);
        }
    }
}
