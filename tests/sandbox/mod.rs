//! Programs that are held by the kernel, each on levels that the machine has.

mod network;
