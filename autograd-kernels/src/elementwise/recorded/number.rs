//! The operators and functions of recorded numbers.

use std::cmp::Ordering;
use std::iter::Sum;
use std::ops::{Add, AddAssign, Div, DivAssign, Mul, MulAssign, Neg, Sub, SubAssign};

use super::functions::{Function, OfOne, OfTwo, Slope};
use super::program::pulled;
use super::trace::{Comparison, Kind, Recorded, Trace, trace};
use crate::element::Element;
use crate::element::number::Number;
use crate::element::real::{Real, sealed};
use crate::elementwise::dual::Dual;

impl<T: Element> Recorded<T> {
    /// Adds an operation with this result in the lane; of constants, it is a constant.
    fn operation<const N: usize>(
        numbers: [Self; N],
        kind: impl FnOnce() -> Kind<T>,
        f: impl FnOnce([T; N]) -> T,
    ) -> Self {
        trace().with_borrow_mut(|trace: &mut Trace<T>| {
            let value = f(numbers.map(|number| trace.value(number)));
            let is_constant = |number: &Self| matches!(number, Self::Constant(_));
            if numbers.iter().all(is_constant) {
                return Self::Constant(value);
            }
            trace.add(kind(), numbers, value)
        })
    }

    fn one<F: OfOne>(self, parameter: i32) -> Self {
        let kind = || Kind::OfOne(Function::of_one::<F>(parameter));
        Self::operation([self], kind, |[x]| {
            F::at(constant(x), parameter).value.element()
        })
    }

    fn two<F: OfTwo>(self, other: Self) -> Self {
        let kind = || Kind::OfTwo(Function::of_two::<F>());
        Self::operation([self, other], kind, |[x, y]| {
            F::at(constant(x), constant(y)).value.element()
        })
    }

    fn compare(self, comparison: Comparison, other: Self) -> bool {
        trace().with_borrow_mut(|trace: &mut Trace<T>| trace.compare(comparison, [self, other]))
    }
}

fn constant<T: Element>(value: T) -> Dual<T::Number, 0> {
    Dual::constant(T::Number::of(value))
}

/// The functions of one number.
macro_rules! functions {
    ($slope:ident: $($name:ident)*) => {
        functions!($slope, false: $($name)*);
    };
    ($slope:ident, $of_angle:literal: $($name:ident)*) => {$(
        fn $name(self) -> Self {
            struct Named;

            impl OfOne for Named {
                const SLOPE: Slope = Slope::$slope;
                const OF_ANGLE: bool = $of_angle;

                #[cfg_attr(optimized, inline(always))]
                fn at<R: Real>(x: R, _parameter: i32) -> R {
                    x.$name()
                }
            }

            self.one::<Named>(0)
        }
    )*};
}

impl<T: Element> sealed::Sealed for Recorded<T> {
    const IS_RECORDED: bool = true;

    fn share(self, other: Self) -> Self {
        self.two::<Share>(other)
    }

    fn is_zero(&self) -> bool {
        self.compare(Comparison::Equal, Self::from(0.0))
    }

    fn plain(self) -> f64 {
        trace().with_borrow_mut(|trace: &mut Trace<T>| trace.escape(self).as_f64())
    }

    fn unless(self, is_zero: bool) -> Self {
        if is_zero { Self::from(0.0) } else { self }
    }

    fn chosen(is_first: bool, first: Self, second: Self) -> Self {
        if is_first { first } else { second }
    }

    // Not a branch: lanes with and without the tangent are replayed together.
    fn pulled(self, slope: Self) -> Self {
        Self::operation([self, slope], || Kind::Pulled, |[x, y]| pulled(x, y))
    }

    functions!(Other: within_one lorentzian gaussian);
}

impl<T: Element> From<f64> for Recorded<T> {
    fn from(value: f64) -> Self {
        Self::Constant(T::from_f64(value))
    }
}

impl<T: Element> Sum for Recorded<T> {
    fn sum<I: Iterator<Item = Self>>(numbers: I) -> Self {
        numbers.fold(Self::from(0.0), Add::add)
    }
}

impl<T: Element> Neg for Recorded<T> {
    type Output = Self;

    fn neg(self) -> Self {
        Self::operation([self], || Kind::Negative, |[x]| -x)
    }
}

impl<T: Element> Add for Recorded<T> {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        Self::operation([self, other], || Kind::Sum, |[x, y]| x + y)
    }
}

impl<T: Element> Sub for Recorded<T> {
    type Output = Self;

    fn sub(self, other: Self) -> Self {
        Self::operation([self, other], || Kind::Difference, |[x, y]| x - y)
    }
}

