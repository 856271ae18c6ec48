//! What a process may use up, by the limits that its children inherit.

use crate::Limits;
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use std::io;

/// Sets the limits; none is raised.
pub(super) fn set(limits: Limits) -> io::Result<()> {
    let wanted = [
        (Resource::Data, limits.memory),
        (Resource::Nproc, limits.processes),
        (Resource::Fsize, limits.file_size),
        // What crashes leaves no image of its memory.
        (Resource::Core, Some(0)),
    ];
    for (resource, most) in wanted {
        let Some(most) = most else { continue };
        let now = getrlimit(resource);
        let most = now.maximum.map_or(most, |now| now.min(most));
        setrlimit(
            resource,
            Rlimit {
                current: Some(now.current.map_or(most, |now| now.min(most))),
                maximum: Some(most),
            },
        )?;
    }
    Ok(())
}
