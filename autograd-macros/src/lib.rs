//! The procedural macros of `pullback`: signatures in, differentiable functions out.
//!
//! Not used directly: `pullback` and `autograd-core` re-export [`custom_function`], each with its own
//! paths.
//!
//! # How it works
//!
//! The stages, each of which uses only those before it; `stages` runs them:
//!
//! 1. `parse` turns tokens into syntax. Bodies of functions stay tokens, and nothing is judged.
//! 2. `lower` rewrites a free function, in the short form or elementwise, into the block that it stands for.
//! 3. `validate` turns syntax into a model. It calls `lower`, then runs all rules, each a function with a bad example
//!    above it; `diagnostics` collects what they find, so that all mistakes are reported at once.
//! 4. `model` describes a checked function. Only `validate` makes one.
//! 5. `expand` turns the model into tokens; `docs` writes the documentation. With mistakes, it generates a
//!    fallback: the item as written, the errors, and an `apply` that does nothing.
//!
//! `place` looks into the source file before all stages, for what is beside the item.
//! `compiler` tells whether the crate that is compiled is optimized, and by which name it knows the library.
//! `types` reads a type as a tensor or a value, `spell` writes one, and `uses` finds the names in an
//! expression, for the rules and the expansion alike. `lists` takes the place of `collect`.
//! The runtime is known only as paths into its `__private` module.
//!
//! `module` has the same stages for `#[derive(Module)]`.

mod alone;
mod compiler;
mod constants;
mod diagnostics;
mod docs;
mod expand;
mod fragments;
#[cfg(test)]
mod fuzz;
mod lists;
mod lower;
mod model;
#[cfg(feature = "module")]
mod module;
mod parse;
mod place;
mod print;
mod show;
mod spell;
mod stages;
mod strip;
mod types;
mod uses;
mod validate;
mod version;

use proc_macro::{Span, TokenStream};

