//! A server in the settings of a client: put in or taken out, while everything else keeps its bytes.
//!
//! Knows formats, and no files.

use jsonc_parser::ParseOptions;
use jsonc_parser::cst::{CstInputValue, CstObject, CstRootNode};
use serde_json::{Value, json};
use toml_edit::{Array, DocumentMut, Item, Table, TableLike};

/// How a client writes its servers down.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Format {
    /// JSON, also with comments: `mcpServers`, with `command` and `args` apart.
    McpServers,
    /// JSON, also with comments: `mcp`, with the command in one list.
    Mcp,
    /// TOML: `mcp_servers`.
    Toml,
}

/// A server that a client starts.
#[derive(Clone, Debug)]
pub(super) struct Entry {
    pub(super) name: String,
    pub(super) program: String,
    pub(super) arguments: Vec<String>,
}

impl Entry {
    fn fields(&self, format: Format) -> Vec<(&'static str, Value)> {
        match format {
            Format::McpServers | Format::Toml => {
                vec![
                    ("command", json!(self.program)),
                    ("args", json!(self.arguments)),
                ]
            }
            Format::Mcp => {
                let words: Vec<&String> = std::iter::once(&self.program)
                    .chain(&self.arguments)
                    .collect();
                vec![
                    ("type", json!("local")),
                    ("command", json!(words)),
                    ("enabled", json!(true)),
                ]
            }
        }
    }
}

/// Returns the settings with the server. What a user added to it stays, its command is set anew.
///
/// # Errors
/// The text is not in this format, or the name belongs to something else; the words say what.
pub(super) fn with_server(text: &str, format: Format, entry: &Entry) -> Result<String, String> {
    match format {
        Format::Toml => with_in_toml(text, entry),
        Format::McpServers | Format::Mcp => with_in_json(text, format, entry),
    }
}

/// Returns the settings without the server.
///
/// # Errors
/// The text is not in this format.
pub(super) fn without_server(text: &str, format: Format, name: &str) -> Result<String, String> {
    if format == Format::Toml {
        let mut document: DocumentMut = text
            .parse()
            .map_err(|error: toml_edit::TomlError| error.to_string())?;
        if let Some(servers) = document
            .get_mut("mcp_servers")
            .and_then(Item::as_table_like_mut)
        {
            servers.remove(name);
        }
        return Ok(document.to_string());
    }
    let root = parse(text)?;
    let servers = root
        .object_value()
        .and_then(|object| object.object_value(key(format)));
    if let Some(server) = servers.and_then(|servers| servers.get(name)) {
        server.remove();
    }
    Ok(root.to_string())
}

const fn key(format: Format) -> &'static str {
    match format {
        Format::McpServers => "mcpServers",
        Format::Mcp => "mcp",
        Format::Toml => "mcp_servers",
    }
}

fn no_table(name: &str) -> String {
    format!("`{name}` holds something else than settings")
}

fn is_elsewhere(name: &str) -> String {
    format!("`{name}` is a server at an address, not a program")
}

fn parse(text: &str) -> Result<CstRootNode, String> {
    let options = ParseOptions {
        allow_comments: true,
        allow_trailing_commas: true,
        allow_loose_object_property_names: false,
        allow_missing_commas: false,
        allow_single_quoted_strings: false,
        allow_hexadecimal_numbers: false,
        allow_unary_plus_numbers: false,
        allow_bare_decimal_point_numbers: false,
        allow_non_finite_numbers: false,
        allow_extended_string_escapes: false,
    };
    let text = if text.trim().is_empty() { "{}\n" } else { text };
    CstRootNode::parse(text, &options).map_err(|error| error.to_string())
}

