//! Models on loopback that do what a script says, in the protocols that real agents speak.
//!
//! Knows the shapes of four protocols and nothing of any agent's command line. It reads the prompt as a model does: what it
//! is asked for, where, and how often its tools have answered decide what it does next.

mod anthropic;
mod chat;
mod conversation;
mod gemini;
mod refusal;
mod responses;
mod script;
mod server;
mod stream;

pub(crate) use refusal::Refusal;
pub(crate) use script::{Move, Prompt, Script, work};
pub(crate) use server::{Behaviour, ModelServer};

/// Tokens that every answer is said to have read, cached ones included.
pub(crate) const INPUT_TOKENS: u64 = 1_200;
/// Tokens of those that came from a cache.
const CACHED_TOKENS: u64 = 200;
/// Tokens that every answer is said to have written, thoughts included.
pub(crate) const OUTPUT_TOKENS: u64 = 34;
/// Tokens of those that were thoughts.
const THOUGHT_TOKENS: u64 = 5;
