//! Layers defaults, files, environment and flags into one typed value that remembers where each setting came from.
