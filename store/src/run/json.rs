//! Reads and replaces whole files, such as manifest and summary.

use crate::{Error, atomic};
use serde::Serialize;
use serde::de::DeserializeOwned;
use sha2::{Digest as _, Sha256};
use std::fmt::Write as _;
use std::io::ErrorKind;
use std::path::Path;

/// No such file is longer.
const MOST_BYTES: u64 = 256 * 1024 * 1024;

/// Replaces the file at `path` with `value` as indented JSON and a final newline.
pub fn write_json(path: &Path, value: &impl Serialize) -> Result<(), Error> {
    write_bytes(path, &json_bytes(path, value)?)
}

/// Returns what `write_json` writes.
pub fn json_bytes(path: &Path, value: &impl Serialize) -> Result<Vec<u8>, Error> {
    let mut bytes = serde_json::to_vec_pretty(value).map_err(Error::serialize(path))?;
    bytes.push(b'\n');
    Ok(bytes)
}

/// Returns the SHA-256 of what is in a file, in hexadecimal digits.
pub fn digest(bytes: impl AsRef<[u8]>) -> String {
    let mut text = String::with_capacity(64);
    for byte in Sha256::digest(bytes) {
        write!(text, "{byte:02x}").expect("writing to a string can't fail");
    }
    text
}

/// Replaces the file at `path` with these bytes.
pub fn write_bytes(path: &Path, bytes: &[u8]) -> Result<(), Error> {
    atomic::replace_own(path, bytes).map_err(Error::write(path))
}

/// Replaces the file at `path` with a text, where it holds another one.
pub fn write_text(path: &Path, text: &str) -> Result<(), Error> {
    if tm_untrusted::read(path, MOST_BYTES).is_ok_and(|known| known == text.as_bytes()) {
        return Ok(());
    }
    atomic::replace_own(path, text.as_bytes()).map_err(Error::write(path))
}

/// Reads the JSON file at `path`; `None` where there is none.
pub fn read_json_if_there<T: DeserializeOwned>(path: &Path) -> Result<Option<T>, Error> {
    match read_json(path) {
        Err(Error::Read { source, .. }) if source.kind() == ErrorKind::NotFound => Ok(None),
        read => read.map(Some),
    }
}

/// Reads the JSON file at `path`.
pub fn read_json<T: DeserializeOwned>(path: &Path) -> Result<T, Error> {
    read_json_and_bytes(path).map(|(value, _)| value)
}

/// Reads the JSON file at `path`, and returns the very bytes too that it was read from.
pub fn read_json_and_bytes<T: DeserializeOwned>(path: &Path) -> Result<(T, Vec<u8>), Error> {
    let bytes = tm_untrusted::read(path, MOST_BYTES).map_err(Error::read(path))?;
    let value = serde_json::from_slice(&bytes).map_err(|source| Error::Json {
        path: path.to_path_buf(),
        source,
    })?;
    Ok((value, bytes))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeMap;
    use std::fs;

    #[test]
    fn written_value_is_read_back_from_text_for_people() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("manifest.json");
        let value = BTreeMap::from([("a".to_owned(), 1), ("b".to_owned(), 2)]);
        write_json(&path, &value).unwrap();
        assert_eq!(
            fs::read_to_string(&path).unwrap(),
            "{\n  \"a\": 1,\n  \"b\": 2\n}\n"
        );
        assert_eq!(read_json::<BTreeMap<String, i32>>(&path).unwrap(), value);
    }

    #[test]
    fn digests_are_those_of_other_programs() {
        assert_eq!(
            digest(""),
            "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"
        );
    }

    #[test]
    fn errors_name_the_file() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("summary.json");
        let missing = read_json::<String>(&path).unwrap_err();
        assert!(
            matches!(&missing, Error::Read { path: named, .. } if *named == path),
            "{missing}"
        );
        atomic::replace(&path, b"{").unwrap();
        let broken = read_json::<String>(&path).unwrap_err();
        assert!(
            matches!(&broken, Error::Json { path: named, .. } if *named == path),
            "{broken}"
        );
        let unwritable = write_json(&path, &BTreeMap::from([(vec![1], 1)])).unwrap_err();
        assert!(
            matches!(unwritable, Error::Serialize { .. }),
            "{unwritable}"
        );
        assert_eq!(fs::read(&path).unwrap(), b"{");
    }
}
