//! Reads what changed, and what it has to do with the tests, from git.

use super::{Prover, RedCommit};
use crate::step_error::StepError;
use std::collections::BTreeSet;
use std::sync::{Arc, OnceLock};
use tm_executors::testing::{
    Closure, RunnerFile, TestCommand, TreeFiles, runner_file, runner_settings,
};
use tm_scheduler::CommitId;
use tm_scheduler::verdict::{
    Change, ChangeKind, RedFile, is_source, is_test_path, leads_to, test_files_of_red, test_section,
};
use tm_worktrees::{Change as GitChange, Error, Repository, TreeId};

/// The tree that work started from.
#[derive(Debug)]
pub(super) struct StartTree {
    paths: BTreeSet<String>,
    /// What the test command by itself reaches.
    closure: Closure,
    watched: OnceLock<BTreeSet<String>>,
}

impl StartTree {
    pub(super) fn read(
        repository: &Repository,
        base: &CommitId,
        command: &TestCommand,
    ) -> Result<Self, Error> {
        let tree = repository.tree_of(base)?;
        let paths = repository.paths(&tree)?;
        Ok(Self {
            closure: closure_in(repository, &tree, &paths, command, &[]),
            paths,
            watched: OnceLock::new(),
        })
    }

    /// The files that hold tests, or decide how they are run.
    pub(super) fn watched(&self) -> &BTreeSet<String> {
        let is_of_tests = |path: &&String| {
            is_test_path(path) && is_source(path)
                || runner_file(path, &self.closure) == RunnerFile::Whole
        };
        self.watched
            .get_or_init(|| self.paths.iter().filter(is_of_tests).cloned().collect())
    }
}

/// What RED did to the tree.
pub(super) struct Brought {
    /// Every file that it changed.
    pub(super) files: Vec<RedFile>,
    /// Its test files.
    pub(super) test_files: Vec<String>,
    /// Its test files with their texts, those of code with tests in them among them.
    pub(super) tests: Vec<(String, String)>,
    /// Where symbolic links among its files lead to.
    pub(super) led_to: Vec<(String, String)>,
}

/// Files that were there before, and that hold tests or decide how they are run; and new ones that do.
pub(super) fn changed_tests(changes: &[Change], closure: &Closure) -> Vec<String> {
    let decides = |path: &str| runner_file(path, closure) == RunnerFile::Whole;
    let is_changed = |change: &&Change| match change.kind {
        // A package of tests runs its own file before any test.
        ChangeKind::Added => {
            decides(&change.path)
                || is_test_path(&change.path) && change.path.ends_with("/__init__.py")
        }
        ChangeKind::Modified | ChangeKind::Deleted => {
            is_test_path(&change.path) || decides(&change.path)
        }
    };
    changes
        .iter()
        .filter(is_changed)
        .map(|change| change.path.clone())
        .collect()
}

