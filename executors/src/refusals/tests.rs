//! Words as programs print them that are held, at the level at which they were heard.

use super::*;
use crate::process::Besides;
use crate::proxy::AllowList;
use tm_sandbox::{Confinement, Level, Limits, View};

/// Its folders: a home that is hidden, a system that is read, and what may be written.
struct Scene {
    folder: tempfile::TempDir,
    sandbox: Sandbox,
    /// Whom a job reaches by a proxy.
    hosts: Option<AllowList>,
}

impl Scene {
    fn new(level: Level, network: Network) -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        let root = folder.path().canonicalize().expect("a path");
        let mut view = View::of_system();
        for (name, access) in [
            ("home", Access::Hidden),
            ("sys", Access::Read),
            ("cache", Access::Layered),
            ("work", Access::Write),
        ] {
            std::fs::create_dir(root.join(name)).expect("made");
            view.add(&root.join(name), access);
        }
        let limits = Limits {
            memory: Some(1 << 29),
            processes: Some(200),
            file_size: Some(1 << 23),
        };
        let confinement = Confinement {
            layers: tm_sandbox::Layers::Gone,
            view,
            working_folder: root.join("work"),
            own_folder: root.join("work"),
            network,
            limits,
        };
        let tm_program = root.join("tm");
        Self {
            folder,
            sandbox: Sandbox {
                group: None,
                stamp: None,
                level,
                confinement,
                tm_program,
            },
            hosts: None,
        }
    }

    /// What is read from words with `R` in place of the folder.
    fn heard(&self, kind: JobKind, words: &str) -> Vec<String> {
        let root = self.folder.path().canonicalize().expect("a path");
        let job = HeldJob {
            sandbox: &self.sandbox,
            needs: &Needs {
                kind,
                own_folder: root.join("work"),
                besides: Besides::default(),
                hosts: self.hosts.clone(),
                network: None,
                only_reads: false,
                said_by_others: Vec::new(),
                pass: Vec::new(),
            },
            folder: &root.join("work"),
            home: Some(&root.join("home")),
        };
        let place = root.display().to_string();
        let heard = job.refused(&Printed::of(&words.replace("R/", &format!("{place}/"))));
        let short = |line: String| {
            let line = line.replace(&place, "R");
            line.replace("the tests' words say: ", "")
        };
        heard.into_iter().map(short).collect()
    }
}

/// What each program said, and what of it is named; nothing after the arrow where it is not the sandbox's.
fn table(level: Level, rows: &str) {
    let scene = Scene::new(level, Network::Off);
    for row in rows.trim().lines() {
        let (words, named) = row.split_once(" => ").unwrap_or((row, ""));
        let named = named.trim_end_matches(" =>");
        let heard = scene.heard(JobKind::Tests, words.trim_end_matches(" =>"));
        assert_eq!(heard.join(" | "), named, "{words}");
    }
}

