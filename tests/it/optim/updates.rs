//! Each optimizer against its formula in PyTorch's documentation, one number at a time in `f64`.

use pullback::ndarray::{Array2, ArrayD, Ix1, IxDyn, ShapeBuilder, arr0, array};
use pullback::nn::Parameter;
use pullback::optim::{Adam, AdamW, Optimizer, Sgd};

const STEPS: usize = 12;
const START: [f64; 6] = [1.0, -2.0, 0.5, 3.0, -0.25, 0.0];

/// The gradient of Σ a (w − b)² / 2 + sin w.
fn gradient(place: usize, w: f64) -> f64 {
    let (a, b) = (
        [0.5, 2.0, 10.0, 0.1, 1.0, 3.0][place],
        [0.0, 1.0, -1.0, 5.0, 0.5, 0.0][place],
    );
    a * (w - b) + w.cos()
}

/// Updates one number by a formula, which is called with the number of the step from 1, the value and the gradient.
fn by_hand(place: usize, mut formula: impl FnMut(i32, f64, f64) -> f64) -> f64 {
    let steps = 1..=i32::try_from(STEPS).unwrap();
    steps.fold(START[place], |w, t| formula(t, w, gradient(place, w)))
}

/// Updates all numbers by an optimizer, with gradients in row-major order and in another.
fn by(mut optimizer: impl Optimizer) -> [f64; 6] {
    let mut model = (
        Parameter::new(array![[START[0], START[1]], [START[2], START[3]]]),
        Parameter::new(array![START[4], START[5]]),
    );
    for _ in 0..STEPS {
        let w = model.0.to_array();
        let of_first = |(i, j)| gradient(2 * i + j, w[[i, j]]);
        let grad = Array2::from_shape_fn((2, 2).f(), of_first);
        assert!(!grad.is_standard_layout());
        model.0.set_grad(grad);
        let w = model.1.to_array();
        model
            .1
            .set_grad(array![gradient(4, w[0]), gradient(5, w[1])]);
        optimizer.step(&mut model);
    }
    let values: Vec<f64> = model
        .0
        .view()
        .iter()
        .chain(&model.1.view())
        .copied()
        .collect();
    values.try_into().unwrap()
}

fn assert_near(found: [f64; 6], wanted: [f64; 6]) {
    for (found, wanted) in found.iter().zip(wanted) {
        let off = (found - wanted).abs() / wanted.abs().max(1.0);
        assert!(off < 1e-13, "{found}, not {wanted}");
    }
}

fn places(number: impl Fn(usize) -> f64) -> [f64; 6] {
    std::array::from_fn(number)
}

/// [momentum, dampening, weight decay], nesterov, maximize
fn sgd_by_hand(settings: [f64; 3], nesterov: bool, maximize: bool) -> [f64; 6] {
    let [momentum, dampening, decay] = settings;
    places(|place| {
        let mut b = f64::NAN;
        by_hand(place, |t, w, g| {
            let mut g = if maximize { -g } else { g };
            g += decay * w;
            if momentum != 0.0 {
                b = if t == 1 {
                    g
                } else {
                    momentum * b + (1.0 - dampening) * g
                };
                g = if nesterov { g + momentum * b } else { b };
            }
            w - 0.02 * g
        })
    })
}

#[test]
fn sgd_is_as_its_formula() {
    let sgd = || Sgd::new(0.02);
    assert_near(by(sgd()), sgd_by_hand([0.0; 3], false, false));
    assert_near(
        by(sgd().weight_decay(0.3)),
        sgd_by_hand([0.0, 0.0, 0.3], false, false),
    );
    assert_near(
        by(sgd().momentum(0.9)),
        sgd_by_hand([0.9, 0.0, 0.0], false, false),
    );
    assert_near(
        by(sgd().momentum(0.9).dampening(0.4).weight_decay(0.1)),
        sgd_by_hand([0.9, 0.4, 0.1], false, false),
    );
    assert_near(
        by(sgd().momentum(0.8).nesterov(true).weight_decay(0.1)),
        sgd_by_hand([0.8, 0.0, 0.1], true, false),
    );
    assert_near(
        by(sgd().momentum(0.5).maximize(true).weight_decay(0.2)),
        sgd_by_hand([0.5, 0.0, 0.2], false, true),
    );
    assert_near(by(sgd().maximize(true)), sgd_by_hand([0.0; 3], false, true));
}

struct AdamSettings {
    betas: [f64; 2],
    eps: f64,
    penalty: f64,
    decoupled: f64,
    amsgrad: bool,
    maximize: bool,
}

const ADAM: AdamSettings = AdamSettings {
    betas: [0.9, 0.999],
    eps: 1e-8,
    penalty: 0.0,
    decoupled: 0.0,
    amsgrad: false,
    maximize: false,
};

fn adam_by_hand(settings: &AdamSettings) -> [f64; 6] {
    let [beta1, beta2] = settings.betas;
    places(|place| {
        let (mut m, mut v, mut most) = (0.0, 0.0, 0.0_f64);
        by_hand(place, |t, w, g| {
            let mut g = if settings.maximize { -g } else { g };
            g += settings.penalty * w;
            let w = w - 0.05 * settings.decoupled * w;
            m = beta1 * m + (1.0 - beta1) * g;
            v = beta2 * v + (1.0 - beta2) * g * g;
            most = most.max(v);
            let m_hat = m / (1.0 - beta1.powi(t));
            let of = if settings.amsgrad { most } else { v };
            let v_hat = of / (1.0 - beta2.powi(t));
            w - 0.05 * m_hat / (v_hat.sqrt() + settings.eps)
        })
    })
}

