//! Variables by which programs are loaded, or run another one first. Whoever holds a program would be loaded by them, unheld,
//! and what they name may be an agent's: they have another name until the program begins.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt as _;
use std::process::Command;

/// Besides all that are the loader's.
const OF_LOADING: [&str; 7] = [
    "BASH_ENV",
    "ENV",
    "GCONV_PATH",
    "GETCONF_DIR",
    "GLIBC_TUNABLES",
    "LOCPATH",
    "NLSPATH",
];

/// What the names of the loader's own variables begin with (`ld.so(8)`).
const OF_LOADER: &[u8] = b"LD_";
/// What no loader and no shell heeds.
const BEFORE_NAME: &str = "TM_OF_PROGRAM_";

/// Returns the name under which whoever holds a program is given a variable of it.
pub fn given_name(name: &OsStr) -> OsString {
    if name.as_bytes().starts_with(OF_LOADER) || OF_LOADING.iter().any(|one| name == *one) {
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
