//! Which processes a process comes from, and what each of them has in its environment.

use super::{ProcessIdentity, system};
use std::os::unix::ffi::OsStrExt as _;
use std::time::Instant;

/// No process has more ancestors than this; a longer way is one that changed while it was walked.
const FARTHEST: usize = 1_000;

/// A process, or one that it descends from.
#[derive(Clone, Debug)]
pub struct Ancestor {
    /// Who it is.
    pub identity: ProcessIdentity,
    /// Its environment as it was started with, `NAME=value` entries that end with a zero byte; empty where nobody can
    /// look.
    environment: Vec<u8>,
}

impl Ancestor {
    /// Returns a variable that it was started with.
    pub fn variable(&self, name: &str) -> Option<String> {
        let value = variable_in(&self.environment, name)?;
        Some(String::from_utf8_lossy(value).into_owned())
    }
}

/// Returns the value of a variable in an environment of `NAME=value` entries that end with a zero byte.
pub(super) fn variable_in<'a>(environment: &'a [u8], name: &str) -> Option<&'a [u8]> {
    environment
        .split(|&byte| byte == 0)
        .find_map(|entry| entry.strip_prefix(name.as_bytes())?.strip_prefix(b"="))
}

/// Returns a process and all that it descends from, itself first; nothing when it is gone.
pub fn lineage(pid: u32) -> Vec<Ancestor> {
    let (mut all, mut next) = (Vec::<Ancestor>::new(), pid);
    while all.len() < FARTHEST
        && let Some(process) = system::process(next)
        // The number of a parent that has ended may be somebody else's.
        && all.last().is_none_or(|child| child.identity.start_time >= process.identity.start_time)
    {
        all.push(Ancestor {
            identity: process.identity,
            environment: environment(next),
        });
        next = process.parent;
    }
    all
}

fn environment(pid: u32) -> Vec<u8> {
    if pid != std::process::id() {
        return system::environment(pid, Instant::now()).unwrap_or_default();
    }
    // Its own is known everywhere.
    let entry = |(name, value): (std::ffi::OsString, std::ffi::OsString)| {
        [name.as_bytes(), b"=", value.as_bytes(), b"\0"].concat()
    };
    std::env::vars_os().flat_map(entry).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn this_process_comes_first_and_its_parent_next() {
        let lineage = lineage(std::process::id());
        assert_eq!(lineage[0].identity.pid, std::process::id());
        assert_eq!(lineage[1].identity.pid, std::os::unix::process::parent_id());
        assert_eq!(lineage[0].variable("PATH"), std::env::var("PATH").ok());
        assert!(
            lineage
                .windows(2)
                .all(|pair| pair[0].identity.start_time >= pair[1].identity.start_time)
        );
    }

    #[test]
    fn process_that_is_gone_has_no_lineage() {
        assert!(lineage(u32::MAX).is_empty());
    }

    #[test]
    fn variables_are_known_by_their_whole_name() {
        let identity = ProcessIdentity {
            pid: 1,
            start_time: 1,
        };
        let ancestor = Ancestor {
            identity,
            environment: b"TM_RUN_IDS=no\0TM_RUN_ID=r=1\0TM_RUN_ID=2\0".to_vec(),
        };
        assert_eq!(ancestor.variable("TM_RUN_ID").as_deref(), Some("r=1"));
        assert_eq!(ancestor.variable("TM_RUN"), None);
    }
}
