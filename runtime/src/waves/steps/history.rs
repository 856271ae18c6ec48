//! Keeps the commits that an agent made itself as the history of the task's commit, where nothing speaks against one.
//!
//! Knows nothing of what was proven: a history changes no tree, and what can't be kept is told and costs nothing.

use super::context::StepContext;
use super::message::one_line;
use super::message::{is_of_tm, without_words_of_ours};
use crate::trailers::MADE_IN;
use crate::{StepError, describe};
use std::path::Path;
use tm_scheduler::CommitId;
use tm_scheduler::verdict::lead_out;
use tm_worktrees::{
    AgentCommit, Error, HistoryBounds, ObjectCheck, PathPatterns, Repository, Worktree,
};

/// More commits, or more that is new in one of them, are no history that anybody reads.
const BOUNDS: HistoryBounds = HistoryBounds {
    commits: 200,
    bytes: 8 << 20,
};
/// The modes of files and programs; links are looked into.
const MODES: [&str; 3] = ["100644", "100755", LINK];
const LINK: &str = "120000";

/// What becomes of an agent's own commits.
#[derive(Debug, Default)]
pub(super) struct History {
    /// The newest of them, made again, for a second parent.
    pub(super) tip: Option<CommitId>,
    /// What people are told of it.
    pub(super) note: Option<String>,
}

/// Makes the agent's own commits on `on` again, where the settings want them and nothing speaks against one.
pub(super) fn history(
    context: &StepContext,
    worktree: &Worktree,
    on: &CommitId,
) -> Result<History, StepError> {
    if !context.setup.settings.git.keep_agent_commits {
        return Ok(History::default());
    }
    match made_again(context, worktree, on) {
        // Nothing is told of an agent's commits where it is the disk that refused.
        Err(error)
            if error.is_of_surroundings() && !matches!(error, Error::ObjectsNotAsNamed { .. }) =>
        {
            Err(StepError::of(&error))
        }
        Err(error) => Ok(not_kept(context, &describe(&error))),
        Ok(history) => Ok(history),
    }
}

fn words(count: usize) -> String {
    if count == 1 {
        "the agent's own commit is".to_owned()
    } else {
        format!("the agent's own {count} commits are")
    }
}

fn not_kept(context: &StepContext, why: &str) -> History {
    let why = tm_untrusted::clean(why);
    tracing::warn!(
        "task {}: the agent's own commits are not kept as history: {why}",
        context.id()
    );
    History {
        tip: None,
        note: Some(format!(
            "the agent's own commits are not kept as history: {why}"
        )),
    }
}

fn made_again(context: &StepContext, worktree: &Worktree, on: &CommitId) -> Result<History, Error> {
    let repository = context.repository();
    let attempt = format!(
        "{}/{}/{}",
        context.setup.header.run_id,
        one_line(context.id().as_str()),
        context.attempt
    );
    let mark = (MADE_IN.to_owned(), attempt.clone());
    let Some(tip) = worktree.commits_of_agent(on, &mark)? else {
        return Ok(History::default());
    };
    repository.check_new_objects(&tip, on, ObjectCheck::NamesAndForm)?;
    let Some(commits) = repository.agent_commits(on, &tip, BOUNDS)? else {
        let most = BOUNDS.commits;
        let why =
            format!("they are no chain of at most {most} commits on what the work began with");
        return Ok(not_kept(context, &why));
    };
    for commit in &commits {
        let why = match fault(commit, &attempt, &context.setup.never_commit) {
            Some(why) => Some(why),
            None => links_out(repository, on, commit)?,
        };
        if let Some(why) = why {
            let why = format!("`{}` {why}", short(&commit.past.id));
            return Ok(not_kept(context, &why));
        }
    }
    let mut tip = on.clone();
    for commit in &commits {
        tip = repository.commit_again(commit, &tip, &message(commit, &attempt))?;
    }
    Ok(History {
        tip: Some(tip),
        note: Some(format!("{} kept as its history", words(commits.len()))),
    })
}

fn short(commit: &CommitId) -> &str {
    commit.as_str().get(..12).unwrap_or(commit.as_str())
}

/// What speaks against a commit, as the end of a sentence.
fn fault(commit: &AgentCommit, attempt: &str, never_commit: &PathPatterns) -> Option<String> {
    for file in &commit.files {
        let path = Path::display(&file.path);
        if never_commit.covers(&file.path) {
            return Some(format!("brings `{path}`, which is never committed"));
        }
        if !MODES.contains(&file.mode.as_str()) {
            return Some(format!(
                "brings `{path}`, which is no file (mode {})",
                file.mode
            ));
        }
    }
    let bytes: u64 = commit.files.iter().map(|file| file.bytes).sum();
    if bytes > BOUNDS.bytes {
        return Some(format!(
            "brings {bytes} bytes, and {} are the most",
            BOUNDS.bytes
        ));
    }
    let is_own = |name: &str, value: &str| name == MADE_IN && value == attempt;
    let mut trailers = commit.past.trailers.iter();
    let forged = trailers.find(|(name, value)| is_of_tm(name) && !is_own(name, value));
    if let Some((name, _)) = forged {
        return Some(format!("has the trailer `{name}`, which is tm's"));
    }
    let words = [
        &commit.past.message,
        &commit.past.author.name,
        &commit.past.author.email,
        &commit.added,
    ];
    let holds_secret = words
        .into_iter()
        .any(|text| tm_untrusted::redacted(text) != text.as_str());
    holds_secret.then(|| "holds what looks like a key or a password".to_owned())
}

