//! `tm waves run` and `tm waves resume`: the way of a run, one value after the other.

use super::Perform;
use super::ci::{CiSystem, tell_ci};
use super::next_steps::next_steps;
use super::plan::{PlanChoice, tell_plan};
use super::steering::resume_live;
use crate::ask::{confirmed, is_answered};
use crate::display::{Display, Output, print_line, print_text, print_told};
use crate::environment::path_line;
use crate::failure::Result;
use crate::flags::{Flags, JudgingArguments, word};
use crate::logging;
use crate::notices;
use crate::project::open_telling;
use clap::{ArgAction, Args, ValueEnum};
use std::num::NonZeroU32;
use std::path::{Path, PathBuf};
use tm_app::{
    AfterRun, BrokenBase, Ended, Error, JournalTrust, KnownRun, Planned, Project, Ready, Session,
    Waiting,
};
use tm_config::Override;
use tm_reports::summary_text;
use tm_runtime::now;
use tm_scheduler::exit_code;

/// What to do with a run that was interrupted.
#[derive(Clone, Copy, Default, Eq, PartialEq, ValueEnum)]
enum OnInterrupted {
    /// Take it up.
    #[default]
    Resume,
    /// End what it has left running, keep its work in progress, leave it as it is with all its branches, and start anew.
    Fresh,
    /// Stop with an error.
    Fail,
}

/// What is told of a run while it goes on, and what is done when it is over, besides writing its own folder. A run that
/// is taken up does the latter again, as far as nothing else is given then.
#[derive(Args, Clone, Default)]
struct NotificationArguments {
    /// Log more of what tm does on stderr; twice and three times for still more. `TM_LOG` chooses more finely.
    #[arg(short, long, action = ArgAction::Count)]
    verbose: u8,
    /// Write summary.md, summary.json, report.html and junit.xml into this folder too.
    #[arg(long, value_name = "DIR")]
    report_dir: Option<PathBuf>,
    /// Tell a CI system in its own way: annotations (github), a folded section (gitlab), an annotation of the build
    /// (buildkite); the one that the environment names when not given (`GITHUB_ACTIONS`, `GITLAB_CI`, `BUILDKITE`).
    #[arg(long, value_name = "SYSTEM")]
    ci: Option<CiSystem>,
    /// Run this command by `sh` when the run is over, with `TM_RUN_ID`, `TM_STATUS`, `TM_EXIT_CODE`, `TM_PASSED`,
    /// `TM_FAILED`, `TM_BLOCKED`, `TM_INTEGRATION_BRANCH`, `TM_SUMMARY_FILE` and `TM_REPORT_FILE` in its environment.
    #[arg(long, value_name = "COMMAND")]
    on_complete: Option<String>,
    /// Tell `desktop`, or a web server at this URL, which gets JSON; `slack+URL` and `discord+URL` for servers that
    /// want theirs. May be given several times.
    #[arg(long, value_name = "CHANNEL")]
    notify: Vec<String>,
    /// Tell those of each task that is given up, too, while the run goes on.
    #[arg(long, requires = "notify")]
    notify_failures: bool,
    /// One event a line on stdout, as JSON.
    #[arg(long)]
    json: bool,
}

/// `tm waves run`.
#[expect(
    clippy::struct_excessive_bools,
    reason = "each is a flag of its own on the command line"
)]
#[derive(Args, Default)]
pub(crate) struct RunArguments {
    /// The choice of tasks.
    #[command(flatten)]
    choice: PlanChoice,
    /// Further attempts after the first that fails.
    #[arg(long, value_name = "N")]
    retries: Option<u32>,
    /// The agent to use.
    #[arg(long, value_name = "NAME")]
    agent: Option<String>,
    /// The command of the agent `custom`, run by `sh`.
    #[arg(long, value_name = "COMMAND")]
    agent_command: Option<String>,
    /// The model for agents that take one.
    #[arg(long)]
    model: Option<String>,
    /// The time limit of one attempt, such as `20m`.
    #[arg(long, value_name = "DURATION")]
    timeout: Option<String>,
    /// How it is judged.
    #[command(flatten)]
    judging: JudgingArguments,
    /// Start nothing more after this time, such as `6h`.
    #[arg(long, value_name = "DURATION")]
    deadline: Option<String>,
    /// Start nothing more once the agents have reported this cost in US dollars.
    #[arg(long, value_name = "DOLLARS")]
    max_cost: Option<f64>,
    /// Start nothing more once the agents have reported this many tokens, read and written together.
    #[arg(long, value_name = "N")]
    max_tokens: Option<u64>,
    /// Start no further attempt at a task once its agents have reported this cost in US dollars.
    #[arg(long, value_name = "DOLLARS")]
    max_cost_per_task: Option<f64>,
    /// Start no further attempt at a task once its agents have reported this many tokens, read and written together.
    #[arg(long, value_name = "N")]
    max_tokens_per_task: Option<u64>,
    /// What agents may do without asking: a mode that each of them has.
    #[arg(long, value_name = "MODE")]
    permissions: Option<String>,
    /// Leave every task on its own branch; nothing lands.
    #[arg(long)]
    no_land: bool,
    /// Start from this commit instead of HEAD, or of the last run's integration branch where that is ahead of HEAD.
    #[arg(long, value_name = "COMMIT")]
    base: Option<String>,
    /// Go on although the tests can't be run at the base, or something else there makes work worth nothing; the run says so.
    #[arg(long)]
    allow_broken_base: bool,
    /// What to do when the last run was interrupted.
    #[arg(long, value_enum, default_value_t)]
    on_interrupted: OnInterrupted,
    /// After an unclean end, don't run the tests again of what the journal says has landed; that journal and git agree is
    /// looked at in any case.
    #[arg(long)]
    trust_journal: bool,
    /// Wait while another run is live.
    #[arg(long)]
    wait: bool,
    /// Don't ask.
    #[arg(long, short)]
    yes: bool,
    /// What is told of it.
    #[command(flatten)]
    notifications: NotificationArguments,
}

