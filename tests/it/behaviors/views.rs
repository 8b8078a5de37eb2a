//! Row 38: outputs that share memory with inputs, with one another or with something inside of forward,
//! and writes in place to them or to what they share it with. Where other engines refuse some of these
//! cells, all are right here: who writes gets memory of its own.

use std::cell::Cell;

use pullback::ndarray::{ArrayViewMut2, array};
use pullback::prelude::*;

/// The memory that the outputs are made of.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Source {
    Input,
    /// A tensor that forward has computed.
    Temporary,
}

/// The layout and memory of an output.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Made {
    /// Transposed, sharing the memory.
    View,
    /// Transposed, in new memory.
    Copy,
}

/// The tensor that is written to afterwards.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Written {
    Nothing,
    Output,
    Input,
}

thread_local! {
    static CALLS: Cell<u32> = const { Cell::new(0) };
}

fn transposed(x: &Tensor2<f64>, source: Source, made: Made) -> Tensor2<f64> {
    let view = match source {
        Source::Input => x.t(),
        Source::Temporary => (x * 1.0).t(),
    };
    match made {
        Made::View => view,
        Made::Copy => Tensor::from(view.to_array()),
    }
}

/// xᵀ
struct One;

#[custom_function]
impl One {
    #[forward]
    fn forward(x: &Tensor2<f64>, source: Source, made: Made) -> Tensor2<f64> {
        transposed(x, source, made)
    }

    #[backward(x)]
    fn backward(grad_output: &Tensor2<f64>) -> Tensor2<f64> {
        CALLS.set(CALLS.get() + 1);
        grad_output.t()
    }
}

/// xᵀ twice, which share memory if they are views of one tensor.
struct Two;

#[custom_function]
impl Two {
    #[forward(outputs(first, second))]
    fn forward(x: &Tensor2<f64>, source: Source, made: Made) -> (Tensor2<f64>, Tensor2<f64>) {
        let first = transposed(x, source, made);
        let second = match made {
            Made::View => first.clone(),
            Made::Copy => Tensor::from(first.to_array()),
        };
        (first, second)
    }

    #[backward(x)]
    fn backward(grad_first: &Tensor2<f64>, grad_second: &Tensor2<f64>) -> Tensor2<f64> {
        CALLS.set(CALLS.get() + 1);
        (grad_first + grad_second).t()
    }
}

/// x ← x², differentiable again.
struct Squared;

#[custom_function]
impl Squared {
    #[forward]
    fn forward(mut x: ArrayViewMut2<f64>) {
        x.mapv_inplace(|x| x * x);
    }

    #[backward(x)]
    fn backward(grad_output: &Tensor2<f64>, x: &Tensor2<f64>) -> Tensor2<f64> {
        grad_output * x * 2.0
    }
}

/// One cell: what is computed from `x`, by way of an intermediate of which the outputs may be views.
fn cell(
    x: &Tensor2<f64>,
    two: bool,
    source: Source,
    made: Made,
    written: Written,
) -> (Tensor2<f64>, Tensor2<f64>, Tensor2<f64>) {
    let mut input = x * 3.0;
    let (mut first, second) = if two {
        Two::apply(&input, source, made)
    } else {
        (One::apply(&input, source, made), x.t())
    };
    match written {
        Written::Nothing => {}
        Written::Output => Squared::apply(&mut first),
        Written::Input => Squared::apply(&mut input),
    }
    (first, second, input)
}

fn cells() -> impl Iterator<Item = (bool, Source, Made, Written)> {
    let sources = [Source::Input, Source::Temporary];
    let written = [Written::Nothing, Written::Output, Written::Input];
    (0..24).map(move |cell: usize| {
        let made = [Made::View, Made::Copy][cell / 12];
        (
            cell % 2 == 1,
            sources[cell / 2 % 2],
            made,
            written[cell / 4 % 3],
        )
    })
}

#[test]
fn views_and_copies_written_to_or_not_have_right_gradients() {
    let x = Tensor::from(array![[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]).set_requires_grad(true);
    let triple = x.to_array() * 3.0;
    let squares = &triple * &triple;
    let mut seen = Vec::new();
    for (two, source, made, written) in cells() {
        let which = (two, source, made, written);
        assert!(!seen.contains(&which));
        seen.push(which);
        let (first, second, input) = cell(&x, two, source, made, written);
        // No other handle sees what is written.
        let expected = |wrote: bool| if wrote { &squares } else { &triple };
        assert_eq!(
            first.to_array(),
            expected(written == Written::Output).t(),
            "{which:?}"
        );
        assert_eq!(
            input.to_array(),
            expected(written == Written::Input),
            "{which:?}"
        );
        let untouched = if two {
            triple.t()
        } else {
            x.view().reversed_axes()
        };
        assert_eq!(second.to_array(), untouched, "{which:?}");
        // The function's backward runs once, whatever is used of it.
        CALLS.set(0);
        let loss = first.sum() * 2.0 + second.sum() + input.sum();
        grad(&loss, (&x,)).unwrap();
        assert_eq!(CALLS.get(), 1, "{which:?}");
        let check = Gradcheck::new().second_order();
        let checked = check.run(|(x,)| cell(x, two, source, made, written), (&x,));
        checked.unwrap_or_else(|error| panic!("{which:?}: {error}"));
    }
    assert_eq!(seen.len(), 24);
}
