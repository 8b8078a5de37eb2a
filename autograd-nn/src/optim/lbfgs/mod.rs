//! L-BFGS.

mod flat;
mod memory;
mod state;
mod wolfe;

use flat::Layout;
use memory::{Memory, add};
use wolfe::{Point, Search};

use autograd_core::{Element, Error, Tensor0, enable_grad};
use autograd_kernels::{counted, dot_slices};

use crate::optim::settings::{at_least_one, not_negative};
use crate::visit::{Field, each_parameter};

/// L-BFGS: Newton's method with a curvature that is estimated from the last steps. For losses that are computed
/// exactly, not from samples, of up to some hundred thousand parameters.
///
/// A [`step`](Self::step) is a number of iterations, each of which computes the loss at several places, so it gets the
/// loss as a closure. All is computed in `f64`, whatever the parameters are: with the history of 100 iterations
/// that is kept unless it is [set](Self::history), that is 1,600 bytes for each parameter's element.
///
/// The formulas, tolerances and the strong Wolfe line search are those of PyTorch's `LBFGS`, where the line
/// search has to be asked for. Liu and Nocedal, *On the limited memory BFGS method for large scale optimization*
/// (1989).
///
/// ```
/// use pullback::ndarray::array;
/// use pullback::nn::Parameter;
/// use pullback::optim::Lbfgs;
///
/// // Rosenbrock's valley, whose lowest point is at (1, 1).
/// let mut model = (Parameter::new(array![-1.2_f64]), Parameter::new(array![1.0_f64]));
/// let mut optimizer = Lbfgs::new(1.0);
/// for _ in 0..4 {
///     optimizer.step(&mut model, |(x, y)| {
///         let valley = (&**y - &x.square()).square() * 100.0;
///         Ok((valley + (&**x - 1.0).square()).sum())
///     })?;
/// }
/// assert!((model.0.item() - 1.0).abs() < 1e-4);
/// # Ok::<(), pullback::Error>(())
/// ```
#[derive(Debug)]
pub struct Lbfgs {
    rate: f64,
    iterations: u64,
    evaluations: Option<u64>,
    gradient_tolerance: f64,
    change_tolerance: f64,
    history: usize,
    line_search: bool,
    /// Of the model that was stepped last.
    layout: Option<Layout>,
    memory: Memory,
}

impl Lbfgs {
    /// L-BFGS whose steps along each direction start from this length: 1 is right with line search. A step has 20
    /// iterations.
    ///
    /// # Panics
    /// If the rate is negative or not finite.
    ///
    /// ```
    /// use pullback::optim::Lbfgs;
    ///
    /// assert_eq!(Lbfgs::new(1.0).learning_rate(), 1.0);
    /// ```
    #[must_use]
    #[track_caller]
    pub fn new(learning_rate: f64) -> Self {
        Self {
            rate: not_negative("learning rate", learning_rate),
            iterations: 20,
            evaluations: None,
            gradient_tolerance: 1e-7,
            change_tolerance: 1e-9,
            history: 100,
            line_search: true,
            layout: None,
            memory: Memory::default(),
        }
    }

    /// Sets the largest number of iterations of a step; 20 by default.
    ///
    /// # Panics
    /// If it is 0.
    ///
    /// ```
    /// use pullback::optim::Lbfgs;
    ///
    /// let optimizer = Lbfgs::new(1.0).iterations(100);
    /// # let _ = optimizer;
    /// ```
    #[must_use]
    #[track_caller]
    pub fn iterations(mut self, count: u64) -> Self {
        self.iterations = at_least_one("number of iterations", count);
        self
    }

    /// Sets the number of computations of the loss after which a step begins no further iteration; 5 for every 4
    /// iterations by default.
    ///
    /// # Panics
    /// If it is 0.
    ///
    /// ```
    /// use pullback::optim::Lbfgs;
    ///
    /// let optimizer = Lbfgs::new(1.0).iterations(100).evaluations(300);
    /// # let _ = optimizer;
    /// ```
    #[must_use]
    #[track_caller]
    pub fn evaluations(mut self, count: u64) -> Self {
        self.evaluations = Some(at_least_one("number of evaluations", count));
        self
    }

