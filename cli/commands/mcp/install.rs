//! `tm mcp install`: tells a client of the server, by the client's own command, or in its file where it has none.

use crate::commands::Perform;
use crate::commands::demo::write;
use crate::display::{json_text, print_json};
use crate::environment::variable;
use crate::failure::{CommandFailure, Result};
use crate::project::root_around;
use crate::words::is_of_name;
use clap::{Args, ValueEnum};
use itertools::Itertools as _;
use serde_json::{Map, Value, json};
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::time::Duration;
use tm_executors::process::{Captured, TreeCommand, run_captured};

/// How long a client may take to change its settings.
const LIMIT: Duration = Duration::from_mins(1);
/// No settings of a client are longer.
const LONGEST_SETTINGS: u64 = 64 * 1024 * 1024;
/// What decides where tm keeps its files and what it serves. Clients start servers with few of their own variables.
const CARRIED: [&str; 3] = ["TM_HOME", "TASKMASTER_TAG", "TASK_MASTER_TOOLS"];

/// `tm mcp install`.
#[derive(Args)]
pub(crate) struct InstallArguments {
    /// The client.
    client: McpClient,
    /// Whose settings: the project's, which others may share, or your own, for all projects.
    #[arg(long, short, value_enum, default_value_t = InstallScope::User)]
    scope: InstallScope,
    /// What the server is called in there.
    #[arg(long, default_value = "tm", value_parser = server_name)]
    name: String,
    /// The tools to offer, as in `tm mcp --tools`.
    #[arg(long, conflicts_with = "remove")]
    tools: Option<String>,
    /// Print what would be run or added, and change nothing.
    #[arg(long, conflicts_with = "remove")]
    print: bool,
    /// Take the server out again.
    #[arg(long)]
    remove: bool,
}

/// Clients put the name into the names of tools.
fn server_name(text: &str) -> Result<String, String> {
    if !text.is_empty() && text.chars().all(is_of_name) {
        Ok(text.to_owned())
    } else {
        Err("a name is made of letters, digits, `-` and `_`".to_owned())
    }
}

/// Whose settings are changed.
#[derive(Clone, Copy, Eq, PartialEq, ValueEnum)]
enum InstallScope {
    /// Those of the project, which others may share.
    Project,
    /// Your own, for all projects.
    User,
}

/// Clients whose settings are known.
#[derive(Clone, Copy, Eq, PartialEq, ValueEnum)]
enum McpClient {
    /// Claude Code.
    Claude,
    /// Codex.
    Codex,
    /// Gemini CLI.
    Gemini,
    /// opencode.
    Opencode,
    /// Cursor.
    Cursor,
}

/// A server as a client is told of it.
#[derive(Debug)]
struct Server {
    name: String,
    program: String,
    arguments: Vec<String>,
    environment: Map<String, Value>,
}