/// Turns an `impl` block or, in the short form, a `fn` into a differentiable function.
///
/// The block has one function marked `#[forward]`, which computes the outputs, and functions marked
/// `#[backward]`, which return the gradients of its inputs, or one marked `#[adjoint]`, or one marked `#[residual]`, an
/// equation that the outputs solve; it may have one marked `#[jvp]` and one marked `#[vmap]`.
/// Everything else is in their signatures:
///
/// ```
/// use pullback::ndarray::{Array1, Array2, ArrayView1, ArrayView2, Axis, array};
/// use pullback::prelude::*;
///
/// /// y = x Wᵀ + b
/// pub struct LinearFunction;
///
/// #[custom_function]
/// impl LinearFunction {
///     #[forward]
///     pub fn forward(
///         input: ArrayView2<f32>,
///         weight: ArrayView2<f32>,
///         bias: Option<ArrayView1<f32>>,
///     ) -> Array2<f32> {
///         let output = input.dot(&weight.t());
///         match bias {
///             Some(bias) => output + bias,
///             None => output,
///         }
///     }
///
///     #[backward(input)]
///     fn grad_input(grad_output: ArrayView2<f32>, weight: ArrayView2<f32>) -> Array2<f32> {
///         grad_output.dot(&weight)
///     }
///
///     #[backward(weight)]
///     fn grad_weight(grad_output: ArrayView2<f32>, input: ArrayView2<f32>) -> Array2<f32> {
///         grad_output.t().dot(&input)
///     }
///
///     #[backward(bias)]
///     fn grad_bias(grad_output: ArrayView2<f32>) -> Array1<f32> {
///         grad_output.sum_axis(Axis(0))
///     }
/// }
///
/// let x = Tensor::from(array![[1.0, 2.0]]);
/// let weight = Tensor::from(array![[3.0, 4.0]]).set_requires_grad(true);
/// let y = LinearFunction::apply(&x, &weight, None); // tensors in, a tensor out
/// y.sum().backward()?;
/// assert_eq!(weight.grad(), Some(array![[1.0, 2.0]]));
/// # Ok::<(), pullback::Error>(())
/// ```
///
/// A mistake (a gradient that is missing, a name that does not exist, a wrong rank) is a compile error on
/// the token that is wrong.
///
/// # Inputs
///
/// | parameter of forward | meaning | parameter of `apply` |
/// |---|---|---|
/// | `ArrayView2<T>`, `ArrayView<T, D>`, `ArrayViewD<T>` | a tensor, read | `&Tensor2<T>`, … |
/// | `Array2<T>`, `Array<T, D>`, `ArrayD<T>` | a tensor, by value | `Tensor2<T>`, … |
/// | `&Tensor2<T>`, `&Tensor<T, D>`, `&TensorD<T>` | a tensor, as it is | `&Tensor2<T>`, … |
/// | any of these in an `Option` | an optional tensor | in an `Option` |
/// | `ArrayViewMut2<T>`, `ArrayViewMut<T, D>`, `ArrayViewMutD<T>` | a tensor, written to | `&mut Tensor2<T>`, … |
/// | `&[ArrayView1<T>]`, `&[&Tensor1<T>]`, … | a list of tensors | `&[&Tensor1<T>]`, `&[Tensor1<T>]`, `&Vec<Tensor1<T>>` |
/// | `needs_input_grad: LinearFunctionNeedsInputGrad` | which inputs need a gradient | none |
/// | anything else | a value | the same type |
///
/// The element type of a tensor is `f32`, `f64`, or a parameter of the block. An alias of a
/// tensor is refused, unless the parameter is marked `#[tensor]`. An alias of a view is then written with its
/// lifetime: `#[tensor] x: Matrix<'_>`. A tensor marked `#[non_differentiable]` has no gradient.
///
/// The gradient of a list is a `Vec`, with an array, or an `Option` of one, for each of its tensors; a
/// backward function asks for the list itself as `&[ArrayView1<T>]` or `&[&Tensor1<T>]`, a `#[jvp]` rule
/// for its tangents as `&[Option<ArrayView1<T>>]` or, with zeros for those that are missing, without the
/// `Option`. For a list, `needs_input_grad` has one `bool`: whether any of its gradients is needed.
///
/// In forward, `needs_input_grad` is for results that are computed only to be saved; where nothing is recorded, as
/// inside `no_grad`, all of its fields are `false`.
///
/// # Outputs
///
/// Forward returns one array or a tuple. Arrays of floats become tensors; any other value is returned
/// unchanged and has no gradient. `Result<…, E>` makes `apply` return `Result<…, E>`.
///
/// | forward returns | `apply` returns | backward asks for its gradient as |
/// |---|---|---|
/// | `Array1<T>`, `Tensor1<T>`, … | `Tensor1<T>` | `ArrayView1<T>`, zeros if it is undefined, or an `Option` of it |
/// | `Option<Array1<T>>` | `Option<Tensor1<T>>` | `Option<ArrayView1<T>>` |
/// | `Vec<Array1<T>>` | `Vec<Tensor1<T>>` | `&[ArrayView1<T>]` or `&[Option<ArrayView1<T>>]` |
///
/// ```
/// # use pullback::ndarray::{Array1, ArrayView1};
/// # use pullback::prelude::*;
/// # struct Positive;
/// # #[custom_function]
/// # impl Positive {
/// #[forward(outputs(y, mask), saves(count), non_differentiable(mask))]
/// fn forward(x: ArrayView1<f64>) -> (Array1<f64>, Array1<f64>, usize) {
///     let mask = x.mapv(|x| if x > 0.0 { 1.0 } else { 0.0 });
///     (&x * &mask, mask, x.len())
/// }
///
/// #[backward(x)]
/// fn backward(grad_y: ArrayView1<f64>, mask: ArrayView1<f64>, count: usize) -> Array1<f64> {
///     Array1::from_shape_fn(count, |i| grad_y[i] * mask[i])
/// }
/// # }
/// # let x = Tensor::from(Array1::ones(2));
/// let (y, mask) = Positive::apply(&x);
/// # assert_eq!(y.len(), mask.len());
/// ```
///
/// - `outputs(…)` names them; without it, a single one is `output`, several are `output_0`, `output_1`, ….
/// - `saves(…)` names what forward returns after its outputs for backward functions alone. It may be missing (`Option`)
///   or a list (`Vec`) too.
/// - `non_differentiable(…)` exempts float outputs.
///
/// A tensor that is written to is an output, and need not be returned: forward may return nothing. Its
/// gradient is `grad_output` if there is no other output, else `grad_x`; in backward functions `x` is the
/// value before forward and `output` the value after it, beside other outputs `output_x`. What is saved is
/// never overwritten: shared memory is copied first. A leaf that requires grad is refused outside
/// `no_grad`, before anything is written.
///
/// # Backward functions
///
/// `#[backward(weight)]` returns one gradient, `#[backward(input, weight)]` a tuple of them in that
/// order, and a plain `#[backward]` those of all inputs. Each differentiable input has one.
///
/// In place of a tuple, one function may return the generated struct, whose fields have the names of the inputs:
/// `LinearFunctionGradients { weight: …, input: … }`. Gradients of one type cannot change places then. A field is an
/// array, or a tensor if the function takes tensors; in a function that asks for `needs_input_grad`, and for an optional
/// input, it is an `Option` of one. The struct has those parameters of the block that the types of its fields have.
///
/// A backward function asks for its parameters by name, and only what is asked for is saved:
///
/// | name | value |
/// |---|---|
/// | `grad_output`, `grad_y` | the gradient of the output, of the output named `y` |
/// | an input, an output, a name from `saves(…)` | its value |
/// | `shape_x` | `&[usize]`, the shape of the input `x`, which is not saved for it; not of an optional input or a list |
/// | `l`, a name of an axis in `shapes(…)` | `usize`, its length (see [Shapes](#shapes)) |
/// | `needs_input_grad` | the generated struct with one `bool` for each differentiable input |
/// | `context` | `&LinearFunctionContext`, the generated struct of all that backward functions ask for by name |
///
/// Each field of the context is an `Option`. A function that asks for the context asks for all of it: there, only an
/// optional input may be missing. It needs a function that asks for something by name, and an input or output of the
/// name `context` hides it.
///
/// The type chooses the form:
///
/// | type | form |
/// |---|---|
/// | `ArrayView2<T>` | to read; a gradient that is undefined is zeros |
/// | `Array2<T>` | to own: the buffer of a gradient is reused |
/// | `&Tensor2<T>` | a tensor: what is computed with it can be differentiated again |
/// | `Tensor2<T>` | of a gradient: such a tensor to own, so that its buffer is reused |
/// | `Option<…>` of these | of a gradient: `None` if it is undefined; of an optional input: as in forward |
/// | `&[ArrayView2<T>]`, `&[&Tensor2<T>]` | a list, or the gradients of one |
/// | `&[Option<ArrayView2<T>>]`, `&[Option<&Tensor2<T>>]` | the gradients of a list, `None` where one is undefined |
/// | `V`, `&V`, `&[U]`, … | a value, copied or borrowed; of an `Array1<usize>`, `&Array1<usize>` |
///
/// A value that is asked for is saved: its type must be `Clone + Send + Sync + 'static`. Closures without borrows
/// have such types (write `F: Fn(f64) -> f64 + Clone + Send + Sync + 'static` on the block); a value that changes is put
/// into an `Arc<Mutex<…>>`.
///
/// A function whose backward functions are all written on `&Tensor` can be differentiated any number of
/// times, any other once. A backward function that asks for no gradient is marked:
/// `#[backward(x, ignores_grad)]`.
///
/// `#[backward(x, once)]` makes it once differentiable whatever it takes, tensors beside arrays too. Recording is off
/// in it, and its tensors have no history; `enable_grad` turns recording on for a function that runs autograd inside.
///
/// A backward function may return a `Result` of its gradients. Its error becomes the source of the error of the pass,
/// which names the function and leaves everything as it was.
///
/// # Forward mode
///
/// A function marked `#[jvp]` computes the derivative along a direction, for `jvp` of the library. It asks by
/// name for inputs, values, outputs and `tangent_<input>`, the direction of each differentiable input, and
/// returns a tangent for each differentiable output:
///
/// ```
/// # use pullback::ndarray::{Array1, ArrayView1, array};
/// # use pullback::prelude::*;
/// # struct Product;
/// # #[custom_function]
/// # impl Product {
/// #     #[forward]
/// #     fn forward(x: ArrayView1<f64>, y: Option<ArrayView1<f64>>) -> Array1<f64> {
/// #         y.map_or_else(|| x.to_owned(), |y| &x * &y)
/// #     }
/// #     #[backward(x)]
/// #     fn grad_x(grad_output: ArrayView1<f64>, y: Option<ArrayView1<f64>>) -> Array1<f64> {
/// #         y.map_or_else(|| grad_output.to_owned(), |y| &grad_output * &y)
/// #     }
/// #     #[backward(y)]
/// #     fn grad_y(grad_output: ArrayView1<f64>, x: ArrayView1<f64>) -> Array1<f64> {
/// #         &grad_output * &x
/// #     }
/// #[jvp]
/// fn jvp(
///     x: ArrayView1<f64>,
///     y: Option<ArrayView1<f64>>,
///     tangent_x: ArrayView1<f64>,         // zeros if there is none
///     tangent_y: Option<ArrayView1<f64>>, // `None` if there is none
/// ) -> Array1<f64> {
///     let along_x = y.map_or_else(|| tangent_x.to_owned(), |y| &tangent_x * &y);
///     tangent_y.map_or_else(|| along_x.clone(), |tangent_y| &along_x + &x * &tangent_y)
/// }
/// # }
/// # let (x, one) = (Tensor::from(array![2.0]), Tensor::from(array![1.0]));
/// let (_, along) = pullback::jvp(|(x,)| Product::apply(x, Some(x)), (&x,), (&one,))?;
/// assert_eq!(along.to_array(), array![4.0]);
/// # Ok::<(), pullback::Error>(())
/// ```
///
/// On arrays it gives first derivatives; on `&Tensor` what it computes can be differentiated again, by
/// forward mode and backward. It may return a `Result`, whose error becomes the source of that of forward mode. Without
/// it, forward mode through the function is an error.
///
/// # Shapes
///
/// `#[custom_function(shapes(…))]` names the axes of tensors:
///
/// ```
/// # use pullback::ndarray::{Array1, ArrayView1, s};
/// # use pullback::prelude::*;
/// # struct Windows;
/// /// The sums of windows of `k` elements, every `stride`.
/// #[custom_function(shapes(x = [l], output = [(l - k) / stride + 1]), gradcheck(l = 7, k = 3, stride = 2))]
/// impl Windows {
///     #[forward]
///     fn forward(x: ArrayView1<f64>, k: usize, stride: usize) -> Array1<f64> {
///         x.windows(k).into_iter().step_by(stride).map(|window| window.sum()).collect()
///     }
///
///     #[backward(x)]
///     fn backward(grad_output: ArrayView1<f64>, l: usize, k: usize, stride: usize) -> Array1<f64> {
///         let mut grad = Array1::zeros(l);
///         for (place, grad_output) in grad_output.iter().enumerate() {
///             let mut window = grad.slice_mut(s![place * stride..place * stride + k]);
///             window += *grad_output;
///         }
///         grad
///     }
/// }
///
/// assert_eq!(Windows::output_shape([7], 3, 2)?, [3]);
/// let error = Windows::output_shape([1], 4, 2).unwrap_err();
/// assert!(error.message().contains("`(l - k) / stride + 1` = -1, with `l` = 1, `k` = 4, `stride` = 2"));
/// # Ok::<(), pullback::Error>(())
/// ```
///
/// | in the shape of an input | meaning |
/// |---|---|
/// | a name, `n` | the length of an axis, the same wherever the name is |
/// | a number; a constant, `N` | this length |
/// | an expression of axes and values, `i / groups` | the length that it has; it binds no axis |
/// | `_` | any length |
/// | `..`, first | the leading axes of any rank, the same wherever they are |
/// | `[[o, i]]` | the shape of each tensor of a list |
///
/// Each output has a shape too, of axes, numbers and expressions, or that of an input, `output = x`; saved
/// intermediates may have one. Expressions have `+`, `-`, `*`, `/` and `%`, which round down, and nothing overflows
/// unseen: a length below 0 is an error that shows the expression with its numbers. Methods, fields and functions may
/// compute a length: `angles.len()`, `beam.bins`, `n.next_power_of_two()`, `half(n)`. A function that returns a list of
/// tensors of different shapes has no `shapes(…)`.
///
/// `apply` compares the inputs before forward runs, and panics at the caller's line with the names of the axis and of
/// both tensors; it compares what forward returns too. Backward functions and the `#[jvp]` rule ask for an axis as for a
/// value, `l: usize`, which is saved in place of the tensor. `gradcheck(…)` takes lengths of axes in place of shapes; axes
/// that are not given get small lengths that differ. `output_shape` takes the parameters of `apply` with shapes for
/// tensors (`&[usize]` where the rank is not fixed), and returns the shapes of the outputs.
///
/// # Linear functions
///
/// A function that is linear in its differentiable inputs has an adjoint in place of backward functions. The derivative
/// of the adjoint is forward, so the function can be differentiated any number of times, in both modes:
///
/// ```
/// # use pullback::ndarray::{Array2, ArrayView2, array, s};
/// # use pullback::prelude::*;
/// # struct BlockSums;
/// /// The sums of blocks of `factor` columns.
/// #[custom_function(shapes(x = [n, l], output = [n, l / factor]), gradcheck(n = 2, l = 7, factor = 3))]
/// impl BlockSums {
///     #[forward]
///     fn forward(x: ArrayView2<f64>, factor: usize) -> Array2<f64> {
///         Array2::from_shape_fn((x.nrows(), x.ncols() / factor), |(i, j)| {
///             x.slice(s![i, j * factor..(j + 1) * factor]).sum()
///         })
///     }
///
///     #[adjoint(x)]
///     fn adjoint(grad_output: ArrayView2<f64>, factor: usize, l: usize) -> Array2<f64> {
///         Array2::from_shape_fn((grad_output.nrows(), l), |(i, j)| {
///             grad_output.get((i, j / factor)).copied().unwrap_or(0.0)
///         })
///     }
/// }
///
/// let x = Tensor::from(array![[1.0, 2.0, 3.0]]).set_requires_grad(true);
/// let y = BlockSums::apply(&x, 3);
/// let gradient = Grad::of(&(&y * &y).sum()).create_graph(true).run(&x)?;
/// assert_eq!(gradient.to_array(), array![[12.0, 12.0, 12.0]]);
/// assert_eq!(grad(&gradient.sum(), &x)?.to_array(), array![[6.0, 6.0, 6.0]]);
/// # Ok::<(), pullback::Error>(())
/// ```
///
/// One adjoint gives the gradients of all differentiable inputs, `#[adjoint(x, y)]` in a tuple. It may ask for the
/// gradients of the outputs, for values, axes and `#[non_differentiable]` inputs; not for what forward is linear in, nor
/// for what it returns. In the short form it is an expression, `adjoint(x) = …`. The test that `gradcheck(…)` generates
/// compares ⟨A x, y⟩ with ⟨x, Aᵀ y⟩, and forward of a sum with the sum of forward, to rounding, 10⁻¹² in `f64`.
///
/// # Residuals
///
/// A function marked `#[residual]`, in place of backward functions, returns what the outputs make zero, however forward
/// finds them. Gradients of every order and forward mode follow by the implicit function theorem:
///
/// ```
/// use pullback::ndarray::{Array1, ArrayView1, array};
/// use pullback::prelude::*;
///
/// pub struct Root;
///
/// #[custom_function(gradcheck(a = [5] in 0.5..3.0))]
/// impl Root {
///     /// The x with x³ + x = a, by Newton's method.
///     #[forward]
///     pub fn forward(a: ArrayView1<f64>) -> Array1<f64> {
///         a.mapv(|a| (0..60).fold(a, |x, _| x - (x * x * x + x - a) / (3.0 * x * x + 1.0)))
///     }
///
///     #[residual]
///     fn residual(output: &Tensor1<f64>, a: &Tensor1<f64>) -> Tensor1<f64> {
///         output.powi(3) + output - a
///     }
/// }
///
/// let a = Tensor::from(array![2.0]).set_requires_grad(true);
/// let first = Grad::of(&Root::apply(&a).sum()).create_graph(true).run(&a)?;
/// let second = grad(&first.sum(), &a)?;
/// assert!((first.item() - 1.0 / 4.0).abs() < 1e-14); // 1 / (3x² + 1)
/// assert!((second.item() + 6.0 / 64.0).abs() < 1e-14); // −6x / (3x² + 1)³
/// # Ok::<(), pullback::Error>(())
/// ```
///
/// It asks by name for outputs, inputs, values and axes, tensors as `&Tensor…`, and returns a tensor of the shape of
/// each differentiable output, several in a tuple, or a `Result` of them. It asks for every differentiable output and
/// input; these have one element type. An intermediate (`saves(…)`) that is an array of floats and that it asks for is one
/// more unknown, with one more equation: so a quadratic program saves its multipliers. The residual may run autograd, with
/// `create_graph`: the equation of a minimum is the gradient of its energy.
///
/// - Up to 256 unknowns, or as many as `#[residual(dense = 512)]` gives, the derivative of the residual by the unknowns is
///   computed row by row and factored, once for each `apply`: all passes, all orders and forward mode use the factors. An
///   error names the function, the condition of the equations and an unknown that they do not determine, if they are
///   singular or nearly so. Rows and columns are scaled before, so that units do not count, and the condition may be up to
///   1/(n ε).
/// - For more unknowns only products with the derivative are computed, by passes and in forward mode: GMRES, restarted
///   after 60 products, or after more where that is too slow. It stops where ‖r‖ ≤ 16 ε (‖J‖‖x‖ + ‖b‖), as exact as a
///   product. If rounding in the residual is larger and r stops shrinking, ε^⅔ in place of 16 ε is accepted. Singular
///   equations are not noticed for a gradient for which they have a solution.
/// - Where that would take more products than there are unknowns, the derivative is factored after all, for up to 4096
///   unknowns; beyond, it is an error with the number of products and what remains, and `dense` is the remedy.
/// - The generated test also finds outputs that are no solutions: where a step of Newton's method would change them by more
///   than the cube root of the precision.
///
/// # Batches
///
/// `functional::vmap` of the library maps any function over the examples of a batch. A function marked `#[vmap]`
/// computes the whole batch at once, where that is less work. It takes the parameters of `apply`, in that order, each
/// tensor by reference: of its rank where all examples share it, of one more where each has its own, along the first
/// axis. It returns the outputs with one more axis. It is called by its name, and the test that `gradcheck(…)`
/// generates compares it with `apply` on each example:
///
/// ```
/// # use pullback::ndarray::{Array0, Array1, ArrayView0, ArrayView1, Axis, arr0, array};
/// # use pullback::prelude::*;
/// # struct Dot;
/// # #[custom_function(gradcheck(x = [3], w = [3]))]
/// # impl Dot {
/// #     #[forward]
/// #     fn forward(x: ArrayView1<f64>, w: ArrayView1<f64>) -> Array0<f64> {
/// #         arr0(x.dot(&w))
/// #     }
/// #     #[backward]
/// #     fn backward(
/// #         grad_output: ArrayView0<f64>,
/// #         x: ArrayView1<f64>,
/// #         w: ArrayView1<f64>,
/// #     ) -> (Array1<f64>, Array1<f64>) {
/// #         (&w * grad_output[()], &x * grad_output[()])
/// #     }
/// #[vmap]
/// fn vmap(x: &Tensor2<f64>, w: &Tensor1<f64>) -> Tensor1<f64> {
///     (x * w).sum_axis(Axis(1)) // forward is the dot product of `x` and `w`
/// }
/// # }
/// # let (x, w) = (Tensor::from(array![[1.0, 2.0], [3.0, 4.0]]), Tensor::from(array![1.0, 1.0]));
/// assert_eq!(Dot::vmap(&x, &w).to_array(), array![3.0, 7.0]);
/// ```
///
/// Inputs and outputs are single tensors of fixed ranks, or optional inputs.
///
/// `#[custom_function(batch(q, k, v))]` generates `apply_batch` beside `apply` (for the short form, as a function of the
/// type: `Linear::apply_batch`). The tensors that it names, and the tensors that it returns, have a first axis more,
/// for the examples; the examples share all other inputs. Forward and backward run once for each example, on all
/// threads. Gradients of shared tensors are added in the order of the examples, so that all results have the same bits
/// on any number of threads. It is differentiable as often as `apply`, also in forward mode.
///
/// ```
/// # use pullback::ndarray::{Array1, Array2, ArrayView1, Axis, array};
/// # use pullback::prelude::*;
/// #[custom_function(
///     batch(x),
///     grad(x) = &grad_output * &w,
///     grad(w) = &grad_output * &x,
/// )]
/// fn scale(x: ArrayView1<f64>, w: ArrayView1<f64>) -> Array1<f64> {
///     &x * &w
/// }
///
/// let x = Tensor::from(array![[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]]);
/// let w = Tensor::from(array![10.0, 100.0]).set_requires_grad(true);
/// let y: Tensor2<f64> = Scale::apply_batch(&x, &w);
/// y.sum().backward()?;
/// assert_eq!(w.grad(), Some(array![9.0, 12.0]));
/// # Ok::<(), pullback::Error>(())
/// ```
///
/// An output that is not a tensor is returned as a `Vec`, and the error of a forward that fails as an `ExampleError`,
/// with the position of the first example that has one. Panics, and errors of backward passes, have the position too.
/// Values must be `Clone + Sync`. A batch of length 0 has outputs of length 0, whose other lengths are those of the
/// outputs of an example of zeros: forward runs once on it. Forward may not write to its inputs, and its outputs may be
/// lists of one length, but not missing.
///
/// # Elementwise functions
///
/// `elementwise` on a function that is generic over `Real` makes it a formula for each element, and generates its
/// gradients, to second order and in forward mode, each as one loop. Parameters of the type parameter are tensors, all
/// others values; `grad(x) = …` replaces a derivative, `elementwise(order = 3)` adds the third order. A parameter or a
/// result `[T; N]` is a row of numbers, along a last axis of that length. A formula, also of pairs and of a scan, takes up
/// to 12 tensors and returns up to 12, of up to 96 numbers, where a row counts by its length.
///
/// A value that is marked `#[each]` has an entry for each element: `#[each] label: &[i64]` is a slice for callers, of as
/// many entries as there are elements of an output, in row-major order, and one `i64` in the formula. In
/// `grad(x, once) = …` the numbers are `f64`, and the function can be differentiated once.
///
/// ```
/// # use pullback::ndarray::array;
/// # use pullback::prelude::*;
/// /// y = x / √(1 + (x/limit)²)
/// #[custom_function(elementwise, gradcheck(x = [2, 3], limit = [2, 1]))]
/// pub fn squash<T: Real>(x: T, limit: T) -> T {
///     x / (1.0 + (x / limit).powi(2)).sqrt()
/// }
///
/// /// The logarithm of the probability of a label.
/// #[custom_function(elementwise, gradcheck(x = [3], label = &[0, 1, 1]))]
/// pub fn log_probability<T: Real>(x: T, #[each] label: &[u8]) -> T {
///     if label == 1 { -(-x).softplus() } else { -x.softplus() }
/// }
///
/// /// The distance of each row from a plane.
/// #[custom_function(elementwise, gradcheck(p = [4, 3], normal = [1, 3], offset = [4]))]
/// pub fn distance<T: Real>(p: [T; 3], normal: [T; 3], offset: T) -> T {
///     p[0] * normal[0] + p[1] * normal[1] + p[2] * normal[2] - offset
/// }
///
/// let x = Tensor::from(array![[3.0]]).set_requires_grad(true);
/// squash(&x, &Tensor::from(array![[4.0]])).sum().backward()?;
/// assert_eq!(x.grad(), Some(array![[0.512]])); // (1 + (x/limit)²)^(-3/2)
///
/// let even = log_probability(&Tensor::from(array![0.0, 0.0]), &[0, 1]);
/// assert_eq!(even.to_array(), array![0.5_f64.ln(), 0.5_f64.ln()]);
///
/// let p = Tensor::from(array![[1.0, 0.0, 5.0], [0.0, 1.0, 6.0]]);
/// let (normal, offset) = (Tensor::from(array![[0.0, 0.0, 1.0]]), Tensor::from(array![2.0, 2.0]));
/// assert_eq!(distance(&p, &normal, &offset).to_array(), array![3.0, 4.0]);
/// # Ok::<(), pullback::Error>(())
/// ```
///
/// # Rows and columns
///
/// `pairs` in place of `elementwise` computes the formula for each row with each column, and sums over the columns, without
/// all pairs in memory. Tensors are marked `#[row]` or `#[column]`; one that is not is a number, or a row of numbers, for
/// all. `pairs(reduce = max)`, `min` and `log_sum_exp` reduce in other ways; `pairs(order = 3)` adds the third order.
///
/// ```
/// # use pullback::ndarray::array;
/// # use pullback::prelude::*;
/// /// The potential of charges at the places y, at the places x.
/// #[custom_function(pairs, gradcheck(x = [4, 3], y = [5, 3], charge = [5]))]
/// pub fn potential<T: Real>(#[row] x: [T; 3], #[column] y: [T; 3], #[column] charge: T) -> T {
///     let square = |k: usize| (x[k] - y[k]) * (x[k] - y[k]);
///     charge / (square(0) + square(1) + square(2) + 1e-3).sqrt()
/// }
///
/// let x = Tensor::from(array![[0.0, 0.0, 0.0]]);
/// let y = Tensor::from(array![[2.0, 0.0, 0.0], [0.0, 4.0, 0.0]]);
/// let charge = Tensor::from(array![1.0, -1.0]).set_requires_grad(true);
/// let sums: Tensor1<f64> = potential(&x, &y, &charge);
/// assert!((sums.view()[0] - (1.0 / 2.0 - 1.0 / 4.0)).abs() < 1e-3);
/// sums.sum().backward()?;
/// assert!(charge.grad().is_some_and(|grad| (grad[1] - 1.0 / 4.0).abs() < 1e-3));
/// # Ok::<(), pullback::Error>(())
/// ```
///
/// # Scans
///
/// `scan` on such a formula makes it one step of a recurrence. `#[state]` parameters are passed from step to step,
/// `#[step]` parameters have a first axis of steps, all others are the same in each step. The formula returns the new
/// states first, then the outputs of the step; the function returns the last states, and outputs with the axis of steps.
/// An axis of steps of length 1 is broadcast: such a `#[step]` is the same in each step too.
/// `scan(reverse)` runs from the last step. Rows of a length that only the tensors have are slices: `#[step] x: &[T]`, and
/// `#[state] h: &mut [T]`, which the step writes and does not return.
///
/// ```
/// # use pullback::ndarray::array;
/// # use pullback::prelude::*;
/// /// A leaky integrator and its rate at each step.
/// #[custom_function(scan, outputs(last, rate), gradcheck(v = [3], x = [20, 3], tau = [3] in 0.5..0.9))]
/// pub fn leaky<T: Real>(#[state] v: T, #[step] x: T, tau: T) -> (T, T) {
///     let v = tau * v + x;
///     (v, v.sigmoid())
/// }
///
/// let (v, tau) = (Tensor::from(array![0.0]), Tensor::from(array![0.5]));
/// let x = Tensor::from(array![[1.0], [1.0]]).set_requires_grad(true); // two steps of one neuron
/// let (last, rate): (Tensor1<f64>, Tensor2<f64>) = leaky(&v, &x, &tau);
/// assert_eq!((last.to_array(), rate.shape()), (array![1.5], &[2, 1][..]));
/// last.sum().backward()?;
/// assert_eq!(x.grad(), Some(array![[0.5], [1.0]]));
/// # Ok::<(), pullback::Error>(())
/// ```
///
/// # The short form
///
/// If the gradients are expressions, the attribute can mark a free function and give one expression for
/// the gradient of each input:
///
/// ```
/// # use pullback::ndarray::{Array1, Array2, ArrayView1, ArrayView2, Axis, array};
/// # use pullback::prelude::*;
/// /// y = x Wᵀ + b
/// #[custom_function(
///     grad(input) = grad_output.dot(&weight),
///     grad(weight) = grad_output.t().dot(&input),
///     grad(bias) = grad_output.sum_axis(Axis(0)),
/// )]
/// pub fn linear(
///     input: ArrayView2<f32>,
///     weight: ArrayView2<f32>,
///     bias: Option<ArrayView1<f32>>,
/// ) -> Array2<f32> {
///     let output = input.dot(&weight.t());
///     match bias {
///         Some(bias) => output + bias,
///         None => output,
///     }
/// }
///
/// # let (x, weight) = (Tensor::from(array![[1.0, 2.0]]), Tensor::from(array![[3.0, 4.0]]));
/// let y = linear(&x, &weight, None); // the function itself is differentiable
/// # assert_eq!(y.to_array(), array![[11.0]]);
/// ```
///
/// - An expression uses the names that a backward function asks for, and only what it uses is saved for
///   it. Tensors are array views and values references, `&grad_output * *factor`; axes of `shapes(…)` are `usize`. An
///   optional input is plain in its own gradient, and an `Option` in others.
/// - `higher_order` makes all tensors `&Tensor`, so that the gradients can be differentiated again.
/// - `outputs(…)`, `saves(…)` and `non_differentiable(…)` mean the same as in `#[forward(…)]`.
/// - `grad(x, y) = …` is a tuple of two gradients; `grad(x, ignores_grad) = …` ignores the incoming
///   gradient, and `grad(x, once) = …` is once differentiable with `higher_order` too.
/// - The type behind it has the function's name in `CamelCase`: `Linear::forward` is the function on
///   arrays, `Linear::SIGNATURE` its description.
///
/// # Arguments
///
/// | argument | meaning | section |
/// |---|---|---|
/// | `name = "linear"` | the name that graphs and errors show | |
/// | `crate = path` | the path of the library, if it is no dependency of the crate: `crate = tools::pullback` | |
/// | `gradcheck(input = [3, 4], constant = 2.5)` | generates a test | [The generated test](#the-generated-test) |
/// | `batch(input)` | generates `apply_batch` | [Batches](#batches) |
/// | `shapes(input = [n, i], output = [n])` | names axes | [Shapes](#shapes) |
///
/// On a free function, also:
///
/// | argument | meaning | section |
/// |---|---|---|
/// | `grad(x) = …`, `grad(x, once) = …`, `grad(x, ignores_grad) = …` | a gradient | [The short form](#the-short-form) |
/// | `higher_order` | gradients can be differentiated again | [The short form](#the-short-form) |
/// | `adjoint(x) = …` | the adjoint of a linear function | [Linear functions](#linear-functions) |
/// | `outputs(…)`, `saves(…)`, `non_differentiable(…)` | as in `#[forward(…)]` | [Outputs](#outputs) |
/// | `elementwise`, `elementwise(order = 3)` | a formula for each element | [Elementwise functions](#elementwise-functions) |
/// | `pairs`, `pairs(reduce = max, order = 3)` | a formula for each row with each column | [Rows and columns](#rows-and-columns) |
/// | `scan`, `scan(reverse)` | a formula for each step | [Scans](#scans) |
///
/// # The generated test
///
/// `gradcheck(…)` gives a shape for each tensor, a list of shapes (`parts = [[3], [2]]`) for each list and an
/// expression of its very type for each value. In place of a shape, an expression may make the array:
/// `m = positive_definite(4)`, with a function of yours that the test sees. `eps`, `atol` and `rtol` set the
/// tolerances of `Gradcheck`, unless an input has their name. The generated `#[test]`, `linear_function_gradcheck`,
/// checks the function against finite differences, and does all checks of `Gradcheck::thorough`: with all inputs,
/// once without each optional one, with each as the only one that requires grad, in forward mode if there is a rule for
/// it, and to second order where the function can be differentiated again. The numbers are between 0.5 and 1.5, and of
/// both signs where the function is defined there; or in a range, and of both signs within it: `x = [3, 4] in -0.9..0.9`.
/// They are the same in each run, and those of one input do not depend on those of another. Element types that are
/// parameters become `f64`, ranks follow from the shapes; a rank that only an output has is given as `E = Ix2`.
///
/// - Several `gradcheck(…)` are a test each: `linear_function_gradcheck`, `linear_function_gradcheck_2`, ….
/// - `norm = each [Norm::Sum, Norm::Squares]` checks every variant of a value; with several such values, every
///   combination.
/// - `together(gain, shift)` names optional inputs that are given or missing together.
/// - `estimated(x)` declares that the gradient of `x` is not the derivative, as in straight-through estimators: it is not
///   compared with differences, but all else is checked.
///
/// # Generated
///
/// - `apply`, and the trait `Function`; `apply_batch` and `output_shape`, if asked for.
/// - The structs `LinearFunctionContext` and `LinearFunctionNeedsInputGrad`, where a backward function asks for them, and
///   `LinearFunctionGradients`, where one returns it.
/// - The test, if asked for.
/// - An entry in the library's `catalogue()`, with the documentation above `#[forward]`, else above the item
///   (put the formula first).
///
/// Forward and the backward functions stay ordinary functions, to be called and tested directly.
#[proc_macro_attribute]
pub fn custom_function(args: TokenStream, item: TokenStream) -> TokenStream {
    expanded(args, item, &compiler::library())
}

