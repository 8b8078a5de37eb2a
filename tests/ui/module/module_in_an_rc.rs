use std::rc::Rc;

use pullback::prelude::*;

#[derive(Module)]
pub struct Residual(pub Vec<Rc<dyn Module>>);

fn main() {}
