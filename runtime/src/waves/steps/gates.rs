//! Has gates look at work that holds: commands of the project's own in a judge's checkout, and reviewers.

use super::context::{Gated, StepContext};
use super::review::review;
use crate::setup::of_line;
use crate::{StepError, briefly, environment};
use std::fmt::Write as _;
use std::path::Path;
use tm_config::{Gate, GatePhase};
use tm_executors::findings::{listed_findings, printed_findings};
use tm_executors::testing::TestCommand;
use tm_scheduler::{
    CommandEnd, CommitId, Failure, GateOutcome, GateResult, GateRun, Phase, Proof, Reason,
    ResultFormat, TestReport, judge_gate,
};

/// By these exit codes a shell says that there is no such program.
const NO_PROGRAM: [Option<i32>; 2] = [Some(126), Some(127)];

/// What a finding begins with that stands for a list of findings.
const UNREADABLE: &str = "failed to ";

/// Returns what gates are asked for in an attempt's own work.
pub const fn gate_phase(phase: Phase) -> GatePhase {
    match phase {
        Phase::Red => GatePhase::Red,
        Phase::Green => GatePhase::Green,
        Phase::None => GatePhase::Other,
    }
}

/// Returns a proof that holds with what the gates say, and does not hold where one of them fails.
///
/// Reviewers are asked last, and only where nothing else speaks against the work: they cost money.
pub(super) async fn gated(
    context: &StepContext,
    work: &Gated<'_>,
    mut proof: Proof,
) -> Result<Proof, StepError> {
    let gates = context.setup.settings.gates.iter();
    let (commands, others): (Vec<&Gate>, Vec<&Gate>) = gates
        .filter(|gate| gate.is_asked_for(work.phase))
        .partition(|gate| gate.command.is_some());
    if !proof.holds() {
        return Ok(proof);
    }
    if !commands.is_empty() {
        // The work as a commit on no branch, which can be checked out.
        let commit = briefly(|| {
            let repository = context.repository();
            repository.commit_to_test(work.tree, &work.before[0])
        })?;
        for gate in commands {
            let result = Box::pin(by_command(context, gate, (work, &commit))).await?;
            proof = with_gate(proof, result);
        }
    }
    for gate in others {
        if proof.holds() {
            let result = Box::pin(review(context, gate, work)).await?;
            proof = with_gate(proof, result);
        }
    }
    Ok(proof)
}

/// Adds what a gate says; the first that fails decides the reason, and all are told.
fn with_gate(mut proof: Proof, result: GateResult) -> Proof {
    if result.outcome == GateOutcome::NothingNew {
        proof.notes.push(format!(
            "the gate `{}` fails as it did before, with the same findings",
            result.name
        ));
    }
    if !result.outcome.holds() {
        let (reason, words) = match result.outcome {
            GateOutcome::Rejected => (Reason::ReviewRejected, "rejects the work"),
            GateOutcome::NoVerdict => (
                Reason::GateFailed,
                "gives no verdict on the work, and one where there is nothing to judge",
            ),
            _ => (Reason::GateFailed, "fails, for what was not there before"),
        };
        proof.failure.get_or_insert(Failure::GateFailed);
        proof.reason.get_or_insert(reason);
        let _ = writeln!(
            proof.evidence,
            "the gate `{}` {words}: {}",
            result.name,
            first(&result)
        );
        for finding in &result.findings {
            let _ = writeln!(proof.evidence, "- {finding}");
        }
    }
    proof.gates.push(result);
    proof
}

/// The first finding, which stands for all where there is one line only.
fn first(result: &GateResult) -> &str {
    result
        .findings
        .first()
        .map_or("it says nothing", String::as_str)
}

async fn by_command(
    context: &StepContext,
    gate: &Gate,
    (work, commit): (&Gated<'_>, &CommitId),
) -> Result<GateResult, StepError> {
    let (after, _) = run_of(context, gate, commit, Asked::Once).await?;
    let after = match after {
        GateLook::Ran(run) => run,
        GateLook::CannotRun(why) => return not_run(context, gate, &why).await,
    };
    if after.succeeded || !gate.new_only {
        return Ok(judge_gate(&gate.name, &[], &after));
    }
    let mut before = Vec::new();
    // What is known of before may be of hours ago, and a gate may find more in the same tree by now.
    let mut known_before = Vec::new();
    for commit in compared_with(gate, work, context.phase()) {
        let (run, is_known) = found_before(context, gate, commit, Asked::Once).await?;
        before.extend(run);
        known_before.extend(is_known.then_some(commit));
    }
    let result = judge_gate(&gate.name, &before, &after);
    if result.outcome.holds() {
        return Ok(result);
    }
    for commit in known_before {
        let (run, _) = found_before(context, gate, commit, Asked::Now).await?;
        before.extend(run);
    }
    Ok(judge_gate(&gate.name, &before, &after))
}

/// What a gate found in what was there before, nothing where it can't be run, and whether that was known.
async fn found_before(
    context: &StepContext,
    gate: &Gate,
    commit: &CommitId,
    asked: Asked,
) -> Result<(Option<GateRun>, bool), StepError> {
    let (look, is_known) = run_of(context, gate, commit, asked).await?;
    let GateLook::Ran(mut run) = look else {
        return Ok((None, is_known));
    };
    // A list that can't be read hides what is new in it, however long it could not be read.
    let is_told = |finding: &String| !finding.starts_with(UNREADABLE);
    run.findings
        .retain(|it| gate.results.is_none() || is_told(it));
    Ok((Some(run), is_known))
}

/// Whether a gate is run on a tree that it was run on before.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Asked {
    Once,
    Now,
}

