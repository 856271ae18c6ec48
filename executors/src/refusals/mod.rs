//! What a program that was held was refused, read from its own words: whoever is refused says so in the end, in one of a few
//! ways (`words.rs`). Only what the sandbox really closes is named: not what it lets through, nor what whoever runs tm could
//! not do either. Knows neither tasks nor agents' formats: an event in JSON is lines as any other.

#[cfg(test)]
mod tests;
mod words;

use crate::process::{JobKind, Needs};
use std::path::{Path, PathBuf};
use tm_sandbox::{Access, Network, Sandbox};
use words::{BEFORE_HOST, CHANGING, NOT_FOUND, Refused, WORDS, has};

/// So many are named at the most.
const MOST: usize = 8;
/// A longer line is no message.
const LONGEST_LINE: usize = 2_000;

/// What a program printed.
#[derive(Debug)]
pub(crate) struct Printed(String);

impl Printed {
    pub(crate) fn of(printed: &str) -> Self {
        // As it stands in events.
        let plain = printed
            .replace("\\n", "\n")
            .replace("\\u2018", "‘")
            .replace("\\u2019", "’");
        Self(plain)
    }

    /// Tells whether anything in it is said by who was refused something.
    pub(crate) fn says_anything(&self) -> bool {
        let mut lines = self.lines().map(str::to_lowercase);
        lines.any(|line| said(&line).next().is_some())
    }

    fn lines(&self) -> impl Iterator<Item = &str> {
        self.0.lines().filter(|line| line.len() <= LONGEST_LINE)
    }
}

/// What a line says that somebody was refused, by its words, in small letters.
fn said(line: &str) -> impl Iterator<Item = (Refused, &'static str)> {
    WORDS.iter().filter_map(move |(refused, all)| {
        let found = all.iter().find(|words| has(line, words));
        found.map(|words| (*refused, *words))
    })
}

/// A program that was held.
#[derive(Clone, Copy, Debug)]
pub(crate) struct HeldJob<'a> {
    pub(crate) sandbox: &'a Sandbox,
    pub(crate) needs: &'a Needs,
    /// The folder in which it worked.
    pub(crate) folder: &'a Path,
    /// The home of whoever runs tm, which people know as `~`.
    pub(crate) home: Option<&'a Path>,
}

impl HeldJob<'_> {
    /// Returns what it says that it was refused, each in a line with the setting that opens it.
    pub(crate) fn refused(&self, printed: &Printed) -> Vec<String> {
        let subject = match self.needs.kind {
            JobKind::Agent => "its words",
            JobKind::Setup => "the set-up's words",
            JobKind::Tests => "the tests' words",
            JobKind::Hooks => "the words of the hook, or the filter,",
        };
        let mut found = Vec::new();
        for what in printed.lines().filter_map(|line| self.refused_in(line)) {
            let what = format!("{subject} say: {what}");
            if found.len() < MOST && !found.contains(&what) {
                found.push(what);
            }
        }
        found
    }

    fn refused_in(&self, line: &str) -> Option<String> {
        let small = line.to_lowercase();
        said(&small).find_map(|(refused, words)| {
            let said = words.replace('…', " … ");
            match refused {
                Refused::Path => self.path(line, &small, words),
                Refused::Network | Refused::Host => self.network(refused, &small, &said),
                Refused::Process | Refused::Memory | Refused::FileSize => {
                    self.limit(refused, &said)
                }
                Refused::Call => Some(format!("wanted a call that leads out: refused ({said})")),
            }
        })
    }

    fn limit(&self, refused: Refused, said: &str) -> Option<String> {
        let limits = &self.sandbox.confinement.limits;
        let (what, setting, most) = match refused {
            Refused::Process => ("another process", "processes", limits.processes),
            Refused::Memory => ("more memory", "memory", limits.memory),
            _ => ("a larger file", "file_size", limits.file_size),
        };
        let most = most?;
        Some(format!(
            "wanted {what}: refused ({said}); `sandbox.{setting}` allows {most}"
        ))
    }

    fn network(&self, refused: Refused, small: &str, said: &str) -> Option<String> {
        let setting = match self.needs.kind {
            _ if self.needs.hosts.is_some() => "`sandbox.agents.hosts` lets it through the proxy",
            _ if self.sandbox.confinement.network == Network::On => return None,
            JobKind::Agent => "`sandbox.agents.network: on` opens it",
            JobKind::Setup => "`sandbox.setup.network: on` opens it",
            JobKind::Tests | JobKind::Hooks => "`sandbox.tests.network: on` opens it",
        };
        let host = match host_in(small) {
            // What is served within is reached.
            Some(host) if is_loopback(&host) => return None,
            Some(host) => host,
            None if refused == Refused::Network => "the network".to_owned(),
            None => return None,
        };
        Some(format!("wanted {host}: refused ({said}); {setting}"))
    }

    fn path(&self, line: &str, small: &str, words: &str) -> Option<String> {
        let changes = CHANGING.iter().any(|word| small.contains(word));
        let found = paths_in(line).into_iter().rev().find_map(|path| {
            let (real, access) = self.given(path)?;
            let is_refused = match access {
                Access::Write => false,
                // Where a layer can't be had, it is read alone.
                Access::Read | Access::Layered => words != NOT_FOUND && may_change(&real),
                Access::Hidden => true,
            };
            is_refused.then_some((real, access))
        });
        let (real, access) = found?;
        let shown = match self.home.and_then(|home| real.strip_prefix(home).ok()) {
            Some(within) => format!("~/{}", within.display()),
            None => real.display().to_string(),
        };
        let shown = tm_untrusted::line(shown.trim_end_matches('/'), 200);
        Some(match access {
            Access::Hidden if words == NOT_FOUND => {
                format!("looked for {shown}: not there for it; `sandbox.read` shows it")
            }
            Access::Hidden if !changes => format!(
                "wanted {shown}: refused ({words}); `sandbox.read` shows it, `sandbox.write` lets it be changed"
            ),
            _ => format!(
                "tried to write {shown}: refused ({words}); `sandbox.write` lets it be changed"
            ),
        })
    }

    /// What it may do with a path, as it is on the disk.
    fn given(&self, path: &str) -> Option<(PathBuf, Access)> {
        let path = self.folder.join(path);
        let above = path
            .ancestors()
            .find_map(|above| Some((above, above.canonicalize().ok()?)));
        let (above, real) = above?;
        let real = real.join(path.strip_prefix(above).ok()?);
        let access = self.sandbox.gives(&real);
        Some((real, access))
    }
}

