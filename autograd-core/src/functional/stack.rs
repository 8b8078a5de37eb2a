//! Assembles Jacobians from their parts by ordinary functions, so that the result can be differentiated.

use ndarray::{ArrayD, Axis};

use crate::erased::AnyTensor;
use crate::error::Error;
use crate::recording::Recording;
use crate::tensor::{Tensor, TensorD};
use crate::thread::with_grad_mode;
use autograd_kernels::Element;
use autograd_kernels::Shape;

/// The layout of the parts in a block of a Jacobian.
#[derive(Debug)]
pub(super) struct Layout {
    /// The new axis along which the parts are stacked, in place of the axes of the other tensor.
    axis: Axis,
    part: Shape,
    whole: Shape,
}

impl Layout {
    /// Returns the layout of backward passes: a part for each entry of the output, of the input's shape.
    #[inline]
    pub(super) fn rows(output: &[usize], input: &[usize]) -> Self {
        Self::new(0, input, (output, input))
    }

    /// Returns the layout of forward mode: a part for each entry of the input, of the output's shape.
    #[inline]
    pub(super) fn columns(output: &[usize], input: &[usize]) -> Self {
        Self::new(output.len(), output, (output, input))
    }

    #[inline]
    fn new(axis: usize, part: &[usize], (output, input): (&[usize], &[usize])) -> Self {
        Self {
            axis: Axis(axis),
            part: part.into(),
            whole: Shape::from(&[output, input].concat()[..]),
        }
    }
}

/// Assembles a block of the element type of `like` from its parts; a missing part is zeros.
#[inline]
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
        AnyTensor::F32(_) => AnyTensor::F32(stack(parts, &layout)),
        AnyTensor::F64(_) => AnyTensor::F64(stack(parts, &layout)),
    }
}

/// Returns the blocks of the Jacobian, those of one output after the other, by a pass for each entry of the output.
#[inline]
pub(super) fn jacobian(recorded: &Recording, create_graph: bool) -> Result<Vec<AnyTensor>, Error> {
    let mut blocks = Vec::new();
    for output in &recorded.outputs {
        let rows = (0..output.len()).map(|entry| recorded.row(output, entry, create_graph));
        let rows = rows.collect::<Result<_, _>>()?;
        blocks.extend(row_blocks(
            rows,
            output.shape(),
            &recorded.inputs,
            create_graph,
        ));
    }
    Ok(blocks)
}

/// Returns the blocks of one output of this shape, from the gradients of all inputs for each entry of the output.
#[inline]
pub(super) fn row_blocks(
    rows: Vec<Vec<Option<AnyTensor>>>,
    output: &[usize],
    inputs: &[AnyTensor],
    create_graph: bool,
) -> Vec<AnyTensor> {
    let mut parts: Vec<_> = inputs.iter().map(|_| Vec::new()).collect();
    for row in rows {
        for (parts, part) in parts.iter_mut().zip(row) {
            parts.push(part);
        }
    }
    let blocks = inputs.iter().zip(parts).map(|(input, parts)| {
        let layout = Layout::rows(output, input.shape());
        with_grad_mode(create_graph, || assemble(parts, layout, input))
    });
    blocks.collect()
}

fn stack<T: Element>(parts: Vec<AnyTensor>, layout: &Layout) -> TensorD<T> {
    let parts: Vec<TensorD<T>> = parts.into_iter().map(AnyTensor::into_typed).collect();
    Tensor::stack(layout.axis, &parts).reshape(&layout.whole[..])
}

#[inline]
fn zeros(like: &AnyTensor, shape: &[usize]) -> AnyTensor {
    match like {
        AnyTensor::F32(_) => AnyTensor::F32(ArrayD::zeros(shape).into()),
        AnyTensor::F64(_) => AnyTensor::F64(ArrayD::zeros(shape).into()),
    }
}

/// Returns a tensor converted to the element type of `like`.
#[inline]
pub(super) fn cast(tensor: AnyTensor, like: &AnyTensor) -> AnyTensor {
    match (tensor, like) {
        (AnyTensor::F32(tensor), AnyTensor::F64(_)) => AnyTensor::F64(tensor.cast()),
        (AnyTensor::F64(tensor), AnyTensor::F32(_)) => AnyTensor::F32(tensor.cast()),
        (tensor, _) => tensor,
    }
}
