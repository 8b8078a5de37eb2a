//! Where a pass starts and where it may end: several roots, chosen inputs, retained gradients.

use pullback::ndarray::array;
use pullback::prelude::*;
use pullback::{Backward, Error};

type Vector = Tensor1<f64>;

fn leaf(value: f64) -> Vector {
    Tensor::from(array![value]).set_requires_grad(true)
}

fn of(tensor: &Vector) -> Option<f64> {
    tensor.grad().map(|grad| grad[0])
}

#[test]
fn b045_b046_several_roots_add_up() {
    let (x, w) = (leaf(2.0), leaf(3.0));
    let (sum, product) = (&x + &w, &x * &w);
    let (dx, dw) = Grad::of(&sum)
        .and(&product)
        .seed(array![10.0])
        .run((&x, &w))
        .unwrap();
    assert_eq!((dx.item(), dw.item()), (31.0, 21.0));
    // Named twice, it counts twice.
    let (dx,) = Grad::of(&(&x * 2.0)).and(&(&x * 2.0)).run((&x,)).unwrap();
    assert_eq!(dx.item(), 4.0);
    let y = &x * &x;
    let (dx,) = Grad::of(&y).and(&y).retain_graph(true).run((&x,)).unwrap();
    assert_eq!(dx.item(), 8.0);
    Backward::of(&y).and(&y).seed(array![0.5]).run().unwrap();
    assert_eq!(of(&x), Some(6.0));
    // What is wrong with any of them is told.
    let wrong = Grad::of(&(&x * &x))
        .seed(array![1.0, 2.0])
        .and(&y)
        .run((&x,));
    assert!(matches!(wrong.unwrap_err(), Error::SeedShape { .. }));
    let constant = Backward::of(&x.detach()).and(&y).run();
    assert_eq!(constant.unwrap_err(), Error::NoGraph);
}

#[test]
fn b048_inputs_restrict_what_is_accumulated() {
    let (x, y) = (leaf(2.0), leaf(3.0));
    let product = &x * &y;
    let loss = (&product * &product).sum();
    let keep = BackwardOptions {
        retain_graph: true,
        ..Default::default()
    };
    Backward::of(&loss)
        .inputs((&x,))
        .options(keep)
        .run()
        .unwrap();
    assert_eq!((of(&x), of(&y)), (Some(2.0 * 6.0 * 3.0), None));
    // Of a computed tensor too; a leaf that is not named gets nothing.
    Backward::of(&loss)
        .inputs((&product,))
        .options(keep)
        .run()
        .unwrap();
    assert_eq!((of(&product), of(&y)), (Some(12.0), None));
    // Only passes that are asked to retain it.
    loss.backward_opts(keep).unwrap();
    assert_eq!((of(&product), of(&y)), (Some(12.0), Some(24.0)));
    Backward::of(&loss)
        .inputs(&[&product, &x])
        .options(keep)
        .run()
        .unwrap();
    assert_eq!((of(&product), of(&x)), (Some(24.0), Some(3.0 * 36.0)));
    let none: &[&Vector] = &[];
    assert_eq!(
        Backward::of(&loss).inputs(none).run().unwrap_err(),
        Error::NoInputs
    );
    let constant = x.detach();
    let error = Backward::of(&loss)
        .inputs((&x, &constant))
        .run()
        .unwrap_err();
    assert_eq!(error, Error::InputWithoutGrad { position: 1 });
}

#[test]
fn retained_gradients_outlive_the_graph_and_add_up() {
    let x = leaf(3.0);
    let y = &x * 2.0;
    y.retain_grad();
    let keep = BackwardOptions {
        retain_graph: true,
        ..Default::default()
    };
    let loss = (&y * &y).sum();
    loss.backward_opts(keep).unwrap();
    loss.backward().unwrap();
    assert_eq!(of(&y), Some(24.0));
    // `grad` accumulates nowhere.
    let z = &x * 2.0;
    z.retain_grad();
    grad(&z.sum(), (&x,)).unwrap();
    assert_eq!(of(&z), None);
    assert_eq!((&x * 2.0).grad(), None);
}
