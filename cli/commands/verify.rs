//! `tm verify`: the judgement of a run, by hand, on any work.

use super::{Perform, StrictnessArgument};
use crate::display::{print_data, print_json};
use crate::failure::{ExitCode, Result};
use crate::flags::{Flags, word};
use crate::project::open;
use clap::Args;
use itertools::Itertools as _;
use serde_json::json;
use std::path::Path;
use tm_app::{Verified, VerifyOrder, WorkOf};
use tm_config::Override;
use tm_scheduler::{CoverageChange, Phase, Proof, Strength};

/// `tm verify`.
#[derive(Args, Debug)]
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
    #[arg(long, value_name = "RUN")]
    run: Option<String>,
    /// The command that runs the tests, run by `sh`.
    #[arg(long, value_name = "COMMAND")]
    test_command: Option<String>,
    /// How strictly RED and GREEN are judged.
    #[arg(long, value_name = "LEVEL")]
    strictness: Option<StrictnessArgument>,
    /// For programs.
    #[arg(long)]
    json: bool,
}

impl Perform for VerifyArguments {
    async fn perform(self, start: &Path) -> Result {
        let folder = self.target.as_deref().map(|target| start.join(target));
        let folder = folder.filter(|path| path.is_dir());
        let place = folder.as_deref().unwrap_or(start);
        let project = open(place, judging(self.test_command, self.strictness))?;
        let order = VerifyOrder {
            of: match (self.target, &folder) {
                (Some(id), None) => WorkOf::Task { id, run: self.run },
                _ => WorkOf::Checkout(place.to_owned()),
            },
            phase: match (self.red, self.green) {
                (true, _) => Some(Phase::Red),
                (false, true) => Some(Phase::Green),
                (false, false) => None,
            },
            base: self.base,
        };
        let Verified { name, phase, proof } = tm_app::verify(&project, &order).await?;
        let holds = proof.holds();
        if self.json {
            print_json(
                &json!({"target": name, "phase": phase, "holds": holds, "strength": proof.rests_on(),
                               "proof": proof}),
            )?;
        } else {
            print_data(&text(&name, phase, &proof));
        }
        Ok(if holds { 0 } else { ExitCode::Refused.number() })
    }
}

/// The settings that flags of a judgement by hand give.
pub(super) fn judging(
    command: Option<String>,
    strictness: Option<StrictnessArgument>,
) -> Vec<Override> {
    Flags::default()
        .set("test.command", "--test-command", command)
        .set("tdd.strictness", "--strictness", word(strictness))
        .given()
}

fn text(name: &str, phase: Phase, proof: &Proof) -> String {
    let kind = match phase {
        Phase::Red => " as RED",
        Phase::Green => " as GREEN",
        Phase::None => "",
    };
    let verdict = match proof.reason {
        None => "holds".to_owned(),
        Some(reason) => format!("is refused: {reason}"),
    };
    let lines = lines(proof)
        .into_iter()
        .map(|line| format!("  {line}\n"))
        .join("");
    let evidence = match proof.evidence.as_str() {
        "" => String::new(),
        evidence => format!("\n{}\n", evidence.trim_end()),
    };
    format!("the work of {name}{kind} {verdict}\n{lines}{evidence}")
}

fn lines(proof: &Proof) -> Vec<String> {
    let tests = match proof.rests_on() {
        Strength::PerTest => format!(
            "{} tests pass, {} fail, {} failed before",
            proof.passed, proof.failed, proof.baseline_failed
        ),
        Strength::ExitStatusOnly => {
            "exit status only: no test was read one by one, which proves less".to_owned()
        }
        Strength::Nothing => "no tests were run".to_owned(),
    };
    let named = [
        ("new", &proof.new),
        ("not loadable yet", &proof.unloaded),
        ("worse", &proof.regressions),
        ("flaky", &proof.flaky),
    ];
    let named = named
        .into_iter()
        .flat_map(|(what, names)| names.iter().map(move |name| format!("{what}: {name}")));
    let covered = proof.coverage.map(|CoverageChange { before, after }| {
        let before = before.map(|before| format!(", {before:.1} % before"));
        format!(
            "{after:.1} % of lines are covered{}",
            before.unwrap_or_default()
        )
    });
    let notes = proof.notes.iter().map(|note| format!("note: {note}"));
    std::iter::once(tests)
        .chain(named)
        .chain(covered)
        .chain(notes)
        .collect()
}