/// Tells whether whoever runs tm may change a path, or make it.
fn may_change(path: &Path) -> bool {
    use rustix::fs::{Access, access};
    let there = path.ancestors().find(|above| above.exists());
    there.is_some_and(|there| access(there, Access::WRITE_OK).is_ok())
}

/// Returns the paths that a line names, but those within its program's own folder.
fn paths_in(line: &str) -> Vec<&str> {
    let begins = line.match_indices(['/', '.']).filter_map(|(at, _)| {
        let is_path = line[at..].starts_with('/') || line[at..].starts_with("../");
        let before = line[..at].chars().next_back();
        let is_begin = before.is_none_or(|c| c.is_whitespace() || "'\"‘`(=[".contains(c));
        (is_path && is_begin || line[..at].ends_with("unix://")).then_some((at, before))
    });
    let ends = |at: usize, before: Option<char>| {
        let rest = &line[at..];
        let end = match before {
            Some('‘') => rest.find('’'),
            Some(quote @ ('\'' | '"' | '`')) => rest.find([quote, '\\']),
            _ => rest.find(|c: char| c.is_whitespace() || "'\"’`)]\\;,".contains(c)),
        };
        rest[..end.unwrap_or(rest.len())].trim_end_matches([':', '.', '?', '!'])
    };
    begins.map(|(at, before)| ends(at, before)).collect()
}

/// Returns the host that a line in small letters names, with its port where that is told.
fn host_in(line: &str) -> Option<String> {
    let (before, rest) = BEFORE_HOST.iter().find_map(|before| {
        let rest = line.split_once(before)?.1;
        let end = rest.find(|c: char| !c.is_ascii_alphanumeric() && !".-_:[]".contains(c));
        let host = rest[..end.unwrap_or(rest.len())].trim_end_matches([':', '.']);
        let is_host = host.contains(['.', ':']) || host == "localhost";
        is_host.then_some((line.split_once(before)?.0, host))
    })?;
    let named = line.split_once(" port ").or(line.split_once("port="));
    let named = named.map(|(_, port)| port.chars().take_while(char::is_ascii_digit).collect());
    let of_scheme = match before.rsplit(|c: char| !c.is_ascii_alphanumeric()).next() {
        Some("https") => Some("443".to_owned()),
        Some("http") => Some("80".to_owned()),
        _ => None,
    };
    let port = named.filter(|port: &String| !port.is_empty()).or(of_scheme);
    let has_port = rest.rsplit(':').next() != Some(rest);
    Some(match port {
        Some(port) if !has_port => format!("{rest}:{port}"),
        _ => rest.to_owned(),
    })
}

fn is_loopback(host: &str) -> bool {
    ["localhost", "127.", "[::1]", "::1", "0.0.0.0"]
        .iter()
        .any(|own| host.starts_with(own))
}
