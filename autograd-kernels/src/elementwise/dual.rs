//! Numbers that carry derivatives.
//!
//! A dual number x + Σᵢ tᵢ εᵢ with εᵢ εⱼ = 0 has in tᵢ the derivative of x along a direction i. The parts of a dual
//! number may be dual numbers: then its derivatives are differentiated too.
//!
//! A dual number knows which tangents are present. That is a constant wherever the formula has no branches, so that code
//! for absent tangents vanishes. It is not only faster: a tangent that is merely 0 would make NaN of an infinite slope.
//! It also knows which tangents have the opposite sign of what it holds: x − y has the same numbers for both, and what
//! follows from them is computed once.
//!
//! No closures here: the compiler might not inline a large one, and a loop around it would not be vector code.

use std::cmp::Ordering;
use std::f64::consts::FRAC_2_SQRT_PI;
use std::iter::Sum;
use std::ops::{Add, AddAssign, Div, DivAssign, Mul, MulAssign, Neg, Sub, SubAssign};

use super::each::each;
use crate::element::real::{Real, sealed};

/// A number and its derivatives along `N` directions.
#[doc(hidden)]
#[derive(Clone, Copy, Debug)]
pub struct Dual<R, const N: usize> {
    pub(crate) value: R,
    /// The derivatives, some with the opposite sign; 0 where a tangent is absent.
    tangents: [R; N],
    /// A bit for each tangent that is present. Like the following, a constant.
    live: u64,
    /// A bit for each tangent that has the opposite sign.
    turned: u64,
    /// Whether the tangents are directions that are given at run time. A missing one is a 0 that no slope makes NaN.
    is_directed: bool,
}

/// Returns the function of `$x` with this value and, where `$x` has tangents, this slope.
macro_rules! chain {
    ($x:ident, $value:expr, $slope:expr) => {{
        let value = $value;
        if $x.is_constant() {
            Self::constant(value)
        } else {
            let slope = $slope;
            $x.scaled(value, slope)
        }
    }};
}

/// Returns the function of two numbers with this value and, where they have tangents, these slopes.
///
/// Each operation is written once: in dual numbers of dual numbers, a second place would double the code at each depth.
macro_rules! chain_2 {
    ($x:ident, $y:ident, $value:expr, $slope_x:expr, $slope_y:expr) => {{
        let value = $value;
        let zero = R::from(0.0);
        let slope_x = if $x.is_constant() { zero } else { $slope_x };
        let slope_y = if $y.is_constant() { zero } else { $slope_y };
        Self::combined(value, ($x, slope_x), ($y, slope_y))
    }};
}

impl<R: Real, const N: usize> Dual<R, N> {
    /// Returns a number without tangents.
    #[cfg_attr(optimized, inline(always))]
    pub(crate) fn constant(value: R) -> Self {
        Self {
            value,
            tangents: [R::from(0.0); N],
            live: 0,
            turned: 0,
            is_directed: false,
        }
    }

    /// Returns the variable whose derivative along direction `index` is 1.
    #[cfg_attr(optimized, inline(always))]
    pub(crate) fn variable(value: R, index: usize) -> Self {
        let mut variable = Self::constant(value);
        variable.tangents[index] = R::from(1.0);
        variable.live = 1 << index;
        variable
    }

    /// Returns a number with all tangents; with `some_missing`, a tangent of 0 may stand for a missing direction.
    #[cfg_attr(optimized, inline(always))]
    pub(crate) fn along(value: R, tangents: [R; N], some_missing: bool) -> Self {
        Self {
            tangents,
            live: !(u64::MAX << N),
            is_directed: some_missing,
            ..Self::constant(value)
        }
    }

    /// Returns the tangent in direction `index`, if there is one.
    #[cfg_attr(optimized, inline(always))]
    pub(crate) fn tangent(&self, index: usize) -> Option<R> {
        if self.has(index) {
            Some(self.signed(index))
        } else {
            None
        }
    }

    /// Returns the tangent in direction `index`, 0 if there is none.
    #[cfg_attr(optimized, inline(always))]
    pub(crate) fn signed(&self, index: usize) -> R {
        let tangent = self.tangents[index];
        if self.is_turned(index) {
            -tangent
        } else {
            tangent
        }
    }

    #[cfg_attr(optimized, inline(always))]
    pub(crate) fn has(&self, index: usize) -> bool {
        self.live >> index & 1 == 1
    }

    #[cfg_attr(optimized, inline(always))]
    fn is_turned(&self, index: usize) -> bool {
        self.turned >> index & 1 == 1
    }

