//! Which programs a test command comes to run: through the shell, scripts of package.json, targets of a Makefile and
//! shell scripts of the project.
//!
//! Follows names and guesses nothing: what it can't follow is a call like any other. Does not know what programs do.

use super::{TestCommand, name_in, reading};
use std::cell::Cell;
use std::ffi::OsString;
use std::path::{Path, PathBuf};

/// So deep scripts are followed.
const MOST_LEVELS: u8 = 9;
/// So many calls are looked at.
const MOST_CALLS: usize = 500;
/// So many lines are followed for them, wherever they lead.
const MOST_LINES: usize = 10_000;
/// So many folders are found in which they work.
const MOST_FOLDERS: usize = 32;
/// So much of a script is read, and so many scripts as long as that.
const SCRIPT_BYTES: u64 = 1024 * 1024;
const LONG_SCRIPTS: u64 = 8;

patterns! {
    ASSIGNMENT = r"^\w+=";
}

/// One call of a program.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(super) struct Call {
    /// The program and its arguments, without variables that are set before it.
    pub(super) words: Vec<String>,
    /// What has to stand before arguments at the end of the whole command to make them reach this call; `None` when
    /// none do.
    pub(super) reach: Option<Vec<String>>,
}

impl Call {
    /// Tells whether any of these is among its words.
    pub(super) fn says(&self, any: &[&str]) -> bool {
        self.words.iter().any(|word| any.contains(&word.as_str()))
    }
}

/// Returns the calls that a command comes to, in the order in which they are written.
pub(super) fn calls(command: &TestCommand, worktree: &Path) -> Vec<Call> {
    Closure::of(command, worktree).calls
}

/// Returns the folders in which a command works, as far as `cd` tells, the worktree first.
pub(super) fn folders(command: &TestCommand, worktree: &Path) -> Vec<PathBuf> {
    Closure::of(command, worktree).folders
}

fn text_of(word: &OsString) -> String {
    word.to_string_lossy().into_owned()
}

struct Closure {
    calls: Vec<Call>,
    /// Where the calls work, as far as `cd` tells.
    folder: PathBuf,
    /// Everywhere they did.
    folders: Vec<PathBuf>,
    /// How many more lines are followed.
    lines_left: usize,
    /// How many more bytes of scripts are read.
    bytes_left: Cell<u64>,
}

impl Closure {
    fn of(command: &TestCommand, worktree: &Path) -> Self {
        let words: Vec<String> = command.argv.iter().map(text_of).collect();
        let mut closure = Self {
            calls: Vec::new(),
            folder: worktree.to_owned(),
            folders: vec![worktree.to_owned()],
            lines_left: MOST_LINES,
            bytes_left: Cell::new(LONG_SCRIPTS * SCRIPT_BYTES),
        };
        closure.follow(words, Some(&[]), 0);
        closure
    }

    fn follow_text(&mut self, text: &str, reach: Option<&[String]>, level: u8) {
        let script = Script::read(text);
        let last = script.calls.len().saturating_sub(1);
        for (number, words) in script.calls.into_iter().enumerate() {
            let reach = reach.filter(|_| number == last && script.ends_with_call);
            self.follow(words, reach, level);
        }
    }

    fn follow(&mut self, words: Vec<String>, reach: Option<&[String]>, level: u8) {
        let words: Vec<String> = words
            .into_iter()
            .skip_while(|word| ASSIGNMENT.is_match(word))
            .collect();
        let is_enough = self.calls.len() >= MOST_CALLS || self.lines_left == 0;
        if words.is_empty() || level > MOST_LEVELS || is_enough {
            return;
        }
        self.lines_left -= 1;
        if let [cd, folder] = words.as_slice()
            && cd == "cd"
        {
            self.change_folder(folder);
        } else if let Some(text) = shell_text(&words) {
            // Words at the end of the whole command are arguments of its own text, and of no text within.
            let reach = reach.filter(|_| level == 0);
            self.follow_text(&text, reach, level + 1);
        } else if let Some((text, separators)) = self.package_script(&words) {
            self.follow_text(
                &text,
                reach
                    .map(|before| [before, &separators].concat())
                    .as_deref(),
                level + 1,
            );
        } else if let Some(text) = self.recipes(&words).or_else(|| self.shell_script(&words)) {
            self.follow_text(&text, None, level + 1);
        } else {
            self.calls.push(Call {
                words,
                reach: reach.map(<[String]>::to_vec),
            });
        }
    }

