//! Where the socket lies through which the live run is steered, and how others find it.
//!
//! It lies in a folder of the project that only its owner can enter. A path of a socket holds about a hundred bytes;
//! where the project's is longer, or its file system has no sockets, the socket lies in a short temporary folder, as
//! private. The file `control/socket` says where. Knows nothing of what is said over it.

use super::ProjectDirectory;
use crate::file_system::create_private;
use crate::{Error, atomic};
use std::fs::{self, Permissions};
use std::io;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::{FileTypeExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};

/// The longest path of a socket in bytes that every system takes (macOS: 104 with the byte at the end).
const LONGEST: usize = 100;
/// The file that holds the path of the socket.
const POINTER: &str = "socket";
/// It is no longer: paths are not.
const POINTER_BYTES: u64 = 4 * 1024;
/// The name of the socket itself.
const SOCKET: &str = "tm.sock";

/// The place of the socket of the live run; dropping it removes the socket and what points to it.
#[derive(Debug)]
pub struct ControlSocket {
    socket: PathBuf,
    pointer: PathBuf,
}

impl ControlSocket {
    /// Has `bind` make the socket at the first place where it can: in the project's folder, or in a new folder of its
    /// own within one of `others`. What a dead run has left there is removed, so only the holder of the run lock may
    /// call this.
    ///
    /// # Errors
    /// There is no place for the socket; holds why the last one was none.
    pub fn open<T>(
        project: &ProjectDirectory,
        others: &[PathBuf],
        mut bind: impl FnMut(&Path) -> io::Result<T>,
    ) -> Result<(Self, T), Error> {
        let folder = project.control_folder();
        create_private(&folder)?;
        fs::set_permissions(&folder, Permissions::from_mode(0o700))
            .map_err(Error::write(&folder))?;
        let pointer = folder.join(POINTER);
        remove_old(&pointer);
        let own = folder.join(SOCKET);
        let mut why = Error::write(&own)(io::Error::from(io::ErrorKind::InvalidFilename));
        let places = std::iter::once(Ok(own)).chain(others.iter().map(|other| short_place(other)));
        for place in places {
            let bound = place.and_then(|socket| match bind_at(&socket, &mut bind) {
                Ok(bound) => Ok((socket, bound)),
                Err(error) => {
                    remove_folder_of(&socket, &folder);
                    Err(Error::write(&socket)(error))
                }
            });
            match bound {
                Ok((socket, bound)) => {
                    let control = Self { socket, pointer };
                    let path = control.socket.as_os_str().as_bytes();
                    atomic::replace_own(&control.pointer, path)
                        .map_err(Error::write(&control.pointer))?;
                    return Ok((control, bound));
                }
                Err(error) => why = error,
            }
        }
        Err(why)
    }

    /// Returns where the socket of the live run is, nothing when there is none.
    pub fn of(project: &ProjectDirectory) -> Option<PathBuf> {
        pointed_to(&project.control_folder().join(POINTER))
    }

    /// Returns the socket.
    pub fn path(&self) -> &Path {
        &self.socket
    }
}

impl Drop for ControlSocket {
    fn drop(&mut self) {
        remove_old(&self.pointer);
    }
}

/// Makes the socket and closes it to everybody else; the folder around it has kept them out until then.
fn bind_at<T>(socket: &Path, bind: &mut impl FnMut(&Path) -> io::Result<T>) -> io::Result<T> {
    if socket.as_os_str().len() > LONGEST {
        return Err(io::ErrorKind::InvalidFilename.into());
    }
    if is_socket(socket) {
        fs::remove_file(socket)?;
    }
    let bound = bind(socket)?;
    fs::set_permissions(socket, Permissions::from_mode(0o600))?;
    Ok(bound)
}

/// Returns a place in a new folder that only its owner can enter.
fn short_place(within: &Path) -> Result<PathBuf, Error> {
    let folder = tempfile::Builder::new()
        .prefix("tm-")
        .permissions(Permissions::from_mode(0o700))
        .tempdir_in(within);
    Ok(folder.map_err(Error::write(within))?.keep().join(SOCKET))
}

/// Returns the path that a pointer holds.
fn pointed_to(pointer: &Path) -> Option<PathBuf> {
    let path = tm_untrusted::read(pointer, POINTER_BYTES).ok()?;
    Some(PathBuf::from(std::ffi::OsStr::from_bytes(&path)))
}

fn is_socket(path: &Path) -> bool {
    fs::symlink_metadata(path).is_ok_and(|found| found.file_type().is_socket())
}

