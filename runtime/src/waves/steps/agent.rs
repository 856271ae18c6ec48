//! Runs the agent of an attempt, or sees one to its end that another process started.

use super::context::{Orders, StepContext};
use super::prepare::with_kept_tests;
use crate::attempt::{Launch, Start, not_started};
use crate::callers::REPOSITORY;
use crate::checkouts::preparation::NO_HOOKS;
use crate::holding::git_of_agent;
use crate::waves::evidence::{prompt_context, prompt_of};
use crate::waves::notes::entry;
use crate::{StepError, attempt_limits, briefly};
use std::ffi::OsString;
use std::path::Path;
use std::time::Duration;
use tm_executors::agent::AgentCommand;
use tm_executors::process::Besides;
use tm_presets::{Prompt, PromptContext, RejectedWork};
use tm_scheduler::{AgentReport, AgentVerdict, Answer, CommitId, Place, judge_agent};
use tm_worktrees::{Error, Worktree};
use tokio::task::block_in_place;

/// Sees an agent to its end: one that is started, or one that another process started.
pub(super) async fn run_agent(
    context: &StepContext,
    worktree: &Worktree,
    timeout_ms: u64,
    (start, orders): (Start, Orders),
) -> Answer {
    worktree.is_written_to();
    match with_kept_tests(context, worktree) {
        Ok(Some(report)) => return Answer::AgentEnded(report),
        Ok(None) => {}
        Err(trouble) => return trouble.answer(Answer::WorkLost),
    }
    let mut refused = Ok(None);
    let afterwards = |report: &AgentReport| {
        refused = block_in_place(|| worktree.bring_home());
        // Goes through what will be proven.
        if matches!(judge_agent(report), AgentVerdict::WorthProving) {
            let never_commit = &context.setup.never_commit;
            block_in_place(|| worktree.capture_ahead(never_commit));
        }
    };
    let ran = async {
        let command = command_of(context, worktree, timeout_ms)?;
        let tell = |progress| context.tell_agent(progress);
        let started = (start, command, orders);
        context.run_agent(started, tell, afterwards).await
    }
    .await;
    // What hundreds of agents wait in has no room for what follows.
    Box::pin(ended(context, worktree, ran, refused)).await
}

/// Takes in what an agent left that is over.
async fn ended(
    context: &StepContext,
    worktree: &Worktree,
    ran: Result<AgentReport, StepError>,
    refused: Result<Option<String>, Error>,
) -> Answer {
    let checkouts = &context.setup.checkouts;
    checkouts.retire_unless_reached(worktree.path(), &context.setup.executor);
    let mut report = match ran {
        Ok(report) => report,
        Err(trouble) => {
            let not_started = |why| not_started(context.recipe(), why);
            return trouble.answer(|why| Answer::AgentEnded(not_started(why)));
        }
    };
    let hooks = context.setup.checkouts.look_at_hooks();
    report.noticed.extend(hooks);
    report.noticed.extend(set_back_statuses(context).await);
    match refused {
        Ok(words) => report.noticed.extend(words),
        Err(error) => return StepError::from(error).answer(Answer::WorkLost),
    }
    collect_learnings(context);
    clean_what_it_wrote(context);
    Answer::AgentEnded(report)
}

/// What starts the agent: to do the task, or to put its proven work together with what has landed.
fn command_of(
    context: &StepContext,
    worktree: &Worktree,
    timeout_ms: u64,
) -> Result<Box<AgentCommand>, StepError> {
    let prompt = match context.mending(worktree.base())? {
        Some(mending) => (Prompt::Resolve, mending.files()),
        None => (prompt_of(context.phase()), Vec::new()),
    };
    command(context, worktree, timeout_ms, prompt)
}

/// Looks whether somebody changed statuses of the run, and says so.
async fn set_back_statuses(context: &StepContext) -> Vec<String> {
    let noticed = context.ledger().set_back(&context.setup).await;
    for words in &noticed {
        context.tell_warning(format!("{words} (noticed after {})", context.id()));
    }
    noticed
}

/// Writes the prompt and returns everything that starting the agent needs.
pub(super) fn command(
    context: &StepContext,
    worktree: &Worktree,
    timeout_ms: u64,
    (prompt, conflicted): (Prompt, Vec<String>),
) -> Result<Box<AgentCommand>, StepError> {
    let besides = if context.setup.executor.holds() {
        Besides {
            caches: context.setup.checkouts.caches(worktree.path()),
            ..git_of_agent(
                block_in_place(|| worktree.begin_private())?,
                &context.setup.executor,
            )
        }
    } else {
        Besides::default()
    };
    let worktree = worktree.path();
    let rejected = block_in_place(|| rejected_work(context));
    let prompt_context = PromptContext {
        conflicted,
        ..prompt_context(context, worktree, red_files(context)?, rejected)
    };
    let checkout = context.repository().checkout_root();
    let own_prompts = checkout.join(".taskmaster/prompts");
    let prompt = tm_presets::render(prompt, &prompt_context, &own_prompts)?;
    let timeout = Duration::from_millis(timeout_ms);
    let launch = launch_of(context, worktree, &prompt, timeout);
    Launch {
        besides: Some(besides),
        ..launch
    }
    .prepare()
}

