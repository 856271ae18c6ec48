//! Commits a subtask, sets it done in the backlog, and takes the next one in hand.
//!
//! In this order: commit, backlog, state. Each part can be done again, so a crash between any two is made good by the
//! same call. The message is the words of the subtask, or of the user's template, and trailers for machines.

use super::answers::Committed;
use super::error::Error;
use super::project::Project;
use super::session::Session;
use super::units::{self as ledger, UnitRecord, UnitStatus};
use super::verify;
use crate::conventional::{commit_type, one_line, scope, summary};
use crate::trailers::values;
use itertools::Itertools as _;
use serde_json::json;
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::Path;
use tm_config::Verify;
use tm_presets::CommitWords;
use tm_scheduler::autopilot::{Action, IllegalStep, Order, TestCounts};
use tm_scheduler::{
    BY_AUTOPILOT, BranchName, CommitId, Status, Task, TaskId, TddHalf, first_files, quoted,
};
use tm_worktrees::CommitFiles;

/// What is to be committed.
#[derive(Debug, Default)]
pub struct CommitRequest {
    /// The subtask; the one under way where it is not said.
    pub subtask: Option<TaskId>,
    /// The words of the message, instead of tm's; trailers are added.
    pub message: Option<String>,
    /// These files alone; everything that is changed where none is named.
    pub files: Vec<String>,
}

/// Commits the subtask under way.
///
/// # Errors
/// It is not time for that, HEAD is not on the run's branch, a hook refused, or there is nothing to commit.
pub async fn commit(project: &Project, request: &CommitRequest) -> Result<Committed, Error> {
    let mut session = Session::open(project)?;
    let subtask = expected(&session, request)?;
    project.refuse_waves("commit")?;
    let branch = session.assert_on_branch()?;
    session.assert_holds_its_commits()?;
    let files = session.against_commit(&request.files)?;
    if !files.is_empty() {
        return back_to_green(&mut session, subtask, files);
    }
    let Some((commit, mut warnings)) = make_or_find(&session, request, &branch, &subtask)? else {
        return nothing_to_commit(&mut session, subtask);
    };
    let files = session.changed_by_hooks(&commit)?;
    if !files.is_empty() && project.settings.autopilot.verify == Verify::Run {
        let tree = session.project.repository.tree_of(&commit)?;
        let seen = verify::measure(&mut session, TddHalf::Green, &tree).await?;
        if !seen.verdict.is_accepted() {
            let why = seen.verdict.message;
            tracing::info!(%subtask, why, "what the hooks made does not hold");
            return back_to_green(&mut session, subtask, files);
        }
        warnings.push(format!(
            "hooks changed what is committed, and it was judged anew: {}",
            first_files(&files)
        ));
    }
    settle(&mut session, &subtask, &commit)?;
    Ok(Committed {
        success: true,
        commit_sha: commit.to_string(),
        commit_hash: commit.as_str().get(..7).unwrap_or_default().to_owned(),
        message: session.project.repository.past(&commit)?.subject,
        subtask: subtask.to_string(),
        is_complete: session.state.machine.current().is_none(),
        progress: session.state.progress(),
        warnings,
        next_action: session.next_action()?,
    })
}

/// What was reported can't have happened.
fn nothing_to_commit(session: &mut Session<'_>, subtask: TaskId) -> Result<Committed, Error> {
    session.state.machine.handle(&Order::NothingToCommit)?;
    session.state.forget_subtask();
    let event = json!({"event": "error", "phase": "commit", "subtaskId": subtask,
                       "error": "nothing to commit", "recoverable": true});
    session.save(&[event])?;
    Err(Error::NothingChanged(subtask))
}

/// GREEN has to hold again: what is there is not what it held with.
fn back_to_green(
    session: &mut Session<'_>,
    subtask: TaskId,
    files: Vec<String>,
) -> Result<Committed, Error> {
    session.state.machine.handle(&Order::WorkChanged)?;
    session.state.green_kept = None;
    let event = json!({"event": "error", "phase": "commit", "subtaskId": subtask,
                       "error": "the work was changed since GREEN held", "files": files, "recoverable": true});
    session.save(&[event])?;
    Err(Error::ChangedSince { subtask, files })
}

/// Refuses a commit at the wrong time or for another subtask, before anything is touched.
fn expected(session: &Session<'_>, request: &CommitRequest) -> Result<TaskId, Error> {
    let next = session.state.machine.next();
    let meant = request.subtask.as_ref();
    match &next {
        Action::Commit { subtask } if meant.is_none_or(|meant| meant == subtask) => {
            Ok(subtask.clone())
        }
        _ => {
            let of = meant.map_or_else(String::new, |meant| format!(" `{meant}`"));
            let wanted = format!("commit{of}");
            Err(IllegalStep { wanted, next }.into())
        }
    }
}

/// A commit, and what is odd about it.
type Found = Option<(CommitId, Vec<String>)>;

