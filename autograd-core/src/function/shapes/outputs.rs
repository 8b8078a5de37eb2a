//! What `output_shape` returns: a shape for each output.

/// The shape of an output, or a pair of that of the first and those of the others.
pub trait OutputShapes {
    /// Takes the shapes.
    ///
    /// # Panics
    /// If there are too few, or one has another rank: that is a bug of the attribute.
    fn of(shapes: &mut dyn Iterator<Item = Vec<usize>>) -> Self;
}

/// No output has a declared shape.
impl OutputShapes for () {
    fn of(_: &mut dyn Iterator<Item = Vec<usize>>) -> Self {}
}

impl<const R: usize> OutputShapes for [usize; R] {
    fn of(shapes: &mut dyn Iterator<Item = Vec<usize>>) -> Self {
        let shape = Vec::of(shapes);
        // INVARIANT: declared shapes have the ranks of their types.
        shape.try_into().expect("a length for each axis")
    }
}

impl OutputShapes for Vec<usize> {
    fn of(shapes: &mut dyn Iterator<Item = Vec<usize>>) -> Self {
        // INVARIANT: all outputs have declared shapes, or none.
        shapes.next().expect("a shape for each output")
    }
}

impl<A: OutputShapes, B: OutputShapes> OutputShapes for (A, B) {
    fn of(shapes: &mut dyn Iterator<Item = Vec<usize>>) -> Self {
        let first = A::of(shapes);
        (first, B::of(shapes))
    }
}