/// `tm waves resume`.
#[derive(Args)]
pub(crate) struct ResumeArguments {
    /// The run; the last one when not given.
    run: Option<String>,
    /// Agents at the same time, instead of as before.
    #[arg(long, short = 'j', value_name = "N")]
    max_parallel: Option<NonZeroU32>,
    /// Start nothing more after this time, such as `6h`.
    #[arg(long, value_name = "DURATION")]
    deadline: Option<String>,
    /// After an unclean end, don't run the tests again of what the journal says has landed; that journal and git agree is
    /// looked at in any case.
    #[arg(long)]
    trust_journal: bool,
    /// What is told of it.
    #[command(flatten)]
    notifications: NotificationArguments,
}

impl Perform for RunArguments {
    async fn perform(self, start: &Path) -> Result {
        let after = self.notifications.after()?;
        let project = self.notifications.project(start, self.settings())?;
        let mut session = Session::open(project, after, self.waiting()).await?;
        let output = Output::from(self.notifications.json);
        let ready = match self.on_interrupted.decide(&session).await? {
            Some(run) => session.resume(run, trust(self.trust_journal)).await?,
            None => match Box::pin(self.begin(&mut session)).await? {
                Some(ready) => ready,
                None => return Ok(0),
            },
        };
        Box::pin(supervise(session, ready, output)).await
    }
}

impl OnInterrupted {
    /// Returns the interrupted run that is to be taken up.
    async fn decide(self, session: &Session) -> Result<Option<KnownRun>> {
        match (session.interrupted(), self) {
            (Ok(None), _) => Ok(None),
            (Ok(Some(interrupted)), Self::Resume) => {
                say!("taking up the run {} where it stopped", interrupted.id());
                Ok(Some(interrupted))
            }
            (Ok(Some(interrupted)), Self::Fresh) => {
                session.abandon(interrupted).await?;
                Ok(None)
            }
            (Err(Error::UnreadableLastRun { error, run, folder }), Self::Fresh) => {
                say!("warning: failed to {error}");
                say!("the run {run} is left as it is, in `{}`", folder.display());
                Ok(None)
            }
            (Ok(Some(interrupted)), Self::Fail) => {
                let hint =
                    "`tm waves resume` takes it up, `--on-interrupted fresh` leaves it as it is";
                Err(failure!("start: the run {} was interrupted", interrupted.id()).hint(hint))
            }
            (Err(error), _) => Err(error.into()),
        }
    }
}

impl RunArguments {
    const fn waiting(&self) -> Waiting {
        if self.wait {
            Waiting::Wait
        } else {
            Waiting::Refuse
        }
    }

    /// Returns a run that nobody is asked about.
    pub(crate) fn unasked(choice: PlanChoice) -> Self {
        Self {
            choice,
            yes: true,
            ..Self::default()
        }
    }

    /// Makes a new run ready, where there is something to run and it is wanted.
    async fn begin(self, session: &mut Session) -> Result<Option<Ready>> {
        let broken = BrokenBase::allowed_if(self.allow_broken_base);
        let is_said = self.yes;
        let output = Output::from(self.notifications.json);
        let planned = session.plan(&self.choice.order(self.base))?;
        if planned.plan.tasks.is_empty() {
            say!("nothing to run: no open task can be planned");
            print_text(&tm_reports::plan_text(&planned.plan, &planned.limits));
            return Ok(None);
        }
        if !is_wanted(&session.project, &planned, output, is_said)? {
            say!("nothing was run");
            return Ok(None);
        }
        Ok(Some(session.begin(planned, broken).await?))
    }

