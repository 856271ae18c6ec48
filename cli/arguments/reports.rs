//! The arguments of `tm waves report`, and of what a run does when it is over.

use clap::{Args, ValueEnum};
use serde::{Deserialize, Serialize};
use std::path::PathBuf;

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
#[expect(clippy::struct_excessive_bools, reason = "each is a flag of the command line")]
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
#[derive(Args, Clone, Debug, Default, Eq, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub(crate) struct AfterRun {
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

impl AfterRun {
    /// Returns what was given, completed by what was given before; a folder is named from the root on, since a run may
    /// be taken up from elsewhere.
    ///
    /// # Errors
    /// There is no current folder.
    pub(crate) fn or(&self, before: &Self) -> std::io::Result<Self> {
        let report_dir = self.report_dir.as_ref().map(std::path::absolute).transpose()?;
        Ok(Self {
            report_dir: report_dir.or_else(|| before.report_dir.clone()),
            ci: self.ci.or(before.ci),
            on_complete: self.on_complete.as_ref().or(before.on_complete.as_ref()).cloned(),
            notify: if self.notify.is_empty() { before.notify.clone() } else { self.notify.clone() },
        })
    }
}

/// CI systems.
#[derive(Clone, Copy, Debug, Eq, PartialEq, ValueEnum, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_given_now_outweighs_what_was_given_before() {
        let before = AfterRun {
            report_dir: Some("/reports".into()),
            ci: Some(CiSystem::Github),
            on_complete: Some("make done".to_owned()),
            notify: vec!["desktop".to_owned()],
        };
        assert_eq!(AfterRun::default().or(&before).expect("a folder"), before);
        let now = AfterRun { ci: Some(CiSystem::None), notify: vec!["http://x".to_owned()], ..AfterRun::default() };
        let both = now.or(&before).expect("a folder");
        assert_eq!((both.ci, &both.notify, &both.on_complete), (now.ci, &now.notify, &before.on_complete));
        let relative = AfterRun { report_dir: Some("reports".into()), ..AfterRun::default() };
        assert!(relative.or(&before).expect("a folder").report_dir.is_some_and(|folder| folder.is_absolute()));
    }
}
