//! Slots and ports of checkouts: whatever listens in one is in the way of nobody in another.
//!
//! A checkout's number is its slot for as long as the run goes on, over crashes too, and only one attempt at a time has
//! it. Ports come in blocks, each held by one run on this machine by a lock that the system lets go of with the process.
//! Does not look whether some other program listens on a port.

use parking_lot::Mutex;
use rustix::process::geteuid;
use std::borrow::Cow;
use std::ffi::OsString;
use std::fs::{DirBuilder, File};
use std::io::Write as _;
use std::os::unix::fs::{DirBuilderExt as _, MetadataExt as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// The first port; below those that systems hand out by themselves.
const FIRST: u32 = 21_000;
/// So many ports each slot has, so many slots a block.
const PER_SLOT: u32 = 10;
const SLOTS: u32 = 50;
/// So many blocks there are.
const BLOCKS: u32 = 22;

/// The ports of a run.
#[derive(Clone, Debug)]
pub(crate) struct Ports {
    /// What this run is known by to itself, when it is taken up again.
    key: String,
    leases: Arc<Mutex<Vec<Option<Lease>>>>,
}

/// A block that is held as long as this lives.
#[derive(Debug)]
struct Lease {
    block: u32,
    _lock: File,
}

impl Ports {
    /// Returns the ports of the run whose checkouts are in a folder; none is taken before it is asked for.
    pub(crate) fn of(folder: &Path) -> Self {
        Self {
            key: folder.display().to_string(),
            leases: Arc::default(),
        }
    }

    /// Returns the variables by which whatever runs in a checkout knows its slot and its ports. Where all ports are
    /// taken, it has none.
    pub(crate) fn variables(&self, checkout: &Path) -> Vec<(OsString, OsString)> {
        let slot = slot_of(checkout);
        let port = self.port(slot);
        let port = port.map(|port| ("TM_PORT".into(), port.to_string().into()));
        [("TM_SLOT".into(), slot.to_string().into())]
            .into_iter()
            .chain(port)
            .collect()
    }

    /// The first port of a slot.
    fn port(&self, slot: u32) -> Option<u32> {
        let index = slot.checked_sub(1)?;
        let block = self.block(usize::try_from(index / SLOTS).ok()?)?;
        Some(FIRST + (block * SLOTS + index % SLOTS) * PER_SLOT)
    }

    fn block(&self, number: usize) -> Option<u32> {
        let mut leases = self.leases.lock();
        while leases.len() <= number {
            let key = format!("{} {}", self.key, leases.len());
            leases.push(folder().and_then(|folder| Lease::take(&folder, &key)));
        }
        leases[number].as_ref().map(|lease| lease.block)
    }
}

impl Lease {
    /// Takes the block that this run had before, or the first that nobody has.
    fn take(folder: &Path, key: &str) -> Option<Self> {
        let had = |block: &u32| {
            let found = tm_untrusted::read(&folder.join(block.to_string()), 4096);
            found.is_ok_and(|found| found == key.as_bytes())
        };
        let before = (0..BLOCKS).find(had).into_iter();
        let mut blocks = before.chain(0..BLOCKS);
        blocks.find_map(|block| Self::lock(folder, block, key))
    }

    fn lock(folder: &Path, block: u32, key: &str) -> Option<Self> {
        let mut lock = tm_untrusted::append(&folder.join(block.to_string())).ok()?;
        lock.try_lock().ok()?;
        lock.set_len(0).ok()?;
        lock.write_all(key.as_bytes()).ok()?;
        Some(Self { block, _lock: lock })
    }
}

/// The number of a checkout: those of agents and those of judges are counted together.
fn slot_of(checkout: &Path) -> u32 {
    let name = name_of(checkout);
    let number = name.rsplit('-').next().unwrap_or_default();
    number.parse().unwrap_or(0)
}

/// The name of a checkout's folder.
pub(crate) fn name_of(checkout: &Path) -> Cow<'_, str> {
    checkout.file_name().unwrap_or_default().to_string_lossy()
}

/// The folder of the locks: one for all runs of this user, whatever their settings are.
fn folder() -> Option<PathBuf> {
    let user = geteuid().as_raw();
    let folder = std::env::temp_dir().join(format!("tm-ports-{user}"));
    // Somebody else may have been faster; whose folder it is counts.
    let _there_already = DirBuilder::new().mode(0o700).create(&folder);
    let metadata = folder.symlink_metadata().ok()?;
    (metadata.is_dir() && metadata.uid() == user).then_some(folder)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_two_runs_have_the_same_block_and_a_run_finds_its_own_again() {
        let folder = tempfile::tempdir().expect("a folder");
        let take = |key: &str| Lease::take(folder.path(), key).expect("a block");
        let (first, second) = (take("a 0"), take("b 0"));
        assert_eq!((first.block, second.block), (0, 1));
        drop(first);
        drop(second);
        assert_eq!(take("b 0").block, 1);
        let all: Vec<Lease> = (0..BLOCKS).map(|run| take(&run.to_string())).collect();
        assert_eq!(all.len(), 22);
        assert!(Lease::take(folder.path(), "more").is_none());
    }

    #[test]
    fn each_checkout_has_ports_of_its_own() {
        let ports = Ports::of(Path::new("/w"));
        let of = |name: &str| ports.variables(&Path::new("/w").join(name));
        assert_eq!(of("3")[0], ("TM_SLOT".into(), "3".into()));
        let port = |name: &str| -> u32 { of(name)[1].1.to_string_lossy().parse().expect("a port") };
        assert_eq!(port("judge-4") - port("3"), PER_SLOT);
        assert_ne!(port("51"), port("1"));
        assert_eq!(
            of("other").len(),
            1,
            "what is no checkout of a pool has no ports"
        );
    }
}
