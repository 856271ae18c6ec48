//! Puts a program where it sees and reaches what it is given and nothing else, by the kernel and not by asking.
//!
//! A [`Confinement`] says what a program may see, change, reach and use up. [`Level`] says which means of the system
//! holds it: namespaces that bubblewrap makes, or Landlock and a filter of system calls. Both are put on in the program's
//! own process before it begins ([`enter`]), so nothing of tm has to stay beside it, and it outlives tm. Knows neither
//! agents nor tests.

mod confinement;
mod level;
mod sandbox;
mod view;

#[cfg(target_os = "linux")]
mod linux;
#[cfg(target_os = "macos")]
mod macos;

#[cfg(target_os = "linux")]
pub use linux::{
    Exceeded, Group, delegated, enter, find, given_name, is_keeper, lay_before, line,
    ports_of_servers, processes_and_threads, start,
};
#[cfg(target_os = "macos")]
pub use macos::{
    Exceeded, Group, delegated, enter, find, given_name, is_keeper, line, ports_of_servers,
    processes_and_threads, start,
};

pub use confinement::{Confinement, Layers, Limits, Network, SOCKET};
pub use level::{Found, Level, Refused, Wanted};
pub use sandbox::{ENTRY, Sandbox};
pub use view::{Access, View};
