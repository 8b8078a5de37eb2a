//! The tape of a thread: the operations on blocks of lanes, and the pass over them in reverse.

use std::cell::RefCell;
use std::mem::MaybeUninit;
use std::thread::LocalKey;

use crate::element::{Any, Element, ElementType, Family};

/// The lanes of a number: few enough that the values of some hundred operations stay in the second cache.
pub(crate) const WIDTH: usize = 64;

/// The most operations, some ten megabytes: a loop in a formula may have more.
const MOST: usize = 1 << 13;

/// One element for each lane.
pub(crate) type Lanes<T> = [T; WIDTH];

/// A number of all lanes of a block: a constant, or the operation of the thread's tape that computed it.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Recorded<T> {
    Constant(T),
    Operation(usize),
}

/// The operations that were recorded on this thread.
#[derive(Debug)]
pub(crate) struct Tape<T> {
    /// The values and the slopes of operations, and room for more: what was written once is not cleared.
    blocks: Vec<Lanes<T>>,
    used: usize,
    operations: Vec<Operation<T>>,
    adjoints: Vec<Lanes<T>>,
    /// Whether a comparison had different results, or there are too many operations to record.
    pub(super) is_divided: bool,
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
pub(super) enum Slope<T> {
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
        self.push(value, is_wanted, [None, None])
    }

    /// Adds blocks for `N` results of some numbers, all of which `fill` writes. Returns the number of the first one.
    #[inline]
    pub(super) fn add_blocks<const I: usize, const N: usize>(
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

    /// Adds an operation.
    pub(super) fn add(
        &mut self,
        value: usize,
        operands: [Option<(usize, Slope<T>)>; 2],
    ) -> Recorded<T> {
        self.push(value, operands.iter().any(Option::is_some), operands)
    }

    fn push(
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

    pub(super) fn lanes(&self, number: Recorded<T>) -> Lanes<T> {
        match number {
            Recorded::Constant(value) => [value; WIDTH],
            Recorded::Operation(index) => self.blocks[self.operations[index].value],
        }
    }

    /// Returns a number as a slope.
    pub(super) fn slope(&self, number: Recorded<T>) -> Slope<T> {
        match number {
            Recorded::Constant(value) => Slope::Number(value),
            Recorded::Operation(index) => Slope::Block(self.operations[index].value),
        }
    }

    pub(super) fn is_live(&self, number: Recorded<T>) -> bool {
        match number {
            Recorded::Constant(_) => false,
            Recorded::Operation(index) => self.operations[index].is_live,
        }
    }

    /// Returns the operand of an operation, with its slope, if gradients pass through it.
    pub(super) fn operand(
        &self,
        number: Recorded<T>,
        slope: Slope<T>,
    ) -> Option<(usize, Slope<T>)> {
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
