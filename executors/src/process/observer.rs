//! Looks at all processes again and again while there are trees: one thread for all of them, however many there are. Where
//! trees may have no more than so many processes, it looks sooner when as many have come up in the whole system.
//!
//! Does not know what is seen there, nor what it is good for.

use super::registry::{self, Woken};
use parking_lot::Mutex;
use std::thread::{Builder, sleep};
use std::time::{Duration, Instant};

/// So long after its start a tree is looked at for the first time.
const AFTER_A_START: Duration = Duration::from_millis(200);
/// So long after a look there is no other one, whatever comes up.
const AFTER_ANY_LOOK: Duration = Duration::from_millis(100);
/// So long after that there is none either, however many trees begin.
const AFTER_A_LOOK: Duration = Duration::from_millis(200);
/// So long after that there is one even when no tree has begun.
const AFTER_NO_START: Duration = Duration::from_millis(700);
/// So often it is asked how many processes there are in the whole system, where that says whether to look.
const BETWEEN_COUNTS: Duration = Duration::from_millis(100);
/// So long after a tree was found to have more than it may, that is looked at again: what starts others goes on meanwhile.
const AFTER_TOO_MANY: Duration = Duration::from_millis(20);
/// The thread asks for little.
const STACK: usize = 256 * 1024;

/// The name of the thread.
pub(super) const NAME: &str = "tm-processes";

/// Has all trees of this process looked at from now on; further calls are free.
pub(super) fn begin() {
    static HAS_BEGUN: Mutex<bool> = Mutex::new(false);
    let mut has_begun = HAS_BEGUN.lock();
    if *has_begun {
        return;
    }
    let thread = Builder::new().name(NAME.to_owned()).stack_size(STACK);
    match thread.spawn(observe_for_ever) {
        Ok(_never_ends) => *has_begun = true,
        // The next tree tries again.
        Err(error) => tracing::warn!(%error, "nobody looks at what programs start"),
    }
}

fn observe_for_ever() {
    go_first();
    let mut in_system = registry::everywhere();
    loop {
        if wait(AFTER_NO_START, in_system, registry::wait_for_start) == Woken::ByAStart {
            wait(AFTER_A_START, in_system, sleep_only);
        }
        in_system = registry::everywhere();
        while registry::observe(in_system) {
            sleep(AFTER_TOO_MANY);
            in_system = registry::everywhere();
        }
        sleep(AFTER_ANY_LOOK);
        wait(AFTER_A_LOOK, in_system, sleep_only);
    }
}

/// Has this thread run before others where it may: what starts more and more would leave it no processor to see that by. The
/// superuser's jobs have no other bound.
#[cfg(target_os = "linux")]
fn go_first() {
    const FIRST: i32 = -20;
    // On Linux nobody is this thread alone.
    let _may_not = rustix::process::setpriority_process(None, FIRST);
}

/// A priority is all of a process's here, and nothing is bounded.
#[cfg(not(target_os = "linux"))]
const fn go_first() {}

fn sleep_only(how_long: Duration) -> Woken {
    sleep(how_long);
    Woken::ByTime
}

/// Waits so long, or for a start; no longer than until a tree can have more processes than it may, where there were so many
/// in the whole system before.
fn wait(how_long: Duration, in_system: u64, wait_once: impl Fn(Duration) -> Woken) -> Woken {
    let until = Instant::now() + how_long;
    loop {
        let rest = until.saturating_duration_since(Instant::now());
        let is_to_be_counted = registry::can_be_too_many(in_system);
        if rest.is_zero() || is_to_be_counted == Some(true) {
            return Woken::ByTime;
        }
        let part = is_to_be_counted.map_or(rest, |_| rest.min(BETWEEN_COUNTS));
        if wait_once(part) == Woken::ByAStart {
            return Woken::ByAStart;
        }
    }
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;
    use crate::process::{ProcessTree, TreeCommand};
    use std::path::Path;

    fn threads() -> usize {
        let name = |task: std::fs::DirEntry| std::fs::read_to_string(task.path().join("comm"));
        tm_untrusted::entries(Path::new("/proc/self/task"))
            .filter_map(|task| name(task).ok())
            .filter(|name| name.trim_end() == NAME)
            .count()
    }

    #[tokio::test]
    async fn all_trees_are_looked_at_by_one_thread() {
        let folder = tempfile::tempdir().expect("a folder");
        let sleeps = |number: u32| {
            ProcessTree::spawn(&TreeCommand {
                program: "sleep".into(),
                arguments: vec!["1000".into()],
                working_folder: folder.path().to_owned(),
                stdout: "/dev/null".into(),
                stderr: "/dev/null".into(),
                env_markers: vec![("TM_OBSERVED".to_owned(), number.to_string())],
                ..TreeCommand::default()
            })
        };
        let mut trees: Vec<_> = (0..20)
            .map(|number| sleeps(number).expect("started"))
            .collect();
        while threads() == 0 {
            std::thread::yield_now();
        }
        assert_eq!(threads(), 1);
        for tree in &mut trees {
            tree.end(Duration::ZERO).await;
        }
        assert_eq!(threads(), 1);
    }
}
