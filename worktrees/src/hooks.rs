//! Runs the hooks of a commit or a merge on a tree, in a checkout of exactly that tree, as the user's own commit would.
//!
//! The hooks are those that were there when the run began, or those of the tree where the configuration names a folder in
//! it. They may refuse, change the message, or stage something else: what they make is another tree, and nobody has
//! seen it yet. They run what lies in the tree (`npm test`), which agents wrote: so they work with a git folder of their
//! own, as agents do, are started by whoever holds such commands, and what they staged is taken as what agents commit.
//! They are also looked at without running them.

use crate::environment::AS_NAMED;
use crate::files::replace;
use crate::git::is_object_id;
use crate::owned::{OwnedFolder, OwnedHead};
use crate::private::refused;
use crate::said::telling_line;
use crate::{Error, PathPatterns, PrivateGit, Repository, Result, TreeId};
use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use tm_scheduler::{BranchName, CommitId};

/// A message is no longer than this.
const MESSAGE_BYTES: u64 = 1024 * 1024;
/// The message, in the git folder of the hooks.
const MESSAGE: &str = "git/COMMIT_EDITMSG";
/// What is staged is committed by nobody, and nobody sees that commit.
const STAGED_BY: [&str; 4] = ["-c", "user.name=tm", "-c", "user.email=tm@localhost"];

/// What is made, which decides the hooks that git runs.
#[derive(Clone, Copy, Debug)]
pub enum HookedWork {
    /// A commit of one task's work.
    Commit,
    /// A merge.
    Merge,
}

impl HookedWork {
    /// Returns the hooks that may refuse or change it, in the order in which git runs them.
    pub const fn hooks(self) -> [&'static str; 3] {
        match self {
            Self::Commit => ["pre-commit", "prepare-commit-msg", "commit-msg"],
            Self::Merge => ["pre-merge-commit", "prepare-commit-msg", "commit-msg"],
        }
    }

    /// What `prepare-commit-msg` is told of where the message comes from.
    const fn source(self) -> &'static str {
        match self {
            Self::Commit => "message",
            Self::Merge => "merge",
        }
    }
}

/// A commit that is about to be made.
#[derive(Clone, Copy, Debug)]
pub struct HookedCommit<'a> {
    /// What is made.
    pub work: HookedWork,
    /// The branch that hooks find checked out; none where HEAD is at a commit.
    pub branch: Option<&'a BranchName>,
    /// The commit on which it is made.
    pub on: &'a CommitId,
    /// The commit that is merged, where one is.
    pub merged: Option<&'a CommitId>,
    /// The tree, which the files and the index are.
    pub tree: &'a TreeId,
    /// The message.
    pub message: &'a str,
    /// What is never committed, whoever stages it.
    pub never_commit: &'a PathPatterns,
}

impl HookedCommit<'_> {
    pub(crate) fn head(&self) -> OwnedHead<'_> {
        self.branch
            .map_or(OwnedHead::Detached(self.on), OwnedHead::Branch)
    }
}

/// What the hooks made of a commit.
#[derive(Debug)]
pub struct Hooked {
    /// The tree that is to be committed.
    pub tree: TreeId,
    /// The message.
    pub message: String,
}

/// A call of git's that runs a hook, or takes what hooks staged; whoever starts it holds it as it holds other commands that
/// run what is in the tree.
#[derive(Debug)]
pub struct HookCall<'a> {
    /// git itself.
    pub program: PathBuf,
    /// Its arguments.
    pub arguments: Vec<OsString>,
    /// The variables that it has besides those of other commands.
    pub variables: Vec<(OsString, OsString)>,
    /// The checkout, in which it works.
    pub folder: &'a Path,
    /// What of git it is given.
    pub git: &'a PrivateGit,
}

/// How a call came to its end, with all that it printed.
#[derive(Debug)]
pub enum HookEnd {
    /// With exit code 0.
    Passed(String),
    /// With another one.
    Failed(String),
    /// It was cut off.
    CutOff {
        /// By what, in words.
        why: String,
        /// What it printed until then.
        output: String,
    },
}

