//! Answers a program's permission questions: what it may do is settled before it asks.

use serde_json::Value;
use std::path::{Component, Path, PathBuf};

/// What a program may do.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Allowed {
    /// Whatever it asks for.
    Everything,
    /// To read, to run commands, and to change files in its worktree.
    Worktree,
    /// To read, and to change files in its worktree.
    Edits,
}

/// The answer to one question.
#[derive(Clone, Debug)]
pub(super) struct Answer {
    /// Why it may not, where it may not.
    pub(super) refused: Option<&'static str>,
    /// The id of the option that says so; `None` when none does.
    pub(super) option: Option<Value>,
}

impl Answer {
    pub(super) const fn as_str(&self) -> &'static str {
        match self.refused {
            None => "allowed",
            Some(_) => "refused",
        }
    }
}

/// Knows what is allowed, and where.
#[derive(Clone, Debug)]
pub(super) struct Broker {
    allowed: Allowed,
    worktree: PathBuf,
    writable: Vec<PathBuf>,
}

impl Broker {
    pub(super) fn new(allowed: Allowed, worktree: &Path, writable: &[PathBuf]) -> Self {
        let writable = std::iter::once(worktree)
            .chain(writable.iter().map(PathBuf::as_path))
            .map(resolved)
            .collect();
        Self {
            allowed,
            worktree: worktree.to_owned(),
            writable,
        }
    }

    /// Answers with the narrowest of the options that say what was decided.
    pub(super) fn answer(&self, request: &Value) -> Answer {
        let refused = self.why_not(&request["toolCall"]);
        let kinds = match refused {
            None => ["allow_once", "allow_always"],
            Some(_) => ["reject_once", "reject_always"],
        };
        let options = request["options"].as_array();
        let option = kinds.iter().find_map(|kind| {
            options
                .into_iter()
                .flatten()
                .find(|option| option["kind"] == *kind)
        });
        let unsaid = || Some("it offers no way to allow it").filter(|_| option.is_none());
        Answer {
            refused: refused.or_else(unsaid),
            option: option.map(|option| option["optionId"].clone()),
        }
    }

    /// Returns why a tool may not be used, where it may not.
    fn why_not(&self, tool: &Value) -> Option<&'static str> {
        if self.allowed == Allowed::Everything {
            return None;
        }
        match tool["kind"].as_str().unwrap_or_default() {
            "edit" | "delete" | "move" => self.why_not_change(tool),
            "execute" | "fetch" if self.allowed == Allowed::Edits => {
                Some("only changes of files are allowed")
            }
            "read" | "search" | "think" | "execute" | "fetch" => None,
            // A tool of another kind, such as one of a server of tools, may do anything, as a command may; the folders
            // that it names are to be the worktree's nevertheless.
            _ if self.allowed == Allowed::Worktree && paths(tool).is_empty() => None,
            _ => self.why_not_change(tool),
        }
    }

    fn why_not_change(&self, tool: &Value) -> Option<&'static str> {
        let paths = paths(tool);
        if paths.is_empty() {
            return Some("it does not say which file it would change");
        }
        let is_within = |path: &PathBuf| {
            let path = resolved(&self.worktree.join(path));
            self.writable.iter().any(|folder| path.starts_with(folder))
        };
        Some("it is outside of the worktree").filter(|_| !paths.iter().all(is_within))
    }
}

/// Every file that a tool call names as its own: in its locations, in the changes that it shows, in its arguments.
fn paths(tool: &Value) -> Vec<PathBuf> {
    let list = |key: &str| tool[key].as_array().into_iter().flatten();
    let changes = list("content").filter(|content| content["type"] == "diff");
    let stated = list("locations").chain(changes).map(|place| &place["path"]);
    let named = tool["rawInput"]
        .as_object()
        .into_iter()
        .flatten()
        .filter(|(name, _)| {
            let name = name.to_lowercase();
            name.contains("path") || name.ends_with("dir") || name == "file" || name == "filename"
        });
    stated
        .chain(named.map(|(_, value)| value))
        .filter_map(Value::as_str)
        .map(PathBuf::from)
        .collect()
}

/// Returns where a path leads: links are followed as far as there is something, `..` is taken away.
fn resolved(path: &Path) -> PathBuf {
    let mut plain = PathBuf::new();
    for component in path.components() {
        match component {
            Component::ParentDir => {
                // The parent of where a link leads, not of the link.
                plain = real(&plain);
                plain.pop();
            }
            Component::CurDir => {}
            other => plain.push(other),
        }
    }
    real(&plain)
}

