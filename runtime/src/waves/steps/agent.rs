//! Runs the agent of an attempt, or sees one to its end that another process started.

use super::blocking;
use super::context::{StepContext, StepDone};
use super::kept::taken_over;
use super::prepare::worktree_or_lost;
use crate::attempt::{Launch, Start, not_started};
use crate::callers::REPOSITORY;
use crate::step_error::StepError;
use crate::waves::evidence::{prompt_context, prompt_of};
use crate::waves::shared_notes::entry;
use std::ffi::OsString;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;
use tm_executors::agent::{AgentCommand, AttemptLimits};
use tm_presets::{Prompt, PromptContext, RejectedWork};
use tm_scheduler::{AgentReport, AgentVerdict, Answer, StopMode, judge_agent};
use tm_store::run::Rejection;
use tm_worktrees::Worktree;
use tokio::sync::watch;

/// Sees an agent to its end: one that is started, or one that another process started.
pub(crate) async fn run_agent(
    context: StepContext,
    worktree: Option<Worktree>,
    timeout_ms: u64,
    orders: watch::Receiver<Option<StopMode>>,
    start: Start,
) -> StepDone {
    let worktree = match worktree_or_lost(&context, worktree).await {
        Ok(worktree) => worktree,
        Err(answer) => return context.done(answer, None),
    };
    worktree.is_written_to();
    match taken_over(&context, &worktree).await {
        Ok(Some(report)) => return context.done(Answer::AgentEnded(report), Some(worktree)),
        Ok(None) => {}
        Err(trouble) => return context.done(trouble.answer(Answer::WorkLost), Some(worktree)),
    }
    let tell = |progress| context.tell_agent(progress);
    let ran = match command_of(&context, &worktree, timeout_ms).await {
        Ok(command) => {
            let afterwards = |report: &AgentReport| {
                // Goes through what will be proven.
                if matches!(judge_agent(report), AgentVerdict::WorthProving) {
                    let never_commit = &context.setup.never_commit;
                    tokio::task::block_in_place(|| worktree.capture_ahead(never_commit));
                }
            };
            context
                .run_agent(start, command, orders, tell, afterwards)
                .await
        }
        Err(trouble) => Err(trouble),
    };
    let mut report = match ran {
        Ok(report) => report,
        Err(trouble) => {
            let answer =
                trouble.answer(|why| Answer::AgentEnded(not_started(context.recipe(), why)));
            return context.done(answer, Some(worktree));
        }
    };
    report
        .noticed
        .extend(context.setup.checkouts.look_at_hooks().await);
    report.noticed.extend(set_back_statuses(&context).await);
    collect_learnings(&context);
    clean_what_it_wrote(&context);
    context.done(Answer::AgentEnded(report), Some(worktree))
}

/// What starts the agent: to do the task, or to put its proven work together with what has landed.
async fn command_of(
    context: &StepContext,
    worktree: &Worktree,
    timeout_ms: u64,
) -> Result<AgentCommand, StepError> {
    let (inner, base) = (context.clone(), worktree.base().clone());
    let mending = blocking(move || inner.mending(&base)).await?;
    let prompt = if mending.is_some() {
        Prompt::Resolve
    } else {
        prompt_of(context.phase())
    };
    let open = mending.map(|mending| mending.files()).unwrap_or_default();
    command(context, worktree.path(), timeout_ms, prompt, open).await
}

/// Looks whether somebody changed statuses of the run, and says so.
async fn set_back_statuses(context: &StepContext) -> Vec<String> {
    let (ledger, setup) = (Arc::clone(&context.ledger), Arc::clone(&context.setup));
    let noticed = tokio::task::spawn_blocking(move || ledger.set_back(&setup))
        .await
        .unwrap_or_default();
    for words in &noticed {
        context.tell_warning(format!("{words} (noticed after {})", context.id()));
    }
    noticed
}

/// Writes the prompt and returns everything that starting the agent needs.
pub(super) async fn command(
    context: &StepContext,
    worktree: &Path,
    timeout_ms: u64,
    prompt: Prompt,
    in_conflict: Vec<String>,
) -> Result<AgentCommand, StepError> {
    let recipe = context.recipe();
    let red_files = red_files(context).await?;
    let rejected = rejected_work(context).await?;
    let prompt_context = PromptContext {
        conflicted: in_conflict,
        ..prompt_context(context, worktree, red_files, rejected)
    };
    let own_prompts = context
        .setup
        .repository
        .checkout_root()
        .join(".taskmaster/prompts");
    let prompt = tm_presets::render(prompt, &prompt_context, &own_prompts)?;
    let launch = Launch {
        recipe,
        executor: &context.setup.executor,
        directory: &context.directory,
        worktree,
        prompt: &prompt,
        placeholders: placeholders(context),
        variables: variables(context, worktree),
        env_markers: env_markers(context),
        limits: AttemptLimits {
            timeout: Duration::from_millis(timeout_ms),
            stall: context.setup.stall,
            grace: context.setup.grace,
            log_bytes: context.setup.settings.agent.max_log_bytes(),
        },
    };
    launch.prepare()
}

