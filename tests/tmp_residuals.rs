#![allow(dead_code)]
#[path = "it/residuals/mod.rs"]
mod residuals;
