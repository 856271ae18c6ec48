//! Opens regular files, without waiting and without following what somebody put in their place.

use rustix::fs::{FileType, Mode, OFlags, fcntl_getfl, fcntl_setfl, fstat};
use rustix::io::Errno;
use std::fs::File;
use std::io::{self, ErrorKind, Read as _, Seek as _, SeekFrom};
use std::path::Path;

/// What every open has: no terminal becomes ours, no program that is started inherits it, and nobody is waited for.
pub(crate) const CAREFULLY: OFlags = OFlags::NONBLOCK
    .union(OFlags::CLOEXEC)
    .union(OFlags::NOCTTY);

const APPENDING: OFlags = OFlags::RDWR
    .union(OFlags::APPEND)
    .union(OFlags::CREATE)
    .union(OFlags::NOFOLLOW);

/// The modes of new files, of which the umask takes its part.
const OPEN_TO_ALL: Mode = Mode::from_raw_mode(0o666);
const PRIVATE: Mode = Mode::from_raw_mode(0o600);

/// Opens a file for reading that others can write.
///
/// # Errors
/// It is not there, it can't be read, or it is a link, a pipe, a device or anything else but a regular file.
pub fn open(path: &Path) -> io::Result<File> {
    open_with(path, OFlags::RDONLY | OFlags::NOFOLLOW, OPEN_TO_ALL)
}

/// Opens a file of the user's own for reading, such as settings or a backlog: its links are followed.
///
/// # Errors
/// It is not there, it can't be read, or it is no regular file.
pub fn open_own(path: &Path) -> io::Result<File> {
    open_with(path, OFlags::RDONLY, OPEN_TO_ALL)
}

/// Opens a file for writing at its end; makes it when it is not there.
///
/// # Errors
/// It can't be written, or something else but a regular file has its name.
pub fn append(path: &Path) -> io::Result<File> {
    open_with(path, APPENDING, OPEN_TO_ALL)
}

/// As [`append`]; a new file is open to its owner alone.
///
/// # Errors
/// As [`append`].
pub fn append_private(path: &Path) -> io::Result<File> {
    open_with(path, APPENDING, PRIVATE)
}

/// Opens a file for reading and writing; makes it, open to its owner alone, when it is not there.
///
/// # Errors
/// It can't be written, or something else but a regular file has its name.
pub fn open_private(path: &Path) -> io::Result<File> {
    let flags = OFlags::RDWR | OFlags::CREATE | OFlags::NOFOLLOW;
    open_with(path, flags, PRIVATE)
}

/// Makes a new file in the place of whatever has its name, and of nothing that it leads to.
///
/// # Errors
/// It can't be written, or a folder has its name.
pub fn create_anew(path: &Path) -> io::Result<File> {
    remove(path)?;
    open_with(
        path,
        OFlags::RDWR | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW,
        OPEN_TO_ALL,
    )
}

/// Removes a file; one that is not there is gone already.
///
/// # Errors
/// It can't be removed, or it is a folder.
pub fn remove(path: &Path) -> io::Result<()> {
    std::fs::remove_file(path).or_else(|error| match error.kind() {
        ErrorKind::NotFound => Ok(()),
        _ => Err(error),
    })
}

/// Tells whether there is a folder, and no link to one.
pub fn is_folder(path: &Path) -> bool {
    std::fs::symlink_metadata(path).is_ok_and(|found| found.is_dir())
}

/// Opens a file that is there for writing.
///
/// # Errors
/// It is not there, it can't be written, or it is no regular file.
pub fn open_writable(path: &Path) -> io::Result<File> {
    open_with(path, OFlags::RDWR | OFlags::NOFOLLOW, OPEN_TO_ALL)
}

/// Reads a file that others can write; a longer one than `limit` bytes is an error.
///
/// # Errors
/// As [`open`], or it is too long.
pub fn read(path: &Path, limit: u64) -> io::Result<Vec<u8>> {
    whole(open(path)?, limit)
}

