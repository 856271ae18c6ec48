//! What is to be done next, with everything that is needed for it. Changes nothing.

use super::answers::{
    CommitContext, GreenContext, NextAction, Precondition, RedContext, SubtaskView, WorkUnit,
    WorkUnitContext,
};
use super::commit::{Subject, commit_message};
use super::context::{Tests, expected_files, hints};
use super::error::Error;
use super::project::Project;
use super::session::{OpenRun, piece};
use tm_config::Verify;
use tm_scheduler::Task;
use tm_scheduler::autopilot::{Action, Step, TestCounts};
use tm_scheduler::verdict::is_test_path;

/// Returns what is to be done next in the run that is named, or in the current one.
///
/// # Errors
/// There is no such run.
pub fn next(project: &Project) -> Result<NextAction, Error> {
    OpenRun::open(project)?.next_action()
}

/// Returns the piece of work under way; `None` where nothing of the kind is.
///
/// # Errors
/// There is no such run.
pub fn next_work_unit(project: &Project) -> Result<Option<WorkUnit>, Error> {
    Ok(OpenRun::open(project)?.next_action()?.work_unit)
}

impl OpenRun<'_> {
    pub(super) fn next_action(&self) -> Result<NextAction, Error> {
        let state = &self.state;
        let action = state.machine.next();
        let work_unit = self.work_unit(&action)?;
        let subtask = work_unit.as_ref().map(|_| self.subtask_view());
        let instructions = instructions(&action, work_unit.as_ref(), self.project);
        Ok(NextAction {
            action: action.name().to_owned(),
            description: action.to_string(),
            command: command(&action, self.project),
            next_steps: in_one_sentence(&action),
            instructions,
            phase: state.phase().to_owned(),
            tdd_phase: state.tdd_phase().map(ToOwned::to_owned),
            run_id: state.run_id.to_string(),
            task_id: state.task_id.to_string(),
            branch_name: state.branch.clone(),
            subtask,
            context: work_unit.as_ref().map(|unit| unit.context.clone()),
            work_unit,
            last_test_results: state.last_test_results.clone(),
        })
    }

    /// Returns the subtask under way as the backlog has it.
    pub(super) fn current_piece(&self) -> Option<Task> {
        let item = self.state.machine.current()?;
        Some(piece(&self.task(), &item.id, &item.title))
    }

    fn subtask_view(&self) -> SubtaskView {
        let task = self.current_piece().unwrap_or_else(|| self.task());
        let (attempts, max_attempts) = self.state.attempts();
        SubtaskView {
            id: task.id.to_string(),
            title: task.title,
            description: task.description,
            details: task.details,
            test_strategy: task.test_strategy,
            acceptance_criteria: task.acceptance_criteria,
            attempts,
            max_attempts,
        }
    }

    pub(super) fn work_unit(&self, action: &Action) -> Result<Option<WorkUnit>, Error> {
        let (Some(subtask), Some(id)) = (self.current_piece(), self.unit_id(action)) else {
            return Ok(None);
        };
        let task = self.task();
        let tests = Tests::of(self.project);
        let files = self.project.changed_files()?;
        let mut context = self.context(&task, &subtask, &tests);
        let preconditions = self.preconditions(action, &files)?;
        match action {
            Action::Red { .. } => context.red_phase = Some(red_context(&subtask, &tests)),
            Action::Green { .. } => {
                context.green_phase = Some(self.green_context(&subtask, &tests, &files));
            }
            Action::Commit { .. } => {
                let commit_message = self.message(&subtask, &files, None)?;
                context.commit_phase = Some(CommitContext {
                    commit_message,
                    files_to_commit: files,
                });
            }
            Action::Finalize | Action::Complete | Action::Resume | Action::Start { .. } => {
                return Ok(None);
            }
        }
        Ok(Some(WorkUnit {
            id,
            phase: self.state.tdd_phase().unwrap_or_default().to_owned(),
            subtask_id: subtask.id.to_string(),
            action: format!("{action}: {}", subtask.title),
            context,
            preconditions,
        }))
    }

    /// The id of the piece of work under way; a further try has a number.
    pub(super) fn unit_id(&self, action: &Action) -> Option<String> {
        let subtask = self.state.machine.current()?;
        let phase = match action {
            Action::Red { .. } => "RED",
            Action::Green { .. } => "GREEN",
            Action::Commit { .. } => "COMMIT",
            Action::Finalize | Action::Complete | Action::Resume | Action::Start { .. } => {
                return None;
            }
        };
        let (attempt, _) = self.state.attempts();
        let number = if attempt > 1 && phase != "COMMIT" {
            format!("-{attempt}")
        } else {
            String::new()
        };
        Some(format!("workUnit-{}-{phase}{number}", subtask.id))
    }

    fn context(&self, task: &Task, subtask: &Task, tests: &Tests) -> WorkUnitContext {
        let finished = self.state.completed();
        let dependencies = subtask
            .dependencies
            .iter()
            .map(ToString::to_string)
            .filter(|id| {
                finished.contains(id)
                    || task
                        .subtasks
                        .iter()
                        .any(|other| other.id.as_str() == id && !other.status.is_open())
            });
        WorkUnitContext {
            task_id: task.id.to_string(),
            task_title: task.title.clone(),
            subtask_title: subtask.title.clone(),
            subtask_description: subtask.description.clone(),
            dependencies: dependencies.collect(),
            test_command: self
                .project
                .test_command(Some(task))
                .map(|command| command.to_string()),
            project_root: self.project.root().display().to_string(),
            test_pattern: tests.pattern.to_owned(),
            existing_tests: tests.existing.clone(),
            red_phase: None,
            green_phase: None,
            commit_phase: None,
        }
    }

    /// The tests that are changed are those that have to pass; where none is, where they would have gone.
    fn green_context(&self, subtask: &Task, tests: &Tests, changed: &[String]) -> GreenContext {
        let written = changed.iter().find(|path| is_test_path(path)).cloned();
        GreenContext {
            test_file: written.unwrap_or_else(|| tests.file_for(subtask)),
            implementation_hints: hints(subtask),
            expected_files: expected_files(self.project.root(), subtask),
        }
    }

    /// Returns the message of the commit of a subtask.
    pub(super) fn message(
        &self,
        subtask: &Task,
        files: &[String],
        message: Option<&str>,
    ) -> Result<String, Error> {
        let (tests, coverage) = match self.state.machine.step() {
            Some(Step::Commit {
                green, coverage, ..
            }) => (*green, *coverage),
            _ => (TestCounts::default(), None),
        };
        let settings = &self.project.settings.autopilot;
        commit_message(&Subject {
            template: &settings.commit_template,
            own_template: self.project.settings.git.commit_template.as_deref(),
            default_type: &settings.default_commit_type,
            subtask,
            files,
            tag: self.state.tag.as_str(),
            run: self.state.run_id.as_str(),
            tests,
            coverage,
            message,
        })
    }

    /// Everything here is looked up, and nothing is remembered as true.
    fn preconditions(
        &self,
        action: &Action,
        changed: &[String],
    ) -> Result<Vec<Precondition>, Error> {
        let one = |name: &str, description: &str, met| Precondition {
            name: name.to_owned(),
            description: description.to_owned(),
            met,
        };
        let on_branch = self
            .repository()
            .head()
            .is_ok_and(|head| head.branch.as_deref() == Some(&self.state.branch));
        let mut preconditions = vec![one(
            "on-branch",
            "the checkout is on the run's branch",
            on_branch,
        )];
        let holds = self.holds_its_commits().unwrap_or(false);
        preconditions.push(one(
            "commits",
            "the branch holds everything that the run has committed",
            holds,
        ));
        // What is there is taken as a tree only where something is asked of it.
        let tree = if matches!(action, Action::Red { .. }) {
            None
        } else {
            Some(self.tree()?)
        };
        if let Some(tree) = &tree {
            let files = self
                .state
                .red_kept
                .as_ref()
                .map_or(0, |red| red.files.len());
            let is_there = files > 0 && self.tests_changed(tree)?.is_empty();
            preconditions.push(one(
                "tests",
                "the tests of RED are there, as RED left them",
                is_there,
            ));
        }
        preconditions.push(match (action, &tree) {
            (_, None) => one(
                "clean",
                "nothing but tests of an earlier try is uncommitted",
                changed.is_empty() || self.state.attempts().0 > 1,
            ),
            (Action::Green { .. }, Some(_)) => self.red_complete(),
            (_, Some(tree)) => {
                let is_same =
                    self.state.green_kept.is_some() && self.changed_since_green(tree)?.is_empty();
                one(
                    "green-complete",
                    "what is there is what GREEN held with",
                    is_same,
                )
            }
        });
        Ok(preconditions)
    }

    /// Tests that tm has seen failing are told from those that were said to fail.
    fn red_complete(&self) -> Precondition {
        let said =
            matches!(self.state.machine.step(), Some(Step::Green { red, .. }) if red.failed > 0);
        let (description, met) = match self.project.settings.autopilot.verify {
            Verify::Run => (
                "tm has seen tests of RED fail",
                self.state.red_proven.is_some(),
            ),
            Verify::Reported => ("tests of RED were reported to fail", said),
        };
        Precondition {
            name: "red-complete".to_owned(),
            description: description.to_owned(),
            met,
        }
    }
}

