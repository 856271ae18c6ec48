//! What tm believes: the tests, and what they read and run, as they were approved; nothing that an agent says.

mod audit;
mod bending;
mod cheating;
mod gates;
mod judged_by;
mod parts;
mod proving_again;
mod questioned;
mod refactoring;
mod unhealthy;