#[test]
fn adam_is_as_its_formula() {
    let adam = || Adam::new(0.05);
    assert_near(by(adam()), adam_by_hand(&ADAM));
    let betas = [0.5, 0.7];
    assert_near(
        by(adam().betas(0.5, 0.7).eps(1e-3).weight_decay(0.2)),
        adam_by_hand(&AdamSettings {
            betas,
            eps: 1e-3,
            penalty: 0.2,
            ..ADAM
        }),
    );
    // Gradients shrink, and with this second beta v does too, so the largest v matters.
    let without = AdamSettings { betas, ..ADAM };
    let with = AdamSettings {
        betas,
        amsgrad: true,
        ..ADAM
    };
    assert_ne!(adam_by_hand(&without), adam_by_hand(&with));
    assert_near(
        by(adam().betas(0.5, 0.7).amsgrad(true)),
        adam_by_hand(&with),
    );
    assert_near(
        by(adam().maximize(true).weight_decay(0.1)),
        adam_by_hand(&AdamSettings {
            maximize: true,
            penalty: 0.1,
            ..ADAM
        }),
    );
}

#[test]
fn adam_w_is_as_its_formula() {
    let adam = || AdamW::new(0.05);
    let decoupled = 0.01;
    assert_near(
        by(adam()),
        adam_by_hand(&AdamSettings { decoupled, ..ADAM }),
    );
    assert_near(by(adam().weight_decay(0.0)), adam_by_hand(&ADAM));
    assert_near(
        by(adam()
            .weight_decay(0.5)
            .amsgrad(true)
            .maximize(true)
            .betas(0.3, 0.6)),
        adam_by_hand(&AdamSettings {
            decoupled: 0.5,
            amsgrad: true,
            maximize: true,
            betas: [0.3, 0.6],
            ..ADAM
        }),
    );
}

#[test]
fn both_element_types_are_updated_in_their_own() {
    let mut model = (
        Parameter::new(array![1.0_f32, 2.0]),
        Parameter::new(array![1.0_f64, 2.0]),
    );
    let mut optimizer = AdamW::new(0.1).amsgrad(true);
    for step in 0..20_u8 {
        let g = f32::from(step).sin();
        model.0.set_grad(array![g, 1.0]);
        model.1.set_grad(array![f64::from(g), 1.0]);
        optimizer.step(&mut model);
    }
    for (single, double) in model.0.view().iter().zip(&model.1.view()) {
        assert!(
            (f64::from(*single) - double).abs() < 1e-5,
            "{single} and {double}"
        );
    }
}

/// Lengths around the widths of registers and the parts of threads: each element is updated as if it were alone, with
/// gradients of the layouts that a pass returns.
#[test]
fn an_elements_update_does_not_depend_on_its_index() {
    let alone = |value: f32, grad: f32| {
        let mut w = Parameter::new(array![value]);
        let mut optimizer = Adam::new(0.1);
        for scale in [1.0, -0.5] {
            w.set_grad(array![grad * scale]);
            optimizer.step(&mut w);
        }
        w.item()
    };
    let wanted: Vec<f32> = (0..7)
        .map(|i| alone(i as f32, (i as f32 - 3.3) * 2.0))
        .collect();
    for length in [1, 7, 31, 32, 257, 1000, 300_001] {
        let number = |i: usize| (i % 7) as f32;
        let array = |each: &dyn Fn(usize) -> f32| {
            ArrayD::from_shape_fn(IxDyn(&[length]), |place| each(place[0]))
        };
        let mut w = Parameter::new(array(&number));
        let mut optimizer = Adam::new(0.1);
        for scale in [1.0, -0.5] {
            w.set_grad(array(&|i| (number(i) - 3.3) * 2.0 * scale));
            optimizer.step(&mut w);
        }
        for (i, &found) in w.view().iter().enumerate() {
            assert!(
                (found - wanted[i % 7]).abs() < 1e-6,
                "{found} at {i} of {length}"
            );
        }
    }
}

#[test]
fn a_gradient_that_is_one_number_repeated_reaches_every_element() -> Result<(), pullback::Error> {
    let mut w = Parameter::new(Array2::<f64>::zeros((40, 30)));
    w.sum().backward()?;
    Sgd::new(0.5).momentum(0.9).step(&mut w);
    assert_eq!(w.to_array(), Array2::from_elem((40, 30), -0.5));
    Ok(())
}

#[test]
fn parameters_without_elements_and_of_rank_0_are_parameters() {
    let mut model = (
        Parameter::new(Array2::<f64>::zeros((0, 3))),
        Parameter::new(arr0(1.0)),
    );
    model.0.set_grad(Array2::zeros((0, 3)));
    model.1.set_grad(arr0(2.0));
    Adam::new(0.1).amsgrad(true).step(&mut model);
    assert!(model.1.item() < 1.0_f64);
}

#[test]
fn an_optimizer_of_no_parameters_does_nothing() {
    let mut none: Vec<Parameter<f64, Ix1>> = vec![];
    let mut optimizer = Sgd::new(0.1);
    optimizer.step(&mut none);
    optimizer.step(&mut none);
    assert_eq!(optimizer.state_dict().len(), 1);
}
