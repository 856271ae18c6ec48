//! What is mounted within: layers over folders that look changed to the program alone, and the kernel's settings read-only.

use crate::view::Access;
use crate::{Confinement, Layers};
use nix::sched::{CloneFlags, unshare};
use rustix::fs::{StatVfsMountFlags, statvfs};
use rustix::mount::{MountFlags, mount, mount_bind, mount_bind_recursive, mount_remount};
use rustix::process::{getgid, getuid};
use rustix::thread::{
    CapabilitySet, CapabilitySets, clear_ambient_capability_set,
    remove_capability_from_bounding_set, set_capabilities,
};
use std::ffi::CString;
use std::fs::{File, OpenOptions, create_dir, create_dir_all};
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::io::{self, Write as _};
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

/// What this process mounts on top of what bubblewrap did.
#[derive(Debug, Default)]
pub(super) struct Mounts {
    /// Whether it is known who may mount here.
    is_settled: bool,
}

impl Mounts {
    /// Mounts something; where nothing was yet and that is refused, once more in a namespace of its own: bubblewrap puts a
    /// program of a normal user's into a namespace within the one that its mounts belong to, and nobody mounts from there.
    /// Returns what came of it.
    ///
    /// # Errors
    /// This process could not stay who it is.
    pub(super) fn mount(
        &mut self,
        mount: impl Fn() -> io::Result<()>,
    ) -> io::Result<io::Result<()>> {
        let mounted = mount();
        let is_refused = |error: &io::Error| error.kind() == io::ErrorKind::PermissionDenied;
        let is_refused = mounted.as_ref().is_err_and(is_refused);
        let was_settled = self.is_settled;
        self.is_settled |= is_refused || mounted.is_ok();
        if is_refused && !was_settled && own_mounts()? {
            return Ok(mount());
        }
        Ok(mounted)
    }
}

/// Makes what is mounted at a path read-only, and leaves all else about it as it is: what a mount was once kept from, nobody
/// in a namespace below gives back to it.
pub(super) fn keep(path: &Path) -> io::Result<()> {
    const SAME: [(StatVfsMountFlags, MountFlags); 4] = [
        (StatVfsMountFlags::NOEXEC, MountFlags::NOEXEC),
        (StatVfsMountFlags::NOATIME, MountFlags::NOATIME),
        (StatVfsMountFlags::NODIRATIME, MountFlags::NODIRATIME),
        (StatVfsMountFlags::RELATIME, MountFlags::RELATIME),
    ];
    let has = statvfs(path)?.f_flag;
    let same = SAME.iter().filter(|(flag, _)| has.contains(*flag));
    let same: MountFlags = same.map(|(_, flag)| *flag).collect();
    let read_only = MountFlags::BIND | MountFlags::RDONLY;
    Ok(mount_remount(path, read_only | LIMITED | same, "")?)
}

/// Lays a layer over every folder that is to have one, in a file system of the program's own. One that can't have one
/// stays read-only: a layer is a comfort, and its absence opens nothing. A layer shows what lies in its folder, whatever is
/// mounted there, so what is hidden in it is hidden once more.
///
/// # Errors
/// This process could not stay who it is, or something could not be hidden again.
pub(super) fn lay(confinement: &Confinement, mounts: &mut Mounts) -> io::Result<()> {
    let rules = confinement.view.differing();
    for (path, _) in rules.filter(|(_, access)| *access == Access::Layered) {
        let layer = Layer::of(path, confinement);
        let Ok(()) = mounts.mount(|| layer.lay())? else {
            continue;
        };
        let below = confinement.view.rules_below(path);
        for (hidden, _) in below.filter(|(_, access)| *access == Access::Hidden) {
            mounts.mount(|| hide(hidden, &confinement.own_folder))??;
        }
    }
    Ok(())
}

/// Puts something empty in the place of what lies at a path: tools that look into a file there find nothing in it.
fn hide(path: &Path, own_folder: &Path) -> io::Result<()> {
    if path.is_dir() {
        mount("tmpfs", path, "tmpfs", LIMITED, c"mode=0755")?;
    } else {
        let empty = own_folder.join("nothing");
        File::create(&empty)?;
        mount_bind(empty, path)?;
    }
    keep(path)
}

/// Gives this process a namespace of mounts that it may change, and tells whether it could.
fn own_mounts() -> io::Result<bool> {
    let (user, group) = (getuid().as_raw(), getgid().as_raw());
    if unshare(CloneFlags::CLONE_NEWUSER | CloneFlags::CLONE_NEWNS).is_err() {
        return Ok(false);
    }
    let maps = [
        // Groups are mapped by who can't change their own any more.
        ("/proc/self/setgroups", "deny".to_owned()),
        ("/proc/self/uid_map", format!("{user} {user} 1")),
        ("/proc/self/gid_map", format!("{group} {group} 1")),
    ];
    for (path, text) in maps {
        let mut file = OpenOptions::new().write(true).open(path)?;
        file.write_all(text.as_bytes())?;
    }
    Ok(true)
}

