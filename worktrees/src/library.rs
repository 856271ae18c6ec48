//! Trees as the library reads them: each parsed once, compared by what differs, and read anew where it matters.

use git2::{ObjectType, Oid};
use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::sync::Arc;
use tm_scheduler::verdict::ChangeKind;

/// The modes that git writes into trees; older ones are git's to read.
pub(crate) const MODES: [i32; 5] = [FOLDER, PLAIN, 0o100_755, LINK, NESTED];
pub(crate) const FOLDER: i32 = 0o040_000;
/// The mode of a file that is nothing but a file.
pub(crate) const PLAIN: i32 = 0o100_644;
/// The mode of a symbolic link.
pub(crate) const LINK: i32 = 0o120_000;
/// The mode of a repository within a repository.
pub(crate) const NESTED: i32 = 0o160_000;

/// So many entries of trees are kept, some hundred bytes each.
const MOST_KEPT: usize = 400_000;

/// What was found under a name.
#[derive(Debug, Eq, PartialEq)]
pub(crate) enum Found<T> {
    Here(T),
    Nothing,
}

impl<T> Found<T> {
    /// Returns it, where it is here.
    pub(crate) fn here(self) -> Option<T> {
        match self {
            Self::Here(found) => Some(found),
            Self::Nothing => None,
        }
    }
}

/// The library, and what it read: a tree never changes, and the library keeps only small ones.
pub(crate) struct Library {
    pub(crate) git: git2::Repository,
    trees: HashMap<Oid, Arc<[Named]>>,
    kept: usize,
}

/// What a tree says of one name in it.
pub(crate) struct Named {
    pub(crate) name: Box<[u8]>,
    pub(crate) mode: i32,
    pub(crate) id: Oid,
}

impl Library {
    pub(crate) fn new(git: git2::Repository) -> Self {
        Self {
            git,
            trees: HashMap::new(),
            kept: 0,
        }
    }

    /// Returns what a tree says.
    pub(crate) fn tree(&mut self, id: Oid) -> Option<Arc<[Named]>> {
        if let Some(tree) = self.trees.get(&id) {
            return Some(Arc::clone(tree));
        }
        let tree = self.git.find_tree(id).ok()?;
        let entries: Arc<[Named]> = named(&tree)?.into();
        if self.kept > MOST_KEPT {
            self.trees.clear();
            self.kept = 0;
        }
        self.kept += entries.len();
        self.trees.insert(id, Arc::clone(&entries));
        Some(entries)
    }

    /// Returns mode and object of what stands at a path of a tree.
    pub(crate) fn find(&mut self, tree: Oid, path: &[u8]) -> Option<Found<(i32, Oid)>> {
        let (mut mode, mut at) = (FOLDER, tree);
        let mut names = path.split(|&byte| byte == b'/').peekable();
        while let Some(name) = names.next() {
            let tree = self.tree(at)?;
            let Some(found) = tree.iter().find(|entry| *entry.name == *name) else {
                return Some(Found::Nothing);
            };
            if names.peek().is_some() && found.mode != FOLDER {
                return Some(Found::Nothing);
            }
            (mode, at) = (found.mode, found.id);
        }
        Some(Found::Here((mode, at)))
    }

    /// Tells each file below a tree.
    pub(crate) fn collect(
        &mut self,
        tree: Oid,
        folder: &mut Vec<u8>,
        tell: &mut impl FnMut(i32, Oid, &[u8]),
    ) -> Option<()> {
        for entry in &*self.tree(tree)? {
            let length = folder.len();
            folder.extend_from_slice(&entry.name);
            if entry.mode == FOLDER {
                folder.push(b'/');
                self.collect(entry.id, folder, tell)?;
            } else {
                tell(entry.mode, entry.id, folder);
            }
            folder.truncate(length);
        }
        Some(())
    }

    /// Compares two trees, below which only what differs is looked at.
    pub(crate) fn differ(
        &mut self,
        one: Option<Oid>,
        other: Option<Oid>,
        folder: &mut Vec<u8>,
        found: &mut Vec<(Vec<u8>, ChangeKind)>,
    ) -> Option<()> {
        if one == other {
            // It is there, or git is to say that it is not.
            return self.git.find_tree(one?).ok().map(drop);
        }
        let mut said =
            |tree: Option<Oid>| tree.map_or_else(|| Some(Arc::from([])), |tree| self.tree(tree));
        let (before, after) = (said(one)?, said(other)?);
        let (before, after) = (by_name(&before), by_name(&after));
        let all: BTreeSet<&[u8]> = before.keys().chain(after.keys()).copied().collect();
        for name in all {
            let (old, new) = (before.get(name), after.get(name));
            if old == new {
                continue;
            }
            let length = folder.len();
            folder.extend_from_slice(name);
            let is_file =
                |entry: Option<&(i32, Oid)>| entry.is_some_and(|(mode, _)| *mode != FOLDER);
            let kind = match (is_file(old), is_file(new)) {
                (true, true) => Some(ChangeKind::Modified),
                (true, false) => Some(ChangeKind::Deleted),
                (false, true) => Some(ChangeKind::Added),
                (false, false) => None,
            };
            found.extend(kind.map(|kind| (folder.clone(), kind)));
            let below = |entry: Option<&(i32, Oid)>| {
                entry.filter(|(mode, _)| *mode == FOLDER).map(|(_, id)| *id)
            };
            let (old, new) = (below(old), below(new));
            if old.is_some() || new.is_some() {
                folder.push(b'/');
                self.differ(old, new, folder, found)?;
            }
            folder.truncate(length);
        }
        Some(())
    }
}

