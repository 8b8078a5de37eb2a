//! Functions of one number that save their input, a row each: a sentence, the formula, its derivative on tensors and
//! the numbers that the test checks.
//!
//! The loops come from the formula: that of the gradient multiplies by the derivative of the formula, which dual numbers
//! compute. They are compiled here, for both element types. A gradient that is recorded is the product of the incoming
//! one and `slope`, which are functions of tensors: so these functions can be differentiated any number of times.
//!
//! Functions that save their output, whose derivative is shorter in it, are written by hand: see `exp.rs`. Of these, tan x
//! has its values from here.

use std::f64::consts::FRAC_2_SQRT_PI;
use std::marker::PhantomData;

use ndarray::{Array, ArrayView, Dimension};

use super::{Tan, Where, constant, zeros};
use crate::kernels::{
    Elements, Formula, GELU_TANH, GELU_TANH_BOUND, Literal, Place, Unary, UnaryLoops, unary,
};
use crate::{Element, Real, custom_function, tensor::Tensor};

/// The formula of the function `F`, with the values that its forward takes.
struct Row<F, const N: usize>([f64; N], PhantomData<F>);

impl<F, const N: usize> Copy for Row<F, N> {}

impl<F, const N: usize> Clone for Row<F, N> {
    fn clone(&self) -> Self {
        *self
    }
}

/// Returns the gradient of a function: in one loop or, if it is recorded, as the product with the slope.
#[track_caller]
fn backward<T: Element, D: Dimension>(
    function: &impl Unary,
    grad_output: Tensor<T, D>,
    x: &Tensor<T, D>,
    slope: impl FnOnce(&Tensor<T, D>) -> Tensor<T, D>,
) -> Tensor<T, D> {
    grad_output
        .fused(
            x,
            |gradients, x| unary::multiply(function, gradients, x),
            |gradients, x| unary::products(function, gradients, x),
        )
        .unwrap_or_else(|grad_output| grad_output * slope(x))
}

macro_rules! count {
    () => {
        0
    };
    ($one:ident) => {
        1
    };
}

/// Writes the loops of a formula, `Row<Name<(), ()>, _>`, for both element types.
macro_rules! loops {
    ($Name:ident($x:ident $(, $value:ident)*) = $formula:expr $(, $angle:ident)?) => {
        impl Formula<1, 1> for Row<$Name<(), ()>, { count!($($value)*) }> {
            type Entries = ();
            const OF_ANGLE: bool = count!($($angle)?) == 1;

            fn entries(&self, _: Elements) {}

            #[inline(always)]
            fn at<R: Real>(&self, (): &(), _: Place, [$x]: [R; 1]) -> [R; 1]
            where
                f64: Literal<R>,
            {
                let [$($value),*] = self.0;
                [$formula]
            }
        }

        impl Unary for Row<$Name<(), ()>, { count!($($value)*) }> {
            #[inline(never)]
            fn single(&self) -> &dyn UnaryLoops<f32> {
                self
            }

            #[inline(never)]
            fn double(&self) -> &dyn UnaryLoops<f64> {
                self
            }
        }
    };
}

