//! Inputs and outputs of functions, with their types: a tensor, a list, or a tuple of these; and their conversions to
//! and from `AnyTensor`s.

use ndarray::Dimension;

use super::AnyTensor;
use crate::error::{Error, ErrorKind};
use crate::tensor::Tensor;
use autograd_kernels::Element;

/// The tensor inputs of a function: a tensor by reference, a list of tensors of one type (a slice, an array or a vector
/// by reference), or a tuple of up to twelve of these. The element types and ranks of a tuple's tensors may differ.
///
/// Errors count the tensors from 0, and those of a list one by one. A generic rank must be `'static`:
/// `D: Dimension + 'static`.
///
/// ```
/// use pullback::{Error, Gradcheck, InputTensors, Tensor, grad};
/// use pullback::ndarray::array;
///
/// let leaf = |x: f64| Tensor::from(array![x]).set_requires_grad(true);
/// let (x, weights) = (leaf(1.0), [leaf(2.0), leaf(3.0), leaf(5.0)]);
/// let product = || (&weights[0] * &weights[1] * &weights[2] * &x).sum();
/// let (first, third) = grad(&product(), (&weights[0], &weights[2]))?;
/// let (dx, all) = grad(&product(), (&x, &weights))?;
/// assert_eq!((first.to_array(), third.to_array()), (array![15.0], array![6.0]));
/// assert_eq!((dx.to_array(), all.len(), all[1].to_array()), (array![30.0], 3, array![10.0]));
///
/// /// Checks a function as this program needs it.
/// fn check<I: InputTensors>(function: impl Fn(I::Refs<'_>) -> Tensor<f64>, inputs: I) -> Result<(), Error> {
///     Gradcheck::new().second_order().thorough().run(function, inputs)
/// }
/// check(|x| x.sin().into_dyn(), &x)?;
/// check(|(x, weights)| (x * &weights[0] * &weights[2]).into_dyn(), (&x, &weights))?;
/// # Ok::<(), pullback::Error>(())
/// ```
pub trait InputTensors {
    /// The arguments of the function: the same tensors for any lifetime. A list is a slice.
    type Refs<'a>;
    /// Tensors of the same types by value, such as gradients. A list is a `Vec`.
    type Owned: OutputTensors;
    /// Optional tensors of the same types; `None` for a tensor without a gradient.
    type Optional;

    #[doc(hidden)]
    fn to_tensors(&self) -> Self::Owned;

    #[doc(hidden)]
    fn refs(tensors: &Self::Owned) -> Self::Refs<'_>;

    #[doc(hidden)]
    fn read_optional(lengths: Lengths<Self>, from: Reader<'_, Option<AnyTensor>>)
    -> Self::Optional;

    #[doc(hidden)]
    fn with<R>(
        lengths: Lengths<Self>,
        tensors: &[AnyTensor],
        call: impl for<'a> FnOnce(Self::Refs<'a>) -> R,
    ) -> R {
        let tensors = Self::Owned::read(lengths, &mut tensors.iter().cloned());
        call(Self::refs(&tensors))
    }
}

/// The tensor outputs of a function: a tensor, a `Vec` of tensors of one type, or a tuple of up to twelve of
/// these.
///
/// ```
/// use pullback::ndarray::array;
/// use pullback::{Error, Gradcheck, OutputTensors, Tensor, Tensor1};
///
/// fn check_at_one<O: OutputTensors>(function: impl Fn(&Tensor1<f64>) -> O) -> Result<(), Error> {
///     Gradcheck::new().run(|x| function(x), &Tensor::from(array![1.0, 1.0]))
/// }
///
/// check_at_one(|x| x.sin())?;
/// check_at_one(|x| (x.exp(), vec![x.sum(), x.mean()]))?;
/// # Ok::<(), pullback::Error>(())
/// ```
pub trait OutputTensors: Sized {
    /// The lengths of the lists, which are not in their types.
    #[doc(hidden)]
    type Lengths: Copy + PartialEq + Send + Sync + 'static;

    #[doc(hidden)]
    fn lengths(&self) -> Self::Lengths;

