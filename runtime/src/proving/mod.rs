//! Measures work in a worktree and has it judged: for an attempt, and by hand.

mod files;
mod green;
mod measured;
mod parts;
mod result_cache;
mod tried;

pub use green::{RedCommit, red_commit};
pub use parts::Parts;
pub use result_cache::TestResultCache;

use crate::{StepError, briefly};
use files::StartTree;
use parking_lot::Mutex;
use std::collections::BTreeSet;
use std::path::PathBuf;
use std::sync::Arc;
use tm_executors::testing::{RunnerFile, TestCommand, runner_file, told_by_exit_status};
use tm_scheduler::verdict::{
    AsBefore, Rules, is_test_path, judge_plain, judge_plain_as_before, lead_out, needs_rerun,
};
use tm_scheduler::{CommitId, Failure, Phase, Proof, Reason, Strength, TestReport};
use tm_worktrees::{Error, Repository, TreeId};

/// Work to be judged.
#[derive(Debug)]
pub struct Work {
    /// The kind of work.
    pub phase: Phase,
    /// What it started from.
    pub base: CommitId,
    /// Everything that is to be committed.
    pub tree: TreeId,
    /// Its RED, for a GREEN.
    pub red: Option<RedCommit>,
    /// The command that runs the tests.
    pub command: Option<TestCommand>,
    /// What the settings ask for.
    pub rules: Rules,
    /// Where logs and results go.
    pub scratch: PathBuf,
}

/// What a proof says when the tests saw more than others will.
const NOTE_OF_HOME: &str =
    "the tests ran in the user's own home folder and with the user's variables (`test.home: user`)";

/// Measures work and judges it.
///
/// # Errors
/// git or the disk refused; nothing is known of the work then.
pub async fn prove(work: &Work, result_cache: &TestResultCache) -> Result<Proof, StepError> {
    let repository = result_cache.repository();
    let tree_before = briefly(|| repository.tree_of(&work.base))?;
    if tree_before == work.tree {
        let why = "nothing differs from what the attempt started from";
        return Ok(Proof::refused(
            Failure::NothingDone,
            Reason::NothingChanged,
            why,
        ));
    }
    let links = briefly(|| {
        let before = repository.links(&tree_before)?;
        Ok::<_, Error>(lead_out(&before, &repository.links(&work.tree)?))
    })?;
    if !links.is_empty() {
        let why = format!(
            "symbolic links lead out of the tree, where every clone has something else: {}",
            links.join(", ")
        );
        return Ok(Proof::refused(
            Failure::WorkRefused,
            Reason::LinkOutOfTree,
            why,
        ));
    }
    let Some(command) = &work.command else {
        return Ok(of_tree(without_tests(work.phase), work));
    };
    let prover = Prover::new(work, command, result_cache)?;
    let (mut proof, after) = match work.phase {
        Phase::Red => prover.red().await?,
        Phase::Green => prover.green().await?,
        Phase::None => prover.plain().await?,
    };
    if command.environment.home == tm_scheduler::TestHome::User {
        proof.notes.push(NOTE_OF_HOME.to_owned());
    }
    if let Some((file, filter)) = briefly(|| repository.written_by_filter(&work.tree))? {
        proof.notes.push(format!(
            "tests saw `{file}` as your filter `{filter}` writes it: who clones the project without that filter finds what \
             git keeps"
        ));
    }
    proof.sandbox = result_cache.sandbox();
    prover.concluded(proof, after).await
}

/// Judges work that is to change no behaviour: the tests are the same, and nothing got worse.
///
/// # Errors
/// git or the disk refused; nothing is known of the work then.
pub(crate) async fn prove_same_behaviour(
    work: &Work,
    result_cache: &TestResultCache,
) -> Result<Proof, StepError> {
    let Some(command) = &work.command else {
        return Ok(without_tests(Phase::Green));
    };
    let prover = Prover::new(work, command, result_cache)?;
    let changes = prover.changes()?;
    let closure = prover.closure(&changes, &[])?;
    let of_tests: Vec<String> = changes
        .into_iter()
        .map(|change| change.path)
        .filter(|path| is_test_path(path) || runner_file(path, &closure) != RunnerFile::No)
        .collect();
    if !of_tests.is_empty() {
        let why = format!(
            "tests, or what decides how they are run, were changed: {}",
            of_tests.join(", ")
        );
        return Ok(Proof::refused(
            Failure::TestsTampered,
            Reason::RedTestsChanged,
            why,
        ));
    }
    let (proof, after) = prover.plain().await?;
    prover.concluded(proof, after).await
}

/// A proof by several commands is as strong as the weakest of them.
fn with_weakest(mut proof: Proof, command: &TestCommand, after: &TestReport) -> Proof {
    let weak = told_by_exit_status(command, after);
    if !weak.is_empty() {
        proof.strength = Strength::ExitStatusOnly;
        proof
            .notes
            .push(format!("judged by exit status only: {}", weak.join(", ")));
    }
    proof
}

/// Says what the tests were refused: to people where the work holds, and to the next attempt where it does not.
fn with_refused(mut proof: Proof, refused: BTreeSet<String>) -> Proof {
    if proof.holds() {
        proof.notes.extend(refused);
    } else {
        for words in refused {
            proof.evidence += "\n";
            proof.evidence += &words;
        }
    }
    proof
}