/// Writes a function of one number:
///
/// ```text
/// /// The sentence, which is also that of the method, and an example.
/// Name::method(x, values) = formula, slope: derivative;
/// math(…), check(…);
/// ```
///
/// With `, angle` after the derivative, formula and derivative have a sine or a cosine of x: see `Formula::OF_ANGLE`.
///
/// In the formula, x is a number and the values are `f64`; in the derivative, x is a tensor and the values are elements.
macro_rules! elementary {
    (
        #[doc = $sentence:literal]
        $(#[doc = $docs:literal])*
        $Name:ident::$method:ident($x:ident $(, $value:ident)*) = $formula:expr, slope: $slope:expr $(, $angle:ident)?;
        $(math($($math:literal)+),)? check($($check:tt)*);
    ) => {
        #[doc = $sentence]
        $(#[doc = $docs])*
        #[derive(Debug)]
        pub struct $Name<T, D>(PhantomData<(T, D)>);

        loops! { $Name($x $(, $value)*) = $formula $(, $angle)? }

        #[custom_function(gradcheck($($check)*))]
        impl<T: Element, D: Dimension> $Name<T, D> {
            #[doc = concat!("Returns", $sentence)]
            $(#[doc = crate::math!($($math)+)])?
            #[forward]
            pub fn forward($x: ArrayView<T, D> $(, $value: T)*) -> Array<T, D> {
                let row = Row::<$Name<(), ()>, _>([$($value.as_f64()),*], PhantomData);
                unary::values(&row, &$x)
            }

            #[backward($x)]
            fn backward(grad_output: Tensor<T, D>, $x: &Tensor<T, D> $(, $value: T)*) -> Tensor<T, D> {
                let row = Row::<$Name<(), ()>, _>([$($value.as_f64()),*], PhantomData);
                backward(&row, grad_output, $x, |$x| $slope)
            }

            #[jvp]
            fn jvp(tangent_x: &Tensor<T, D>, $x: &Tensor<T, D> $(, $value: T)*) -> Tensor<T, D> {
                Self::backward(tangent_x.clone(), $x $(, $value)*)
            }
        }

        impl<T: Element, D: Dimension> Tensor<T, D> {
            #[doc = concat!("Returns", $sentence)]
            #[doc = ""]
            #[doc = concat!("[`", stringify!($Name), "`](crate::ops::", stringify!($Name), ") has an example.")]
            #[must_use]
            #[track_caller]
            pub fn $method(&self $(, $value: T)*) -> Self {
                $Name::apply(self $(, $value)*)
            }
        }
    };
}

elementary! {
    /// |x| of each element, with the derivative 0 at 0.
    ///
    /// ```
    /// use pullback::{Tensor, ndarray::array, ops::Abs};
    ///
    /// let x = Tensor::from(array![2.0, -3.0, 0.0]).set_requires_grad(true);
    /// Abs::apply(&x).sum().backward()?;
    /// assert_eq!(x.grad(), Some(array![1.0, -1.0, 0.0]));
    /// # Ok::<(), pullback::Error>(())
    /// ```
    Abs::abs(x) = x.abs(), slope: constant(x, |x| if x == T::zero() { x } else { x.signum() });
    check(x = [2, 3]);
}

elementary! {
    /// arccos x of each element; NaN outside of −1 to 1.
    ///
    /// ```
    /// use pullback::{Tensor, ndarray::array, ops::Acos};
    ///
    /// let x = Tensor::from(array![0.0, 0.6]).set_requires_grad(true);
    /// Acos::apply(&x).sum().backward()?;
    /// assert_eq!(x.grad(), Some(array![-1.0, -1.25]));
    /// # Ok::<(), pullback::Error>(())
    /// ```
    Acos::acos(x) = x.acos(), slope: -within_one(x).rsqrt();
    math(r"\frac{\mathrm{d}}{\mathrm{d}x} \arccos x = -\frac{1}{\sqrt{1 - x^2}}"), check(x = [2, 3] in -0.9..0.9);
}

elementary! {
    /// arcosh x of each element; NaN below 1.
    ///
    /// ```
    /// use pullback::{Tensor, ndarray::array, ops::Acosh};
    ///
    /// let x = Tensor::from(array![1.25]).set_requires_grad(true);
    /// Acosh::apply(&x).sum().backward()?; // 1/√(x² − 1)
    /// assert!((x.grad().unwrap()[0] - 1.0 / 0.75_f64).abs() < 1e-15);
    /// # Ok::<(), pullback::Error>(())
    /// ```
    Acosh::acosh(x) = x.acosh(), slope: (x - T::one()).rsqrt() * (x + T::one()).rsqrt();
    math(r"\frac{\mathrm{d}}{\mathrm{d}x} \operatorname{arcosh} x = \frac{1}{\sqrt{x^2 - 1}}"),
    check(x = [2, 3] in 1.2..3.0);
}

elementary! {
    /// arcsin x of each element; NaN outside of −1 to 1.
    ///
    /// ```
    /// use pullback::{Tensor, ndarray::array, ops::Asin};
    ///
    /// let x = Tensor::from(array![0.0, 0.6]).set_requires_grad(true);
    /// Asin::apply(&x).sum().backward()?; // 1/√(1 − x²)
    /// assert_eq!(x.grad(), Some(array![1.0, 1.25]));
    /// # Ok::<(), pullback::Error>(())
    /// ```
    Asin::asin(x) = x.asin(), slope: within_one(x).rsqrt();
    math(r"\frac{\mathrm{d}}{\mathrm{d}x} \arcsin x = \frac{1}{\sqrt{1 - x^2}}"), check(x = [2, 3] in -0.9..0.9);
}

elementary! {
    /// arsinh x of each element.
    ///
    /// ```
    /// use pullback::{Tensor, ndarray::array, ops::Asinh};
    ///
    /// let x = Tensor::from(array![0.75]).set_requires_grad(true);
    /// Asinh::apply(&x).sum().backward()?; // 1/√(x² + 1)
    /// assert_eq!(x.grad(), Some(array![0.8]));
    /// # Ok::<(), pullback::Error>(())
    /// ```
    Asinh::asinh(x) = x.asinh(), slope: (square_of(x) + T::one()).rsqrt();
    math(r"\frac{\mathrm{d}}{\mathrm{d}x} \operatorname{arsinh} x = \frac{1}{\sqrt{x^2 + 1}}"), check(x = [2, 3]);
}

elementary! {
    /// arctan x of each element.
    ///
    /// ```
    /// use pullback::{Tensor, ndarray::array, ops::Atan};
    ///
    /// let x = Tensor::from(array![0.0, 0.5]).set_requires_grad(true);
    /// Atan::apply(&x).sum().backward()?; // 1/(1 + x²)
    /// assert_eq!(x.grad(), Some(array![1.0, 0.8]));
    /// # Ok::<(), pullback::Error>(())
    /// ```
    Atan::atan(x) = x.atan(), slope: (square_of(x) + T::one()).recip();
    math(r"\frac{\mathrm{d}}{\mathrm{d}x} \arctan x = \frac{1}{1 + x^2}"), check(x = [2, 3]);
}

elementary! {
    /// artanh x of each element; NaN outside of −1 to 1.
    ///
    /// ```
    /// use pullback::{Tensor, ndarray::array, ops::Atanh};
    ///
    /// let x = Tensor::from(array![0.0, 0.5]).set_requires_grad(true);
    /// Atanh::apply(&x).sum().backward()?; // 1/(1 − x²)
    /// assert_eq!(x.grad(), Some(array![1.0, 1.0 / 0.75]));
    /// # Ok::<(), pullback::Error>(())
    /// ```
    Atanh::atanh(x) = x.atanh(), slope: within_one(x).recip();
    math(r"\frac{\mathrm{d}}{\mathrm{d}x} \operatorname{artanh} x = \frac{1}{1 - x^2}"),
    check(x = [2, 3] in -0.9..0.9);
}

elementary! {
    /// ∛x of each element; the derivative is infinite at 0.
    ///
    /// ```
    /// use pullback::{Tensor, ndarray::array, ops::Cbrt};
    ///
    /// let x = Tensor::from(array![8.0, -8.0]).set_requires_grad(true);
    /// Cbrt::apply(&x).sum().backward()?; // 1/(3∛x²)
    /// assert_eq!(x.grad(), Some(array![1.0 / 12.0, 1.0 / 12.0]));
    /// # Ok::<(), pullback::Error>(())
    /// ```
    Cbrt::cbrt(x) = x.cbrt(), slope: (x.cbrt().square() * T::from_f64(3.0)).recip();
    check(x = [2, 3]);
}

elementary! {
    /// cos x of each element.
    ///
    /// ```
    /// use pullback::{Tensor, ndarray::array, ops::Cos};
    ///
    /// let x = Tensor::from(array![0.0, 1.0]).set_requires_grad(true);
    /// Cos::apply(&x).sum().backward()?;
    /// assert_eq!(x.grad(), Some((-x.sin()).to_array()));
    /// # Ok::<(), pullback::Error>(())
    /// ```
    Cos::cos(x) = x.cos(), slope: -x.sin(), angle;
    check(x = [2, 3]);
}

elementary! {
    /// cosh x of each element.
    ///
    /// ```
    /// use pullback::{Tensor, ndarray::array, ops::Cosh};
    ///
    /// let x = Tensor::from(array![0.0, 1.0]).set_requires_grad(true);
    /// Cosh::apply(&x).sum().backward()?;
    /// assert_eq!(x.grad(), Some(x.sinh().to_array()));
    /// # Ok::<(), pullback::Error>(())
    /// ```
    Cosh::cosh(x) = x.cosh(), slope: x.sinh();
    math(r"\cosh x = \frac{e^x + e^{-x}}{2}"), check(x = [2, 3]);
}

elementary! {
    /// x of each positive element, α(eˣ − 1) of the others, with the derivative α at 0.
    ///
    /// ```
    /// use pullback::{Tensor, ndarray::array, ops::Elu};
    ///
    /// let x = Tensor::from(array![3.0, 0.0]).set_requires_grad(true);
    /// Elu::apply(&x, 2.0).sum().backward()?;
    /// assert_eq!(x.grad(), Some(array![1.0, 2.0])); // αeˣ on the left
    /// # Ok::<(), pullback::Error>(())
    /// ```
    Elu::elu(x, alpha) = x.elu(alpha), slope: elu_slope(x, alpha);
    math(
        r"\begin{cases}"
        r"    x & x > 0 \\"
        r"    \alpha \left(e^x - 1\right) & x \le 0"
        r"\end{cases}"
    ),
    check(x = [2, 3] in -1.5..1.5, alpha = 1.5);
}

elementary! {
    /// The error function, 2/√π ∫₀ˣ e^(−t²) dt, of each element.
    ///
    /// ```
    /// use pullback::{Tensor, ndarray::array, ops::Erf};
    ///
    /// let x = Tensor::from(array![0.0]).set_requires_grad(true);
    /// Erf::apply(&x).sum().backward()?;
    /// assert_eq!(x.grad(), Some(array![std::f64::consts::FRAC_2_SQRT_PI]));
    /// # Ok::<(), pullback::Error>(())
    /// ```
    Erf::erf(x) = x.erf(), slope: (-square_of(x)).exp() * T::from_f64(FRAC_2_SQRT_PI);
    math(r"\operatorname{erf} x = \frac{2}{\sqrt{\pi}} \int_0^x e^{-t^2} \, \mathrm{d}t"), check(x = [2, 3]);
}

elementary! {
    /// x Φ(x) of each element, where Φ is the distribution function of the standard normal distribution.
    ///
    /// ```
    /// use pullback::{Tensor, ndarray::array, ops::Gelu};
    ///
    /// let x = Tensor::from(array![0.0]).set_requires_grad(true);
    /// Gelu::apply(&x).sum().backward()?;
    /// assert_eq!(x.grad(), Some(array![0.5])); // Φ(0)
    /// # Ok::<(), pullback::Error>(())
    /// ```
    Gelu::gelu(x) = x.gelu(), slope: x.normal_cdf() + x * x.normal_pdf();
    math(r"x \, \Phi(x) = \frac{x}{2} \left(1 + \operatorname{erf} \frac{x}{\sqrt{2}}\right)"), check(x = [2, 3]);
}

elementary! {
    /// ½ x (1 + tanh(√(2/π) (x + 0.044715 x³))) of each element, which is close to x Φ(x).
    ///
    /// ```
    /// use pullback::{Tensor, ndarray::array, ops::{Gelu, GeluTanh}};
    ///
    /// let x = Tensor::from(array![-2.0, 0.5, 3.0]);
    /// let difference = Gelu::apply(&x) - GeluTanh::apply(&x);
    /// assert!(difference.abs().max().item() < 5e-4);
    /// ```
    GeluTanh::gelu_tanh(x) = x.gelu_tanh(), slope: gelu_tanh_slope(x);
    math(r"\frac{x}{2} \left(1 + \tanh\left(\sqrt{\frac{2}{\pi}} \left(x + 0.044715 \, x^3\right)\right)\right)"),
    check(x = [2, 3]);
}

elementary! {
    /// x of each positive element, slope · x of the others, with the derivative `slope` at 0.
    ///
    /// ```
    /// use pullback::{Tensor, ndarray::array, ops::LeakyRelu};
    ///
    /// let x = Tensor::from(array![-1.0, 2.0]).set_requires_grad(true);
    /// LeakyRelu::apply(&x, 0.1).sum().backward()?;
    /// assert_eq!(x.grad(), Some(array![0.1, 1.0]));
    /// # Ok::<(), pullback::Error>(())
    /// ```
    LeakyRelu::leaky_relu(x, slope) = x.leaky_relu(slope),
    slope: constant(x, move |x| if x > T::zero() { T::one() } else { slope });
    math(
        r"\begin{cases}"
        r"    x & x > 0 \\"
        r"    \text{slope} \cdot x & x \le 0"
        r"\end{cases}"
    ),
    check(x = [2, 3] in -1.5..1.5, slope = 0.1);
}

elementary! {
    /// ln x of each element.
    ///
    /// ```
    /// use pullback::{Tensor, ndarray::array, ops::Ln};
    ///
    /// let x = Tensor::from(array![2.0, 4.0]).set_requires_grad(true);
    /// Ln::apply(&x).sum().backward()?;
    /// assert_eq!(x.grad(), Some(array![0.5, 0.25]));
    /// # Ok::<(), pullback::Error>(())
    /// ```
    Ln::ln(x) = x.ln(), slope: x.recip();
    check(x = [2, 3]);
}

elementary! {
    /// ln(1 + x) of each element, also exact near 0.
    ///
    /// ```
    /// use pullback::{ndarray::array, ops::{Ln, Ln1p}};
    ///
    /// let x = array![1e-20_f64];
    /// assert_eq!(Ln1p::forward(x.view()), array![1e-20]);
    /// assert_eq!(Ln::forward((1.0 + &x).view()), array![0.0]);
    /// ```
    Ln1p::ln_1p(x) = x.ln_1p(), slope: (x + T::one()).recip();
    check(x = [2, 3]);
}

elementary! {
    /// Φ(x) of each element, the distribution function of the standard normal distribution, as exact in both tails.
    ///
    /// ```
    /// use pullback::{Tensor, ndarray::array, ops::NormalCdf};
    ///
    /// let x = Tensor::from(array![0.0, -30.0]).set_requires_grad(true);
    /// let y = NormalCdf::apply(&x);
    /// assert!(y.view()[0] == 0.5 && y.view()[1] > 0.0);
    /// y.sum().backward()?;
    /// assert_eq!(x.grad(), Some(x.normal_pdf().to_array()));
    /// # Ok::<(), pullback::Error>(())
    /// ```
    NormalCdf::normal_cdf(x) = x.normal_cdf(), slope: x.normal_pdf();
    math(r"\Phi(x) = \frac{1}{\sqrt{2 \pi}} \int_{-\infty}^x e^{-t^2 / 2} \, \mathrm{d}t"), check(x = [2, 3]);
}

elementary! {
    /// φ(x) = e^(−x²/2) / √(2π) of each element, the density of the standard normal distribution.
    ///
    /// ```
    /// use pullback::{Tensor, ndarray::array, ops::NormalPdf};
    ///
    /// let x = Tensor::from(array![1.0]).set_requires_grad(true);
    /// let y = NormalPdf::apply(&x);
    /// y.sum().backward()?;
    /// assert_eq!(x.grad(), Some((-y).to_array())); // −x φ(x)
    /// # Ok::<(), pullback::Error>(())
    /// ```
    NormalPdf::normal_pdf(x) = x.normal_pdf(), slope: -(x * x.normal_pdf());
    math(r"\varphi(x) = \frac{1}{\sqrt{2 \pi}} e^{-x^2 / 2}"), check(x = [2, 3]);
}

elementary! {
    /// xᵖ of each element, for any number p; NaN for negative elements if p is not whole.
    ///
    /// ```
    /// use pullback::{Tensor, ndarray::array, ops::Powf};
    ///
    /// let x = Tensor::from(array![4.0]).set_requires_grad(true);
    /// Powf::apply(&x, 1.5).sum().backward()?; // p xᵖ⁻¹
    /// assert_eq!(x.grad(), Some(array![3.0]));
    /// # Ok::<(), pullback::Error>(())
    /// ```
    Powf::powf(x, p) = if p == 0.0 { R::from(1.0) } else { x.powf(p) },
    slope: if p == T::zero() { zeros(x.shape()) } else { x.powf(p - T::one()) * p };
    check(x = [2, 3], p = 2.5);
}

elementary! {
    /// x / (1 + e⁻ˣ) of each element, also known as swish.
    ///
    /// ```
    /// use pullback::{Tensor, ndarray::array, ops::Silu};
    ///
    /// let x = Tensor::from(array![0.0, 1000.0]).set_requires_grad(true);
    /// Silu::apply(&x).sum().backward()?;
    /// assert_eq!(x.grad(), Some(array![0.5, 1.0]));
    /// # Ok::<(), pullback::Error>(())
    /// ```
    Silu::silu(x) = x.silu(), slope: silu_slope(x);
    math(r"x \, \sigma(x) = \frac{x}{1 + e^{-x}}"), check(x = [2, 3]);
}

elementary! {
    /// sin x of each element.
    ///
    /// ```
    /// use pullback::{Tensor, ndarray::array, ops::Sin};
    ///
    /// let x = Tensor::from(array![0.0, 1.0]).set_requires_grad(true);
    /// Sin::apply(&x).sum().backward()?;
    /// assert_eq!(x.grad(), Some(x.cos().to_array()));
    /// # Ok::<(), pullback::Error>(())
    /// ```
    Sin::sin(x) = x.sin(), slope: x.cos(), angle;
    check(x = [2, 3]);
}

elementary! {
    /// sinh x of each element.
    ///
    /// ```
    /// use pullback::{Tensor, ndarray::array, ops::Sinh};
    ///
    /// let x = Tensor::from(array![0.0, 1.0]).set_requires_grad(true);
    /// Sinh::apply(&x).sum().backward()?;
    /// assert_eq!(x.grad(), Some(x.cosh().to_array()));
    /// # Ok::<(), pullback::Error>(())
    /// ```
    Sinh::sinh(x) = x.sinh(), slope: x.cosh();
    math(r"\sinh x = \frac{e^x - e^{-x}}{2}"), check(x = [2, 3]);
}

elementary! {
    /// ln(1 + eˣ) of each element, which never overflows.
    ///
    /// ```
    /// use pullback::{Tensor, ndarray::array, ops::Softplus};
    ///
    /// let x = Tensor::from(array![0.0, 1000.0]).set_requires_grad(true);
    /// let y = Softplus::apply(&x);
    /// assert_eq!(y.view()[1], 1000.0);
    /// y.sum().backward()?;
    /// assert_eq!(x.grad(), Some(array![0.5, 1.0]));
    /// # Ok::<(), pullback::Error>(())
    /// ```
    Softplus::softplus(x) = x.softplus(), slope: x.sigmoid();
    math(r"\ln\left(1 + e^x\right) = \max(x, 0) + \ln\left(1 + e^{-\left|x\right|}\right)"), check(x = [2, 3]);
}

elementary! {
    /// x² of each element.
    ///
    /// ```
    /// use pullback::{Tensor, ndarray::array, ops::Square};
    ///
    /// let x = Tensor::from(array![3.0]).set_requires_grad(true);
    /// Square::apply(&x).sum().backward()?;
    /// assert_eq!(x.grad(), Some(array![6.0]));
    /// # Ok::<(), pullback::Error>(())
    /// ```
    Square::square(x) = x.square(), slope: x * T::from_f64(2.0);
    check(x = [2, 3]);
}

/// Returns x, and beyond ±`bound` that, as a constant.
#[track_caller]
fn within<T: Element, D: Dimension>(x: &Tensor<T, D>, bound: T) -> Tensor<T, D> {
    let is_out = x.view().mapv(|x| x.abs() > bound);
    chosen(&is_out, &constant(x, move |x| bound.copysign(x)), x)
}

/// Returns x² for a slope that is 0 where it is infinite. There it is a constant: its own derivative, 2x, may be out of
/// range too, and times 0 no number.
#[track_caller]
fn square_of<T: Element, D: Dimension>(x: &Tensor<T, D>) -> Tensor<T, D> {
    within(x, T::max_value().sqrt() * T::from_f64(2.0)).square()
}

/// Returns 1 − x². The factors of (1 − x)(1 + x) are exact where x is near 1; their product's derivative would not be
/// where x is near 0, so that of −x² takes its place.
#[track_caller]
fn within_one<T: Element, D: Dimension>(x: &Tensor<T, D>) -> Tensor<T, D> {
    let value = constant(x, |x| (T::one() - x) * (T::one() + x));
    let square = x.square();
    let zero = square.detach() - square;
    value + zero
}

/// Returns 1 where x is positive, α eˣ elsewhere, NaN included.
#[track_caller]
fn elu_slope<T: Element, D: Dimension>(x: &Tensor<T, D>, alpha: T) -> Tensor<T, D> {
    let is_right = x.view().mapv(|x| x > T::zero());
    // No large numbers: ∞ · 0 would not be 0.
    let left = (chosen(&is_right, &zeros(x.shape()), x).exp()) * alpha;
    chosen(&is_right, &(zeros(x.shape()) + T::one()), &left)
}

/// Returns elements of x where the choice is true, and of y elsewhere.
#[track_caller]
fn chosen<T: Element, D: Dimension>(
    choice: &Array<bool, D>,
    x: &Tensor<T, D>,
    y: &Tensor<T, D>,
) -> Tensor<T, D> {
    Where::apply(&choice.view().into_dyn().to_shared(), x, y)
}

/// Returns the derivative of x σ(ax + bx³), which is the function: σ + x σ (1 − σ) (a + 3bx²).
#[track_caller]
fn gelu_tanh_slope<T: Element, D: Dimension>(x: &Tensor<T, D>) -> Tensor<T, D> {
    let [linear, cubic] = GELU_TANH.map(T::from_f64);
    let x = &within(x, T::from_f64(GELU_TANH_BOUND));
    let square = x.square();
    let sigmoid = (x * (&square * cubic + linear)).sigmoid();
    let inner = square * (cubic * T::from_f64(3.0)) + linear;
    &sigmoid + x * &sigmoid * (-&sigmoid + T::one()) * inner
}

/// Returns σ + xσ(1 − σ), with σ = 1 / (1 + e⁻ˣ).
#[track_caller]
fn silu_slope<T: Element, D: Dimension>(x: &Tensor<T, D>) -> Tensor<T, D> {
    let sigmoid = x.sigmoid();
    &sigmoid + x * &sigmoid * (-&sigmoid + T::one())
}

loops! { Tan(x) = x.tan(), angle }

/// Returns tan x of each element.
pub(super) fn tan<T: Element, D: Dimension>(x: &ArrayView<'_, T, D>) -> Array<T, D> {
    unary::values(&Row::<Tan<(), ()>, 0>([], PhantomData), x)
}