/// What an agent of the attempt is started with.
pub(super) fn launch_of<'a>(
    context: &'a StepContext,
    worktree: &'a Path,
    prompt: &'a str,
    timeout: Duration,
) -> Launch<'a> {
    let setup = &context.setup;
    Launch {
        recipe: context.recipe(),
        executor: setup.executor_of(context.recipe()),
        directory: &context.directory,
        worktree,
        prompt,
        task_id: context.id().to_string(),
        phase: context.phase().as_str(),
        complexity: context.planned.complexity,
        attempt: context.attempt.0,
        tag: &setup.header.tag,
        run_id: &setup.header.run_id,
        tm_program: &setup.tm_program,
        variables: variables(context, worktree),
        env_markers: env_markers(context),
        limits: attempt_limits(&setup.settings.agent, timeout),
        besides: Some(Besides::default()),
    }
}

/// The files that RED changed, for GREEN's prompt.
fn red_files(context: &StepContext) -> Result<Vec<String>, StepError> {
    match &context.red {
        Some(red) => briefly(|| (context.repository()).changed_between(&red.base, &red.commit)),
        None => Ok(Vec::new()),
    }
}

/// Earlier work on the task that people rejected, and whether the agent finds it in its worktree.
fn rejected_work(context: &StepContext) -> Vec<RejectedWork> {
    let rejections = context.setup.rejections.get(&context.planned.backlog_id);
    let is_in_base = |commit: &CommitId| {
        let is_below = |place: &Place| context.repository().is_ancestor(commit, &place.base);
        // A commit that is not there any more is in no base.
        (context.place.as_ref()).is_some_and(|place| is_below(place).unwrap_or(false))
    };
    let of = |rejection: &tm_store::run::Rejection| RejectedWork {
        is_in_base: is_in_base(&rejection.commit),
        reason: rejection.reason.clone(),
        branch: rejection.branch.clone(),
        commit: rejection.commit.to_string(),
    };
    rejections.into_iter().flatten().map(of).collect()
}

/// The variables by which every process of the attempt is known, and unlike those of any other.
fn env_markers(context: &StepContext) -> Vec<(String, String)> {
    let run = &context.setup.header.run_id;
    vec![
        ("TM_RUN_ID".to_owned(), run.to_string()),
        ("TM_TASK_ID".to_owned(), context.id().to_string()),
        ("TM_ATTEMPT".to_owned(), context.attempt.to_string()),
    ]
}

fn variables(context: &StepContext, worktree: &Path) -> Vec<(OsString, OsString)> {
    let own: [(OsString, OsString); 3] = [
        ("TM_PHASE".into(), context.phase().as_str().into()),
        ("TM_TAG".into(), context.setup.header.tag.as_str().into()),
        // By this, tm knows whose run what the agent starts must not steer.
        (REPOSITORY.into(), context.repository().common_dir().into()),
    ];
    // tm runs the user's hooks itself.
    let without_hooks = NO_HOOKS.map(|(name, value)| (name.into(), value.into()));
    let markers = env_markers(context).into_iter();
    own.into_iter()
        .chain(without_hooks)
        .chain(context.setup.checkouts.variables(worktree))
        .chain(markers.map(|(name, value)| (name.into(), value.into())))
        .collect()
}

/// So much of what an agent wrote for tm is cleaned; longer files are shown to nobody.
const CLEANED_BYTES: u64 = 4 * 1024 * 1024;
/// So much of what one agent found out is kept.
const FOUND_OUT_BYTES: u64 = 64 * 1024;

/// Takes secrets and orders to the terminal out of what the agent wrote for tm, which people and programs read later.
fn clean_what_it_wrote(context: &StepContext) {
    for path in [context.directory.result(), context.directory.context()] {
        let Ok(bytes) = tm_untrusted::read(&path, CLEANED_BYTES) else {
            continue;
        };
        let text = String::from_utf8_lossy(&bytes);
        let clean = tm_untrusted::clean(&text);
        if clean != text
            && let Err(error) = tm_store::atomic::replace_own(&path, clean.as_bytes())
        {
            context.tell_output(format!("failed to clean `{}`: {error}", path.display()));
        }
    }
}

/// Adds what the agent found out to what later prompts say. An agent that wrote nothing adds nothing.
fn collect_learnings(context: &StepContext) {
    use std::io::Write as _;
    let text = match tm_untrusted::read_beginning(&context.directory.context(), FOUND_OUT_BYTES) {
        Ok(bytes) => tm_untrusted::clean(&String::from_utf8_lossy(&bytes)),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return,
        Err(error) => {
            let words = format!("what the agent found out could not be read: {error}");
            return context.tell_output(words);
        }
    };
    if text.trim().is_empty() {
        return;
    }
    let entry = entry(context.id(), &context.planned.title, &text);
    let file = tm_untrusted::append(&context.setup.directory.context());
    if let Err(error) = file.and_then(|mut file| file.write_all(entry.as_bytes())) {
        context.tell_output(format!(
            "what the agent found out could not be kept: {error}"
        ));
    }
}
