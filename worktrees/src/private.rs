//! Git folders of agents' own: git finds the repository as it was when they were made, and nothing that is written
//! reaches it.
//!
//! Refs, settings and logs are copies; new objects lie in a store of the folder's, beside those of the repository, which
//! are only read. So an agent that can write here and nowhere else in git's folders works as in any linked worktree. What
//! it committed is taken over from outside, by what its files say (`private/left.rs`) and what its objects are
//! (`private/taken_over.rs`): no git ever runs on the folder for tm.

mod left;
mod of_hooks;
mod taken_over;

use crate::clean::remove_if_there;
use crate::files::{Identity, beginning, create_folder, replace};
use crate::git::path_of;
use crate::owned::{OwnedFolder, OwnedHead, SHORT, dot_git};
use crate::reader::{Reader, Target};
use crate::repository::own::{NO_HEAD, OwnGit, People};
use crate::repository::{is_plain, lfs_settings, settings};
use crate::{Error, OrFailedTo as _, Repository, Result};
use left::Left;
use serde::{Deserialize, Serialize};
use std::io;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};
use tm_scheduler::{BranchName, CommitId};

/// The folder, in the one that tm has for the worktree, and what is written down of it when all of it is there.
const PRIVATE: &str = "private";
const MARK: &str = "private.json";
/// Stores of objects name others so deep, as git follows them.
const DEEPEST: usize = 5;

/// What of git's is needed by whoever works in a worktree with a git folder of its own, besides the worktree. All of it is
/// there, and no path leads through a link that whoever works there could have made.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct PrivateGit {
    /// Folders that are written: those of git, and of the submodules.
    pub writable: Vec<PathBuf>,
    /// Files in those, and in the worktree, that name the git folder and say which programs git runs: nobody has to write
    /// them, and whoever else calls git in the worktree is safe where nobody can.
    pub fixed: Vec<PathBuf>,
    /// What is read: the repository's objects and where they come from, and hooks.
    pub readable: Vec<PathBuf>,
    /// Commands of filters that git starts there, whose programs are to be found.
    pub filters: Vec<String>,
}

/// What is written down of a git folder of an agent's own.
#[derive(Debug, Serialize, Deserialize)]
struct Mark {
    folder: Identity,
    branch: BranchName,
    base: CommitId,
}

impl OwnedFolder {
    /// Has git in the folder work with a git folder of its own; with the one that it has, where there is one.
    pub(crate) fn begin_private(&self, branch: &BranchName, base: &CommitId) -> Result<PrivateGit> {
        self.assert_own()?;
        self.repository.publish_objects()?;
        let folder = self.private_folder();
        let is_there = self.mark().is_some_and(|mark| mark.folder.is_at(&folder));
        if !is_there {
            self.forget_private()?;
            let git_dir = self.make_private(&folder)?;
            self.tell_of_filters(&folder)?;
            self.fill(&git_dir, &OwnedHead::Branch(branch))?;
            self.write_mark(&Mark {
                folder: Identity::of_folder(&folder).or_failed_to("look at", &folder)?,
                branch: branch.clone(),
                base: base.clone(),
            })?;
        }
        self.point_at(Path::new(""), &folder.join("git"))?;
        self.needed(&folder)
    }

    /// Has git in the folder find the user's filters as they are held elsewhere: by where their programs are, and none of
    /// which fails without a word.
    fn tell_of_filters(&self, folder: &Path) -> Result<()> {
        let config = folder.join("common/config");
        let mut settings = beginning(&config, usize::MAX)?;
        let filters = self.own_git().filters_of_others(&self.repository)?;
        settings.extend(filters.into_bytes());
        replace(&config, &settings)
    }

    fn write_mark(&self, mark: &Mark) -> Result<()> {
        let path = self.own.join(MARK);
        tm_faults::check("worktree: private").or_failed_to("write", &path)?;
        let text = serde_json::to_vec(mark).map_err(io::Error::from);
        replace(&path, &text.or_failed_to("write", &path)?)
    }

    fn needed(&self, folder: &Path) -> Result<PrivateGit> {
        let own = self.own_git();
        let fixed = ["git/commondir", "common/config"].map(|file| folder.join(file));
        let mut found = PrivateGit {
            writable: ["git", "common"].map(|name| folder.join(name)).to_vec(),
            fixed: [vec![self.path.join(".git")], fixed.to_vec()].concat(),
            readable: vec![self.repository.common_dir().join("lfs"), own.all_of_hooks()],
            filters: own
                .filter_commands(&self.repository)?
                .values()
                .cloned()
                .collect(),
        };
        own.put_alternates_back()?;
        add_stores(&self.objects(), &mut found.readable, 0);
        for (git_dir, store) in self.submodules_here() {
            found.writable.push(git_dir);
            add_stores(&store.join("objects"), &mut found.readable, 0);
        }
        found.readable.retain(|path| path.exists());
        Ok(found)
    }

