//! Judges measured test results: RED, GREEN, plain work, and a merged tree before it lands.