/// No program gains rights by a file there, and no file is a device.
pub(super) const LIMITED: MountFlags = MountFlags::NOSUID.union(MountFlags::NODEV);

/// The part of a layer that is written, in its folder.
const WRITTEN: &str = "upper";

/// What lies over a folder.
struct Layer<'a> {
    path: &'a Path,
    /// Where it is written.
    own: PathBuf,
    /// What was kept, between the two.
    between: Option<PathBuf>,
    /// Whether it is kept itself.
    is_kept: bool,
}

impl<'a> Layer<'a> {
    fn of(path: &'a Path, confinement: &Confinement) -> Self {
        let mut name = DefaultHasher::new();
        path.hash(&mut name);
        let name = format!("{:016x}", name.finish());
        let gone = || confinement.own_folder.join("layers").join(&name);
        let (own, between) = match &confinement.layers {
            Layers::Gone => (gone(), None),
            Layers::Kept(folder) => (folder.join(&name), None),
            Layers::Above(folder) => (gone(), Some(folder.join(&name).join(WRITTEN))),
        };
        let between = between.filter(|folder| folder.is_dir());
        Self {
            path,
            own,
            between,
            is_kept: matches!(confinement.layers, Layers::Kept(_)),
        }
    }

    /// Makes the folder that the file system keeps for itself. Where what is written does not go to the disk it takes none
    /// that it had before.
    fn work(&self) -> io::Result<PathBuf> {
        if self.is_kept {
            let work = self.own.join("work");
            return create_dir_all(&work).map(|()| work);
        }
        for number in 0.. {
            let work = self.own.join(format!("work-{number}"));
            match create_dir(&work) {
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
                made => return made.map(|()| work),
            }
        }
        Err(io::ErrorKind::AlreadyExists.into())
    }

    fn lay(&self) -> io::Result<()> {
        let upper = self.own.join(WRITTEN);
        create_dir_all(&upper)?;
        let work = self.work()?;
        let mut options = b"userxattr,lowerdir=".to_vec();
        if let Some(between) = &self.between {
            options.extend(escaped(between));
            options.push(b':');
        }
        options.extend(escaped(self.path));
        options.extend([b",upperdir=".to_vec(), escaped(&upper)].concat());
        options.extend([b",workdir=".to_vec(), escaped(&work)].concat());
        if !self.is_kept {
            // Else the end of the namespace waits until all of it is on the disk, where nobody ever reads it.
            options.extend(b",volatile");
        }
        let options = CString::new(options)?;
        Ok(mount(
            "overlay",
            self.path,
            "overlay",
            LIMITED,
            options.as_c_str(),
        )?)
    }
}

/// A path among options, whose characters it may have.
pub(super) fn escaped(path: &Path) -> Vec<u8> {
    let bytes = path.as_os_str().as_bytes().iter();
    let escaped = bytes.flat_map(|&byte| {
        let escape = matches!(byte, b',' | b':' | b'\\').then_some(b'\\');
        escape.into_iter().chain([byte])
    });
    escaped.collect()
}

/// What of the kernel's own can be changed by files, in a folder of processes that is the namespace's: whoever started as
/// the superuser owns them, and needs no capability.
const OF_KERNEL: [&str; 8] = [
    "/proc/acpi",
    "/proc/bus",
    "/proc/fs",
    "/proc/irq",
    "/proc/mtrr",
    "/proc/scsi",
    "/proc/sys",
    "/proc/sysrq-trigger",
];
/// One of them that leads out where it can be written.
const LEADS_OUT: &str = "/proc/sys/kernel/core_pattern";

/// Makes the kernel's settings read-only.
///
/// # Errors
/// They can't be, and this process could change them.
pub(super) fn keep_kernel() -> io::Result<()> {
    let kept = OF_KERNEL.iter().try_for_each(|path| {
        if !Path::new(path).exists() {
            return Ok(());
        }
        mount_bind_recursive(*path, *path)?;
        keep(Path::new(path))
    });
    let is_writable = || rustix::fs::access(LEADS_OUT, rustix::fs::Access::WRITE_OK).is_ok();
    match kept {
        Err(error) if is_writable() => Err(error),
        Ok(()) | Err(_) => Ok(()),
    }
}

/// Gives up every capability for good, those that a program of the superuser's would get again too.
pub(super) fn give_up_capabilities() -> io::Result<()> {
    clear_ambient_capability_set()?;
    for capability in CapabilitySet::all().iter() {
        // One that this kernel does not know, or that nobody had.
        let _not_there = remove_capability_from_bounding_set(capability);
    }
    let none = CapabilitySet::empty();
    Ok(set_capabilities(
        None,
        CapabilitySets {
            effective: none,
            permitted: none,
            inheritable: none,
        },
    )?)
}
