//! The parts of a Jacobian put together, so that the whole can be differentiated: custom functions like
//! any other. Each one's backward is made of the others.

use std::marker::PhantomData;

use ndarray::{ArrayD, ArrayViewD, Axis, IxDyn};

use crate::array::Shape;
use crate::custom_function;
use crate::element::Element;
use crate::erased::AnyTensor;
use crate::tensor::TensorD;

/// How the parts of a block of a Jacobian lie in it.
#[derive(Clone, Debug)]
pub(super) struct Layout {
    /// The axis along which the parts are put side by side, one new axis for all those of the other
    /// tensor.
    axis: usize,
    count: usize,
    part: Shape,
    whole: Shape,
}

impl Layout {
    /// A part for each entry of the output, of the input's shape: what backward passes give.
    pub(super) fn rows(output: &[usize], input: &[usize]) -> Self {
        Self::new(0, output, input, (output, input))
    }

    /// A part for each entry of the input, of the output's shape: what forward mode gives.
    pub(super) fn columns(output: &[usize], input: &[usize]) -> Self {
        Self::new(output.len(), input, output, (output, input))
    }

    fn new(
        axis: usize,
        counted: &[usize],
        part: &[usize],
        (output, input): (&[usize], &[usize]),
    ) -> Self {
        Self {
            axis,
            count: counted.iter().product(),
            part: part.into(),
            whole: Shape::from(&[output, input].concat()[..]),
        }
    }

    /// The shape of the whole with one axis for all parts.
    fn stacked(&self) -> Vec<usize> {
        let mut shape = self.part.to_vec();
        shape.insert(self.axis, self.count);
        shape
    }
}

/// A block put together from parts, which are zeros where there is none. It has the element type of
/// `like`.
pub(super) fn assemble(
    parts: Vec<Option<AnyTensor>>,
    layout: Layout,
    like: &AnyTensor,
) -> AnyTensor {
    if parts.iter().all(Option::is_none) {
        return zeros(like, &layout.whole);
    }
    let parts: Vec<AnyTensor> = parts
        .into_iter()
        .map(|part| part.unwrap_or_else(|| zeros(like, &layout.part)))
        .collect();
    match like {
        AnyTensor::F32(_) => AnyTensor::F32(stack(&parts, layout)),
        AnyTensor::F64(_) => AnyTensor::F64(stack(&parts, layout)),
    }
}

fn stack<T: Element>(parts: &[AnyTensor], layout: Layout) -> TensorD<T> {
    let parts: Vec<TensorD<T>> = parts.iter().map(AnyTensor::typed).collect();
    let parts: Vec<&TensorD<T>> = parts.iter().collect();
    Stack::apply(&parts, layout)
}

fn zeros(like: &AnyTensor, shape: &[usize]) -> AnyTensor {
    match like {
        AnyTensor::F32(_) => AnyTensor::F32(ArrayD::zeros(shape).into()),
        AnyTensor::F64(_) => AnyTensor::F64(ArrayD::zeros(shape).into()),
    }
}

/// The same numbers, of the element type of `like`.
pub(super) fn cast(tensor: AnyTensor, like: &AnyTensor) -> AnyTensor {
    match (tensor, like) {
        (AnyTensor::F32(tensor), AnyTensor::F64(_)) => AnyTensor::F64(Cast::apply(&tensor)),
        (AnyTensor::F64(tensor), AnyTensor::F32(_)) => AnyTensor::F32(Cast::apply(&tensor)),
        (tensor, _) => tensor,
    }
}

struct Stack<T>(PhantomData<T>);

#[custom_function]
impl<T: Element> Stack<T> {
    #[forward]
    fn forward(parts: &[ArrayViewD<T>], layout: Layout) -> ArrayD<T> {
        // INVARIANT: there is a part, and all have the layout's shape; the two shapes have one size.
        let stacked = ndarray::stack(Axis(layout.axis), parts).expect("parts of one shape");
        let whole = stacked
            .to_shape(&layout.whole[..])
            .expect("as many elements");
        whole.into_owned()
    }

    #[backward(parts)]
    fn backward(grad_output: &TensorD<T>, layout: &Layout) -> Vec<TensorD<T>> {
        (0..layout.count)
            .map(|index| Part::apply(grad_output, layout.clone(), index))
            .collect()
    }

    #[jvp]
    fn jvp(tangent_parts: &[TensorD<T>], layout: &Layout) -> TensorD<T> {
        let tangents: Vec<&TensorD<T>> = tangent_parts.iter().collect();
        Self::apply(&tangents, layout.clone())
    }
}

/// One part of a whole.
struct Part<T>(PhantomData<T>);

#[custom_function]
impl<T: Element> Part<T> {
    #[forward]
    fn forward(whole: ArrayViewD<T>, layout: Layout, index: usize) -> ArrayD<T> {
        // INVARIANT: the two shapes have one size.
        let stacked = whole
            .to_shape(&layout.stacked()[..])
            .expect("as many elements");
        stacked.index_axis(Axis(layout.axis), index).to_owned()
    }

    #[backward(whole)]
    fn backward(grad_output: &TensorD<T>, layout: &Layout, index: usize) -> TensorD<T> {
        Place::apply(grad_output, layout.clone(), index)
    }

    #[jvp]
    fn jvp(tangent_whole: &TensorD<T>, layout: &Layout, index: usize) -> TensorD<T> {
        Self::apply(tangent_whole, layout.clone(), index)
    }
}

/// A whole that is zero but for one part.
struct Place<T>(PhantomData<T>);

#[custom_function]
impl<T: Element> Place<T> {
    #[forward]
    fn forward(part: ArrayViewD<T>, layout: Layout, index: usize) -> ArrayD<T> {
        let mut stacked = ArrayD::zeros(layout.stacked());
        stacked
            .index_axis_mut(Axis(layout.axis), index)
            .assign(&part);
        // INVARIANT: the array is new, in row-major order, and the two shapes have one size.
        stacked
            .into_shape_with_order(IxDyn(&layout.whole))
            .expect("as many elements")
    }

    #[backward(part)]
    fn backward(grad_output: &TensorD<T>, layout: &Layout, index: usize) -> TensorD<T> {
        Part::apply(grad_output, layout.clone(), index)
    }

    #[jvp]
    fn jvp(tangent_part: &TensorD<T>, layout: &Layout, index: usize) -> TensorD<T> {
        Self::apply(tangent_part, layout.clone(), index)
    }
}

/// Numbers of the other element type.
struct Cast<T, U>(PhantomData<(T, U)>);

#[custom_function]
impl<T: Element, U: Element> Cast<T, U> {
    #[forward]
    fn forward(x: ArrayViewD<T>) -> ArrayD<U> {
        x.mapv(|x| U::from_f64(x.as_f64()))
    }

    #[backward(x)]
    fn backward(grad_output: &TensorD<U>) -> TensorD<T> {
        Cast::apply(grad_output)
    }

    #[jvp]
    fn jvp(tangent_x: &TensorD<T>) -> TensorD<U> {
        Self::apply(tangent_x)
    }
}
