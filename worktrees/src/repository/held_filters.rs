//! Has the commands of the user's filters started by somebody who holds them: git works in the checkout when it starts one,
//! and agents write what such a command may look for there.

use super::content::COMMANDS_OF_FILTER;
use super::own::OwnGit;
use super::settings::{LFS, filter_key, lines};
use crate::files::{beginning, replace};
use crate::git::fields;
use crate::said::HELD_FILTERS;
use crate::{OrFailedTo as _, Repository, Result};
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::{fmt, io};

/// What git reads of them.
const COMMANDS: &str = "held-filters";
/// It is no longer, and neither are the settings.
const MOST_BYTES: usize = 16 * 1024 * 1024;
/// The command that changes nothing, as some filters have for one of the two ways.
pub(super) const NO_CHANGE: &str = "cat";
/// Where it is, so that nobody looks for it.
const PLACES_OF_NO_CHANGE: [&str; 3] =
    ["/bin/cat", "/usr/bin/cat", "/run/current-system/sw/bin/cat"];
/// By these words a command names the user's home, which is another one where the command is held.
const HOME: [&str; 3] = ["~/", "$HOME/", "${HOME}/"];

/// How the commands of filters are held.
#[derive(Debug)]
pub struct HeldFilters {
    /// The program that holds them: it is given `word`, the path of a file that has `told`, the command for a shell, and what
    /// git gives that.
    pub program: PathBuf,
    /// By which word it knows that.
    pub word: &'static str,
    /// What it is told, with what git says in a filter that asks git, which is to come from these settings.
    pub told: Vec<u8>,
}

/// Says how the commands of filters are held, if they are; `None` where nobody holds anything. It is told the settings that a
/// git is to find which a filter asks, as a file of git's, and asked only where there are filters.
type Holder = dyn Fn(&str) -> io::Result<Option<HeldFilters>> + Send + Sync;

/// Says how the commands of filters are held.
#[derive(Clone)]
pub struct FilterHolder(Arc<Holder>);

impl FilterHolder {
    /// Returns what says so.
    pub fn new(
        held: impl Fn(&str) -> io::Result<Option<HeldFilters>> + Send + Sync + 'static,
    ) -> Self {
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
        let held = if commands.is_empty() {
            None
        } else {
            let held = holder(&self.of_user(repository)?);
            held.or_failed_to("write down how filters are held in", &self.folder)?
        };
        let Some(HeldFilters {
            program,
            word,
            told,
        }) = held
        else {
            tm_untrusted::remove(&file).or_failed_to("remove", &file)?;
            return Ok(String::new());
        };
        let path = self.folder.join(HELD_FILTERS);
        replace(&path, &told)?;
        let words = [quoted(&program), word.to_owned(), quoted(&path)].join(" ");
        let held = commands.iter().map(|(key, command)| {
            let is_of_one_file = !key.ends_with(".process");
            (key.clone(), held_command(&words, command, is_of_one_file))
        });
        let text = as_settings(held.chain(required(commands)));
        replace(&file, text.as_bytes())?;
        Ok(text)
    }

    /// Returns what git is told of the user's filters that agents and hooks start, and that is held with them: one that fails
    /// lets nothing pass there either.
    pub(crate) fn filters_of_others(&self, repository: &Repository) -> Result<String> {
        let commands = self.filter_commands(repository)?;
        let as_named = commands.iter();
        let as_named = as_named.map(|(key, command)| (key.clone(), command.clone()));
        Ok(as_settings(as_named.chain(required(commands))))
    }

    /// The commands of the user's filters by their keys, but for those of LFS, which look for nothing in a checkout; they stay
    /// as they were taken, so git is asked once.
    pub(crate) fn filter_commands(
        &self,
        repository: &Repository,
    ) -> Result<&BTreeMap<String, String>> {
        if let Some(known) = self.filter_commands.get() {
            return Ok(known);
        }
        let asked = self.ask_for_filters(repository)?;
        Ok(self.filter_commands.get_or_init(|| asked))
    }

