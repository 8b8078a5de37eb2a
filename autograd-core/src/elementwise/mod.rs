//! Functions of numbers as functions of tensors: what `#[custom_function(elementwise)]` builds on.
//!
//! The loops, and what a *level*, a *component* and c are, are in `kernels`' `formula`. Here they become functions of
//! tensors: [`Partials`] are derivatives of c, [`Directional`] those of the formula along tangents. Both are
//! differentiated by `Partials` of the next level.

mod apply;

use std::marker::PhantomData;
use std::ops::Deref;
use std::panic::Location;
use std::sync::Arc;

use autograd_kernels::{Loops, Pass, Shape, evaluate, sum_to};
use ndarray::{Array, ArrayView, ArrayViewD, Dimension, IxDyn};

use crate::basic::operators::common_shape;
use crate::basic::{Add, Mul};
use crate::error::Exceeded;
use crate::function::ForwardCall;
use crate::tape::drop_held;
use crate::tensor::Tensor;
use crate::{Element, custom_function};

pub use apply::{Derivatives, OfNumbers};

/// Returns the outputs of a function of numbers, of each element.
///
/// # Panics
/// If the inputs do not broadcast.
#[track_caller]
pub fn values<T: Element, D: Dimension, const O: usize>(
    name: &str,
    loops: &dyn Loops<T>,
    inputs: &[ArrayView<'_, T, D>],
) -> [Array<T, D>; O] {
    each(outputs(name, loops, inputs))
}

/// Returns a list of as many as there are outputs.
fn each<X, const O: usize>(list: Vec<X>) -> [X; O] {
    // INVARIANT: the loops have one for each.
    list.try_into()
        .unwrap_or_else(|_| unreachable!("one for each output"))
}

/// Returns the outputs of a function of numbers, however many there are.
#[track_caller]
fn outputs<T: Element, D: Dimension>(
    name: &str,
    loops: &dyn Loops<T>,
    inputs: &[ArrayView<'_, T, D>],
) -> Vec<Array<T, D>> {
    let shapes = inputs.iter().map(ArrayView::shape);
    let Some(shape) = common(shapes.clone()) else {
        panic!(
            "{name} of shapes {:?}: they do not broadcast",
            shapes.collect::<Vec<_>>()
        )
    };
    let inputs: Vec<_> = inputs.iter().map(|x| Some(x.view().into_dyn())).collect();
    of_outputs(loops, Pass::Values, &inputs, &shape)
}

/// Runs a pass that has a result for each output.
fn of_outputs<T: Element, D: Dimension>(
    loops: &dyn Loops<T>,
    pass: Pass,
    inputs: &[Option<ArrayViewD<'_, T>>],
    shape: &[usize],
) -> Vec<Array<T, D>> {
    let wanted = vec![true; loops.outputs()];
    let results = evaluate(loops, pass, inputs, shape, &wanted);
    let results = results.into_iter().flatten();
    results.map(|result| array(result, shape)).collect()
}

/// Returns a list of so many views, with each tensor at its place.
fn placed<'a, T, D: Dimension>(
    count: usize,
    places: impl Iterator<Item = usize>,
    tensors: &'a [ArrayView<'_, T, D>],
) -> Vec<Option<ArrayViewD<'a, T>>> {
    let mut views = Vec::new();
    views.resize_with(count, || None);
    for (place, tensor) in places.zip(tensors) {
        views[place] = Some(tensor.view().into_dyn());
    }
    views
}

/// Returns elements in row-major order as an array.
fn array<T, D: Dimension>(elements: Vec<T>, shape: &[usize]) -> Array<T, D> {
    // INVARIANT: the loops give an element for each, and the shape is that of inputs of this rank.
    let array = Array::from_shape_vec(shape, elements).expect("an element for each");
    array.into_dimensionality().expect("the rank of the inputs")
}

/// Returns the shape that several shapes broadcast to.
fn common<'a>(mut shapes: impl Iterator<Item = &'a [usize]>) -> Option<Shape> {
    let first = Shape::from(shapes.next().unwrap_or_default());
    shapes.try_fold(first, |common, shape| common_shape(&common, shape))
}