/// How a client is told.
#[derive(Debug)]
enum Way {
    /// It is asked to: its program and the words.
    Command(&'static str, Vec<String>),
    /// It reads this file, in which servers stand under this key.
    File(PathBuf, &'static str),
}

impl Perform for InstallArguments {
    async fn perform(self, start: &Path) -> Result {
        let project = root_around(start);
        let server = Server::new(&self)?;
        match (server.way(&self, &project)?, self.print) {
            (Way::Command(program, words), true) => {
                say!("run this:");
                data!("{program} {}\n", shell_words::join(words));
            }
            (Way::Command(program, words), false) => ask(program, &words, &project).await?,
            (Way::File(path, key), true) => {
                say!("add this to {}:", path.display());
                let entry = server.entry(self.client);
                return print_json(&json!({key: {server.name.as_str(): entry}}));
            }
            (Way::File(path, key), false) => self.change(&server, &path, key)?,
        }
        Ok(0)
    }
}

impl Server {
    fn new(arguments: &InstallArguments) -> Result<Self> {
        let tools = arguments.tools.as_ref();
        let tools = tools.map(|tools| format!("--tools={tools}"));
        let carried = CARRIED
            .iter()
            .filter_map(|name| Some(((*name).to_owned(), std::env::var(name).ok()?.into())));
        Ok(Self {
            name: arguments.name.clone(),
            program: own_program()?,
            arguments: std::iter::once("mcp".to_owned()).chain(tools).collect(),
            environment: carried.collect(),
        })
    }

    fn way(&self, arguments: &InstallArguments, project: &Path) -> Result<Way> {
        let is_user = arguments.scope == InstallScope::User;
        let scope = if is_user { "user" } else { "project" };
        let (program, scope): (_, &[&str]) = match arguments.client {
            McpClient::Claude => ("claude", &["--scope", scope]),
            McpClient::Gemini => ("gemini", &["--scope", scope]),
            McpClient::Codex if is_user => ("codex", &[]),
            McpClient::Codex => {
                return Err(failure!("Codex adds servers for all projects only")
                    .usage("leave `--scope project` out"));
            }
            McpClient::Opencode if is_user && !arguments.remove => ("opencode", &[]),
            McpClient::Opencode => return Ok(Way::File(opencode_file(is_user, project)?, "mcp")),
            McpClient::Cursor => {
                let folder = if is_user { home()? } else { project.to_owned() };
                return Ok(Way::File(folder.join(".cursor/mcp.json"), "mcpServers"));
            }
        };
        let words = if arguments.remove {
            let words = ["mcp", "remove", &self.name]
                .into_iter()
                .chain(scope.iter().copied());
            words.map(Into::into).collect()
        } else {
            // Gemini takes the program for an argument of its own, and what follows `--` for the program's.
            self.added(usize::from(arguments.client == McpClient::Gemini), scope)
        };
        Ok(Way::Command(program, words))
    }

    /// The words that add it, so many of the server's own before `--`.
    fn added(&self, before: usize, scope: &[&str]) -> Vec<String> {
        let command = std::iter::once(&self.program).chain(&self.arguments);
        let command = command.map(String::as_str).collect_vec();
        let (own, rest) = command.split_at(before);
        let carried = self.environment.iter().flat_map(|(name, value)| {
            let value = value.as_str().unwrap_or_default();
            ["--env".to_owned(), format!("{name}={value}")]
        });
        let words = ["mcp", "add", &self.name];
        let words = words
            .iter()
            .chain(own)
            .chain(scope)
            .map(|word| (*word).to_owned());
        let rest = std::iter::once(&"--")
            .chain(rest)
            .map(|word| (*word).to_owned());
        words.chain(carried).chain(rest).collect()
    }

    /// What a file says of the server.
    fn entry(&self, client: McpClient) -> Value {
        let (program, arguments, environment) = (&self.program, &self.arguments, &self.environment);
        if client != McpClient::Opencode {
            return json!({"command": program, "args": arguments, "env": environment});
        }
        let command = std::iter::once(program).chain(arguments).collect_vec();
        json!({"type": "local", "command": command, "environment": environment})
    }
}

/// As `tm` where that is this very program, so that a file can be shared.
fn own_program() -> Result<String> {
    let own = std::env::current_exe()?;
    let own = own.canonicalize().unwrap_or(own);
    let found = which::which("tm").map(|found| found.canonicalize());
    Ok(match found {
        Ok(Ok(found)) if found == own => "tm".to_owned(),
        _ => own.display().to_string(),
    })
}

fn home() -> Result<PathBuf> {
    std::env::home_dir().ok_or_else(|| failure!("find your home folder").hint("set HOME"))
}

fn opencode_file(is_user: bool, project: &Path) -> Result<PathBuf> {
    let folder = match variable("XDG_CONFIG_HOME") {
        _ if !is_user => project.to_owned(),
        Some(folder) => PathBuf::from(folder).join("opencode"),
        None => home()?.join(".config/opencode"),
    };
    let with_comments = folder.join("opencode.jsonc");
    Ok(if with_comments.is_file() {
        with_comments
    } else {
        folder.join("opencode.json")
    })
}

/// Has a client change its own settings.
async fn ask(program: &str, words: &[String], folder: &Path) -> Result<()> {
    let Ok(found) = which::which(program) else {
        return Err(failure!("find `{program}` in PATH")
            .hint("install it, or see what to run with `--print`"));
    };
    let command = TreeCommand {
        program: found.into(),
        arguments: words.iter().map(Into::into).collect(),
        working_folder: folder.to_owned(),
        ..TreeCommand::default()
    };
    told(program, &run_captured(command, LIMIT).await?)
}

/// What a client said to it, and whether it did it.
fn told(program: &str, answer: &Captured) -> Result<()> {
    let said = tm_untrusted::clean(&(answer.stdout.clone() + &answer.stderr));
    let mut lines = said.lines();
    let first = lines.find(|line| line.contains(char::is_alphanumeric));
    let first = first.unwrap_or("it says nothing").trim();
    match answer.status {
        Some(status) if status.success() => {
            say!("{program}: {first}");
            Ok(())
        }
        Some(_) => Err(failure!("have `{program}` do it: {first}")
            .hint("take the server out first with `--remove`, or use another `--name`")),
        None => Err(failure!("have `{program}` do it within a minute")
            .hint("see what to run with `--print`")),
    }
}

impl InstallArguments {
    /// Changes a file of settings itself; everything else in it stays, in its order.
    fn change(&self, server: &Server, path: &Path, key: &str) -> Result<()> {
        let (name, shown) = (&server.name, path.display());
        let mut settings = self.settings(path)?;
        let servers = servers_in(&mut settings, key).ok_or_else(|| {
            unchanged(path, &format!("`{key}` holds something else than servers"))
        })?;
        let is_same = if self.remove {
            servers.shift_remove(name).is_none()
        } else {
            let entry = server.entry(self.client);
            servers.insert(name.clone(), entry.clone()) == Some(entry)
        };
        if !is_same {
            write(path, &json_text(&settings)?)?;
        }
        match (self.remove, is_same) {
            (false, false) => say!("`{name}` is now in {shown}"),
            (false, true) => say!("`{name}` is in {shown} already"),
            (true, false) => say!("`{name}` is no longer in {shown}"),
            (true, true) => say!("there is no `{name}` in {shown}"),
        }
        Ok(())
    }
    fn settings(&self, path: &Path) -> Result<Value> {
        match tm_untrusted::read_own(path, LONGEST_SETTINGS) {
            Ok(bytes) => serde_json::from_slice(&bytes).map_err(|error| unchanged(path, &error)),
            Err(error) if error.kind() != ErrorKind::NotFound => Err(unchanged(path, &error)),
            // opencode adds it at its next start, and the file would be another one then.
            Err(_) if self.client == McpClient::Opencode => {
                Ok(json!({"$schema": "https://opencode.ai/config.json"}))
            }
            Err(_) => Ok(json!({})),
        }
    }
}

/// The servers that settings name, which are made where they are missing.
fn servers_in<'s>(settings: &'s mut Value, key: &str) -> Option<&'s mut Map<String, Value>> {
    let settings = settings.as_object_mut()?;
    let servers = settings.entry(key).or_insert_with(|| json!({}));
    servers.as_object_mut()
}

fn unchanged(path: &Path, why: &dyn std::fmt::Display) -> CommandFailure {
    failure!("change `{}`: {why}", path.display())
        .hint("set it right, or see what to write with `--print`")
}
