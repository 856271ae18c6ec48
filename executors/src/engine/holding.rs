//! How jobs are held: what each kind of them sees of what belongs to the user and to tm.
//!
//! Agents write code, and tests run what they wrote, so neither is asked to keep to its place. Knows kinds of jobs and
//! their folders, neither tasks nor what a job prints.

use crate::environment::logins;
use crate::process::{Besides, Caches, JobKind, Needs, TreeCommand, stamp_of};
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};
use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};
use tm_sandbox::{
    Access, Confinement, Found, Layers, Level, Limits, Network, Refused, Sandbox, View, Wanted,
    find,
};

/// How the jobs of a project are held.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub struct Holding {
    /// Which means were asked for.
    pub wanted: Wanted,
    /// By which means; without one nothing is started, since holding was asked for and nothing of it works here.
    #[serde(skip)]
    pub level: Option<Level>,
    /// What stood in the way of a better one, with what helps.
    #[serde(skip)]
    pub refused: Vec<Refused>,
    /// This program.
    pub tm_program: PathBuf,
    /// What belongs to the user or to tm: no job sees it but for what it needs of it.
    pub hidden: Vec<PathBuf>,
    /// What of that every job may read.
    pub read: Vec<PathBuf>,
    /// What of that every job may change.
    pub write: Vec<PathBuf>,
    /// What a job may use up.
    pub limits: Limits,
    /// Hosts that every agent reaches besides its own, where they reach no others.
    pub hosts: Option<Vec<String>>,
    /// What each kind of job reaches of the network.
    pub networks: BTreeMap<JobKind, Network>,
}

/// What makes terminals, and where they are.
const TERMINALS: [&str; 2] = ["/dev/ptmx", "/dev/pts"];
/// What helps where a level works without limits alone.
const RAISE_LIMITS: &str = "without limits it does: raise `sandbox.memory` (`8GiB`, a number alone is bytes) or `sandbox.processes`";
/// Folders of programs that hold no links to what is hidden.
const OF_SYSTEM: [&str; 4] = ["/usr/bin", "/bin", "/usr/sbin", "/sbin"];
/// So many folders with programs are looked for at most from one in the search path.
const MOST_FOLDERS: usize = 64;
/// Folders beside one with programs, in which they look for what belongs to them.
const BESIDE_PROGRAMS: [&str; 3] = ["lib", "lib64", "libexec"];

/// Looks which means work here, and what stands in the way of better ones.
pub fn find_level(wanted: Wanted, limits: Limits) -> Found {
    let tm_program = std::env::current_exe().unwrap_or_default();
    find_level_by(wanted, limits, &tm_program)
}

fn find_level_by(wanted: Wanted, limits: Limits, tm_program: &Path) -> Found {
    let own = tempfile::tempdir();
    let own_folder = own
        .as_ref()
        .map_or(PathBuf::new(), |own| own.path().to_owned());
    // What is missing then fails the try, with its words.
    let _made = std::fs::create_dir(own_folder.join("tmp"));
    let mut view = View::of_system();
    view.add(&own_folder, Access::Write);
    let mut confinement = Confinement {
        view,
        working_folder: "/".into(),
        own_folder,
        layers: Layers::Gone,
        network: Network::Off,
        limits,
    };
    let mut found = find(wanted, &confinement, tm_program);
    if wanted == Wanted::Auto && found.level == Some(Level::None) {
        confinement.limits = Limits::default();
        let unlimited = find(wanted, &confinement, tm_program);
        if unlimited.level != Some(Level::None) {
            // Whoever asks for limits has asked for no less holding.
            found.level = None;
            for refused in &mut found.refused {
                refused.remedy = RAISE_LIMITS;
            }
        }
    }
    found
}

impl Holding {
    /// Returns the same for this machine, where other means may work and this program lie elsewhere.
    pub(super) fn here(self) -> Self {
        let Found { level, refused } = find_level(self.wanted, self.limits);
        Self {
            level,
            refused,
            tm_program: std::env::current_exe().unwrap_or_default(),
            ..self
        }
    }

    /// Says in a line how jobs are held, and what stands in the way of more.
    pub fn describe(&self) -> String {
        let level = self.level.map_or("not to be had", Level::as_str);
        let refused: Vec<String> = self.refused.iter().map(Refused::to_string).collect();
        let level = match refused.as_slice() {
            [] => level.to_owned(),
            _ => format!("{level} ({})", refused.join("; ")),
        };
        match self.leak() {
            Some(leak) => format!("{level}; {leak}"),
            None => level,
        }
    }

    /// Says whom agents reach besides those that they are to reach. Rules of Landlock have ports and no addresses, and servers
    /// that agents start themselves have to be reached.
    pub fn leak(&self) -> Option<String> {
        let leaks =
            self.level == Some(Level::Landlock) && self.network(JobKind::Agent) != Network::On;
        leaks.then(|| {
            let ports = tm_sandbox::ports_of_servers();
            let (first, last) = (ports.start(), ports.end());
            format!("agents reach every host at each second port from {first} to {last}")
        })
    }

