//! Replaces a file so that a reader sees the old or the new content, never a part.