    /// Returns whether there are no tangents.
    #[cfg_attr(optimized, inline(always))]
    fn is_constant(&self) -> bool {
        self.live == 0
    }

    /// Returns `value` with the tangents times `slope`.
    #[cfg_attr(optimized, inline(always))]
    pub(crate) fn scaled(mut self, value: R, slope: R) -> Self {
        self.value = value;
        each!(index < N => {
            if self.has(index) {
                self.tangents[index] = self.times(index, slope);
            }
        });
        self
    }

    /// Returns what is held of a tangent times a slope.
    #[cfg_attr(optimized, inline(always))]
    fn times(&self, index: usize, slope: R) -> R {
        let tangent = self.tangents[index];
        if self.is_directed {
            tangent.pulled(slope)
        } else {
            tangent * slope
        }
    }

    /// Returns a number whose tangents are those of both times their slopes.
    #[cfg_attr(optimized, inline(always))]
    fn combined(value: R, (x, slope_x): (Self, R), (y, slope_y): (Self, R)) -> Self {
        let mut result = x;
        result.value = value;
        result.is_directed |= y.is_directed;
        each!(index < N => {
            if x.has(index) {
                result.tangents[index] = x.times(index, slope_x);
            }
            if y.has(index) {
                result.add_tangent(index, y.times(index, slope_y), y.is_turned(index));
            }
        });
        result
    }

    /// Adds to a tangent, which may be absent.
    #[cfg_attr(optimized, inline(always))]
    fn add_tangent(&mut self, index: usize, term: R, is_turned: bool) {
        if !self.has(index) {
            self.tangents[index] = term;
            self.live |= 1 << index;
            if is_turned {
                self.turned |= 1 << index;
            }
        } else if self.is_turned(index) == is_turned {
            self.tangents[index] += term;
        } else {
            self.tangents[index] -= term;
        }
    }

    /// Returns `value` with the tangents times an `f64`.
    #[cfg_attr(optimized, inline(always))]
    fn multiplied(mut self, value: R, factor: f64) -> Self {
        self.value = value;
        each!(index < N => {
            if self.has(index) {
                self.tangents[index] *= factor;
            }
        });
        self
    }

    /// Returns the number with the tangents of `other` added.
    #[cfg_attr(optimized, inline(always))]
    fn plus(mut self, other: Self) -> Self {
        self.is_directed |= other.is_directed;
        each!(index < N => {
            if other.has(index) {
                self.add_tangent(index, other.tangents[index], other.is_turned(index));
            }
        });
        self
    }

    /// Returns the number with the signs of the tangents changed.
    #[cfg_attr(optimized, inline(always))]
    fn turned(mut self) -> Self {
        self.turned ^= self.live;
        self
    }

    /// Returns the number with its tangents as they are. Where it depends on values which number is chosen, their signs
    /// must not.
    #[cfg_attr(optimized, inline(always))]
    fn unturned(mut self) -> Self {
        each!(index < N => {
            if self.is_turned(index) {
                self.tangents[index] = -self.tangents[index];
            }
        });
        self.turned = 0;
        self
    }

    /// Returns `value` with half of the tangents of both, for the maximum of equal numbers.
    #[cfg_attr(optimized, inline(always))]
    fn shared(self, other: Self, value: R) -> Self {
        let half = R::from(0.5);
        self.scaled(value, half).plus(other.scaled(value, half))
    }

    /// Returns `value` with a share of the tangents, and the rest of the other's. What has no share makes no NaN.
    fn mixed(mut self, other: Self, value: R, share: R) -> Self {
        let rest = R::from(1.0) - share;
        each!(index < N => {
            self.tangents[index] = match (self.has(index), other.has(index)) {
                (true, true) => share.pulled(self.tangents[index]) + rest.pulled(other.tangents[index]),
                (true, false) => share.pulled(self.tangents[index]),
                (false, _) => rest.pulled(other.tangents[index]),
            };
        });
        self.value = value;
        self.live |= other.live;
        self.is_directed |= other.is_directed;
        self
    }
}

impl<R: Real, const N: usize> sealed::Sealed for Dual<R, N> {
    const IS_RECORDED: bool = R::IS_RECORDED;

    #[cfg_attr(optimized, inline(always))]
    fn share(self, other: Self) -> Self {
        Self::constant(self.value.share(other.value))
    }

