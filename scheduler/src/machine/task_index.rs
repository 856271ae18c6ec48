//! The place of a task in all that the machine keeps by task.

use std::ops::{Index, IndexMut};

/// A task of the run: where the plan has it, counted from 0, and behind those the tasks that joined.
#[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd)]
pub(super) struct TaskIndex(pub(super) usize);

impl<T> Index<TaskIndex> for Vec<T> {
    type Output = T;

    fn index(&self, task: TaskIndex) -> &T {
        &self[task.0]
    }
}

impl<T> IndexMut<TaskIndex> for Vec<T> {
    fn index_mut(&mut self, task: TaskIndex) -> &mut T {
        &mut self[task.0]
    }
}
