//! The arguments of the commands that change which tasks there are and what they depend on, with Task Master's names.

use super::backlog::OutputArgument;
use clap::{Args, Subcommand};
use std::path::PathBuf;

/// Which backlog is changed, and how the answer is printed.
#[derive(Args, Debug)]
pub(crate) struct EditChoice {
    /// The backlog file; looked for when not given.
    #[arg(long, short = 'f', visible_alias = "backlog", value_name = "PATH")]
    pub(crate) file: Option<PathBuf>,
    /// The tag of the backlog.
    #[arg(long)]
    pub(crate) tag: Option<String>,
    /// The project's folder; this one when not given.
    #[arg(long, value_name = "DIR")]
    pub(crate) project: Option<PathBuf>,
    /// Print one JSON document.
    #[arg(long)]
    pub(crate) json: bool,
}

impl EditChoice {
    /// Returns how the answer is printed.
    pub(crate) const fn output(&self) -> OutputArgument {
        if self.json {
            OutputArgument::Json
        } else {
            OutputArgument::Text
        }
    }
}

/// What a new task or subtask says beside its title.
#[derive(Args, Debug)]
pub(crate) struct NewTask {
    /// What is to be done.
    #[arg(long, short = 'd', default_value = "")]
    pub(crate) description: String,
    /// How it is to be done.
    #[arg(long)]
    pub(crate) details: Option<String>,
    /// How it is to be tested.
    #[arg(long)]
    pub(crate) test_strategy: Option<String>,
    /// The tasks that it depends on, separated by commas.
    #[arg(long, value_name = "IDS", value_delimiter = ',')]
    pub(crate) dependencies: Vec<String>,
}

/// `tm add-task`.
#[derive(Args, Debug)]
pub(crate) struct AddTask {
    /// One line.
    #[arg(long, short = 't')]
    pub(crate) title: String,
    /// What else it says.
    #[command(flatten)]
    pub(crate) new: NewTask,
    /// Its priority: low, medium, high, critical.
    #[arg(long, default_value = "medium")]
    pub(crate) priority: String,
    /// The backlog.
    #[command(flatten)]
    pub(crate) choice: EditChoice,
}

/// `tm add-subtask`.
#[derive(Args, Debug)]
pub(crate) struct AddSubtask {
    /// The task that gets it.
    #[arg(long, short = 'p', value_name = "ID")]
    pub(crate) parent: String,
    /// A task that becomes the subtask, instead of a new one; dependencies on it follow.
    #[arg(long, short = 'i', value_name = "ID", conflicts_with_all = ["title", "description", "details"])]
    pub(crate) task_id: Option<String>,
    /// One line.
    #[arg(long, short = 't', required_unless_present = "task_id")]
    pub(crate) title: Option<String>,
    /// What else it says; its dependencies name siblings by number.
    #[command(flatten)]
    pub(crate) new: NewTask,
    /// Its status.
    #[arg(long, short = 's', default_value = "pending")]
    pub(crate) status: String,
    /// Accepted for compatibility and without effect: tm keeps no files of single tasks.
    #[arg(long, visible_alias = "skip-generate")]
    pub(crate) generate: bool,
    /// The backlog.
    #[command(flatten)]
    pub(crate) choice: EditChoice,
}

/// `tm remove-task`.
#[derive(Args, Debug)]
pub(crate) struct RemoveTask {
    /// Tasks and subtasks, separated by commas.
    #[arg(
        long,
        short = 'i',
        value_name = "IDS",
        value_delimiter = ',',
        required = true
    )]
    pub(crate) id: Vec<String>,
    /// Don't ask.
    #[arg(long, short = 'y')]
    pub(crate) yes: bool,
    /// The backlog.
    #[command(flatten)]
    pub(crate) choice: EditChoice,
}

/// `tm move`.
#[derive(Args, Debug)]
pub(crate) struct MoveTask {
    /// The tasks, separated by commas.
    #[arg(long, value_name = "IDS", value_delimiter = ',', required = true)]
    pub(crate) from: Vec<String>,
    /// Their new ids, as many; `5.2` makes a subtask of task 5.
    #[arg(
        long,
        value_name = "IDS",
        value_delimiter = ',',
        required_unless_present = "to_tag"
    )]
    pub(crate) to: Vec<String>,
    /// The tag that they leave.
    #[arg(long, value_name = "TAG", conflicts_with = "tag")]
    pub(crate) from_tag: Option<String>,
    /// The tag that they go to, with the ids that they have.
    #[arg(long, value_name = "TAG", conflicts_with = "to")]
    pub(crate) to_tag: Option<String>,
    /// Remove dependencies that would cross tags, instead of refusing.
    #[arg(long, requires = "to_tag")]
    pub(crate) ignore_dependencies: bool,
    /// Move everything that they depend on too.
    #[arg(long, requires = "to_tag", conflicts_with = "ignore_dependencies")]
    pub(crate) with_dependencies: bool,
    /// The backlog.
    #[command(flatten)]
    pub(crate) choice: EditChoice,
}

/// `tm add-dependency` and `tm remove-dependency`.
#[derive(Args, Debug)]
pub(crate) struct Dependency {
    /// The task.
    #[arg(long, short = 'i', value_name = "ID")]
    pub(crate) id: String,
    /// What it depends on.
    #[arg(long, short = 'd', value_name = "ID")]
    pub(crate) depends_on: String,
    /// The backlog.
    #[command(flatten)]
    pub(crate) choice: EditChoice,
}

/// `tm fix-dependencies`.
#[derive(Args, Debug)]
pub(crate) struct FixDependencies {
    /// The backlog.
    #[command(flatten)]
    pub(crate) choice: EditChoice,
}

/// `tm tags`.
#[derive(Args, Debug)]
pub(crate) struct TagsArguments {
    /// What to do; lists them when not given.
    #[command(subcommand)]
    pub(crate) command: Option<TagsCommand>,
    /// The backlog file; looked for when not given.
    #[arg(long, short = 'f', global = true, value_name = "PATH")]
    pub(crate) file: Option<PathBuf>,
    /// Print one JSON document.
    #[arg(long, global = true)]
    pub(crate) json: bool,
}

/// What is done with tags.
#[derive(Debug, Subcommand)]
pub(crate) enum TagsCommand {
    /// List them, with how many tasks each has.
    List,
    /// Add one.
    Add {
        /// Its name.
        #[arg(required_unless_present = "from_branch")]
        name: Option<String>,
        /// What it is for.
        #[arg(long, short = 'd')]
        description: Option<String>,
        /// The tag whose tasks it gets.
        #[arg(long, value_name = "TAG", conflicts_with = "copy_from_current")]
        copy_from: Option<String>,
        /// Give it the tasks of the current tag.
        #[arg(long)]
        copy_from_current: bool,
        /// Name it after the branch that is checked out.
        #[arg(long, conflicts_with = "name")]
        from_branch: bool,
    },
    /// Make one the current one.
    Use {
        /// Its name.
        name: String,
    },
    /// Remove one with its tasks.
    Remove {
        /// Its name.
        name: String,
        /// Don't ask.
        #[arg(long, short = 'y')]
        yes: bool,
    },
    /// Give one another name.
    Rename {
        /// Its name.
        from: String,
        /// The new name.
        to: String,
    },
    /// Copy one with its tasks.
    Copy {
        /// Its name.
        from: String,
        /// The copy's name.
        to: String,
        /// What the copy is for.
        #[arg(long)]
        description: Option<String>,
    },
}