/// Starts a call and waits for it.
pub type RunHook<'a, E> = &'a mut dyn FnMut(&HookCall<'_>) -> std::result::Result<HookEnd, E>;

/// Runs the hooks of a commit in a folder whose files and index are its tree.
///
/// # Errors
/// A hook refused (`HookRefused`, with its words), what it staged can't be taken (`NotTakenOver`), git or the disk refused, or
/// a call could not be run.
pub(crate) fn run<E: From<Error>>(
    folder: &OwnedFolder,
    commit: &HookedCommit<'_>,
    run: RunHook<'_, E>,
) -> std::result::Result<Hooked, E> {
    let hooks = Hooks::of(folder, commit);
    if hooks.named.is_empty() {
        return Ok(Hooked {
            tree: commit.tree.clone(),
            message: commit.message.to_owned(),
        });
    }
    let git = folder.begin_hooks(commit)?;
    let hooked = hooks.hooked(&git, run);
    folder.forget_private()?;
    hooked
}

/// The hooks that there are for a commit.
struct Hooks<'a> {
    folder: &'a OwnedFolder,
    commit: &'a HookedCommit<'a>,
    named: Vec<&'static str>,
}

impl<'a> Hooks<'a> {
    fn of(folder: &'a OwnedFolder, commit: &'a HookedCommit<'a>) -> Self {
        let mut named = commit.work.hooks().to_vec();
        named.retain(|hook| folder.own_git().may_have_hook(hook));
        Self {
            folder,
            commit,
            named,
        }
    }

    fn hooked<E: From<Error>>(
        &self,
        git: &PrivateGit,
        run: RunHook<'_, E>,
    ) -> std::result::Result<Hooked, E> {
        let own = self.folder.private_folder();
        let (file, commit) = (own.join(MESSAGE), self.commit);
        replace(&file, commit.message.as_bytes())?;
        for hook in &self.named {
            let arguments: &[&OsStr] = match *hook {
                "prepare-commit-msg" => &[file.as_os_str(), commit.work.source().as_ref()],
                "commit-msg" => &[file.as_os_str()],
                _ => &[],
            };
            let mut words: Vec<&OsStr> = vec!["hook".as_ref(), "run".as_ref()];
            words.extend(["--ignore-missing", hook, "--"].map(OsStr::new));
            words.extend(arguments);
            self.call(hook, &words, git, run)?;
        }
        // What a hook left there is nobody's to believe: another kind of file, or one that is long or can't be read.
        let message = tm_untrusted::read_beneath(&own, MESSAGE.as_ref(), MESSAGE_BYTES)
            .map_err(|error| refused(format!("the message of the hooks can't be read: {error}")))?;
        let message = String::from_utf8_lossy(&message);
        let message = tm_untrusted::shown(&message).into_owned();
        if message.trim().is_empty() {
            return Err(refused("the hooks leave no message").into());
        }
        let tree = self.staged(git, run)?;
        Ok(Hooked { tree, message })
    }

    /// Returns what is staged, which hooks may have changed. What of it is not in the repository is taken over as a commit,
    /// which is how what others wrote is looked at.
    fn staged<E: From<Error>>(
        &self,
        git: &PrivateGit,
        run: RunHook<'_, E>,
    ) -> std::result::Result<TreeId, E> {
        let (folder, commit) = (self.folder, self.commit);
        if folder.is_staged_as_before()? {
            return Ok(commit.tree.clone());
        }
        let mut id = |words: &[&str]| {
            let words: Vec<&OsStr> = words.iter().map(OsStr::new).collect();
            let printed = self.call(self.named[0], &words, git, run)?;
            let last = printed.lines().last().unwrap_or_default().trim();
            let id = Some(last).filter(|id| is_object_id(id));
            id.map(str::to_owned)
                .ok_or_else(|| E::from(refused(format!("git names no object: {last}"))))
        };
        let tree = id(&["write-tree"])?;
        if tree == commit.tree.0 {
            return Ok(commit.tree.clone());
        }
        let mut words = STAGED_BY.to_vec();
        words.extend([
            "commit-tree",
            &tree,
            "-p",
            commit.on.as_str(),
            "-m",
            "staged",
        ]);
        let staged = CommitId::new(id(&words)?);
        let staged = folder.take_over_staged(&staged, commit.on)?;
        let repository = &folder.repository;
        let (tree, _as_before) = repository.committable(&staged, commit.on, commit.never_commit)?;
        Ok(tree)
    }

    fn call<E: From<Error>>(
        &self,
        hook: &'static str,
        words: &[&OsStr],
        git: &PrivateGit,
        run: RunHook<'_, E>,
    ) -> std::result::Result<String, E> {
        let call = HookCall {
            program: self.folder.repository.environment.git_program(),
            arguments: words.iter().map(|word| (*word).to_owned()).collect(),
            variables: self.variables(),
            folder: &self.folder.path,
            git,
        };
        let (why, output) = match run(&call)? {
            HookEnd::Passed(output) => return Ok(output),
            HookEnd::Failed(output) => (telling_line(&output), output),
            HookEnd::CutOff { why, output } => (why, output),
        };
        let output = output.trim().to_owned();
        Err(Error::HookRefused { hook, why, output }.into())
    }