/// Returns the shape of the outputs.
fn fitting<'a>(shapes: impl Iterator<Item = &'a [usize]>) -> Shape {
    // INVARIANT: forward has seen that the inputs broadcast, and all else has the shape of one or of an output.
    common(shapes).expect("shapes that broadcast")
}

/// Returns a tensor of one number everywhere.
fn constant<T: Element, D: Dimension>(shape: &[usize], value: T) -> Tensor<T, D> {
    let number = Array::from_elem(IxDyn(&vec![1; shape.len()]), value);
    // INVARIANT: the shape is that of inputs of this rank.
    let number: Array<T, D> = number
        .into_dimensionality()
        .expect("the rank of the inputs");
    Tensor::from(number).broadcast_to(shape)
}

/// A function of numbers, or the gradients that are given for one, under its name.
struct Elementwise<L: ?Sized> {
    name: &'static str,
    /// How often the function of that name can be differentiated.
    order: usize,
    /// Where its attribute is.
    at: &'static Location<'static>,
    loops: L,
}

/// What all passes share.
struct Shared<T: Element>(
    /// There until it is dropped.
    Option<Arc<Elementwise<dyn Loops<T>>>>,
);

impl<T: Element> Clone for Shared<T> {
    fn clone(&self) -> Self {
        Self(self.0.clone())
    }
}

impl<T: Element> Deref for Shared<T> {
    type Target = Elementwise<dyn Loops<T>>;

    fn deref(&self) -> &Self::Target {
        // INVARIANT: taken in `drop` alone.
        self.0.as_ref().expect("there until it is dropped")
    }
}

impl<T: Element> Drop for Shared<T> {
    fn drop(&mut self) {
        // The formula's values are the user's.
        if let Some(function) = self.0.take_if(|function| Arc::strong_count(function) == 1) {
            drop_held(function);
        }
    }
}

impl<T: Element> Shared<T> {
    fn new(function: Elementwise<impl Loops<T> + 'static>) -> Self {
        Self(Some(Arc::new(function)))
    }

    /// Returns the gradients of the inputs that need one, given those of the outputs that have one.
    #[track_caller]
    fn gradients<D: Dimension>(
        &self,
        inputs: &[&Tensor<T, D>],
        of_outputs: &[Option<&Tensor<T, D>>],
        needs: &[bool],
    ) -> Vec<Option<Tensor<T, D>>> {
        let known = (0..).zip(inputs.iter().copied());
        let (plan, tensors) = Plan::new(0, known, (inputs.len()..).zip(of_outputs.iter().copied()));
        plan.gradients(&tensors, self, needs)
    }

    /// Applies the function itself.
    #[track_caller]
    fn apply<D: Dimension>(&self, tensors: &[&Tensor<T, D>]) -> Vec<Tensor<T, D>> {
        let needs = requires_grad(tensors);
        self.applied(tensors, 0, |tensors| {
            Values::apply(tensors, self.clone(), needs)
        })
    }
}

impl<T: Element> Elementwise<dyn Loops<T>> {
    /// How many inputs and outputs there are, which is how many places each component has.
    fn width(&self) -> usize {
        self.loops.inputs() + self.loops.outputs()
    }

    /// Refuses to differentiate it once more than loops were generated for.
    fn has_level(&self, level: usize) -> Result<(), Exceeded> {
        if level < self.loops.order() {
            return Ok(());
        }
        Err(Exceeded {
            function: self.name,
            order: self.order,
            at: self.at,
        })
    }

    /// Applies a function of tensors whose rule for forward mode needs loops of `level`.
    #[track_caller]
    fn applied<D: Dimension>(
        &self,
        tensors: &[&Tensor<T, D>],
        level: usize,
        apply: impl FnOnce(&[&Tensor<T, D>]) -> Vec<Tensor<T, D>>,
    ) -> Vec<Tensor<T, D>> {
        let forward_mode = tensors.iter().map(|tensor| tensor.raw.level()).max();
        let (Some(depth @ 1..), Err(exceeded)) = (forward_mode, self.has_level(level)) else {
            return apply(tensors);
        };
        let mut call = ForwardCall::new(self.name, depth);
        let primals: Vec<_> = tensors.iter().map(|tensor| call.split(tensor).0).collect();
        call.fails(exceeded.error());
        let outputs = apply(&primals.iter().collect::<Vec<_>>());
        call.without_tangents(outputs)
    }
}

