//! Commands and flags of Task Master's that tm does not have, and what to do instead.

/// Each name with what to do.
const ELSEWHERE: [(&str, &str); 25] = [
    ("parse-prd", BY_AGENT),
    (
        "expand",
        "`tm add-subtask --parent ID --title TEXT` adds a step; an agent can add them for you",
    ),
    (
        "update",
        "`tm update-task --id ID` changes what one task says, `tm edit ID` opens it in your editor",
    ),
    (
        "research",
        "ask your agent, and keep what it found with `tm update-task --id ID --append TEXT`",
    ),
    ("analyze-complexity", COMPLEXITY),
    ("complexity-report", COMPLEXITY),
    ("scope-up", "`tm edit ID` opens the task in your editor"),
    ("scope-down", "`tm edit ID` opens the task in your editor"),
    (
        "models",
        "`tm agents list` shows the agents; `--agent NAME` and `--model NAME` choose",
    ),
    (
        "lang",
        "prompts are yours: `tm presets show red` prints one, `tm presets new` makes one",
    ),
    (
        "rules",
        "`tm autopilot guide` prints what agents need to know, `tm mcp install` gives them tm's tools",
    ),
    (
        "migrate",
        "tm reads every form as it is; `tm tasks convert FILE` writes another one",
    ),
    (
        "sync-readme",
        "`tm list` and `tm waves report` print what a page can take",
    ),
    (
        "tui",
        "`tm waves watch` shows a run on the whole terminal, `tm list --watch` the backlog",
    ),
    (
        "repl",
        "`tm waves watch` shows a run on the whole terminal, `tm list --watch` the backlog",
    ),
    (
        "start",
        "`tm waves run --id ID` has an agent do it, `tm next --claim` gives it to you",
    ),
    (
        "export",
        "`tm tasks convert FILE` writes the backlog in another form",
    ),
    (
        "export-tag",
        "`tm tasks convert FILE --tag TAG` writes one tag in another form",
    ),
    ("auth", NO_ACCOUNT),
    ("login", NO_ACCOUNT),
    ("logout", NO_ACCOUNT),
    ("context", NO_ACCOUNT),
    ("briefs", NO_ACCOUNT),
    ("--prompt", NO_MODEL),
    ("--research", NO_MODEL),
];

const BY_AGENT: &str =
    "let an agent read the document and call `tm add-task --title TEXT` for each task";
const COMPLEXITY: &str =
    "`tm update-task --id ID --complexity M` says it, `tm list` and `tm tasks stats` show it";
const NO_ACCOUNT: &str = "tm has no accounts: the backlog is a file of the project";

const NO_MODEL: &str = "tm asks no model: `--title TEXT` and `--description TEXT` say what the task is, and an agent can call tm for you";

/// Returns what to do instead of a command or flag of Task Master's that tm does not have.
pub(crate) fn instead_of(command: &str) -> Option<&'static str> {
    let mut rows = ELSEWHERE.iter();
    rows.find_map(|(name, hint)| (*name == command).then_some(*hint))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::commands::Arguments;
    use clap::CommandFactory as _;

    #[test]
    fn what_stands_in_the_table_is_no_command_and_what_it_names_is_one() {
        let command = Arguments::command();
        let is_there = |name: &str| {
            let mut all = command.get_subcommands();
            all.any(|one| {
                one.get_name() == name || one.get_all_aliases().any(|alias| alias == name)
            })
        };
        for (name, hint) in ELSEWHERE {
            assert!(!is_there(name), "{name}");
            let named = hint.split("`tm ").skip(1);
            for words in named {
                let word = words.split([' ', '`']).next().unwrap_or_default();
                assert!(is_there(word), "{name}: {word}");
            }
        }
    }
}