impl Prover<'_> {
    pub(super) async fn changes(&self, since: &CommitId) -> Result<Vec<Change>, StepError> {
        let (since, tree) = (since.clone(), self.work.tree.clone());
        let changes = self
            .git(move |repository| repository.changed_files(&since, &tree))
            .await?;
        Ok(changes
            .into_iter()
            .map(|file| Change {
                kind: kind(file.change),
                path: file.path,
            })
            .collect())
    }

    /// The test files of a RED, and files of code whose own section of tests it changed.
    pub(super) async fn red_files(
        &self,
        changes: &[Change],
        base: &CommitId,
    ) -> Result<Vec<String>, StepError> {
        let mut files = test_files_of_red(changes);
        for change in changes {
            if !files.contains(&change.path) && self.section_differs(base, &change.path).await? {
                files.push(change.path.clone());
            }
        }
        Ok(files)
    }

    /// Whether a file's own section of tests is another than at a commit.
    async fn section_differs(&self, base: &CommitId, path: &str) -> Result<bool, StepError> {
        let (base, tree, path) = (base.clone(), self.work.tree.clone(), path.to_owned());
        self.git(move |repository| {
            let section = |text: Option<String>| {
                text.and_then(|text| test_section(&path, &text).map(str::to_owned))
            };
            let before = section(repository.text_at(&base, &path)?);
            Ok(before != section(repository.text_in_tree(&tree, &path)?))
        })
        .await
    }

    /// What RED did, as far as GREEN is held to it.
    pub(super) async fn brought(&self, red: &RedCommit) -> Result<Brought, StepError> {
        let (from, to) = (red.base.clone(), red.commit.clone());
        self.git(move |repository| {
            let mut files = Vec::new();
            for file in repository.changed_files(&from, &to)? {
                let text = repository.text_at(&to, &file.path)?;
                files.push(RedFile {
                    kind: kind(file.change),
                    path: file.path,
                    text,
                });
            }
            let changes: Vec<Change> = files
                .iter()
                .map(|file| Change {
                    path: file.path.clone(),
                    kind: file.kind,
                })
                .collect();
            let test_files = test_files_of_red(&changes);
            let holds_tests = |file: &&RedFile| {
                let text = file.text.as_deref().unwrap_or_default();
                test_files.contains(&file.path) || test_section(&file.path, text).is_some()
            };
            let with_text = |file: &RedFile| Some((file.path.clone(), file.text.clone()?));
            let tests = files
                .iter()
                .filter(holds_tests)
                .filter_map(with_text)
                .collect();
            let links = repository.links(&repository.tree_of(&to)?)?;
            let led_to = files.iter().filter(|file| links.contains_key(&file.path));
            let led_to = led_to
                .filter_map(|file| Some((file.path.clone(), leads_to(&file.path, &links)?)))
                .collect();
            Ok(Brought {
                files,
                test_files,
                tests,
                led_to,
            })
        })
        .await
    }

    /// Test files, and sections of tests, that are no longer RED's. What landed meanwhile is in the base already.
    pub(super) async fn tampered(
        &self,
        brought: &Brought,
        changes: &[Change],
    ) -> Result<Vec<String>, StepError> {
        let mut tampered = Vec::new();
        for change in changes {
            let is_of_red = brought.files.iter().any(|file| file.path == change.path);
            if brought.test_files.contains(&change.path)
                || is_of_red && self.section_differs(&self.work.base, &change.path).await?
            {
                tampered.push(change.path.clone());
            }
        }
        Ok(tampered)
    }

    /// What the test command reaches where the work started; `tests` are RED's.
    pub(super) async fn closure(
        &self,
        changes: &[Change],
        tests: &[String],
    ) -> Result<Closure, StepError> {
        // What tests reach is no runner, so that it can only become less.
        let may_be_of_runner =
            |change: &Change| runner_file(&change.path, &self.start.closure) != RunnerFile::No;
        if !changes.iter().any(may_be_of_runner) {
            return Ok(self.start.closure.clone());
        }
        let (base, command) = (self.work.base.clone(), self.command.clone());
        let changed: Vec<String> = changes.iter().map(|change| change.path.clone()).collect();
        let (start, tests) = (Arc::clone(&self.start), tests.to_vec());
        self.git(move |repository| {
            let tree = repository.tree_of(&base)?;
            let follow =
                |tests: &[String]| closure_in(repository, &tree, &start.paths, &command, tests);
            let closure = follow(&tests);
            // Only where code would count as runner is it asked which code the other tests reach.
            let is_code = |path: &&String| {
                is_source(path) && runner_file(path, &closure) == RunnerFile::Whole
            };
            if !changed.iter().any(|path| is_code(&path)) {
                return Ok(closure);
            }
            let others = start
                .paths
                .iter()
                .filter(|path| is_test_path(path) && is_source(path) && !tests.contains(path));
            Ok(follow(
                &tests.iter().chain(others).cloned().collect::<Vec<_>>(),
            ))
        })
        .await
    }

    /// Files of which some settings decide how tests are run, and that have others now.
    pub(super) async fn changed_settings(
        &self,
        changes: &[Change],
        closure: &Closure,
    ) -> Result<Vec<String>, StepError> {
        let mut changed = Vec::new();
        for change in changes
            .iter()
            .filter(|change| runner_file(&change.path, closure) == RunnerFile::Partly)
        {
            let (base, tree, path) = (
                self.work.base.clone(),
                self.work.tree.clone(),
                change.path.clone(),
            );
            let (before, after) = self
                .git(move |repository| {
                    Ok((
                        repository.text_at(&base, &path)?,
                        repository.text_in_tree(&tree, &path)?,
                    ))
                })
                .await?;
            let settings = |text: Option<String>| {
                text.and_then(|text| runner_settings(&change.path, &text, closure))
            };
            if settings(before) != settings(after) {
                changed.push(change.path.clone());
            }
        }
        Ok(changed)
    }
}

fn closure_in(
    repository: &Repository,
    tree: &TreeId,
    paths: &BTreeSet<String>,
    command: &TestCommand,
    tests: &[String],
) -> Closure {
    // A file that can't be read calls nothing.
    let read = |path: &str| {
        repository
            .text_in_tree(tree, path)
            .ok()
            .flatten()
            .filter(|_| paths.contains(path))
    };
    Closure::of(command, &TreeFiles { paths, read: &read }, tests)
}

pub(super) const fn kind(change: GitChange) -> ChangeKind {
    match change {
        GitChange::Added => ChangeKind::Added,
        GitChange::Deleted => ChangeKind::Deleted,
        GitChange::Modified => ChangeKind::Modified,
    }
}