/// What came of one run of a gate.
enum GateLook {
    Ran(GateRun),
    /// There is no such program, or it could not be started; holds why.
    CannotRun(String),
}

/// A gate that can't be run for the work is the work's doing where it can be run now with what has landed, which may have
/// brought its program. Where it can't be run there either, it says nothing of the work: somebody has to see to it.
async fn not_run(context: &StepContext, gate: &Gate, why: &str) -> Result<GateResult, StepError> {
    let landed = context.integration_tip()?;
    let GateLook::CannotRun(of_landed) = run_now(context, gate, &landed).await? else {
        let without_it = GateRun {
            succeeded: false,
            findings: vec![format!(
                "it can't be run with this work, as it can with what has landed: {why}"
            )],
        };
        return Ok(judge_gate(&gate.name, &[], &without_it));
    };
    let base = &context.setup.header.base_commit;
    let since = match run_now(context, gate, base).await? {
        GateLook::Ran(_) => " with what has landed, as it can where the run began",
        GateLook::CannotRun(_) => "",
    };
    let gate = &gate.name;
    Err(StepError::of_surroundings(format!(
        "failed to run the gate `{gate}`{since}: {of_landed}"
    )))
}

/// What the findings of a gate are compared with. What lands may have findings of its own only where the gate was asked
/// about it before; else it would never be asked about them.
fn compared_with<'a>(gate: &Gate, work: &Gated<'a>, phase: Phase) -> &'a [CommitId] {
    let knows_it_alone = work.phase != GatePhase::Landing || gate.is_asked_for(gate_phase(phase));
    if knows_it_alone {
        work.before
    } else {
        &work.before[..1]
    }
}

/// Runs a gate on a commit, unless its tree is known and that is enough; tells whether it is.
async fn run_of(
    context: &StepContext,
    gate: &Gate,
    commit: &CommitId,
    asked: Asked,
) -> Result<(GateLook, bool), StepError> {
    let tree = briefly(|| context.repository().tree_of(commit))?;
    let key = format!("{tree} {}", gate.name);
    let known = context.result_cache().gates();
    let run = known.lock().get(&key).cloned();
    if let Some(run) = run.filter(|_| asked == Asked::Once) {
        return Ok((GateLook::Ran(run), true));
    }
    let look = run_now(context, gate, commit).await?;
    if let GateLook::Ran(run) = &look {
        known.lock().insert(key, run.clone());
    }
    Ok((look, false))
}

async fn run_now(
    context: &StepContext,
    gate: &Gate,
    commit: &CommitId,
) -> Result<GateLook, StepError> {
    let command = gate.command.as_ref().map(of_line);
    let command = TestCommand {
        format: ResultFormat::ExitStatus,
        timeout: gate.limit(),
        environment: environment(&context.setup.settings.test),
        ..command.unwrap_or_else(|| TestCommand::shell("", None))
    };
    let name = format!("gate-{}", gate.name);
    let scratch = context.directory.path();
    std::fs::create_dir_all(scratch)?;
    let result_cache = context.result_cache();
    let turn = result_cache.turn();
    let checkout = result_cache.checkouts().judge(commit, turn).await?;
    let report = result_cache
        .run_in(checkout.path(), &command, scratch, &name)
        .await?;
    let log = scratch.join(format!("{name}.log"));
    Ok(read(gate, &report, &log, checkout.path()))
}

/// What one run found.
fn read(gate: &Gate, report: &TestReport, log: &Path, worktree: &Path) -> GateLook {
    let succeeded = match &report.end {
        CommandEnd::NotStarted(why) => return GateLook::CannotRun(why.clone()),
        CommandEnd::Exited(code) if NO_PROGRAM.contains(code) => {
            return GateLook::CannotRun(format!(
                "there is no such program: {}",
                report.output_tail.trim()
            ));
        }
        CommandEnd::TimedOut => {
            let findings = vec![format!(
                "it did not end within {} seconds",
                gate.limit().as_secs()
            )];
            return GateLook::Ran(GateRun {
                succeeded: false,
                findings,
            });
        }
        CommandEnd::Exited(code) => *code == Some(0),
    };
    let listed = gate
        .results
        .as_deref()
        .map(|file| listed_findings(worktree, file));
    let findings = match listed {
        Some(Ok(findings)) => findings,
        Some(Err(error)) if !succeeded => vec![format!("{UNREADABLE}{error}")],
        Some(Err(_)) => Vec::new(),
        None => printed_findings(log, worktree, gate.lines.as_deref()),
    };
    GateLook::Ran(GateRun {
        succeeded,
        findings,
    })
}
