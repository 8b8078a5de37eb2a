//! Items put together into a batch.

use ndarray::{Array, Array1, Dimension, IxDyn, RemoveAxis};

use super::error::BoxError;
use crate::ndarray;

/// Makes a batch of items. Every function from `Vec<Item>` to `Result<Batch, BoxError>` does; [`Stacked`]
/// is the usual one.
///
/// ```
/// use pullback::data::{BoxError, Collate, DataLoader, from_fn};
///
/// /// Of numbers, only the largest.
/// struct Largest;
///
/// impl Collate<usize> for Largest {
///     type Batch = usize;
///
///     fn collate(&self, items: Vec<usize>) -> Result<usize, BoxError> {
///         items.into_iter().max().ok_or_else(|| "no items".into())
///     }
/// }
///
/// let loader = DataLoader::with_collate(from_fn(5, Ok), Largest).batch_size(3);
/// let largest: Vec<usize> = loader.epoch(0).map(Result::unwrap).collect();
/// assert_eq!(largest, [2, 4]);
/// ```
pub trait Collate<Item> {
    /// What items become together.
    type Batch;

    /// The batch of `items`, of which there is at least one.
    ///
    /// # Errors
    /// Items that do not fit together.
    ///
    /// ```
    /// use pullback::data::{BoxError, Collate};
    ///
    /// // A function is one.
    /// let longest = |items: Vec<&str>| items.iter().map(|item| item.len()).max().ok_or(BoxError::from("no items"));
    /// assert_eq!(longest.collate(vec!["a", "abc"]).unwrap(), 3);
    /// ```
    fn collate(&self, items: Vec<Item>) -> Result<Self::Batch, BoxError>;
}

impl<Item, Batch, F> Collate<Item> for F
where
    F: Fn(Vec<Item>) -> Result<Batch, BoxError>,
{
    type Batch = Batch;

    fn collate(&self, items: Vec<Item>) -> Result<Batch, BoxError> {
        self(items)
    }
}

/// Collates as [`Stack`] does.
///
/// ```
/// use pullback::data::{Collate, Stacked};
/// use pullback::ndarray::array;
///
/// let batch = Stacked.collate(vec![(1.5, 1), (2.5, 0)]).unwrap();
/// assert_eq!(batch, (array![1.5, 2.5], vec![1, 0]));
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Stacked;

impl<Item: Stack> Collate<Item> for Stacked {
    type Batch = Item::Batch;

    fn collate(&self, items: Vec<Item>) -> Result<Item::Batch, BoxError> {
        Item::stack(items)
    }
}

/// Items that it is clear how to put together:
///
/// - arrays of one shape become an array with one axis more, the first;
/// - numbers with a fraction, `f32` and `f64`, become an array of rank 1, which a tensor can be made of;
/// - labels (integers, `bool`, texts) and vectors of any lengths become a vector;
/// - tuples become tuples of these.
///
/// ```
/// use pullback::data::Stack;
/// use pullback::ndarray::array;
///
/// let items = vec![(array![1.0, 2.0], 7), (array![3.0, 4.0], 8)];
/// let (rows, labels) = Stack::stack(items).unwrap();
/// assert_eq!(rows, array![[1.0, 2.0], [3.0, 4.0]]);
/// assert_eq!(labels, [7, 8]);
/// ```
pub trait Stack: Sized {
    /// What several become together.
    type Batch;

    /// All `items`, in their order.
    ///
    /// # Errors
    /// Arrays of different shapes, or none at all, whose shape nobody knows.
    ///
    /// ```
    /// use pullback::data::Stack;
    /// use pullback::ndarray::array;
    ///
    /// assert_eq!(Stack::stack(vec![array![1.0], array![2.0]]).unwrap(), array![[1.0], [2.0]]);
    /// let error = Stack::stack(vec![array![1.0], array![2.0, 3.0]]).unwrap_err();
    /// assert!(error.to_string().contains("[2]"));
    /// ```
    fn stack(items: Vec<Self>) -> Result<Self::Batch, BoxError>;
}

