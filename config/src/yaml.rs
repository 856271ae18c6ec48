//! Reads settings files: YAML into plain values, with duplicate keys, tags and nonsense refused.

use crate::Error;
use serde_json::{Map, Value, json};
use std::io::{self, Read as _};
use std::path::Path;

/// No settings file is larger; a larger one was named by mistake.
const LARGEST: u64 = 1 << 20;

/// Returns the text of a file, `None` when there is none.
///
/// `shown` is the path for messages.
pub(crate) fn read_file(path: &Path, shown: &Path) -> Result<Option<String>, Error> {
    let failed = |source| Error::Read {
        path: shown.to_path_buf(),
        source,
    };
    let file = match tm_untrusted::open_own(path) {
        Ok(file) => file,
        Err(error)
            if matches!(
                error.kind(),
                io::ErrorKind::NotFound | io::ErrorKind::NotADirectory
            ) =>
        {
            return Ok(None);
        }
        Err(error) => return Err(failed(error)),
    };
    let bytes = file.metadata().map_err(failed)?.len();
    if bytes > LARGEST {
        return Err(Error::TooLarge {
            path: shown.to_path_buf(),
            bytes,
            limit: LARGEST,
        });
    }
    let mut text = String::new();
    file.take(LARGEST)
        .read_to_string(&mut text)
        .map_err(failed)?;
    Ok(Some(without_mark(&text)))
}

/// Returns a text without the mark of its byte order.
pub(crate) fn without_mark(text: &str) -> String {
    text.strip_prefix('\u{feff}').unwrap_or(text).to_owned()
}

/// Parses YAML; an empty text is `null`.
pub(crate) fn parse(text: &str) -> Result<Value, String> {
    let mut value: serde_yaml::Value =
        serde_yaml::from_str(text).map_err(|error| error.to_string())?;
    value.apply_merge().map_err(|error| error.to_string())?;
    plain(value)
}

fn plain(value: serde_yaml::Value) -> Result<Value, String> {
    match value {
        serde_yaml::Value::Null => Ok(Value::Null),
        serde_yaml::Value::Bool(truth) => Ok(Value::Bool(truth)),
        serde_yaml::Value::Number(number) => match json!(number) {
            Value::Null => Err(format!("`{number}` is no number that can be used")),
            plain => Ok(plain),
        },
        serde_yaml::Value::String(text) => Ok(Value::String(text)),
        serde_yaml::Value::Sequence(values) => values
            .into_iter()
            .map(plain)
            .collect::<Result<_, _>>()
            .map(Value::Array),
        serde_yaml::Value::Mapping(mapping) => plain_map(mapping).map(Value::Object),
        serde_yaml::Value::Tagged(tagged) => {
            Err(format!("the tag `{}` means nothing here", tagged.tag))
        }
    }
}

fn plain_map(mapping: serde_yaml::Mapping) -> Result<Map<String, Value>, String> {
    let mut map = Map::new();
    for (key, value) in mapping {
        let name = match plain(key)? {
            Value::String(text) => text,
            scalar @ (Value::Bool(_) | Value::Number(_)) => scalar.to_string(),
            Value::Null | Value::Array(_) | Value::Object(_) => {
                return Err("a key that is no text".to_owned());
            }
        };
        if map.contains_key(&name) {
            return Err(format!("duplicate entry with key {name:?}"));
        }
        map.insert(name, plain(value)?);
    }
    Ok(map)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs::File;

    #[test]
    fn words_that_old_yaml_took_for_truth_values_stay_words() {
        let value = parse("a: off\nb: no\nc: on\nd: true").unwrap();
        assert_eq!(value, json!({"a": "off", "b": "no", "c": "on", "d": true}));
    }

    #[test]
    fn duplicate_keys_are_refused_at_every_depth() {
        for text in [
            "a: 1\na: 2",
            "a:\n  b: 1\n  b: 2",
            "a: {b: 1, b: 2}",
            "1: a\n'1': b",
        ] {
            let why = parse(text).unwrap_err();
            assert!(why.contains("duplicate entry with key"), "{why}");
        }
    }

    #[test]
    fn anchors_and_merge_keys_work() {
        let value = parse("a: &x {b: 1, c: 2}\nd:\n  <<: *x\n  c: 3").unwrap();
        assert_eq!(
            value["d"],
            json!({"b": 1, "c": 3})
                .as_object()
                .map(|map| json!(map))
                .unwrap()
        );
    }

    #[test]
    fn nonsense_is_refused() {
        for text in [
            "a: !secret b",
            "a: .nan",
            "~: 1",
            "[a]: 1",
            "a: [",
            "\ta: 1",
            "a: 1\n---\nb: 2",
        ] {
            assert!(parse(text).is_err(), "{text:?}");
        }
    }

    #[test]
    fn file_that_is_not_there_is_none_and_one_that_is_no_text_an_error() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("a.yaml");
        assert!(read_file(&file, &file).unwrap().is_none());
        assert!(matches!(
            read_file(folder.path(), &file),
            Err(Error::Read { .. })
        ));
        tempfile::NamedTempFile::new_in(folder.path())
            .unwrap()
            .persist(&file)
            .unwrap();
        std::io::Write::write_all(&mut File::create(&file).unwrap(), &[0xff, 0xfe]).unwrap();
        assert!(matches!(read_file(&file, &file), Err(Error::Read { .. })));
        File::create(&file).unwrap().set_len(LARGEST + 1).unwrap();
        assert!(matches!(
            read_file(&file, &file),
            Err(Error::TooLarge { .. })
        ));
    }
}
