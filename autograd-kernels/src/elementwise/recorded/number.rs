//! The operators and functions of recorded numbers.

use std::cmp::Ordering;
use std::iter::Sum;
use std::ops::{Add, AddAssign, Div, DivAssign, Mul, MulAssign, Neg, Sub, SubAssign};

use super::tape::{Lanes, Recorded, Slope, Tape, WIDTH, tape};
use crate::element::Element;
use crate::element::number::Number;
use crate::element::real::{Real, sealed};
use crate::elementwise::dual::Dual;
use crate::loops::wide::{Loop, compiled};

/// A function of two numbers, lane by lane, without slopes.
struct Values<'a, T, F> {
    x: &'a Lanes<T>,
    y: &'a Lanes<T>,
    value: &'a mut Lanes<T>,
    f: F,
}

impl<T: Element, F: Fn(T, T) -> T> Loop for Values<'_, T, F> {
    #[inline(always)]
    fn run(self) {
        #[inline(always)]
        fn each<T: Element>(
            x: &Lanes<T>,
            y: &Lanes<T>,
            value: &mut Lanes<T>,
            f: &impl Fn(T, T) -> T,
        ) {
            for lane in 0..WIDTH {
                value[lane] = f(x[lane], y[lane]);
            }
        }
        each(self.x, self.y, self.value, &self.f);
    }
}

/// A function of one number, lane by lane, and its slope if `N` is 1.
struct One<'a, T, F, const N: usize> {
    x: &'a Lanes<T>,
    value: &'a mut Lanes<T>,
    slopes: [&'a mut Lanes<T>; N],
    f: F,
}

impl<T: Element, F: Fn(Dual<T::Number, 1>) -> Dual<T::Number, 1>, const N: usize> Loop
    for One<'_, T, F, N>
{
    #[inline(always)]
    fn run(self) {
        #[inline(always)]
        fn each<T: Element, const N: usize>(
            x: &Lanes<T>,
            value: &mut Lanes<T>,
            mut slopes: [&mut Lanes<T>; N],
            f: &impl Fn(Dual<T::Number, 1>) -> Dual<T::Number, 1>,
        ) {
            for lane in 0..WIDTH {
                let number = T::Number::of(x[lane]);
                if let [slope] = &mut slopes[..] {
                    let result = f(Dual::variable(number, 0));
                    value[lane] = result.value.element();
                    slope[lane] = result.signed(0).element();
                } else {
                    value[lane] = f(Dual::constant(number)).value.element();
                }
            }
        }
        each(self.x, self.value, self.slopes, &self.f);
    }
}

/// A function of two numbers, lane by lane, and the slopes along those that are variables.
struct Two<'a, T, F, const X: bool, const Y: bool> {
    x: &'a Lanes<T>,
    y: &'a Lanes<T>,
    value: &'a mut Lanes<T>,
    slopes: [&'a mut Lanes<T>; 2],
    f: F,
}

impl<T, F, const X: bool, const Y: bool> Loop for Two<'_, T, F, X, Y>
where
    T: Element,
    F: Fn(Dual<T::Number, 2>, Dual<T::Number, 2>) -> Dual<T::Number, 2>,
{
    #[inline(always)]
    fn run(self) {
        #[inline(always)]
        fn each<T: Element, const X: bool, const Y: bool>(
            x: &Lanes<T>,
            y: &Lanes<T>,
            value: &mut Lanes<T>,
            [of_x, of_y]: [&mut Lanes<T>; 2],
            f: &impl Fn(Dual<T::Number, 2>, Dual<T::Number, 2>) -> Dual<T::Number, 2>,
        ) {
            for lane in 0..WIDTH {
                let number = |element: T, index: usize, is_variable: bool| {
                    let number = T::Number::of(element);
                    if is_variable {
                        Dual::variable(number, index)
                    } else {
                        Dual::constant(number)
                    }
                };
                let result = f(number(x[lane], 0, X), number(y[lane], 1, Y));
                value[lane] = result.value.element();
                if X {
                    of_x[lane] = result.signed(0).element();
                }
                if Y {
                    of_y[lane] = result.signed(1).element();
                }
            }
        }
        each::<T, X, Y>(self.x, self.y, self.value, self.slopes, &self.f);
    }
}