/// Which tensors of a list are what, and which derivatives are wanted.
///
/// At a level, each input and each output's gradient has 2^level components. The place of one is its component's number
/// times the width, plus the number of the input or, after those, of the output.
#[derive(Clone)]
struct Plan {
    level: usize,
    /// The place of each tensor; what has none is zero.
    places: Vec<usize>,
    /// The places, in rising order, with respect to which c is differentiated.
    wanted: Vec<usize>,
    /// Which tensors require grad.
    needs: Vec<bool>,
}

impl Plan {
    /// Returns a plan that wants nothing yet, and the tensors that there are. Each comes with its place.
    fn new<'a, X>(
        level: usize,
        known: impl Iterator<Item = (usize, &'a X)>,
        others: impl Iterator<Item = (usize, Option<&'a X>)>,
    ) -> (Self, Vec<&'a X>) {
        let others = others.filter_map(|(place, other)| Some((place, other?)));
        let (places, tensors) = known.chain(others).unzip();
        let (wanted, needs) = (Vec::new(), Vec::new());
        let plan = Self {
            level,
            places,
            wanted,
            needs,
        };
        (plan, tensors)
    }

    /// Returns the derivatives that are wanted, each of its tensor's shape, and the plan as nodes have it.
    #[track_caller]
    fn apply<T: Element, D: Dimension>(
        mut self,
        tensors: &[&Tensor<T, D>],
        function: &Shared<T>,
    ) -> (Arc<Self>, Vec<Tensor<T, D>>) {
        self.needs = requires_grad(tensors);
        let plan = Arc::new(self);
        let partials = function.applied(tensors, plan.level + 1, |tensors| {
            Partials::apply(tensors, function.clone(), Arc::clone(&plan))
        });
        (plan, partials)
    }

    /// Returns the derivatives with respect to the tensors that need one, and `None` for the others.
    #[track_caller]
    fn gradients<T: Element, D: Dimension>(
        mut self,
        tensors: &[&Tensor<T, D>],
        function: &Shared<T>,
        needs: &[bool],
    ) -> Vec<Option<Tensor<T, D>>> {
        let places = self.places.iter().zip(needs);
        self.wanted = places
            .filter_map(|(&place, &is_needed)| is_needed.then_some(place))
            .collect();
        self.wanted.sort_unstable();
        let (plan, partials) = self.apply(tensors, function);
        let mut partials: Vec<_> = partials.into_iter().map(Some).collect();
        let of = |place| partials[plan.wanted.binary_search(place).ok()?].take();
        plan.places[..needs.len()].iter().map(of).collect()
    }
}

/// Returns the place that a component has at the next level, where a new lowest bit says whether it is a direction.
fn lifted(place: usize, width: usize) -> usize {
    place / width * 2 * width + place % width
}

fn requires_grad<T: Element, D: Dimension>(tensors: &[&Tensor<T, D>]) -> Vec<bool> {
    let tensors = tensors.iter();
    tensors.map(|tensor| tensor.requires_grad()).collect()
}

/// The outputs of a function of numbers.
struct Values<T, D>(PhantomData<(T, D)>);

#[custom_function]
impl<T: Element, D: Dimension> Values<T, D> {
    /// Returns the outputs of a function of numbers.
    #[forward]
    fn forward(
        tensors: &[ArrayView<T, D>],
        function: Shared<T>,
        needs: Vec<bool>,
    ) -> Vec<Array<T, D>> {
        outputs(function.name, &function.loops, tensors)
    }

