//! Copies files and folders with their modes and times, links as links; reads through no link and writes through none.
//! Links and texts that name the old place lead to the new one.
//!
//! Never a hard link: what is written through one changes all copies at once, and the original. Where the file system
//! can share blocks until one side writes, it does. Scripts of a virtual environment, `.pth` files and launchers name the
//! folder that they were made in: left so, a copy would run what is in the user's checkout, which is not to be judged.

use super::Error;
use super::folder::{Folder, kind};
use rustix::fs::{FileType, Mode, OFlags, openat, readlinkat, symlinkat};
#[cfg(target_os = "linux")]
use rustix::fs::{SeekFrom, seek};
use rustix::io::Errno;
use std::ffi::OsStr;
use std::fs::{File, FileTimes, Metadata, Permissions};
use std::io;
use std::io::{Read as _, Write as _};
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

/// Texts up to this size are looked through for the place that they were copied from.
const SMALL_TEXT: u64 = 64 * 1024;

/// How something is copied.
pub(super) struct Copying<'a> {
    /// Places, from the folder that is copied, that are left out with all that is in them.
    pub(super) left_out: &'a [PathBuf],
    /// The folder that errors name: to which, or from which, it is copied.
    pub(super) named: &'a Path,
    /// What becomes of the old place in the copies.
    pub(super) moved: Option<&'a Moved>,
}

impl Copying<'_> {
    /// Copies what is at a place in one folder to the same place in another; what is there already stays as it is. Git's
    /// own files are left out, and what is neither file, folder nor link.
    pub(super) fn copy(&self, from: &Folder, to: &Folder, place: &Path) -> Result<(), Error> {
        let Some((from, name)) = from.parent_of(place).map_err(self.failed(place))? else {
            return Ok(());
        };
        let Some((to, _)) = to.make_parent_of(place).map_err(self.failed(place))? else {
            return Ok(());
        };
        self.copy_entry(&from, &to, name, place)
    }

    fn copy_entry(
        &self,
        from: &Folder,
        to: &Folder,
        name: &OsStr,
        path: &Path,
    ) -> Result<(), Error> {
        if name == ".git" || self.left_out.iter().any(|left_out| left_out == path) {
            return Ok(());
        }
        let Some(stat) = from.stat(name).map_err(self.failed(path))? else {
            return Ok(());
        };
        match kind(&stat) {
            FileType::Directory => self.copy_folder(from, to, name, path),
            FileType::RegularFile => self.copy_file(from, to, name).map_err(self.failed(path)),
            FileType::Symlink => self.copy_link(from, to, name).map_err(self.failed(path)),
            _ => Ok(()),
        }
    }

    fn copy_folder(
        &self,
        from: &Folder,
        to: &Folder,
        name: &OsStr,
        path: &Path,
    ) -> Result<(), Error> {
        let is_new = to.stat(name).map_err(self.failed(path))?.is_none();
        let from = from.child(name).map_err(self.failed(path))?;
        let to = match to.make_child(name) {
            // A file or a link of the tree's own is in its place.
            Err(_) if !is_new => return Ok(()),
            to => to.map_err(self.failed(path))?,
        };
        for name in from.names().map_err(self.failed(path))? {
            self.copy_entry(&from, &to, &name, &path.join(&name))?;
        }
        if is_new {
            let like = from.as_file().metadata();
            like.and_then(|like| set_times_and_mode(to.as_file(), &like))
                .map_err(self.failed(path))?;
        }
        Ok(())
    }

    fn copy_file(&self, from: &Folder, to: &Folder, name: &OsStr) -> io::Result<()> {
        let Some((mut source, _)) = from.file(name)? else {
            return Ok(());
        };
        let metadata = source.metadata()?;
        let writing =
            OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let mut copy = match openat(to, name, writing, Mode::from_raw_mode(0o600)) {
            Ok(copy) => File::from(copy),
            Err(Errno::EXIST) => return Ok(()),
            Err(error) => return Err(error.into()),
        };
        self.copy_content(&mut source, &mut copy, &metadata)?;
        set_times_and_mode(&copy, &metadata)
    }

    fn copy_content(
        &self,
        source: &mut File,
        copy: &mut File,
        metadata: &Metadata,
    ) -> io::Result<()> {
        match self.moved {
            Some(moved) if metadata.len() <= SMALL_TEXT => {
                let mut bytes = Vec::new();
                source.read_to_end(&mut bytes)?;
                copy.write_all(&moved.text(bytes))
            }
            _ if is_shared(source, copy) => Ok(()),
            _ => copy_data(source, copy, metadata.len()),
        }
    }

    fn failed(&self, place: &Path) -> impl FnOnce(io::Error) -> Error + use<> {
        let path = self.named.join(place);
        move |source| Error::file("copy", &path)(source)
    }

    fn copy_link(&self, from: &Folder, to: &Folder, name: &OsStr) -> io::Result<()> {
        let target = readlinkat(from, name, Vec::new())?;
        let target = Path::new(OsStr::from_bytes(target.to_bytes()));
        match self.moved {
            Some(moved) => link(to, name, &moved.target(target)),
            None => link(to, name, target),
        }
    }
}

