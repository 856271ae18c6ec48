//! Settings that whoever calls tm hands down to git by variables: they stay there, where secrets are in no file, but for those
//! that have a command started in checkouts, which are taken with all others.

use super::settings::LFS_EXTENSIONS;
use crate::Environment;
use std::ffi::OsString;

/// Tells whether a setting has git, or LFS, start a command in checkouts.
pub(super) fn starts_commands(key: &str) -> bool {
    let key = key.to_ascii_lowercase();
    key.starts_with("filter.") || key.starts_with(LFS_EXTENSIONS)
}

/// Returns the variables by which a caller hands settings down, without those that were taken.
pub(super) fn handed_down(of_user: &Environment) -> Vec<(String, OsString)> {
    let number = of_user.get("GIT_CONFIG_COUNT");
    let number = number.and_then(|number| number.to_str()?.parse::<usize>().ok());
    let pair = |index: usize| {
        let of = |what: &str| of_user.get(&format!("GIT_CONFIG_{what}_{index}"));
        let (key, value) = (of("KEY")?, of("VALUE").unwrap_or_default());
        (!starts_commands(&key.to_string_lossy())).then_some((key, value))
    };
    let kept: Vec<_> = (0..number.unwrap_or_default()).filter_map(pair).collect();
    let mut variables = Vec::new();
    if number.is_some() {
        variables.push(("GIT_CONFIG_COUNT".to_owned(), kept.len().to_string().into()));
    }
    for (index, (key, value)) in kept.into_iter().enumerate() {
        variables.push((format!("GIT_CONFIG_KEY_{index}"), key));
        variables.push((format!("GIT_CONFIG_VALUE_{index}"), value));
    }
    // A text with quotes of git's own: as a whole, or nothing of it.
    let parameters = of_user.get("GIT_CONFIG_PARAMETERS").unwrap_or_default();
    let text = parameters.to_string_lossy().to_ascii_lowercase();
    if text.contains("filter.") || text.contains(LFS_EXTENSIONS) {
        variables.push(("GIT_CONFIG_PARAMETERS".to_owned(), OsString::new()));
    }
    variables
}
