//! `tm waves watch`: a run on the whole terminal, from anywhere, while it goes on or afterwards.
//!
//! `model` is what is seen and what keys do, `view` how it looks: both are pure. `source` reads the run's folder,
//! `terminal` is the shell around them. ratatui lives here and nowhere else.

mod board;
mod evidence;
mod model;
mod source;
mod terminal;
#[cfg(test)]
mod tests;
mod view;

pub(crate) use terminal::WatchArguments;
