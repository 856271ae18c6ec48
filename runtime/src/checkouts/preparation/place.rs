//! What becomes of the old place in things that were copied to a new one: links and texts lead to the new one.
//!
//! Scripts of a virtual environment, `.pth` files and launchers name the folder that they were made in. Left so, a copy
//! would run what is in the user's checkout, which is not what is to be judged.

use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

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
            Ok(rest) if rest.as_os_str().is_empty() => self.to.clone(),
            Ok(rest) => self.to.join(rest),
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
            text.extend_from_slice(&bytes[taken..start]);
            text.extend_from_slice(if is_whole(&bytes[..start], &bytes[end..]) {
                to
            } else {
                from
            });
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
    let first = *wanted.first()?;
    let starts = bytes
        .iter()
        .enumerate()
        .skip(from)
        .filter(|&(_, &byte)| byte == first);
    starts
        .map(|(start, _)| start)
        .find(|&start| bytes[start..].starts_with(wanted))
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
