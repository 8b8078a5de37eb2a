use std::sync::Arc;

use pullback::prelude::*;

#[derive(Module)]
pub struct Residual<L> {
    pub inner: Arc<L>,
}

fn main() {}
