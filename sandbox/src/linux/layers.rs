//! Folders that look changed to the program alone: a layer of its own lies over each.

use crate::Confinement;
use crate::view::Access;
use rustix::mount::{MountFlags, mount};
use rustix::thread::{
    CapabilitySet, CapabilitySets, clear_ambient_capability_set,
    remove_capability_from_bounding_set, set_capabilities,
};
use std::ffi::CString;
use std::fs::create_dir_all;
use std::io;
use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;

/// Lays a layer over every folder that is to have one, in a file system of the program's own. One that can't have one
/// stays read-only: a layer is a comfort, and its absence opens nothing.
pub(super) fn lay(confinement: &Confinement) {
    let layered = confinement
        .view
        .rules()
        .filter(|(_, access)| *access == Access::Layered);
    for (number, (path, _)) in layered.enumerate() {
        let own = confinement
            .own_folder
            .join("layers")
            .join(number.to_string());
        let _stays_read_only = lay_over(path, &own);
    }
}

fn lay_over(path: &Path, own: &Path) -> io::Result<()> {
    let (upper, work) = (own.join("upper"), own.join("work"));
    create_dir_all(&upper)?;
    create_dir_all(&work)?;
    let mut options = b"userxattr".to_vec();
    for (name, folder) in [("lowerdir", path), ("upperdir", &upper), ("workdir", &work)] {
        options.extend([b",", name.as_bytes(), b"="].concat());
        // Characters that the options themselves have.
        for byte in folder.as_os_str().as_bytes() {
            if matches!(byte, b',' | b':' | b'\\') {
                options.push(b'\\');
            }
            options.push(*byte);
        }
    }
    let options = CString::new(options)?;
    Ok(mount(
        "overlay",
        path,
        "overlay",
        MountFlags::NOSUID | MountFlags::NODEV,
        options.as_c_str(),
    )?)
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