/// Says which tree a proof is of.
fn of_tree(proof: Proof, work: &Work) -> Proof {
    Proof {
        tree: Some(work.tree.to_string()),
        ..proof
    }
}

/// What is proven where there is no test command.
fn without_tests(phase: Phase) -> Proof {
    let failure = match phase {
        Phase::Red => Failure::RedCannotRun,
        Phase::Green => Failure::GreenFailing,
        Phase::None => {
            let note = "no test command: that something changed is all that was proven";
            return Proof {
                notes: vec![note.to_owned()],
                ..Proof::default()
            };
        }
    };
    let why = "there is no test command, and none was found";
    Proof::refused(failure, Reason::CannotRun, why)
}

struct Prover<'a> {
    work: &'a Work,
    /// A commit of the work, on no branch, that can be checked out.
    commit: CommitId,
    command: &'a TestCommand,
    result_cache: &'a TestResultCache,
    /// Where the work started from.
    start: Arc<StartTree>,
    /// Files of tests, and of what runs them, that were written to in any measurement of the work.
    rewritten: Mutex<BTreeSet<String>>,
    /// What the tests say that they were refused by what held them, in any measurement of the work.
    refused: Mutex<BTreeSet<String>>,
}

impl<'a> Prover<'a> {
    fn new(
        work: &'a Work,
        command: &'a TestCommand,
        result_cache: &'a TestResultCache,
    ) -> Result<Self, StepError> {
        let repository = result_cache.repository();
        let start = Arc::new(briefly(|| {
            StartTree::read(repository, &work.base, command)
        })?);
        let commit = briefly(|| repository.commit_to_test(&work.tree, &work.base))?;
        // It takes its time where there are many files, and tests run meanwhile.
        let watched = Arc::clone(&start);
        tokio::task::spawn_blocking(move || watched.watched().len());
        Ok(Self {
            work,
            commit,
            command,
            result_cache,
            start,
            rewritten: Mutex::default(),
            refused: Mutex::default(),
        })
    }

    fn repository(&self) -> &'a Repository {
        self.result_cache.repository()
    }

    /// What a proof is worth in the end; a tree that holds is known from now on.
    async fn concluded(&self, proof: Proof, after: TestReport) -> Result<Proof, StepError> {
        let proof = self.of_tests_as_checked_out(proof).await?;
        let proof = with_weakest(proof, self.command, &after);
        let refused = std::mem::take(&mut *self.refused.lock());
        let proof = with_refused(proof, refused);
        if proof.holds() {
            self.result_cache
                .remember_proven(&self.work.tree, self.command, after);
        }
        Ok(of_tree(proof, self.work))
    }

    async fn plain(&self) -> Result<(Proof, TestReport), StepError> {
        let base = self.base().await;
        let after = self.measure("work").await?;
        let rerun = self.rerun(&base, &after).await?;
        let proof = judge_plain(&base, &after, rerun.as_ref());
        let changes = self.changes()?;
        let tests = files::changed_tests(&changes, &self.closure(&changes, &[])?);
        if !proof.holds() || tests.is_empty() {
            return Ok((proof, after));
        }
        let files = AsBefore {
            tests,
            frozen: Vec::new(),
        };
        let as_before = self.measure_with(&files.paths(), "tests-as-before").await?;
        Ok((
            judge_plain_as_before(proof, &base, &as_before, &files, self.work.rules.strictness),
            after,
        ))
    }

    async fn base(&self) -> TestReport {
        self.result_cache.at(&self.work.base, self.command).await
    }

    async fn measure(&self, name: &str) -> Result<TestReport, StepError> {
        self.measure_at(&self.commit, name).await
    }

    /// The results of a commit, just measured, whatever is known of it.
    async fn measure_at(&self, commit: &CommitId, name: &str) -> Result<TestReport, StepError> {
        let log = (self.work.scratch.as_path(), name);
        let measured =
            (self.result_cache).measure_watching(commit, self.command, log, Some(&self.start));
        let report = measured.await?;
        self.write(name, &report)?;
        self.rewritten
            .lock()
            .extend(report.rewritten.iter().cloned());
        self.refused.lock().extend(report.refused.iter().cloned());
        Ok(report)
    }

    fn write(&self, name: &str, report: &TestReport) -> Result<(), StepError> {
        let path = self.work.scratch.join(format!("tests-{name}.json"));
        // Where no checkout could be made, nothing has made the folder either.
        std::fs::create_dir_all(&self.work.scratch)?;
        Ok(tm_store::run::write_json(&path, report)?)
    }

    async fn rerun(
        &self,
        base: &TestReport,
        after: &TestReport,
    ) -> Result<Option<TestReport>, StepError> {
        if needs_rerun(base, after) {
            self.measure("again").await.map(Some)
        } else {
            Ok(None)
        }
    }

    /// The results of the work, but for some files, which are as they were at its base.
    async fn measure_with(&self, files: &[String], name: &str) -> Result<TestReport, StepError> {
        let Work { base, tree, .. } = self.work;
        let commit = briefly(|| self.repository().with_files_of(tree, files, base))?;
        self.measure_at(&commit, name).await
    }
}