    /// Ends a step where no entry of the gradient is larger than `gradient`, or where neither the loss nor an entry
    /// of a parameter changes by more than `change`; 10⁻⁷ and 10⁻⁹ by default.
    ///
    /// # Panics
    /// If one is negative or not finite.
    ///
    /// ```
    /// use pullback::optim::Lbfgs;
    ///
    /// let optimizer = Lbfgs::new(1.0).tolerances(1e-10, 1e-14);
    /// # let _ = optimizer;
    /// ```
    #[must_use]
    #[track_caller]
    pub fn tolerances(mut self, gradient: f64, change: f64) -> Self {
        self.gradient_tolerance = not_negative("tolerance of the gradient", gradient);
        self.change_tolerance = not_negative("tolerance of changes", change);
        self
    }

    /// Sets the number of iterations that the curvature is estimated from; 100 by default.
    ///
    /// # Panics
    /// If it is 0.
    ///
    /// ```
    /// use pullback::optim::Lbfgs;
    ///
    /// let optimizer = Lbfgs::new(1.0).history(10);
    /// # let _ = optimizer;
    /// ```
    #[must_use]
    #[track_caller]
    pub fn history(mut self, iterations: usize) -> Self {
        assert!(iterations > 0, "the history is 0: at least 1 is needed");
        self.history = iterations;
        self
    }

    /// Sets whether each iteration searches along its direction for a place that satisfies the strong Wolfe conditions;
    /// it does by default. Without, the learning rate is the length of the step.
    ///
    /// ```
    /// use pullback::optim::Lbfgs;
    ///
    /// let optimizer = Lbfgs::new(0.1).line_search(false);
    /// # let _ = optimizer;
    /// ```
    #[must_use]
    pub fn line_search(mut self, line_search: bool) -> Self {
        self.line_search = line_search;
        self
    }

    /// Returns the learning rate.
    ///
    /// ```
    /// use pullback::optim::Lbfgs;
    ///
    /// assert_eq!(Lbfgs::new(0.5).learning_rate(), 0.5);
    /// ```
    pub fn learning_rate(&self) -> f64 {
        self.rate
    }

    /// Sets the learning rate from the next step on.
    ///
    /// # Panics
    /// If it is negative or not finite.
    ///
    /// ```
    /// use pullback::optim::Lbfgs;
    ///
    /// let mut optimizer = Lbfgs::new(1.0);
    /// optimizer.set_learning_rate(0.5);
    /// assert_eq!(optimizer.learning_rate(), 0.5);
    /// ```
    #[track_caller]
    pub fn set_learning_rate(&mut self, rate: f64) {
        self.rate = not_negative("learning rate", rate);
    }

    /// Runs some iterations and returns the loss from before them. `loss` computes the loss of the model that it gets:
    /// with gradients recorded, and the same for the same parameters. Gradients are set to zero and computed here;
    /// afterwards they are those of some place on the way.
    ///
    /// Parameters that do not require grad stay what they are. If others do than in the step before, the
    /// estimate of the curvature is dropped.
    ///
    /// # Errors
    /// If `loss` or its backward pass fails. The parameters are then as they were before the iteration that
    /// failed, and the estimate of the curvature is dropped.
    ///
    /// # Panics
    /// If it is another model than in the steps before.
    ///
    /// ```
    /// use pullback::ndarray::array;
    /// use pullback::nn::Parameter;
    /// use pullback::optim::Lbfgs;
    ///
    /// let mut w = Parameter::new(array![5.0]);
    /// let before = Lbfgs::new(1.0).step(&mut w, |w| Ok((&**w - 3.0).square().sum()))?;
    /// assert_eq!(before, 4.0);
    /// assert!((w.item() - 3.0_f64).abs() < 1e-6);
    /// # Ok::<(), pullback::Error>(())
    /// ```
    #[track_caller]
    pub fn step<F: Field + ?Sized, T: Element>(
        &mut self,
        model: &mut F,
        mut loss: impl FnMut(&F) -> Result<Tensor0<T>, Error>,
    ) -> Result<f64, Error> {
        let layout = self.bind(model);
        let mut values = layout.values(model);
        let result = self.iterate(&mut values, &mut |values| {
            layout.set(model, values);
            each_parameter(model, |_, parameter| parameter.zero_grad());
            let loss = enable_grad(|| loss(model))?;
            loss.backward()?;
            Ok((loss.item().as_f64(), layout.gradient(model)))
        });
        layout.set(model, &values);
        if result.is_err() {
            self.memory = Memory::default();
        }
        self.layout = Some(layout);
        result
    }