    #[cfg_attr(optimized, inline(always))]
    fn is_zero(&self) -> bool {
        let mut is_zero = self.value.is_zero();
        each!(index < N => {
            is_zero &= !self.has(index) || self.tangents[index].is_zero();
        });
        is_zero
    }

    #[cfg_attr(optimized, inline(always))]
    fn plain(self) -> f64 {
        self.value.plain()
    }

    #[cfg_attr(optimized, inline(always))]
    fn unless(mut self, is_zero: bool) -> Self {
        self.value = self.value.unless(is_zero);
        each!(index < N => {
            if self.has(index) {
                self.tangents[index] = self.tangents[index].unless(is_zero);
            }
        });
        self
    }

    #[cfg_attr(optimized, inline(always))]
    fn chosen(is_first: bool, first: Self, second: Self) -> Self {
        let (first, second) = (first.unturned(), second.unturned());
        let mut chosen = first;
        chosen.value = R::chosen(is_first, first.value, second.value);
        each!(index < N => {
            let (x, y) = (first.tangents[index], second.tangents[index]);
            chosen.tangents[index] = R::chosen(is_first, x, y);
        });
        chosen.live |= second.live;
        chosen.is_directed |= second.is_directed || first.live != second.live;
        chosen
    }

    // The derivatives are infinite where the reciprocal is.
    #[cfg_attr(optimized, inline(always))]
    fn times_recip(self, recip: Self) -> Self {
        let product = self.value.times_recip(recip.value);
        chain_2!(self, recip, product, recip.value, self.value)
    }

    #[cfg_attr(optimized, inline(always))]
    fn within_one(self) -> Self {
        chain!(self, self.value.within_one(), self.value * -2.0)
    }

    #[cfg_attr(optimized, inline(always))]
    fn lorentzian(self) -> Self {
        let density = self.value.lorentzian();
        chain!(self, density, density.pulled(self.value) * density * -2.0)
    }

    #[cfg_attr(optimized, inline(always))]
    fn gaussian(self) -> Self {
        let density = self.value.gaussian();
        chain!(self, density, density.pulled(self.value) * -2.0)
    }
}

impl<R: Real, const N: usize> From<f64> for Dual<R, N> {
    #[cfg_attr(optimized, inline(always))]
    fn from(value: f64) -> Self {
        Self::constant(R::from(value))
    }
}

impl<R: Real, const N: usize> Neg for Dual<R, N> {
    type Output = Self;

    #[cfg_attr(optimized, inline(always))]
    fn neg(mut self) -> Self {
        self.value = -self.value;
        self.turned()
    }
}

impl<R: Real, const N: usize> Sum for Dual<R, N> {
    #[cfg_attr(optimized, inline(always))]
    fn sum<I: Iterator<Item = Self>>(numbers: I) -> Self {
        numbers.fold(Self::from(0.0), Add::add)
    }
}

impl<R: Real, const N: usize> Add for Dual<R, N> {
    type Output = Self;

    #[cfg_attr(optimized, inline(always))]
    fn add(mut self, other: Self) -> Self {
        self.value += other.value;
        self.plus(other)
    }
}

impl<R: Real, const N: usize> Sub for Dual<R, N> {
    type Output = Self;

    #[cfg_attr(optimized, inline(always))]
    fn sub(mut self, other: Self) -> Self {
        self.value -= other.value;
        self.plus(other.turned())
    }
}

impl<R: Real, const N: usize> Mul for Dual<R, N> {
    type Output = Self;

    #[cfg_attr(optimized, inline(always))]
    fn mul(self, other: Self) -> Self {
        let (x, y) = (self, other);
        chain_2!(x, y, x.value * y.value, y.value, x.value)
    }
}

impl<R: Real, const N: usize> Div for Dual<R, N> {
    type Output = Self;

    #[cfg_attr(optimized, inline(always))]
    fn div(self, other: Self) -> Self {
        let (x, y) = (self, other);
        let quotient = x.value / y.value;
        chain_2!(
            x,
            y,
            quotient,
            y.value.recip(),
            -quotient.times_recip(y.value.recip())
        )
    }
}

impl<R: Real, const N: usize> Add<f64> for Dual<R, N> {
    type Output = Self;

    #[cfg_attr(optimized, inline(always))]
    fn add(mut self, other: f64) -> Self {
        self.value += other;
        self
    }
}

impl<R: Real, const N: usize> Sub<f64> for Dual<R, N> {
    type Output = Self;

    #[cfg_attr(optimized, inline(always))]
    fn sub(mut self, other: f64) -> Self {
        self.value -= other;
        self
    }
}

