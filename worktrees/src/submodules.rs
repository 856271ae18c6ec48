//! Submodules of the checkouts in which agents work and tm judges: their files, at the commits that the tree names.
//!
//! Objects come from what the user's repository has of a submodule, and are fetched only where the commit is not there.
//! What is fetched is kept in a store of the run's, one for each submodule, which all checkouts read. As with the folder
//! of a worktree, tm's own index decides, and what lies in a submodule's folder is only written and never believed.

mod named;
mod store;

use crate::clean::{OtherFiles, clean, remove_if_there};
use crate::files::{copy_with_time, create_folder, replace};
use crate::git::{Git, GitPlace, entry, fields, path_of};
use crate::indexed::{Known, leave_its_moment};
use crate::owned::OwnedFolder;
use crate::repository::own::OwnGit;
use crate::repository::{OrdersToLfs, is_plain, not_here};
use crate::{Error, OrFailedTo as _, Repository, Result, TreeId};
use named::{Saying, resolved};
use sha2::{Digest as _, Sha256};
use std::fs;
use std::path::{Path, PathBuf};
use tm_scheduler::{Bring, CommitId};
use tm_untrusted::is_folder;

/// The folder of the stores, and that of what a checkout has of its submodules, in tm's own git folders.
pub(crate) const STORES: &str = "modules";
const OF_CHECKOUT: &str = "modules";
/// Submodules of submodules are followed so deep.
const DEEPEST: usize = 8;

/// A submodule, and where it comes from.
#[derive(Debug)]
struct Submodule {
    /// Where it belongs, from the checkout's root.
    path: PathBuf,
    commit: CommitId,
    url: Option<String>,
    /// Whether the user, or a commit of the user's, says so; else a tree that agents may have written does.
    is_known: bool,
    /// The folder in which the user's repository keeps it, whether it is there or not.
    users: PathBuf,
    /// Where else the user has it: in the place itself.
    in_place: PathBuf,
}

/// The repository of which a tree is, as far as its submodules go.
struct Parent<'a> {
    place: GitPlace,
    /// Where the user's repository may keep the submodules of it.
    modules: Vec<PathBuf>,
    /// Its own address, which relative ones are seen from.
    url: Option<String>,
    /// Where it belongs in the checkout.
    path: &'a Path,
}

impl Parent<'_> {
    /// Returns the folder of a submodule, the last one that it may be where it is nowhere.
    fn folder_of(&self, name: &str) -> PathBuf {
        let places = || self.modules.iter().map(|folder| folder.join(name));
        places()
            .find(|folder| folder.is_dir())
            .or_else(|| places().next_back())
            .unwrap_or_default()
    }
}

impl OwnedFolder {
    /// Returns where submodules belong that are brought here; empty where none are.
    pub(crate) fn places_of_submodules(&self, tree: &TreeId) -> Result<Vec<PathBuf>> {
        if !self.repository.brings_submodules() {
            return Ok(Vec::new());
        }
        Ok(self.repository.content_of(tree)?.places())
    }

    /// Brings the submodules of a tree that was checked out here: every file as it is at the commit that the tree names,
    /// and nothing else.
    pub(crate) fn bring_submodules(&self, tree: &TreeId) -> Result<()> {
        let repository = &self.repository;
        if !repository.brings_submodules() || repository.content_of(tree)?.links.is_empty() {
            return Ok(());
        }
        let own = self.own_git();
        let parent = Parent {
            place: GitPlace::of(own.common()),
            modules: [repository.git_dir(), repository.common_dir()]
                .map(|folder| folder.join("modules"))
                .to_vec(),
            url: repository.address()?,
            path: Path::new(""),
        };
        self.bring_all(own, &parent, &tree.0, 0)
    }

    fn bring_all(&self, own: &OwnGit, parent: &Parent<'_>, tree: &str, depth: usize) -> Result<()> {
        let (submodules, others) = self.submodules(parent, tree)?;
        for path in others {
            self.empty(&path)?;
        }
        for submodule in submodules {
            let store = self.stored(own, &submodule)?;
            self.put(&store, &submodule)?;
            if depth < DEEPEST {
                let inner = Parent {
                    place: GitPlace::of(store),
                    modules: vec![submodule.users.join("modules")],
                    url: submodule.url.clone(),
                    path: &submodule.path,
                };
                self.bring_all(
                    own,
                    &inner,
                    &format!("{}^{{tree}}", submodule.commit),
                    depth + 1,
                )?;
            }
        }
        Ok(())
    }

    fn call(&self, place: &GitPlace) -> Git {
        place.git(&self.repository.environment)
    }

