//! A step of an optimizer allocates no memory.

use pullback::ndarray::{Array1, Array2, Ix1, Ix2};
use pullback::nn::Parameter;
use pullback::optim::{
    Adam, AdamW, Norm, Optimizer, Sgd, clip_grad_norm, clip_grad_norm_of, clip_grad_value,
};

use crate::counting::{allocations, bytes, signed};

type Model = Vec<(Parameter<f32, Ix2>, Parameter<f64, Ix1>)>;

/// A hundred layers, the last tied to the first.
fn model() -> Model {
    let layer = || {
        let weight = Parameter::new(Array2::ones((8, 16)));
        (weight, Parameter::new(Array1::ones(16)))
    };
    let mut layers: Model = (0..99).map(|_| layer()).collect();
    layers.push(layers[0].clone());
    layers
}

/// Sets gradients in row-major order and in another, as products of transposed matrices have it.
fn set_grads(model: &Model) {
    for (place, (weight, bias)) in model.iter().enumerate() {
        let grad = if place % 2 == 0 {
            Array2::ones((8, 16))
        } else {
            Array2::ones((16, 8)).reversed_axes()
        };
        weight.set_grad(grad);
        bias.set_grad(Array1::ones(16));
    }
}

#[test]
fn a_step_over_many_parameters_allocates_nothing() {
    let _alone = crate::alone();
    let optimizers: Vec<Box<dyn Optimizer>> = vec![
        Box::new(Sgd::new(0.1)),
        Box::new(Sgd::new(0.1).momentum(0.9).nesterov(true)),
        Box::new(Adam::new(0.1).amsgrad(true)),
        Box::new(
            AdamW::new(0.1)
                .param_group(|path| path.ends_with(".1"), |group| group.weight_decay(0.0)),
        ),
    ];
    for mut optimizer in optimizers {
        let mut model = model();
        set_grads(&model);
        optimizer.step(&mut model);
        for _ in 0..3 {
            set_grads(&model);
            let (count, ()) = allocations(|| optimizer.step(&mut model));
            assert_eq!(count, 0);
        }
    }
}

#[test]
fn clipping_allocates_nothing() {
    let _alone = crate::alone();
    let model = model();
    set_grads(&model);
    clip_grad_norm(&model, 10.0);
    set_grads(&model);
    let (count, norm) = allocations(|| {
        clip_grad_value(&model, 0.5);
        clip_grad_norm_of(&model, 0.25, Norm::Infinity);
        clip_grad_norm(&model, 1.0)
    });
    assert_eq!(count, 0);
    assert!(norm > 1.0);
}

#[test]
fn what_is_saved_for_a_large_parameter_is_all_that_is_allocated() {
    const LENGTH: usize = 1 << 18;
    let _alone = crate::alone();
    let mut w = Parameter::new(Array1::<f32>::ones(LENGTH));
    w.set_grad(Array1::ones(LENGTH));
    let mut optimizer = Adam::new(0.1);
    let (kept, peak, ()) = bytes(|| optimizer.step(&mut w));
    let two = signed(2 * LENGTH * size_of::<f32>());
    assert!(
        (two..two + 4096).contains(&kept),
        "{kept} bytes for two of {LENGTH}"
    );
    assert!(peak < two + (16 << 10), "{peak} bytes at the peak");
    let (kept, peak, ()) = bytes(|| optimizer.step(&mut w));
    // Threads get their parts in small blocks, which may be freed a little later.
    assert!(
        kept.abs() < 4 << 10 && peak < 16 << 10,
        "{kept} bytes, {peak} at the peak"
    );
}
