//! The steps and lanes that the tensors of a scan broadcast to.

use autograd_kernels::{Element, Item, Recurrence, ScanLoops, Shape, sum_to};
use ndarray::{ArrayD, ArrayViewD};

use super::function::{NamedScan, ScanFunction};
use crate::elementwise::{common, of_items};
use crate::error::panic::with_shapes;

/// The number of steps, and the shape of the lanes.
#[derive(Debug)]
pub(super) struct Extent {
    pub(super) steps: usize,
    pub(super) lanes: Shape,
}

impl Extent {
    /// Returns the extent of the inputs of a scan.
    ///
    /// # Panics
    /// If the inputs do not broadcast, an input has no axis of steps, or its rows have another length or no numbers.
    #[track_caller]
    pub(super) fn of_inputs<T: Element, L: ScanLoops<T> + ?Sized>(
        scan: &NamedScan<T, L>,
        inputs: &[ArrayViewD<'_, T>],
    ) -> Self {
        match Self::fitting(scan, inputs) {
            Ok(extent) => extent,
            Err(what) => {
                let shapes = inputs.iter().map(ArrayViewD::shape);
                let tensors = scan.names.iter().copied().zip(shapes);
                panic!("{}: {what}", with_shapes(scan.name, tensors))
            }
        }
    }

    /// Returns the extent of the inputs of a scan, or what does not fit.
    fn fitting<T: Element, L: ScanLoops<T> + ?Sized>(
        scan: &NamedScan<T, L>,
        inputs: &[ArrayViewD<'_, T>],
    ) -> Result<Self, String> {
        let mut steps: Option<(usize, &str)> = None;
        let mut lanes: Vec<(&str, &[usize])> = Vec::new();
        for (place, (input, name)) in inputs.iter().zip(scan.names).enumerate() {
            let (item, has_steps) = scan.item(place);
            if item.row() == Some(0) {
                return Err(format!("the rows of `{name}` have no numbers"));
            }
            if let Some(row) = item.row()
                && input.shape().last() != Some(&row)
            {
                return Err(format!("the last axis of `{name}` must have length {row}"));
            }
            let own = match of_items(input.shape(), item) {
                [] if has_steps => return Err(format!("`{name}` has no axis of steps")),
                [count, own @ ..] if has_steps => {
                    match steps {
                        Some((known, other)) if known != *count && known != 1 && *count != 1 => {
                            return Err(format!(
                                "`{other}` has {known} steps, but `{name}` has {count}"
                            ));
                        }
                        Some((known, _)) if known != 1 => {}
                        Some(_) | None => steps = Some((*count, name)),
                    }
                    own
                }
                own => own,
            };
            let apart =
                |(_, other): &&(&str, &[usize])| common([*other, own].into_iter()).is_none();
            if let Some((other, _)) = lanes.iter().find(apart) {
                return Err(format!(
                    "`{other}` and `{name}` do not broadcast beside the axis of steps"
                ));
            }
            lanes.push((name, own));
        }
        // INVARIANT: shapes of which each two broadcast have a common shape.
        let lanes = common(lanes.iter().map(|(_, own)| *own)).expect("shapes that broadcast");
        Ok(Self {
            steps: steps.map_or(1, |(steps, _)| steps),
            lanes,
        })
    }

    /// Returns the extent of tensors with their places, which fit.
    pub(super) fn of<'a, T: Element>(
        scan: &NamedScan<T, dyn ScanLoops<T>>,
        tensors: impl Iterator<Item = (usize, &'a [usize])>,
    ) -> Self {
        let (mut steps, mut lanes) = (1, Vec::new());
        for (place, shape) in tensors {
            let (item, has_steps) = scan.item(place);
            match of_items(shape, item) {
                [count, own @ ..] if has_steps => {
                    if *count != 1 {
                        steps = *count;
                    }
                    lanes.push(own);
                }
                own => lanes.push(own),
            }
        }
        // INVARIANT: forward has checked that the inputs broadcast; other shapes are those of an input or an output.
        let lanes = common(lanes.into_iter()).expect("shapes that broadcast");
        Self { steps, lanes }
    }
}

impl Extent {
    /// Returns the recurrence of a scan over it.
    pub(super) fn run_of<'a, T: Element>(&'a self, scan: &'a ScanFunction<T>) -> Recurrence<'a, T> {
        self.run(&scan.loops, scan.is_reversed)
    }

    /// Returns the recurrence of loops over it.
    pub(super) fn run<'a, T: Element>(
        &'a self,
        loops: &'a dyn ScanLoops<T>,
        is_reversed: bool,
    ) -> Recurrence<'a, T> {
        Recurrence {
            loops,
            steps: self.steps,
            lanes: &self.lanes,
            is_reversed,
        }
    }
}

/// Returns a derivative summed to the shape of its tensor.
pub(super) fn reduced<T: Element>(
    derivative: ArrayD<T>,
    shape: &[usize],
    (_, has_steps): (Item, bool),
) -> ArrayD<T> {
    if derivative.shape() == shape {
        return derivative;
    }
    let mut aligned = shape.to_vec();
    if has_steps {
        // Lanes are aligned at the last axis, behind that of steps.
        let missing = derivative.ndim() - shape.len();
        aligned.splice(1..1, std::iter::repeat_n(1, missing));
    }
    let sums: ArrayD<T> = sum_to(&derivative.view(), &aligned);
    // INVARIANT: axes of length 1 are removed.
    sums.into_shape_with_order(shape).expect("as many elements")
}
