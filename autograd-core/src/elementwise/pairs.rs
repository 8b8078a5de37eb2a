//! Functions of each row with each column, as `#[custom_function(pairs)]` generates them.
//!
//! Inside, tensors have two axes: rows have theirs first, `[n, 1]`, columns theirs second, `[1, m]`, and what is one for
//! all has the shape `[1, 1]`. A sum over columns is then an elementwise function whose results are summed, with the
//! nodes of one: its derivatives are sums of pairs as well, of any order.
//!
//! An extreme is the function of the rows and of the column that each of them has chosen. The logarithm of Σⱼ eᶠ is
//! s + ln Σⱼ eᶠ⁻ˢ, where s is its value as a constant: all derivatives are those of the sum, which is 1.

use std::marker::PhantomData;
use std::panic::Location;

use autograd_kernels::{Evaluation, Item, Loops, Reduction, Shape, Side, evaluate_reduced};
use ndarray::{Array, ArrayView, Axis, IxDyn};

use super::apply::{are_followed, follow};
use super::forward::each;
use super::over::Over;
use super::shared::{NamedLoops, Shared};
use crate::array::Buffer;
use crate::basic::{Add, Div};
use crate::compiled::compiled_once;
use crate::error::panic::{Panic, caught};
use crate::function::{Function, Signature, forward_panicked};
use crate::tape::applied_at;
use crate::tensor::{Tensor, TensorD};
use crate::thread::unrecorded;
use crate::{Element, custom_function, kernels};

/// The function `F` of pairs, as generated code applies it.
#[derive(Debug)]
pub struct Pairs<F>(PhantomData<F>);

/// The shapes of inputs, as a message has them.
struct Shapes<'a>(&'a Signature, Vec<&'a [usize]>);

impl Shapes<'_> {
    /// Returns the numbers of rows and of columns.
    ///
    /// # Panics
    /// If tensors have different numbers, or rows of another length than the function takes.
    #[track_caller]
    fn of_pairs(&self, items: &[Item], sides: &[Side]) -> [usize; 2] {
        let names = self.0.inputs.iter().filter(|input| input.tensor);
        let names: Vec<&str> = names.map(|input| input.name).collect();
        let mut lengths = [Side::Row, Side::Column].map(|side| (side, None));
        for (place, shape) in self.1.iter().enumerate() {
            if let Some(row) = items[place].row()
                && shape.last() != Some(&row)
            {
                let found = shape.last().copied().unwrap_or_default();
                self.refused(&format!(
                    "`{}` has rows of length {row}, but its last axis has length {found}",
                    names[place]
                ));
            }
            for (side, known) in &mut lengths {
                if *side != sides[place] {
                    continue;
                }
                let (former, length) = *known.get_or_insert((place, shape[0]));
                if length != shape[0] {
                    let noun = if *side == Side::Row {
                        "rows"
                    } else {
                        "columns"
                    };
                    self.refused(&format!(
                        "`{}` has {length} {noun}, and `{}` has {}",
                        names[former], names[place], shape[0]
                    ));
                }
            }
        }
        lengths.map(|(_, known)| known.map_or(1, |(_, length)| length))
    }

    #[track_caller]
    fn refused(&self, reason: &str) -> ! {
        panic!("{}: {reason}", self.0.with_shapes(&self.1))
    }
}

/// Returns the shape with the axis of rows, and that of columns.
fn with_both(shape: &[usize], side: Side, item: Item) -> Vec<usize> {
    let [n, m] = match side {
        Side::Row => [shape[0], 1],
        Side::Column => [1, shape[0]],
        Side::All => [1, 1],
    };
    let mut both = vec![n, m];
    both.extend(item.row());
    both
}

/// Returns a result without the axis of columns.
#[track_caller]
fn of_rows<T: Element>(result: &TensorD<T>, item: Item) -> TensorD<T> {
    let mut shape = vec![result.shape()[0]];
    shape.extend(item.row());
    reshaped(result, &shape)
}

#[track_caller]
fn reshaped<T: Element>(tensor: &TensorD<T>, shape: &[usize]) -> TensorD<T> {
    fn reshape<T: Element>(tensor: &TensorD<T>, shape: &[usize]) -> TensorD<T> {
        tensor.reshape(shape)
    }
    let reshape = compiled_once!(T, reshape: fn(&TensorD<T>, &[usize]) -> TensorD<T>);
    applied_at(Location::caller(), || reshape(tensor, shape))
}

/// Returns the sums over columns, or the panic of the formula.
fn sums<T: Element>(
    loops: &dyn Loops<T>,
    inputs: &[TensorD<T>],
    shape: [usize; 2],
) -> Result<Vec<TensorD<T>>, Panic> {
    let views: Vec<_> = inputs.iter().map(|input| Some(input.view())).collect();
    let sums = caught(|| Over::Pairs.of_outputs(loops, Evaluation::Values, &views, &shape))?;
    Ok(sums.into_iter().map(Tensor::constant).collect())
}

/// A number for each row, and the columns that have them.
type Reduced<T> = (TensorD<T>, Vec<usize>);

