//! Locks within this process.

use std::sync::{Mutex, MutexGuard, PoisonError};

/// Locks what is whole whenever nobody holds it, also where somebody panicked.
pub(crate) fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