    /// Goes to another folder of the project; to one that is elsewhere, or is not there yet, nobody follows.
    fn change_folder(&mut self, to: &str) {
        let real = |path: &Path| path.canonicalize().ok().filter(|path| path.is_dir());
        let root = self.folders.first().and_then(|root| real(root));
        let Some((root, folder)) = root.zip(real(&self.folder.join(to))) else {
            return;
        };
        let Ok(within) = folder.strip_prefix(&root) else {
            return;
        };
        self.folder = self.folders[0].join(within);
        if self.folders.len() < MOST_FOLDERS && !self.folders.contains(&self.folder) {
            self.folders.push(self.folder.clone());
        }
    }

    /// The text of a script of package.json with the arguments that it is given, and what has to stand before more.
    fn package_script(&self, words: &[String]) -> Option<(String, Vec<String>)> {
        let manager = ["npm", "pnpm", "yarn", "bun"]
            .into_iter()
            .find(|name| *name == words[0])?;
        let is_elsewhere = |word: &String| {
            ["-r", "--recursive", "-w", "-ws", "-C", "-F"].contains(&word.as_str())
                || ["--workspace", "--filter", "--prefix", "--cwd", "--dir"]
                    .iter()
                    .any(|flag| word.starts_with(flag))
        };
        let mut rest = words[1..].iter().skip_while(|word| word.starts_with('-'));
        let mut name = rest.next()?.as_str();
        let is_run = matches!(name, "run" | "run-script");
        if is_run {
            name = rest.find(|word| !word.starts_with('-'))?;
        }
        // bun has a test runner of its own, and npm knows no other names of scripts than these.
        let may_be_a_script = match manager {
            "bun" => is_run,
            "npm" => is_run || matches!(name, "test" | "t" | "tst"),
            _ => true,
        };
        let name = if matches!(name, "t" | "tst") && !is_run {
            "test"
        } else {
            name
        };
        if !may_be_a_script || words.iter().any(is_elsewhere) {
            return None;
        }
        let package = tm_untrusted::json_value(self.text("package.json")?).ok()?;
        let script = package["scripts"][name].as_str()?;
        let given: Vec<&str> = rest.map(String::as_str).collect();
        let has_separator = given.contains(&"--");
        let given: Vec<&str> = given.into_iter().filter(|word| *word != "--").collect();
        let separators = if manager == "npm" && !has_separator {
            vec!["--".to_owned()]
        } else {
            Vec::new()
        };
        Some((format!("{script} {}", given.join(" ")), separators))
    }

    /// The recipes of the targets of a call of `make`, and of what they depend on.
    fn recipes(&self, words: &[String]) -> Option<String> {
        if !matches!(words[0].as_str(), "make" | "gmake")
            || words.iter().any(|word| word == "-C" || word == "-f")
        {
            return None;
        }
        let makefile = ["GNUmakefile", "makefile", "Makefile"]
            .iter()
            .find_map(|name| self.text(name))?;
        let is_target = |word: &&String| !word.starts_with('-') && !word.contains('=');
        let mut wanted: Vec<String> = words[1..].iter().filter(is_target).cloned().collect();
        let (mut text, mut number) = (String::new(), 0);
        while let Some(target) = wanted.get(number).cloned().filter(|_| number < MOST_CALLS) {
            let (prerequisites, recipe) = rule(&makefile, &target);
            let room = MOST_CALLS.saturating_sub(wanted.len());
            let new = prerequisites.into_iter().take(MOST_CALLS);
            let new: Vec<String> = new.filter(|name| !wanted.contains(name)).collect();
            wanted.extend(new.into_iter().take(room));
            text.push_str(&recipe);
            number += 1;
            if text.len() > makefile.len() {
                // Targets that have a recipe in common.
                break;
            }
        }
        (!text.is_empty()).then_some(text)
    }

    /// The text of a shell script of the project, called by its name or by that of a shell.
    fn shell_script(&self, words: &[String]) -> Option<String> {
        let script = match words {
            [shell, rest @ ..] if is_shell(shell) => {
                rest.iter().find(|word| !word.starts_with('-'))?
            }
            [script, ..] if script.contains('/') && !script.starts_with('/') => script,
            _ => return None,
        };
        let text = self.text(script)?;
        let first = text.lines().next().unwrap_or_default();
        (is_shell(&words[0]) || first.starts_with("#!") && first.ends_with("sh")).then_some(text)
    }