/// [`custom_function`], for crates that depend on `autograd-core` alone.
#[proc_macro_attribute]
pub fn custom_function_in_core(args: TokenStream, item: TokenStream) -> TokenStream {
    expanded(args, item, "autograd_core")
}

fn expanded(args: TokenStream, item: TokenStream, default_crate: &str) -> TokenStream {
    let (attribute, item) = (Span::call_site(), item.into());
    let at = (attribute.line(), attribute.column());
    let place = attribute
        .local_file()
        .map(|file| place::of(&item, &file, at));
    stages::custom_function(args.into(), item, &place.unwrap_or_default(), default_crate).into()
}

/// Marks the forward function in a block that [`custom_function`] reads; elsewhere an error.
#[doc(hidden)]
#[proc_macro_attribute]
pub fn forward(_: TokenStream, item: TokenStream) -> TokenStream {
    alone::forward(item.into()).into()
}

/// Marks a backward function in a block that [`custom_function`] reads.
#[doc(hidden)]
#[proc_macro_attribute]
pub fn backward(_: TokenStream, item: TokenStream) -> TokenStream {
    alone::other(item.into()).into()
}

/// Marks the adjoint of a linear function in a block that [`custom_function`] reads.
#[doc(hidden)]
#[proc_macro_attribute]
pub fn adjoint(_: TokenStream, item: TokenStream) -> TokenStream {
    alone::other(item.into()).into()
}