impl<T: Clone, D> Stack for Array<T, D>
where
    D: Dimension,
    D::Larger: RemoveAxis,
{
    type Batch = Array<T, D::Larger>;

    fn stack(items: Vec<Self>) -> Result<Self::Batch, BoxError> {
        let first = items.first().ok_or("no arrays to stack")?;
        let different = |(_, item): &(usize, &Self)| item.shape() != first.shape();
        if let Some((place, item)) = items.iter().enumerate().find(different) {
            let (shape, expected) = (item.shape(), first.shape());
            return Err(format!(
                "arrays to stack must have one shape: the first has {expected:?}, number {place} has {shape:?}"
            )
            .into());
        }
        let mut elements = Vec::with_capacity(items.len() * first.len());
        for item in &items {
            match item.as_slice() {
                Some(slice) => elements.extend_from_slice(slice),
                None => elements.extend(item.iter().cloned()),
            }
        }
        let shape = [&[items.len()], first.shape()].concat();
        let stacked = Array::from_shape_vec(IxDyn(&shape), elements)?;
        Ok(stacked.into_dimensionality()?)
    }
}

macro_rules! stack_to_array {
    ($($number:ty),*) => {$(
        impl Stack for $number {
            type Batch = Array1<$number>;

            fn stack(items: Vec<Self>) -> Result<Self::Batch, BoxError> {
                Ok(items.into())
            }
        }
    )*};
}

stack_to_array!(f32, f64);

macro_rules! stack_to_vector {
    ($($label:ty $(, of $parameter:ident)?);* $(;)?) => {$(
        impl$(<$parameter>)? Stack for $label {
            type Batch = Vec<$label>;

            fn stack(items: Vec<Self>) -> Result<Self::Batch, BoxError> {
                Ok(items)
            }
        }
    )*};
}

stack_to_vector! {
    u8; u16; u32; u64; u128; usize; i8; i16; i32; i64; i128; isize; bool; char; ();
    String; &'static str; Vec<T>, of T; Option<T>, of T;
}

macro_rules! stack_tuples {
    ($($(($item:ident, $items:ident)),+;)*) => {$(
        impl<$($item: Stack),+> Stack for ($($item,)+) {
            type Batch = ($($item::Batch,)+);

            fn stack(all: Vec<Self>) -> Result<Self::Batch, BoxError> {
                $(let mut $items = Vec::with_capacity(all.len());)+
                for item in all {
                    #[allow(non_snake_case, reason = "the names of the types")]
                    let ($($item,)+) = item;
                    $($items.push($item);)+
                }
                Ok(($($item::stack($items)?,)+))
            }
        }
    )*};
}

stack_tuples! {
    (A, a);
    (A, a), (B, b);
    (A, a), (B, b), (C, c);
    (A, a), (B, b), (C, c), (D, d);
    (A, a), (B, b), (C, c), (D, d), (E, e);
}

#[cfg(test)]
mod tests {
    use super::*;
    use ndarray::{Array2, Array3, ArrayD, array};

    #[test]
    fn arrays_of_any_rank_and_layout_are_stacked_in_order() {
        let cube = Array3::from_shape_fn((4, 2, 3), |(i, j, k)| 100 * i + 10 * j + k);
        let items: Vec<Array2<usize>> = cube.outer_iter().map(|item| item.to_owned()).collect();
        assert_eq!(Stack::stack(items.clone()).unwrap(), cube);
        let turned = items.into_iter().map(Array2::reversed_axes).collect();
        assert_eq!(
            Array2::stack(turned).unwrap(),
            cube.view().permuted_axes([0, 2, 1])
        );
        let dynamic = vec![ArrayD::<u8>::zeros(IxDyn(&[2])); 3];
        assert_eq!(Stack::stack(dynamic).unwrap().shape(), [3, 2]);
        let empty = vec![Array2::<f32>::zeros((0, 2)); 3];
        assert_eq!(Stack::stack(empty).unwrap().dim(), (3, 0, 2));
        assert_eq!(Stack::stack(vec![1.5_f32, 2.5]).unwrap(), array![1.5, 2.5]);
    }

    #[test]
    fn tuples_are_stacked_part_by_part() {
        let items = vec![(1_usize, true, vec!['a'], 1.0), (2, false, vec![], 2.0)];
        let (labels, flags, letters, numbers) = Stack::stack(items).unwrap();
        assert_eq!((labels, flags), (vec![1, 2], vec![true, false]));
        assert_eq!(
            (letters, numbers),
            (vec![vec!['a'], vec![]], array![1.0, 2.0])
        );
    }

    #[test]
    fn arrays_of_several_shapes_are_refused() {
        let items = vec![
            (Array2::<f32>::zeros((1, 2)), 0),
            (Array2::zeros((2, 1)), 1),
        ];
        assert_eq!(
            Stack::stack(items).unwrap_err().to_string(),
            "arrays to stack must have one shape: the first has [1, 2], number 1 has [2, 1]"
        );
        let none = Vec::<Array2<f32>>::new();
        assert_eq!(
            Stack::stack(none).unwrap_err().to_string(),
            "no arrays to stack"
        );
    }
}