    #[backward(tensors)]
    fn backward(
        grad_output: &[Option<&Tensor<T, D>>],
        tensors: &[&Tensor<T, D>],
        function: &Shared<T>,
        needs: &[bool],
    ) -> Result<Vec<Option<Tensor<T, D>>>, Exceeded> {
        function.has_level(0)?;
        Ok(function.gradients(tensors, grad_output, needs))
    }

    #[jvp]
    fn jvp(
        tangent_tensors: &[Option<&Tensor<T, D>>],
        tensors: &[&Tensor<T, D>],
        function: &Shared<T>,
    ) -> Vec<Tensor<T, D>> {
        along(function, tensors, tangent_tensors)
    }
}

/// The derivatives of c with respect to some of what it is made of.
struct Partials<T, D>(PhantomData<(T, D)>);

#[custom_function]
impl<T: Element, D: Dimension> Partials<T, D> {
    /// Returns derivatives of a function of numbers with respect to its inputs.
    #[forward]
    fn forward(
        tensors: &[ArrayView<T, D>],
        function: Shared<T>,
        plan: Arc<Plan>,
    ) -> Vec<Array<T, D>> {
        let loops = &function.loops;
        let count = function.width() << plan.level;
        let shape = fitting(tensors.iter().map(ArrayView::shape));
        let inputs = placed(count, plan.places.iter().copied(), tensors);
        let mut wanted = vec![false; count];
        for &place in &plan.wanted {
            wanted[place] = true;
        }
        let pass = Pass::Partials { level: plan.level };
        let results = evaluate(loops, pass, &inputs, &shape, &wanted);
        let of_inputs = results.into_iter().zip(&inputs);
        let reduced = of_inputs.filter_map(|(result, input)| {
            let (result, input) = (array(result?, &shape), input.as_ref()?);
            if input.shape() == &shape[..] {
                return Some(result);
            }
            Some(sum_to(&result.view(), input.shape()))
        });
        reduced.collect()
    }

    #[backward(tensors)]
    fn backward(
        grad_output: &[Option<&Tensor<T, D>>],
        tensors: &[&Tensor<T, D>],
        function: &Shared<T>,
        plan: &Arc<Plan>,
    ) -> Result<Vec<Option<Tensor<T, D>>>, Exceeded> {
        function.has_level(plan.level + 1)?;
        let (next, tensors) = differentiated(tensors, function, plan, &plan.wanted, grad_output);
        Ok(next.gradients(&tensors, function, &plan.needs))
    }

