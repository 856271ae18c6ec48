//! Reads the tasks of a list, parts of a long one at the same time.
//!
//! Does not know what a task holds.

use super::document::{Children, Value};
use super::fields::Reader;
use std::panic::resume_unwind;
use std::thread;
use tm_scheduler::Task;

/// Most tasks have so many nodes at least: names and values of id, title, status and dependencies.
const LEAST_NODES: usize = 9;

impl Reader {
    /// Reads the tasks of a list.
    pub(super) fn tasks<'d>(&mut self, list: Value<'d>) -> Vec<Task> {
        thread::scope(|scope| {
            let mut parts = list.parts().into_iter();
            let first = parts.next();
            let read = |part: Children<'d>| {
                let own = part.clone();
                let reading = move || {
                    let (mut reader, mut tasks) = (Self::default(), room_for(own.nodes()));
                    reader.entries(own, &mut tasks);
                    (tasks, reader)
                };
                (part, thread::Builder::new().spawn_scoped(scope, reading))
            };
            let others: Vec<_> = parts.map(read).collect();
            let mut tasks = room_for(list.elements().nodes());
            if let Some(first) = first {
                self.entries(first, &mut tasks);
            }
            for (part, thread) in others {
                let Ok(thread) = thread else {
                    // There are no more threads.
                    self.entries(part, &mut tasks);
                    continue;
                };
                let (read, reader) = thread.join().unwrap_or_else(|panic| resume_unwind(panic));
                tasks.extend(read);
                self.add(reader);
            }
            tasks
        })
    }

    fn entries(&mut self, entries: Children<'_>, tasks: &mut Vec<Task>) {
        for entry in entries {
            match self.one(entry) {
                Some(task) => tasks.push(task),
                None => self.warn(entry, None, "tasks", "an entry without an id is left out"),
            }
        }
    }
}

/// Room for all tasks of so many nodes; where they have more of them, it is not used.
fn room_for(nodes: usize) -> Vec<Task> {
    Vec::with_capacity(nodes / LEAST_NODES + 1)
}
