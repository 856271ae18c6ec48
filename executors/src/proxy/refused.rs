//! Whom programs were kept from: each once, never more than somebody reads, and in a file, so that a tm that comes after
//! knows them too.

use std::collections::BTreeSet;
use std::io::Write as _;
use std::path::PathBuf;

/// Hosts that were refused.
#[derive(Debug)]
pub(super) struct RefusedHosts {
    file: PathBuf,
    hosts: BTreeSet<String>,
}

/// So many are kept, and so much is read again.
const MOST: usize = 100;
const BYTES: u64 = 64 << 10;

impl RefusedHosts {
    /// Reads those of before.
    pub(super) fn of(file: PathBuf) -> Self {
        let text = tm_untrusted::read(&file, BYTES).unwrap_or_default();
        let lines = String::from_utf8_lossy(&text);
        let hosts = lines.lines().take(MOST).map(str::to_owned).collect();
        Self { file, hosts }
    }

    /// Adds one, a line of text that is safe to show.
    pub(super) fn add(&mut self, host: String) {
        if self.hosts.len() >= MOST || self.hosts.contains(&host) {
            return;
        }
        let written = tm_untrusted::append_private(&self.file)
            .and_then(|mut file| file.write_all(format!("{host}\n").as_bytes()));
        if let Err(error) = written {
            tracing::warn!(%error, "whom a program was kept from can't be written down");
        }
        self.hosts.insert(host);
    }

    /// Returns all of them, in order.
    pub(super) fn all(&self) -> Vec<String> {
        self.hosts.iter().cloned().collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_is_kept_once_and_found_again_and_no_more_than_some_are_kept() {
        let folder = tempfile::tempdir().expect("a folder");
        let file = folder.path().join("refused");
        let mut hosts = RefusedHosts::of(file.clone());
        for host in ["b.example:443", "a.example", "b.example:443"] {
            hosts.add(host.to_owned());
        }
        let mut again = RefusedHosts::of(file.clone());
        assert_eq!(again.all(), ["a.example", "b.example:443"]);
        for number in 0..2 * MOST {
            again.add(format!("{number}.example"));
        }
        assert_eq!(again.all().len(), MOST);
        let written = std::fs::read_to_string(&file).expect("a file");
        assert_eq!(written.lines().count(), MOST);
        assert_eq!(RefusedHosts::of(file).all(), again.all());
    }
}
