//! Passes a JSON document on in parts while it is written; no text in it orders a terminal about, and each comes back as
//! it is.

use std::io::{Error, ErrorKind, Result, Write};
use std::str;

/// So many bytes are passed on together.
const PART: usize = 64 * 1024;

/// Where a document is written to.
pub(crate) struct SafeJson<W> {
    to: W,
    part: Vec<u8>,
}

impl<W: Write> SafeJson<W> {
    /// Passes on to a writer.
    pub(crate) fn new(to: W) -> Self {
        let part = Vec::with_capacity(2 * PART);
        Self { to, part }
    }

    /// Ends the document with a line break.
    pub(crate) fn finish(mut self) -> Result<()> {
        self.part.push(b'\n');
        self.pass_on()?;
        self.to.flush()
    }

    /// Passes on what is there of whole letters.
    fn pass_on(&mut self) -> Result<()> {
        let whole = match str::from_utf8(&self.part) {
            Ok(text) => text,
            Err(error) if error.error_len().is_none() => {
                let (whole, _) = self.part.split_at(error.valid_up_to());
                str::from_utf8(whole).map_err(invalid)?
            }
            Err(error) => return Err(invalid(error)),
        };
        self.to.write_all(tm_untrusted::json(whole).as_bytes())?;
        let length = whole.len();
        self.part.drain(..length);
        Ok(())
    }
}

fn invalid(error: str::Utf8Error) -> Error {
    Error::new(ErrorKind::InvalidData, error)
}

impl<W: Write> Write for SafeJson<W> {
    fn write(&mut self, bytes: &[u8]) -> Result<usize> {
        self.part.extend_from_slice(bytes);
        if self.part.len() >= PART {
            self.pass_on()?;
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> Result<()> {
        self.pass_on()?;
        self.to.flush()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_document_comes_through_whole_whatever_its_parts_are() {
        let text = "\u{e9}\u{202e}\u{1b}[31m\u{e0041}a".repeat(9_000);
        let document = format!("[\"{text}\"]");
        for length in [1, 3, 7, PART] {
            let mut to = Vec::new();
            let mut safe = SafeJson::new(&mut to);
            for part in document.as_bytes().chunks(length) {
                safe.write_all(part).expect("written");
            }
            safe.finish().expect("written");
            let expected = tm_untrusted::json(&document).into_owned() + "\n";
            assert_eq!(String::from_utf8(to).expect("text"), expected);
        }
    }

    #[test]
    fn what_is_no_text_is_refused() {
        let mut safe = SafeJson::new(Vec::new());
        safe.write_all(b"\xff").expect("kept");
        let error = safe.finish().expect_err("refused");
        assert_eq!(error.kind(), ErrorKind::InvalidData);
    }
}
