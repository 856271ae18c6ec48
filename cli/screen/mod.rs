//! The live screen of a run: what goes on, what waits and for what, how far each wave is, how long it may still take.
//!
//! `board` takes what is to be seen from the scheduler, `layout` turns it into lines, `live` draws them. Only `live`
//! knows a terminal; indicatif lives there.

pub(crate) mod board;
pub(crate) mod layout;
mod live;
pub(crate) mod text;

pub(crate) use live::{Live, Screen};
pub(crate) use text::{Charset, Colours, clock};
