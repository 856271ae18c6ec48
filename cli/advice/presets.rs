//! What to do about an error of a recipe, a prompt or a preset.

use tm_presets::Error;

/// Returns what to do about it, where that can be said.
pub(crate) fn on_recipe(error: &Error) -> Option<String> {
    Some(match error {
        Error::NoCommand { name } => {
            let flag = if name == "custom" {
                "pass `--agent-command COMMAND`, or "
            } else {
                ""
            };
            format!("{flag}set `agents.{name}.command` in `.taskmaster/tm.yaml`")
        }
        Error::NoValue { placeholder, .. } if placeholder == "model" => {
            "pass `--model MODEL`, or put the arguments about it into a list of their own"
                .to_owned()
        }
        Error::PlaceholderInShell {
            variable: Some(variable),
            ..
        } => format!("write `\"${variable}\"`, or make the command a list of arguments"),
        Error::PlaceholderInShell { variable: None, .. } | Error::ProtocolInShell { .. } => {
            "make the command a list of arguments".to_owned()
        }
        Error::TooLong { .. } => "use `prompt: stdin` or `prompt: file`".to_owned(),
        Error::UnknownAgent { .. } => {
            "`tm agents list` lists them; one that speaks the Agent Client Protocol takes a line in .taskmaster/tm.yaml: \
             `agents: {copilot: {extends: acp, command: [copilot, --acp]}}`; for others `--agent-command COMMAND`"
                .to_owned()
        }
        Error::UnknownPreset { .. } => {
            "`tm presets list` lists them; a file is named by its path, such as `./my-prompt.md`"
                .to_owned()
        }
        Error::EmptyPrompt { .. } => "write into it what one iteration does".to_owned(),
        Error::UnknownPermissions { name, .. } => format!(
            "set `agent.permissions` or `agents.{name}.permissions` to one that it has, or to null"
        ),
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_that_is_missing_or_run_by_a_shell_is_set_right_in_the_settings() {
        let no_command = |name: &str| Error::NoCommand {
            name: name.to_owned(),
        };
        let in_shell = |placeholder: &str, variable| Error::PlaceholderInShell {
            variable,
            placeholder: placeholder.to_owned(),
            name: "custom".to_owned(),
        };
        for (error, hint) in [
            (
                no_command("custom"),
                "pass `--agent-command COMMAND`, or set `agents.custom.command` in `.taskmaster/tm.yaml`",
            ),
            (
                no_command("mine"),
                "set `agents.mine.command` in `.taskmaster/tm.yaml`",
            ),
            (
                in_shell("prompt_file", Some("TM_PROMPT_FILE")),
                "write `\"$TM_PROMPT_FILE\"`, or make the command a list of arguments",
            ),
            (
                in_shell("prompt", None),
                "make the command a list of arguments",
            ),
        ] {
            assert_eq!(on_recipe(&error).as_deref(), Some(hint));
        }
    }
}