    fn text(&self, name: &str) -> Option<String> {
        let left = self.bytes_left.get();
        let text = reading::whole(&self.folder.join(name), SCRIPT_BYTES.min(left)).ok()?;
        let read = u64::try_from(text.len()).unwrap_or(u64::MAX);
        self.bytes_left.set(left.saturating_sub(read));
        Some(text)
    }
}

fn is_shell(word: &str) -> bool {
    matches!(name_in(word), "sh" | "bash" | "dash" | "zsh")
}

/// The text that a shell is given as an argument.
fn shell_text(words: &[String]) -> Option<String> {
    match words {
        [shell, flag, text] if flag.starts_with('-') && flag.ends_with('c') => {
            is_shell(shell).then(|| text.clone())
        }
        _ => None,
    }
}

/// What a target of a Makefile depends on, and its recipe.
fn rule(makefile: &str, target: &str) -> (Vec<String>, String) {
    let (mut prerequisites, mut recipe, mut is_wanted) = (Vec::new(), String::new(), false);
    for line in makefile.lines() {
        if let Some(command) = line.strip_prefix('\t') {
            if is_wanted {
                recipe.push_str(command.trim_start_matches(['@', '-', '+', ' ']));
                recipe.push('\n');
            }
        } else if let Some((targets, rest)) = line
            .split_once(':')
            .filter(|(_, rest)| !rest.starts_with('='))
        {
            is_wanted = targets.split_whitespace().any(|name| name == target);
            prerequisites.extend(
                rest.trim_start_matches(':')
                    .split(['#', ';'])
                    .next()
                    .unwrap_or_default()
                    .split_whitespace()
                    .filter(|_| is_wanted)
                    .map(ToOwned::to_owned),
            );
        }
    }
    (prerequisites, recipe)
}

/// The calls of a text for the shell, as far as words and separators tell them.
#[derive(Default)]
struct Script {
    calls: Vec<Vec<String>>,
    /// Whether words at the end of the text are arguments of the last call.
    ends_with_call: bool,
    /// The call under way, and the word of it.
    call: Vec<String>,
    word: Option<String>,
}

impl Script {
    fn read(text: &str) -> Self {
        let mut script = Self::default();
        let text = text.trim_end().replace("\\\n", " ");
        let mut rest = text.chars().peekable();
        let mut has_comment = false;
        while let Some(letter) = rest.next() {
            match letter {
                '\'' => script.take(rest.by_ref().take_while(|letter| *letter != '\'')),
                '"' => script.take(rest.by_ref().take_while(|letter| *letter != '"')),
                '\\' => script.take(rest.next().into_iter()),
                '$' if rest.peek() == Some(&'(') => {
                    script.take(
                        ['$']
                            .into_iter()
                            .chain(rest.by_ref().take_while(|letter| *letter != ')')),
                    );
                }
                '#' if script.word.is_none() => {
                    has_comment = true;
                    rest.by_ref().find(|letter| *letter == '\n');
                    script.end_call();
                }
                ';' | '&' | '|' | '\n' | '(' | ')' => script.end_call(),
                letter if letter.is_whitespace() => script.end_word(),
                letter => script.take([letter].into_iter()),
            }
        }
        script.end_word();
        let ends_block = |word: &String| matches!(word.as_str(), "fi" | "done" | "esac" | "}");
        script.ends_with_call =
            !has_comment && script.call.first().is_some_and(|word| !ends_block(word));
        script.end_call();
        script
    }

    fn take(&mut self, letters: impl Iterator<Item = char>) {
        self.word.get_or_insert_default().extend(letters);
    }

    fn end_word(&mut self) {
        let is_keyword = |word: &String| {
            matches!(
                word.as_str(),
                "if" | "then" | "else" | "do" | "while" | "until" | "!" | "{"
            )
        };
        if let Some(word) = self
            .word
            .take()
            .filter(|word| !self.call.is_empty() || !is_keyword(word))
        {
            self.call.push(word);
        }
    }

