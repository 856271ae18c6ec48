//! `tm loop`: one agent after the other, each with a fresh context, until there is nothing left to do.

use super::Perform;
use super::loops::LoopCommand;
use crate::ask::is_answered;
use crate::display::{Output, print_either};
use crate::failure::Result;
use crate::flags::{Flags, LoopSandbox};
use crate::loop_display::{LoopDisplay, Talk};
use crate::project::{named_folder, open_with};
use clap::Args;
use std::num::NonZeroU32;
use std::path::{Path, PathBuf};
use std::time::Duration;
use tm_app::{BrokenBase, Loop, LoopOrder};
use tm_config::{Override, parse_duration};
use tm_executors::process::{Captured, TreeCommand, run_attended, run_captured};
use tm_reports::{LoopSummary, loop_text};
use tm_scheduler::iteration::LoopStatus;

/// How long the sandbox may take to answer.
const PROBE_LIMIT: Duration = Duration::from_secs(30);
/// So much of what docker says is quoted.
const LONGEST_LINE: usize = 200;
const RUN_CLAUDE: [&str; 3] = ["sandbox", "run", "claude"];

/// `tm loop`.
#[expect(
    clippy::struct_excessive_bools,
    reason = "each is a flag of the command line"
)]
#[derive(Args)]
#[command(args_conflicts_with_subcommands = true)]
pub(crate) struct LoopArguments {
    /// What is asked of loops, instead of one more.
    #[command(subcommand)]
    command: Option<LoopCommand>,
    /// Iterations at the most; those that a rate limit cuts short do not count.
    #[arg(long, short = 'n', value_name = "N", default_value = "10")]
    iterations: NonZeroU32,
    /// What one iteration does: a preset (`tm presets list`), or the path of a file, told by a `/` or an extension.
    #[arg(long, short, value_name = "PRESET|PATH", default_value = "default")]
    prompt: String,
    /// The memory of the loop [default: .taskmaster/loop-progress.txt].
    #[arg(long, value_name = "PATH")]
    progress_file: Option<PathBuf>,
    /// The pause between iterations, such as `30s`; a number alone is seconds.
    #[arg(long, value_name = "DURATION", default_value = "5s", value_parser = parse_duration)]
    sleep: Duration,
    /// A command that `sh` runs when everything is complete.
    #[arg(long, value_name = "COMMAND")]
    on_complete: Option<String>,
    /// Only tasks with this tag; several, with commas, together with --parallel.
    #[arg(long, short, value_delimiter = ',')]
    tag: Vec<String>,
    /// Only tasks with this status; several with commas [default: pending, and those left in progress].
    #[arg(long, value_delimiter = ',')]
    status: Vec<String>,
    /// The backlog: a file, or a folder of a Claude Code task list.
    #[arg(long, value_name = "PATH")]
    backlog: Option<PathBuf>,
    /// Run the tests after each iteration; one that fails them counts as failed, and nothing is complete.
    #[arg(long)]
    verify: bool,
    /// With --verify: go on although the tests can't be run before the first iteration.
    #[arg(long)]
    allow_broken_base: bool,
    /// The command that runs the tests, run by `sh`.
    #[arg(long, value_name = "COMMAND")]
    test_command: Option<String>,
    /// Work on a branch of its own in a worktree, instead of in the checkout.
    #[arg(long)]
    worktree: bool,
    /// One loop for each tag (all with open tasks when none is named) at the same time, each in a worktree.
    #[arg(long)]
    parallel: bool,
    /// How agents, set-ups and tests are held, as in `tm waves run`; without a level, as Task Master has it, Claude Code
    /// runs in a Docker sandbox [default: `sandbox.level` of the settings].
    #[arg(long, value_name = "LEVEL", num_args = 0..=1, default_missing_value = "docker")]
    sandbox: Option<LoopSandbox>,
    /// The agent (see `tm config show`, `agents` in the settings).
    #[arg(long, value_name = "NAME")]
    agent: Option<String>,
    /// Any command as the agent, run by `sh`; it finds its prompt in `$TM_PROMPT_FILE` and on standard input.
    #[arg(long, value_name = "COMMAND")]
    agent_command: Option<String>,
    /// The model, for agents that take one.
    #[arg(long)]
    model: Option<String>,
    /// The limit of one iteration, such as `20m` [default: 30m].
    #[arg(long, value_name = "DURATION")]
    timeout: Option<String>,
    /// Start nothing more after this time, such as `6h`.
    #[arg(long, value_name = "DURATION")]
    deadline: Option<String>,
    /// Start nothing more once agents have reported this cost in US dollars.
    #[arg(long, value_name = "DOLLARS", value_parser = dollars)]
    max_cost: Option<f64>,
    /// Failures in a row after which one more ends the loop.
    #[arg(long, value_name = "N")]
    retries: Option<u32>,
    /// Tell when it is over: `desktop`, or a web server at this URL, which gets JSON; `slack+URL` and `discord+URL` for
    /// servers that want theirs. May be given several times.
    #[arg(long, value_name = "CHANNEL")]
    notify: Vec<String>,
    /// Print what agents print, line by line.
    #[arg(long, short)]
    verbose: bool,
    /// Leave out the final messages of agents.
    #[arg(long)]
    no_output: bool,
    /// One JSON document on stdout at the end.
    #[arg(long)]
    json: bool,
    /// Work as if started in this folder.
    #[arg(long, value_name = "DIR")]
    project: Option<PathBuf>,
}