    /// Takes over what was committed in the git folder of its own, and forgets that; returns in words what is refused.
    pub(crate) fn bring_home(&self) -> Result<Option<String>> {
        let Some(mark) = self.mark() else {
            return Ok(None);
        };
        let (left, refused) = match self.taken_over(&mark) {
            Ok(left) => (left, None),
            Err(error) if error.is_of_surroundings() => return Err(error),
            Err(error) => (Left::default(), Some(format!("failed to {error}"))),
        };
        // A worktree that is gone or another one by now, and what somebody changed, stays for whoever looks for that.
        if self.assert_own().is_ok() && self.changed_git_files().is_empty() {
            let head = left.head.as_ref();
            self.link_to_repository(
                &head.map_or(OwnedHead::Branch(&mark.branch), OwnedHead::Detached),
            )?;
            // What was committed is seen as committed; tm's index, which is there now, knows the base.
            if let Some(commit) = head
                .or(left.tip.as_ref())
                .filter(|head| **head != mark.base)
            {
                self.git("read-tree --reset")
                    .variable("GIT_INDEX_FILE", self.git_dir().join("index"))
                    .commit(commit)
                    .done()?;
            }
            // Not in the place of git's: it may name what was never committed, and so is not in the repository.
            if let Some(index) = &left.index {
                replace(&self.left_index(), index)?;
            }
        }
        self.forget_private()?;
        Ok(refused)
    }

    /// Tells whether git in the folder works with a git folder of its own, an agent's or that of hooks.
    pub(crate) fn works_with_private(&self) -> bool {
        let named = dot_git(&self.private_folder().join("git"));
        beginning(&self.path.join(".git"), SHORT).is_ok_and(|found| found == named)
    }

    /// Brings the commits into the repository, and the branch to where it was left.
    fn taken_over(&self, mark: &Mark) -> Result<Left> {
        let folder = self.private_folder();
        if !mark.folder.is_at(&folder) {
            return Err(refused("its git folder is another one by now"));
        }
        let left = Left::read(&folder, &mark.branch)?;
        let tips: Vec<&CommitId> = left.tip.iter().chain(&left.head).collect();
        self.take_over_commits(&folder, &tips, &mark.base)?;
        for tip in tips {
            self.repository.assert_walkable(tip)?;
        }
        if let Some(tip) = &left.tip {
            let now = self.repository.branch_tip(&mark.branch)?;
            if now.as_ref() != Some(tip) {
                self.repository
                    .move_branch(&mark.branch, tip, now.as_ref())?;
            }
        }
        Ok(left)
    }

    /// Forgets the git folder of its own, with all that is in it.
    pub(crate) fn forget_private(&self) -> Result<()> {
        let mark = self.own.join(MARK);
        tm_faults::check("worktree: private").or_failed_to("remove", &mark)?;
        tm_untrusted::remove(&mark).or_failed_to("remove", &mark)?;
        remove_if_there(&self.private_folder())
    }

    fn mark(&self) -> Option<Mark> {
        let text = beginning(&self.own.join(MARK), SHORT).ok()?;
        serde_json::from_slice(&text).ok()
    }

    pub(crate) fn private_folder(&self) -> PathBuf {
        self.own.join(PRIVATE)
    }

    /// The repository's store of objects.
    fn objects(&self) -> PathBuf {
        self.repository.common_dir().join("objects")
    }

    fn make_private(&self, folder: &Path) -> Result<PathBuf> {
        let own = self.own_git();
        let (git_dir, common) = own.make_git_folder(folder, settings::FOR_AGENTS)?;
        create_folder(&common.join("refs/heads"))?;
        // What the user has checked out is refused to others, as in any worktree.
        let users = beginning(&self.repository.common_dir().join("HEAD"), SHORT);
        replace(&common.join("HEAD"), &users.unwrap_or(NO_HEAD.to_vec()))?;
        name_store(&common.join("objects"), &self.objects())?;
        copy_references(&self.repository, &common)?;
        settle(&self.repository, own, &common)?;
        Ok(git_dir)
    }

    /// The git folders of the submodules that were brought here, each with the store that tm filled for it.
    fn submodules_here(&self) -> Vec<(PathBuf, PathBuf)> {
        let of_this = format!("{}-", self.name());
        let own = self.own_git();
        let found = tm_untrusted::entries(&own.sealed_folders()).filter_map(|entry| {
            let name = entry.file_name();
            let key = name.to_str()?.strip_prefix(&of_this)?;
            tm_untrusted::is_folder(&entry.path())
                .then(|| (entry.path(), own.store_of_submodule(key)))
        });
        found.collect()
    }
}

