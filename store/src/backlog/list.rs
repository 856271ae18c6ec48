//! Reads the tasks of a list, parts of a long one at the same time.
//!
//! Does not know what a task holds.

use super::document::{Children, Value};
use super::fields::Reader;
use super::in_order::in_order;
use std::convert::Infallible;
use tm_scheduler::Task;

/// Most tasks have so many nodes at least: names and values of id, title, status and dependencies.
const LEAST_NODES: usize = 9;

impl Reader {
    /// Reads the tasks of a list.
    pub(super) fn tasks(&mut self, list: Value<'_>) -> Vec<Task> {
        let mut tasks = room_for(list.elements().nodes());
        let read = |part| {
            let mut reader = Self::default();
            (reader.entries(part), reader)
        };
        let Ok(()) = in_order(list.parts(), read, |(mut read, reader)| {
            tasks.append(&mut read);
            self.add(reader);
            Ok::<(), Infallible>(())
        });
        tasks
    }

    fn entries(&mut self, entries: Children<'_>) -> Vec<Task> {
        let mut tasks = room_for(entries.nodes());
        for entry in entries {
            match self.one(entry) {
                Some(task) => tasks.push(task),
                None => self.warn(entry, None, "tasks", "an entry without an id is left out"),
            }
        }
        tasks
    }
}

/// Room for all tasks of so many nodes; where they have more of them, it is not used.
fn room_for(nodes: usize) -> Vec<Task> {
    Vec::with_capacity(nodes / LEAST_NODES + 1)
}