/// Removes the pointer, the socket that it points to, and the folder made for that.
fn remove_old(pointer: &Path) {
    let Some(socket) = pointed_to(pointer) else {
        return;
    };
    if is_socket(&socket) {
        // Somebody else was faster, or it stays: it answers nobody, and blocks nobody.
        let _gone = fs::remove_file(&socket);
    }
    remove_folder_of(&socket, atomic::folder_of(pointer));
    let _gone = fs::remove_file(pointer);
}

/// Removes the folder of a socket when it was made for that socket alone; one that is not empty stays.
fn remove_folder_of(socket: &Path, own: &Path) {
    let folder = atomic::folder_of(socket);
    let is_ours = folder
        .file_name()
        .is_some_and(|name| name.as_bytes().starts_with(b"tm-"));
    if folder != own && is_ours {
        let _not_empty = fs::remove_dir(folder);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::run::Home;
    use std::os::unix::net::{UnixListener, UnixStream};

    fn project(root: &Path) -> ProjectDirectory {
        let git_dir = root.join("app/.git");
        fs::create_dir_all(&git_dir).unwrap();
        let project = Home::new(root.join("home")).project(&git_dir).unwrap();
        project.create().unwrap();
        project
    }

    fn mode(path: &Path) -> u32 {
        fs::metadata(path).unwrap().permissions().mode() & 0o777
    }

    #[test]
    fn socket_is_open_to_its_owner_alone_and_gone_at_the_end() {
        let root = tempfile::tempdir().unwrap();
        let project = project(root.path());
        assert_eq!(ControlSocket::of(&project), None);
        let (control, _listener) =
            ControlSocket::open(&project, &[root.path().to_owned()], |path| {
                UnixListener::bind(path)
            })
            .unwrap();
        let socket = control.path().to_owned();
        assert_eq!(
            [mode(&socket), mode(socket.parent().unwrap())],
            [0o600, 0o700]
        );
        assert_eq!(ControlSocket::of(&project), Some(socket.clone()));
        UnixStream::connect(&socket).unwrap();
        drop(control);
        assert!(!socket.exists());
        assert_eq!(ControlSocket::of(&project), None);
    }

    #[test]
    fn socket_of_a_project_with_a_long_path_lies_in_a_short_private_folder() {
        let root = tempfile::tempdir().unwrap();
        let project = project(&root.path().join("deep/".repeat(30)));
        let others = [root.path().join("none"), root.path().to_owned()];
        let (control, _listener) =
            ControlSocket::open(&project, &others, |path| UnixListener::bind(path)).unwrap();
        let folder = control.path().parent().unwrap().to_owned();
        assert_eq!((folder.parent(), mode(&folder)), (Some(root.path()), 0o700));
        assert_eq!(ControlSocket::of(&project).as_deref(), Some(control.path()));
        drop(control);
        assert!(!folder.exists());
    }

    #[test]
    fn socket_that_a_dead_run_left_is_replaced() {
        let root = tempfile::tempdir().unwrap();
        for project in [
            project(root.path()),
            project(&root.path().join("deep/".repeat(30))),
        ] {
            let others = [root.path().to_owned()];
            let (dead, listener) =
                ControlSocket::open(&project, &others, |path| UnixListener::bind(path)).unwrap();
            let old = dead.path().to_owned();
            drop(listener);
            std::mem::forget(dead);
            assert!(UnixStream::connect(&old).is_err());
            let (control, _listener) =
                ControlSocket::open(&project, &others, |path| UnixListener::bind(path)).unwrap();
            UnixStream::connect(control.path()).unwrap();
            assert_eq!(ControlSocket::of(&project).as_deref(), Some(control.path()));
            drop(control);
            assert!(!old.exists());
        }
    }

    #[test]
    fn no_place_at_all_is_an_error_and_leaves_nothing() {
        let root = tempfile::tempdir().unwrap();
        let project = project(root.path());
        let refused = ControlSocket::open(&project, &[root.path().to_owned()], |_| {
            Err::<(), _>(io::Error::from(io::ErrorKind::Unsupported))
        });
        assert!(matches!(refused, Err(Error::Write { .. })));
        let left = fs::read_dir(root.path()).unwrap().flatten();
        assert!(
            left.into_iter()
                .all(|entry| !entry.file_name().to_string_lossy().starts_with("tm-"))
        );
    }

    #[test]
    fn a_file_that_is_no_socket_is_never_removed() {
        let root = tempfile::tempdir().unwrap();
        let project = project(root.path());
        let precious = root.path().join("precious");
        atomic::replace(&precious, b"1").unwrap();
        fs::create_dir_all(project.control_folder()).unwrap();
        atomic::replace(
            &project.control_folder().join(POINTER),
            precious.as_os_str().as_bytes(),
        )
        .unwrap();
        drop(ControlSocket::open(&project, &[], |path| UnixListener::bind(path)).unwrap());
        assert!(precious.exists());
    }
}
