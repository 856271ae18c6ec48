//! Rules of Landlock. In namespaces of its own a program needs them for sockets without a path alone, which belong to
//! no file system; elsewhere they are what holds it.

use super::ports;
use crate::view::{Access, View};
use crate::{Confinement, Level, Network};
use landlock::{
    ABI, Access as _, AccessFs, AccessNet, BitFlags, CompatLevel, Compatible as _, PathBeneath,
    PathFd, Ruleset, RulesetAttr as _, RulesetCreated, RulesetCreatedAttr as _, Scope,
};
use rustix::fs::{FileType, fstat};
use std::collections::BTreeSet;
use std::io;
use std::path::{Path, PathBuf};

/// The newest set of rules that this knows.
const KNOWN: ABI = ABI::V7;
/// The oldest set that holds what a view and a network say: with an older one files could be cut off, and every port be
/// reached.
const NEEDED: ABI = ABI::V4;
/// What a job may do with files of its own alone. No file that a program makes has anything of it, and the kernel refuses
/// a hard link, or a new place, by which a file would gain a right: so nothing that lies elsewhere gets a name in a
/// checkout, which whoever works there next could write through, and programs copy it. Before Linux 6.10 there is no
/// such right.
const OF_ITS_OWN: AccessFs = AccessFs::IoctlDev;
/// Devices that every program may use. No terminals: a rule for those that a program makes would hold for all that its
/// user sits at.
const DEVICES: [&str; 5] = [
    "/dev/full",
    "/dev/null",
    "/dev/random",
    "/dev/urandom",
    "/dev/zero",
];

/// Restricts this process for good; ports may be held by whoever started it.
pub(super) fn restrict(
    level: Level,
    confinement: &Confinement,
    has_ports_held: bool,
) -> io::Result<()> {
    let scopes = Scope::from_all(KNOWN);
    let ruleset = Ruleset::default().scope(scopes).map_err(refused)?;
    if level == Level::Bwrap {
        // An old kernel has no such rule, and says so in no other way.
        let _status = ruleset
            .create()
            .and_then(RulesetCreated::restrict_self)
            .map_err(refused)?;
        return Ok(());
    }
    let mut ruleset = ruleset
        .set_compatibility(CompatLevel::HardRequirement)
        .handle_access(AccessFs::from_all(NEEDED))
        .map_err(too_old)?;
    let holds_ports = confinement.network != Network::On && !(has_ports_held && ports::are_held());
    if holds_ports {
        ruleset = ruleset
            .handle_access(AccessNet::from_all(NEEDED))
            .map_err(too_old)?;
    }
    let mut created = ruleset
        .set_compatibility(CompatLevel::BestEffort)
        .handle_access(AccessFs::from_all(KNOWN))
        .and_then(Ruleset::create)
        .map_err(refused)?;
    let (granted, own) = (granted(&confinement.view), own_folders(confinement));
    for folder in listed_alone(&granted, &confinement.view) {
        created = allow(created, folder, AccessFs::ReadDir.into())?;
    }
    for (path, access) in granted {
        let mut rights = rights(access);
        if !is_own(&path, &own) {
            rights &= !OF_ITS_OWN;
        }
        created = allow(created, &path, rights)?;
    }
    for device in DEVICES {
        let rights = AccessFs::from_read(KNOWN) | AccessFs::WriteFile | AccessFs::IoctlDev;
        created = allow(created, Path::new(device), rights)?;
    }
    if holds_ports {
        created = ports::add(created, &confinement.network).map_err(refused)?;
    }
    let _status = created.restrict_self().map_err(refused)?;
    Ok(())
}

/// Says what a kernel lacks that does not have all that is needed.
fn too_old(error: impl std::error::Error) -> io::Error {
    let words = format!("this kernel has no Landlock, or one that is too old: {error}");
    io::Error::new(io::ErrorKind::Unsupported, words)
}

fn refused(error: impl std::error::Error + Send + Sync + 'static) -> io::Error {
    io::Error::other(error)
}

fn rights(access: Access) -> BitFlags<AccessFs> {
    match access {
        Access::Hidden => BitFlags::EMPTY,
        Access::Read | Access::Layered => AccessFs::from_read(KNOWN),
        Access::Write => AccessFs::from_all(KNOWN) & !(AccessFs::MakeBlock | AccessFs::MakeChar),
    }
}

/// Returns the real paths of the job's own folders.
fn own_folders(confinement: &Confinement) -> [PathBuf; 2] {
    let own = [&confinement.working_folder, &confinement.own_folder];
    own.map(|folder| folder.canonicalize().unwrap_or_else(|_| folder.clone()))
}

/// Tells whether what lies at a real path is in one of the job's own folders, or a device.
fn is_own(path: &Path, own: &[PathBuf]) -> bool {
    path.starts_with("/dev") || own.iter().any(|own| path.starts_with(own))
}