#[test]
fn what_programs_say_in_namespaces() {
    table(
        Level::Bwrap,
        r#"
sh: 1: cannot create R/home/.bashrc: Read-only file system => tried to write ~/.bashrc: refused (read-only file system); `sandbox.write` lets it be changed
bash: line 1: R/sys/x: Read-only file system => tried to write R/sys/x: refused (read-only file system); `sandbox.write` lets it be changed
R/work/run.sh: line 3: R/sys/x: Read-only file system => tried to write R/sys/x: refused (read-only file system); `sandbox.write` lets it be changed
mkdir: cannot create directory ‘R/sys/a b’: Read-only file system => tried to write R/sys/a b: refused (read-only file system); `sandbox.write` lets it be changed
cp: cannot create regular file 'R/cache/x': Read-only file system => tried to write R/cache/x: refused (read-only file system); `sandbox.write` lets it be changed
OSError: [Errno 30] Read-only file system: 'R/home/.bashrc' => tried to write ~/.bashrc: refused (read-only file system); `sandbox.write` lets it be changed
Error: EROFS: read-only file system, open 'R/home/.bashrc' => tried to write ~/.bashrc: refused (read-only file system); `sandbox.write` lets it be changed
open R/sys/x: read-only file system => tried to write R/sys/x: refused (read-only file system); `sandbox.write` lets it be changed
error: failed to write `R/sys/x`: Read-only file system (os error 30) => tried to write R/sys/x: refused (read-only file system); `sandbox.write` lets it be changed
{"output":"bash: line 1: R/home/x: Read-only file system\nExit code 1"} => tried to write ~/x: refused (read-only file system); `sandbox.write` lets it be changed
cat: R/home/.aws/config: No such file or directory => looked for ~/.aws/config: not there for it; `sandbox.read` shows it
cat: R/sys/none: No such file or directory =>
cat: R/work/none: No such file or directory =>
touch: cannot touch 'R/work/x': Permission denied =>
touch: cannot touch '../work/x': Permission denied =>
touch: cannot touch '../sys/x': Read-only file system => tried to write R/sys/x: refused (read-only file system); `sandbox.write` lets it be changed
touch: cannot touch '/tmp/x': Permission denied =>
curl: (6) Could not resolve host: example.org => wanted example.org: refused (could not resolve host); `sandbox.tests.network: on` opens it
curl: (7) Failed to connect to 93.184.216.34 port 443 after 0 ms: Couldn't connect to server => wanted 93.184.216.34:443: refused (failed to connect to); `sandbox.tests.network: on` opens it
curl: (7) Failed to connect to localhost port 3000 after 0 ms: Couldn't connect to server =>
fatal: unable to access 'https://example.org/x.git/': Could not resolve host: example.org => wanted example.org:443: refused (could not resolve host); `sandbox.tests.network: on` opens it
ssh: Could not resolve hostname example.org: Temporary failure in name resolution => wanted example.org: refused (could not resolve host); `sandbox.tests.network: on` opens it
urllib.error.URLError: <urlopen error [Errno -3] Temporary failure in name resolution> => wanted the network: refused (temporary failure in name resolution); `sandbox.tests.network: on` opens it
OSError: [Errno 101] Network is unreachable => wanted the network: refused (network is unreachable); `sandbox.tests.network: on` opens it
  [cause]: Error: getaddrinfo EAI_AGAIN example.org => wanted example.org: refused (getaddrinfo eai_again); `sandbox.tests.network: on` opens it
Error: connect ENETUNREACH 93.184.216.34:443 - Local (0.0.0.0:0) => wanted 93.184.216.34:443: refused (enetunreach); `sandbox.tests.network: on` opens it
npm error request to https://registry.npmjs.org/left-pad failed, reason: getaddrinfo EAI_AGAIN registry.npmjs.org => wanted registry.npmjs.org:443: refused (getaddrinfo eai_again); `sandbox.tests.network: on` opens it
  [6] Could not resolve hostname (Could not resolve host: index.crates.io) => wanted index.crates.io: refused (could not resolve host); `sandbox.tests.network: on` opens it
run-tests.sh: 4: Cannot fork => wanted another process: refused (cannot fork); `sandbox.processes` allows 200
bash: fork: retry: Resource temporarily unavailable => wanted another process: refused (fork … resource temporarily unavailable); `sandbox.processes` allows 200
timeout: fork system call failed: Resource temporarily unavailable => wanted another process: refused (fork … resource temporarily unavailable); `sandbox.processes` allows 200
error: cannot fork() for ssh: Resource temporarily unavailable => wanted another process: refused (cannot fork); `sandbox.processes` allows 200
read: Resource temporarily unavailable =>
File size limit exceeded => wanted a larger file: refused (file size limit exceeded); `sandbox.file_size` allows 8388608
OSError: [Errno 27] File too large => wanted a larger file: refused (file too large); `sandbox.file_size` allows 8388608
Error: EFBIG: file too large, write => wanted a larger file: refused (efbig); `sandbox.file_size` allows 8388608
MemoryError => wanted more memory: refused (memoryerror); `sandbox.memory` allows 536870912
RangeError: Array buffer allocation failed => wanted more memory: refused (array buffer allocation failed); `sandbox.memory` allows 536870912
FATAL ERROR: CALL_AND_RETRY_LAST Allocation failed - JavaScript heap out of memory => wanted more memory: refused (heap out of memory); `sandbox.memory` allows 536870912
memory allocation of 2147483648 bytes failed => wanted more memory: refused (memory allocation of … failed); `sandbox.memory` allows 536870912
unshare: unshare failed: Operation not permitted => wanted a call that leads out: refused (unshare … operation not permitted)
run-tests.sh: 4: kill: Operation not permitted => wanted a call that leads out: refused (kill … operation not permitted)
all is well, and nothing was refused =>
"#,
    );
}

