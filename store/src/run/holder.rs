//! Who holds the run lock: what a second start tells its user.
//!
//! The record only informs. Whether the lock is held is known to the kernel alone, so a record of a process that has
//! died blocks nobody.

use rustix::process::{Pid, test_kill_process};
use serde::{Deserialize, Serialize};
use std::fmt;
use std::fs;
use tm_scheduler::{RunId, Timestamp};

tm_scheduler::words! {
    /// What the run lock is held for.
    pub enum HeldFor {
        /// A run of waves, or something that none may disturb.
        Waves = "waves",
        /// A loop.
        Loop = "loop",
        /// A run of autopilot that is being set up.
        Autopilot = "autopilot",
    }
}

/// The process that holds the run lock, as it wrote itself into the lock file.
#[derive(Clone, Debug, Default, Eq, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Holder {
    /// Its process id; nothing when its record could not be read.
    pub pid: Option<u32>,
    /// The name of the machine it runs on.
    pub host: String,
    /// When the process started, in clock ticks since boot, where the system tells (Linux).
    pub start_time: Option<u64>,
    /// When it took the lock.
    pub started_at: Timestamp,
    /// The run that it performs, once there is one.
    pub run_id: Option<RunId>,
    /// Whether it has attempts of waves under way: what those start may not steer it, and not change its tasks.
    pub has_attempts: bool,
    /// What it does; nothing where an earlier tm wrote the record.
    pub held_for: Option<HeldFor>,
    /// The program and its arguments.
    pub command_line: Vec<String>,
}

impl Holder {
    /// Describes this process.
    pub fn this_process(started_at: Timestamp, command_line: Vec<String>) -> Self {
        let pid = std::process::id();
        Self {
            pid: Some(pid),
            host: host_name(),
            start_time: ProcessStat::of(pid).map(|stat| stat.start_time),
            started_at,
            run_id: None,
            has_attempts: false,
            held_for: None,
            command_line,
        }
    }

    /// Tells whether the process is still there. One on another machine counts as alive: nothing is known of it here.
    pub fn is_alive(&self) -> bool {
        let Some(pid) = self.pid else { return false };
        if self.host != host_name() {
            return true;
        }
        match (self.start_time, ProcessStat::of(pid)) {
            (Some(start_time), Some(stat)) => stat.start_time == start_time && !stat.has_ended,
            (Some(_), None) => false,
            (None, _) => is_process(pid),
        }
    }
}

impl fmt::Display for Holder {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.pid {
            Some(pid) => write!(formatter, "process {pid} on `{}`", self.host)?,
            None => formatter.write_str("a process that has not said who it is")?,
        }
        if let Some(run_id) = &self.run_id {
            write!(formatter, " for run `{run_id}`")?;
        }
        if !self.command_line.is_empty() {
            write!(formatter, " (`{}`)", self.command_line.join(" "))?;
        }
        Ok(())
    }
}

/// What the kernel says of a process.
struct ProcessStat {
    start_time: u64,
    has_ended: bool,
}

impl ProcessStat {
    /// Reads `/proc/<pid>/stat`; nothing when there is no such process, or no such file on this system.
    fn of(pid: u32) -> Option<Self> {
        Self::parse(&fs::read_to_string(format!("/proc/{pid}/stat")).ok()?)
    }

    /// Takes fields 3 and 22 of proc(5); field 2, the program's name, may itself hold spaces and parentheses.
    fn parse(stat: &str) -> Option<Self> {
        let (_, after_name) = stat.rsplit_once(')')?;
        let mut fields = after_name.split_ascii_whitespace();
        let has_ended = matches!(fields.next()?, "Z" | "X" | "x");
        let start_time = fields.nth(18)?.parse().ok()?;
        Some(Self {
            start_time,
            has_ended,
        })
    }
}

fn host_name() -> String {
    rustix::system::uname()
        .nodename()
        .to_string_lossy()
        .into_owned()
}

fn is_process(pid: u32) -> bool {
    let pid = i32::try_from(pid).ok().and_then(Pid::from_raw);
    pid.is_some_and(|pid| !matches!(test_kill_process(pid), Err(rustix::io::Errno::SRCH)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn this_process() -> Holder {
        Holder::this_process(
            Timestamp(1_000),
            vec!["tm".to_owned(), "waves".to_owned(), "run".to_owned()],
        )
    }

    #[test]
    fn this_process_is_alive() {
        assert!(this_process().is_alive());
        assert!(
            Holder {
                start_time: None,
                ..this_process()
            }
            .is_alive()
        );
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn reused_process_id_is_not_the_holder() {
        let holder = this_process();
        assert!(
            !Holder {
                start_time: holder.start_time.map(|ticks| ticks + 1),
                ..holder
            }
            .is_alive()
        );
    }

    #[test]
    fn process_that_can_not_be_there_is_dead() {
        for start_time in [None, Some(1)] {
            assert!(
                !Holder {
                    pid: Some(u32::MAX),
                    start_time,
                    ..this_process()
                }
                .is_alive()
            );
        }
    }

    #[test]
    fn holder_elsewhere_counts_as_alive() {
        assert!(
            Holder {
                pid: Some(u32::MAX),
                host: "another host".to_owned(),
                ..this_process()
            }
            .is_alive()
        );
    }

    #[test]
    fn program_name_with_parentheses_hides_no_field() {
        let stat = "7 (a) Z (b)) S 1 7 7 0 -1 4194560 1 0 0 0 2 3 0 0 20 0 1 0 8152 226 1 184467";
        let parsed = ProcessStat::parse(stat).unwrap();
        assert_eq!((parsed.start_time, parsed.has_ended), (8152, false));
        assert!(
            ProcessStat::parse(&stat.replace(") S", ") Z"))
                .unwrap()
                .has_ended
        );
        assert!(ProcessStat::parse("7 (a) S 1").is_none());
    }

    #[test]
    fn description_names_process_run_and_command() {
        let holder = Holder {
            pid: Some(7),
            host: "box".to_owned(),
            run_id: Some("r-1".into()),
            ..this_process()
        };
        assert_eq!(
            holder.to_string(),
            "process 7 on `box` for run `r-1` (`tm waves run`)"
        );
        assert_eq!(
            Holder::default().to_string(),
            "a process that has not said who it is"
        );
    }
}
