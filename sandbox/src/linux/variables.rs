//! Variables by which programs are loaded, or run another one first. Whoever holds a program would be loaded by them, unheld,
//! and what they name may be an agent's: they have another name until the program begins.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt as _;
use std::process::Command;

/// Names, or beginnings of names that end with `_`.
const OF_LOADING: [&str; 8] = [
    "BASH_ENV",
    "ENV",
    "GCONV_PATH",
    "GETCONF_DIR",
    "GLIBC_TUNABLES",
    "LD_",
    "LOCPATH",
    "NLSPATH",
];

/// What no loader and no shell heeds.
const BEFORE_NAME: &str = "TM_OF_PROGRAM_";

/// Returns the name under which whoever holds a program is given a variable of it.
pub fn given_name(name: &OsStr) -> OsString {
    let bytes = name.as_bytes();
    let is_of_loading = OF_LOADING.iter().any(|one| {
        let is_beginning = one.ends_with('_') && bytes.starts_with(one.as_bytes());
        is_beginning || bytes == one.as_bytes()
    });
    if is_of_loading {
        [OsStr::new(BEFORE_NAME), name].join(OsStr::new(""))
    } else {
        name.to_owned()
    }
}

/// Gives a program its variables under their own names.
pub(super) fn give(program: &mut Command) {
    for (given, value) in std::env::vars_os() {
        if let Some(name) = given.as_bytes().strip_prefix(BEFORE_NAME.as_bytes()) {
            program
                .env_remove(&given)
                .env(OsStr::from_bytes(name), value);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn variables_of_loading_are_given_under_another_name() {
        let given = |name: &str| given_name(OsStr::new(name));
        for name in ["LD_PRELOAD", "LD_", "GLIBC_TUNABLES", "ENV"] {
            assert_eq!(given(name), *format!("TM_OF_PROGRAM_{name}"));
        }
        for name in ["PATH", "ENVIRONMENT", "OLD_LD_PRELOAD", ""] {
            assert_eq!(given(name), *name);
        }
    }
}