/// Adds what decides how an agent's git works to the settings that were taken: who commits, which paths are left out, and
/// the hooks as they were when the run began. Nothing is signed: the key is none of the agent's.
fn settle(repository: &Repository, own: &OwnGit, common: &Path) -> Result<()> {
    let config = common.join("config");
    let mut text = String::from_utf8_lossy(&beginning(&config, usize::MAX)?).into_owned();
    text.push_str(lfs_settings(repository.content_rules).unwrap_or_default());
    let (excludes, attributes) = (common.join("excludes"), common.join("attributes"));
    for copy in [&excludes, &attributes] {
        let taken = own.folder.join(copy.file_name().unwrap_or_default());
        replace(copy, &beginning(&taken, usize::MAX)?)?;
    }
    text.push_str(&of_agents(repository, own, [&excludes, &attributes]));
    replace(&config, text.as_bytes())
}

/// What decides how an agent's git works, with the places of patterns and attributes, as a file of git's.
pub(crate) fn of_agents(repository: &Repository, own: &OwnGit, paths: [&Path; 2]) -> String {
    // Where nobody said who commits, git says so to the agent.
    let people = repository.people().ok().flatten();
    let author = people.map(
        |People {
             author: (name, address),
             ..
         }| { settings::lines([("user.name", name.as_str()), ("user.email", address)]) },
    );
    let [excludes, attributes, hooks] =
        [paths[0], paths[1], &own.hooks].map(|path| path.to_string_lossy());
    author.unwrap_or_default()
        + &settings::lines([
            ("core.excludesfile", &*excludes),
            ("core.attributesfile", &attributes),
            (settings::HOOKS_PATH, &hooks),
            ("commit.gpgsign", "false"),
            ("tag.gpgsign", "false"),
            ("gc.auto", "0"),
            ("maintenance.auto", "false"),
            // Resolutions of conflicts are the user's, who has none taken from an agent.
            ("rerere.enabled", "false"),
        ])
}

/// Copies all references into one file; those that name others, each into its own.
pub(crate) fn copy_references(repository: &Repository, common: &Path) -> Result<()> {
    let of_git = || {
        let listing = repository
            .git_on_objects("for-each-ref --sort=refname")
            .arg("--format=%(objectname) %(refname) %(symref)")
            .bytes()?;
        Ok(listing
            .split(|&byte| byte == b'\n')
            .filter_map(said_reference)
            .collect())
    };
    let mut packed = b"# pack-refs with: sorted \n".to_vec();
    for (name, target) in repository.read_or(Reader::all_references, of_git)? {
        match target {
            Target::Object(id) => {
                packed.extend([id.as_str().as_bytes(), b" ", &name, b"\n"].concat());
            }
            Target::Reference(target) if is_plain(&path_of(&name)) => {
                let path = common.join(path_of(&name));
                create_folder(path.parent().unwrap_or(common))?;
                replace(&path, &[b"ref: ", &*target, b"\n"].concat())?;
            }
            Target::Reference(_) => {}
        }
    }
    replace(&common.join("packed-refs"), &packed)
}

/// Reads a line of git's about a reference.
fn said_reference(line: &[u8]) -> Option<(Vec<u8>, Target)> {
    let mut words = line.splitn(3, |&byte| byte == b' ');
    let (id, name, target) = (words.next()?, words.next()?, words.next()?);
    let target = if target.is_empty() {
        Target::Object(CommitId::new(std::str::from_utf8(id).ok()?))
    } else {
        Target::Reference(target.to_owned())
    };
    Some((name.to_owned(), target))
}

/// Makes a store of objects that has those of another one.
fn name_store(store: &Path, other: &Path) -> Result<()> {
    let name = other.as_os_str().as_bytes();
    if name.contains(&b'\n') {
        let error = io::Error::new(io::ErrorKind::InvalidInput, "its path has a line feed");
        return Err(error).or_failed_to("name to git", other);
    }
    create_folder(&store.join("info"))?;
    replace(&store.join("info/alternates"), &[name, b"\n"].concat())
}

/// Adds a store of objects, and those that it names.
fn add_stores(objects: &Path, found: &mut Vec<PathBuf>, depth: usize) {
    if depth > DEEPEST || found.iter().any(|known| known == objects) {
        return;
    }
    found.push(objects.to_owned());
    let named = beginning(&objects.join("info/alternates"), settings::ALTERNATES_BYTES);
    let named = named.unwrap_or_default();
    let is_one = |line: &&[u8]| !line.is_empty() && !line.starts_with(b"#");
    for line in named.split(|&byte| byte == b'\n').filter(is_one) {
        add_stores(&objects.join(path_of(line)), found, depth + 1);
    }
}

pub(crate) fn refused(why: impl Into<String>) -> Error {
    Error::NotTakenOver(why.into())
}
