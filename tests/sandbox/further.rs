//! More ways out: by what belongs to no path, or by what no rule for paths is asked about.

use super::ways::{Way, append, run, secret};
use std::fs::{self, File, OpenOptions, Permissions};
use std::io::{self, Write as _};
use std::os::unix::fs::{OpenOptionsExt as _, PermissionsExt as _, chown, symlink};
use std::os::unix::net::{UnixDatagram, UnixStream};
use std::path::Path;
use std::process::Command;

pub(super) const FURTHER: [Way; 50] = [
    ("above where it stands", |_| {
        from_above(Path::new("."), "home/.ssh/id")
    }),
    ("above where other processes stand", |_| {
        of_processes(|process| from_above(&process.join("cwd"), "home/.ssh/id"))
    }),
    ("roots of other processes", |k| {
        let key = k.path("home/.ssh/id");
        let key = key.strip_prefix("/").map_err(io::Error::other)?;
        of_processes(|process| secret(&process.join("root").join(key)))
    }),
    ("what whoever started tm had open", |_| {
        let said = shell("cat <&9")?;
        if said == super::SECRET {
            Ok(())
        } else {
            Err(io::Error::other("nothing is open there"))
        }
    }),
    ("memory that others share", |k| {
        run("ipcrm", &["--shmem-id", &k.shared_memory])
    }),
    ("semaphores of everybody", |_| {
        let outside =
            "test \"$(readlink /proc/self/ns/ipc)\" = \"$WAYS_IPC\" && ipcmk --semaphore 1";
        shell(outside).map(drop)
    }),
    ("limits of another process", |k| {
        let pid = k.pid.to_string();
        run("prlimit", &["--pid", &pid, "--core=0:0"])
    }),
    ("priority of another process", |k| {
        run("renice", &["--priority", "19", "--pid", &k.pid.to_string()])
    }),
    ("priority of the disk for another process", |k| {
        run("ionice", &["--class", "3", "--pid", &k.pid.to_string()])
    }),
    ("processors of another process", |k| {
        let pid = k.pid.to_string();
        run("taskset", &["--pid", "ffffffff", &pid])
    }),
    ("rights of a file elsewhere", |k| {
        fs::set_permissions(k.path("home/.bashrc"), Permissions::from_mode(0o644))
    }),
    ("times of a file elsewhere", |k| {
        let path = k.path("home/.bashrc");
        fs::metadata(&path)?;
        let path = path.display().to_string();
        run("touch", &["--no-create", "--date=@1", &path])
    }),
    ("owner of a file elsewhere", |k| {
        let group = rustix::process::getegid().as_raw();
        chown(k.path("home/.bashrc"), None, Some(group))
    }),
    ("attributes of a file elsewhere", |k| {
        let path = k.path("home/.bashrc").display().to_string();
        by_number(188, &format!("\"{path}\", \"user.tm\", \"1\", 1, 0"))
    }),
    ("cut a file off", |k| {
        let file = k.path("home/.bashrc").display().to_string();
        run("truncate", &["--size=1", &file])
    }),
    ("see what is in the home folder by its name", |k| {
        fs::metadata(k.path("home/.ssh/id")).map(drop)
    }),
    ("watch what is done in the home folder", |k| {
        let path = k.path("home/.ssh").display().to_string();
        let watch = "my $f = syscall(294, 0); exit(syscall(254, $f, PATH, 2) == -1 ? $! + 0 : 0)";
        perl(&watch.replace("PATH", &format!("\"{path}\"")))
    }),
    ("a hard link to a file of a cache", |k| {
        let link = Path::new("a-hard-link");
        fs::hard_link(k.path("caches/cargo/fetched"), link)?;
        let written = append(link);
        fs::remove_file(link)?;
        written
    }),
    ("a link in the place of the result", |k| {
        let link = Path::new("a-link");
        symlink(k.path("home/.ssh/id"), link)?;
        let read = secret(link);
        fs::remove_file(link)?;
        read
    }),
    ("a control group", |_| {
        let groups = glob::glob("/sys/fs/cgroup/**/cgroup.procs").map_err(io::Error::other)?;
        let mut folders = groups
            .flatten()
            .filter_map(|file| Some(file.parent()?.join("tm-test")));
        let made = folders.find(|folder| fs::create_dir(folder).is_ok());
        let made = made.ok_or(io::ErrorKind::PermissionDenied)?;
        fs::remove_dir(made)
    }),
    ("a file among the devices", |_| {
        let file = Path::new("/dev/tm-test");
        File::create(file)?;
        fs::remove_file(file)
    }),
    ("a lease on what others open", |k| {
        let taken = "open(my $f, '<', 'FILE') or exit($! + 0); \
                     exit(syscall(72, fileno($f), 1024, 1) == -1 ? $! + 0 : 0)";
        let file = k.path("checkout/.git/refs/heads/of-others");
        perl(&taken.replace("FILE", &file.display().to_string()))
    }),
    ("what the settings of a submodule name", |k| {
        secret(&k.path("checkout/.git/modules/lib/config"))
    }),
    ("the kernel's messages", |_| append(Path::new("/dev/kmsg"))),
    ("what runs at a time", |_| {
        append(Path::new("/var/spool/cron/crontabs/tm-test"))
    }),
    ("a ring of calls", |_| by_number(425, "8, \"\\0\" x 120")),
    ("keys that the kernel keeps", |_| by_number(250, "0, -4, 1")),
    ("programs in the kernel", |_| {
        by_number(321, "0, pack(\"LLLLx112\", 2, 4, 4, 1), 128")
    }),
    ("counters of others", |_| {
        by_number(
            298,
            "pack(\"LLQQQQQx72\", 1, 120, 0, 0, 0, 0, 0), 0, -1, -1, 0",
        )
    }),
    ("faults of memory", |_| by_number(323, "1")),
    ("a file by its handle", |_| {
        looked_at(304, "-100, pack(\"LLx8\", 8, 1), 0", &[116])
    }),
    ("a user namespace by another interface", |_| {
        by_number(0x4000_0110, "0x10000000")
    }),
    ("who else has sockets", |_| by_number(41, "16, 3, 4")),
    ("a socket that a variable names", |_| {
        let path = std::env::var("WAYS_EDITOR").map_err(io::Error::other)?;
        UnixStream::connect(path).map(drop)
    }),
    ("a socket where no rule speaks of", |k| {
        UnixStream::connect(&k.service).map(drop)
    }),
    ("datagrams by a pair of sockets", |k| {
        let (mine, _other) = UnixDatagram::pair()?;
        let service = k.service.with_file_name("datagrams");
        mine.send_to(b"out", service).map(drop)
    }),
    ("the terminal of whoever started tm", |_| {
        writable(Path::new("/dev/tty")).map(drop)
    }),
    ("a terminal of somebody else's", |k| {
        writable(&k.terminal).map(drop)
    }),
    ("type into a terminal", |_| {
        looked_at(16, "0, 0x5412, \"x\"", &[25, 5])
    }),
    ("its own prompt by what it has open", |_| {
        let input = Path::new("/proc/self/fd/0");
        if fs::read_link(input)? == Path::new("/dev/null") {
            return Err(io::Error::other("it has none"));
        }
        writable(input)?.write_all(b"out")
    }),
    ("trace another process", |k| {
        by_number(101, &format!("16, {}, 0, 0", k.pid))
    }),
    ("what another process has open", |k| {
        let taken = "my $f = syscall(434, PID, 0); exit($! + 0) if $f < 0; \
                     exit(syscall(438, $f, 2, 0) == -1 ? $! + 0 : 0)";
        perl(&taken.replace("PID", &k.pid.to_string()))
    }),
    ("memory of another process by a call", |k| {
        let own = "my $b = \"x\" x 8; my $v = pack(\"PQ\", $b, 8); my $w = pack(\"QQ\", 4096, 8);";
        let read = format!("syscall(310, {}, $v, 1, $w, 1, 0)", k.pid);
        // The kernel looked at the address where it would have read.
        perl(&format!("{own} exit({read} == -1 ? $! + 0 : 0)"))
            .or_else(|error| by_look(error, &[14]))
    }),
    ("scheduling of another process", |k| {
        run("chrt", &["--idle", "--pid", "0", &k.pid.to_string()])
    }),
    ("a signal by a handle", |k| {
        let sent = "my $f = syscall(434, PID, 0); exit($! + 0) if $f < 0; \
                    exit(syscall(424, $f, 0, 0, 0) == -1 ? $! + 0 : 0)";
        perl(&sent.replace("PID", &k.pid.to_string()))
    }),
    ("a socket of the machine around this one", |_| {
        by_number(41, "40, 1, 0")
    }),
    ("what passes on the network", |_| by_number(41, "17, 3, 0")),
    ("a file system by newer calls", |_| {
        by_number(430, "\"tmpfs\\0\", 0")
    }),
    ("a namespace of somebody else's", |k| {
        let path = format!("/proc/{}/ns/mnt", k.pid);
        fs::metadata(&path)?;
        run("nsenter", &[&format!("--mount={path}"), "true"])
    }),
    ("a user namespace by calls of 32 bits", |_| by_32_bits()),
];

