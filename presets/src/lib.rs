//! Holds the prompts and the agent recipes, embedded and overridable by the user's own.
