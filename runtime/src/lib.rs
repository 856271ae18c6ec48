//! Performs the scheduler's effects and feeds it what happened, in one loop.
