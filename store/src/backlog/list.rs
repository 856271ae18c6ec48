//! Reads the tasks of a list, parts of a long one at the same time.
//!
//! Does not know what a task holds.

use super::document::Value;
use super::fields::Reader;
use std::panic::resume_unwind;
use std::thread;
use tm_scheduler::Task;

/// A part that is read at the same time as others has so many entries at least.
const ENTRIES_OF_PART: usize = 2_000;

impl Reader {
    /// Reads the tasks of a list.
    pub(super) fn tasks(&mut self, list: Value<'_>) -> Vec<Task> {
        let entries: Vec<Value<'_>> = list.elements().collect();
        let threads = thread::available_parallelism().map_or(1, usize::from);
        let parts = threads.min(entries.len() / ENTRIES_OF_PART).max(1);
        self.in_parts(&entries, entries.len().div_ceil(parts))
    }

    /// Reads parts of so many entries at the same time.
    fn in_parts(&mut self, entries: &[Value<'_>], length: usize) -> Vec<Task> {
        let mut tasks = Vec::with_capacity(entries.len());
        let (first, others) = entries.split_at(length);
        thread::scope(|scope| {
            let read = |part| {
                scope.spawn(move || {
                    let (mut reader, mut tasks) = (Self::default(), Vec::new());
                    reader.entries(part, &mut tasks);
                    (reader, tasks)
                })
            };
            let others: Vec<_> = others.chunks(length.max(1)).map(read).collect();
            self.entries(first, &mut tasks);
            for other in others {
                let (reader, read) = other.join().unwrap_or_else(|panic| resume_unwind(panic));
                self.add(reader);
                tasks.extend(read);
            }
        });
        tasks
    }

    fn entries(&mut self, entries: &[Value<'_>], tasks: &mut Vec<Task>) {
        tasks.reserve(entries.len());
        for entry in entries {
            match self.one(*entry) {
                Some(task) => tasks.push(task),
                None => self.warn(*entry, None, "tasks", "an entry without an id is left out"),
            }
        }
    }
}
