//! Gives each task a git worktree, brings its branch home, loses nothing.
