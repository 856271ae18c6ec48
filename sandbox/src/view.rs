//! Which paths a program sees, and which it may change.
//!
//! A rule holds for a path and everything below it, up to a rule for a path further below. What no rule speaks of is
//! read-only: a system has more places that programs need than anybody can list, and few that hold secrets or sockets.

use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsString;
use std::ops::Bound;
use std::path::{Component, Path, PathBuf};

/// What may be done with a path.
#[derive(Clone, Copy, Debug, Eq, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Access {
    /// Nothing: it looks empty.
    Hidden,
    /// Read, and run.
    Read,
    /// Changed too, but nobody else sees that: what is written is gone with the program. Read alone where the system
    /// has no means for it.
    Layered,
    /// Changed too.
    Write,
}

/// What a program sees of the file system.
#[derive(Clone, Debug, Default, Eq, PartialEq, Serialize, Deserialize)]
pub struct View {
    /// Real paths, no links in them.
    rules: BTreeMap<PathBuf, Access>,
    /// Real paths of folders out of which no link leads.
    #[serde(skip)]
    closed: Vec<PathBuf>,
    /// Folders that are to stay where they are.
    #[serde(skip)]
    pinned: BTreeSet<PathBuf>,
    /// Paths that were seen to be no links: most paths have the same folders above them.
    #[serde(skip)]
    plain: BTreeSet<PathBuf>,
}

/// So many links lead from one to the next, as for the kernel.
const MOST_LINKS: usize = 40;

/// Where people, services and other programs keep what is theirs: homes, sockets, temporary files, other disks.
const OF_OTHERS: [&str; 11] = [
    "/dev/shm",
    "/home",
    "/media",
    "/mnt",
    "/root",
    "/run",
    "/tmp",
    "/var/lib/docker",
    "/var/run",
    "/var/spool",
    "/var/tmp",
];

/// What is closed to all but the superuser, whose jobs are the superuser's.
const OF_SUPERUSER: [&str; 14] = [
    "/etc/NetworkManager/system-connections",
    "/etc/gshadow",
    "/etc/gshadow-",
    "/etc/letsencrypt",
    "/etc/shadow",
    "/etc/shadow-",
    "/etc/ssl/private",
    "/etc/sudoers",
    "/etc/sudoers.d",
    "/etc/wireguard",
    "/var/backups",
    "/var/lib/mysql",
    "/var/lib/postgresql",
    "/var/log",
];
/// Where the keys of this machine are, and how their names end.
const HOST_KEYS: (&str, &str) = ("/etc/ssh", "_key");

/// Those of them where services listen.
const SOCKETS: [&str; 2] = ["/run", "/var/run"];

/// Those of them where everybody's temporary files are; in namespaces of its own a program has its own there.
const PRIVATE: [&str; 3] = ["/dev/shm", "/tmp", "/var/tmp"];

/// What lies there all the same and programs can't do without: how names are resolved, and the system itself on `NixOS`.
const NEEDED: [&str; 7] = [
    "/run/NetworkManager/resolv.conf",
    "/run/booted-system",
    "/run/current-system",
    "/run/opengl-driver",
    "/run/resolvconf",
    "/run/systemd/resolve",
    "/run/wrappers",
];

impl View {
    /// The system as anybody may see it, without what belongs to people and services.
    pub fn of_system() -> Self {
        let mut view = Self::default();
        for path in OF_OTHERS {
            view.add(Path::new(path), Access::Hidden);
        }
        for path in NEEDED {
            view.add(Path::new(path), Access::Read);
        }
        if rustix::process::geteuid().is_root() {
            view.hide_what_is_of_superuser();
        }
        view
    }

    fn hide_what_is_of_superuser(&mut self) {
        let (folder, end) = HOST_KEYS;
        let keys = std::fs::read_dir(folder).into_iter().flatten().flatten();
        let keys = keys.map(|key| key.path());
        let keys = keys.filter(|key| key.as_os_str().as_encoded_bytes().ends_with(end.as_bytes()));
        let named = OF_SUPERUSER.iter().map(PathBuf::from);
        for path in named.chain(keys).filter(|path| path.exists()) {
            self.add(&path, Access::Hidden);
        }
    }

