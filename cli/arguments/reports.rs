//! The arguments of `tm waves report`, and of what a run does when it is over.

use crate::flags::word;
use clap::{Args, ValueEnum};
use std::path::PathBuf;
use tm_app::AfterRun;

/// `tm waves report`.
#[derive(Args, Debug)]
pub(crate) struct ReportArguments {
    /// The run; the live or last one when not given.
    #[arg(value_name = "RUN")]
    pub(crate) run: Option<String>,
    /// What to show.
    #[command(flatten)]
    pub(crate) form: ReportForm,
}

/// Forms of a report; Markdown when none is given.
#[expect(
    clippy::struct_excessive_bools,
    reason = "each is a flag of the command line"
)]
#[derive(Args, Debug)]
#[group(multiple = false)]
pub(crate) struct ReportForm {
    /// For programs.
    #[arg(long)]
    pub(crate) json: bool,
    /// One page of HTML, on stdout.
    #[arg(long)]
    pub(crate) html: bool,
    /// `JUnit` XML, on stdout.
    #[arg(long)]
    pub(crate) junit: bool,
    /// Write `report.html` into the run's folder, and show it in the browser.
    #[arg(long)]
    pub(crate) open: bool,
}

/// What a run does when it is over, besides writing its own folder. A run that is taken up does the same again, as far
/// as nothing else is given then.
#[derive(Args, Clone, Debug, Default)]
pub(crate) struct AfterArguments {
    /// Write summary.md, summary.json, report.html and junit.xml into this folder too.
    #[arg(long, value_name = "DIR")]
    pub(crate) report_dir: Option<PathBuf>,
    /// Tell a CI system in its own way: annotations (github), a folded section (gitlab), an annotation of the build
    /// (buildkite); the one that the environment names when not given (`GITHUB_ACTIONS`, `GITLAB_CI`, `BUILDKITE`).
    #[arg(long, value_enum, value_name = "SYSTEM")]
    pub(crate) ci: Option<CiSystem>,
    /// Run this command by `sh` when the run is over, with `TM_RUN_ID`, `TM_STATUS`, `TM_EXIT_CODE`, `TM_PASSED`,
    /// `TM_FAILED`, `TM_BLOCKED`, `TM_INTEGRATION_BRANCH`, `TM_SUMMARY_FILE` and `TM_REPORT_FILE` in its environment.
    #[arg(long, value_name = "COMMAND")]
    pub(crate) on_complete: Option<String>,
    /// Tell `desktop`, or a web server at this URL, which gets JSON; `slack+URL` and `discord+URL` for servers that
    /// want theirs. May be given several times.
    #[arg(long, value_name = "CHANNEL")]
    pub(crate) notify: Vec<String>,
}

impl AfterArguments {
    /// Returns what is asked for.
    pub(crate) fn given(&self) -> AfterRun {
        AfterRun {
            report_dir: self.report_dir.clone(),
            ci: word(self.ci),
            on_complete: self.on_complete.clone(),
            notify: self.notify.clone(),
        }
    }
}

/// CI systems.
#[derive(Clone, Copy, Debug, Eq, PartialEq, ValueEnum)]
pub(crate) enum CiSystem {
    /// The one that the environment names.
    Auto,
    /// None of them.
    None,
    /// GitHub Actions.
    Github,
    /// GitLab CI.
    Gitlab,
    /// Buildkite.
    Buildkite,
}
