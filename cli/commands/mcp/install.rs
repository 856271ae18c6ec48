//! `tm mcp install`: tells a client of the server, by the client's own command, or in its file where it has none.

use crate::arguments::{InstallArguments, InstallScope, McpClient};
use crate::display::{print_data, print_line};
use crate::failure::{CommandFailure, ExitCode};
use serde_json::{Map, Value, json};
use std::path::{Path, PathBuf};
use std::time::Duration;
use tm_executors::process::{TreeCommand, run_captured};
use tm_worktrees::Repository;

/// How long a client may take to change its settings.
const LIMIT: Duration = Duration::from_mins(1);
/// No settings of a client are longer.
const LONGEST_SETTINGS: u64 = 64 * 1024 * 1024;
/// What decides where tm keeps its files and what it serves. Clients start servers with few of their own variables.
const CARRIED: [&str; 3] = ["TM_HOME", "TASKMASTER_TAG", "TASK_MASTER_TOOLS"];

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

pub(super) async fn install(
    start: &Path,
    arguments: &InstallArguments,
) -> Result<u8, CommandFailure> {
    let project = Repository::discover(start).map_or_else(
        |_| start.to_owned(),
        |found| found.checkout_root().to_owned(),
    );
    let server = Server::new(arguments)?;
    let way = server.way(arguments, &project)?;
    match (way, arguments.print) {
        (Way::Command(program, words), true) => {
            print_line("run this:");
            print_data(&format!("{program} {}\n", shell_words::join(words)));
        }
        (Way::Command(program, words), false) => ask(program, &words, &project).await?,
        (Way::File(path, key), true) => {
            print_line(&format!("add this to {}:", path.display()));
            let added = json!({key: {server.name.as_str(): server.entry(arguments.client)}});
            print_data(&(serde_json::to_string_pretty(&added)? + "\n"));
        }
        (Way::File(path, key), false) => write(&server, &path, key, arguments)?,
    }
    Ok(0)
}

impl Server {
    /// As `tm` where that is this very program, so that a file can be shared.
    fn new(arguments: &InstallArguments) -> Result<Self, CommandFailure> {
        let own = std::env::current_exe()?;
        let own = own.canonicalize().unwrap_or(own);
        let found = which::which("tm").ok();
        let is_found = found.and_then(|found| found.canonicalize().ok()).as_ref() == Some(&own);
        let tools = arguments.tools.as_ref();
        let carried = CARRIED
            .iter()
            .filter_map(|name| Some(((*name).to_owned(), std::env::var(name).ok()?.into())));
        Ok(Self {
            name: arguments.name.clone(),
            program: if is_found {
                "tm".to_owned()
            } else {
                own.display().to_string()
            },
            arguments: std::iter::once("mcp".to_owned())
                .chain(tools.map(|tools| format!("--tools={tools}")))
                .collect(),
            environment: carried.collect(),
        })
    }

    fn way(&self, arguments: &InstallArguments, project: &Path) -> Result<Way, CommandFailure> {
        let is_user = arguments.scope == InstallScope::User;
        let scope = if is_user { "user" } else { "project" };
        let (program, scope): (_, &[&str]) = match arguments.client {
            McpClient::Claude => ("claude", &["--scope", scope]),
            McpClient::Gemini => ("gemini", &["--scope", scope]),
            McpClient::Codex if is_user => ("codex", &[]),
            McpClient::Codex => {
                return Err(
                    CommandFailure::new("Codex adds servers for all projects only")
                        .code(ExitCode::Usage)
                        .hint("leave `--scope project` out"),
                );
            }
            McpClient::Opencode if is_user && !arguments.remove => ("opencode", &[]),
            McpClient::Opencode => return Ok(Way::File(opencode_file(is_user, project)?, "mcp")),
            McpClient::Cursor => {
                let folder = if is_user { home()? } else { project.to_owned() };
                return Ok(Way::File(folder.join(".cursor/mcp.json"), "mcpServers"));
            }
        };
        let mut words = vec![
            "mcp",
            if arguments.remove { "remove" } else { "add" },
            &self.name,
        ];
        if arguments.remove {
            words.extend(scope);
            return Ok(Way::Command(
                program,
                words.into_iter().map(Into::into).collect(),
            ));
        }
        // Gemini takes the program for an argument of its own, and what follows `--` for the program's.
        let command = std::iter::once(self.program.as_str());
        let command: Vec<&str> = command
            .chain(self.arguments.iter().map(String::as_str))
            .collect();
        let (own, rest) = command.split_at(usize::from(arguments.client == McpClient::Gemini));
        words.extend(own.iter().chain(scope));
        let carried: Vec<String> = self
            .environment
            .iter()
            .map(|(name, value)| format!("{name}={}", value.as_str().unwrap_or_default()))
            .collect();
        words.extend(carried.iter().flat_map(|variable| ["--env", variable]));
        words.push("--");
        words.extend(rest);
        Ok(Way::Command(
            program,
            words.into_iter().map(Into::into).collect(),
        ))
    }

