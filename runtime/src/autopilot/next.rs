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
use tm_scheduler::autopilot::{Action, Counts, Step, TestCounts};
use tm_scheduler::verdict::is_test_path;
use tm_worktrees::TreeId;

/// Returns what is to be done next in the run that is named, or in the current one.
///
/// # Errors
/// There is no such run.
pub fn next(project: &Project) -> Result<NextAction, Error> {
    OpenRun::open(project)?.next_action()
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
            command: self.project.call(&action),
            next_steps: in_one_sentence(&action, self.project),
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
            title: task.title.to_string(),
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
        let (attempt, _) = self.state.attempts();
        let number = if attempt > 1 {
            format!("-{attempt}")
        } else {
            String::new()
        };
        let phase = match action {
            Action::Red { .. } => format!("RED{number}"),
            Action::Green { .. } => format!("GREEN{number}"),
            Action::Commit { .. } => "COMMIT".to_owned(),
            Action::Finalize | Action::Complete | Action::Resume | Action::Start { .. } => {
                return None;
            }
        };
        Some(format!("workUnit-{}-{phase}", subtask.id))
    }

    fn context(&self, task: &Task, subtask: &Task, tests: &Tests) -> WorkUnitContext {
        let finished = self.state.completed();
        let is_over = |id: &String| {
            let mut subtasks = task.subtasks.iter();
            subtasks.any(|other| other.id.as_str() == id && !other.status.is_open())
        };
        let dependencies = subtask.dependencies.iter().map(ToString::to_string);
        let dependencies = dependencies.filter(|id| finished.contains(id) || is_over(id));
        let test_command = self.project.test_command(Some(task));
        WorkUnitContext {
            task_id: task.id.to_string(),
            task_title: task.title.to_string(),
            subtask_title: subtask.title.to_string(),
            subtask_description: subtask.description.clone(),
            dependencies: dependencies.collect(),
            test_command: test_command.map(|command| command.to_string()),
            project_root: self.project.root().display().to_string(),
            test_pattern: tests.pattern(),
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
        let mut preconditions = vec![self.on_branch(), self.holds_commits()];
        if matches!(action, Action::Red { .. }) {
            let is_clean = changed.is_empty() || self.state.attempts().0 > 1;
            let description = "nothing but tests of an earlier try is uncommitted";
            preconditions.push(precondition("clean", description, is_clean));
            return Ok(preconditions);
        }
        // What is there is taken as a tree only where something is asked of it.
        let tree = self.tree()?;
        preconditions.push(self.red_tests(&tree)?);
        preconditions.push(match action {
            Action::Green { .. } => self.red_complete(),
            _ => self.green_complete(&tree)?,
        });
        Ok(preconditions)
    }

    fn on_branch(&self) -> Precondition {
        let branch = Some(self.state.branch.as_str());
        let head = self.project.repository.head();
        let is_there = head.is_ok_and(|head| head.branch.as_deref() == branch);
        precondition("on-branch", "the checkout is on the run's branch", is_there)
    }

    fn holds_commits(&self) -> Precondition {
        let holds = self.holds_its_commits().unwrap_or(false);
        let description = "the branch holds everything that the run has committed";
        precondition("commits", description, holds)
    }

    fn red_tests(&self, tree: &TreeId) -> Result<Precondition, Error> {
        let kept = self.state.red_kept.as_ref();
        let are_there =
            kept.is_some_and(|red| !red.files.is_empty()) && self.tests_changed(tree)?.is_empty();
        Ok(precondition(
            "tests",
            "the tests of RED are there, as RED left them",
            are_there,
        ))
    }

    fn green_complete(&self, tree: &TreeId) -> Result<Precondition, Error> {
        let is_same = self.state.green_kept.is_some() && self.changed_since_green(tree)?.is_empty();
        let description = "what is there is what GREEN held with";
        Ok(precondition("green-complete", description, is_same))
    }

    /// Tests that tm has seen failing are told from those that were said to fail.
    fn red_complete(&self) -> Precondition {
        let (description, met) = match self.project.settings.autopilot.verify {
            Verify::Run => {
                let is_proven = self.state.red_proven.is_some();
                ("tm has seen tests of RED fail", is_proven)
            }
            Verify::Reported => {
                let step = self.state.machine.step();
                let is_said = matches!(step, Some(Step::Green { red, .. }) if red.failed > 0);
                ("tests of RED were reported to fail", is_said)
            }
        };
        precondition("red-complete", description, met)
    }
}

fn precondition(name: &str, description: &str, met: bool) -> Precondition {
    Precondition {
        name: name.to_owned(),
        description: description.to_owned(),
        met,
    }
}

fn red_context(subtask: &Task, tests: &Tests) -> RedContext {
    RedContext {
        test_file: tests.file_for(subtask),
        test_framework: tests.framework.to_owned(),
        acceptance_criteria: criteria(subtask),
    }
}

/// What must be true at the end: where nothing is said, what else is said of the subtask.
fn criteria(subtask: &Task) -> Vec<String> {
    if !subtask.acceptance_criteria.is_empty() {
        return subtask.acceptance_criteria.clone();
    }
    let mut texts = [
        &*subtask.test_strategy,
        &subtask.description,
        &subtask.title,
    ]
    .into_iter();
    let said = texts.find(|text| !text.is_empty());
    said.into_iter().map(str::to_owned).collect()
}

fn in_one_sentence(action: &Action, project: &Project) -> String {
    let by = project.environment.called_by;
    let call = action.call(by, Counts::Unasked).unwrap_or_default();
    match action {
        Action::Red { subtask } => {
            format!("write tests for `{subtask}` that fail, run them, report the counts")
        }
        Action::Green { subtask, .. } => {
            format!("make every test of `{subtask}` pass, run them, report the counts")
        }
        Action::Commit { subtask } => {
            format!("have `{subtask}` committed by `{call}`")
        }
        Action::Finalize => {
            format!("run the whole suite and close the run by `{call}`")
        }
        Action::Complete => "nothing is left to do".to_owned(),
        Action::Resume => format!("resume the run by `{call}`"),
        Action::Start { .. } => format!("begin a new run by `{call}`"),
    }
}

/// Returns what to do, step by step.
pub(super) fn instructions(action: &Action, unit: Option<&WorkUnit>, project: &Project) -> String {
    let runs_tests = project.settings.autopilot.verify == Verify::Run;
    let context = unit.map(|unit| &unit.context);
    let of_project = || Some(project.test_command(None)?.to_string());
    let tests = context.map_or_else(of_project, |context| context.test_command.clone());
    let tests = tests.unwrap_or_else(|| "the test command".to_owned());
    let report = if runs_tests {
        "Report; tm runs the tests itself and judges what it sees".to_owned()
    } else {
        format!("Run `{tests}` and report the counts")
    };
    let command = project.call(action).unwrap_or_default();
    match action {
        Action::Red { .. } => {
            let red = context.and_then(|context| context.red_phase.as_ref());
            let file = red.map_or("", |red| red.test_file.as_str());
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
            format!("Run the whole suite once more (`{tests}`), then call `{command}`.")
        }
        Action::Complete => "The run is complete. Nothing is left to do.".to_owned(),
        Action::Resume | Action::Start { .. } => format!("Call `{command}`."),
    }
}
