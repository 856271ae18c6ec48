//! `tm audit`: shows again, from the history alone, what runs proved.

use super::verify::judging;
use super::{Perform, StrictnessArgument};
use crate::display::{print_data, print_json};
use crate::failure::{ExitCode, Result};
use crate::project::open;
use clap::Args;
use serde_json::json;
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use tm_app::AuditOrder;
use tm_reports::{audit_junit, audit_text};

/// `tm audit`.
#[derive(Args, Debug)]
pub(crate) struct AuditArguments {
    /// A range of commits (`origin/main..HEAD`), a run, or an integration branch. When not given: what HEAD has and the
    /// default branch has not, where runs landed work in it; else the integration branch of the last run.
    #[arg(value_name = "RUN|RANGE")]
    range: Option<String>,
    /// Run the tests of so many tasks only; which ones follows from the newest commit. Where each commit stands is
    /// looked at for all.
    #[arg(long, value_name = "N")]
    sample: Option<NonZeroUsize>,
    /// The command that runs the tests, run by `sh`.
    #[arg(long, value_name = "COMMAND")]
    test_command: Option<String>,
    /// How strictly RED and GREEN are judged.
    #[arg(long, value_name = "LEVEL")]
    strictness: Option<StrictnessArgument>,
    /// Tasks that are judged at the same time.
    #[arg(long, short = 'j', value_name = "N")]
    max_parallel: Option<NonZeroUsize>,
    /// Write a report for CI systems besides.
    #[arg(long, value_name = "FILE")]
    junit: Option<PathBuf>,
    /// For programs.
    #[arg(long)]
    json: bool,
}

impl Perform for AuditArguments {
    async fn perform(self, start: &Path) -> Result {
        tm_worktrees::check_git()?;
        let project = open(start, judging(self.test_command, self.strictness))?;
        let order = AuditOrder {
            range: self.range,
            sample: self.sample,
            parallel: self.max_parallel,
        };
        let audit = tm_app::audit(&project, &order).await?;
        if let Some(path) = &self.junit {
            let written =
                tm_store::atomic::replace(&start.join(path), audit_junit(&audit).as_bytes());
            written.map_err(|error| failure!("write `{}`: {error}", path.display()))?;
        }
        let holds = audit.holds();
        if self.json {
            let mut document = serde_json::to_value(&audit)?;
            document["holds"] = json!(holds);
            print_json(&document)?;
        } else {
            print_data(&audit_text(&audit));
        }
        if holds {
            return Ok(0);
        }
        say!("not everything can be shown again");
        Ok(ExitCode::Refused.number())
    }
}