    /// Returns the settings that its flags give.
    fn settings(&self) -> Vec<Override> {
        let flag = |value: &Option<String>| value.clone();
        self.choice
            .settings()
            .agent(flag(&self.agent), flag(&self.agent_command))
            .set("agent.model", "--model", flag(&self.model))
            .set(
                "agent.permissions",
                "--permissions",
                flag(&self.permissions),
            )
            .set("agent.timeout", "--timeout", flag(&self.timeout))
            .set("waves.deadline", "--deadline", flag(&self.deadline))
            .set("agent.max_cost", "--max-cost", self.max_cost)
            .set(
                "agent.max_cost_per_task",
                "--max-cost-per-task",
                self.max_cost_per_task,
            )
            .set("agent.max_tokens", "--max-tokens", self.max_tokens)
            .set(
                "agent.max_tokens_per_task",
                "--max-tokens-per-task",
                self.max_tokens_per_task,
            )
            .set("waves.retries", "--retries", self.retries)
            .judging(self.judging.clone())
            .set("git.land", "--no-land", self.no_land.then_some("off"))
            .given()
    }
}

impl Perform for ResumeArguments {
    async fn perform(self, start: &Path) -> Result {
        let after = self.notifications.after()?;
        let slots = self.max_parallel.map(NonZeroU32::get);
        let given = Flags::default()
            .set("waves.max_parallel", "--max-parallel", slots)
            .set("waves.deadline", "--deadline", self.deadline);
        let project = self.notifications.project(start, given.given())?;
        let output = Output::from(self.notifications.json);
        let run = self.run.as_deref();
        if let Some(code) = resume_live(&project, run, output)? {
            return Ok(code);
        }
        let mut session = Session::open(project, after, Waiting::Refuse).await?;
        let interrupted = session.named(run)?;
        let ready = session
            .resume(interrupted, trust(self.trust_journal))
            .await?;
        Box::pin(supervise(session, ready, output)).await
    }
}

impl NotificationArguments {
    fn after(&self) -> Result<AfterRun> {
        let after = self.clone();
        let after = AfterRun {
            report_dir: after.report_dir,
            ci: word(after.ci),
            on_complete: after.on_complete,
            notify: after.notify,
            notify_failures: after.notify_failures,
        };
        Ok(after.checked()?)
    }

    fn project(&self, start: &Path, given: Vec<Override>) -> Result<Project> {
        tm_worktrees::check_git(start)?;
        let tell = if self.json {
            notices::print_for_programs
        } else {
            notices::print
        };
        open_telling(start, given, tell)
    }
}

const fn trust(is_asked_for: bool) -> JournalTrust {
    if is_asked_for {
        JournalTrust::Trusted
    } else {
        JournalTrust::Proven
    }
}

fn is_wanted(project: &Project, planned: &Planned, output: Output, is_said: bool) -> Result<bool> {
    super::budget::note_what_is_not_measured(project);
    if output == Output::Json {
        return Ok(true);
    }
    tell_plan(project, planned)?;
    let question = match planned.plan.rows().len() {
        1 => "Run this task?".to_owned(),
        count => format!("Run these {count} tasks?"),
    };
    Ok(is_said || !is_answered() || confirmed(&question, true)?)
}

async fn supervise(mut session: Session, ready: Ready, output: Output) -> Result {
    logging::write_into(&ready.of.directory.log())?;
    tracing::info!(run = %ready.of.header.run_id, "the run begins");
    let mut display = Display::choose(output, now());
    let ended = session
        .run(ready, |at, told, scheduler| {
            display.told(at, told, scheduler);
        })
        .await;
    display.finish();
    let ended = ended?;
    let told = tell(&ended, output).await;
    let outcome = ended.conclude();
    told?;
    let outcome = outcome?;
    let why = outcome.scheduler.stop_reason();
    Ok(exit_code::of_run(outcome.status, why))
}

/// Shows what the run leaves, and tells whoever is to be told.
async fn tell(ended: &Ended, output: Output) -> Result<()> {
    let summary = ended.report()?;
    if output == Output::People {
        print_text(&summary_text(&summary));
        print_told(&next_steps(&summary, ended.outcome.status));
        print_line(&path_line("report:", &ended.of.directory.report()));
    }
    tell_ci(ended.of.after.ci.as_deref(), &summary, &ended.of.directory).await;
    ended.tell(&summary).await;
    Ok(())
}