impl<T: Element> Recorded<T> {
    fn one(self, f: impl Fn(Dual<T::Number, 1>) -> Dual<T::Number, 1>) -> Self {
        if let Self::Constant(value) = self {
            let result = f(Dual::constant(T::Number::of(value)));
            return Self::Constant(result.value.element());
        }
        tape().with_borrow_mut(|tape: &mut Tape<T>| {
            let value = if tape.is_live(self) {
                tape.add_blocks([self], |[x], [value, slope]| {
                    let slopes = [slope];
                    compiled(One {
                        x,
                        value,
                        slopes,
                        f,
                    });
                })
            } else {
                tape.add_blocks([self], |[x], [value]| {
                    let slopes = [];
                    compiled(One {
                        x,
                        value,
                        slopes,
                        f,
                    });
                })
            };
            let operand = tape.operand(self, Slope::Block(value + 1));
            tape.add(value, [operand, None])
        })
    }

    fn two(
        self,
        other: Self,
        f: impl Fn(Dual<T::Number, 2>, Dual<T::Number, 2>) -> Dual<T::Number, 2>,
    ) -> Self {
        if let (Self::Constant(x), Self::Constant(y)) = (self, other) {
            let [x, y] = [x, y].map(|value| Dual::constant(T::Number::of(value)));
            return Self::Constant(f(x, y).value.element());
        }
        tape().with_borrow_mut(|tape: &mut Tape<T>| {
            let live = [self, other].map(|number| tape.is_live(number));
            let value = tape.add_blocks([self, other], |[x, y], [value, of_x, of_y]| {
                let slopes = [of_x, of_y];
                macro_rules! run {
                    ($x:literal, $y:literal) => {
                        compiled(Two::<T, _, $x, $y> {
                            x,
                            y,
                            value,
                            slopes,
                            f,
                        })
                    };
                }
                match live {
                    [true, true] => run!(true, true),
                    [true, false] => run!(true, false),
                    [false, true] => run!(false, true),
                    [false, false] => run!(false, false),
                }
            });
            let operands = [
                tape.operand(self, Slope::Block(value + 1)),
                tape.operand(other, Slope::Block(value + 2)),
            ];
            tape.add(value, operands)
        })
    }

    /// Returns a sum of multiples of two numbers.
    fn linear(self, other: Self, factors: [T; 2], f: impl Fn(T, T) -> T) -> Self {
        self.without_slopes(other, |_| factors.map(Slope::Number), f)
    }

    /// Returns a function of two numbers whose slopes are known without computing them.
    fn without_slopes(
        self,
        other: Self,
        slopes: impl FnOnce(&Tape<T>) -> [Slope<T>; 2],
        f: impl Fn(T, T) -> T,
    ) -> Self {
        if let (Self::Constant(x), Self::Constant(y)) = (self, other) {
            return Self::Constant(f(x, y));
        }
        tape().with_borrow_mut(|tape: &mut Tape<T>| {
            let value = tape.add_blocks([self, other], |[x, y], [value]| {
                compiled(Values { x, y, value, f });
            });
            let [of_x, of_y] = slopes(tape);
            let operands = [tape.operand(self, of_x), tape.operand(other, of_y)];
            tape.add(value, operands)
        })
    }

    /// Returns whether all lanes of both compare so; a block whose lanes differ is divided.
    fn agree(self, other: Self, f: impl Fn(T, T) -> bool) -> bool {
        if let (Self::Constant(x), Self::Constant(y)) = (self, other) {
            return f(x, y);
        }
        tape().with_borrow_mut(|tape: &mut Tape<T>| {
            let (x, y) = (tape.lanes(self), tape.lanes(other));
            // Once divided, all go the way of the first lane, which ends as it would alone.
            let first = f(x[0], y[0]);
            tape.is_divided |= (1..WIDTH).any(|lane| f(x[lane], y[lane]) != first);
            first
        })
    }
}

impl<T: Element> sealed::Sealed for Recorded<T> {
    fn is_zero(&self) -> bool {
        self.agree(Self::Constant(T::zero()), |x, zero| x == zero)
    }