    #[jvp]
    fn jvp(
        tangent_tensors: &[Option<&Tensor<T, D>>],
        tensors: &[&Tensor<T, D>],
        function: &Shared<T>,
        plan: &Arc<Plan>,
    ) -> Vec<Tensor<T, D>> {
        let (next, tensors) =
            differentiated(tensors, function, plan, &plan.places, tangent_tensors);
        let wanted = plan.wanted.iter();
        let wanted = wanted
            .map(|place| lifted(*place, function.width()))
            .collect();
        Plan { wanted, ..next }.apply(&tensors, function).1
    }
}

/// Returns the plan, with nothing wanted yet, and the tensors of c differentiated along directions of these places.
fn differentiated<'a, T: Element, D: Dimension>(
    tensors: &[&'a Tensor<T, D>],
    function: &Shared<T>,
    plan: &Plan,
    places: &[usize],
    directions: &[Option<&'a Tensor<T, D>>],
) -> (Plan, Vec<&'a Tensor<T, D>>) {
    let width = function.width();
    let lift = |place: &usize| lifted(*place, width);
    let known = plan.places.iter().map(lift).zip(tensors.iter().copied());
    let along = places.iter().map(|place| lift(place) + width);
    Plan::new(plan.level + 1, known, along.zip(directions.iter().copied()))
}

/// Returns the derivatives of the outputs along the tangents that there are.
#[track_caller]
fn along<T: Element, D: Dimension>(
    function: &Shared<T>,
    inputs: &[&Tensor<T, D>],
    tangents: &[Option<&Tensor<T, D>>],
) -> Vec<Tensor<T, D>> {
    let known = (0..).zip(inputs.iter().copied());
    let (mut plan, tensors) =
        Plan::new(1, known, (function.width()..).zip(tangents.iter().copied()));
    plan.needs = requires_grad(&tensors);
    function.applied(&tensors, 1, |tensors| {
        Directional::apply(tensors, function.clone(), Arc::new(plan))
    })
}

/// The derivatives of the outputs along directions of some inputs: the inputs come first, then the directions. The plan
/// has their places at level 1.
struct Directional<T, D>(PhantomData<(T, D)>);

#[custom_function]
impl<T: Element, D: Dimension> Directional<T, D> {
    /// Returns the derivatives of a function of numbers along directions of its inputs.
    #[forward]
    fn forward(
        tensors: &[ArrayView<T, D>],
        function: Shared<T>,
        plan: Arc<Plan>,
    ) -> Vec<Array<T, D>> {
        let loops = &function.loops;
        let (inputs, outputs) = (loops.inputs(), loops.outputs());
        let shape = fitting(tensors.iter().map(ArrayView::shape));
        // Between inputs and directions, there are places of the outputs' gradients.
        let places = plan.places.iter().map(|&place| {
            if place < inputs {
                place
            } else {
                place - outputs
            }
        });
        let views = placed(2 * inputs, places, tensors);
        of_outputs(loops, Pass::Tangents, &views, &shape)
    }

    // g times the derivative along directions is c of level 1.
    #[backward(tensors)]
    fn backward(
        grad_output: &[Option<&Tensor<T, D>>],
        tensors: &[&Tensor<T, D>],
        function: &Shared<T>,
        plan: &Arc<Plan>,
    ) -> Result<Vec<Option<Tensor<T, D>>>, Exceeded> {
        function.has_level(1)?;
        let known = plan.places.iter().copied().zip(tensors.iter().copied());
        let of_outputs = (function.loops.inputs()..).zip(grad_output.iter().copied());
        let (next, tensors) = Plan::new(plan.level, known, of_outputs);
        Ok(next.gradients(&tensors, function, &plan.needs))
    }

    // The derivative along a direction d of Σᵢ tᵢ ∂ᵢf: that along the tangents of t, and Σᵢ dᵢ times the derivatives, with
    // respect to xᵢ, of the function itself.
    #[jvp]
    fn jvp(
        tangent_tensors: &[Option<&Tensor<T, D>>],
        tensors: &[&Tensor<T, D>],
        function: &Shared<T>,
        plan: &Arc<Plan>,
    ) -> Vec<Tensor<T, D>> {
        let loops = &function.loops;
        let (of_inputs, of_directions) = tangent_tensors.split_at(loops.inputs());
        let (inputs, directions) = tensors.split_at(loops.inputs());
        let mut moved = vec![None; loops.inputs()];
        for (&place, tangent) in plan.places[loops.inputs()..].iter().zip(of_directions) {
            moved[place - function.width()] = *tangent;
        }
        let first = along(function, inputs, &moved);
        let shape = first[0].shape().to_vec();
        // Whole, so that nothing is summed before it is multiplied.
        let whole = |tensor: &&Tensor<T, D>| tensor.broadcast_to::<D>(&shape);
        let tensors: Vec<Tensor<T, D>> = inputs.iter().chain(directions).map(whole).collect();
        let ones = constant(&shape, T::one());
        let of_output = |(output, first): (usize, Tensor<T, D>)| {
            let mut plan = Plan::clone(plan);
            plan.places.push(loops.inputs() + output);
            plan.wanted = (0..loops.inputs())
                .filter(|&input| of_inputs[input].is_some())
                .collect();
            let tensors: Vec<_> = tensors.iter().chain([&ones]).collect();
            let (_, partials) = plan.apply(&tensors, function);
            let pairs = of_inputs.iter().flatten().zip(&partials);
            pairs.fold(first, |sum, (tangent, partial)| {
                Add::apply(&sum, &Mul::apply(&whole(tangent), partial))
            })
        };
        first.into_iter().enumerate().map(of_output).collect()
    }
}
