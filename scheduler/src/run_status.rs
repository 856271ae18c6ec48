//! How a run ends, and why it starts nothing more.

words! {
    /// Why a run starts nothing more.
    pub enum StopReason {
        /// Somebody stopped it.
        Interrupted = "interrupted",
        /// Its time is over.
        Deadline = "deadline",
        /// Its money or its tokens are spent.
        Budget = "budget",
        /// A step can't be done for reasons outside of all tasks: no space, no permission, a lock that stays.
        Surroundings = "surroundings",
        /// Attempts in a row ended the same way, with nothing passed between.
        Breaker = "breaker",
    }
}

words! {
    /// How a run ended.
    pub enum RunStatus {
        /// Every task settled well.
        Completed = "completed",
        /// Some tasks failed or are blocked.
        Failed = "failed",
        /// It was stopped before all tasks settled.
        Interrupted = "interrupted",
        /// Its deadline or budget ended before all tasks settled.
        Stopped = "stopped",
    }
}
