//! `tm verify`: the judgement of a run, by hand, on any work.

use crate::arguments::{StrictnessArgument, VerifyArguments};
use crate::display::{print_data, print_json};
use crate::failure::{CommandFailure, ExitCode};
use crate::flags::{Flags, word};
use crate::project::open;
use serde_json::json;
use std::path::Path;
use tm_app::{Verified, VerifyOrder, WorkOf};
use tm_config::Override;
use tm_scheduler::{Phase, Proof, Strength};

pub(crate) async fn verify(
    start: &Path,
    arguments: &VerifyArguments,
) -> Result<u8, CommandFailure> {
    let folder = arguments
        .target
        .as_deref()
        .map(|target| start.join(target))
        .filter(|path| path.is_dir());
    let place = folder.as_deref().unwrap_or(start);
    let project = open(
        place,
        overrides(arguments.test_command.as_ref(), arguments.strictness),
    )?;
    let of = match (&arguments.target, &folder) {
        (Some(id), None) => WorkOf::Task {
            id: id.clone(),
            run: arguments.run.clone(),
        },
        _ => WorkOf::Checkout(place.to_owned()),
    };
    let phase = match (arguments.red, arguments.green) {
        (true, _) => Some(Phase::Red),
        (false, true) => Some(Phase::Green),
        (false, false) => None,
    };
    let order = VerifyOrder {
        of,
        phase,
        base: arguments.base.clone(),
    };
    let Verified { name, phase, proof } = tm_app::verify(&project, &order).await?;
    if arguments.json {
        let document = json!({"target": name, "phase": phase, "holds": proof.holds(), "strength": proof.rests_on(),
                              "proof": proof});
        print_json(&document)?;
    } else {
        print_data(&text(&name, phase, &proof));
    }
    Ok(if proof.holds() {
        0
    } else {
        ExitCode::Refused.number()
    })
}

/// The settings that flags of a judgement by hand give.
pub(super) fn overrides(
    command: Option<&String>,
    strictness: Option<StrictnessArgument>,
) -> Vec<Override> {
    Flags::default()
        .set("test.command", "--test-command", &command.cloned())
        .set("tdd.strictness", "--strictness", &word(strictness))
        .given()
}

fn text(name: &str, phase: Phase, proof: &Proof) -> String {
    let kind = match phase {
        Phase::Red => " as RED",
        Phase::Green => " as GREEN",
        Phase::None => "",
    };
    let verdict = proof.reason.map_or_else(
        || "holds".to_owned(),
        |reason| format!("is refused: {reason}"),
    );
    let mut text = format!("the work of {name}{kind} {verdict}\n");
    let mut line = |words: String| {
        text.push_str("  ");
        text.push_str(&words);
        text.push('\n');
    };
    line(match proof.rests_on() {
        Strength::PerTest => {
            format!(
                "{} tests pass, {} fail, {} failed before",
                proof.passed, proof.failed, proof.baseline_failed
            )
        }
        Strength::ExitStatusOnly => {
            "exit status only: no test was read one by one, which proves less".to_owned()
        }
        Strength::Nothing => "no tests were run".to_owned(),
    });
    for (what, names) in [
        ("new", &proof.new),
        ("not loadable yet", &proof.unloaded),
        ("worse", &proof.regressions),
        ("flaky", &proof.flaky),
    ] {
        for name in names {
            line(format!("{what}: {name}"));
        }
    }
    if let Some(coverage) = proof.coverage {
        let before = coverage
            .before
            .map_or_else(String::new, |before| format!(", {before:.1} % before"));
        line(format!(
            "{:.1} % of lines are covered{before}",
            coverage.after
        ));
    }
    for note in &proof.notes {
        line(format!("note: {note}"));
    }
    if !proof.evidence.is_empty() {
        text.push('\n');
        text.push_str(proof.evidence.trim_end());
        text.push('\n');
    }
    text
}
