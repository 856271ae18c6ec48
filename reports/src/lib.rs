//! Turns a run's events into Markdown, JSON and a CI step summary.