impl<R: Real, const N: usize> Mul<f64> for Dual<R, N> {
    type Output = Self;

    #[cfg_attr(optimized, inline(always))]
    fn mul(self, other: f64) -> Self {
        self.multiplied(self.value * other, other)
    }
}

impl<R: Real, const N: usize> Div<f64> for Dual<R, N> {
    type Output = Self;

    #[cfg_attr(optimized, inline(always))]
    fn div(self, other: f64) -> Self {
        self.multiplied(self.value / other, other.recip())
    }
}

macro_rules! operators {
    ($($Trait:ident $method:ident $Assign:ident $assign:ident $sign:tt, |$x:ident, $y:ident| $first:expr;)*) => {$(
        impl<R: Real, const N: usize> $Trait<Dual<R, N>> for f64 {
            type Output = Dual<R, N>;

            #[cfg_attr(optimized, inline(always))]
            fn $method(self, $y: Dual<R, N>) -> Dual<R, N> {
                let $x = self;
                $first
            }
        }

        impl<R: Real, const N: usize> $Assign for Dual<R, N> {
            #[cfg_attr(optimized, inline(always))]
            fn $assign(&mut self, other: Self) {
                *self = *self $sign other;
            }
        }

        impl<R: Real, const N: usize> $Assign<f64> for Dual<R, N> {
            #[cfg_attr(optimized, inline(always))]
            fn $assign(&mut self, other: f64) {
                *self = *self $sign other;
            }
        }
    )*};
}

operators! {
    Add add AddAssign add_assign +, |x, y| y + x;
    Sub sub SubAssign sub_assign -, |x, y| -y + x;
    Mul mul MulAssign mul_assign *, |x, y| y * x;
    Div div DivAssign div_assign /, |x, y| {
        let quotient = R::from(x) / y.value;
        if y.is_constant() { Dual::constant(quotient) } else { y.scaled(quotient, -quotient.times_recip(y.value.recip())) }
    };
}

/// Implements comparisons of the values, one for each operator: a loop over `partial_cmp` would not be vector code.
macro_rules! compared {
    (<$R:ident, $N:ident> $This:ty, $Other:ty, |$x:ident, $y:ident| $left:expr, $right:expr) => {
        impl<$R: Real, const $N: usize> PartialEq<$Other> for $This {
            #[cfg_attr(optimized, inline(always))]
            fn eq(&self, other: &$Other) -> bool {
                let ($x, $y) = (self, other);
                $left == $right
            }
        }

        impl<$R: Real, const $N: usize> PartialOrd<$Other> for $This {
            #[cfg_attr(optimized, inline(always))]
            fn partial_cmp(&self, other: &$Other) -> Option<Ordering> {
                let ($x, $y) = (self, other);
                $left.partial_cmp(&$right)
            }

            #[cfg_attr(optimized, inline(always))]
            fn lt(&self, other: &$Other) -> bool {
                let ($x, $y) = (self, other);
                $left < $right
            }

            #[cfg_attr(optimized, inline(always))]
            fn le(&self, other: &$Other) -> bool {
                let ($x, $y) = (self, other);
                $left <= $right
            }

            #[cfg_attr(optimized, inline(always))]
            fn gt(&self, other: &$Other) -> bool {
                let ($x, $y) = (self, other);
                $left > $right
            }

            #[cfg_attr(optimized, inline(always))]
            fn ge(&self, other: &$Other) -> bool {
                let ($x, $y) = (self, other);
                $left >= $right
            }
        }
    };
}

compared!(<R, N> Dual<R, N>, Dual<R, N>, |x, y| x.value, y.value);
compared!(<R, N> Dual<R, N>, f64, |x, y| x.value, *y);

impl<R: Real, const N: usize> Real for Dual<R, N> {
    #[cfg_attr(optimized, inline(always))]
    fn exp(self) -> Self {
        let exp = self.value.exp();
        chain!(self, exp, exp)
    }

    #[cfg_attr(optimized, inline(always))]
    fn exp_m1(self) -> Self {
        let exp_m1 = self.value.exp_m1();
        chain!(self, exp_m1, exp_m1 + 1.0)
    }

    #[cfg_attr(optimized, inline(always))]
    fn ln(self) -> Self {
        chain!(self, self.value.ln(), self.value.recip())
    }

    #[cfg_attr(optimized, inline(always))]
    fn ln_1p(self) -> Self {
        chain!(self, self.value.ln_1p(), (self.value + 1.0).recip())
    }

