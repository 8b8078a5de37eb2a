//! Data sets in memory.

use ndarray::{Array, ArrayView, Axis, Dimension, RemoveAxis};

use super::dataset::Dataset;
use super::error::BoxError;
use super::order;
use crate::ndarray;
use crate::words::counted;

/// Rows of an array, each with a label: item `i` is `(rows[i], labels[i])`.
///
/// Rows are what lies along the first axis, of any rank: images of shape `[channels, height, width]` for an
/// array of rank 4. Labels are of any type, class indices or numbers to be predicted.
///
/// ```
/// use pullback::data::{ArrayDataset, Dataset};
/// use pullback::ndarray::array;
///
/// let data = ArrayDataset::new(array![[1.0, 2.0], [3.0, 4.0]], vec![7, 8]);
/// assert_eq!(data.get(1).unwrap(), (array![3.0, 4.0], 8));
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct ArrayDataset<T, D: Dimension, L> {
    rows: Array<T, D>,
    labels: Vec<L>,
}

impl<T: Clone, D: RemoveAxis, L: Clone> ArrayDataset<T, D, L> {
    /// Takes rows, of shape `[n, …]`, and `n` labels.
    ///
    /// # Panics
    /// If there is not a label for each row, or the array has no axis.
    ///
    /// ```
    /// use pullback::data::{ArrayDataset, Dataset};
    /// use pullback::ndarray::Array4;
    ///
    /// let images = ArrayDataset::new(Array4::<f32>::zeros((100, 3, 8, 8)), vec![7; 100]);
    /// let (image, label) = images.get(0).unwrap();
    /// assert_eq!((images.len(), image.shape(), label), (100, &[3, 8, 8][..], 7));
    /// ```
    #[track_caller]
    pub fn new(rows: Array<T, D>, labels: Vec<L>) -> Self {
        assert!(
            rows.shape().first() == Some(&labels.len()),
            "ArrayDataset of rows of shape {:?} and {}: a label is needed for each row",
            rows.shape(),
            counted(labels.len(), "label", "labels")
        );
        Self { rows, labels }
    }

    /// All rows, of shape `[n, …]`.
    ///
    /// ```
    /// use pullback::data::ArrayDataset;
    /// use pullback::ndarray::array;
    ///
    /// let data = ArrayDataset::new(array![[1.0], [3.0]], vec!["odd", "odd"]);
    /// assert_eq!(data.rows(), array![[1.0], [3.0]]);
    /// ```
    pub fn rows(&self) -> ArrayView<'_, T, D> {
        self.rows.view()
    }

    /// All labels.
    ///
    /// ```
    /// use pullback::data::ArrayDataset;
    /// use pullback::ndarray::array;
    ///
    /// let data = ArrayDataset::new(array![[1.0], [3.0]], vec![0, 1]);
    /// assert_eq!(data.labels(), [0, 1]);
    /// ```
    pub fn labels(&self) -> &[L] {
        &self.labels
    }

    /// A copy of the rows at `indices`, with their labels.
    ///
    /// ```
    /// use pullback::data::ArrayDataset;
    /// use pullback::ndarray::array;
    ///
    /// let data = ArrayDataset::new(array![[1.0], [2.0], [3.0]], vec![1, 2, 3]);
    /// assert_eq!(data.select(&[2, 0]), ArrayDataset::new(array![[3.0], [1.0]], vec![3, 1]));
    /// ```
    ///
    /// # Panics
    /// If an index is not less than the length.
    #[track_caller]
    #[must_use]
    pub fn select(&self, indices: &[usize]) -> Self {
        let len = self.labels.len();
        if let Some(index) = indices.iter().find(|index| **index >= len) {
            panic!("select with the index {index} of a data set of length {len}: it is outside");
        }
        Self {
            rows: self.rows.select(Axis(0), indices),
            labels: indices
                .iter()
                .map(|&row| self.labels[row].clone())
                .collect(),
        }
    }

    /// Copies of two parts in an order that follows from `seed`: the first has `fraction` of the rows, to
    /// the nearest whole number, the second the others. They are the items of
    /// [`random_split`](Dataset::random_split), as arrays.
    ///
    /// ```
    /// use pullback::data::ArrayDataset;
    /// use pullback::ndarray::Array2;
    ///
    /// let data = ArrayDataset::new(Array2::<f32>::zeros((150, 4)), vec![0; 150]);
    /// let (training, test) = data.split(0.8, 1);
    /// assert_eq!((training.rows().dim(), test.rows().dim()), ((120, 4), (30, 4)));
    /// ```
    ///
    /// # Panics
    /// If `fraction` is not between 0 and 1.
    #[track_caller]
    pub fn split(&self, fraction: f64, seed: u64) -> (Self, Self) {
        let (first, second) = order::split(self.labels.len(), fraction, seed);
        (self.select(&first), self.select(&second))
    }

    /// The rows and the labels, without a copy.
    ///
    /// ```
    /// use pullback::data::ArrayDataset;
    /// use pullback::ndarray::array;
    ///
    /// let (rows, labels) = ArrayDataset::new(array![[1.0]], vec![4]).into_parts();
    /// assert_eq!((rows, labels), (array![[1.0]], vec![4]));
    /// ```
    pub fn into_parts(self) -> (Array<T, D>, Vec<L>) {
        (self.rows, self.labels)
    }
}

