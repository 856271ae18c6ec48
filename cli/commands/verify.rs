//! `tm verify`: the judgement of a run, by hand, on any work; and `tm audit`: shows again, from the history alone, what
//! runs proved.

use super::Perform;
use super::backlog::with_fields;
use crate::display::{print_answer, print_either};
use crate::failure::{ExitCode, Result};
use crate::flags::{Flags, JudgingArguments};
use crate::notices;
use crate::project::{caller, open_to_judge};
use clap::Args;
use serde_json::json;
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use tm_app::{AuditOrder, Verified, VerifyOrder, WorkOf};
use tm_reports::{audit_junit, audit_text};
use tm_scheduler::{Audit, Phase};

/// `tm verify`.
#[derive(Args)]
pub(crate) struct VerifyArguments {
    /// A task of the last run, or the folder of a checkout; this checkout when not given.
    #[arg(value_name = "ID|PATH")]
    target: Option<String>,
    /// As RED: new tests exist and fail because the behaviour is missing.
    #[arg(long, conflicts_with = "green")]
    red: bool,
    /// As GREEN: the tests of its RED are unchanged and pass, nothing that passed before fails.
    #[arg(long)]
    green: bool,
    /// What the work started from. When not given: of a task, its own base; of a checkout, where its branch left the
    /// default branch, or the commit of its RED for --green, or HEAD when the branch has no commit of its own.
    #[arg(long, value_name = "COMMIT")]
    base: Option<String>,
    /// The run of the task; the live or last one when not given.
    #[arg(long)]
    run: Option<String>,
    /// How it is judged.
    #[command(flatten)]
    judging: JudgingArguments,
    /// For programs.
    #[arg(long)]
    json: bool,
}

impl Perform for VerifyArguments {
    async fn perform(self, start: &Path) -> Result {
        let folder = self
            .target
            .as_deref()
            .map(|target| start.join(target))
            .filter(|path| path.is_dir());
        let place = folder.as_deref().unwrap_or(start);
        let phase = self.phase();
        let given = Flags::default().judging(self.judging).given();
        let project = open_to_judge(start, place, given)?;
        let order = VerifyOrder {
            phase,
            of: match (self.target, &folder) {
                (Some(id), None) => WorkOf::Task { id, run: self.run },
                _ => WorkOf::Checkout(place.to_owned()),
            },
            base: self.base,
        };
        let Verified { name, phase, proof } = tm_app::verify(&project, &order).await?;
        let holds = proof.holds();
        let answer = json!({"target": name, "phase": phase, "holds": holds, "strength": proof.rests_on(),
                            "proof": proof});
        print_answer(self.json, &answer, "verified.txt")?;
        Ok(ExitCode::Refused.unless(holds))
    }
}

impl VerifyArguments {
    const fn phase(&self) -> Option<Phase> {
        match (self.red, self.green) {
            (true, _) => Some(Phase::Red),
            (false, true) => Some(Phase::Green),
            (false, false) => None,
        }
    }
}

/// `tm audit`.
#[derive(Args)]
pub(crate) struct AuditArguments {
    /// A range of commits (`origin/main..HEAD`), a run, or an integration branch. When not given: what HEAD has and the
    /// default branch has not, where runs landed work in it; else the integration branch of the last run.
    #[arg(value_name = "RUN|RANGE")]
    range: Option<String>,
    /// Run the tests of so many tasks only; which ones follows from the newest commit. Where each commit stands is
    /// looked at for all.
    #[arg(long, value_name = "N")]
    sample: Option<NonZeroUsize>,
    /// How it is judged.
    #[command(flatten)]
    judging: JudgingArguments,
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
        tm_worktrees::check_git(start)?;
        let given = Flags::default().judging(self.judging).given();
        let order = AuditOrder {
            range: self.range,
            sample: self.sample,
            parallel: self.max_parallel,
        };
        let caller = caller(notices::print);
        let audit = Box::pin(tm_app::audit(start, given, caller, &order)).await?;
        if let Some(path) = &self.junit {
            write_junit(start, path, &audit)?;
        }
        let holds = audit.holds();
        let answer = with_fields(serde_json::to_value(&audit)?, json!({"holds": holds}));
        print_either(self.json, &answer, || audit_text(&audit))?;
        if !holds {
            say!("not everything can be shown again");
        }
        Ok(ExitCode::Refused.unless(holds))
    }
}

fn write_junit(start: &Path, path: &Path, audit: &Audit) -> Result<()> {
    tm_store::atomic::replace(&start.join(path), audit_junit(audit).as_bytes())
        .map_err(|error| failure!("write `{}`: {error}", path.display()))
}