    #[cfg_attr(optimized, inline(always))]
    fn powi(self, n: i32) -> Self {
        let power = self.value.powi(n);
        if n == 0 {
            return Self::constant(power);
        }
        // One less than the smallest does not exist.
        chain!(
            self,
            power,
            match n.checked_sub(1) {
                Some(lower) => self.value.powi(lower) * f64::from(n),
                None => power / self.value * f64::from(n),
            }
        )
    }

    #[cfg_attr(optimized, inline(always))]
    fn powf(self, p: impl Into<Self>) -> Self {
        let p = p.into();
        let power = self.value.powf(p.value);
        chain_2!(
            self,
            p,
            power,
            {
                let slope = p.value * self.value.powf(p.value - 1.0);
                // 0 · ∞ where x is 0 too. Elsewhere the slope is 0, but may have a derivative with respect to p.
                #[expect(clippy::eq_op, reason = "NaN alone differs from itself")]
                let is_nan = slope != slope;
                if p.value == 0.0 && (p.is_constant() || is_nan) {
                    R::from(0.0)
                } else {
                    slope
                }
            },
            if power == 0.0 {
                R::from(0.0)
            } else {
                power * self.value.ln()
            }
        )
    }

    #[cfg_attr(optimized, inline(always))]
    fn sqrt(self) -> Self {
        let root = self.value.sqrt();
        // The reciprocal is shared with a quotient by the root.
        chain!(self, root, root.recip() * 0.5)
    }

    #[cfg_attr(optimized, inline(always))]
    fn cbrt(self) -> Self {
        let root = self.value.cbrt();
        chain!(self, root, (root * root * 3.0).recip())
    }

    #[cfg_attr(optimized, inline(always))]
    fn recip(self) -> Self {
        let recip = self.value.recip();
        chain!(self, recip, -(recip * recip))
    }

    #[cfg_attr(optimized, inline(always))]
    fn abs(self) -> Self {
        chain!(
            self,
            self.value.abs(),
            if self.value == 0.0 {
                R::from(0.0)
            } else {
                self.value.signum()
            }
        )
    }

    #[cfg_attr(optimized, inline(always))]
    fn signum(self) -> Self {
        Self::constant(self.value.signum())
    }

    #[cfg_attr(optimized, inline(always))]
    fn floor(self) -> Self {
        Self::constant(self.value.floor())
    }

    #[cfg_attr(optimized, inline(always))]
    fn ceil(self) -> Self {
        Self::constant(self.value.ceil())
    }

    #[cfg_attr(optimized, inline(always))]
    fn round(self) -> Self {
        Self::constant(self.value.round())
    }

    #[cfg_attr(optimized, inline(always))]
    fn round_ties_even(self) -> Self {
        Self::constant(self.value.round_ties_even())
    }

    #[cfg_attr(optimized, inline(always))]
    fn detach(self) -> Self {
        Self::constant(self.value.detach())
    }

    #[cfg_attr(optimized, inline(always))]
    fn sin(self) -> Self {
        chain!(self, self.value.sin(), self.value.cos())
    }

    #[cfg_attr(optimized, inline(always))]
    fn cos(self) -> Self {
        chain!(self, self.value.cos(), -self.value.sin())
    }

    #[cfg_attr(optimized, inline(always))]
    fn tan(self) -> Self {
        let tan = self.value.tan();
        chain!(self, tan, tan * tan + 1.0)
    }

    #[cfg_attr(optimized, inline(always))]
    fn asin(self) -> Self {
        chain!(self, self.value.asin(), self.value.within_one().rsqrt())
    }

    #[cfg_attr(optimized, inline(always))]
    fn acos(self) -> Self {
        chain!(self, self.value.acos(), -self.value.within_one().rsqrt())
    }

    #[cfg_attr(optimized, inline(always))]
    fn atan(self) -> Self {
        chain!(self, self.value.atan(), self.value.lorentzian())
    }

    #[cfg_attr(optimized, inline(always))]
    fn atan2(self, x: impl Into<Self>) -> Self {
        let x = x.into();
        // No squares, which may overflow.
        let distance = self.value.hypot(x.value);
        chain_2!(
            self,
            x,
            self.value.atan2(x.value),
            x.value / distance / distance,
            -(self.value / distance / distance)
        )
    }

    #[cfg_attr(optimized, inline(always))]
    fn sinh(self) -> Self {
        chain!(self, self.value.sinh(), self.value.cosh())
    }

    #[cfg_attr(optimized, inline(always))]
    fn cosh(self) -> Self {
        chain!(self, self.value.cosh(), self.value.sinh())
    }

