//! Has the commands of the user's filters started by somebody who holds them: git works in the checkout when it starts one,
//! and agents write what such a command may look for there.

use super::content::COMMANDS_OF_FILTER;
use super::own::OwnGit;
use super::settings::{LFS, filter_key, lines};
use crate::files::{beginning, replace};
use crate::git::fields;
use crate::{OrFailedTo as _, Repository, Result};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// What git reads of them, and what whoever holds them is told.
const COMMANDS: &str = "held-filters";
pub(crate) const TOLD: &str = "held-filters.json";
/// The ending of what git is told that a filter asks, in the place of the user's own settings.
const GITCONFIG: &str = "gitconfig";
/// None is longer.
const MOST_BYTES: usize = 16 * 1024 * 1024;
/// A filter that changes nothing, as some have for one of the two ways, and where it is not looked for.
pub(super) const NO_CHANGE: (&str, &str) = ("cat", "/bin/cat");

/// How the commands of filters are held.
#[derive(Debug)]
pub struct HeldFilters {
    /// The program that holds them: it is given `word`, the path of a file that has `told`, the command for a shell, and what
    /// that is given.
    pub program: PathBuf,
    /// By which word it knows that.
    pub word: &'static str,
    /// What it is told.
    pub told: Vec<u8>,
}

/// Says how the commands of filters are held, if they are; asked only where there are any.
#[derive(Clone)]
pub struct FilterHolder(Arc<dyn Fn() -> Option<HeldFilters> + Send + Sync>);

impl FilterHolder {
    /// Returns what says so.
    pub fn new(held: impl Fn() -> Option<HeldFilters> + Send + Sync + 'static) -> Self {
        Self(Arc::new(held))
    }
}

impl fmt::Debug for FilterHolder {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("FilterHolder")
    }
}

impl OwnGit {
    /// Returns what git is told of the user's filters on top of the settings that were taken. Where nobody says how they are
    /// held, it is what was said before.
    pub(super) fn filters(&self, repository: &Repository) -> Result<String> {
        let file = self.folder.join(COMMANDS);
        let Some(FilterHolder(holder)) = &repository.filter_holder else {
            let known = beginning(&file, MOST_BYTES).unwrap_or_default();
            return Ok(String::from_utf8_lossy(&known).into_owned());
        };
        let commands = self.filter_commands(repository)?;
        let held = (!commands.is_empty()).then(|| holder()).flatten();
        let Some(held) = held else {
            tm_untrusted::remove(&file).or_failed_to("remove", &file)?;
            return Ok(String::new());
        };
        let told = self.folder.join(TOLD);
        replace(&told, &held.told)?;
        // What a filter that asks git is told of the user, and no more.
        let mut settings = lines([("safe.directory", "*")]);
        for key in ["user.name", "user.email"] {
            if let Some(value) = self.taken(repository, key)? {
                settings += &lines([(key, &*value)]);
            }
        }
        replace(&told.with_extension(GITCONFIG), settings.as_bytes())?;
        let words = [quoted(&held.program), held.word.to_owned(), quoted(&told)].join(" ");
        // What fails would be content that nobody filtered, without a word. Then each way needs a command, also the one in
        // which nothing changes.
        let names: BTreeSet<&str> = commands
            .keys()
            .filter_map(|key| filter_key(key))
            .map(|(name, _)| name)
            .collect();
        let of_name = |name: &&str| {
            let required = (format!("filter.{name}.required"), "true".to_owned());
            let unchanged = ["clean", "smudge"]
                .map(|what| (format!("filter.{name}.{what}"), NO_CHANGE.1.to_owned()));
            let lacks = |(key, _): &(String, String)| {
                !commands.contains_key(key)
                    && !commands.contains_key(&format!("filter.{name}.process"))
            };
            unchanged
                .into_iter()
                .filter(lacks)
                .chain([required])
                .collect::<Vec<_>>()
        };
        let required: Vec<_> = names.iter().flat_map(of_name).collect();
        let held = commands.iter().map(|(key, command)| {
            let is_of_one_file = !key.ends_with(".process");
            (key.clone(), held_command(&words, command, is_of_one_file))
        });
        let all: Vec<(String, String)> = held.chain(required).collect();
        let text = lines(
            all.iter()
                .map(|(key, value)| (key.as_str(), value.as_str())),
        );
        replace(&file, text.as_bytes())?;
        Ok(text)
    }

    /// The commands of the user's filters but for those of LFS, which look for nothing in a checkout.
    fn filter_commands(&self, repository: &Repository) -> Result<BTreeMap<String, String>> {
        let taken = self.taken_settings();
        let text = beginning(&taken, MOST_BYTES).unwrap_or_default();
        if !text.windows(7).any(|word| word == b"[filter") {
            return Ok(BTreeMap::new());
        }
        let git = repository.git_on_objects("config -z --file").arg(&taken);
        let listing = git.args(["--get-regexp", "^filter\\."]).bytes()?;
        let entry = |entry: &[u8]| {
            let entry = String::from_utf8_lossy(entry).into_owned();
            let (key, command) = entry.split_once('\n')?;
            Some((key.to_owned(), command.to_owned()))
        };
        // Of several the last one counts, and one without words says that there is none.
        let mut last: BTreeMap<String, String> = fields(&listing).filter_map(entry).collect();
        last.retain(|key, command| {
            let what = filter_key(key).map(|(_, what)| what);
            let is_command = what.is_some_and(|what| COMMANDS_OF_FILTER.contains(&what));
            is_command && !command.trim().is_empty() && !is_of_lfs(command)
        });
        Ok(last)
    }
}

/// Tells whether a command is one of LFS and nothing more.
fn is_of_lfs(command: &str) -> bool {
    let is_plain = |letter: char| letter.is_ascii_alphanumeric() || " -%".contains(letter);
    command.starts_with(LFS) && command.chars().all(is_plain)
}

/// Returns the command that has another one held. Of one for a single file git replaces `%f` by the path, quoted for a
/// shell, and `%%` by `%`; of the one that is held whoever holds it does, wherever in it that stands.
fn held_command(words: &str, command: &str, is_of_one_file: bool) -> String {
    let (unchanged, program) = NO_CHANGE;
    if command.trim() == unchanged {
        return program.to_owned();
    }
    if !is_of_one_file {
        return format!("{words} {}", quoted(Path::new(command)));
    }
    let held = format!("{words} {}", quoted(Path::new(command)));
    format!("{} %f", held.replace('%', "%%"))
}

/// Returns a word of a shell's.
fn quoted(word: &Path) -> String {
    format!("'{}'", word.to_string_lossy().replace('\'', "'\\''"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_is_given_the_path_that_git_puts_into_it() {
        let held =
            |command, is_of_one_file| held_command("'/tm' held '/a%b'", command, is_of_one_file);
        assert_eq!(
            held("python -m strip --name=%f 100%%", true),
            "'/tm' held '/a%%b' 'python -m strip --name=%%f 100%%%%' %f"
        );
        assert_eq!(held("it's", true), "'/tm' held '/a%%b' 'it'\\''s' %f");
        assert_eq!(held("serve %f", false), "'/tm' held '/a%b' 'serve %f'");
        assert_eq!(held(" cat", true), "/bin/cat");
    }
}