    fn end_call(&mut self) {
        self.end_word();
        if !self.call.is_empty() {
            self.calls.push(std::mem::take(&mut self.call));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Every call as `words`, with what reaches it behind `<`.
    fn calls_of(text: &str, files: &[(&str, &str)]) -> Vec<String> {
        let folder = tempfile::tempdir().expect("a folder");
        for (name, text) in files {
            let path = folder.path().join(name);
            std::fs::create_dir_all(path.parent().expect("a parent")).expect("a folder");
            #[expect(clippy::disallowed_methods, reason = "a fixture needs no atomic write")]
            std::fs::write(path, text).expect("a file");
        }
        let shown = |call: Call| match call.reach {
            Some(reach) => [call.words.join(" "), "<".to_owned(), reach.join(" ")]
                .join(" ")
                .trim_end()
                .to_owned(),
            None => call.words.join(" "),
        };
        calls(&TestCommand::shell(text, None), folder.path())
            .into_iter()
            .map(shown)
            .collect()
    }

    #[test]
    fn words_and_separators_of_the_shell_are_told_apart() {
        assert_eq!(
            calls_of("A=1 B='x y' pytest -k 'a && b' \"c d\"", &[]),
            ["pytest -k a && b c d <"]
        );
        assert_eq!(
            calls_of("lint && jest a; (vitest | tee log)", &[]),
            ["lint", "jest a", "vitest", "tee log"]
        );
        assert_eq!(calls_of("jest # all of them", &[]), ["jest"]);
        assert_eq!(
            calls_of("if true; then\n  jest \\\n  a\nfi", &[]),
            ["true", "jest a", "fi"]
        );
        assert_eq!(
            calls_of("$(PYTHON) -m pytest", &[]),
            ["$(PYTHON -m pytest <"]
        );
        assert_eq!(calls_of("bash -lc 'cd a && pytest -q'", &[]), ["pytest -q"]);
        assert_eq!(calls_of("", &[]), Vec::<String>::new());
    }

    #[test]
    fn scripts_of_packages_are_followed_with_their_arguments() {
        let package = r#"{"scripts":{"test":"tsc && npm run unit","unit":"vitest run","both":"pnpm test -r","self":"npm run self"}}"#;
        let files = [
            ("package.json", package),
            ("sub/package.json", r#"{"scripts":{"test":"jest"}}"#),
        ];
        let of = |text: &str| calls_of(text, &files);
        assert_eq!(of("npm test"), ["tsc", "vitest run < -- --"]);
        assert_eq!(
            of("npm run unit -- --coverage"),
            ["vitest run --coverage <"]
        );
        assert_eq!(of("pnpm --silent unit a"), ["vitest run a <"]);
        assert_eq!(of("cd sub && yarn test"), ["jest <"]);
        assert_eq!(of("npm run both"), ["pnpm test -r < --"]);
        assert_eq!(of("npm run self"), Vec::<String>::new());
        assert_eq!(of("npm run missing"), ["npm run missing <"]);
        assert_eq!(of("bun test"), ["bun test <"]);
    }

    #[test]
    fn recipes_and_shell_scripts_are_followed_and_nothing_reaches_them() {
        let makefile = "PY = python3\ntest: lint unit ## all\nlint:\n\t@ruff .\nunit:\n\t-$(PY) -m pytest -q\n";
        let files = [
            ("Makefile", makefile),
            ("run.sh", "#!/bin/sh\nset -e\ngo test ./...\n"),
            ("tool", "#!/usr/bin/python3"),
        ];
        let of = |text: &str| calls_of(text, &files);
        assert_eq!(of("make test"), ["ruff .", "$(PY -m pytest -q"]);
        assert_eq!(of("make other"), ["make other <"]);
        for text in ["sh run.sh", "./run.sh", "bash -e ./run.sh"] {
            assert_eq!(of(text), ["set -e", "go test ./..."], "{text}");
        }
        assert_eq!(of("./tool"), ["./tool <"]);
    }

    #[test]
    fn nobody_follows_out_of_the_project_or_without_an_end() {
        let many = "cd a\ncd ..\n".repeat(20_000);
        let itself = "sh all.sh\n".repeat(1_000);
        let files = [
            ("a/package.json", r#"{"scripts":{"test":"jest"}}"#),
            ("many.sh", many.as_str()),
            ("all.sh", itself.as_str()),
        ];
        assert_eq!(
            calls_of("cd a; cd /; cd nowhere; yarn test", &files),
            ["jest <"]
        );
        assert_eq!(
            calls_of("cd a/../a/.. && yarn test", &files),
            ["yarn test <"]
        );
        assert!(calls_of("sh all.sh", &files).len() <= MOST_CALLS);
        let folder = tempfile::tempdir().expect("a folder");
        std::fs::create_dir(folder.path().join("a")).expect("a folder");
        let found = folders(&TestCommand::shell(&many, None), folder.path());
        assert_eq!(found, [folder.path().to_owned(), folder.path().join("a")]);
    }
}