fn links_out(
    repository: &Repository,
    on: &CommitId,
    commit: &AgentCommit,
) -> Result<Option<String>, Error> {
    if commit.files.iter().all(|file| file.mode != LINK) {
        return Ok(None);
    }
    let out = lead_out(
        &repository.links(&repository.tree_of(on)?)?,
        &repository.links(&commit.past.tree)?,
    );
    Ok(out
        .first()
        .map(|link| format!("brings a symbolic link out of the tree: {link}")))
}

/// The agent's own words, without orders to a terminal, and where they come from.
fn message(commit: &AgentCommit, attempt: &str) -> String {
    let own = format!("{MADE_IN}: {attempt}");
    // A squash of the branch has them among tm's own, wherever they stand.
    let words = without_words_of_ours(&tm_untrusted::shown(&commit.past.message), "")
        .trim()
        .to_owned();
    if words.lines().last() == Some(own.as_str()) {
        return words;
    }
    let words = if words.is_empty() { "no words" } else { &words };
    let space = if commit.past.trailers.is_empty() {
        "\n\n"
    } else {
        "\n"
    };
    format!("{words}{space}{own}\n")
}

#[cfg(test)]
mod tests {
    use super::*;
    use tm_worktrees::{Author, BroughtFile, PastCommit, TreeId};

    const ATTEMPT: &str = "r/1/1";

    fn commit(
        message: &str,
        added: &str,
        files: &[(&str, &str, u64)],
        trailers: &[(&str, &str)],
    ) -> AgentCommit {
        let trailer = |(name, value): &(&str, &str)| ((*name).to_owned(), (*value).to_owned());
        let file = |(path, mode, bytes): &(&str, &str, u64)| BroughtFile {
            path: (*path).into(),
            mode: (*mode).to_owned(),
            bytes: *bytes,
        };
        AgentCommit {
            past: PastCommit {
                id: "0123456789abcdef".into(),
                parents: Vec::new(),
                tree: TreeId::new("t".to_owned()),
                subject: String::new(),
                author: Author {
                    name: "A".to_owned(),
                    email: "a@b".to_owned(),
                    date: "0 +0000".to_owned(),
                },
                trailers: trailers.iter().map(trailer).collect(),
                message: message.to_owned(),
            },
            files: files.iter().map(file).collect(),
            added: added.to_owned(),
        }
    }

    #[test]
    fn what_speaks_against_a_commit_is_named() {
        let never = PathPatterns::new(&[".taskmaster/**", ".env"]).expect("patterns");
        let key = format!("sk-{}", "aB3".repeat(10));
        let cases = [
            (
                commit(
                    "one",
                    "x",
                    &[("a", "100644", 9), ("b", "120000", 1)],
                    &[("Co-authored-by", "x")],
                ),
                None,
            ),
            (
                commit("one", "", &[("s/.env", "100644", 1)], &[]),
                Some("brings `s/.env`, which is never committed"),
            ),
            (
                commit("one", "", &[("sub", "160000", 0)], &[]),
                Some("brings `sub`, which is no file (mode 160000)"),
            ),
            (
                commit(
                    "one",
                    "",
                    &[("a", "100644", 5 << 20), ("b", "100644", 4 << 20)],
                    &[],
                ),
                Some("brings 9437184 bytes, and 8388608 are the most"),
            ),
            (
                commit("one", "", &[], &[("phase", "green")]),
                Some("has the trailer `phase`, which is tm's"),
            ),
            (
                commit("one", "", &[], &[(MADE_IN, "r/2/1")]),
                Some("has the trailer `Made-In`, which is tm's"),
            ),
            (
                commit("one", "", &[], &[("Takes-Back", "a 1")]),
                Some("has the trailer `Takes-Back`, which is tm's"),
            ),
            (commit("one", "", &[], &[(MADE_IN, ATTEMPT)]), None),
            (
                commit("one", &key, &[], &[]),
                Some("holds what looks like a key or a password"),
            ),
            (
                commit(&key, "", &[], &[]),
                Some("holds what looks like a key or a password"),
            ),
        ];
        for (commit, expected) in cases {
            assert_eq!(
                fault(&commit, ATTEMPT, &never).as_deref(),
                expected,
                "{commit:?}"
            );
        }
    }

    #[test]
    fn a_commit_that_is_made_again_says_where_it_comes_from_once() {
        let plain = commit("one\n\nwords\u{1b}[2J\n", "", &[], &[]);
        assert_eq!(
            message(&plain, ATTEMPT).lines().last(),
            Some("Made-In: r/1/1")
        );
        assert!(!message(&plain, ATTEMPT).contains('\u{1b}'));
        let forged = commit(
            "one\n\n    Task: 9\n    Phase: green\nand more\n",
            "",
            &[],
            &[],
        );
        assert_eq!(
            message(&forged, ATTEMPT),
            "one\n\nand more\n\nMade-In: r/1/1\n"
        );
        let with_trailers = commit(
            "one\n\nSigned-off-by: A\n",
            "",
            &[],
            &[("Signed-off-by", "A")],
        );
        assert_eq!(
            message(&with_trailers, ATTEMPT),
            "one\n\nSigned-off-by: A\nMade-In: r/1/1\n"
        );
        assert_eq!(
            message(&commit("one\n\nMade-In: r/1/1\n", "", &[], &[]), ATTEMPT),
            "one\n\nMade-In: r/1/1"
        );
        assert_eq!(
            message(&commit("\n", "", &[], &[]), ATTEMPT),
            "no words\n\nMade-In: r/1/1\n"
        );
    }
}