/// Marks the rule for forward mode in a block that [`custom_function`] reads.
#[doc(hidden)]
#[proc_macro_attribute]
pub fn jvp(_: TokenStream, item: TokenStream) -> TokenStream {
    alone::other(item.into()).into()
}

/// Marks the equation of the outputs in a block that [`custom_function`] reads.
#[doc(hidden)]
#[proc_macro_attribute]
pub fn residual(_: TokenStream, item: TokenStream) -> TokenStream {
    alone::other(item.into()).into()
}

/// Marks the function on a batch in a block that [`custom_function`] reads.
#[doc(hidden)]
#[proc_macro_attribute]
pub fn vmap(_: TokenStream, item: TokenStream) -> TokenStream {
    alone::other(item.into()).into()
}

#[cfg(feature = "module")]
#[doc = include_str!("module/derive.md")]
#[proc_macro_derive(Module, attributes(module))]
pub fn module(item: TokenStream) -> TokenStream {
    module::derive(item.into()).into()
}

/// Expands to nothing in a crate of the macros' version, and to an error in another.
#[doc(hidden)]
#[proc_macro]
pub fn same_version(_: TokenStream) -> TokenStream {
    let runtime = std::env::var("CARGO_PKG_VERSION").unwrap_or_default();
    version::agree(&runtime).into()
}
