//! Kills, full disks, other hands and rubbish: each ends in a clear state, and nothing is lost.

mod at_work;
mod collected;
mod crashes;
mod endless;
mod left_running;
mod overwritten;
mod renamed;
mod seeds;
mod surroundings;
mod untrusted;