fn dollars(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(dollars) if dollars.is_finite() && dollars > 0.0 => Ok(dollars),
        Ok(_) | Err(_) => Err("it must be a number above 0".to_owned()),
    }
}

impl Perform for LoopArguments {
    async fn perform(self, start: &Path) -> Result {
        if let Some(command) = self.command {
            return command.perform(start).await;
        }
        let start = match &self.project {
            Some(folder) => named_folder(start, folder)?,
            None => start.to_owned(),
        };
        tm_worktrees::check_git(&start)?;
        let project = open_with(&start, self.settings())?;
        if self.sandbox == Some(LoopSandbox::Docker) {
            self.refuse_beside_docker()?;
            get_sandbox_ready(project.repository.checkout_root()).await?;
        }
        let (talk, output, no_output) = (self.talk(), self.json.into(), self.no_output);
        let ready = Loop::ready(project, &self.order(start)).await?;
        let mut display = LoopDisplay::new(output, talk, ready.tag_loops.len(), ready.started_at);
        let ended = ready.run(|told| display.told(told)).await;
        display.finish();
        let mut ended = ended?;
        tokio::select! {
            () = ended.tell() => {}
            _ = tokio::signal::ctrl_c() => say!("interrupted: nobody else is told"),
        }
        let summary = &mut ended.summary;
        if no_output {
            leave_messages_out(summary);
        }
        print_either(output, summary, || loop_text(summary))?;
        if output == Output::People {
            next_commands(summary);
        }
        ended.kept?;
        Ok(ended.summary.exit_code)
    }
}

fn leave_messages_out(summary: &mut LoopSummary) {
    let tag_loops = summary.tag_loops.iter_mut();
    for one in tag_loops.flat_map(|one| &mut one.iterations) {
        one.record.final_message.clear();
    }
}

impl LoopArguments {
    const fn talk(&self) -> Talk {
        match (self.verbose, self.no_output) {
            (true, _) => Talk::Everything,
            (false, false) => Talk::FinalMessages,
            (false, true) => Talk::Nothing,
        }
    }

    /// Docker holds one agent, which tm neither hears nor starts elsewhere.
    fn refuse_beside_docker(&self) -> Result<()> {
        let given = [
            ("--verbose", self.verbose),
            ("--agent", self.agent.is_some()),
            ("--agent-command", self.agent_command.is_some()),
            ("--model", self.model.is_some()),
            ("--worktree", self.worktree),
            ("--parallel", self.parallel),
        ];
        given.iter().find(|(_, is_given)| *is_given).map_or(Ok(()), |(flag, _)| {
            Err(failure!("the argument '--sandbox' cannot be used with '{flag}': without a level it is `docker sandbox run claude`")
                .usage("`--sandbox auto` holds every agent, wherever it works"))
        })
    }