    /// Says that a folder is written by programs: what a path leads to by a link in it is passed over from now on, unless
    /// that is in the folder too, since whoever made the link would be given what it names.
    pub fn close(&mut self, folder: &Path) {
        let real = self.real(folder);
        self.closed.extend(real);
    }

    /// Returns what a path leads to; `None` where nothing is there, or by a link out of a folder that is closed.
    pub fn real(&mut self, path: &Path) -> Option<PathBuf> {
        let mut rest: Vec<OsString> = words(path);
        let (mut real, mut links, mut within) = (PathBuf::from("/"), 0, None);
        while let Some(word) = rest.pop() {
            if word == ".." {
                real.pop();
                continue;
            }
            let next = real.join(&word);
            let known = self.plain.contains(&next);
            let target = (!known).then(|| next.read_link().ok()).flatten();
            let Some(target) = target else {
                if !known {
                    self.plain.insert(next.clone());
                }
                real = next;
                continue;
            };
            links += 1;
            within = within.or_else(|| self.closed.iter().find(|closed| real.starts_with(closed)));
            if target.is_absolute() {
                real = PathBuf::from("/");
            }
            rest.extend(words(&target));
            if links > MOST_LINKS {
                return None;
            }
        }
        let leads_out = within.is_some_and(|closed| !real.starts_with(closed));
        (!leads_out && path.is_absolute() && real.exists()).then_some(real)
    }

    /// Adds a rule, which replaces an earlier one for the same path. What is not there is passed over; a link stands for
    /// what it leads to.
    pub fn add(&mut self, path: &Path, access: Access) {
        if let Some(real) = self.real(path) {
            self.rules.insert(real, access);
        }
    }

    /// Adds a rule where it gives more than the rules so far.
    pub fn open(&mut self, path: &Path, access: Access) {
        if let Some(real) = self.real(path)
            && self.of(&real) < access
        {
            self.rules.insert(real, access);
        }
    }

    /// Hides a path, unless there is a rule for this very one.
    pub fn hide(&mut self, path: &Path) {
        if let Some(real) = self.real(path) {
            self.rules.entry(real).or_insert(Access::Hidden);
        }
    }

    /// Adds a rule for a path as it is named here, whatever it leads to.
    pub(crate) fn insert(&mut self, path: &Path, access: Access) {
        self.rules.insert(path.to_owned(), access);
    }

    /// Returns what may be done with a real path.
    pub fn of(&self, path: &Path) -> Access {
        self.rule_of(path)
            .map_or(Access::Read, |(_, access)| access)
    }