/// Makes a symbolic link, where there is nothing of the name yet.
pub(super) fn link(folder: &Folder, name: &OsStr, target: &Path) -> io::Result<()> {
    match symlinkat(target, folder, name) {
        Ok(()) | Err(Errno::EXIST) => Ok(()),
        Err(error) => Err(error.into()),
    }
}

/// Copies what there is in a file, and no holes.
#[cfg(target_os = "linux")]
fn copy_data(source: &mut File, copy: &mut File, length: u64) -> io::Result<()> {
    each_part(source, length, |start, part| {
        seek(&*copy, SeekFrom::Start(start))?;
        io::copy(part, copy).map(drop)
    })?;
    copy.set_len(length)
}

/// Gives out what there is in a file of some length, each part with where it begins, and no holes: those of a short one may
/// be longer than the disk.
#[cfg(target_os = "linux")]
pub(super) fn each_part(
    file: &File,
    length: u64,
    mut take: impl FnMut(u64, &mut dyn io::Read) -> io::Result<()>,
) -> io::Result<()> {
    let mut end = 0;
    while end < length {
        let start = match seek(file, SeekFrom::Data(end)) {
            Err(Errno::NXIO) => break,
            start => start?,
        };
        end = seek(file, SeekFrom::Hole(start))?;
        seek(file, SeekFrom::Start(start))?;
        let mut file = file;
        take(start, &mut io::Read::by_ref(&mut file).take(end - start))?;
    }
    Ok(())
}

#[cfg(not(target_os = "linux"))]
pub(super) fn each_part(
    mut file: &File,
    _length: u64,
    mut take: impl FnMut(u64, &mut dyn io::Read) -> io::Result<()>,
) -> io::Result<()> {
    take(0, &mut file)
}

#[cfg(not(target_os = "linux"))]
fn copy_data(source: &mut File, copy: &mut File, _length: u64) -> io::Result<()> {
    io::copy(source, copy).map(drop)
}

/// Lets the copy share the blocks of its source, where the file system can.
#[cfg(target_os = "linux")]
fn is_shared(source: &File, copy: &File) -> bool {
    rustix::fs::ioctl_ficlone(copy, source).is_ok()
}

#[cfg(not(target_os = "linux"))]
const fn is_shared(_: &File, _: &File) -> bool {
    false
}

fn set_times_and_mode(file: &File, like: &Metadata) -> io::Result<()> {
    file.set_permissions(Permissions::from_mode(like.permissions().mode() & 0o777))?;
    file.set_times(
        FileTimes::new()
            .set_modified(like.modified()?)
            .set_accessed(like.accessed()?),
    )
}

/// From where to where things were copied.
#[derive(Debug)]
pub(super) struct Moved {
    from: PathBuf,
    to: PathBuf,
}

impl Moved {
    pub(super) fn new(from: &Path, to: &Path) -> Self {
        Self {
            from: from.to_owned(),
            to: to.to_owned(),
        }
    }