    /// The submodules of a tree, and the places of those that are left out: the user does not want them, or the tree says
    /// nothing of them but the commit.
    fn submodules(
        &self,
        parent: &Parent<'_>,
        tree: &str,
    ) -> Result<(Vec<Submodule>, Vec<PathBuf>)> {
        let listing = self
            .call(&parent.place)
            .line("ls-tree -r -z")
            .arg(tree)
            .bytes()?;
        let links = fields(&listing).filter_map(entry);
        let links: Vec<(PathBuf, CommitId)> = links
            .filter(|([mode, ..], _)| mode == "160000")
            .map(|([.., id], path)| (path_of(path), CommitId::new(id)))
            .collect();
        if links.is_empty() {
            return Ok((Vec::new(), Vec::new()));
        }
        let named = self.named(parent, tree)?;
        let in_checkout = self.repository.checkout_root().join(parent.path);
        // What a submodule has in itself is said by a commit of where it comes from.
        let is_within = !parent.path.as_os_str().is_empty();
        let is_at_start = |url: &String| self.own_git().knows_address(url);
        let (mut found, mut others) = (Vec::new(), Vec::new());
        for (path, commit) in links.into_iter().filter(|(path, _)| is_plain(path)) {
            match named.get(&path) {
                Some(Some(Saying {
                    name,
                    url,
                    is_of_user,
                })) => found.push(Submodule {
                    is_known: *is_of_user || is_within || url.as_ref().is_some_and(is_at_start),
                    url: url
                        .as_deref()
                        .map(|url| resolved(url, parent.url.as_deref())),
                    users: parent.folder_of(name),
                    in_place: in_checkout.join(&path).join(".git"),
                    path: parent.path.join(path),
                    commit,
                }),
                None if self.repository.content_rules.submodules == Bring::On => {
                    return Err(Error::Submodule {
                        path: parent.path.join(path),
                        commit,
                        message: "`.gitmodules` says nothing of it".to_owned(),
                    });
                }
                Some(None) | None => others.push(parent.path.join(path)),
            }
        }
        Ok((found, others))
    }

    /// Empties a folder in which a repository belongs that is not brought.
    fn empty(&self, path: &Path) -> Result<()> {
        let root = self.path.join(path);
        remove_if_there(&root)?;
        fs::create_dir(&root).or_failed_to("create", &root)
    }

    /// Writes the files of a submodule into its folder.
    fn put(&self, store: &Path, submodule: &Submodule) -> Result<()> {
        let root = self.path.join(&submodule.path);
        let mut between = submodule.path.ancestors().skip(1);
        if !between.all(|path| is_folder(&self.path.join(path))) {
            return Err(Error::NotOwn(root));
        }
        if !is_folder(&root) {
            self.empty(&submodule.path)?;
        }
        let private = self.own.join(OF_CHECKOUT).join(key_of(&submodule.path));
        create_folder(&private)?;
        let index = private.join("index");
        let place = GitPlace {
            index: Some(index.clone()),
            ..GitPlace::of(store).with_files(&root)
        };
        let git = || {
            self.call(&place).args([
                "-c",
                &format!("lfs.storage={}", submodule.users.join("lfs").display()),
            ])
        };
        let known = if index.exists() {
            let of_git = || Known::list(git().line("ls-files --stage -z"));
            self.repository
                .read_or(|_| Known::read(&index, self.mapped_writes()), of_git)?
        } else {
            Known::default()
        };
        let _all_are_looked_at = clean(&root, &known, &[], OtherFiles::Removed)?;
        OrdersToLfs::asking_nobody()
            .to(git())
            .line("read-tree --reset -u")
            .commit(&submodule.commit)
            .done()
            .map_err(not_here)?;
        leave_its_moment(&index)?;
        self.publish_submodule(store, submodule, &index)
    }

    /// Has git find a repository in the folder: its own, with nothing of anybody's settings.
    fn publish_submodule(&self, store: &Path, submodule: &Submodule, index: &Path) -> Result<()> {
        let name = format!("{}-{}", self.name(), key_of(&submodule.path));
        let git_dir = self.own_git().forget_sealed(Path::new(&name))?;
        for folder in ["objects/info", "refs"] {
            let folder = git_dir.join(folder);
            create_folder(&folder)?;
        }
        let objects = format!("{}\n", store.join("objects").display());
        replace(&git_dir.join("objects/info/alternates"), objects.as_bytes())?;
        let format = fs::read(store.join("config")).or_failed_to("read", store)?;
        let format = String::from_utf8_lossy(&format).replace("bare = true", "bare = false");
        replace(&git_dir.join("config"), format.as_bytes())?;
        copy_with_time(index, &git_dir.join("index"))?;
        let head = format!("{}\n", submodule.commit);
        replace(&git_dir.join("HEAD"), head.as_bytes())?;
        self.point_at(&submodule.path, &git_dir)
    }
}

impl Repository {
    /// Where the repository itself comes from: what `origin` says, else where it is.
    fn address(&self) -> Result<Option<String>> {
        Ok(self
            .git_on_objects("config --get remote.origin.url")
            .text_if_any()?
            .or_else(|| Some(self.checkout_root().display().to_string())))
    }
}

/// A name for a folder that belongs to a path.
fn key_of(path: &Path) -> String {
    let beginning = Sha256::digest(path.as_os_str().as_encoded_bytes())
        .iter()
        .take(8)
        .fold(0_u64, |number, byte| number << 8 | u64::from(*byte));
    format!("{beginning:016x}")
}
