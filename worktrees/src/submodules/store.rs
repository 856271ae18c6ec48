//! The store of a submodule, in which its commits are: filled from what the user has of it, else from where it comes from.

use super::{STORES, Submodule, key_of};
use crate::files::{create_folder, replace};
use crate::git::{Answer, Git, GitPlace, LONGEST_OF_NETWORK};
use crate::owned::OwnedFolder;
use crate::repository::own::OwnGit;
use crate::{Error, Result};
use std::path::{Path, PathBuf};

impl OwnGit {
    /// Returns the store of a submodule, by the key of its path.
    pub(crate) fn store_of_submodule(&self, key: &str) -> PathBuf {
        self.folder.join(STORES).join(key)
    }
}

impl OwnedFolder {
    /// Returns the store of a submodule, which has its commit.
    pub(super) fn stored(&self, own: &OwnGit, submodule: &Submodule) -> Result<PathBuf> {
        let _one_at_a_time = own.modules.lock();
        own.assert_there()?;
        let store = own.store_of_submodule(&key_of(&submodule.path));
        if !store.join("HEAD").exists() {
            self.make_store(&store, submodule)?;
        }
        // Where git keeps it now, and where it did before it kept all of them in one folder.
        let places = [&submodule.users, &submodule.in_place].map(|git_dir| git_dir.join("objects"));
        let alternates: Vec<String> = places
            .iter()
            .filter(|path| path.is_dir())
            .map(|path| format!("{}\n", path.display()))
            .collect();
        let file = store.join("objects/info/alternates");
        replace(&file, alternates.concat().as_bytes())?;
        let git = || self.call(&GitPlace::of(&store));
        if !has_commit(git(), submodule)? {
            fetch(&git, submodule)?;
        }
        Ok(store)
    }

    fn make_store(&self, store: &Path, submodule: &Submodule) -> Result<()> {
        create_folder(store)?;
        let format = match submodule.commit.as_str().len() {
            64 => "--object-format=sha256",
            _ => "--object-format=sha1",
        };
        Git::new(&self.repository.environment, store)
            .args(["init", "--bare", "--quiet", "--template=", format, "."])
            .done()
    }
}

fn has_commit(git: Git, submodule: &Submodule) -> Result<bool> {
    let commit = format!("{}^{{commit}}", submodule.commit);
    git.line("cat-file -e").arg(commit).succeeds()
}

/// Fetches the commit, else all branches and tags: not every server gives a commit that no branch names.
fn fetch(git: &dyn Fn() -> Git, submodule: &Submodule) -> Result<()> {
    let refused = |message: String| Error::Submodule {
        path: submodule.path.clone(),
        commit: submodule.commit.clone(),
        message,
    };
    let Some(url) = &submodule.url else {
        return Err(refused("nothing says where it comes from".to_owned()));
    };
    if !submodule.is_known {
        return Err(refused(format!(
            "its address `{url}` is new: whoever wrote `.gitmodules` would have anything fetched as you; add the submodule \
             yourself, or set `submodule.NAME.url` in your git configuration"
        )));
    }
    let fetch = |what: &[&str]| {
        // Only the transports that git takes for safe where the address comes from a tree.
        git()
            .line("-c protocol.ext.allow=never fetch --quiet")
            .line("--no-tags --force --")
            .arg(url)
            .args(what)
            .at_most(LONGEST_OF_NETWORK)
            .once()
            .answer()
    };
    let keep = format!("{}:refs/tm/{}", submodule.commit, submodule.commit);
    let mut answer = fetch(&[&keep])?;
    if answer.code != 0 {
        answer = fetch(&["+refs/heads/*:refs/heads/*", "+refs/tags/*:refs/tags/*"])?;
    }
    if has_commit(git(), submodule)? {
        return Ok(());
    }
    let said = beginning_of(&answer);
    Err(refused(format!(
        "neither the repository nor `{url}` has it: {said}"
    )))
}

fn beginning_of(answer: &Answer) -> String {
    if answer.code == 0 {
        return "it is on no branch there".to_owned();
    }
    let said: Vec<&str> = answer
        .stderr
        .lines()
        .map(str::trim)
        .filter(|line| !line.is_empty())
        .take(4)
        .collect();
    said.join("; ")
}
