//! `tm mcp install`: tells a client of the server, in the file where that client keeps its servers.

use super::settings_file::{Entry, Format, with_server, without_server};
use crate::arguments::{InstallArguments, InstallScope, McpClient};
use crate::display::{print_data, print_line};
use crate::failure::CommandFailure;
use std::path::{Path, PathBuf};
use tm_worktrees::Repository;

/// No settings of a client are longer.
const LONGEST_SETTINGS: u64 = 64 * 1024 * 1024;

/// A file with servers in it.
struct Place {
    path: PathBuf,
    format: Format,
}

/// Where clients look for their settings.
struct Folders {
    project: PathBuf,
    home: Option<PathBuf>,
    /// Variables by which clients are told of another folder.
    variable: fn(&str) -> Option<PathBuf>,
}

pub(super) fn install(start: &Path, arguments: &InstallArguments) -> Result<u8, CommandFailure> {
    let project = Repository::discover(start).map_or_else(
        |_| start.to_owned(),
        |found| found.checkout_root().to_owned(),
    );
    let variable = |name: &str| {
        std::env::var_os(name)
            .filter(|value| !value.is_empty())
            .map(PathBuf::from)
    };
    let folders = Folders {
        project,
        home: std::env::home_dir(),
        variable,
    };
    let place = folders.place(arguments.client, arguments.scope)?;
    let shown = place.path.display();
    let entry = entry(arguments)?;
    if arguments.print {
        print_line(&format!("add this to {shown}:"));
        print_data(
            &(with_server("", place.format, &entry)
                .map_err(CommandFailure::new)?
                .trim_end()
                .to_owned()
                + "\n"),
        );
        return Ok(0);
    }
    let name = &entry.name;
    let read = tm_untrusted::read_own(&place.path, LONGEST_SETTINGS).map(String::from_utf8);
    let before = match read {
        Ok(Ok(text)) => text,
        Ok(Err(_)) => {
            return Err(CommandFailure::new(format!(
                "read `{shown}`: it is not UTF-8"
            )));
        }
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => String::new(),
        Err(error) => return Err(CommandFailure::new(format!("read `{shown}`: {error}"))),
    };
    let after = if arguments.remove {
        without_server(&before, place.format, name)
    } else {
        with_server(&before, place.format, &entry)
    };
    let after = after.map_err(|why| {
        CommandFailure::new(format!("change `{shown}`: {}", why.trim_end()))
            .hint("set it right, or see what to write with `--print`, or use another `--name`")
    })?;
    let is_same = after == before || (arguments.remove && before.is_empty());
    if !is_same {
        if let Some(folder) = place.path.parent() {
            std::fs::create_dir_all(folder)?;
        }
        tm_store::atomic::replace(&place.path, after.as_bytes())?;
    }
    print_line(&match (arguments.remove, is_same) {
        (false, false) => format!(
            "`{name}` is now in {shown}: `{} {}`",
            entry.program,
            entry.arguments.join(" ")
        ),
        (false, true) => format!("`{name}` is in {shown} already"),
        (true, false) => format!("`{name}` is no longer in {shown}"),
        (true, true) => format!("there is no `{name}` in {shown}"),
    });
    Ok(0)
}

/// The server as clients start it: as `tm` where that is this very program, so that a file can be shared.
fn entry(arguments: &InstallArguments) -> Result<Entry, CommandFailure> {
    let own = std::env::current_exe()?;
    let own = own.canonicalize().unwrap_or(own);
    let is_found = which::which("tm")
        .ok()
        .and_then(|found| found.canonicalize().ok())
        .is_some_and(|found| found == own);
    let tools = arguments
        .tools
        .as_ref()
        .map(|tools| format!("--tools={tools}"));
    Ok(Entry {
        name: arguments.name.clone(),
        program: if is_found {
            "tm".to_owned()
        } else {
            own.display().to_string()
        },
        arguments: std::iter::once("mcp".to_owned()).chain(tools).collect(),
    })
}

