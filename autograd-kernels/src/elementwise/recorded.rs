//! Numbers of some lanes at once, whose operations are recorded for a pass backward.
//!
//! Dual numbers carry a tangent for each variable, which pays for few: the compiler then holds all of them in registers.
//! A formula of many numbers, as with rows of states and weights, is recorded instead: each operation is a loop over the
//! lanes of a block, which keeps the value and the slopes, and the gradients with respect to all inputs follow from one
//! pass over the operations in reverse. The slopes are those of dual numbers, of each operation alone.
//!
//! The lanes of a number must take the same branches. Where a comparison has different results, the block is said to be
//! divided, and its lanes are computed with dual numbers.

use std::cell::RefCell;
use std::cmp::Ordering;
use std::iter::Sum;
use std::mem::MaybeUninit;
use std::ops::{Add, AddAssign, Div, DivAssign, Mul, MulAssign, Neg, Sub, SubAssign};
use std::thread::LocalKey;

use super::dual::Dual;
use super::each::each;
use crate::element::number::Number;
use crate::element::real::{Real, sealed};
use crate::element::{Any, Element, ElementType, Family};
use crate::loops::wide::{Loop, compiled};

/// The lanes of a number: few enough that the values of some hundred operations stay in the second cache.
pub(crate) const WIDTH: usize = 64;

/// The most operations, some ten megabytes: a loop in a formula may have more.
const MOST: usize = 1 << 13;

/// One element for each lane.
pub(crate) type Lanes<T> = [T; WIDTH];

/// The operations that were recorded on this thread.
#[derive(Debug)]
pub(crate) struct Tape<T> {
    /// The values and the slopes of operations, and room for more: what was written once is not cleared.
    blocks: Vec<Lanes<T>>,
    used: usize,
    operations: Vec<Operation<T>>,
    adjoints: Vec<Lanes<T>>,
    /// Whether a comparison had different results, or there are too many operations to record.
    is_divided: bool,
}

#[derive(Clone, Copy, Debug)]
struct Operation<T> {
    value: usize,
    /// Whether it depends on an input whose gradient is wanted.
    is_live: bool,
    /// The operands, each with the slope along it.
    operands: [Option<(usize, Slope<T>)>; 2],
}

#[derive(Clone, Copy, Debug)]
enum Slope<T> {
    /// The same for all lanes.
    Number(T),
    /// A block.
    Block(usize),
}

impl<T> Tape<T> {
    pub(crate) const fn new() -> Self {
        Self {
            blocks: Vec::new(),
            used: 0,
            operations: Vec::new(),
            adjoints: Vec::new(),
            is_divided: false,
        }
    }
}

impl<T: Element> Tape<T> {
    /// Forgets all operations.
    pub(crate) fn clear(&mut self) {
        self.used = 0;
        self.operations.clear();
        self.is_divided = false;
    }

    pub(crate) fn is_divided(&self) -> bool {
        self.is_divided
    }

    /// Adds an input with these elements, of which there is one at least. The last one is repeated.
    pub(crate) fn input(&mut self, elements: &[T], is_wanted: bool) -> Recorded<T> {
        let value = self.add_blocks([], |[], [lanes]| {
            let (first, rest) = lanes.split_at_mut(elements.len());
            first.copy_from_slice(elements);
            rest.fill(elements[elements.len() - 1]);
        });
        self.add(value, is_wanted, [None, None])
    }

    /// Adds blocks for `N` results of some numbers, all of which `fill` writes. Returns the number of the first one.
    #[inline]
    fn add_blocks<const I: usize, const N: usize>(
        &mut self,
        numbers: [Recorded<T>; I],
        fill: impl FnOnce([&Lanes<T>; I], &mut [Lanes<T>; N]),
    ) -> usize {
        let first = self.used;
        self.used += N;
        if self.blocks.len() < self.used {
            self.blocks.resize(self.used, [T::zero(); WIDTH]);
        }
        let (before, results) = self.blocks.split_at_mut(first);
        let mut constants = [const { MaybeUninit::<Lanes<T>>::uninit() }; I];
        let mut constants = constants.iter_mut();
        let inputs = numbers.map(|number| match number {
            Recorded::Operation(index) => &before[self.operations[index].value],
            // INVARIANT: there is room for each.
            Recorded::Constant(value) => constants.next().expect("room").write([value; WIDTH]),
        });
        // INVARIANT: there are as many blocks, as was just seen to.
        fill(inputs, results.first_chunk_mut().expect("the blocks"));
        first
    }

    fn add(
        &mut self,
        value: usize,
        is_live: bool,
        operands: [Option<(usize, Slope<T>)>; 2],
    ) -> Recorded<T> {
        if self.operations.len() == MOST {
            self.is_divided = true;
            self.used = value;
            return Recorded::Constant(self.blocks[value][0]);
        }
        self.operations.push(Operation {
            value,
            is_live,
            operands,
        });
        Recorded::Operation(self.operations.len() - 1)
    }

    fn lanes(&self, number: Recorded<T>) -> Lanes<T> {
        match number {
            Recorded::Constant(value) => [value; WIDTH],
            Recorded::Operation(index) => self.blocks[self.operations[index].value],
        }
    }

    /// Returns a number as a slope.
    fn slope(&self, number: Recorded<T>) -> Slope<T> {
        match number {
            Recorded::Constant(value) => Slope::Number(value),
            Recorded::Operation(index) => Slope::Block(self.operations[index].value),
        }
    }

    fn is_live(&self, number: Recorded<T>) -> bool {
        match number {
            Recorded::Constant(_) => false,
            Recorded::Operation(index) => self.operations[index].is_live,
        }
    }

