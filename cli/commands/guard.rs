//! Which commands are the user's alone: what steers a run, lands work or changes a backlog is refused to the agents of
//! waves on that repository. Everything else is open to them, and everything in other repositories.

use crate::advice::FOR_AGENTS;
use crate::arguments::{
    BacklogChoice, Command, EditChoice, ReviewCommand, TagsCommand, TasksCommand, TddCommand,
    Waves, Worktrees,
};
use crate::failure::{CommandFailure, ExitCode};
use std::path::{Path, PathBuf};
use tm_runtime::callers::refuse_to_agents;
use tm_store::backlog::BacklogSource;

/// A command that is the user's alone, and what of its arguments tells which repository it is about.
struct OfUser<'a> {
    name: &'static str,
    project: Option<&'a Path>,
    backlog: Option<&'a Path>,
}

/// Refuses what an agent of waves must not do.
pub(crate) fn refuse_agents(start: &Path, command: &Command) -> Result<(), CommandFailure> {
    let Some(command) = of_user(command) else {
        return Ok(());
    };
    let refused = refuse_to_agents(command.name, || command.folders(start));
    refused.map_err(|refused| {
        CommandFailure::from(refused)
            .code(ExitCode::Refused)
            .hint(FOR_AGENTS)
    })
}

impl<'a> OfUser<'a> {
    const fn run(name: &'static str) -> Self {
        Self {
            name,
            project: None,
            backlog: None,
        }
    }

    fn backlog(name: &'static str, choice: &'a BacklogChoice) -> Self {
        Self {
            name,
            project: choice.project.as_deref(),
            backlog: choice.backlog.as_deref(),
        }
    }

    fn edit(name: &'static str, choice: &'a EditChoice) -> Self {
        Self {
            name,
            project: choice.project.as_deref(),
            backlog: choice.file.as_deref(),
        }
    }

    /// Where the command works, and where the backlog lies that it changes, with links followed.
    fn folders(&self, start: &Path) -> Vec<PathBuf> {
        let start = self
            .project
            .map_or_else(|| start.to_owned(), |project| start.join(project));
        let backlog = match self.backlog {
            Some(path) => Some(start.join(path)),
            None => BacklogSource::find(&start)
                .ok()
                .map(|source| source.path().to_owned()),
        };
        let backlog = backlog.and_then(|path| Some(path.canonicalize().ok()?.parent()?.to_owned()));
        std::iter::once(start).chain(backlog).collect()
    }
}

/// Tells which commands are the user's alone.
fn of_user(command: &Command) -> Option<OfUser<'_>> {
    Some(match command {
        Command::Waves(waves) => return of_waves(waves),
        Command::SetStatus(set) => OfUser::backlog("tm set-status", &set.choice),
        Command::Next(next) if next.claim => OfUser::backlog("tm next --claim", &next.choice),
        Command::FixDependencies(fix) => OfUser::edit("tm fix-dependencies", &fix.choice),
        Command::AddTask(add) => OfUser::edit("tm add-task", &add.choice),
        Command::AddSubtask(add) => OfUser::edit("tm add-subtask", &add.choice),
        Command::RemoveTask(remove) => OfUser::edit("tm remove-task", &remove.choice),
        Command::Move(move_task) => OfUser::edit("tm move", &move_task.choice),
        Command::AddDependency(add) => OfUser::edit("tm add-dependency", &add.choice),
        Command::RemoveDependency(remove) => OfUser::edit("tm remove-dependency", &remove.choice),
        Command::Tags(tags) => match tags.command {
            None | Some(TagsCommand::List) => return None,
            Some(_) => OfUser {
                backlog: tags.file.as_deref(),
                ..OfUser::run("tm tags")
            },
        },
        Command::Tasks(TasksCommand::Fix(fix)) => OfUser::backlog("tm tasks fix", &fix.choice),
        Command::Tdd(TddCommand::Pair(pair)) if pair.write => {
            OfUser::backlog("tm tdd pair --write", &pair.choice)
        }
        Command::Review(review) => match review.command {
            Some(ReviewCommand::Approve(_)) => OfUser::run("tm review approve"),
            Some(ReviewCommand::Reject(_)) => OfUser::run("tm review reject"),
            None if review.json => return None,
            None => OfUser::run("tm review"),
        },
        Command::Pr(_) => OfUser::run("tm pr"),
        Command::Loop(_) => OfUser::run("tm loop"),
        Command::DetachedRun(_) => OfUser::run("waves_run"),
        Command::Worktrees(Worktrees::Merge(_)) => OfUser::run("tm worktrees merge"),
        Command::Worktrees(Worktrees::Prune(_)) => OfUser::run("tm worktrees prune"),
        Command::Worktrees(
            Worktrees::List(_)
            | Worktrees::Show(_)
            | Worktrees::Diff(_)
            | Worktrees::Log(_)
            | Worktrees::Open(_)
            | Worktrees::Salvage(_),
        )
        | Command::Tasks(
            TasksCommand::Check(_) | TasksCommand::Stats(_) | TasksCommand::Convert(_),
        )
        | Command::Tdd(TddCommand::Pair(_))
        | Command::List(_)
        | Command::Next(_)
        | Command::Show(_)
        | Command::ValidateDependencies(_)
        | Command::Verify(_)
        | Command::Audit(_)
        | Command::Autopilot(_)
        | Command::Mcp(_)
        | Command::Presets(_)
        | Command::Agents(_)
        | Command::Config(_)
        | Command::Demo(_)
        | Command::Init
        | Command::Doctor(_)
        | Command::Completions(_)
        | Command::Man(_)
        | Command::Result(_)
        | Command::Replay(_)
        | Command::AcpAgent(_) => return None,
    })
}

fn of_waves(waves: &Waves) -> Option<OfUser<'_>> {
    Some(match waves {
        Waves::Run(run) => OfUser {
            backlog: run.choice.backlog.as_deref(),
            ..OfUser::run("tm waves run")
        },
        Waves::Resume(_) => OfUser::run("tm waves resume"),
        Waves::Land(_) => OfUser::run("tm waves land"),
        Waves::Stop(_) => OfUser::run("tm waves stop"),
        Waves::Pause(_) => OfUser::run("tm waves pause"),
        Waves::Retry(_) => OfUser::run("tm waves retry"),
        Waves::Skip(_) => OfUser::run("tm waves skip"),
        Waves::Add(_) => OfUser::run("tm waves add"),
        Waves::Plan(_)
        | Waves::Status(_)
        | Waves::Watch(_)
        | Waves::List(_)
        | Waves::Report(_)
        | Waves::Metrics(_)
        | Waves::Logs(_) => return None,
    })
}
