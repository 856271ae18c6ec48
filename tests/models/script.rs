//! What a model does, move by move, for the prompt that it is given.

use regex::Regex;

/// One answer of a model.
#[derive(Clone, Debug)]
pub(crate) enum Move {
    /// Has the agent write a file.
    Write {
        /// Where, absolute.
        path: String,
        /// All of it.
        text: String,
    },
    /// Has the agent run a command.
    Run(String),
    /// Says something, which ends its turn.
    Say(String),
}

/// What a prompt of tm asks for.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub(crate) struct Prompt {
    /// The task, without its phase; empty where the prompt names none.
    pub(crate) task: String,
    /// `red`, `green` or `none`.
    pub(crate) phase: &'static str,
    /// The folder to work in; empty where the prompt names none.
    pub(crate) worktree: String,
    /// How tm is called; empty where the prompt does not say.
    pub(crate) tm: String,
    /// Where the result goes; empty where the prompt does not say.
    pub(crate) result: String,
}

/// All moves of a model, for a prompt; the last one says something.
pub(crate) type Script = fn(&Prompt) -> Vec<Move>;

impl Prompt {
    /// Reads everything that was said to a model.
    pub(crate) fn read(text: &str) -> Self {
        let found = |pattern: &str| {
            let pattern = Regex::new(pattern).expect("a valid pattern");
            pattern.captures(text).map(|found| found[1].to_owned())
        };
        let worktree = found("Work in `([^`]+)` and nowhere else").unwrap_or_default();
        let result = found("very last thing that you do: write `([^`]+)`").unwrap_or_default();
        let tm = found("`([^`\n]+) (?:result --status|next`)").unwrap_or_default();
        for (pattern, phase) in [
            ("failing tests for task ([^, ]+),", "red"),
            ("make the tests of task ([^ ]+) pass", "green"),
        ] {
            if let Some(task) = found(pattern) {
                return Self {
                    task: task.trim_end_matches(":red").to_owned(),
                    phase,
                    worktree,
                    tm,
                    result,
                };
            }
        }
        Self {
            task: found("# Task ([^: ]+):").unwrap_or_default(),
            phase: "none",
            worktree,
            tm,
            result,
        }
    }
}

/// Does what a good model does: RED writes a failing test, GREEN makes it pass, both report it.
pub(crate) fn work(prompt: &Prompt) -> Vec<Move> {
    let Prompt {
        task,
        phase,
        worktree,
        tm,
        ..
    } = prompt;
    let (file, text, counts) = match *phase {
        "red" => (
            format!("t/{task}.t"),
            format!(
                ". t/check.sh\ncheck '{task} works' '{task}' \"$(sh bin/{task} 2>/dev/null)\"\n"
            ),
            "--tests-passed 0 --tests-failed 1",
        ),
        "green" => (
            format!("bin/{task}"),
            format!("echo {task}\n"),
            "--tests-passed 1 --tests-failed 0",
        ),
        _ => (format!("docs/{task}"), format!("{task}\n"), ""),
    };
    vec![
        Move::Write {
            path: format!("{worktree}/{file}"),
            text,
        },
        Move::Run(format!("{tm} result --status pass {counts} --file {file}")),
        Move::Say(format!("Done: wrote {file}")),
    ]
}