fn with_in_json(text: &str, format: Format, entry: &Entry) -> Result<String, String> {
    let root = parse(text)?;
    let object = root
        .object_value_or_create()
        .ok_or_else(|| "it is no object".to_owned())?;
    let servers = object
        .object_value_or_create(key(format))
        .ok_or_else(|| no_table(key(format)))?;
    let server = servers
        .object_value_or_create(&entry.name)
        .ok_or_else(|| no_table(&entry.name))?;
    if ["url", "httpUrl", "serverUrl"]
        .iter()
        .any(|name| server.get(name).is_some())
    {
        return Err(is_elsewhere(&entry.name));
    }
    for (name, value) in entry.fields(format) {
        set(&server, name, &value);
    }
    Ok(root.to_string())
}

/// Sets a field, unless it says the same already, in whatever layout.
fn set(object: &CstObject, name: &str, value: &Value) {
    match object.get(name) {
        Some(field) => {
            let written = field
                .value()
                .map(|value| value.to_string())
                .unwrap_or_default();
            if serde_json::from_str::<Value>(&written).ok().as_ref() != Some(value) {
                field.set_value(input(value));
            }
        }
        None => drop(object.append(name, input(value))),
    }
}

fn input(value: &Value) -> CstInputValue {
    match value {
        Value::Null => CstInputValue::Null,
        Value::Bool(value) => CstInputValue::Bool(*value),
        Value::Number(number) => CstInputValue::Number(number.to_string()),
        Value::String(text) => CstInputValue::String(text.clone()),
        Value::Array(values) => CstInputValue::Array(values.iter().map(input).collect()),
        Value::Object(fields) => CstInputValue::Object(
            fields
                .iter()
                .map(|(name, value)| (name.clone(), input(value)))
                .collect(),
        ),
    }
}

fn with_in_toml(text: &str, entry: &Entry) -> Result<String, String> {
    let mut document: DocumentMut = text
        .parse()
        .map_err(|error: toml_edit::TomlError| error.to_string())?;
    let servers = table(document.as_table_mut(), key(Format::Toml), true)?;
    let server = table(servers, &entry.name, false)?;
    if server.contains_key("url") {
        return Err(is_elsewhere(&entry.name));
    }
    if server.get("command").and_then(Item::as_str) != Some(&entry.program) {
        server.insert("command", toml_edit::value(&entry.program));
    }
    let arguments = server.get("args").and_then(Item::as_array);
    let written: Option<Vec<&str>> =
        arguments.and_then(|list| list.iter().map(toml_edit::Value::as_str).collect());
    if written.is_none_or(|written| written != entry.arguments) {
        server.insert(
            "args",
            toml_edit::value(entry.arguments.iter().collect::<Array>()),
        );
    }
    Ok(document.to_string())
}