impl Folders {
    fn place(
        &self,
        client: McpClient,
        scope: Option<InstallScope>,
    ) -> Result<Place, CommandFailure> {
        // Codex reads the settings of a project only where it has been told to trust it.
        let usual = if client == McpClient::Codex {
            InstallScope::User
        } else {
            InstallScope::Project
        };
        let is_user = scope.unwrap_or(usual) == InstallScope::User;
        let (folder, name, format) = match client {
            McpClient::Claude if is_user => (
                self.home_or("CLAUDE_CONFIG_DIR", ""),
                ".claude.json",
                Format::McpServers,
            ),
            McpClient::Claude => (Some(self.project.clone()), ".mcp.json", Format::McpServers),
            McpClient::Cursor => (
                self.either(is_user, ".cursor"),
                "mcp.json",
                Format::McpServers,
            ),
            McpClient::Gemini => (
                self.either(is_user, ".gemini"),
                "settings.json",
                Format::McpServers,
            ),
            McpClient::Codex if is_user => (
                self.home_or("CODEX_HOME", ".codex"),
                "config.toml",
                Format::Toml,
            ),
            McpClient::Codex => (
                Some(self.project.join(".codex")),
                "config.toml",
                Format::Toml,
            ),
            McpClient::Opencode if is_user => {
                let own = (self.variable)("XDG_CONFIG_HOME").map(|folder| folder.join("opencode"));
                (
                    own.or_else(|| self.in_home(".config/opencode")),
                    "opencode.json",
                    Format::Mcp,
                )
            }
            McpClient::Opencode => (Some(self.project.clone()), "opencode.json", Format::Mcp),
        };
        let folder =
            folder.ok_or_else(|| CommandFailure::new("find your home folder").hint("set HOME"))?;
        let with_comments = folder.join("opencode.jsonc");
        let has_comments = format == Format::Mcp && with_comments.is_file();
        Ok(Place {
            path: if has_comments {
                with_comments
            } else {
                folder.join(name)
            },
            format,
        })
    }

    fn in_home(&self, name: &str) -> Option<PathBuf> {
        self.home.as_ref().map(|home| home.join(name))
    }

    fn either(&self, is_user: bool, name: &str) -> Option<PathBuf> {
        if is_user {
            self.in_home(name)
        } else {
            Some(self.project.join(name))
        }
    }

    fn home_or(&self, variable: &str, name: &str) -> Option<PathBuf> {
        (self.variable)(variable).or_else(|| self.in_home(name))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_client_has_its_own_files() {
        let folders = Folders {
            project: "/p".into(),
            home: Some("/h".into()),
            variable: |_| None,
        };
        let path = |client, scope| {
            folders
                .place(client, scope)
                .ok()
                .map(|place| place.path.display().to_string())
        };
        let of =
            |client| [None, Some(InstallScope::User)].map(|scope| path(client, scope).unwrap());
        assert_eq!(of(McpClient::Claude), ["/p/.mcp.json", "/h/.claude.json"]);
        assert_eq!(
            of(McpClient::Codex),
            ["/h/.codex/config.toml", "/h/.codex/config.toml"]
        );
        assert_eq!(
            of(McpClient::Gemini),
            ["/p/.gemini/settings.json", "/h/.gemini/settings.json"]
        );
        assert_eq!(
            of(McpClient::Opencode),
            ["/p/opencode.json", "/h/.config/opencode/opencode.json"]
        );
        assert_eq!(
            of(McpClient::Cursor),
            ["/p/.cursor/mcp.json", "/h/.cursor/mcp.json"]
        );
        assert_eq!(
            path(McpClient::Codex, Some(InstallScope::Project)).unwrap(),
            "/p/.codex/config.toml"
        );
    }

    #[test]
    fn without_a_home_folder_only_projects_have_a_place() {
        let folders = Folders {
            project: "/p".into(),
            home: None,
            variable: |_| None,
        };
        assert!(
            folders
                .place(McpClient::Gemini, Some(InstallScope::User))
                .is_err()
        );
        assert!(folders.place(McpClient::Gemini, None).is_ok());
        let told = Folders {
            variable: |name| Some(PathBuf::from("/v").join(name)),
            ..folders
        };
        let place = told
            .place(McpClient::Codex, None)
            .ok()
            .map(|place| place.path);
        assert_eq!(place, Some("/v/CODEX_HOME/config.toml".into()));
    }
}