#[test]
fn what_programs_say_with_landlock() {
    table(
        Level::Landlock,
        r"
sh: 1: cannot create R/home/.bashrc: Permission denied => tried to write ~/.bashrc: refused (permission denied); `sandbox.write` lets it be changed
bash: line 1: R/sys/x: Permission denied => tried to write R/sys/x: refused (permission denied); `sandbox.write` lets it be changed
cat: R/home/.bashrc: Permission denied => wanted ~/.bashrc: refused (permission denied); `sandbox.read` shows it, `sandbox.write` lets it be changed
ls: cannot open directory 'R/home': Permission denied => wanted ~: refused (permission denied); `sandbox.read` shows it, `sandbox.write` lets it be changed
PermissionError: [Errno 13] Permission denied: 'R/sys/xx' => tried to write R/sys/xx: refused (permission denied); `sandbox.write` lets it be changed
Error: EACCES: permission denied, mkdir 'R/sys/xx' => tried to write R/sys/xx: refused (permission denied); `sandbox.write` lets it be changed
fatal: could not create work tree dir 'R/home/xx': Permission denied => tried to write ~/xx: refused (permission denied); `sandbox.write` lets it be changed
bash: line 1: ./run: Permission denied =>
Error: EACCES: permission denied, open 'R/work/locked' =>
Error: connect EACCES 93.184.216.34:443 - Local (0.0.0.0:0) => wanted 93.184.216.34:443: refused (connect eacces); `sandbox.tests.network: on` opens it
OSError: [Errno 97] Address family not supported by protocol => wanted the network: refused (address family not supported); `sandbox.tests.network: on` opens it
",
    );
}

#[test]
fn who_reaches_the_network_is_not_kept_from_it_and_each_kind_of_job_has_its_setting() {
    let words = "curl: (6) Could not resolve host: example.org";
    let named = |network: Network, hosts, kind| {
        let scene = Scene {
            hosts,
            ..Scene::new(Level::Bwrap, network)
        };
        scene.heard(kind, words)
    };
    let nothing = named(Network::On, None, JobKind::Tests);
    assert_eq!(nothing, Vec::<String>::new());
    for (hosts, kind, said) in [
        (
            None,
            JobKind::Agent,
            "its words say: wanted example.org: refused (could not resolve host); `sandbox.agents.network: on` opens it",
        ),
        // Whoever starts it may be another machine, whose proxy nobody knows here.
        (
            Some(AllowList::default()),
            JobKind::Agent,
            "its words say: wanted example.org: refused (could not resolve host); `sandbox.agents.hosts` lets it through the proxy",
        ),
        (
            None,
            JobKind::Setup,
            "the set-up's words say: wanted example.org: refused (could not resolve host); `sandbox.setup.network: on` opens it",
        ),
    ] {
        assert_eq!(named(Network::Off, hosts, kind), [said]);
    }
}

#[test]
fn a_limit_that_is_not_set_refuses_nothing_and_little_is_named_of_much() {
    let mut scene = Scene::new(Level::Bwrap, Network::Off);
    scene.sandbox.confinement.limits = Limits::default();
    let words = "MemoryError\nCannot fork\nFile too large\n";
    assert_eq!(scene.heard(JobKind::Tests, words), Vec::<String>::new());
    let many = |number| format!("curl: (6) Could not resolve host: h{number}.example.org\n");
    let many: String = (0..1_000).map(many).collect();
    assert_eq!(scene.heard(JobKind::Tests, &many.repeat(2)).len(), MOST);
}