    #[doc(hidden)]
    fn write(self, to: &mut Vec<AnyTensor>);

    #[doc(hidden)]
    fn read(lengths: Self::Lengths, from: Reader<'_, AnyTensor>) -> Self;

    /// The number of tensors, without those of lists.
    #[doc(hidden)]
    const SINGLE: usize;

    /// Reads tensors that may have other types; a list takes all remaining ones.
    #[doc(hidden)]
    fn check(from: Reader<'_, (usize, AnyTensor)>) -> Option<Result<Self, ErrorKind>>;

    #[doc(hidden)]
    fn into_erased(self) -> Vec<AnyTensor> {
        let mut tensors = Vec::new();
        self.write(&mut tensors);
        tensors
    }

    #[doc(hidden)]
    fn from_erased(lengths: Self::Lengths, tensors: Vec<AnyTensor>) -> Self {
        Self::read(lengths, &mut tensors.into_iter())
    }
}

/// The lengths of the lists of inputs.
pub(crate) type Lengths<I> = <<I as InputTensors>::Owned as OutputTensors>::Lengths;

/// A function of tensors of any types.
pub(crate) type ErasedFn<'f> = dyn Fn(&[AnyTensor]) -> Result<Vec<AnyTensor>, Error> + 'f;

/// Converts `function`, of inputs with lists of these lengths, to a function of tensors of any types.
pub(crate) fn erased<I: InputTensors, O: OutputTensors>(
    lengths: Lengths<I>,
    function: impl for<'a> Fn(I::Refs<'a>) -> O,
) -> impl Fn(&[AnyTensor]) -> Result<Vec<AnyTensor>, Error> {
    move |tensors| Ok(I::with(lengths, tensors, |refs| function(refs)).into_erased())
}

/// Tensors to read, in the order in which they were written.
pub(crate) type Reader<'r, T> = &'r mut dyn Iterator<Item = T>;

fn next<T>(from: Reader<'_, T>) -> T {
    // INVARIANT: the same number is read as was written, see `Lengths`.
    from.next().expect("a tensor for each that was written")
}

impl<T: Element, D: Dimension> OutputTensors for Tensor<T, D> {
    #[doc(hidden)]
    type Lengths = ();

    fn lengths(&self) {}

    fn write(self, to: &mut Vec<AnyTensor>) {
        to.push(AnyTensor::new(self));
    }

    fn read((): (), from: Reader<'_, AnyTensor>) -> Self {
        next(from).into_typed()
    }

    const SINGLE: usize = 1;

    fn check(from: Reader<'_, (usize, AnyTensor)>) -> Option<Result<Self, ErrorKind>> {
        let (position, tensor) = from.next()?;
        let found = (tensor.element_type(), tensor.shape().len());
        let typed = tensor.into_tensor::<T>();
        let typed = typed.and_then(Tensor::into_dimensionality);
        Some(typed.ok_or(ErrorKind::InputType {
            position,
            expected: (T::TYPE, D::NDIM),
            found,
        }))
    }
}

impl<T: Element, D: Dimension + 'static> InputTensors for &Tensor<T, D> {
    type Refs<'a> = &'a Tensor<T, D>;
    type Owned = Tensor<T, D>;
    type Optional = Option<Tensor<T, D>>;

    fn to_tensors(&self) -> Self::Owned {
        (*self).clone()
    }

    fn refs(tensors: &Self::Owned) -> Self::Refs<'_> {
        tensors
    }

    fn read_optional((): (), from: Reader<'_, Option<AnyTensor>>) -> Self::Optional {
        next(from).map(AnyTensor::into_typed)
    }
}

impl<T: Element, D: Dimension> OutputTensors for Vec<Tensor<T, D>> {
    type Lengths = usize;

    fn lengths(&self) -> usize {
        self.len()
    }

    fn write(self, to: &mut Vec<AnyTensor>) {
        to.extend(self.into_iter().map(AnyTensor::new));
    }

    fn read(length: usize, from: Reader<'_, AnyTensor>) -> Self {
        (0..length).map(|_| Tensor::read((), from)).collect()
    }