fn real(path: &Path) -> PathBuf {
    for ancestor in path.ancestors() {
        if let Ok(real) = ancestor.canonicalize() {
            // What follows the last part that exists.
            return path
                .strip_prefix(ancestor)
                .map_or_else(|_| path.to_owned(), |rest| real.join(rest));
        }
    }
    path.to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn request(tool: &Value) -> Value {
        let options = ["allow_once", "reject_once"]
            .map(|kind| json!({"optionId": kind, "name": kind, "kind": kind}));
        json!({"sessionId": "session", "toolCall": tool, "options": options})
    }

    fn decided(allowed: Allowed, folder: &Path, tool: &serde_json::Value) -> &'static str {
        let mut tool = tool.clone();
        tool["toolCallId"] = "1".into();
        let broker = Broker::new(allowed, &folder.join("worktree"), &[folder.join("attempt")]);
        broker.answer(&request(&tool)).as_str()
    }

    #[test]
    fn changes_are_allowed_in_the_worktree_and_the_attempts_folder_alone() {
        let folder = tempfile::tempdir().expect("a folder");
        let at = |name: &str| folder.path().join(name);
        std::fs::create_dir_all(at("worktree/a")).expect("a folder");
        std::os::unix::fs::symlink("/etc", at("worktree/link")).expect("a link");
        for (path, expected) in [
            (at("worktree/a/b.rs"), "allowed"),
            (at("worktree/new/deep/b.rs"), "allowed"),
            (PathBuf::from("a/b.rs"), "allowed"),
            (at("attempt/result.md"), "allowed"),
            (at("worktree-2/b.rs"), "refused"),
            (at("worktree/../other"), "refused"),
            (at("worktree/link/passwd"), "refused"),
            (at("worktree/link/../x"), "refused"),
            (PathBuf::from("../x"), "refused"),
            (PathBuf::from("/etc/passwd"), "refused"),
        ] {
            for tool in [
                json!({"kind": "edit", "locations": [{"path": path}]}),
                json!({"kind": "edit", "content": [{"type": "diff", "path": path, "newText": "x"}]}),
                json!({"kind": "delete", "rawInput": {"filePath": path}}),
            ] {
                assert_eq!(
                    decided(Allowed::Worktree, folder.path(), &tool),
                    expected,
                    "{tool}"
                );
                assert_eq!(
                    decided(Allowed::Edits, folder.path(), &tool),
                    expected,
                    "{tool}"
                );
                assert_eq!(
                    decided(Allowed::Everything, folder.path(), &tool),
                    "allowed",
                    "{tool}"
                );
            }
        }
    }

    #[test]
    fn commands_are_a_matter_of_the_mode() {
        let folder = tempfile::tempdir().expect("a folder");
        for (tool, worktree, edits) in [
            (
                json!({"kind": "execute", "title": "make"}),
                "allowed",
                "refused",
            ),
            (json!({"kind": "fetch"}), "allowed", "refused"),
            (
                json!({"kind": "read", "locations": [{"path": "/usr/include/stdio.h"}]}),
                "allowed",
                "allowed",
            ),
            (json!({"kind": "edit"}), "refused", "refused"),
            (json!({"title": "a tool of nobody"}), "allowed", "refused"),
            (
                json!({"kind": "other", "rawInput": {"filepath": "/etc/passwd", "parentDir": "/etc"}}),
                "refused",
                "refused",
            ),
            (
                json!({"kind": "other", "rawInput": {"parentDir": "/etc"}}),
                "refused",
                "refused",
            ),
        ] {
            assert_eq!(
                decided(Allowed::Worktree, folder.path(), &tool),
                worktree,
                "{tool}"
            );
            assert_eq!(
                decided(Allowed::Edits, folder.path(), &tool),
                edits,
                "{tool}"
            );
        }
    }

    #[test]
    fn a_question_without_the_answer_is_cancelled_and_counts_as_refused() {
        let mut question = request(&json!({"toolCallId": "1", "kind": "execute"}));
        question["options"][0].take();
        let answer = Broker::new(Allowed::Everything, Path::new("/w"), &[]).answer(&question);
        assert_eq!((answer.as_str(), answer.option), ("refused", None));
    }
}