/// Returns a table, made where there is none; one that holds nothing but tables needs no heading of its own.
fn table<'t>(
    parent: &'t mut dyn TableLike,
    name: &str,
    is_implicit: bool,
) -> Result<&'t mut dyn TableLike, String> {
    let mut fresh = Table::new();
    fresh.set_implicit(is_implicit);
    let item = parent.entry(name).or_insert(Item::Table(fresh));
    item.as_table_like_mut().ok_or_else(|| no_table(name))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entry() -> Entry {
        Entry {
            name: "tm".to_owned(),
            program: "/bin/tm".to_owned(),
            arguments: vec!["mcp".to_owned()],
        }
    }

    #[test]
    fn a_new_file_holds_the_server_alone() {
        insta::assert_snapshot!(with_server("", Format::McpServers, &entry()).unwrap(), @r#"
        {
          "mcpServers": {
            "tm": {
              "command": "/bin/tm",
              "args": ["mcp"]
            }
          }
        }
        "#);
        insta::assert_snapshot!(with_server("", Format::Mcp, &entry()).unwrap(), @r#"
        {
          "mcp": {
            "tm": {
              "type": "local",
              "command": ["/bin/tm", "mcp"],
              "enabled": true
            }
          }
        }
        "#);
        insta::assert_snapshot!(with_server("", Format::Toml, &entry()).unwrap(), @r#"
        [mcp_servers.tm]
        command = "/bin/tm"
        args = ["mcp"]
        "#);
    }

    #[test]
    fn everything_else_keeps_its_bytes() {
        let json = "// mine\n{\n    \"theme\": \"dark\", // yes\n    \"mcpServers\": {\n        \"other\": {\"command\": \"x\"}\n    },\n}\n";
        insta::assert_snapshot!(with_server(json, Format::McpServers, &entry()).unwrap(), @r#"
        // mine
        {
            "theme": "dark", // yes
            "mcpServers": {
                "other": {"command": "x"},
                "tm": {
                    "command": "/bin/tm",
                    "args": ["mcp"]
                }
            },
        }
        "#);
        let toml = "# mine\nmodel = \"o3\"  # yes\n\n[mcp_servers.other]\ncommand = \"x\"\n\n[profiles.a]\nb = 1\n";
        insta::assert_snapshot!(with_server(toml, Format::Toml, &entry()).unwrap(), @r#"
        # mine
        model = "o3"  # yes

        [mcp_servers.other]
        command = "x"

        [mcp_servers.tm]
        command = "/bin/tm"
        args = ["mcp"]

        [profiles.a]
        b = 1
        "#);
    }

    #[test]
    fn the_same_server_again_changes_nothing_and_taken_out_leaves_what_was_there() {
        let files = [
            (
                Format::McpServers,
                "{\"a\": 1, /* b */ \"mcpServers\": {\"x\": {}}}",
            ),
            (Format::Mcp, "{\n\t\"mcp\": {\n\t\t\"x\": {}\n\t}\n}\n"),
            (Format::Toml, "[mcp_servers.x]\ncommand = \"y\"\n"),
        ];
        for (format, text) in files {
            let once = with_server(text, format, &entry()).unwrap();
            assert_eq!(with_server(&once, format, &entry()).unwrap(), once);
            let without = without_server(&once, format, "tm").unwrap();
            assert!(
                !without.contains("/bin/tm") && without.contains('x'),
                "{without}"
            );
            assert_eq!(
                without_server(text, format, "tm").unwrap(),
                text,
                "nothing was there to take out"
            );
        }
    }

    #[test]
    fn what_a_user_added_to_the_server_stays_and_its_command_is_renewed() {
        let json = "{\"mcpServers\": {\"tm\": {\"command\": \"/old/tm\", \"args\": [\n \"mcp\" ], \"env\": {\"A\": \"1\"}}}}";
        let changed = with_server(json, Format::McpServers, &entry()).unwrap();
        assert_eq!(changed, json.replace("/old/tm", "/bin/tm"));
        let toml = "[mcp_servers.tm]\ncommand = \"/old/tm\" # why\nargs = [ \"mcp\" ]\nstartup_timeout_sec = 20\n";
        let changed = with_server(toml, Format::Toml, &entry()).unwrap();
        assert!(
            changed.contains("\"/bin/tm\"")
                && changed.contains("args = [ \"mcp\" ]\nstartup_timeout_sec = 20"),
            "{changed}"
        );
    }

    #[test]
    fn settings_that_are_something_else_are_refused() {
        for (format, text, part) in [
            (Format::McpServers, "{\"mcpServers\": [", "line 1"),
            (Format::McpServers, "[1]", "no object"),
            (Format::McpServers, "{\"mcpServers\": []}", "`mcpServers`"),
            (Format::McpServers, "{\"mcpServers\": {\"tm\": 1}}", "`tm`"),
            (
                Format::McpServers,
                "{\"mcpServers\": {\"tm\": {\"url\": \"http://x\"}}}",
                "address",
            ),
            (Format::Mcp, "{'mcp': {}}", "line 1"),
            (Format::Toml, "mcp_servers = 1", "`mcp_servers`"),
            (Format::Toml, "[mcp_servers", "TOML"),
            (
                Format::Toml,
                "[mcp_servers.tm]\nurl = \"http://x\"",
                "address",
            ),
        ] {
            let why = with_server(text, format, &entry()).unwrap_err();
            assert!(why.contains(part), "{text}: {why}");
        }
    }
}