fn red_context(subtask: &Task, tests: &Tests) -> RedContext {
    let criteria = if subtask.acceptance_criteria.is_empty() {
        let texts = [&subtask.test_strategy, &subtask.description, &subtask.title];
        texts
            .into_iter()
            .find(|text| !text.is_empty())
            .into_iter()
            .cloned()
            .collect()
    } else {
        subtask.acceptance_criteria.clone()
    };
    RedContext {
        test_file: tests.file_for(subtask),
        test_framework: tests.framework.to_owned(),
        acceptance_criteria: criteria,
    }
}

fn in_one_sentence(action: &Action) -> String {
    match action {
        Action::Red { subtask } => {
            format!("write tests for `{subtask}` that fail, run them, report the counts")
        }
        Action::Green { subtask, .. } => {
            format!("make every test of `{subtask}` pass, run them, report the counts")
        }
        Action::Commit { subtask } => {
            format!("have `{subtask}` committed by `tm autopilot commit`")
        }
        Action::Finalize => {
            "run the whole suite and close the run by `tm autopilot finalize`".to_owned()
        }
        Action::Complete => "nothing is left to do".to_owned(),
        Action::Resume => "resume the run by `tm autopilot resume`".to_owned(),
        Action::Start { task } => format!("begin a new run by `tm autopilot start {task}`"),
    }
}

