//! `tm completions` and `tm man`: made from the command line's own description, so they are never out of date.

use super::{Arguments, Perform};
use crate::display::print_own;
use crate::failure::Result;
use clap::{Args, Command, CommandFactory as _};
use clap_complete::Shell;
use clap_mangen::Man;
use std::path::{Path, PathBuf};

/// `tm completions`.
#[derive(Args)]
pub(crate) struct CompletionsArguments {
    /// The shell.
    shell: Shell,
}

/// `tm man`.
#[derive(Args)]
pub(crate) struct ManArguments {
    /// Write a page for each command into this folder, instead of the page of `tm` on stdout.
    #[arg(long, value_name = "DIR")]
    output: Option<PathBuf>,
}

impl Perform for CompletionsArguments {
    async fn perform(self, _: &Path) -> Result {
        let mut script = Vec::new();
        clap_complete::generate(self.shell, &mut Arguments::command(), "tm", &mut script);
        print_own(&String::from_utf8_lossy(&script));
        Ok(0)
    }
}

impl Perform for ManArguments {
    async fn perform(self, _: &Path) -> Result {
        let mut root = Arguments::command().disable_help_subcommand(true);
        root.build();
        match self.output {
            None => print_own(&String::from_utf8_lossy(&page(&root)?)),
            Some(folder) => {
                std::fs::create_dir_all(&folder)
                    .map_err(|error| failure!("make the folder `{}`: {error}", folder.display()))?;
                write_pages(&root, &folder)?;
            }
        }
        Ok(0)
    }
}

fn write_pages(command: &Command, folder: &Path) -> Result<()> {
    let name = command
        .get_display_name()
        .unwrap_or_else(|| command.get_name());
    tm_store::atomic::replace(&folder.join(format!("{name}.1")), &page(command)?)?;
    command
        .get_subcommands()
        .filter(|below| !below.is_hide_set())
        .try_for_each(|below| write_pages(below, folder))
}

fn page(command: &Command) -> Result<Vec<u8>> {
    let mut page = Vec::new();
    Man::new(command.clone()).render(&mut page)?;
    Ok(page)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fmt::Write as _;

    #[test]
    fn every_shell_completes_the_options_of_a_run() {
        for shell in [
            Shell::Bash,
            Shell::Zsh,
            Shell::Fish,
            Shell::Elvish,
            Shell::PowerShell,
        ] {
            let mut script = Vec::new();
            clap_complete::generate(shell, &mut Arguments::command(), "tm", &mut script);
            assert!(
                String::from_utf8(script)
                    .expect("text")
                    .contains("on-interrupted"),
                "{shell}"
            );
        }
    }

    /// Every command that people see, as it is typed.
    fn typed(command: &Command, before: &str) -> Vec<String> {
        let seen = command
            .get_subcommands()
            .filter(|command| !command.is_hide_set() && command.get_name() != "help");
        seen.flat_map(|command| {
            let name = format!("{before} {}", command.get_name());
            let below = typed(command, &name);
            std::iter::once(name).chain(below)
        })
        .collect()
    }

    #[test]
    fn every_command_has_a_page_and_is_completed() {
        let folder = tempfile::tempdir().expect("a folder");
        let mut root = Arguments::command().disable_help_subcommand(true);
        root.build();
        write_pages(&root, folder.path()).expect("pages");
        let commands = typed(&Arguments::command(), "tm");
        assert!(
            commands.len() > 50 && commands.contains(&"tm waves run".to_owned()),
            "{commands:?}"
        );
        let mut script = Vec::new();
        clap_complete::generate(Shell::Bash, &mut Arguments::command(), "tm", &mut script);
        let script = String::from_utf8(script).expect("text");
        for command in &commands {
            let name = command.replace(' ', "-");
            let page =
                std::fs::read_to_string(folder.path().join(format!("{name}.1"))).expect(command);
            assert!(
                page.contains(&format!(".TH {name} 1")) && page.contains(".SH SYNOPSIS"),
                "{command}"
            );
            assert!(
                script.contains(&command.replace([' ', '-'], "__subcmd__")),
                "{command}"
            );
        }
        let run = std::fs::read_to_string(folder.path().join("tm-waves-run.1")).expect("a page");
        assert!(
            run.contains(".TH tm-waves-run 1") && run.contains("\\-\\-max\\-parallel"),
            "{run}"
        );
        assert!(folder.path().join("tm.1").is_file());
    }

    /// A change of what people read at `--help` is seen in the diff that makes it.
    #[test]
    fn the_help_of_every_command_is_as_it_was_read() {
        let mut root = Arguments::command().mut_args(|argument| argument.hide_env_values(true));
        root.build();
        let mut text = String::new();
        let mut left = vec![root];
        while let Some(command) = left.pop() {
            let below: Vec<Command> = command
                .get_subcommands()
                .filter(|command| !command.is_hide_set())
                .cloned()
                .collect();
            left.extend(
                below
                    .into_iter()
                    .rev()
                    .filter(|command| command.get_name() != "help"),
            );
            let help = command.term_width(100).render_long_help();
            let lines = help
                .to_string()
                .lines()
                .map(|line| line.trim_end().to_owned())
                .collect::<Vec<_>>();
            let _ = writeln!(text, "{}\n{}", lines.join("\n"), "=".repeat(100));
        }
        insta::assert_snapshot!(text);
    }
}