    fn plain(self) -> f64 {
        if let Self::Constant(value) = self {
            return value.as_f64();
        }
        tape().with_borrow_mut(|tape: &mut Tape<T>| {
            let [first, rest @ ..] = tape.lanes(self);
            let same = |&other: &T| other == first || (other.is_nan() && first.is_nan());
            tape.is_divided |= !rest.iter().all(same);
            first.as_f64()
        })
    }

    fn unless(self, is_zero: bool) -> Self {
        if is_zero {
            Self::Constant(T::zero())
        } else {
            self
        }
    }
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
        self.linear(
            Self::Constant(T::zero()),
            [-T::one(), T::zero()],
            #[inline(always)]
            |x, _| -x,
        )
    }
}

impl<T: Element> Add for Recorded<T> {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        self.linear(
            other,
            [T::one(); 2],
            #[inline(always)]
            |x, y| x + y,
        )
    }
}

impl<T: Element> Sub for Recorded<T> {
    type Output = Self;

    fn sub(self, other: Self) -> Self {
        self.linear(
            other,
            [T::one(), -T::one()],
            #[inline(always)]
            |x, y| x - y,
        )
    }
}

impl<T: Element> Mul for Recorded<T> {
    type Output = Self;

    fn mul(self, other: Self) -> Self {
        self.without_slopes(
            other,
            |tape| [tape.slope(other), tape.slope(self)],
            #[inline(always)]
            |x, y| x * y,
        )
    }
}

impl<T: Element> Div for Recorded<T> {
    type Output = Self;

    fn div(self, other: Self) -> Self {
        self.two(
            other,
            #[inline(always)]
            |x, y| x / y,
        )
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
                self.agree($number, |x, y| x == y)
            }
        }

        impl<T: Element> PartialOrd<$Other> for Recorded<T> {
            fn partial_cmp(&self, $other: &$Other) -> Option<Ordering> {
                let other = $number;
                if self.agree(other, |x, y| x < y) {
                    Some(Ordering::Less)
                } else if self.agree(other, |x, y| x > y) {
                    Some(Ordering::Greater)
                } else {
                    self.agree(other, |x, y| x == y).then_some(Ordering::Equal)
                }
            }

            fn lt(&self, $other: &$Other) -> bool {
                self.agree($number, |x, y| x < y)
            }

            fn le(&self, $other: &$Other) -> bool {
                self.agree($number, |x, y| x <= y)
            }

            fn gt(&self, $other: &$Other) -> bool {
                self.agree($number, |x, y| x > y)
            }

            fn ge(&self, $other: &$Other) -> bool {
                self.agree($number, |x, y| x >= y)
            }
        }
    };
}

compared!(Self, |other| *other);
compared!(f64, |other| Self::from(*other));

/// The functions of one number.
macro_rules! functions {
    ($($name:ident)*) => {$(
        fn $name(self) -> Self {
            self.one(#[inline(always)] |x| x.$name())
        }
    )*};
}

/// The functions of two.
macro_rules! functions_of_two {
    ($($name:ident)*) => {$(
        fn $name(self, other: impl Into<Self>) -> Self {
            self.two(other.into(), #[inline(always)] |x, y| x.$name(y))
        }
    )*};
}

impl<T: Element> Real for Recorded<T> {
    functions!(
        exp exp_m1 ln ln_1p sqrt cbrt recip abs signum floor ceil round round_ties_even sin cos tan asin acos atan sinh
        cosh tanh asinh acosh atanh sigmoid softplus erf normal_cdf normal_pdf gelu square rsqrt relu silu gelu_tanh
    );
    functions_of_two!(powf atan2 hypot max min leaky_relu elu);

    fn powi(self, n: i32) -> Self {
        self.one(
            #[inline(always)]
            |x| x.powi(n),
        )
    }

    fn clamp(self, min: impl Into<Self>, max: impl Into<Self>) -> Self {
        let raised = self.two(
            min.into(),
            #[inline(always)]
            |x, min| if x < min { min } else { x },
        );
        raised.two(
            max.into(),
            #[inline(always)]
            |x, max| if x > max { max } else { x },
        )
    }
}