/// Returns the command that does it, or ends it; without counts where nobody asks for them.
fn command(action: &Action, project: &Project) -> Option<String> {
    let command = action.command()?;
    Some(
        match (
            project.settings.autopilot.verify,
            command.split_once(" --results"),
        ) {
            (Verify::Run, Some((command, _))) => command.to_owned(),
            (_, _) => command,
        },
    )
}

/// Returns what to do, step by step.
pub(super) fn instructions(action: &Action, unit: Option<&WorkUnit>, project: &Project) -> String {
    let runs_tests = project.settings.autopilot.verify == Verify::Run;
    let context = unit.map(|unit| &unit.context);
    let tests = match context {
        Some(context) => context.test_command.clone(),
        None => project
            .test_command(None)
            .map(|command| command.to_string()),
    };
    let tests = tests.unwrap_or_else(|| "the test command".to_owned());
    let report = if runs_tests {
        "Report; tm runs the tests itself and judges what it sees".to_owned()
    } else {
        format!("Run `{tests}` and report the counts")
    };
    let command = command(action, project).unwrap_or_default();
    match action {
        Action::Red { .. } => {
            let file = context
                .and_then(|context| context.red_phase.as_ref())
                .map_or("", |red| red.test_file.as_str());
            format!(
                "1. Write tests for this subtask, for example in `{file}`. Do not implement anything yet.\n\
                 2. Make sure that they fail because the behaviour is missing.\n3. {report}: `{command}`."
            )
        }
        Action::Green { .. } => format!(
            "1. Write the least code that makes the failing tests pass. Do not change or remove tests.\n\
             2. Make sure that all other tests still pass.\n3. {report}: `{command}`."
        ),
        Action::Commit { .. } => {
            format!("Do not commit by hand. Call `{command}`: tm stages, commits, goes on.")
        }
        Action::Finalize => {
            if runs_tests {
                return format!("Call `{command}`: tm runs the whole suite (`{tests}`) once more.");
            }
            format!(
                "Run the whole suite once more (`{tests}`), then call `{command} --results passed:N,failed:0`."
            )
        }
        Action::Complete => "The run is complete. Nothing is left to do.".to_owned(),
        Action::Resume | Action::Start { .. } => format!("Call `{command}`."),
    }
}
