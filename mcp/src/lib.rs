//! Offers tm's operations over the Model Context Protocol: tools, resources and prompts on stdio, or on HTTP for this
//! machine alone.
//!
//! The only crate that talks to rmcp. Knows names and shapes of tools; what they do is done in `app` and `runtime`.

mod advice;
mod answer;
mod arguments;
mod autopilot;
mod completions;
mod error;
mod first_settings;
mod handler;
#[cfg(feature = "http")]
mod http;
mod instructions;
mod prompts;
mod resources;
mod server;
mod tasks;
mod tools;
mod waves;

pub use answer::Refusal;
pub use error::Error;
pub use handler::serve_stdio;
#[cfg(feature = "http")]
pub use http::{HttpServer, new_token};
pub use server::{Place, Server};
pub use tools::ToolChoice;
pub use waves::DETACHED;