/// Commits what is changed; where nothing is, takes the commit that was made since the last one.
fn make_or_find(
    session: &Session<'_>,
    request: &CommitRequest,
    branch: &BranchName,
    subtask: &TaskId,
) -> Result<Found, Error> {
    let tip = session.project.repository.head()?.commit;
    let has_moved = tip != session.state.head;
    if has_moved && is_of_this_run(session, &tip, subtask)? {
        let warning = "the commit was made before tm was cut off";
        return Ok(Some((tip, vec![warning.to_owned()])));
    }
    if let Some(made) = make(session, request, branch)? {
        return Ok(Some(made));
    }
    let trailers = session.project.repository.past(&tip)?.trailers;
    let mut warning = "taken as it is: the agent committed itself".to_owned();
    if values(&trailers, "Task").next().is_none() {
        warning.push_str(
            "; without the trailers `Task` and `Tag` only the backlog says that it is done",
        );
    }
    Ok(has_moved.then(|| (tip, vec![warning])))
}

fn make(
    session: &Session<'_>,
    request: &CommitRequest,
    branch: &BranchName,
) -> Result<Found, Error> {
    let project = session.project;
    let (never, named) = (project.never_commit()?, &request.files);
    if let Some(file) = named.iter().find(|file| never.covers(Path::new(file))) {
        return Err(Error::NeverCommitted(file.clone()));
    }
    let (files, which) = if named.is_empty() {
        (project.changed_files()?, CommitFiles::AllBut(&never))
    } else {
        (named.clone(), CommitFiles::Only(named))
    };
    let piece = session.current_piece().unwrap_or_else(|| session.task());
    let message = session.message(&piece, &files, request.message.as_deref())?;
    let hooks = crate::run_hooks(&project.settings);
    let commit = project
        .repository
        .commit_in_checkout(branch, &message, which, hooks)?;
    let made = |commit| Ok((commit, left_over(project)?));
    commit.map(made).transpose()
}

/// Takes up the commit of a call that was cut off before the state knew of it.
pub(super) fn resume(session: &mut Session<'_>) -> Result<(), Error> {
    let Action::Commit { subtask } = session.state.machine.next() else {
        return Ok(());
    };
    let tip = session.project.repository.head()?.commit;
    if tip != session.state.head && is_of_this_run(session, &tip, &subtask)? {
        settle(session, &subtask, &tip)?;
    }
    Ok(())
}

/// Names what a commit of some files alone left uncommitted: it will be part of the next one.
fn left_over(project: &Project) -> Result<Vec<String>, Error> {
    let names = quoted(project.changed_files()?);
    let warning = || format!("these stay uncommitted: {names}");
    Ok((!names.is_empty()).then(warning).into_iter().collect())
}

/// Whether a commit carries the trailers of this run and subtask, and is what GREEN held with: the one that tm made before
/// it was cut off.
fn is_of_this_run(
    session: &Session<'_>,
    commit: &CommitId,
    subtask: &TaskId,
) -> Result<bool, Error> {
    let trailers = session.project.repository.past(commit)?.trailers;
    let (run, task) = (session.state.run_id.as_str(), format!("#{subtask} "));
    let is_task = |value: &str| format!("{value} ").starts_with(&task);
    let is_named =
        values(&trailers, "Run").contains(&run) && values(&trailers, "Task").any(is_task);
    Ok(is_named && session.changed_by_hooks(commit)?.is_empty())
}

/// Sets the subtask done and the next one in progress, then keeps the state.
fn settle(session: &mut Session<'_>, subtask: &TaskId, commit: &CommitId) -> Result<(), Error> {
    let order = Order::Committed(commit.clone());
    session.state.machine.handle(&order)?;
    let mut statuses = session.under_way();
    if session.state.task_id != *subtask {
        statuses.push((subtask.clone(), Status::Done));
    }
    session.set_statuses(&statuses)?;
    let state = &mut session.state;
    state.head = commit.clone();
    state.forget_subtask();
    let ended = UnitRecord {
        commit_sha: Some(commit.clone()),
        ..UnitRecord::new(format!("workUnit-{subtask}-COMMIT"), UnitStatus::Done)
    };
    ledger::record(&mut state.work_units, ended);
    let next = match state.current() {
        Some(next) => json!({"event": "subtask:start", "subtaskId": next, "phase": "red"}),
        None => json!({"event": "phase:start", "phase": "finalize"}),
    };
    let branch = &state.branch;
    let events = [
        json!({"event": "commit:created", "subtaskId": subtask, "sha": commit, "branch": branch}),
        json!({"event": "subtask:complete", "subtaskId": subtask, "phase": "commit", "status": "done"}),
        next,
    ];
    session.save(&events)
}

/// Everything that a message speaks of.
#[derive(Debug)]
pub(super) struct Subject<'a> {
    /// The pattern of the first line.
    pub(super) template: &'a str,
    /// The template of everything but the trailers, where the user has one.
    pub(super) own_template: Option<&'a str>,
    pub(super) default_type: &'a str,
    pub(super) subtask: &'a Task,
    pub(super) files: &'a [String],
    pub(super) tag: &'a str,
    pub(super) run: &'a str,
    pub(super) tests: TestCounts,
    pub(super) coverage: Option<f64>,
    /// The words of somebody who knows better.
    pub(super) message: Option<&'a str>,
}

