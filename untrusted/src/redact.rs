//! Leaves secrets out of a text: values of variables whose names say that they are secret, and what looks like a key.

use regex::{Captures, Regex};
use std::borrow::Cow;
use std::cmp::Reverse;
use std::sync::{LazyLock, PoisonError, RwLock};

/// What stands in the place of a secret.
const REDACTED: &str = "[redacted]";
/// Parts of the names of variables that hold secrets.
const SECRET_NAMES: [&str; 7] = [
    "KEY",
    "TOKEN",
    "SECRET",
    "PASSWORD",
    "PASSWD",
    "PASSPHRASE",
    "CREDENTIAL",
];
/// Ends of such names.
const SECRET_ENDS: [&str; 3] = ["_PASS", "_PAT", "_AUTH"];
/// Ends of the names of variables that say where a secret is kept, which is none.
const PLACES: [&str; 5] = ["_PATH", "_FILE", "_DIR", "_HOME", "_SOCK"];
/// A shorter value is more likely a word than a secret.
const LEAST_SECRET: usize = 8;
/// So is a longer one of small letters alone, such as a password `postgres` on a developer's machine: without that word
/// an agent could not be told what to do.
const LEAST_WORD: usize = 12;

/// Keys as those who issue them shape them.
const KEYS: &str = r"(?x)
    \bsk-[A-Za-z0-9_-]{20,}
  | \bgh[pousr]_[A-Za-z0-9]{20,}
  | \bgithub_pat_[A-Za-z0-9_]{20,}
  | \bglpat-[A-Za-z0-9_-]{16,}
  | \bxox[abeoprs]-[A-Za-z0-9-]{10,}
  | \b(?:AKIA|ASIA)[A-Z0-9]{16}\b
  | \bAIza[A-Za-z0-9_-]{35}
  | \bnpm_[A-Za-z0-9]{30,}
  | \beyJ[A-Za-z0-9_-]{8,}\.eyJ[A-Za-z0-9_-]{8,}(?:\.[A-Za-z0-9_-]*)?
  | -----BEGIN\ [A-Z0-9\ ]*PRIVATE\ KEY(?:\ BLOCK)?-----(?s:.*?)-----END\ [A-Z0-9\ ]*PRIVATE\ KEY(?:\ BLOCK)?-----
  | -----BEGIN\ [A-Z0-9\ ]*PRIVATE\ KEY(?:\ BLOCK)?-----(?:\s|\\[nr]|[A-Za-z0-9+/=]{16,})*
  | (?:[A-Za-z0-9+/=]{16,}(?:\s|\\[nr])+)+(?:[A-Za-z0-9+/=]+\s*)?-----END\ [A-Z0-9\ ]*PRIVATE\ KEY(?:\ BLOCK)?-----
";
/// A password within an address, with what stands before and after it.
const PASSWORDS: &str =
    r#"([A-Za-z][A-Za-z0-9+.-]*://[^\s/@:"'`<>]*:)([^\s/@"'`<>]+)@([^\s/:"'`<>]*)"#;

static KEYS_PATTERN: LazyLock<Regex> =
    LazyLock::new(|| Regex::new(KEYS).expect("the pattern is valid"));
static PASSWORDS_PATTERN: LazyLock<Regex> =
    LazyLock::new(|| Regex::new(PASSWORDS).expect("the pattern is valid"));
static OF_THIS_PROCESS: LazyLock<RwLock<Redactor>> = LazyLock::new(|| {
    let text = |(name, value): (std::ffi::OsString, std::ffi::OsString)| {
        Some((name.into_string().ok()?, value.into_string().ok()?))
    };
    RwLock::new(Redactor::new(std::env::vars_os().filter_map(text)))
});

/// Returns text without the secrets of this process's environment, those that it was told, and what looks like a key.
pub fn redacted(text: &str) -> Cow<'_, str> {
    let known = OF_THIS_PROCESS.read();
    known.unwrap_or_else(PoisonError::into_inner).redact(text)
}

/// Has a value left out of all texts from now on, unless it is so short that it could be a word.
pub fn keep_secret(value: &str) {
    let known = OF_THIS_PROCESS.write();
    known.unwrap_or_else(PoisonError::into_inner).add(value);
}

/// Knows the values of some variables that are secret.
#[derive(Clone, Debug, Default)]
pub struct Redactor {
    /// The longest first, so that no part of one is left.
    values: Vec<String>,
}

impl Redactor {
    /// Takes the values of those variables whose names say that they are secret.
    pub fn new(variables: impl IntoIterator<Item = (String, String)>) -> Self {
        let mut redactor = Self::default();
        for (_, value) in variables
            .into_iter()
            .filter(|(name, value)| is_secret(name, value))
        {
            redactor.add(&value);
        }
        redactor
    }

    /// Takes a value, which is secret whatever it is called.
    fn add(&mut self, value: &str) {
        if value.len() < LEAST_SECRET {
            return;
        }
        self.values.extend([escaped(value), value.to_owned()]);
        self.values
            .sort_by(|left, right| (Reverse(left.len()), left).cmp(&(Reverse(right.len()), right)));
        self.values.dedup();
    }

    /// Returns text without secrets.
    pub fn redact<'a>(&self, text: &'a str) -> Cow<'a, str> {
        let mut text = Cow::Borrowed(text);
        for value in &self.values {
            if text.contains(value.as_str()) {
                text = Cow::Owned(text.replace(value.as_str(), REDACTED));
            }
        }
        text = replaced(text, &KEYS_PATTERN, key);
        replaced(text, &PASSWORDS_PATTERN, password)
    }
}