    fn ask_for_filters(&self, repository: &Repository) -> Result<BTreeMap<String, String>> {
        let taken = self.taken_settings();
        let text = beginning(&taken, MOST_BYTES)?;
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
            is_command && !command.trim().is_empty() && !is_lfs_alone(command)
        });
        let home = repository.environment.path("HOME");
        if let Some(home) = home.filter(|home| home.is_absolute()) {
            for command in last.values_mut() {
                *command = at_home(command, &home);
            }
        }
        Ok(last)
    }

    /// What a filter that asks git is told of the user, as a file of git's.
    fn of_user(&self, repository: &Repository) -> Result<String> {
        let mut settings = lines([("safe.directory", "*")]);
        for key in ["user.name", "user.email"] {
            if let Some(value) = self.taken(repository, key)? {
                settings += &lines([(key, &*value)]);
            }
        }
        Ok(settings)
    }
}

fn as_settings(entries: impl Iterator<Item = (String, String)>) -> String {
    entries
        .map(|(key, value)| lines([(&*key, &*value)]))
        .collect()
}

/// What has a filter that fails refuse the content, which would pass unfiltered without a word else. Then each way needs a
/// command, also the one in which nothing changes.
fn required(commands: &BTreeMap<String, String>) -> impl Iterator<Item = (String, String)> {
    let names: BTreeSet<&str> = commands
        .keys()
        .filter_map(|key| Some(filter_key(key)?.0))
        .collect();
    names.into_iter().flat_map(|name| {
        let has = |what: &str| commands.contains_key(&format!("filter.{name}.{what}"));
        let unchanged = ["clean", "smudge"]
            .into_iter()
            .filter(|what| !has(what) && !has("process"))
            .map(|what| (format!("filter.{name}.{what}"), no_change().to_owned()));
        let required = (format!("filter.{name}.required"), "true".to_owned());
        unchanged.chain([required]).collect::<Vec<_>>()
    })
}

/// Tells whether a command is one of LFS and nothing more.
fn is_lfs_alone(command: &str) -> bool {
    let is_plain = |letter: char| letter.is_ascii_alphanumeric() || " -%".contains(letter);
    command.starts_with(LFS) && command.chars().all(is_plain)
}

fn no_change() -> &'static str {
    let mut places = PLACES_OF_NO_CHANGE.into_iter();
    let found = places.find(|place| Path::new(place).is_file());
    found.unwrap_or(NO_CHANGE)
}

/// Returns a command in which the user's home stands as the path that it is.
fn at_home(command: &str, home: &Path) -> String {
    let home = format!("{}/", home.display());
    let is_within_word = |letter: char| letter.is_alphanumeric() || "/._-".contains(letter);
    let mut whole = String::new();
    let mut rest = command;
    while let Some((at, named)) = HOME
        .iter()
        .filter_map(|named| Some((rest.find(named)?, named)))
        .min()
    {
        let (before, after) = (&rest[..at], &rest[at + named.len()..]);
        whole.push_str(before);
        let is_name = *named != HOME[0] || !whole.ends_with(is_within_word);
        whole.push_str(if is_name { &home } else { named });
        rest = after;
    }
    whole + rest
}

/// Returns the command that has another one held. Of one for a single file git replaces `%f` by the path, quoted for a
/// shell, and `%%` by `%`; of the one that is held whoever holds it does, wherever in it that stands.
fn held_command(words: &str, command: &str, is_of_one_file: bool) -> String {
    let unchanged = no_change();
    if command.trim() == NO_CHANGE && unchanged != NO_CHANGE {
        return unchanged.to_owned();
    }
    let held = format!("{words} {}", quoted(Path::new(command)));
    if is_of_one_file {
        format!("{} %f", held.replace('%', "%%"))
    } else {
        held
    }
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
        assert_eq!(held(" cat", true), no_change());
    }

    #[test]
    fn a_command_names_the_home_that_is_the_users() {
        let named = |command| at_home(command, Path::new("/home/me"));
        assert_eq!(named("~/bin/mask %f"), "/home/me/bin/mask %f");
        assert_eq!(
            named("sh \"$HOME/a\" ${HOME}/b x~/c ~/d"),
            "sh \"/home/me/a\" /home/me/b x~/c /home/me/d"
        );
    }
}