/// Opens it for writing, as no terminal of its own.
/// Reads a file below a folder that is somewhere above another one.
fn from_above(folder: &Path, file: &str) -> io::Result<()> {
    let mut refused = Err(io::ErrorKind::NotFound.into());
    for levels in 0..40 {
        refused = secret(&folder.join("../".repeat(levels)).join(file));
        if refused.is_ok() {
            break;
        }
    }
    refused
}

/// Tries something with every process that there is, by its folder.
fn of_processes(way: impl Fn(&Path) -> io::Result<()>) -> io::Result<()> {
    let mut refused = Err(io::ErrorKind::NotFound.into());
    for entry in fs::read_dir("/proc")? {
        let path = entry?.path();
        if path.join("stat").exists() {
            refused = way(&path);
        }
        if refused.is_ok() {
            break;
        }
    }
    refused
}

fn writable(path: &Path) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options
        .read(true)
        .write(true)
        .custom_flags(NO_TERMINAL_OF_ITS_OWN);
    options.open(path)
}

/// `O_NOCTTY`.
const NO_TERMINAL_OF_ITS_OWN: i32 = 0o400;

/// A program for calls of 32 bits, as the kernel reads it: `unshare(CLONE_NEWUSER)`, and whether that was done.
const OF_32_BITS: [u8; 115] = [
    0x7f, b'E', b'L', b'F', 1, 1, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 2, 0, 3, 0, 1, 0, 0, 0, 0x54, 0x80,
    0x04, 0x08, 0x34, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0x34, 0, 0x20, 0, 1, 0, 0, 0, 0, 0, 0, 0, 1,
    0, 0, 0, 0, 0, 0, 0, 0, 0x80, 0x04, 0x08, 0, 0x80, 0x04, 0x08, 0x73, 0, 0, 0, 0x73, 0, 0, 0, 5,
    0, 0, 0, 0, 0x10, 0, 0, // mov eax, 310; mov ebx, CLONE_NEWUSER; int 0x80
    0xb8, 0x36, 1, 0, 0, 0xbb, 0, 0, 0, 0x10, 0xcd, 0x80,
    // mov ebx, eax; neg ebx; mov eax, 1; int 0x80
    0x89, 0xc3, 0xf7, 0xdb, 0xb8, 1, 0, 0, 0, 0xcd, 0x80, 0x90, 0x90, 0x90, 0x90, 0x90, 0x90, 0x90,
    0x90,
];

