//! Residuals that are wrong when they run.
