//! More ways out: by what belongs to no path, or by what no rule for paths is asked about.

use super::ways::{Way, append, run, secret};
use std::fs::{self, Permissions};
use std::io;
use std::os::unix::fs::{PermissionsExt as _, chown, symlink};
use std::path::Path;
use std::process::Command;

pub(super) const FURTHER: [Way; 26] = [
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
        by_number(304, "-100, pack(\"LLx8\", 8, 1), 0").or_else(|error| {
            match error.raw_os_error() {
                // The kernel looked at the handle.
                Some(116) => Ok(()),
                _ => Err(error),
            }
        })
    }),
    ("a user namespace by another interface", |_| {
        by_number(0x4000_0110, "0x10000000")
    }),
    ("who else has sockets", |_| by_number(41, "16, 3, 4")),
];

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
#[expect(clippy::disallowed_methods, reason = "tests start programs")]
fn by_number(number: u32, arguments: &str) -> io::Result<()> {
    if std::env::consts::ARCH != "x86_64" {
        return Err(io::Error::other("not tried on this processor"));
    }
    let script = format!("exit(syscall({number}, {arguments}) == -1 ? $! + 0 : 0)");
    match Command::new("perl").args(["-e", &script]).status()?.code() {
        Some(0) => Ok(()),
        Some(code) => Err(io::Error::from_raw_os_error(code)),
        None => Err(io::Error::other("the kernel ended it")),
    }
}