/// The files that RED changed, for GREEN's prompt.
async fn red_files(context: &StepContext) -> Result<Vec<String>, StepError> {
    let Some(red) = context.red.clone() else {
        return Ok(Vec::new());
    };
    let repository = context.setup.repository.clone();
    let changes = blocking(move || repository.changed_files(&red.base, &red.commit)).await?;
    Ok(changes.into_iter().map(|change| change.path).collect())
}

/// Earlier work on the task that people rejected, and whether the agent finds it in its worktree.
async fn rejected_work(context: &StepContext) -> Result<Vec<RejectedWork>, StepError> {
    let Some(rejections) = context
        .setup
        .rejections
        .get(&context.planned.backlog_id)
        .cloned()
    else {
        return Ok(Vec::new());
    };
    let (repository, base) = (
        context.setup.repository.clone(),
        context.place.as_ref().map(|place| place.base.clone()),
    );
    let is_in_base = move |rejection: &Rejection| {
        // A commit that is not there any more is in no base.
        base.as_ref().is_some_and(|base| {
            repository
                .is_ancestor(&rejection.commit, base)
                .unwrap_or(false)
        })
    };
    let work = tokio::task::spawn_blocking(move || {
        let of = |rejection: Rejection| RejectedWork {
            is_in_base: is_in_base(&rejection),
            reason: rejection.reason,
            branch: rejection.branch,
            commit: rejection.commit.to_string(),
        };
        rejections.into_iter().map(of).collect()
    });
    work.await
        .map_err(|error| StepError::of_task(error.to_string()))
}

pub(super) fn placeholders(context: &StepContext) -> Vec<(&'static str, String)> {
    vec![
        ("task_id", context.id().to_string()),
        ("phase", context.phase().to_string()),
        ("attempt", context.attempt.to_string()),
        ("tag", context.setup.header.tag.to_string()),
        ("run_id", context.setup.header.run_id.to_string()),
        ("tm", context.setup.tm_program.display().to_string()),
    ]
}

/// The variables by which every process of the attempt is known, and unlike those of any other.
pub(super) fn env_markers(context: &StepContext) -> Vec<(String, String)> {
    vec![
        (
            "TM_RUN_ID".to_owned(),
            context.setup.header.run_id.to_string(),
        ),
        ("TM_TASK_ID".to_owned(), context.id().to_string()),
        ("TM_ATTEMPT".to_owned(), context.attempt.to_string()),
    ]
}

pub(super) fn variables(context: &StepContext, worktree: &Path) -> Vec<(OsString, OsString)> {
    let own = [
        ("TM_PHASE".into(), context.phase().as_str().into()),
        ("TM_TAG".into(), context.setup.header.tag.as_str().into()),
        // By this, tm knows whose run what the agent starts must not steer.
        (
            REPOSITORY.into(),
            context.setup.repository.common_dir().into(),
        ),
    ];
    let slot = context.setup.checkouts.variables(worktree);
    let without_hooks = NO_HOOKS.map(|(name, value)| (name.into(), value.into()));
    own.into_iter()
        .chain(without_hooks)
        .chain(slot)
        .chain(
            env_markers(context)
                .into_iter()
                .map(|(name, value)| (name.into(), value.into())),
        )
        .collect()
}

/// Keeps what an agent installs from setting hooks for all checkouts, the user's included; tm runs the user's hooks itself.
const NO_HOOKS: [(&str, &str); 5] = [
    ("HUSKY", "0"),
    ("HUSKY_SKIP_INSTALL", "1"),
    ("LEFTHOOK", "0"),
    ("SKIP_INSTALL_SIMPLE_GIT_HOOKS", "1"),
    ("OVERCOMMIT_DISABLE", "1"),
];

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
            return context.tell_output(format!(
                "what the agent found out could not be read: {error}"
            ));
        }
    };
    if text.trim().is_empty() {
        return;
    }
    let entry = entry(context.id(), &context.planned.title, &text);
    let path = context.setup.directory.context();
    if let Err(error) =
        tm_untrusted::append(&path).and_then(|mut file| file.write_all(entry.as_bytes()))
    {
        context.tell_output(format!(
            "what the agent found out could not be kept: {error}"
        ));
    }
}
