//! The arguments of bubblewrap: namespaces and mounts. What has to be done within them is the entry's.

use super::sockets::NOTHING;
use crate::view::{Access, View, is_private};
use crate::{Confinement, Network};
use std::ffi::{OsStr, OsString};
use std::io;
use std::path::{Path, PathBuf};

/// Where it is looked for: never in a search path, which a project may lead into its own tree.
const PLACES: [&str; 4] = [
    "/usr/bin/bwrap",
    "/usr/local/bin/bwrap",
    "/bin/bwrap",
    "/run/current-system/sw/bin/bwrap",
];

/// Namespaces of its own. The process goes on when tm dies, so nothing here ties it to who started it.
const NAMESPACES: [&str; 5] = [
    "--unshare-user",
    "--unshare-pid",
    "--unshare-ipc",
    "--unshare-uts",
    "--unshare-cgroup-try",
];

/// The name of its processes.
const NAME: &str = "bwrap";

/// Where a service listens that would look up names for a program without a network, and pass on what is in them.
const RESOLVED: &str = "/run/systemd/resolve";

/// The terminal of whoever started tm: nobody within types there, reads what is typed, or writes on it.
pub(super) const TERMINAL: &str = "/dev/tty";

/// Where a program has devices of its own.
pub(super) const DEVICES: &str = "/dev";

/// What everybody's programs share in memory, below the devices.
pub(super) const SHARED_MEMORY: &str = "/dev/shm";

/// Returns the program.
pub(super) fn program() -> Option<PathBuf> {
    PLACES
        .iter()
        .map(PathBuf::from)
        .find(|place| place.is_file())
}

/// Tells whether a process is one of those that hold a program, which pass on how it ends and no signal.
pub fn is_keeper(pid: u32) -> bool {
    std::fs::read_to_string(format!("/proc/{pid}/comm")).is_ok_and(|name| name.trim_end() == NAME)
}

/// What a program sees, with what it needs to be held.
pub(super) fn seen(confinement: &Confinement, tm_program: &Path) -> View {
    let mut view = confinement.view.clone();
    // One that may be changed would hold the next program, or not.
    if matches!(view.of(tm_program), Access::Hidden | Access::Write) {
        view.insert(tm_program, Access::Read);
    }
    if confinement.network != Network::On {
        view.add(Path::new(RESOLVED), Access::Hidden);
    }
    if let Network::Proxy { folder, .. } = &confinement.network {
        view.add(folder, Access::Read);
    }
    view.pin();
    view
}

/// Returns the words up to the command. Of a confinement with what is [`seen`] all is laid, or what the entry leaves.
pub(super) fn line(confinement: &Confinement, is_laid_within: bool) -> io::Result<Vec<OsString>> {
    let program = program()
        .ok_or_else(|| io::Error::new(io::ErrorKind::NotFound, "bubblewrap is not installed"))?;
    let mut line = Line(vec![program.into()]);
    line.words(&NAMESPACES);
    if confinement.network != Network::On {
        line.words(&["--unshare-net"]);
    }
    line.words(&["--cap-drop", "ALL"]);
    // Given up again by the entry, when layers are in their places, the namespace has its bound and the kernel's settings
    // are read-only. A layer has a folder that nobody may enter.
    for capability in ["CAP_SYS_ADMIN", "CAP_SETPCAP", "CAP_DAC_OVERRIDE"] {
        line.words(&["--cap-add", capability]);
    }
    line.words(&["--ro-bind", "/", "/", "--dev", DEVICES, "--proc", "/proc"]);
    if is_laid_within {
        // A device folder of its own has none of everybody's, which is to be there until the entry covers it; and who keeps
        // the namespace is to stand nowhere below what will be covered.
        let shared = Path::new(SHARED_MEMORY);
        if confinement.view.names(shared) {
            line.paths("--ro-bind-try", &[shared, shared]);
        }
        line.paths("--chdir", &[Path::new("/")]);
    } else {
        line.paths("--ro-bind", &[Path::new(NOTHING), Path::new(TERMINAL)]);
    }
    line.mounts(confinement, is_laid_within);
    // It is as large as half of the memory, and is no process's; what is shared there, and terminals, have their own.
    line.words(&["--remount-ro", DEVICES]);
    line.words(&["--"]);
    Ok(line.0)
}

/// Tells whether a rule is for what may be changed, or for something within that: only who has not made everything read-only
/// yet can lay it.
fn is_of_written(view: &View, path: &Path, access: Access) -> bool {
    view.is_below_written(path) || access == Access::Write && !is_private(path)
}

struct Line(Vec<OsString>);

impl Line {
    fn words(&mut self, words: &[&str]) {
        self.0.extend(words.iter().map(OsString::from));
    }

    fn paths(&mut self, word: &str, paths: &[&Path]) {
        self.0.push(word.into());
        self.0
            .extend(paths.iter().map(|path| OsStr::new(path).to_owned()));
    }

    /// The view, each path behind those above it. After most of what is mounted bubblewrap reads the list of all mounts, so
    /// nothing is mounted that changes nothing.
    fn mounts(&mut self, confinement: &Confinement, is_laid_within: bool) {
        let view = &confinement.view;
        let own = confinement.own_folder.join("tmp");
        let mut emptied = Vec::new();
        for (path, access) in view.differing() {
            match access {
                _ if is_laid_within && !is_of_written(view, path, access) => {}
                // What is private stands where everybody's is.
                _ if is_private(path) => self.paths("--bind", &[&own, path]),
                Access::Hidden if path.is_dir() => {
                    self.paths("--tmpfs", &[path]);
                    emptied.push(path);
                }
                Access::Hidden => self.paths("--ro-bind", &[Path::new(NOTHING), path]),
                Access::Read | Access::Layered => self.paths("--ro-bind-try", &[path, path]),
                Access::Write => self.paths("--bind-try", &[path, path]),
            }
        }
        for path in emptied {
            self.paths("--remount-ro", &[path]);
        }
    }
}