    /// Whether a program that needs nothing is held as ever; blocks for some milliseconds.
    pub(super) fn still_holds(&self) -> bool {
        let Some(level) = self.level else {
            return false;
        };
        let found = find_level_by(Wanted::Exactly(level), self.limits, &self.tm_program);
        found.level == Some(level)
    }

    /// Whether anything is held.
    pub fn holds(&self) -> bool {
        self.level != Some(Level::None)
    }

    /// Whether something in a folder that a job writes can be kept from it. Landlock's rules except nothing there.
    pub fn excepts(&self) -> bool {
        self.level != Some(Level::Landlock)
    }

    /// Whether jobs are held and only read what they can't write: what they write can't lie on top of it.
    pub fn only_reads_caches(&self) -> bool {
        self.holds() && self.level != Some(Level::Bwrap)
    }

    /// Returns how a job is held; `None` where it is not.
    pub(super) fn of(&self, command: &TreeCommand) -> Option<Sandbox> {
        let needs = command.needs.as_ref()?;
        let level = self.level.filter(|level| *level != Level::None)?;
        Some(Sandbox {
            group: None,
            stamp: stamp_of(&command.env_markers).filter(|_| level == Level::Landlock),
            level,
            tm_program: self.tm_program.clone(),
            confinement: Confinement {
                view: self.view(command, needs),
                working_folder: command.working_folder.clone(),
                own_folder: needs.own_folder.clone(),
                layers: match &needs.besides.caches {
                    Caches::Written => Layers::Gone,
                    Caches::Layered(layers) => layers.clone(),
                },
                network: needs
                    .network
                    .clone()
                    .unwrap_or_else(|| self.network(needs.kind)),
                limits: self.limits,
            },
        })
    }

    fn network(&self, kind: JobKind) -> Network {
        self.networks.get(&kind).cloned().unwrap_or_default()
    }

    fn view(&self, command: &TreeCommand, needs: &Needs) -> View {
        let mut view = View::of_system();
        // Whoever worked there before may have left links.
        view.close(&command.working_folder);
        for path in needs.besides.write.iter().chain(&self.write) {
            view.close(path);
        }
        let all = |paths: &[PathBuf], access, view: &mut View| {
            for path in paths {
                view.add(path, access);
            }
        };
        all(&self.hidden, Access::Hidden, &mut view);
        all(&self.read, Access::Read, &mut view);
        all(&self.write, Access::Write, &mut view);
        all(&needs.besides.read, Access::Read, &mut view);
        all(&needs.besides.write, Access::Write, &mut view);
        if needs.besides.terminals && self.level == Some(Level::Landlock) {
            for device in TERMINALS {
                view.add(Path::new(device), Access::Write);
            }
        }
        let of_work = if needs.only_reads {
            Access::Read
        } else {
            Access::Write
        };
        view.add(&command.working_folder, of_work);
        view.add(&needs.own_folder, Access::Write);
        let search_path = command.search_path().unwrap_or_default();
        for folder in std::env::split_paths(&search_path).filter(|path| path.is_absolute()) {
            self.open_programs(&folder, &mut view);
        }
        for folder in &needs.besides.programs {
            self.open_programs(folder, &mut view);
        }
        self.open(&self.tm_program, Access::Read, &mut view);
        self.open_program(command, &search_path, &mut view);
        // Not what its arguments name by now: they may hold a prompt, in which tests and other agents have their words.
        for path in needs.besides.named.iter().filter(|path| path.is_file()) {
            self.open(path, Access::Read, &mut view);
        }
        let named = match &needs.besides.caches {
            Caches::Written => Access::Write,
            Caches::Layered(layers) => {
                match layers {
                    Layers::Gone => {}
                    Layers::Kept(folder) => view.add(folder, Access::Write),
                    Layers::Above(folder) => view.add(folder, Access::Read),
                }
                Access::Layered
            }
        };
        let started_in = std::env::current_dir().and_then(|folder| folder.canonicalize());
        // Where tm was started is told by variables of many programs, and is nothing that a job needs.
        let holds_start = |path: &Path| started_in.as_ref().is_ok_and(|at| at.starts_with(path));
        for (name, value) in &command.environment {
            let is_of_tm = name.as_bytes().starts_with(b"TM_");
            let is_of_others = needs
                .said_by_others
                .iter()
                .any(|other| name == other.as_str());
            for path in std::env::split_paths(value) {
                if name != "PATH" && !is_of_tm && !is_of_others && path.is_absolute() {
                    self.open_named(&path, named, &holds_start, &mut view);
                }
            }
        }
        if named != Access::Write {
            hide_logins(&command.environment, &mut view);
        }
        view
    }