    #[cfg_attr(optimized, inline(always))]
    fn tanh(self) -> Self {
        let tanh = self.value.tanh();
        chain!(self, tanh, -(tanh * tanh) + 1.0)
    }

    #[cfg_attr(optimized, inline(always))]
    fn asinh(self) -> Self {
        // The derivative of the square of a half is in range.
        let half = self.value * 0.5;
        chain!(self, self.value.asinh(), (half * half + 0.25).rsqrt() * 0.5)
    }

    #[cfg_attr(optimized, inline(always))]
    fn acosh(self) -> Self {
        let half = self.value * 0.5;
        chain!(
            self,
            self.value.acosh(),
            ((half - 0.5) * (half + 0.5)).rsqrt() * 0.5
        )
    }

    #[cfg_attr(optimized, inline(always))]
    fn atanh(self) -> Self {
        chain!(self, self.value.atanh(), self.value.within_one().recip())
    }

    #[cfg_attr(optimized, inline(always))]
    fn sigmoid(self) -> Self {
        let sigmoid = self.value.sigmoid();
        chain!(self, sigmoid, sigmoid * (-sigmoid + 1.0))
    }

    #[cfg_attr(optimized, inline(always))]
    fn softplus(self) -> Self {
        chain!(self, self.value.softplus(), self.value.sigmoid())
    }

    #[cfg_attr(optimized, inline(always))]
    fn erf(self) -> Self {
        chain!(
            self,
            self.value.erf(),
            self.value.gaussian() * FRAC_2_SQRT_PI
        )
    }

    #[cfg_attr(optimized, inline(always))]
    fn normal_cdf(self) -> Self {
        chain!(self, self.value.normal_cdf(), self.value.normal_pdf())
    }

    #[cfg_attr(optimized, inline(always))]
    fn normal_pdf(self) -> Self {
        let density = self.value.normal_pdf();
        chain!(self, density, -(self.value * density))
    }

    #[cfg_attr(optimized, inline(always))]
    fn gelu(self) -> Self {
        chain!(
            self,
            self.value.gelu(),
            self.value.normal_cdf() + self.value * self.value.normal_pdf()
        )
    }

    #[cfg_attr(optimized, inline(always))]
    fn elu(self, alpha: impl Into<Self>) -> Self {
        let alpha = alpha.into();
        let zero = R::from(0.0);
        let is_right = self.value > 0.0;
        let exp_m1 = self.value.exp_m1();
        // eˣ itself: eˣ − 1 + 1 has few digits far on the left.
        let exp = self.value.exp() * alpha.value;
        let left = exp_m1 * alpha.value;
        chain_2!(
            self,
            alpha,
            if is_right { self.value } else { left },
            if is_right { R::from(1.0) } else { exp },
            if is_right { zero } else { exp_m1 }
        )
    }

    #[cfg_attr(optimized, inline(always))]
    fn hypot(self, y: impl Into<Self>) -> Self {
        let y = y.into();
        let hypot = self.value.hypot(y.value);
        chain_2!(
            self,
            y,
            hypot,
            if hypot == 0.0 {
                R::from(0.0)
            } else {
                self.value / hypot
            },
            if hypot == 0.0 {
                R::from(0.0)
            } else {
                y.value / hypot
            }
        )
    }

    #[cfg_attr(optimized, inline(always))]
    fn max(self, other: impl Into<Self>) -> Self {
        let (this, other) = (self.unturned(), other.into().unturned());
        // The value may have tangents too, which are shared as well.
        let value = this.value.max(other.value);
        if R::IS_RECORDED {
            return this.mixed(other, value, this.value.share(other.value));
        }
        let shared = other.shared(this, value);
        #[expect(clippy::eq_op, reason = "NaN alone differs from itself")]
        let is_first = this > other || this != this;
        let larger = if is_first { this } else { other };
        if this == other { shared } else { larger }
    }

    #[cfg_attr(optimized, inline(always))]
    fn min(self, other: impl Into<Self>) -> Self {
        let (this, other) = (self.unturned(), other.into().unturned());
        let value = this.value.min(other.value);
        if R::IS_RECORDED {
            return this.mixed(other, value, (-this.value).share(-other.value));
        }
        let shared = other.shared(this, value);
        #[expect(clippy::eq_op, reason = "NaN alone differs from itself")]
        let is_first = this < other || this != this;
        let smaller = if is_first { this } else { other };
        if this == other { shared } else { smaller }
    }
}