fn allow(
    created: RulesetCreated,
    path: &Path,
    mut rights: BitFlags<AccessFs>,
) -> io::Result<RulesetCreated> {
    // What is gone since the rules were made is nothing that anybody could open.
    let Ok(opened) = PathFd::new(path) else {
        return Ok(created);
    };
    let is_folder =
        fstat(&opened).is_ok_and(|found| FileType::from_raw_mode(found.st_mode).is_dir());
    if !is_folder {
        rights &= AccessFs::from_file(KNOWN);
    }
    if rights.is_empty() {
        return Ok(created);
    }
    created
        .add_rule(PathBeneath::new(opened, rights))
        .map_err(refused)
}

/// Where the settings of the system are.
const OF_SETTINGS: &str = "/etc";

/// Returns what is to be granted: a right holds for everything below a folder and nothing takes it away again, so a folder
/// with something below that has less is granted piece by piece.
fn granted(view: &View) -> Vec<(PathBuf, Access)> {
    let mut granted = Vec::new();
    grant(view, Path::new("/"), &mut granted);
    granted
}

/// Returns the folders of the system's settings, and of tools of the user's, that are granted piece by piece: what is closed in
/// them is, and names are no secrets there.
fn listed_alone<'a>(granted: &'a [(PathBuf, Access)], view: &View) -> BTreeSet<&'a Path> {
    let paths = granted.iter().map(|(path, _)| &**path);
    let whole: BTreeSet<&Path> = paths.clone().collect();
    let above = paths.flat_map(|path| path.ancestors().skip(1));
    let is_one =
        |folder: &&Path| folder.starts_with(OF_SETTINGS) || view.of(folder) == Access::Layered;
    above
        .filter(is_one)
        .filter(|folder| !whole.contains(folder))
        .collect()
}

fn grant(view: &View, path: &Path, granted: &mut Vec<(PathBuf, Access)>) {
    // Of devices only a few are anybody's.
    let own = match path.as_os_str().as_encoded_bytes() {
        b"/dev" => Access::Hidden,
        _ => view.of(path),
    };
    let below = || view.rules_below(path);
    // In a folder that may be written there is no way to except something without forbidding new files in it.
    if own != Access::Write && below().any(|(_, access)| access < own) {
        // What can't be listed can't be read either.
        for entry in std::fs::read_dir(path).into_iter().flatten().flatten() {
            if !entry.file_type().is_ok_and(|kind| kind.is_symlink()) {
                grant(view, &entry.path(), granted);
            }
        }
        return;
    }
    if own != Access::Hidden {
        granted.push((path.to_owned(), own));
    }
    let mut done: Option<&Path> = None;
    for (rule, _) in below() {
        if done.is_none_or(|done| !rule.starts_with(done)) {
            done = Some(rule);
            grant(view, rule, granted);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    #[test]
    fn a_folder_with_something_hidden_below_is_granted_piece_by_piece() {
        let folder = tempfile::tempdir().expect("a folder");
        let root = folder.path().canonicalize().expect("a path");
        for path in [
            "read/secret",
            "read/open",
            "hidden/work/.git",
            "hidden/else",
        ] {
            fs::create_dir_all(root.join(path)).expect("made");
        }
        let mut view = View::default();
        for (path, access) in [
            ("", Access::Hidden),
            ("read", Access::Read),
            ("read/secret", Access::Hidden),
            ("hidden/work", Access::Write),
            ("hidden/work/.git", Access::Read),
        ] {
            view.add(&root.join(path), access);
        }
        let mut granted = Vec::new();
        grant(&view, &root, &mut granted);
        let names: Vec<(&str, Access)> = granted
            .iter()
            .map(|(path, access)| {
                let path = path.strip_prefix(&root).expect("below").to_str();
                (path.expect("text"), *access)
            })
            .collect();
        assert_eq!(
            names,
            [
                ("hidden/work", Access::Write),
                ("hidden/work/.git", Access::Read),
                ("read/open", Access::Read)
            ]
        );
    }

    #[test]
    fn names_in_settings_of_the_system_are_listed_where_something_in_them_is_closed() {
        let granted = [
            "/etc/hosts",
            "/etc/ssl/certs",
            "/etc/ssh",
            "/usr",
            "/var/lib/dpkg",
        ];
        let granted = granted.map(|path| (PathBuf::from(path), Access::Read));
        let mut view = View::default();
        let listed: Vec<&Path> = listed_alone(&granted, &view).into_iter().collect();
        assert_eq!(listed, [Path::new("/etc"), Path::new("/etc/ssl")]);
        view.insert(Path::new("/var/lib"), Access::Layered);
        let listed: Vec<&Path> = listed_alone(&granted, &view).into_iter().collect();
        assert_eq!(listed[2..], [Path::new("/var/lib")]);
    }
}