fn by_32_bits() -> io::Result<()> {
    let program = Path::new("./of-32-bits");
    File::create(program)?.write_all(&OF_32_BITS)?;
    fs::set_permissions(program, Permissions::from_mode(0o700))?;
    let ended = run("./of-32-bits", &[]);
    fs::remove_file(program)?;
    ended
}

#[expect(clippy::disallowed_methods, reason = "tests start programs")]
fn shell(command: &str) -> io::Result<String> {
    let output = Command::new("bash").args(["-c", command]).output()?;
    if output.status.success() {
        Ok(String::from_utf8_lossy(&output.stdout).into_owned())
    } else {
        let words = String::from_utf8_lossy(&output.stderr).into_owned();
        Err(io::Error::other(words.trim_end().to_owned()))
    }
}

/// A call of the kernel's by its number, as processors of one kind have them.
fn by_number(number: u32, arguments: &str) -> io::Result<()> {
    perl(&format!(
        "exit(syscall({number}, {arguments}) == -1 ? $! + 0 : 0)"
    ))
}

/// The same; that the kernel looked at the arguments, which these errors say, is as good as done.
fn looked_at(number: u32, arguments: &str, errors: &[i32]) -> io::Result<()> {
    by_number(number, arguments).or_else(|error| by_look(error, errors))
}

fn by_look(error: io::Error, errors: &[i32]) -> io::Result<()> {
    match error.raw_os_error() {
        Some(number) if errors.contains(&number) => Ok(()),
        _ => Err(error),
    }
}

#[expect(clippy::disallowed_methods, reason = "tests start programs")]
fn perl(script: &str) -> io::Result<()> {
    if std::env::consts::ARCH != "x86_64" {
        return Err(io::Error::other("not tried on this processor"));
    }
    match Command::new("perl").args(["-e", script]).status()?.code() {
        Some(0) => Ok(()),
        Some(code) => Err(io::Error::from_raw_os_error(code)),
        None => Err(io::Error::other("the kernel ended it")),
    }
}
