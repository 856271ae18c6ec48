//! What belongs to the user and is nobody else's to change: the checkout, git's own files in it, branches, the home.

use crate::scene::{Scene, write};
use std::collections::{BTreeMap, BTreeSet};
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

/// What a file is.
#[derive(Clone, Debug, PartialEq)]
enum Content {
    Regular(u32, Vec<u8>),
    Link(std::path::PathBuf),
    Other,
}

/// The user's things at one moment, by name: `checkout/notes.txt`, `home/documents/diary`, `ref refs/heads/main`.
#[derive(Debug)]
pub(super) struct Belongings {
    files: BTreeMap<String, Content>,
    refs: BTreeSet<String>,
    index: String,
}

/// Files of git's that are the user's.
const OF_GIT: [&str; 9] = [
    "config",
    "config.worktree",
    "HEAD",
    "info",
    "hooks",
    "shallow",
    "description",
    "objects/info/alternates",
    "objects/info/http-alternates",
];

/// Words that stand in private files and may be found nowhere else.
pub(super) const PRIVATE: &str = "b3BlbnNzaC1PUklWQVRFV09SRFNPRlRIRVVTRVI";

/// Gives the user private files, uncommitted work and another branch.
pub(super) fn lay_out(scene: &Scene) {
    write(
        &scene.path("home/documents/diary.txt"),
        &format!("{PRIVATE}: dear diary\n"),
    );
    write(
        &scene.path("home/documents/letters/one.txt"),
        &format!("{PRIVATE}: dear Ann\n"),
    );
    let key = format!(
        "-----BEGIN OPENSSH PRIVATE KEY-----\n{PRIVATE}\n-----END OPENSSH PRIVATE KEY-----\n"
    );
    write(&scene.path("home/.ssh/id_rsa"), &key);
    write(
        &scene.path("home/.gitconfig"),
        "[user]\n\tname = Somebody\n\temail = somebody@example.org\n",
    );
    write(
        &scene.root().join("notes.txt"),
        "notes\nand one that is not committed\n",
    );
    write(&scene.root().join("todo.txt"), "not known to git\n");
    scene.git(&["branch", "feature"]);
}

impl Belongings {
    pub(super) fn of(scene: &Scene) -> Self {
        let mut files = BTreeMap::new();
        collect(&scene.path("home"), "home", &mut files);
        collect(&scene.root(), "checkout", &mut files);
        let git = scene.root().join(".git");
        for name in OF_GIT {
            collect(&git.join(name), &format!(".git/{name}"), &mut files);
        }
        Self {
            files,
            refs: refs(scene),
            index: index(scene),
        }
    }

    /// What is different now, but for what the agent itself changes.
    pub(super) fn differences(&self, now: &Self, agent_changes: &[&str]) -> Vec<String> {
        let is_the_agents =
            |name: &str| agent_changes.iter().any(|change| name.starts_with(change));
        let names: BTreeSet<&String> = self.files.keys().chain(now.files.keys()).collect();
        let files = names
            .into_iter()
            .filter(|name| self.files.get(*name) != now.files.get(*name))
            .cloned();
        let refs = self
            .refs
            .symmetric_difference(&now.refs)
            .map(|line| format!("ref {line}"));
        let index = (self.index != now.index).then(|| "the index of the checkout".to_owned());
        files
            .chain(refs)
            .chain(index)
            .filter(|name| !is_the_agents(name))
            .map(|name| format!("{name} was changed"))
            .collect()
    }

    /// Does what a user does about files that an agent has changed: puts them back.
    pub(super) fn restore(&self, scene: &Scene, now: &Self, agent_changes: &[&str]) {
        let names: BTreeSet<&String> = self.files.keys().chain(now.files.keys()).collect();
        for name in names
            .into_iter()
            .filter(|name| agent_changes.iter().any(|change| name.starts_with(change)))
        {
            let path = if name.starts_with(".git/") {
                scene.root().join(name)
            } else {
                scene.path(name)
            };
            drop(std::fs::remove_file(&path));
            if let Some(Content::Regular(mode, bytes)) = self.files.get(name) {
                write(&path, &String::from_utf8_lossy(bytes));
                std::fs::set_permissions(&path, std::fs::Permissions::from_mode(*mode))
                    .expect("a mode");
            }
        }
    }
}

fn collect(path: &Path, name: &str, files: &mut BTreeMap<String, Content>) {
    let Ok(metadata) = std::fs::symlink_metadata(path) else {
        return;
    };
    if metadata.is_dir() {
        for entry in std::fs::read_dir(path).into_iter().flatten().flatten() {
            let name = format!("{name}/{}", entry.file_name().to_string_lossy());
            // The backlog is written by tm, and git's own files are looked at one by one.
            if name != "checkout/.git" && name != "checkout/.taskmaster/tasks" {
                collect(&entry.path(), &name, files);
            }
        }
        return;
    }
    let content = match std::fs::read_link(path) {
        Ok(target) => Content::Link(target),
        Err(_) if metadata.is_file() && metadata.len() < 1 << 20 => Content::Regular(
            metadata.permissions().mode(),
            std::fs::read(path).unwrap_or_default(),
        ),
        Err(_) => Content::Other,
    };
    files.insert(name.to_owned(), content);
}

/// Every ref that is not tm's own.
fn refs(scene: &Scene) -> BTreeSet<String> {
    let output = scene.try_git(&["for-each-ref", "--format=%(refname) %(objectname)"]);
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let is_tms = |line: &str| line.starts_with("refs/heads/tm/") || line.starts_with("refs/tm/");
    text.lines()
        .filter(|line| !is_tms(line))
        .map(str::to_owned)
        .collect()
}

/// What the index of the checkout holds, read without the settings of the repository.
fn index(scene: &Scene) -> String {
    let apart = scene.path("apart.git");
    if !apart.exists() {
        scene.git(&["init", "--quiet", "--bare", &apart.display().to_string()]);
    }
    let mut git = scene.program("git".as_ref());
    git.args(["ls-files", "--stage", "-v"])
        .env("GIT_DIR", apart)
        .env("GIT_WORK_TREE", scene.root());
    let output = git
        .env("GIT_INDEX_FILE", scene.root().join(".git/index"))
        .output()
        .expect("git");
    String::from_utf8_lossy(&output.stdout).into_owned()
}
