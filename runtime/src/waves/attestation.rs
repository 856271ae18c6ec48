//! Writes down what was proven of a task that landed, as an in-toto statement: beside the run, or as a git note.
//!
//! It is a claim of tm's about itself, for those who collect such claims; who wants to know does the proof again
//! (`tm audit`).

use super::steps::StepContext;
use crate::briefly;
use serde_json::{Value, json};
use tm_config::Attest;
use tm_executors::testing::TestCommand;
use tm_scheduler::CommitId;
use tm_scheduler::verdict::Canary;
use tm_worktrees::MergePreview;

/// The type of what is stated, as docs/audit.md says it.
const PREDICATE_TYPE: &str = "tm://docs/audit.md#landed-task/v1";

/// Writes the statement; whatever stands in the way is a warning, since the work has landed.
pub(crate) fn attest(
    context: &StepContext,
    merge: &CommitId,
    preview: &MergePreview,
    command: Option<&TestCommand>,
) {
    let how = context.setup.settings.git.attest;
    if how == Attest::Off {
        return;
    }
    let statement = statement(context, merge, preview, command);
    if let Err(trouble) = briefly(|| write(context, merge, &statement, how)) {
        context.tell_warning(format!(
            "what was proven of task {} is not attested: {trouble}",
            context.id()
        ));
    }
}

fn write(
    context: &StepContext,
    merge: &CommitId,
    statement: &Value,
    how: Attest,
) -> Result<(), crate::Error> {
    let path = context.setup.directory.create_attestation(context.id())?;
    tm_store::run::write_json(&path, statement)?;
    if how == Attest::Notes {
        let note = format!("{statement:#}\n");
        context.repository().write_note(merge, &note)?;
    }
    Ok(())
}

fn statement(
    context: &StepContext,
    merge: &CommitId,
    preview: &MergePreview,
    test: Option<&TestCommand>,
) -> Value {
    let header = &context.setup.header;
    let (proof, rules) = (context.proof(), context.setup.rules);
    json!({
        "_type": "https://in-toto.io/Statement/v1",
        "subject": [{
            "name": header.integration_branch,
            "digest": {"gitCommit": merge, "gitTree": preview.tree.to_string()},
        }],
        "predicateType": PREDICATE_TYPE,
        "predicate": {
            "task": context.id(),
            "title": tm_untrusted::clean(&context.planned.title),
            "phase": context.phase().as_str(),
            "run": header.run_id,
            "tag": header.tag,
            "base": context.place.as_ref().map(|place| &place.base),
            "red": context.red.as_ref().map(|red| &red.commit),
            "commit": preview.commit,
            "resolution": preview.resolution,
            "tree": proof.map(|proof| &proof.tree),
            "testCommand": test.map(ToString::to_string),
            "passed": proof.map(|proof| proof.passed),
            "failed": proof.map(|proof| proof.failed),
            "failedBefore": proof.map(|proof| proof.baseline_failed),
            "newTests": context.red.as_ref().map(|red| &red.tests).or(proof.map(|proof| &proof.new)),
            "strength": proof.map(|proof| proof.strength),
            "flaky": proof.map(|proof| &proof.flaky),
            "sandbox": proof.and_then(|proof| proof.sandbox.as_deref()),
            "waived": proof.map(|proof| &proof.waived),
            "notes": proof.map(|proof| &proof.notes),
            "attempts": context.attempt.0,
            "tmVersion": env!("CARGO_PKG_VERSION"),
            "settings": {
                "strictness": rules.strictness.as_str(),
                "coverageThreshold": rules.coverage_threshold,
                "canary": rules.canary == Canary::On,
                "testFormat": test.map(|command| command.format),
                "testResults": test.map(|command| &command.results),
            },
        },
    })
}
