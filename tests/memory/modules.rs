//! The memory that a list of a model's parts takes.

use pullback::ndarray::{Array1, Ix1};
use pullback::prelude::*;

use crate::counting::allocations;

#[derive(Module)]
struct Layers {
    layers: Vec<Parameter<f32, Ix1>>,
}

#[test]
fn parameters_are_listed_without_making_their_names() {
    let _alone = crate::alone();
    let layers = (0..200).map(|_| Parameter::new(Array1::zeros(1)));
    let model = Layers {
        layers: layers.collect(),
    };
    // The growing list, and the set of parameters that were visited.
    let (count, listed) = allocations(|| model.parameters().len());
    assert_eq!(listed, 200);
    assert!(count < 30, "{count} allocations");
    let (count, listed) = allocations(|| model.named_buffers().len());
    assert_eq!((count, listed), (0, 0));
    let (count, _) = allocations(|| model.named_parameters().len());
    assert!(count > 200, "the names are there where they are asked for");
}