fn replaced<'a>(
    text: Cow<'a, str>,
    pattern: &Regex,
    by: fn(&Captures<'_>) -> String,
) -> Cow<'a, str> {
    match pattern.replace_all(&text, by) {
        Cow::Borrowed(_) => text,
        Cow::Owned(changed) => Cow::Owned(changed),
    }
}

/// A name with dashes that begins with `sk` is no key: keys have digits.
fn key(found: &Captures<'_>) -> String {
    let found = &found[0];
    let is_name =
        found.starts_with("sk-") && !found.contains(|letter: char| letter.is_ascii_digit());
    if is_name {
        found.to_owned()
    } else {
        REDACTED.to_owned()
    }
}

/// A password for this very machine keeps nobody out, and an agent has to know it.
fn password(found: &Captures<'_>) -> String {
    let is_local = ["localhost", "127.0.0.1", "[", "0.0.0.0"].contains(&&found[3]);
    if is_local || &found[2] == REDACTED {
        found[0].to_owned()
    } else {
        format!("{}{REDACTED}@{}", &found[1], &found[3])
    }
}

fn is_secret(name: &str, value: &str) -> bool {
    let name = name.to_ascii_uppercase();
    let is_named = SECRET_NAMES.iter().any(|part| name.contains(part))
        || SECRET_ENDS.iter().any(|end| name.ends_with(end));
    let is_place = PLACES.iter().any(|end| name.ends_with(end));
    let is_word = value.len() < LEAST_WORD && value.bytes().all(|byte| byte.is_ascii_lowercase());
    is_named && !is_place && value.len() >= LEAST_SECRET && !is_word
}

/// The value as JSON and debug output spell it.
fn escaped(value: &str) -> String {
    value.escape_debug().to_string().replace("\\'", "'")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(variables: &[(&str, &str)]) -> Redactor {
        Redactor::new(
            variables
                .iter()
                .map(|(name, value)| ((*name).to_owned(), (*value).to_owned())),
        )
    }

    #[test]
    fn values_of_secret_variables_are_left_out_however_they_are_spelled() {
        let redactor = of(&[
            ("MY_API_KEY", "kk-12\"34567"),
            ("PATH", "/usr/local/bin"),
            ("PIN_TOKEN", "1"),
            ("db_password", "hunter2hunter2"),
            ("DEV_PASSWORD", "postgres"),
            ("SSH_KEY_PATH", "/home/me/.ssh/id"),
            ("LONG_SECRET", "hunter2hunter2hunter2"),
        ]);
        let text = "a kk-12\"34567 b kk-12\\\"34567 c /usr/local/bin 1 postgres /home/me/.ssh/id hunter2hunter2hunter2!";
        assert_eq!(
            redactor.redact(text),
            "a [redacted] b [redacted] c /usr/local/bin 1 postgres /home/me/.ssh/id [redacted]!"
        );
        assert!(matches!(
            redactor.redact("nothing"),
            Cow::Borrowed("nothing")
        ));
    }

    #[test]
    fn keys_are_known_by_their_shape() {
        let none = Redactor::default();
        let many = |letters: &str, count: usize| letters.repeat(count);
        for key in [
            format!("sk-{}", many("aB3", 10)),
            format!("sk-ant-api03-{}", many("x1_-", 10)),
            format!("sk-proj-{}", many("Z9", 20)),
            format!("ghp_{}", many("a1B2", 9)),
            format!("gho_{}", many("a1B2", 9)),
            format!("github_pat_{}", many("a1_B", 9)),
            format!("glpat-{}", many("a1-B", 5)),
            format!("xoxb-{}", many("12-ab", 5)),
            format!("AKIA{}", many("AB12", 4)),
            format!("AIza{}", many("aB_1-", 7)),
            format!("npm_{}", many("aB12", 9)),
            format!(
                "eyJ{}.eyJ{}.{}",
                many("ab", 9),
                many("cd", 9),
                many("ef", 9)
            ),
            format!(
                "-----BEGIN OPENSSH PRIVATE KEY-----\n{}\nab==\n-----END OPENSSH PRIVATE KEY-----",
                many("Ab1+", 16)
            ),
            format!(
                "-----BEGIN PRIVATE KEY-----\\n{}\\n-----END PRIVATE KEY-----",
                many("Ab1+", 16)
            ),
            format!(
                "-----BEGIN RSA PRIVATE KEY-----\n{}\n{}\n",
                many("Ab1+", 16),
                many("Ab1+", 16)
            ),
            format!(
                "{}\n{}\nab==\n-----END RSA PRIVATE KEY-----",
                many("Ab1+", 16),
                many("Ab1+", 16)
            ),
        ] {
            assert_eq!(
                none.redact(&format!("say \"{key}\" now"))
                    .replace(['\n'], ""),
                "say \"[redacted]\" now",
                "{key}"
            );
        }
    }

    #[test]
    fn passwords_in_addresses_are_left_out_but_for_those_of_this_machine() {
        let none = Redactor::default();
        assert_eq!(
            none.redact("git clone https://me:t0k3n@example.org/a.git"),
            "git clone https://me:[redacted]@example.org/a.git"
        );
        assert_eq!(
            none.redact("https://:t0k3n@example.org"),
            "https://:[redacted]@example.org"
        );
        assert_eq!(
            none.redact("postgres://a:b@db.example.org:5432/x"),
            "postgres://a:[redacted]@db.example.org:5432/x"
        );
    }

    #[test]
    fn what_honest_people_write_stays_as_it_is() {
        let text = "sk-learn-pipeline-with-a-long-name, task-1, eyJ, ghp_x, AKIA, see https://example.org:80/a@b, \
                    postgres://postgres:postgres@localhost:5432/app, the line -----BEGIN CERTIFICATE-----, npm_config_x";
        assert_eq!(Redactor::default().redact(text), text);
    }
}