/// Returns the reductions over columns, and the columns that have an extreme, or the panic of the formula.
fn reduced<T: Element>(
    loops: &dyn Loops<T>,
    reduction: Reduction,
    inputs: &[TensorD<T>],
    shape: [usize; 2],
) -> Result<Reduced<T>, Panic> {
    let views: Vec<_> = inputs.iter().map(|input| Some(input.view())).collect();
    let (found, columns) = caught(|| evaluate_reduced(loops, reduction, &views, shape))?;
    let found = Buffer::of_elements(found.into(), Shape::from(&[shape[0], 1][..]));
    Ok((Tensor::constant(found), columns))
}

/// Returns an input with the columns that rows have chosen, if it is one of columns.
fn chosen<T: Element>(input: &TensorD<T>, columns: &[usize]) -> TensorD<T> {
    Chosen::apply(input, columns, input.shape()[1])
}

/// Returns x + ln(sum).
fn with_logarithm<T: Element>(x: &TensorD<T>, sum: &TensorD<T>) -> TensorD<T> {
    Add::apply(x, &Logarithm::apply(sum))
}

impl<F: Function> Pairs<F> {
    /// Applies the function to tensors, each with its side; the inputs at `places` have gradients. Returns the sums over
    /// all columns.
    ///
    /// # Panics
    /// If tensors have different numbers of rows, or of columns, or do not have rows of the lengths that the function
    /// takes.
    #[track_caller]
    pub fn sum<T, L, const I: usize, const O: usize, const E: usize>(
        loops: L,
        inputs: [&TensorD<T>; I],
        sides: [Side; I],
        places: &'static [usize; E],
    ) -> [TensorD<T>; O]
    where
        T: Element,
        L: Loops<T> + 'static,
    {
        let (inputs, shape) = Self::paired(&loops, inputs, sides);
        let items = loops.outputs();
        let compute = compiled_once!(T, sums: fn(
            &dyn Loops<T>,
            &[TensorD<T>],
            [usize; 2],
        ) -> Result<Vec<TensorD<T>>, Panic>);
        let outputs = Self::run(&inputs, |inputs| compute(&loops, inputs, shape));
        let outputs = Self::followed(loops, Over::Pairs, each(outputs), &inputs, places);
        let mut items = items.iter();
        outputs.map(|output| of_rows(&output, *items.next().unwrap_or(&Item::Number)))
    }

    /// Returns the largest results over all columns, or the smallest: NaN if one is NaN. The first column that has it
    /// gets the gradient.
    ///
    /// # Panics
    /// As [`sum`](Self::sum), or if there is no column.
    #[track_caller]
    pub fn extreme<T, L, const I: usize, const E: usize>(
        loops: L,
        reduction: Reduction,
        inputs: [&TensorD<T>; I],
        sides: [Side; I],
        places: &'static [usize; E],
    ) -> [TensorD<T>; 1]
    where
        T: Element,
        L: Loops<T> + 'static,
    {
        let given = inputs;
        let (inputs, shape) = Self::paired(&loops, given, sides);
        assert!(
            shape[1] > 0 || shape[0] == 0,
            "{}: there is no column",
            F::SIGNATURE.with_shapes(&given.map(Tensor::shape))
        );
        let (output, columns) = Self::reduced(&loops, reduction, &inputs, shape);
        if !are_followed(&inputs) {
            return [of_rows(&output, Item::Number)];
        }
        let (mut sides, line) = (sides.into_iter(), Location::caller());
        let chosen = inputs.map(|input| {
            if sides.next() == Some(Side::Column) {
                let choose = compiled_once!(T, chosen: fn(&TensorD<T>, &[usize]) -> TensorD<T>);
                applied_at(line, || choose(&input, &columns))
            } else {
                input
            }
        });
        let outputs = Self::followed(loops, Over::Elements, [output], &chosen, places);
        outputs.map(|output| of_rows(&output, Item::Number))
    }

    /// Returns the logarithms of the sums of eˣ over all columns, of the results x: −∞ if there is no column. `weights`
    /// is the formula eˣ⁻ˢ, with s as one more input.
    ///
    /// # Panics
    /// As [`sum`](Self::sum).
    #[track_caller]
    pub fn log_sum_exp<T, L, W, const I: usize, const J: usize, const E: usize>(
        loops: L,
        weights: impl FnOnce(L) -> W,
        inputs: [&TensorD<T>; I],
        sides: [Side; I],
        places: &'static [usize; E],
    ) -> [TensorD<T>; 1]
    where
        T: Element,
        L: Loops<T> + 'static,
        W: Loops<T> + 'static,
    {
        let (inputs, shape) = Self::paired(&loops, inputs, sides);
        let output = if shape[1] == 0 {
            Tensor::from(Array::from_elem(IxDyn(&[shape[0], 1]), T::neg_infinity()))
        } else {
            Self::reduced(&loops, Reduction::LogSumExp, &inputs, shape).0
        };
        if !are_followed(&inputs) {
            return [of_rows(&output, Item::Number)];
        }
        let one = Tensor::from(Array::from_elem(IxDyn(&[shape[0], 1]), T::one()));
        let mut inputs = Vec::from(inputs);
        inputs.push(output.clone());
        // INVARIANT: J is I + 1.
        let inputs: [TensorD<T>; J] = inputs
            .try_into()
            .unwrap_or_else(|_| unreachable!("one input more"));
        let [sum] = Self::followed(weights(loops), Over::Pairs, [one], &inputs, places);
        let add = compiled_once!(T, with_logarithm: fn(&TensorD<T>, &TensorD<T>) -> TensorD<T>);
        let output = applied_at(Location::caller(), || add(&output, &sum));
        [of_rows(&output, Item::Number)]
    }