/// Returns the whole message.
pub(super) fn commit_message(subject: &Subject<'_>) -> Result<String, Error> {
    let mut text = match (subject.message, subject.own_template) {
        (Some(message), _) => message.replace('\0', "").trim().to_owned(),
        (None, Some(template)) => tm_presets::commit_message(template, &commit_words(subject))?,
        (None, None) => {
            let line = subject_line(subject.template, commit_words(subject))?;
            let body = subject.subtask.description.replace('\0', "");
            format!("{line}\n\n{}", body.trim()).trim_end().to_owned()
        }
    };
    let title = one_line(&subject.subtask.title);
    let id = one_line(subject.subtask.id.as_str());
    let _ = writeln!(
        text,
        "\n\nTask: #{id} - {title}\nPhase: {BY_AUTOPILOT}\nTag: {}\nTests: {} passing",
        one_line(subject.tag),
        subject.tests.passed
    );
    if let Some(coverage) = subject.coverage {
        let _ = writeln!(text, "Coverage: {coverage}% lines");
    }
    let _ = writeln!(text, "Run: {}", subject.run);
    Ok(text)
}

fn commit_words(subject: &Subject<'_>) -> CommitWords {
    CommitWords {
        id: one_line(subject.subtask.id.as_str()),
        title: one_line(&subject.subtask.title),
        description: subject.subtask.description.trim().to_owned(),
        phase: "commit".to_owned(),
        r#type: commit_type(subject.files, &subject.subtask.title, subject.default_type),
        scope: scope(subject.files),
        tag: one_line(subject.tag),
        run: subject.run.to_owned(),
        files: subject.files.to_vec(),
    }
}

fn subject_line(template: &str, words: CommitWords) -> Result<String, Error> {
    // A scope that nothing tells leaves no empty parentheses.
    let template = if words.scope.is_empty() {
        template.replace("({scope})", "")
    } else {
        template.to_owned()
    };
    let values = BTreeMap::from([
        ("type", words.r#type),
        ("scope", words.scope),
        ("msg", summary(&words.title)),
        ("taskId", words.id),
    ]);
    Ok(one_line(&tm_scheduler::fill(&template, &values)?))
}

/// Refuses patterns that can't be filled, before anything is begun.
pub(super) fn check_templates(template: &str, own_template: Option<&str>) -> Result<(), Error> {
    own_template
        .map(tm_presets::example_commit_message)
        .transpose()?;
    subject_line(template, CommitWords::default()).map(drop)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn files(names: &[&str]) -> Vec<String> {
        names.iter().map(|name| (*name).to_owned()).collect()
    }

    #[test]
    fn the_message_speaks_of_the_task_and_ends_in_trailers() {
        let mut subtask = Task::new("1.1", "Add the command\nskeleton.");
        subtask.description = "Registers the command.".to_owned();
        let files = files(&["cli/command.rs"]);
        let subject = Subject {
            template: "{type}({scope}): {msg} (task {taskId})",
            own_template: None,
            default_type: "feat",
            subtask: &subtask,
            files: &files,
            tag: "phase-0",
            run: "phase-0__task-1__x",
            tests: TestCounts::of(3, 0, 0),
            coverage: Some(92.0),
            message: None,
        };
        assert_eq!(
            commit_message(&subject).unwrap(),
            "feat(cli): add the command skeleton (task 1.1)\n\nRegisters the command.\n\n\
             Task: #1.1 - Add the command skeleton.\nPhase: COMMIT\nTag: phase-0\nTests: 3 passing\n\
             Coverage: 92% lines\nRun: phase-0__task-1__x\n"
        );
        let template = Some("{{ type }}/{{ scope }}: {{ title }}\n\n{{ files | join }}");
        let templated = commit_message(&Subject {
            own_template: template,
            coverage: None,
            ..subject
        })
        .unwrap();
        assert!(
            templated
                .starts_with("feat/cli: Add the command skeleton.\n\ncli/command.rs\n\nTask: #1.1"),
            "{templated}"
        );
        let own = commit_message(&Subject {
            message: Some("mine"),
            own_template: template,
            ..subject
        })
        .unwrap();
        assert!(own.starts_with("mine\n\nTask: #1.1"), "{own}");
    }

    #[test]
    fn braces_in_a_title_stay_and_unknown_placeholders_are_refused() {
        assert!(check_templates("{type}: {msg}", None).is_ok());
        assert!(check_templates("{typ}: {msg}", None).is_err());
        let words = CommitWords {
            title: "Parse {type} in JSON".to_owned(),
            r#type: "feat".to_owned(),
            ..CommitWords::default()
        };
        assert_eq!(
            subject_line("{type}({scope}): {msg}", words).unwrap(),
            "feat: parse {type} in JSON"
        );
    }
}