    fn variables(&self) -> Vec<(OsString, OsString)> {
        let git_dir = self.folder.private_folder().join("git");
        let places = [
            ("GIT_DIR", git_dir.clone()),
            ("GIT_WORK_TREE", self.folder.path.clone()),
            ("GIT_INDEX_FILE", git_dir.join("index")),
        ];
        let nobody_is_asked = [("GIT_TERMINAL_PROMPT", "0"), ("GIT_EDITOR", ":")];
        let settings = nobody_is_asked.into_iter().chain(AS_NAMED);
        let mut variables: Vec<(OsString, OsString)> = settings
            .map(|(name, value)| (name.into(), value.into()))
            .collect();
        // As git tells hooks who commits; where nobody is said, git says so itself.
        if let Ok(Some(people)) = self.folder.repository.people() {
            let (name, address) = &people.author;
            variables.push(("GIT_AUTHOR_NAME".into(), name.into()));
            variables.push(("GIT_AUTHOR_EMAIL".into(), address.into()));
        }
        variables.extend(places.map(|(name, path)| (name.into(), path.into())));
        variables
    }
}

/// A script's first line is no longer than this.
const FIRST_LINE: u64 = 512;

/// A hook that is there.
#[derive(Clone, Debug)]
pub struct FoundHook {
    /// Its name, such as `pre-commit`.
    pub name: &'static str,
    /// Its file.
    pub path: PathBuf,
    /// Whether it can run.
    pub state: HookState,
}

/// Whether a hook can run.
#[derive(Clone, Debug)]
pub enum HookState {
    /// It can, as far as one sees without running it.
    Ready,
    /// It is not executable, so git leaves it out.
    NotExecutable,
    /// The program that runs it is not there.
    NoInterpreter(String),
}

impl Repository {
    /// Tells whether a commit, or a merge, may run a hook.
    pub fn may_have_hooks(&self, work: HookedWork) -> bool {
        work.hooks()
            .iter()
            .any(|hook| self.own().is_none_or(|own| own.may_have_hook(hook)))
    }

    /// Returns the hooks that commits and merges run, in the order of their names in git's own.
    ///
    /// # Errors
    /// git refused.
    pub fn hooks_of_commits(&self) -> Result<Vec<FoundHook>> {
        let folder = self
            .git_with_hooks("rev-parse --path-format=absolute --git-path hooks")
            .path()?;
        let mut names: Vec<&'static str> = HookedWork::Commit.hooks().to_vec();
        names.extend(HookedWork::Merge.hooks());
        names.sort_unstable();
        names.dedup();
        let found = names
            .into_iter()
            .map(|name| (name, folder.join(name)))
            .filter(|(_, path)| path.is_file());
        Ok(found
            .map(|(name, path)| FoundHook {
                name,
                state: self.state_of(&path),
                path,
            })
            .collect())
    }

    fn state_of(&self, path: &Path) -> HookState {
        use std::os::unix::fs::PermissionsExt as _;
        if !path
            .metadata()
            .is_ok_and(|metadata| metadata.permissions().mode() & 0o111 != 0)
        {
            return HookState::NotExecutable;
        }
        let beginning = tm_untrusted::read_beginning(path, FIRST_LINE).unwrap_or_default();
        let text = String::from_utf8_lossy(&beginning);
        let Some(words) = text.strip_prefix("#!").and_then(|text| text.lines().next()) else {
            return HookState::Ready;
        };
        match self.missing_interpreter(words) {
            Some(program) => HookState::NoInterpreter(program),
            None => HookState::Ready,
        }
    }

    /// The program of a `#!` line that is not there; `env` looks for the first word that is none of its own.
    fn missing_interpreter(&self, line: &str) -> Option<String> {
        let mut words = line.split_whitespace();
        let program = words.next()?;
        if !Path::new(program).is_file() {
            return Some(program.to_owned());
        }
        if !program.ends_with("/env") {
            return None;
        }
        let looked_for = words.find(|word| !word.starts_with('-') && !word.contains('='))?;
        let is_there = Path::new(looked_for).is_file() || self.environment.finds(looked_for);
        (!is_there).then(|| looked_for.to_owned())
    }
}