    /// Returns the operand of an operation, with its slope, if gradients pass through it.
    fn operand(&self, number: Recorded<T>, slope: Slope<T>) -> Option<(usize, Slope<T>)> {
        match number {
            Recorded::Operation(index) if self.operations[index].is_live => Some((index, slope)),
            _ => None,
        }
    }

    /// Computes the gradients of the sum of some numbers, each times those of its lanes that are given, and calls `each`
    /// with the number of each input and its gradients: of the inputs that were wanted, and were added first.
    #[inline(always)]
    pub(crate) fn pull<'g>(
        &mut self,
        numbers: &[Recorded<T>],
        gradients: impl Fn(usize) -> &'g [T],
        inputs: usize,
        mut each: impl FnMut(usize, &Lanes<T>),
    ) where
        T: 'g,
    {
        self.adjoints.clear();
        self.adjoints
            .resize(self.operations.len(), [T::zero(); WIDTH]);
        for (place, &number) in numbers.iter().enumerate() {
            if let Recorded::Operation(index) = number {
                let gradients = gradients(place);
                for (adjoint, &gradient) in self.adjoints[index].iter_mut().zip(gradients) {
                    *adjoint += gradient;
                }
            }
        }
        for (index, operation) in self.operations.iter().enumerate().rev() {
            let (before, rest) = self.adjoints.split_at_mut(index);
            for (operand, slope) in operation.operands.into_iter().flatten() {
                match slope {
                    Slope::Number(slope) => add_number(&mut before[operand], &rest[0], slope),
                    Slope::Block(slope) => {
                        add_products(&mut before[operand], &rest[0], &self.blocks[slope]);
                    }
                }
            }
        }
        for input in 0..inputs {
            if self.operations[input].is_live {
                each(input, &self.adjoints[input]);
            }
        }
    }
}

#[inline(always)]
fn add_number<T: Element>(to: &mut Lanes<T>, adjoint: &Lanes<T>, slope: T) {
    for lane in 0..WIDTH {
        to[lane] += adjoint[lane] * slope;
    }
}

/// Adds products. A gradient of 0 passes no slope on, even if it is infinite: a lane may be there that a maximum did not
/// choose.
#[inline(always)]
fn add_products<T: Element>(to: &mut Lanes<T>, adjoint: &Lanes<T>, slope: &Lanes<T>) {
    for lane in 0..WIDTH {
        let product = adjoint[lane] * slope[lane];
        to[lane] += if adjoint[lane] == T::zero() {
            T::zero()
        } else {
            product
        };
    }
}

/// A number of all lanes of a block: a constant, or the operation of the thread's tape that computed it.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Recorded<T> {
    Constant(T),
    Operation(usize),
}

thread_local! {
    static SINGLE: RefCell<Tape<f32>> = const { RefCell::new(Tape::new()) };
    static DOUBLE: RefCell<Tape<f64>> = const { RefCell::new(Tape::new()) };
}

/// The tapes of both element types.
struct Tapes;

impl Family for Tapes {
    type Of<T: Element> = &'static LocalKey<RefCell<Tape<T>>>;
}

/// Returns the thread's tape of an element type.
pub(crate) fn tape<T: Element>() -> &'static LocalKey<RefCell<Tape<T>>> {
    let tape = match T::TYPE {
        ElementType::F32 => Any::F32(&SINGLE),
        ElementType::F64 => Any::F64(&DOUBLE),
    };
    // INVARIANT: it is of the type that was asked for.
    T::from_any::<Tapes>(tape).expect("the same type")
}

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
                    slope[lane] = slope_of(&result, 0);
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
                    of_x[lane] = slope_of(&result, 0);
                }
                if Y {
                    of_y[lane] = slope_of(&result, 1);
                }
            }
        }
        each::<T, X, Y>(self.x, self.y, self.value, self.slopes, &self.f);
    }
}

#[inline(always)]
fn slope_of<T: Element, const N: usize>(number: &Dual<T::Number, N>, index: usize) -> T {
    match number.tangent(index) {
        Some(slope) => slope.element(),
        None => T::zero(),
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
            tape.add(value, operand.is_some(), [operand, None])
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
            tape.add(value, live.contains(&true), operands)
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
            let is_live = operands.iter().any(Option::is_some);
            tape.add(value, is_live, operands)
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

/// Returns the results of a formula that is computed by `call`, recorded on a tape that was cleared.
pub(crate) fn recorded<T: Element, const I: usize, const O: usize>(
    inputs: [(&[T], bool); I],
    call: impl FnOnce([Recorded<T>; I]) -> [Recorded<T>; O],
) -> [Recorded<T>; O] {
    let mut numbers = [Recorded::Constant(T::zero()); I];
    tape().with_borrow_mut(|tape: &mut Tape<T>| {
        tape.clear();
        each!(input < I => {
            let (elements, is_wanted) = inputs[input];
            numbers[input] = tape.input(elements, is_wanted);
        });
    });
    call(numbers)
}

/// Returns the values of the results of a formula that is computed by `call`, if all lanes took the same branches.
pub(crate) fn values<T: Element, const I: usize, const O: usize>(
    inputs: [(&[T], bool); I],
    call: impl FnOnce([Recorded<T>; I]) -> [Recorded<T>; O],
) -> Option<[Lanes<T>; O]> {
    let results = recorded(inputs, call);
    tape().with_borrow(|tape: &Tape<T>| {
        let lanes = || results.map(|result| tape.lanes(result));
        (!tape.is_divided).then(lanes)
    })
}