    const SINGLE: usize = 0;

    fn check(from: Reader<'_, (usize, AnyTensor)>) -> Option<Result<Self, ErrorKind>> {
        Some(std::iter::from_fn(|| Tensor::check(from)).collect())
    }
}

/// Calls a macro with each type of a list of tensors.
macro_rules! each_list {
    ($list:ident) => {
        $list!(() &[&Tensor<T, D>]);
        $list!(() &[Tensor<T, D>]);
        $list!(() &Vec<Tensor<T, D>>);
        $list!((N) &[&Tensor<T, D>; N]);
        $list!((N) &[Tensor<T, D>; N]);
    };
}

pub(crate) use each_list;

macro_rules! list {
    (($($N:ident)?) $List:ty) => {
        impl<T: Element, D: Dimension + 'static, $(const $N: usize)?> InputTensors for $List {
            type Refs<'a> = &'a [Tensor<T, D>];
            type Owned = Vec<Tensor<T, D>>;
            type Optional = Vec<Option<Tensor<T, D>>>;

            fn to_tensors(&self) -> Self::Owned {
                self.iter().map(|tensor| Tensor::clone(tensor)).collect()
            }

            fn refs(tensors: &Self::Owned) -> Self::Refs<'_> {
                tensors
            }

            fn read_optional(length: usize, from: Reader<'_, Option<AnyTensor>>) -> Self::Optional {
                (0..length).map(|_| next(from).map(AnyTensor::into_typed)).collect()
            }
        }
    };
}

each_list!(list);

/// Calls a macro with the names and indices of each tuple's elements.
#[doc(hidden)]
#[macro_export]
macro_rules! each_tuple {
    ($tuple:ident) => {
        $crate::each_tuple!($tuple: () A 0 B 1 C 2 D 3 E 4 F 5 G 6 H 7 I 8 J 9 K 10 L 11);
    };
    ($tuple:ident: ($($before:tt)*)) => {};
    ($tuple:ident: ($($before:tt)*) $Name:ident $index:tt $($after:tt)*) => {
        $tuple!($($before)* $Name $index);
        $crate::each_tuple!($tuple: ($($before)* $Name $index) $($after)*);
    };
}
pub use each_tuple;

macro_rules! tuple {
    ($($Name:ident $index:tt)+) => {
        impl<$($Name: OutputTensors),+> OutputTensors for ($($Name,)+) {
            type Lengths = ($($Name::Lengths,)+);

            fn lengths(&self) -> Self::Lengths {
                ($(self.$index.lengths(),)+)
            }

            fn write(self, to: &mut Vec<AnyTensor>) {
                $(self.$index.write(to);)+
            }

            fn read(lengths: Self::Lengths, from: Reader<'_, AnyTensor>) -> Self {
                ($($Name::read(lengths.$index, from),)+)
            }

            const SINGLE: usize = 0 $(+ $Name::SINGLE)+;

            fn check(from: Reader<'_, (usize, AnyTensor)>) -> Option<Result<Self, ErrorKind>> {
                Some(Ok(($(
                    match $Name::check(from)? {
                        Ok(tensors) => tensors,
                        Err(kind) => return Some(Err(kind)),
                    },
                )+)))
            }
        }

        impl<$($Name: InputTensors),+> InputTensors for ($($Name,)+) {
            type Refs<'a> = ($($Name::Refs<'a>,)+);
            type Owned = ($($Name::Owned,)+);
            type Optional = ($($Name::Optional,)+);

            fn to_tensors(&self) -> Self::Owned {
                ($(self.$index.to_tensors(),)+)
            }

            fn refs(tensors: &Self::Owned) -> Self::Refs<'_> {
                ($($Name::refs(&tensors.$index),)+)
            }

            fn read_optional(
                lengths: Lengths<Self>,
                from: Reader<'_, Option<AnyTensor>>,
            ) -> Self::Optional {
                ($($Name::read_optional(lengths.$index, from),)+)
            }
        }
    };
}

each_tuple!(tuple);
