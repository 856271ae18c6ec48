//! One attempt of one agent: a supervised process tree, its logs and its result file.