    fn order(self, start: PathBuf) -> LoopOrder {
        LoopOrder {
            start,
            iterations: self.iterations,
            prompt: self.prompt,
            progress_file: self.progress_file,
            sleep: self.sleep,
            on_complete: self.on_complete,
            notify: self.notify,
            tag: self.tag,
            status: self.status,
            backlog: self.backlog,
            verify: self.verify,
            broken: BrokenBase::allowed_if(self.allow_broken_base),
            worktree: self.worktree,
            parallel: self.parallel,
            docker: self.sandbox == Some(LoopSandbox::Docker),
            max_cost: self.max_cost,
        }
    }

    /// The settings that flags give.
    fn settings(&self) -> Vec<Override> {
        let flag = |value: &Option<String>| value.clone();
        Flags::default()
            .agent(flag(&self.agent), flag(&self.agent_command))
            .set("agent.model", "--model", flag(&self.model))
            .set("agent.timeout", "--timeout", flag(&self.timeout))
            .set("test.command", "--test-command", flag(&self.test_command))
            .set("waves.deadline", "--deadline", flag(&self.deadline))
            .set("waves.retries", "--retries", self.retries)
            .set(
                "sandbox.level",
                "--sandbox",
                self.sandbox.and_then(LoopSandbox::level),
            )
            .given()
    }
}

fn next_commands(summary: &LoopSummary) {
    for branch in summary
        .tag_loops
        .iter()
        .filter_map(|one| one.branch.as_ref())
    {
        say!("next: `git log --stat ..{branch}`, and `git merge {branch}` when you are content");
    }
    let logs = &summary.directory;
    match summary.final_status {
        LoopStatus::AllComplete => {}
        LoopStatus::Surroundings => say!("next: see to it, then `tm loop` goes on from here"),
        LoopStatus::Blocked | LoopStatus::Error => {
            say!("next: see the logs in {logs}, then `tm loop` again");
        }
        _ => say!("next: `tm loop` goes on from here"),
    }
}

/// Makes sure that there is a sandbox, and that Claude answers within it.
async fn get_sandbox_ready(folder: &Path) -> Result<()> {
    let version = asked(folder, &["sandbox", "version"]).await?;
    if !version.has_succeeded() {
        let said = version.stderr.lines().find(|line| !line.trim().is_empty());
        let hint = "get a Docker that has `docker sandbox` (Docker Desktop brings it), or leave out `--sandbox`";
        let said = tm_untrusted::line(said.unwrap_or("nothing"), LONGEST_LINE);
        return Err(failure!("start the sandbox: docker has none, it says: {said}").hint(hint));
    }
    say!("asking Claude in the sandbox for an answer");
    if answers(folder).await? {
        return Ok(());
    }
    let hint = "run `docker sandbox run claude` once, and log in";
    if !is_answered() {
        return Err(failure!("start the sandbox: Claude gives no answer there").hint(hint));
    }
    say!("log in, then leave Claude with /exit");
    run_attended("docker", &RUN_CLAUDE, folder).await?;
    if answers(folder).await? {
        return Ok(());
    }
    Err(failure!("start the sandbox: Claude still gives no answer there").hint(hint))
}

async fn answers(folder: &Path) -> Result<bool> {
    let words = [&RUN_CLAUDE[..], &["-p", "Answer with the word OK"]].concat();
    let answer = asked(folder, &words).await?;
    Ok(answer.has_succeeded() && answer.stdout.to_lowercase().contains("ok"))
}

/// Returns what docker answers.
async fn asked(folder: &Path, words: &[&str]) -> Result<Captured> {
    let probe = TreeCommand {
        program: "docker".into(),
        arguments: words.iter().map(Into::into).collect(),
        working_folder: folder.to_owned(),
        ..TreeCommand::default()
    };
    Ok(run_captured(probe, PROBE_LIMIT).await?)
}