impl<T: Clone, D: RemoveAxis, L: Clone> Dataset for ArrayDataset<T, D, L> {
    type Item = (Array<T, D::Smaller>, L);

    fn len(&self) -> usize {
        self.labels.len()
    }

    fn get(&self, index: usize) -> Result<Self::Item, BoxError> {
        let row = self.rows.index_axis(Axis(0), index).to_owned();
        Ok((row, self.labels[index].clone()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ndarray::{Array2, Array3, ArrayD, IxDyn};

    #[test]
    fn split_has_the_items_of_random_split() {
        let rows = Array2::from_shape_fn((11, 2), |(i, j)| 10 * i + j);
        let data = ArrayDataset::new(rows, (0..11).collect());
        let (first, second) = data.split(0.4, 5);
        let (lazy_first, lazy_second) = data.random_split(0.4, 5);
        assert_eq!(first.labels(), lazy_first.indices());
        assert_eq!(second.labels(), lazy_second.indices());
        for (row, (item, label)) in (0..).map(|i| (i, second.get(i).unwrap())).take(7) {
            assert_eq!(item[1], 10 * label + 1);
            assert_eq!(lazy_second.get(row).unwrap(), (item, label));
        }
    }

    #[test]
    fn rows_may_be_of_any_rank_and_layout() {
        let cube = Array3::from_shape_fn((2, 3, 4), |(i, j, k)| (i, j, k));
        let turned = ArrayDataset::new(cube.permuted_axes([2, 1, 0]), vec![(); 4]);
        assert_eq!(turned.get(3).unwrap().0[[2, 1]], (1, 2, 3));
        let dynamic = ArrayDataset::new(ArrayD::<f32>::zeros(IxDyn(&[2, 5])), vec![0, 1]);
        assert_eq!(dynamic.get(0).unwrap().0.shape(), [5]);
        let empty = ArrayDataset::new(Array2::<f32>::zeros((0, 3)), Vec::<u8>::new());
        assert!(empty.is_empty());
    }

    #[test]
    #[should_panic(expected = "rows of shape [2, 3] and 3 labels")]
    fn every_row_has_a_label() {
        ArrayDataset::new(Array2::<f32>::zeros((2, 3)), vec![0, 1, 2]);
    }

    #[test]
    #[should_panic(expected = "rows of shape [] and 1 label")]
    fn a_number_has_no_rows() {
        ArrayDataset::new(ArrayD::<f32>::zeros(IxDyn(&[])), vec![0]);
    }
}