    /// Returns where a link leads from the new place.
    pub(super) fn target(&self, target: &Path) -> PathBuf {
        match target.strip_prefix(&self.from) {
            Ok(rest) => self.to.iter().chain(rest).collect(),
            Err(_) => target.to_owned(),
        }
    }

    /// Returns a text with the new place wherever it names the old one; what is no text stays as it is.
    pub(super) fn text(&self, bytes: Vec<u8>) -> Vec<u8> {
        let (from, to) = (
            self.from.as_os_str().as_bytes(),
            self.to.as_os_str().as_bytes(),
        );
        let (mut text, mut taken) = (Vec::new(), 0);
        while let Some(start) = find(&bytes, taken, from) {
            let end = start + from.len();
            let is_whole = is_whole(&bytes[..start], &bytes[end..]);
            text.extend_from_slice(&bytes[taken..start]);
            text.extend_from_slice(if is_whole { to } else { from });
            taken = end;
        }
        if taken == 0 || bytes.contains(&0) {
            return bytes;
        }
        text.extend_from_slice(&bytes[taken..]);
        text
    }
}

/// Tells whether a path stands for itself and is not a part of a longer one.
fn is_whole(before: &[u8], after: &[u8]) -> bool {
    let is_of_name =
        |byte: &u8| byte.is_ascii_alphanumeric() || b"_-".contains(byte) || !byte.is_ascii();
    let ends = match after {
        // A full stop may end a sentence.
        [b'.', next, ..] | [next, ..] => !is_of_name(next),
        [] => true,
    };
    // The option of a compiler may be right before it, the end of another folder's path may not.
    let name = before
        .iter()
        .rev()
        .take_while(|byte| is_of_name(byte))
        .count();
    let is_within = match before[..before.len() - name].last() {
        Some(b'/') => name > 0,
        Some(b'.' | b'~') => true,
        _ => false,
    };
    ends && !is_within
}

/// Returns where bytes are found next.
fn find(bytes: &[u8], from: usize, wanted: &[u8]) -> Option<usize> {
    let first = wanted.first();
    (from..bytes.len())
        .find(|&start| bytes.get(start) == first && bytes[start..].starts_with(wanted))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn moved() -> Moved {
        Moved::new(Path::new("/home/me/project"), Path::new("/w/1"))
    }

    #[test]
    fn texts_name_the_new_place_and_other_places_stay() {
        let text = |text: &str| String::from_utf8(moved().text(text.into())).expect("a text");
        assert_eq!(
            text("#!/home/me/project/.venv/bin/python\n"),
            "#!/w/1/.venv/bin/python\n"
        );
        assert_eq!(text("/home/me/project"), "/w/1");
        assert_eq!(
            text("a='/home/me/project';b=/home/me/project:/x"),
            "a='/w/1';b=/w/1:/x"
        );
        for other in [
            "",
            "none",
            "/home/me/project2/x",
            "/home/me/project.old",
            "/mnt/home/me/project/x",
            "../home/me/project",
        ] {
            assert_eq!(text(other), other);
        }
        assert_eq!(
            text("-I/home/me/project/x file:///home/me/project."),
            "-I/w/1/x file:///w/1."
        );
        assert_eq!(
            text("/home/me/project2 /home/me/project/x"),
            "/home/me/project2 /w/1/x"
        );
    }

    #[test]
    fn what_is_no_text_stays() {
        assert_eq!(
            moved().text(b"\0/home/me/project/x".to_vec()),
            b"\0/home/me/project/x"
        );
    }

    #[test]
    fn links_lead_to_the_new_place() {
        let target = |target: &str| moved().target(Path::new(target)).display().to_string();
        assert_eq!(target("/home/me/project/packages/a"), "/w/1/packages/a");
        assert_eq!(target("/home/me/project"), "/w/1");
        assert_eq!(target("/home/me/project2"), "/home/me/project2");
        assert_eq!(target("../packages/a"), "../packages/a");
    }
}