    /// Returns the rule that decides that.
    pub(crate) fn rule_of<'a>(&self, path: &'a Path) -> Option<(&'a Path, Access)> {
        path.ancestors()
            .find_map(|above| Some((above, *self.rules.get(above)?)))
    }

    /// Returns the rule that holds above a path.
    fn rule_above<'a>(&self, path: &'a Path) -> Option<(&'a Path, Access)> {
        self.rule_of(path.parent()?)
    }

    /// Has every folder between one that may be changed and something within that may not be so stay where it is: renamed, it
    /// would take that along, and another one could be put into its place.
    pub(crate) fn pin(&mut self) {
        let can_be_renamed = |path: &&Path| {
            let above = self.rule_above(path);
            above.is_some_and(|(rule, access)| access == Access::Write && !is_private(rule))
        };
        let kept = self.rules().filter(|(_, access)| *access != Access::Write);
        let between = kept.flat_map(|(path, _)| {
            let is_in_written = can_be_renamed(&path);
            let above = path.ancestors().skip(1);
            above.take_while(move |above| is_in_written && can_be_renamed(above))
        });
        let pinned: BTreeSet<PathBuf> = between.map(Path::to_owned).collect();
        for path in &pinned {
            self.insert(path, Access::Write);
        }
        self.pinned = pinned;
    }

    /// Tells whether a path is one that may be changed; in place of what is private lies something else.
    fn is_written(&self, path: &Path) -> bool {
        self.rules.get(path) == Some(&Access::Write) && !is_private(path)
    }

    /// Tells whether a path lies below one that may be changed.
    pub(crate) fn is_below_written(&self, path: &Path) -> bool {
        path.ancestors().skip(1).any(|above| self.is_written(above))
    }

    /// Tells whether there is a rule for this very path.
    pub(crate) fn names(&self, path: &Path) -> bool {
        self.rules.contains_key(path)
    }

    /// Tells whether something else lies where everybody sees what is above a path.
    pub(crate) fn is_covered(&self, path: &Path) -> bool {
        let above = self.rule_above(path);
        above.is_some_and(|(rule, access)| access == Access::Hidden || is_private(rule))
    }

    /// Returns the rules that say something else than what holds above them, each behind those for the folders above it.
    /// What is private stands for itself: something else lies there than what everybody sees.
    pub(crate) fn differing(&self) -> impl Iterator<Item = (&Path, Access)> {
        self.rules().filter(|(path, access)| {
            let above = self.rule_above(path);
            let (above, holds) = above.unwrap_or((Path::new("/"), Access::Read));
            let stands_alone = is_private(path) || is_private(above) || self.pinned.contains(*path);
            holds != *access || stands_alone
        })
    }

    /// Tells whether a path is one of the places where sockets of services are, or people's folders as a whole.
    pub fn is_of_others(path: &Path) -> bool {
        let is_place = OF_OTHERS.iter().any(|place| path == Path::new(place));
        is_place || SOCKETS.iter().any(|place| path.starts_with(place))
    }

    /// Returns the rules for what lies below a folder, each behind those for the folders above it.
    pub(crate) fn rules_below<'a>(
        &'a self,
        folder: &'a Path,
    ) -> impl Iterator<Item = (&'a Path, Access)> {
        // Paths are in the order of their parts, so what lies below a folder follows on it.
        let from = (Bound::Excluded(folder), Bound::Unbounded);
        let rules = self.rules.range::<Path, _>(from);
        rules
            .map(|(path, access)| (path.as_path(), *access))
            .take_while(move |(path, _)| path.starts_with(folder))
    }

    /// Returns the rules, each behind those for the folders above it.
    pub fn rules(&self) -> impl Iterator<Item = (&Path, Access)> {
        self.rules
            .iter()
            .map(|(path, access)| (path.as_path(), *access))
    }
}

/// Tells whether a path is one where a program has its own in namespaces of its own.
pub(crate) fn is_private(path: &Path) -> bool {
    PRIVATE.iter().any(|private| path == Path::new(private))
}

/// The words of a path that mean something, the first one last.
fn words(path: &Path) -> Vec<OsString> {
    let meant = path
        .components()
        .rev()
        .filter(|part| matches!(part, Component::Normal(_) | Component::ParentDir));
    meant.map(|part| part.as_os_str().to_owned()).collect()
}

impl PartialOrd for Access {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        (*self as u8).partial_cmp(&(*other as u8))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_nearest_rule_counts_and_what_is_not_there_is_passed_over() {
        let folder = tempfile::tempdir().expect("a folder");
        let root = folder.path().canonicalize().expect("a path");
        let within = root.join("a/b");
        std::fs::create_dir_all(&within).expect("made");
        std::os::unix::fs::symlink(&within, root.join("link")).expect("linked");
        let mut view = View::default();
        view.add(&root, Access::Hidden);
        view.add(&root.join("link"), Access::Write);
        view.add(&root.join("nowhere"), Access::Write);
        view.open(&root.join("a"), Access::Read);
        view.open(&within.join("."), Access::Read);
        let of = |path: &str| view.of(&root.join(path));
        assert_eq!(
            [of("x"), of("a"), of("a/c"), of("a/b"), of("a/b/c")],
            [
                Access::Hidden,
                Access::Read,
                Access::Read,
                Access::Write,
                Access::Write
            ]
        );
        assert_eq!(view.of(Path::new("/usr/bin")), Access::Read);
        assert_eq!(view.rules().count(), 3);
    }