/// What a tree says; `None` for modes that are git's to read.
fn named(tree: &git2::Tree<'_>) -> Option<Vec<Named>> {
    let named = |entry: git2::TreeEntry<'_>| {
        let mode = entry.filemode_raw();
        MODES.contains(&mode).then(|| Named {
            name: entry.name_bytes().into(),
            mode,
            id: entry.id(),
        })
    };
    tree.iter().map(named).collect()
}

/// Returns the content of a blob; `None` for what is none.
pub(crate) fn content(library: &git2::Repository, blob: Oid) -> Option<Vec<u8>> {
    let odb = library.odb().ok()?;
    let object = odb.read(blob).ok()?;
    (object.kind() == ObjectType::Blob).then(|| object.data().to_owned())
}

/// Returns how long an object is, as it says at its beginning.
pub(crate) fn length(library: &git2::Repository, id: Oid) -> Option<u64> {
    let (length, _) = library.odb().ok()?.read_header(id).ok()?;
    u64::try_from(length).ok()
}

/// What a tree says, by name: the mode and the object.
pub(crate) fn by_name(entries: &[Named]) -> BTreeMap<&[u8], (i32, Oid)> {
    entries
        .iter()
        .map(|entry| (&*entry.name, (entry.mode, entry.id)))
        .collect()
}

/// Tells whether the first commit comes after the second.
pub(crate) type Descends<'a> = Box<dyn Fn(Oid, Oid) -> Option<bool> + 'a>;

/// Reads objects that nobody has looked at since they may have been written over.
pub(crate) struct Fresh<'a> {
    git: git2::Repository,
    /// Whether a commit comes after another one, by what was read before.
    descends: Descends<'a>,
    /// What need not be read.
    pub(crate) seen: HashSet<Oid>,
    /// What was read.
    pub(crate) read: Vec<Oid>,
}

impl<'a> Fresh<'a> {
    pub(crate) fn new(git: git2::Repository, descends: Descends<'a>) -> Self {
        Self {
            git,
            descends,
            seen: HashSet::new(),
            read: Vec::new(),
        }
    }

    /// Notes that an object is read; `false` where it need not be.
    fn note(&mut self, id: Oid) -> bool {
        let is_new = self.seen.insert(id);
        if is_new {
            self.read.push(id);
        }
        is_new
    }

    /// Reads all objects of a commit or tree that a known commit does not have.
    pub(crate) fn are_as_named(&mut self, of: Oid, known: Oid) -> Option<()> {
        let base = self.git.find_commit(known).ok()?.tree_id();
        if self.git.find_tree(of).is_ok() {
            return self.tree(of, Some(base));
        }
        let since = self.git.find_commit(known).ok()?.time().seconds();
        let mut commits = vec![of];
        while let Some(id) = commits.pop() {
            if id == known || self.seen.contains(&id) {
                continue;
            }
            let (tree, parents, made) = {
                let commit = self.git.find_commit(id).ok()?;
                let parents = commit.parent_ids().collect::<Vec<_>>();
                (commit.tree_id(), parents, commit.time().seconds())
            };
            // What is newer came after it, or says so and is read for nothing: history is walked for what is older.
            if made <= since && (self.descends)(known, id)? {
                continue;
            }
            self.note(id);
            self.tree(tree, Some(base))?;
            commits.extend(parents);
        }
        Some(())
    }

    /// Reads an object.
    pub(crate) fn object(&self, id: Oid) -> Option<()> {
        self.git.odb().ok()?.read(id).ok().map(drop)
    }

    /// Reads everything of a tree that another one does not have under the same name.
    fn tree(&mut self, tree: Oid, base: Option<Oid>) -> Option<()> {
        if Some(tree) == base || !self.note(tree) {
            return Some(());
        }
        for Differing { mode, id, before } in self.differing(tree, base)? {
            match mode {
                FOLDER => self.tree(id, before)?,
                // Its commit is in another repository.
                NESTED => {}
                _ if !self.note(id) => {}
                _ => self.object(id)?,
            }
        }
        Some(())
    }

    /// Returns what a tree says of names of which the other one says something else, or nothing; `None` for modes that are
    /// git's to read.
    fn differing(&self, tree: Oid, base: Option<Oid>) -> Option<Vec<Differing>> {
        let (tree, base) = (
            self.git.find_tree(tree).ok()?,
            base.and_then(|base| self.git.find_tree(base).ok()),
        );
        let mut differing = Vec::new();
        for entry in &tree {
            let (mode, id) = (entry.filemode_raw(), entry.id());
            MODES.contains(&mode).then_some(())?;
            let before = base
                .as_ref()
                .and_then(|base| base.get_name_bytes(entry.name_bytes()))
                .map(|before| before.id());
            if before != Some(id) {
                differing.push(Differing { mode, id, before });
            }
        }
        Some(differing)
    }
}

/// What a tree says of a name of which another one says something else.
struct Differing {
    mode: i32,
    id: Oid,
    /// The object that the other one has.
    before: Option<Oid>,
}
