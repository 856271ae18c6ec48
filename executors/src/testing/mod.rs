//! Finds, runs and reads test commands.
