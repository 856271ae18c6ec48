//! Reads what changed, and what it has to do with the tests, from git.

use super::{Prover, RedCommit, Work};
use crate::{StepError, briefly};
use std::collections::BTreeSet;
use std::sync::OnceLock;
use tm_executors::testing::{
    Closure, RunnerFile, TestCommand, TreeFiles, runner_file, runner_settings,
};
use tm_scheduler::CommitId;
use tm_scheduler::verdict::{
    Change, ChangeKind, RedFile, is_source, is_test_path, leads_to, names_path, test_files_of_red,
    test_section,
};
use tm_worktrees::{Error, Repository, TreeId};

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
        let is_of_tests =
            |path: &&String| is_test_path(path) && is_source(path) || decides(path, &self.closure);
        let watched = || self.paths.iter().filter(is_of_tests).cloned();
        self.watched.get_or_init(|| watched().collect())
    }
}

/// What RED did to the tree.
#[derive(Default)]
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

/// Whether all of a file decides how tests are run.
fn decides(path: &str, closure: &Closure) -> bool {
    runner_file(path, closure) == RunnerFile::Whole
}

/// Files that were there before, and that hold tests or decide how they are run; and new ones that do.
pub(super) fn changed_tests(changes: &[Change], closure: &Closure) -> Vec<String> {
    let is_of_tests = |Change { path, kind }: &&Change| {
        // A package of tests runs its own file before any test.
        let may_be_new = *kind != ChangeKind::Added || path.ends_with("/__init__.py");
        is_test_path(path) && may_be_new || decides(path, closure)
    };
    let changed = changes.iter().filter(is_of_tests);
    changed.map(|change| change.path.clone()).collect()
}

impl Brought {
    fn read(repository: &Repository, red: &RedCommit) -> Result<Self, Error> {
        let to = &red.commit;
        let changes = repository.changed_files(&red.base, to)?;
        let test_files = test_files_of_red(&changes);
        let mut files = Vec::new();
        for Change { path, kind } in changes {
            let text = repository.text_at(to, &path)?;
            files.push(RedFile { kind, path, text });
        }
        let holds_tests = |file: &&RedFile| {
            let text = file.text.as_deref().unwrap_or_default();
            test_files.contains(&file.path) || test_section(&file.path, text).is_some()
        };
        let with_text = |file: &RedFile| Some((file.path.clone(), file.text.clone()?));
        let tests = files.iter().filter(holds_tests).filter_map(with_text);
        let links = repository.links(&repository.tree_of(to)?)?;
        let led_to = files.iter().filter(|file| links.contains_key(&file.path));
        let led_to =
            led_to.filter_map(|file| Some((file.path.clone(), leads_to(&file.path, &links)?)));
        Ok(Self {
            tests: tests.collect(),
            led_to: led_to.collect(),
            test_files,
            files,
        })
    }

    /// Tells whether a test of RED names a file.
    pub(super) fn names(&self, path: &str) -> bool {
        self.tests
            .iter()
            .any(|(test, text)| names_path(test, text, path))
    }
}

impl Prover<'_> {
    pub(super) fn changes(&self) -> Result<Vec<Change>, StepError> {
        let Work { base, tree, .. } = self.work;
        briefly(|| self.repository().changed_files(base, tree))
    }

    /// The test files of a RED, and files of code whose own section of tests it changed.
    pub(super) fn red_files(&self, changes: &[Change]) -> Result<Vec<String>, StepError> {
        let mut files = test_files_of_red(changes);
        for change in changes {
            if !files.contains(&change.path) && self.section_differs(&change.path)? {
                files.push(change.path.clone());
            }
        }
        Ok(files)
    }

    /// A file as it was where the work started, and as it is in the work.
    fn texts(&self, path: &str) -> Result<(Option<String>, Option<String>), StepError> {
        let (repository, work) = (self.repository(), self.work);
        briefly(|| {
            let before = repository.text_at(&work.base, path)?;
            Ok::<_, Error>((before, repository.text_in_tree(&work.tree, path)?))
        })
    }

    /// Whether a file's own section of tests is another than where the work started.
    fn section_differs(&self, path: &str) -> Result<bool, StepError> {
        let (before, after) = self.texts(path)?;
        let section = |text| test_section(path, text);
        Ok(before.as_deref().and_then(section) != after.as_deref().and_then(section))
    }

    /// What RED did, as far as GREEN is held to it; nothing without one.
    pub(super) fn brought(&self, red: Option<&RedCommit>) -> Result<Brought, StepError> {
        match red {
            Some(red) => briefly(|| Brought::read(self.repository(), red)),
            None => Ok(Brought::default()),
        }
    }

    /// Test files, and sections of tests, that are no longer RED's. What landed meanwhile is in the base already.
    pub(super) fn tampered(
        &self,
        brought: &Brought,
        changes: &[Change],
    ) -> Result<Vec<String>, StepError> {
        let mut tampered = Vec::new();
        for Change { path, .. } in changes {
            let is_of_red = brought.files.iter().any(|file| file.path == *path);
            if brought.test_files.contains(path) || is_of_red && self.section_differs(path)? {
                tampered.push(path.clone());
            }
        }
        Ok(tampered)
    }

    /// What the test command reaches where the work started; `tests` are RED's.
    pub(super) fn closure(
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
        briefly(|| {
            let tree = self.repository().tree_of(&self.work.base)?;
            Ok::<_, Error>(self.closure_at(&tree, changes, tests))
        })
    }

    fn closure_at(&self, tree: &TreeId, changes: &[Change], tests: &[String]) -> Closure {
        let paths = &self.start.paths;
        let follow =
            |tests: &[String]| closure_in(self.repository(), tree, paths, self.command, tests);
        let closure = follow(tests);
        // Only where code would count as runner is it asked which code the other tests reach.
        let is_code = |change: &Change| is_source(&change.path) && decides(&change.path, &closure);
        if !changes.iter().any(is_code) {
            return closure;
        }
        let others = paths
            .iter()
            .filter(|path| is_test_path(path) && is_source(path) && !tests.contains(path));
        follow(&tests.iter().chain(others).cloned().collect::<Vec<_>>())
    }

    /// Files of which some settings decide how tests are run, and that have others now.
    pub(super) fn changed_settings(
        &self,
        changes: &[Change],
        closure: &Closure,
    ) -> Result<Vec<String>, StepError> {
        let mut changed = Vec::new();
        for Change { path, .. } in changes {
            if runner_file(path, closure) != RunnerFile::Partly {
                continue;
            }
            let (before, after) = self.texts(path)?;
            let settings = |text: Option<String>| runner_settings(path, &text?, closure);
            if settings(before) != settings(after) {
                changed.push(path.clone());
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
    let text = |path: &str| repository.text_in_tree(tree, path).ok().flatten();
    let read = |path: &str| text(path).filter(|_| paths.contains(path));
    Closure::of(command, &TreeFiles { paths, read: &read }, tests)
}
