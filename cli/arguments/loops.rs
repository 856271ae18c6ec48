//! The arguments of `tm loop`.

use clap::Args;
use std::num::NonZeroU32;
use std::path::PathBuf;

/// `tm loop`.
#[expect(
    clippy::struct_excessive_bools,
    reason = "each is a flag of the command line"
)]
#[derive(Args, Debug)]
pub(crate) struct LoopArguments {
    /// Iterations at the most; those that a rate limit cuts short do not count.
    #[arg(long, short = 'n', value_name = "N", default_value = "10")]
    pub(crate) iterations: NonZeroU32,
    /// What one iteration does: a preset (`tm presets list`), or the path of a file, told by a `/` or an extension.
    #[arg(
        long,
        short = 'p',
        value_name = "PRESET|PATH",
        default_value = "default"
    )]
    pub(crate) prompt: String,
    /// The memory of the loop [default: .taskmaster/loop-progress.txt].
    #[arg(long, value_name = "PATH")]
    pub(crate) progress_file: Option<PathBuf>,
    /// Seconds between iterations.
    #[arg(long, value_name = "SECONDS", default_value = "5")]
    pub(crate) sleep: u64,
    /// A command that `sh` runs when everything is complete.
    #[arg(long, value_name = "COMMAND")]
    pub(crate) on_complete: Option<String>,
    /// Only tasks with this tag; several, with commas, together with --parallel.
    #[arg(long, short = 't', value_name = "TAG", value_delimiter = ',')]
    pub(crate) tag: Vec<String>,
    /// Only tasks with this status; several with commas [default: pending, and those left in progress].
    #[arg(long, value_name = "STATUS", value_delimiter = ',')]
    pub(crate) status: Vec<String>,
    /// The backlog: a file, or a folder of a Claude Code task list.
    #[arg(long, value_name = "PATH")]
    pub(crate) backlog: Option<PathBuf>,
    /// Run the tests after each iteration; one that fails them counts as failed, and nothing is complete.
    #[arg(long)]
    pub(crate) verify: bool,
    /// With --verify: go on although the tests can't be run before the first iteration.
    #[arg(long)]
    pub(crate) allow_broken_base: bool,
    /// The command that runs the tests, run by `sh`.
    #[arg(long, value_name = "COMMAND")]
    pub(crate) test_command: Option<String>,
    /// Work on a branch of its own in a worktree, instead of in the checkout.
    #[arg(long)]
    pub(crate) worktree: bool,
    /// One loop for each tag (all with open tasks when none is named) at the same time, each in a worktree.
    #[arg(long)]
    pub(crate) parallel: bool,
    /// Run Claude Code in a Docker sandbox: `docker sandbox run claude`.
    #[arg(long, conflicts_with_all = ["verbose", "agent", "agent_command", "model", "worktree", "parallel"])]
    pub(crate) sandbox: bool,
    /// The agent (see `tm config show`, `agents` in the settings).
    #[arg(long, value_name = "NAME")]
    pub(crate) agent: Option<String>,
    /// Any command as the agent, run by `sh`; it finds its prompt in `$TM_PROMPT_FILE` and on standard input.
    #[arg(long, value_name = "COMMAND")]
    pub(crate) agent_command: Option<String>,
    /// The model, for agents that take one.
    #[arg(long, value_name = "MODEL")]
    pub(crate) model: Option<String>,
    /// The limit of one iteration, such as `20m` [default: 30m].
    #[arg(long, value_name = "DURATION")]
    pub(crate) timeout: Option<String>,
    /// Start nothing more after this time, such as `6h`.
    #[arg(long, value_name = "DURATION")]
    pub(crate) deadline: Option<String>,
    /// Start nothing more once agents have reported this cost in US dollars.
    #[arg(long, value_name = "DOLLARS", value_parser = dollars)]
    pub(crate) max_cost: Option<f64>,
    /// Failures in a row after which one more ends the loop.
    #[arg(long, value_name = "N")]
    pub(crate) retries: Option<u32>,
    /// Tell when it is over: `desktop`, or a URL that gets the summary as JSON; may be given several times.
    #[arg(long, value_name = "desktop|URL")]
    pub(crate) notify: Vec<String>,
    /// Print what agents print, line by line.
    #[arg(long, short = 'v')]
    pub(crate) verbose: bool,
    /// Leave out the final messages of agents.
    #[arg(long)]
    pub(crate) no_output: bool,
    /// One JSON document on stdout at the end.
    #[arg(long)]
    pub(crate) json: bool,
    /// Work as if started in this folder.
    #[arg(long, value_name = "DIR")]
    pub(crate) project: Option<PathBuf>,
}

fn dollars(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(dollars) if dollars.is_finite() && dollars > 0.0 => Ok(dollars),
        Ok(_) | Err(_) => Err("it must be a number above 0".to_owned()),
    }
}
