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

/// What is known of before may be of hours ago, and a gate may find more in the same tree by now, or fail there as well. So often
/// it is asked about that again.
const AGAIN: u32 = 2;

async fn by_command(
    context: &StepContext,
    gate: &Gate,
    (work, commit): (&Gated<'_>, &CommitId),
) -> Result<GateResult, StepError> {
    let known = known_run(context, gate, commit)?;
    let look = match known {
        Some(run) => GateLook::Ran(run),
        None => run_now(context, gate, commit).await?,
    };
    let after = match look {
        GateLook::Ran(run) => run,
        GateLook::CannotRun(why) => return not_run(context, gate, &why).await,
    };
    if after.succeeded {
        return Ok(judge_gate(&gate.name, &[], &after));
    }
    let compared = compared_with(gate, work, context.phase());
    judged_against(context, gate, (compared, &after)).await
}

/// Judges what failed by what was there before, which is asked again where it is known of an earlier moment.
async fn judged_against(
    context: &StepContext,
    gate: &Gate,
    (commits, after): (&[CommitId], &GateRun),
) -> Result<GateResult, StepError> {
    let (mut before, mut known) = (Vec::new(), Vec::new());
    for commit in commits {
        match known_run(context, gate, commit)? {
            Some(run) => {
                known.push((commit, run.succeeded));
                before.push(told(gate, run));
            }
            None if gate.new_only => before.extend(found_now(context, gate, commit).await?),
            None => {}
        }
    }
    let judged = |before: &[GateRun]| {
        let before = if gate.new_only { before } else { &[] };
        judge_gate(&gate.name, before, after)
    };
    let mut result = judged(&before);
    for _ in 0..AGAIN {
        if result.outcome.holds() {
            return Ok(result);
        }
        let mut fails_by_itself = false;
        for (commit, had_passed) in &known {
            let run = found_now(context, gate, commit).await?;
            fails_by_itself |= *had_passed && run.as_ref().is_some_and(|run| !run.succeeded);
            before.extend(run);
        }
        result = judged(&before);
        if !fails_by_itself {
            return Ok(result);
        }
    }
    if result.outcome.holds() {
        return Ok(result);
    }
    // Whatever it says then, it says nothing of the work.
    Err(StepError::of_surroundings(format!(
        "failed to judge `{}` by the gate `{}`: by now it fails with what was there before as well, where it passed: {}",
        context.id(),
        gate.name,
        first(&result)
    )))
}

/// What a gate finds now in what was there before, nothing where it can't be run.
async fn found_now(
    context: &StepContext,
    gate: &Gate,
    commit: &CommitId,
) -> Result<Option<GateRun>, StepError> {
    Ok(match run_now(context, gate, commit).await? {
        GateLook::Ran(run) => Some(told(gate, run)),
        GateLook::CannotRun(_) => None,
    })
}

/// What was found in what was there before, as far as it says anything of what came later: a list that can't be read hides what
/// is new in it, however long it could not be read.
fn told(gate: &Gate, mut run: GateRun) -> GateRun {
    let is_told = |finding: &String| !finding.starts_with(UNREADABLE);
    run.findings
        .retain(|it| gate.results.is_none() || is_told(it));
    run
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

/// What a gate said of a tree when it was run there last.
fn known_run(
    context: &StepContext,
    gate: &Gate,
    commit: &CommitId,
) -> Result<Option<GateRun>, StepError> {
    let key = key(context, gate, commit)?;
    let known = context.result_cache().gates();
    let run = known.lock().get(&key).cloned();
    Ok(run)
}

fn key(context: &StepContext, gate: &Gate, commit: &CommitId) -> Result<String, StepError> {
    let tree = briefly(|| context.repository().tree_of(commit))?;
    Ok(format!("{tree} {}", gate.name))
}

/// Runs a gate on a commit; what it says is known from then on.
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
    let look = read(gate, &report, &log, checkout.path());
    if let GateLook::Ran(run) = &look {
        let known = result_cache.gates();
        known
            .lock()
            .insert(key(context, gate, commit)?, run.clone());
    }
    Ok(look)
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
