//! Chains of layers, of the library and of users.

use pullback::ndarray::{Array2, Array4, Ix1, array};
use pullback::nn::{
    AnyParameter, AnyView, AnyViewMut, BatchNorm2d, Conv2d, Dropout, Flatten, Layer, Linear,
    MaxPool2d, Relu, Sequential, Tanh,
};
use pullback::prelude::*;

use super::{generator, names};

/// A module of a user, which does not mention layers.
#[derive(Module)]
struct Scale {
    factor: Parameter<f32, Ix1>,
}

impl Forward<&Tensor2<f32>> for Scale {
    type Output = Tensor2<f32>;
    fn forward(&self, input: &Tensor2<f32>) -> Tensor2<f32> {
        input * &*self.factor
    }
}

fn scale(factor: f32) -> Scale {
    Scale {
        factor: Parameter::new(array![factor]),
    }
}

type Boxed = Box<dyn Layer<Tensor2<f32>, Output = Tensor2<f32>>>;

#[test]
fn ranks_change_along_the_way() {
    let mut generator = generator();
    let model = Sequential::new((
        Conv2d::<f32>::new(1, 2, 3, &mut generator),
        BatchNorm2d::new(2),
        Relu,
        MaxPool2d::new(2),
        Flatten,
        Linear::new(18, 3, &mut generator),
        scale(2.0),
    ));
    let y = model.forward(&Tensor::from(Array4::ones((2, 1, 8, 8))));
    assert_eq!(y.shape(), [2, 3]);
    y.sum().backward().expect("a pass");
    let expected = [
        "0.weight", "0.bias", "1.weight", "1.bias", "5.weight", "5.bias", "6.factor",
    ];
    assert_eq!(names(&model), expected);
    let with_grad = model
        .parameters()
        .into_iter()
        .filter(|p| p.with_grad_any(&mut |_| ()))
        .count();
    assert_eq!(with_grad, 7);
}

type Inner = Sequential<(Scale, Tanh)>;

#[test]
fn a_user_has_sequences_in_fields_and_in_sequences() {
    #[derive(Module)]
    struct Model {
        body: Sequential<(Scale, Relu, Inner)>,
        steps: Sequential<Vec<Scale>>,
        any: Sequential<Vec<Boxed>>,
    }
    let model = Model {
        body: Sequential::new((scale(2.0), Relu, Sequential::new((scale(0.0), Tanh)))),
        steps: Sequential::new(vec![scale(3.0), scale(5.0)]),
        any: Sequential::new(vec![
            Box::new(scale(7.0)),
            Box::new(Relu),
            Box::new(Sequential::new((Relu, scale(1.0)))),
        ]),
    };
    let expected = [
        "body.0.factor",
        "body.2.0.factor",
        "steps.0.factor",
        "steps.1.factor",
        "any.0.factor",
        "any.2.1.factor",
    ];
    assert_eq!(names(&model), expected);
    let x = Tensor::from(array![[1.0, -1.0]]);
    assert_eq!(model.body.forward(&x).to_array(), array![[0.0, 0.0]]);
    assert_eq!(model.steps.forward(&x).to_array(), array![[15.0, -15.0]]);
    assert_eq!(model.any.forward(&x).to_array(), array![[7.0, 0.0]]);
}

#[test]
fn an_empty_list_gives_what_it_gets() {
    let none = Sequential::<Vec<Boxed>>::new(Vec::new());
    let x = Tensor::from(array![[1.0, 2.0]]);
    assert_eq!(none.forward(&x).to_array(), x.to_array());
    assert!(none.parameters().is_empty());
}

#[test]
fn twelve_layers_fit() {
    let s = || scale(2.0);
    let model = Sequential::new((s(), s(), s(), s(), s(), s(), s(), s(), s(), s(), s(), s()));
    assert_eq!(model.forward(&Tensor::from(array![[1.0]])).item(), 4096.0);
    assert_eq!(names(&model)[11], "11.factor");
    assert_eq!(
        Sequential::new((s(),))
            .forward(&Tensor::from(array![[1.0]]))
            .item(),
        2.0
    );
}

#[test]
fn modes_reach_every_layer() {
    let mut generator = generator();
    let mut model = Sequential::new((
        Sequential::new(vec![Dropout::new(0.5, &mut generator)]),
        Dropout::new(0.5, &mut generator),
    ));
    let x: Tensor2<f32> = Tensor::from(Array2::ones((4, 100)));
    assert_ne!(model.forward(&x).to_array(), x.to_array());
    model.eval();
    assert_eq!(model.forward(&x).to_array(), x.to_array());
    model.train();
    assert!(model.layers.1.mode.is_training());
}

/// Takes a gradient step of size 1.
fn step(value: AnyViewMut<'_>, grad: AnyView<'_>) {
    match (value, grad) {
        (AnyViewMut::F64(mut value), AnyView::F64(grad)) => value.scaled_add(-1.0, &grad),
        _ => unreachable!("the model is of f64"),
    }
}

#[test]
fn a_model_learns() {
    let mut generator = generator();
    let mut model = Sequential::new((
        Linear::<f64>::new(2, 8, &mut generator),
        Tanh,
        Linear::new(8, 2, &mut generator),
    ));
    let x = Tensor::from(array![[0.0, 0.0], [0.0, 1.0], [1.0, 0.0], [1.0, 1.0]]);
    let labels = [0, 1, 1, 0];
    let mut loss = f64::INFINITY;
    for _ in 0..300 {
        model.zero_grad();
        let now = model
            .forward(&x)
            .cross_entropy(&labels, pullback::ops::Reduction::Mean);
        now.backward().expect("a pass");
        loss = now.item();
        model.apply(&mut |module| {
            if let Some(linear) = module.downcast_mut::<Linear<f64>>() {
                linear.weight.update_by_grad_any(&mut step);
                let bias = linear.bias.as_mut().expect("a bias");
                bias.update_by_grad_any(&mut step);
            }
        });
    }
    assert!(loss < 0.05, "{loss}");
}