    /// The model's layout, which must have the parameters of the last.
    #[track_caller]
    fn bind(&mut self, model: &(impl Field + ?Sized)) -> Layout {
        let layout = Layout::of(model);
        if let Some(last) = self.layout.as_ref().filter(|last| **last != layout) {
            assert!(
                last.has_parameters_of(&layout),
                "step of another model: found {}, which are not the {} of before",
                counted(layout.parameters(), "parameter", "parameters"),
                last.parameters()
            );
            self.memory = Memory::default();
        }
        layout
    }

    /// Moves the values; gives the first loss. When it fails they are those of before the last iteration.
    fn iterate(&mut self, values: &mut [f64], evaluate: Evaluate<'_>) -> Result<f64, Error> {
        let (first, mut gradient) = evaluate(values)?;
        let mut loss = first;
        if largest(&gradient) <= self.gradient_tolerance {
            return Ok(first);
        }
        let most = self.evaluations.unwrap_or(self.iterations * 5 / 4);
        let mut evaluations = 1;
        for iteration in 1..=self.iterations {
            self.memory.next_direction(&gradient, self.history);
            self.memory.length = self.first_length(&gradient);
            let slope = dot_slices(&gradient, &self.memory.direction);
            if slope.is_nan() || slope > -self.change_tolerance {
                break;
            }
            let start = Point {
                length: 0.0,
                loss,
                gradient,
                slope,
            };
            let is_last = iteration == self.iterations;
            let (next, count) = self.advance(values, &start, is_last, evaluate)?;
            self.memory.length = next.length;
            add(values, next.length, &self.memory.direction);
            let moved = largest(&self.memory.direction) * next.length.abs();
            evaluations += count;
            if evaluations >= most
                || largest(&next.gradient) <= self.gradient_tolerance
                || moved <= self.change_tolerance
                || (next.loss - loss).abs() < self.change_tolerance
            {
                break;
            }
            (loss, gradient) = (next.loss, next.gradient);
        }
        Ok(first)
    }

    /// How far along a direction to look first.
    fn first_length(&self, gradient: &[f64]) -> f64 {
        if self.memory.iterations > 1 {
            return self.rate;
        }
        // Nothing is known of the curvature yet: a step no longer than 1 in all.
        let total: f64 = gradient.iter().map(|g| g.abs()).sum();
        self.rate * total.recip().min(1.0)
    }

    /// Where the direction leads, and how often the loss was computed.
    fn advance(
        &self,
        values: &[f64],
        start: &Point,
        is_last: bool,
        evaluate: Evaluate<'_>,
    ) -> Result<(Point, u64), Error> {
        let direction = &self.memory.direction;
        let mut evaluate = |length: f64| {
            let mut there = values.to_vec();
            add(&mut there, length, direction);
            let (loss, gradient) = evaluate(&there)?;
            let slope = dot_slices(&gradient, direction);
            Ok(Point {
                length,
                loss,
                gradient,
                slope,
            })
        };
        let length = self.memory.length;
        if self.line_search {
            let search = Search {
                start,
                largest: largest(direction),
                tolerance: self.change_tolerance,
            };
            return search.run(length, &mut evaluate);
        }
        if is_last {
            // Nobody asks what is found there.
            let start = start.clone();
            return Ok((Point { length, ..start }, 0));
        }
        Ok((evaluate(length)?, 1))
    }
}

/// Computes the loss and its gradient where the parameters have these values.
type Evaluate<'e> = &'e mut dyn FnMut(&[f64]) -> Result<(f64, Vec<f64>), Error>;

/// The largest absolute value.
fn largest(vector: &[f64]) -> f64 {
    vector.iter().fold(0.0, |most, x| x.abs().max(most))
}