impl<T: Element> Mul for Recorded<T> {
    type Output = Self;

    fn mul(self, other: Self) -> Self {
        Self::operation([self, other], || Kind::Product, |[x, y]| x * y)
    }
}

/// Defines functions of two numbers.
macro_rules! of_two {
    ($($Name:ident |$x:ident, $y:ident| $value:expr;)*) => {$(
        struct $Name;

        impl OfTwo for $Name {
            #[cfg_attr(optimized, inline(always))]
            fn at<R: Real>($x: R, $y: R) -> R {
                $value
            }
        }
    )*};
}

of_two! {
    Quotient |x, y| x / y;
    Raised |x, min| if x < min { min } else { x };
    Lowered |x, max| if x > max { max } else { x };
    Share |x, y| x.share(y);
}

impl<T: Element> Div for Recorded<T> {
    type Output = Self;

    fn div(self, other: Self) -> Self {
        self.two::<Quotient>(other)
    }
}

macro_rules! operators {
    ($($Trait:ident $method:ident $Assign:ident $assign:ident $sign:tt)*) => {$(
        impl<T: Element> $Trait<f64> for Recorded<T> {
            type Output = Self;

            fn $method(self, other: f64) -> Self {
                self $sign Self::from(other)
            }
        }

        impl<T: Element> $Trait<Recorded<T>> for f64 {
            type Output = Recorded<T>;

            fn $method(self, other: Recorded<T>) -> Recorded<T> {
                Recorded::from(self) $sign other
            }
        }

        impl<T: Element> $Assign for Recorded<T> {
            fn $assign(&mut self, other: Self) {
                *self = *self $sign other;
            }
        }

        impl<T: Element> $Assign<f64> for Recorded<T> {
            fn $assign(&mut self, other: f64) {
                *self = *self $sign other;
            }
        }
    )*};
}

operators! {
    Add add AddAssign add_assign +
    Sub sub SubAssign sub_assign -
    Mul mul MulAssign mul_assign *
    Div div DivAssign div_assign /
}

macro_rules! compared {
    ($Other:ty, |$other:ident| $number:expr) => {
        impl<T: Element> PartialEq<$Other> for Recorded<T> {
            fn eq(&self, $other: &$Other) -> bool {
                self.compare(Comparison::Equal, $number)
            }
        }

        impl<T: Element> PartialOrd<$Other> for Recorded<T> {
            fn partial_cmp(&self, $other: &$Other) -> Option<Ordering> {
                let other = $number;
                if self.compare(Comparison::Less, other) {
                    Some(Ordering::Less)
                } else if self.compare(Comparison::Greater, other) {
                    Some(Ordering::Greater)
                } else {
                    self.compare(Comparison::Equal, other)
                        .then_some(Ordering::Equal)
                }
            }

            fn lt(&self, $other: &$Other) -> bool {
                self.compare(Comparison::Less, $number)
            }

            fn le(&self, $other: &$Other) -> bool {
                self.compare(Comparison::LessOrEqual, $number)
            }

            fn gt(&self, $other: &$Other) -> bool {
                self.compare(Comparison::Greater, $number)
            }

            fn ge(&self, $other: &$Other) -> bool {
                self.compare(Comparison::GreaterOrEqual, $number)
            }
        }
    };
}

compared!(Self, |other| *other);
compared!(f64, |other| Self::from(*other));

/// The functions of two.
macro_rules! functions_of_two {
    ($($name:ident)*) => {$(
        fn $name(self, other: impl Into<Self>) -> Self {
            of_two! { Named |x, y| x.$name(y); }
            self.two::<Named>(other.into())
        }
    )*};
}

impl<T: Element> Real for Recorded<T> {
    functions!(Other:
        exp_m1 ln ln_1p sqrt cbrt recip abs asin acos atan sinh cosh tanh asinh acosh atanh sigmoid
        softplus erf normal_cdf normal_pdf gelu square rsqrt relu silu gelu_tanh
    );
    functions!(Itself: exp);
    functions!(Other, true: sin cos tan);
    functions!(Zero: signum floor ceil round round_ties_even detach);
    functions_of_two!(powf atan2 hypot max min leaky_relu elu);

    fn powi(self, n: i32) -> Self {
        struct Power;

        impl OfOne for Power {
            #[cfg_attr(optimized, inline(always))]
            fn at<R: Real>(x: R, parameter: i32) -> R {
                x.powi(parameter)
            }
        }

        self.one::<Power>(n)
    }

    fn clamp(self, min: impl Into<Self>, max: impl Into<Self>) -> Self {
        self.two::<Raised>(min.into()).two::<Lowered>(max.into())
    }
}
