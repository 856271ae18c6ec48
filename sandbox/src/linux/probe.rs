//! Which levels work here, found by starting a program that does nothing with the very arguments that are meant.

use super::{bwrap, lay_before, ports};
use crate::{Confinement, Found, Level, Refused, Sandbox, Wanted};
use std::ffi::OsString;
use std::path::Path;
use std::process::Stdio;
use std::time::{Duration, Instant};

/// So long one try may take.
const LIMIT: Duration = Duration::from_secs(5);

/// Looks for the best level that is wanted and holds a program with this confinement; blocks for some milliseconds.
pub fn find(wanted: Wanted, confinement: &Confinement, tm_program: &Path) -> Found {
    let tried: &[Level] = match &wanted {
        Wanted::Auto | Wanted::Required => &[Level::Bwrap, Level::Landlock],
        Wanted::Exactly(Level::None) => &[],
        Wanted::Exactly(level) => std::slice::from_ref(level),
    };
    let mut refused = Vec::new();
    for level in tried {
        let sandbox = Sandbox {
            group: None,
            stamp: None,
            level: *level,
            confinement: confinement.clone(),
            tm_program: tm_program.to_owned(),
        };
        let mut works = try_one(&sandbox);
        if *level == Level::Bwrap && works.is_err() && !lay_before(true) {
            works = try_one(&sandbox);
        }
        match works {
            Ok(()) => {
                return Found {
                    level: Some(*level),
                    refused,
                };
            }
            Err(why) => refused.push(Refused {
                level: *level,
                remedy: remedy(*level, &why),
                why,
            }),
        }
    }
    let may_be_none = matches!(wanted, Wanted::Auto | Wanted::Exactly(Level::None));
    Found {
        level: may_be_none.then_some(Level::None),
        refused,
    }
}

#[expect(
    clippy::disallowed_methods,
    reason = "what is tried is how programs are started, so nothing of that can be used for it"
)]
fn try_one(sandbox: &Sandbox) -> Result<(), String> {
    if sandbox.level == Level::Seatbelt {
        return Err("there is none on this system".to_owned());
    }
    let command = vec![OsString::from("true")];
    let line = super::line(sandbox, command, None).map_err(|error| error.to_string())?;
    let mut command = std::process::Command::new(&line[0]);
    command
        .args(&line[1..])
        .current_dir("/")
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::piped());
    let started = ports::start(sandbox, move || command.spawn());
    let mut child = started.flatten().map_err(|error| error.to_string())?;
    let begun = Instant::now();
    loop {
        match child.try_wait() {
            Ok(Some(_)) => break,
            Ok(None) if begun.elapsed() < LIMIT => std::thread::sleep(Duration::from_millis(1)),
            Ok(None) | Err(_) => {
                let _gone = child.kill().and_then(|()| child.wait());
                return Err(format!("it did not end within {} seconds", LIMIT.as_secs()));
            }
        }
    }
    let output = child
        .wait_with_output()
        .map_err(|error| error.to_string())?;
    if output.status.success() {
        return Ok(());
    }
    let said = String::from_utf8_lossy(&output.stderr);
    let last = said.lines().rfind(|line| !line.trim().is_empty());
    Err(last.map_or_else(|| output.status.to_string(), str::to_owned))
}

/// What the words of a failure mean, and what helps: by what is in them, the first row that fits.
const REMEDIES: [(&str, &str); 7] = [
    (
        "not installed",
        "install it: `apt install bubblewrap`, `dnf install bubblewrap`, `pacman -S bubblewrap`",
    ),
    (
        "RTM_NEWADDR",
        "this system keeps namespaces from programs without a profile (Ubuntu 24.04 and later): load AppArmor's \
         `bwrap-userns-restrict`, or `sysctl kernel.apparmor_restrict_unprivileged_userns=0`",
    ),
    (
        "setting up uid map",
        "this system keeps namespaces from programs without a profile (Ubuntu 24.04 and later): load AppArmor's \
         `bwrap-userns-restrict`, or `sysctl kernel.apparmor_restrict_unprivileged_userns=0`",
    ),
    (
        "No permissions to create",
        "`sysctl kernel.unprivileged_userns_clone=1`; in a container, start it with `--security-opt seccomp=unconfined`",
    ),
    (
        "Creating new namespace failed",
        "in a container, start it with `--security-opt seccomp=unconfined`; else `sysctl user.max_user_namespaces=10000`",
    ),
    (
        "mount proc",
        "in a container, start it with `--security-opt systempaths=unconfined`",
    ),
    (
        "no Landlock",
        "use a kernel of 6.7 or later with `landlock` in `lsm=`",
    ),
];

fn remedy(level: Level, why: &str) -> &'static str {
    let of_words = REMEDIES.iter().find(|(words, _)| why.contains(words));
    of_words.map_or(
        if level == Level::Bwrap && bwrap::program().is_none() {
            REMEDIES[0].1
        } else {
            "`sandbox: none` runs without it"
        },
        |(_, remedy)| remedy,
    )
}