    /// Returns what a person's command, which is held, is given of the programs and files that it names by their paths: the
    /// folder of each with what belongs to programs there, unless that is one of those that are hidden as a whole.
    pub fn named_in(&self, command: &str) -> Besides {
        let is_between = |letter: char| letter.is_whitespace() || "'\"=;|&()<>".contains(letter);
        let paths = command.split(is_between).map(PathBuf::from);
        let mut named = Besides::default();
        for path in paths.filter(|path| path.is_absolute() && path.is_file()) {
            let folder = path.parent().unwrap_or(&path).to_owned();
            if self.hidden.iter().any(|hidden| hidden.starts_with(&folder)) {
                named.read.push(path);
            } else {
                named.programs.push(folder);
            }
        }
        named
    }

    /// Opens what is hidden, unless something hidden is below it.
    fn open(&self, path: &Path, access: Access, view: &mut View) {
        let Some(real) = view.real(path) else {
            return;
        };
        let holds_hidden = self.hidden.iter().any(|hidden| hidden.starts_with(&real));
        if view.of(&real) == Access::Hidden && !holds_hidden {
            view.add(&real, access);
        }
    }

    /// Opens what a variable names, unless it is passed over: files and folders, and no socket, by which whoever listens would
    /// work for the job.
    fn open_named(
        &self,
        path: &Path,
        access: Access,
        is_passed_over: &dyn Fn(&Path) -> bool,
        view: &mut View,
    ) {
        let real = view.real(path).filter(|real| {
            let is_shown = real.is_dir() || real.is_file();
            is_shown && !is_passed_over(real) && !View::is_of_others(real)
        });
        if let Some(real) = real {
            self.open(&real, access, view);
        }
    }

    /// Opens a folder with programs, and those to which its links lead: programs of a language are often links to where
    /// one of its versions is, and those to further ones.
    fn open_programs(&self, folder: &Path, view: &mut View) {
        let mut folders = vec![folder.to_owned()];
        let mut seen = BTreeSet::from(OF_SYSTEM.map(PathBuf::from));
        while let Some(folder) = folders.pop() {
            if seen.len() > MOST_FOLDERS || !seen.insert(folder.clone()) {
                continue;
            }
            let entries = tm_untrusted::entries(&folder);
            let links =
                entries.filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_symlink()));
            let programs = links.filter_map(|link| view.real(&link.path()));
            let further = programs.filter_map(|real| Some(real.parent()?.to_owned()));
            folders.extend(further);
            self.open_with_beside(&folder, view);
        }
    }

    fn open_with_beside(&self, folder: &Path, view: &mut View) {
        // What chooses among versions of a language has them beside the words by which it is called.
        let shims = folder.parent().filter(|_| folder.ends_with("shims"));
        self.open(shims.unwrap_or(folder), Access::Read, view);
        if folder.ends_with("bin")
            && let Some(above) = folder.parent()
        {
            for name in BESIDE_PROGRAMS {
                self.open(&above.join(name), Access::Read, view);
            }
            // Says of an environment of Python which installation it is one of.
            self.open(&above.join("pyvenv.cfg"), Access::Read, view);
        }
    }

    /// Opens the program itself, which a link may stand for, with the packages that it is one of.
    fn open_program(&self, command: &TreeCommand, search_path: &OsStr, view: &mut View) {
        let found = which::which_in(&command.program, Some(search_path), &command.working_folder);
        let Some(real) = found.ok().and_then(|path| view.real(&path)) else {
            return;
        };
        let packages = real
            .ancestors()
            .filter(|above| above.ends_with("node_modules") || above.ends_with("site-packages"))
            .last();
        self.open(packages.unwrap_or(&real), Access::Read, view);
    }
}

/// Hides the logins in the folders that variables name, but for what somebody has named itself.
fn hide_logins(variables: &[(OsString, OsString)], view: &mut View) {
    for (variable, login) in logins() {
        let named = variables.iter().filter(|(name, _)| name == variable);
        for folder in named.flat_map(|(_, value)| std::env::split_paths(value)) {
            view.hide(&folder.join(login));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_rules_for_ports_leave_open_is_said_with_the_level() {
        let said = |level, network| {
            let holding = Holding {
                wanted: Wanted::Auto,
                level: Some(level),
                refused: Vec::new(),
                tm_program: PathBuf::new(),
                hidden: Vec::new(),
                read: Vec::new(),
                write: Vec::new(),
                limits: Limits::default(),
                hosts: None,
                networks: BTreeMap::from([(JobKind::Agent, network)]),
            };
            holding.describe()
        };
        assert_eq!(said(Level::Landlock, Network::On), "landlock");
        assert_eq!(said(Level::Bwrap, Network::Off), "bwrap");
        assert_eq!(
            said(Level::Landlock, Network::Off),
            format!(
                "landlock; agents reach every host at each second port from {} to {}",
                tm_sandbox::ports_of_servers().start(),
                tm_sandbox::ports_of_servers().end()
            )
        );
    }
}