    #[test]
    fn what_says_the_same_as_the_rule_above_is_left_out_but_for_what_is_private() {
        let of = |rules: &[(&'static str, Access)]| View {
            rules: rules
                .iter()
                .map(|(path, access)| (PathBuf::from(path), *access))
                .collect(),
            ..View::default()
        };
        let view = of(&[
            ("/home", Access::Hidden),
            ("/home/user", Access::Hidden),
            ("/home/user/tools", Access::Read),
            ("/home/user/tools/more", Access::Read),
            ("/home/user/tools/secret", Access::Hidden),
            ("/opt/anything", Access::Read),
            ("/tmp", Access::Hidden),
            ("/tmp/home", Access::Hidden),
            ("/tmp/home/more", Access::Hidden),
            ("/work", Access::Write),
            ("/work/within", Access::Write),
        ]);
        let differing: Vec<&str> = (view.differing())
            .filter_map(|(path, _)| path.to_str())
            .collect();
        assert_eq!(
            differing,
            [
                "/home",
                "/home/user/tools",
                "/home/user/tools/secret",
                "/tmp",
                "/tmp/home",
                "/work"
            ]
        );
    }

    #[test]
    fn what_would_take_a_part_along_that_is_kept_stays_where_it_is() {
        let rules = [
            ("/tmp", Access::Write),
            ("/tmp/a/kept", Access::Read),
            ("/work", Access::Write),
            ("/work/.git", Access::Write),
            ("/work/.git/config", Access::Read),
            ("/work/a/b/hidden", Access::Hidden),
            ("/work/kept", Access::Read),
            ("/work/kept/a/written", Access::Write),
            ("/work/kept/a/written/b/kept", Access::Read),
        ];
        let rules = rules.map(|(path, access)| (PathBuf::from(path), access));
        let mut view = View {
            rules: rules.into(),
            ..View::default()
        };
        view.pin();
        let pinned: Vec<&str> = view
            .pinned
            .iter()
            .filter_map(|path| path.to_str())
            .collect();
        assert_eq!(
            pinned,
            [
                "/work/.git",
                "/work/a",
                "/work/a/b",
                "/work/kept/a/written/b"
            ]
        );
        assert!(
            view.differing()
                .any(|(path, _)| path == Path::new("/work/.git"))
        );
    }

    #[test]
    fn a_link_in_a_closed_folder_leads_nowhere_else() {
        use std::os::unix::fs::symlink;
        let folder = tempfile::tempdir().expect("a folder");
        let root = folder.path().canonicalize().expect("a path");
        for path in ["closed/a", "elsewhere"] {
            std::fs::create_dir_all(root.join(path)).expect("made");
        }
        for (target, link) in [
            (root.join("elsewhere"), "closed/out"),
            ("../elsewhere".into(), "closed/up"),
            ("a".into(), "closed/within"),
            ("out".into(), "closed/two"),
            ("loop".into(), "closed/loop"),
            (root.join("closed/out"), "through"),
            (root.join("closed/a"), "into"),
        ] {
            symlink(target, root.join(link)).expect("linked");
        }
        let mut view = View::default();
        let real = |view: &mut View, path: &str| view.real(&root.join(path));
        for path in ["closed/out", "closed/up", "closed/two", "through"] {
            assert_eq!(
                real(&mut view, path),
                Some(root.join("elsewhere")),
                "{path}"
            );
        }
        view.close(&root.join("closed"));
        for path in [
            "closed/out",
            "closed/up",
            "closed/two",
            "through",
            "closed/loop",
            "closed/gone",
            "through/..",
        ] {
            assert_eq!(real(&mut view, path), None, "{path}");
        }
        for path in ["closed/within", "into", "closed/a/../within"] {
            assert_eq!(real(&mut view, path), Some(root.join("closed/a")), "{path}");
        }
        assert_eq!(view.real(Path::new("relative")), None);
        view.add(&root.join("closed/out"), Access::Write);
        view.add(&root.join("closed/within"), Access::Write);
        assert_eq!(view.rules().count(), 1);
    }
}