    /// Returns the tensors with both axes, and the numbers of rows and columns.
    #[track_caller]
    fn paired<T: Element, const I: usize>(
        loops: &dyn Loops<T>,
        inputs: [&TensorD<T>; I],
        sides: [Side; I],
    ) -> ([TensorD<T>; I], [usize; 2]) {
        let shapes = inputs.iter().map(|input| input.shape()).collect();
        let shape = Shapes(&F::SIGNATURE, shapes).of_pairs(loops.inputs(), &sides);
        let mut places = 0..;
        let inputs = inputs.map(|input| {
            let place = places.next().unwrap_or_default();
            let item = loops.inputs()[place];
            reshaped(input, &with_both(input.shape(), sides[place], item))
        });
        (inputs, shape)
    }

    /// Computes the outputs outside any graph.
    #[track_caller]
    fn run<T: Element, R, const I: usize>(
        inputs: &[TensorD<T>; I],
        compute: impl FnOnce(&[TensorD<T>]) -> Result<R, Panic>,
    ) -> R {
        let _guard = unrecorded();
        match compute(inputs) {
            Ok(outputs) => outputs,
            Err(panic) => {
                let shapes = inputs.each_ref().map(|input| vec![input.to_shape()]);
                forward_panicked(panic, &F::SIGNATURE, &shapes)
            }
        }
    }

    /// Computes a reduction outside any graph.
    #[track_caller]
    fn reduced<T: Element, const I: usize>(
        loops: &dyn Loops<T>,
        reduction: Reduction,
        inputs: &[TensorD<T>; I],
        shape: [usize; 2],
    ) -> Reduced<T> {
        Self::run(inputs, |inputs| reduced(loops, reduction, inputs, shape))
    }

    /// Returns the outputs with the derivatives that are wanted.
    #[track_caller]
    fn followed<T, L, const I: usize, const O: usize, const E: usize>(
        loops: L,
        over: Over,
        outputs: [TensorD<T>; O],
        inputs: &[TensorD<T>; I],
        places: &'static [usize; E],
    ) -> [TensorD<T>; O]
    where
        T: Element,
        L: Loops<T> + 'static,
    {
        let inputs = inputs.each_ref();
        if !are_followed(inputs) {
            return outputs;
        }
        let function = Shared::new(NamedLoops {
            name: F::NAME,
            form: "pairs",
            order: loops.order(),
            applied_at: Location::caller(),
            are_gradients: false,
            over,
            loops,
        });
        follow::<F, _, _, I, O, E>(function, places, outputs, inputs)
    }
}

/// The columns that rows have chosen, of `count`, along the first axis.
struct Chosen<T>(PhantomData<T>);

#[custom_function]
impl<T: Element> Chosen<T> {
    /// Returns the columns that rows have chosen, along the first axis.
    #[forward]
    fn forward(x: ArrayView<T, IxDyn>, columns: &[usize], count: usize) -> Array<T, IxDyn> {
        assert_eq!(x.len_of(Axis(1)), count, "the number of columns");
        let mut chosen = x.select(Axis(1), columns);
        chosen.swap_axes(0, 1);
        chosen
    }

    #[adjoint(x)]
    fn adjoint(
        grad_output: ArrayView<T, IxDyn>,
        columns: &[usize],
        count: usize,
    ) -> Array<T, IxDyn> {
        let mut shape = grad_output.shape().to_vec();
        (shape[0], shape[1]) = (count, 1);
        let mut found = Array::zeros(shape);
        for (gradient, &column) in grad_output.outer_iter().zip(columns) {
            let mut sum = found.index_axis_mut(Axis(0), column);
            sum += &gradient;
        }
        found.swap_axes(0, 1);
        found
    }
}

/// The natural logarithm, of tensors of numbers of axes known at run time alone: an elementwise function has loops for
/// each of its derivatives.
struct Logarithm<T>(PhantomData<T>);

#[custom_function]
impl<T: Element> Logarithm<T> {
    /// Returns ln x of each element.
    #[forward]
    fn forward(x: ArrayView<T, IxDyn>) -> Array<T, IxDyn> {
        kernels::map(&x, |x| kernels::ln(x))
    }

    #[backward(x)]
    fn backward(grad_output: Tensor<T, IxDyn>, x: &Tensor<T, IxDyn>) -> Tensor<T, IxDyn> {
        Div::apply(&grad_output, x)
    }

    #[jvp]
    fn jvp(tangent_x: &Tensor<T, IxDyn>, x: &Tensor<T, IxDyn>) -> Tensor<T, IxDyn> {
        Div::apply(tangent_x, x)
    }
}