/// Reads a file of the user's own; a longer one than `limit` bytes is an error.
///
/// # Errors
/// As [`open_own`], or it is too long.
pub fn read_own(path: &Path, limit: u64) -> io::Result<Vec<u8>> {
    whole(open_own(path)?, limit)
}

/// Reads the first bytes of a file that others can write, however long it is.
///
/// # Errors
/// As [`open`].
pub fn read_beginning(path: &Path, most: u64) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    open(path)?.take(most).read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// Reads the last bytes of a file that others can write, however long it is and however fast it grows.
///
/// # Errors
/// As [`open`].
pub fn read_end(path: &Path, most: u64) -> io::Result<Vec<u8>> {
    let mut file = open(path)?;
    file.seek(SeekFrom::Start(file.metadata()?.len().saturating_sub(most)))?;
    let mut bytes = Vec::new();
    file.take(most).read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// Returns how long a regular file is; anything else, or nothing, is 0 bytes long.
pub fn size(path: &Path) -> u64 {
    std::fs::symlink_metadata(path).map_or(0, |found| if found.is_file() { found.len() } else { 0 })
}

/// Reads a file to its end, and one byte more than the limit at the most.
pub(crate) fn whole(file: File, limit: u64) -> io::Result<Vec<u8>> {
    let too_long = || {
        io::Error::new(
            ErrorKind::FileTooLarge,
            format!("it is longer than {limit} bytes"),
        )
    };
    let length = file.metadata()?.len();
    if length > limit {
        return Err(too_long());
    }
    let mut bytes = Vec::with_capacity(usize::try_from(length).unwrap_or(0).saturating_add(1));
    // It may grow meanwhile, and some files say that they are empty.
    file.take(limit.saturating_add(1)).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > limit {
        Err(too_long())
    } else {
        Ok(bytes)
    }
}

fn open_with(path: &Path, flags: OFlags, mode: Mode) -> io::Result<File> {
    match rustix::fs::open(path, flags | CAREFULLY, mode) {
        Ok(file) => regular(file.into()),
        Err(errno) => Err(trouble(errno)),
    }
}

/// Returns a file that was opened carefully as any other; an error when it is no regular file.
pub(crate) fn regular(file: File) -> io::Result<File> {
    let kind = match FileType::from_raw_mode(fstat(&file)?.st_mode) {
        FileType::RegularFile => {
            // Whoever inherits it is not to be surprised.
            fcntl_setfl(&file, fcntl_getfl(&file)? - OFlags::NONBLOCK)?;
            return Ok(file);
        }
        FileType::Directory => {
            let why = "it is a folder, not a file";
            return Err(io::Error::new(ErrorKind::IsADirectory, why));
        }
        FileType::Fifo => "a pipe",
        FileType::Socket => "a socket",
        FileType::CharacterDevice | FileType::BlockDevice => "a device",
        FileType::Symlink => "a link",
        FileType::Unknown => "something else",
    };
    Err(invalid(&format!("it is {kind}, not a regular file")))
}

/// What the system says of a link or a pipe that was not opened, in words of people.
pub(crate) fn trouble(errno: Errno) -> io::Error {
    match errno {
        Errno::LOOP | Errno::MLINK => invalid("it is a link, not a regular file"),
        Errno::NXIO | Errno::NODEV | Errno::OPNOTSUPP => {
            invalid("it is a pipe, a socket or a device, not a regular file")
        }
        other => other.into(),
    }
}

/// What is refused for what it is.
pub(crate) fn invalid(why: &str) -> io::Error {
    io::Error::new(ErrorKind::InvalidData, why)
}

#[cfg(test)]
mod tests {
    use super::*;
    use rustix::fs::{CWD, mkfifoat};
    use std::io::Write as _;
    use std::os::unix::fs::symlink;
    use std::os::unix::net::UnixListener;
    use std::path::PathBuf;

    fn folder() -> (tempfile::TempDir, PathBuf) {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("file");
        (folder, path)
    }

    fn fill(path: &Path, bytes: &[u8]) {
        File::create(path)
            .and_then(|mut file| file.write_all(bytes))
            .expect("a file");
    }

    type Maker<'a> = (&'a str, &'a dyn Fn(&Path));

    #[test]
    fn nothing_but_a_regular_file_is_opened_and_nobody_is_waited_for() {
        let (folder, path) = folder();
        fill(&folder.path().join("secret"), b"secret");
        let makers: [Maker<'_>; 5] = [
            ("a pipe", &|path| {
                mkfifoat(CWD, path, Mode::from_raw_mode(0o600)).expect("a pipe");
            }),
            ("a link", &|path| symlink("secret", path).expect("a link")),
            ("a link", &|path| {
                symlink("/dev/zero", path).expect("a link");
            }),
            ("a socket", &|path| {
                drop(UnixListener::bind(path).expect("a socket"));
            }),
            ("a folder", &|path| {
                std::fs::create_dir(path).expect("a folder");
            }),
        ];
        for (what, make) in makers {
            make(&path);
            let attempts = [
                open(&path),
                append(&path),
                open_writable(&path),
                read(&path, 9).map(|_| File::open("/").unwrap()),
            ];
            for error in attempts.into_iter().map(|opened| opened.expect_err(what)) {
                let is_known = matches!(
                    error.kind(),
                    ErrorKind::InvalidData | ErrorKind::IsADirectory
                );
                assert!(is_known, "{what}: {error}");
            }
            assert_eq!(size(&path), 0, "{what}");
            std::fs::remove_file(&path)
                .or_else(|_| std::fs::remove_dir(&path))
                .expect("gone");
        }
        assert_eq!(
            std::fs::read(folder.path().join("secret")).expect("there"),
            b"secret"
        );
        assert_eq!(
            open(&path).expect_err("nothing").kind(),
            ErrorKind::NotFound
        );
    }

    #[test]
    fn links_of_the_users_own_are_followed_but_to_no_device() {
        let (folder, path) = folder();
        fill(&folder.path().join("real"), b"mine");
        symlink("real", &path).expect("a link");
        assert_eq!(read_own(&path, 10).expect("read"), b"mine");
        std::fs::remove_file(&path).expect("gone");
        symlink("/dev/zero", &path).expect("a link");
        assert_eq!(
            read_own(&path, 10).expect_err("a device").to_string(),
            "it is a device, not a regular file"
        );
    }

    #[test]
    fn what_is_too_long_costs_no_memory() {
        let (_folder, path) = folder();
        let file = File::create(&path).expect("a file");
        file.set_len(2 << 30).expect("a hole");
        let error = read(&path, 1_000).expect_err("too long");
        assert_eq!(
            (error.kind(), error.to_string().as_str()),
            (ErrorKind::FileTooLarge, "it is longer than 1000 bytes")
        );
        assert_eq!(read_beginning(&path, 10).expect("its beginning").len(), 10);
        let end = read_end(&path, 10).expect("its end");
        assert!(
            end.len() == 10 && end.capacity() < 1_000,
            "{}",
            end.capacity()
        );
        assert_eq!(size(&path), 2 << 30);
    }

    #[test]
    fn a_file_of_just_the_limit_is_read_whole() {
        let (_folder, path) = folder();
        fill(&path, b"12345");
        assert_eq!(read(&path, 5).expect("read"), b"12345");
        assert!(read(&path, 4).is_err());
        assert_eq!(read_end(&path, 2).expect("read"), b"45");
    }

    #[test]
    fn a_new_file_is_made_and_an_old_one_grows() {
        let (_folder, path) = folder();
        for text in ["one ", "two"] {
            append(&path)
                .and_then(|mut file| file.write_all(text.as_bytes()))
                .expect("written");
        }
        assert_eq!(read(&path, 100).expect("read"), b"one two");
        symlink("file", path.with_extension("link")).expect("a link");
        create_anew(&path.with_extension("link"))
            .and_then(|mut file| file.write_all(b"new"))
            .expect("written");
        assert_eq!(
            read(&path.with_extension("link"), 100).expect("read"),
            b"new"
        );
        assert_eq!(read(&path, 100).expect("read"), b"one two");
    }
}