    /// What a file says of the server.
    fn entry(&self, client: McpClient) -> Value {
        let (program, arguments, environment) = (&self.program, &self.arguments, &self.environment);
        if client != McpClient::Opencode {
            return json!({"command": program, "args": arguments, "env": environment});
        }
        let command: Vec<&String> = std::iter::once(program).chain(arguments).collect();
        json!({"type": "local", "command": command, "environment": environment})
    }
}

fn home() -> Result<PathBuf, CommandFailure> {
    std::env::home_dir()
        .ok_or_else(|| CommandFailure::new("find your home folder").hint("set HOME"))
}

fn opencode_file(is_user: bool, project: &Path) -> Result<PathBuf, CommandFailure> {
    let folder = match std::env::var_os("XDG_CONFIG_HOME").filter(|value| !value.is_empty()) {
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
async fn ask(program: &str, words: &[String], folder: &Path) -> Result<(), CommandFailure> {
    let Ok(found) = which::which(program) else {
        return Err(CommandFailure::new(format!("find `{program}` in PATH"))
            .hint("install it, or see what to run with `--print`"));
    };
    let command = TreeCommand {
        program: found.into(),
        arguments: words.iter().map(Into::into).collect(),
        working_folder: folder.to_owned(),
        ..TreeCommand::default()
    };
    let answer = run_captured(command, LIMIT).await?;
    let said = tm_untrusted::clean(&(answer.stdout.clone() + &answer.stderr));
    let first = said
        .lines()
        .find(|line| line.contains(char::is_alphanumeric));
    let first = first.unwrap_or("it says nothing").trim();
    match answer.status {
        Some(status) if status.success() => {
            print_line(&format!("{program}: {first}"));
            Ok(())
        }
        Some(_) => Err(
            CommandFailure::new(format!("have `{program}` do it: {first}"))
                .hint("take the server out first with `--remove`, or use another `--name`"),
        ),
        None => Err(
            CommandFailure::new(format!("have `{program}` do it within a minute"))
                .hint("see what to run with `--print`"),
        ),
    }
}

/// Changes a file of settings itself; everything else in it stays, in its order.
fn write(
    server: &Server,
    path: &Path,
    key: &str,
    arguments: &InstallArguments,
) -> Result<(), CommandFailure> {
    let (name, shown) = (&server.name, path.display());
    let failed = |why: &dyn std::fmt::Display| {
        CommandFailure::new(format!("change `{shown}`: {why}"))
            .hint("set it right, or see what to write with `--print`")
    };
    let read = match tm_untrusted::read_own(path, LONGEST_SETTINGS) {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => None,
        read => Some(read.map_err(|error| failed(&error))?),
    };
    let mut settings: Value = match (&read, arguments.client) {
        (Some(bytes), _) => serde_json::from_slice(bytes).map_err(|error| failed(&error))?,
        // opencode adds it at its next start, and the file would be another one then.
        (None, McpClient::Opencode) => json!({"$schema": "https://opencode.ai/config.json"}),
        (None, _) => json!({}),
    };
    let before = settings.clone();
    let servers = settings
        .as_object_mut()
        .map(|settings| settings.entry(key).or_insert_with(|| json!({})))
        .and_then(Value::as_object_mut)
        .ok_or_else(|| failed(&format!("`{key}` holds something else than servers")))?;
    if arguments.remove {
        servers.shift_remove(name);
    } else {
        servers.insert(name.clone(), server.entry(arguments.client));
    }
    let is_there = !arguments.remove;
    if before.get(key).and_then(|servers| servers.get(name)) == settings[key].get(name) {
        print_line(&if is_there {
            format!("`{name}` is in {shown} already")
        } else {
            format!("there is no `{name}` in {shown}")
        });
        return Ok(());
    }
    if let Some(folder) = path.parent() {
        std::fs::create_dir_all(folder)?;
    }
    let text = serde_json::to_string_pretty(&settings)? + "\n";
    tm_store::atomic::replace(path, text.as_bytes())?;
    print_line(&if is_there {
        format!("`{name}` is now in {shown}")
    } else {
        format!("`{name}` is no longer in {shown}")
    });
    Ok(())
}
