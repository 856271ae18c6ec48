//! What the Rust of a project defines, as far as a look at its text tells: enough to know its own names from others'.

use regex::Regex;
use std::collections::BTreeSet;
use std::path::Path;

/// So many files are looked at, each so far, in folders so deep.
const MOST_FILES: usize = 2_000;
const MOST_BYTES: u64 = 1024 * 1024;
const DEEPEST: usize = 12;

patterns! {
    DEFINED = r"(?m)^[^/\n]*\b(?:trait|struct|enum|union|type)\s+([A-Za-z_]\w*)";
    TRAIT = r"(?m)^[^/\n]*\btrait\s+[A-Za-z_]\w*";
    IMPLEMENTED = r"(?m)^[^/\n]*\bimpl\b[^\n{]*\bfor\s+&?(?:mut\s+)?(\$?[A-Za-z_]\w*|\[|\()";
}

/// The names that are defined, and those that traits are implemented for.
#[derive(Debug, Default)]
pub(super) struct Sources {
    defined: BTreeSet<String>,
    extended: BTreeSet<String>,
    has_trait: bool,
}

impl Sources {
    /// Reads what lies in a folder, but for what is built or hidden.
    pub(super) fn read(root: &Path) -> Self {
        let mut sources = Self::default();
        let mut folders = vec![(root.to_owned(), 0)];
        let mut files = 0;
        while let Some((folder, depth)) = folders.pop() {
            for entry in tm_untrusted::entries(&folder) {
                let (name, path) = (
                    entry.file_name().to_string_lossy().into_owned(),
                    entry.path(),
                );
                let Ok(kind) = entry.file_type() else {
                    continue;
                };
                if kind.is_dir() && depth < DEEPEST && !name.starts_with('.') && name != "target" {
                    folders.push((path, depth + 1));
                } else if kind.is_file()
                    && path.extension().is_some_and(|end| end == "rs")
                    && files < MOST_FILES
                {
                    files += 1;
                    let text = tm_untrusted::read_beginning(&path, MOST_BYTES).unwrap_or_default();
                    sources.add(&String::from_utf8_lossy(&text));
                }
            }
        }
        sources
    }

    fn add(&mut self, text: &str) {
        let names = |pattern: &Regex| -> Vec<String> {
            let found = pattern.captures_iter(text);
            found.map(|found| found[1].to_owned()).collect()
        };
        self.defined.extend(names(&DEFINED));
        self.extended.extend(names(&IMPLEMENTED));
        self.has_trait |= TRAIT.is_match(text);
    }

    /// Whether a type or a trait of that name is the project's.
    pub(super) fn defines(&self, name: &str) -> bool {
        self.defined.contains(name)
    }

    /// Whether a trait of the project's is implemented for a type of that name; a macro may do so for any.
    pub(super) fn extends(&self, name: &str) -> bool {
        self.has_trait
            && (self.extended.contains(name)
                || self.extended.iter().any(|name| name.starts_with('$')))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn own_names_are_known_from_others() {
        let mut sources = Sources::default();
        sources.add(
            "pub trait Integer: Copy {}\nimpl Integer for u8 {}\n// struct Gone;\npub(crate) struct Buffer<T> { a: T }\n",
        );
        assert!(
            sources.defines("Integer") && sources.defines("Buffer") && !sources.defines("Gone")
        );
        assert!(sources.extends("u8") && !sources.extends("u16"));
        sources.add("macro_rules! all { ($($t:ty)*) => { $(impl Integer for $t {})* } }\n");
        assert!(sources.extends("u16"));
    }
}
