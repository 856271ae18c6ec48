//! Which variables of the user's reach a project's commands, and where toolchains and caches are when no variable says.
//!
//! The one list is `variables.txt`: what is not on it does not get through, whatever it is called. Each row is there because
//! a command that works in the user's own shell would not work without it, or would fetch or build again what is there.
//! Nothing on it says who the user is to any service; what does so in a folder that it names stands behind that.

/// A variable on the list.
pub(super) struct Row {
    pub(super) name: &'static str,
    /// The folder of the user's in which something lies when the variable does not name it, and what.
    pub(super) place: Option<(&'static str, &'static str)>,
    /// What in there says to services who the user is.
    logins: &'static str,
}

/// Returns the list.
pub(super) fn rows() -> impl Iterator<Item = Row> {
    include_str!("variables.txt")
        .lines()
        .filter(|line| !line.starts_with('#'))
        .flat_map(|line| {
            let (names, place) = line.split_once(" = ").unwrap_or((line, ""));
            let (place, logins) = place.split_once(" but ").unwrap_or((place, ""));
            let place = place.split_once(' ');
            names.split_whitespace().map(move |name| Row {
                name,
                place,
                logins,
            })
        })
}

/// Returns variables with what says to services who the user is in the folder that they name, by paths from there.
pub(crate) fn logins() -> impl Iterator<Item = (&'static str, &'static str)> {
    rows().flat_map(|row| {
        let logins = row.logins.split_whitespace();
        logins.map(move |login| (row.name, login))
    })
}

/// The file of the user's home that the private one has too: it says which versions of languages count, and no more.
pub(super) const COPIED: &str = ".tool-versions";

/// Variables that are the same everywhere.
pub(super) const FIXED: &[(&str, &str)] = &[
    ("LANG", LOCALE),
    ("LC_ALL", LOCALE),
    ("TERM", "dumb"),
    // As in a job of CI: nothing waits for a key, watches files, or writes expectations that are missing.
    ("CI", "true"),
    // Python takes bytecode for fresh by whole seconds and size; worktrees change faster than that.
    ("PYTHONDONTWRITEBYTECODE", "1"),
    // What lies in the user's own site folder would be run by every Python.
    ("PYTHONNOUSERSITE", "1"),
    ("CARGO_TERM_COLOR", "never"),
    ("COREPACK_ENABLE_DOWNLOAD_PROMPT", "0"),
    // A new home would be greeted, at length.
    ("DOTNET_NOLOGO", "1"),
    ("DOTNET_CLI_TELEMETRY_OPTOUT", "1"),
    ("DOTNET_GENERATE_ASPNET_CERTIFICATE", "false"),
];

#[cfg(target_os = "macos")]
const LOCALE: &str = "en_US.UTF-8";
#[cfg(not(target_os = "macos"))]
const LOCALE: &str = "C.UTF-8";

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    fn names() -> Vec<&'static str> {
        rows()
            .map(|row| row.name)
            .chain(FIXED.iter().map(|(name, _)| *name))
            .collect()
    }

    #[test]
    fn logins_stand_behind_the_folder_that_they_are_in() {
        let of = |name: &str| {
            let own = logins().filter(|(variable, _)| *variable == name);
            own.map(|(_, login)| login).collect::<Vec<_>>()
        };
        assert_eq!(of("CARGO_HOME"), ["credentials.toml", "credentials"]);
        assert!(of("RUSTUP_HOME").is_empty() && of("PATH").is_empty() && of("X").is_empty());
        let cargo = rows().find(|row| row.name == "CARGO_HOME");
        assert_eq!(cargo.and_then(|row| row.place), Some(("home", ".cargo")));
    }

    #[test]
    fn no_variable_is_on_the_list_twice() {
        assert_eq!(
            names().into_iter().collect::<BTreeSet<_>>().len(),
            names().len()
        );
    }

    #[test]
    fn nothing_on_the_list_is_named_like_a_secret_or_belongs_to_git_or_tm() {
        for name in names() {
            let capitals = name.to_uppercase();
            for word in [
                "TOKEN",
                "SECRET",
                "PASSWORD",
                "PASSWD",
                "CREDENTIAL",
                "APIKEY",
                "API_KEY",
                "AUTH",
                "COOKIE",
            ] {
                assert!(!capitals.contains(word), "{name}");
            }
            for beginning in [
                "GIT_",
                "TM_",
                "AWS_",
                "GITHUB_",
                "ANTHROPIC_",
                "OPENAI_",
                "SSH_",
                "DBUS_",
                "XDG_",
            ] {
                assert!(!capitals.starts_with(beginning), "{name}");
            }
        }
    }
}
