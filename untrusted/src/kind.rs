//! What stands at a path, for whoever expects something else there.

use rustix::io::Errno;
use std::fs::FileType;
use std::io::{self, ErrorKind};
use std::os::unix::fs::FileTypeExt as _;
use std::path::Path;

/// So much of where a link leads is told, in bytes.
const LONGEST_TARGET: usize = 200;

/// Says in words what stands at a path itself, such as "a folder", "a pipe" or "a link to `x`".
pub fn says_what_is_there(path: &Path) -> String {
    match std::fs::symlink_metadata(path) {
        Ok(found) if found.is_symlink() => link(path),
        Ok(found) => of_kind(found.file_type()).to_owned(),
        Err(error) if error.kind() == ErrorKind::NotFound => "nothing".to_owned(),
        Err(error) => format!("what nobody can look at ({error})"),
    }
}

/// Tells whether an error of the system is about what stands there, such as a folder in the place of a file, or of how much it
/// is, and so about whoever put it there or took it away, and not about the machine.
pub fn is_of_what_is_there(error: &io::Error) -> bool {
    const LOOPS: i32 = Errno::LOOP.raw_os_error();
    let is_known = matches!(
        error.kind(),
        ErrorKind::NotFound
            | ErrorKind::InvalidData
            | ErrorKind::IsADirectory
            | ErrorKind::NotADirectory
            | ErrorKind::DirectoryNotEmpty
            | ErrorKind::AlreadyExists
            | ErrorKind::InvalidFilename
            | ErrorKind::FileTooLarge
            | ErrorKind::ArgumentListTooLong
    );
    is_known || error.raw_os_error() == Some(LOOPS)
}

fn link(path: &Path) -> String {
    let target = std::fs::read_link(path).unwrap_or_default();
    let shown = crate::line(&target.to_string_lossy(), LONGEST_TARGET);
    format!("a link to `{shown}`")
}

fn of_kind(kind: FileType) -> &'static str {
    match kind {
        kind if kind.is_dir() => "a folder",
        kind if kind.is_file() => "a file",
        kind if kind.is_fifo() => "a pipe",
        kind if kind.is_socket() => "a socket",
        kind if kind.is_block_device() || kind.is_char_device() => "a device",
        _ => "something else",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rustix::fs::{CWD, Mode, mkfifoat};

    #[test]
    fn what_stands_at_a_path_is_said_and_no_link_is_followed() {
        let folder = tempfile::tempdir().expect("a folder");
        let at = |name: &str| folder.path().join(name);
        mkfifoat(CWD, at("pipe"), Mode::from_raw_mode(0o600)).expect("a pipe");
        std::os::unix::fs::symlink("/dev/\x1b[31mzero", at("link")).expect("a link");
        std::fs::File::create(at("file")).expect("a file");
        drop(std::os::unix::net::UnixListener::bind(at("socket")).expect("a socket"));
        for (name, words) in [
            ("", "a folder"),
            ("pipe", "a pipe"),
            ("file", "a file"),
            ("socket", "a socket"),
            ("none", "nothing"),
        ] {
            assert_eq!(says_what_is_there(&at(name)), words, "{name}");
        }
        let link = says_what_is_there(&at("link"));
        assert!(
            link.starts_with("a link to `/dev/") && !link.contains('\x1b'),
            "{link}"
        );
        assert_eq!(says_what_is_there(Path::new("/dev/null")), "a device");
    }
}
