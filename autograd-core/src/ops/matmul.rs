//! Products of matrices, vectors and batches of matrices.

use std::marker::PhantomData;

use ndarray::{Array2, ArrayView2, Dimension, Ix0, Ix1, Ix2, Ix3, Ix4, Ix5, Ix6, IxDyn};

use super::{Contract, add_tangents};
use crate::basic::operators::common_shape;
use crate::kernels::{self, Subscripts};
use crate::tensor::{Tensor, Tensor2};
use crate::{Element, custom_function};

/// The product of two matrices. Transposed operands are multiplied without a copy.
#[derive(Debug)]
pub struct MatMul<T>(PhantomData<T>);

#[custom_function(gradcheck(x = [2, 3], y = [3, 4]))]
impl<T: Element> MatMul<T> {
    /// Returns x y, the product of two matrices.
    #[doc = crate::math!(r"z_{ij} = \sum_k x_{ik} \, y_{kj}")]
    /// # Panics
    /// If the columns of `x` are not as many as the rows of `y`.
    #[forward]
    #[track_caller]
    pub fn forward(x: ArrayView2<T>, y: ArrayView2<T>) -> Array2<T> {
        assert!(
            x.ncols() == y.nrows(),
            "matmul of tensors of shapes {:?} and {:?}: the inner lengths differ",
            x.shape(),
            y.shape()
        );
        kernels::matmul(&x, &y)
    }

    #[backward(x)]
    fn grad_x(grad_output: &Tensor2<T>, y: &Tensor2<T>) -> Tensor2<T> {
        grad_output.matmul(&y.t())
    }

    #[backward(y)]
    fn grad_y(grad_output: &Tensor2<T>, x: &Tensor2<T>) -> Tensor2<T> {
        x.t().matmul(grad_output)
    }

    #[jvp]
    fn jvp(
        tangent_x: Option<&Tensor2<T>>,
        tangent_y: Option<&Tensor2<T>>,
        x: &Tensor2<T>,
        y: &Tensor2<T>,
    ) -> Option<Tensor2<T>> {
        let along_x = tangent_x.map(|tangent| tangent.matmul(y));
        let along_y = tangent_y.map(|tangent| x.matmul(tangent));
        add_tangents(along_x, along_y)
    }
}

/// Ranks that can be multiplied, and the rank of the product. A vector removes an axis; matrices and batches of
/// matrices broadcast.
///
/// ```
/// use pullback::{Tensor, Tensor0, Tensor2, Tensor3, ndarray::{Array1, Array2, Array3}};
///
/// let vector = Tensor::from(Array1::<f64>::ones(4));
/// let matrix = Tensor::from(Array2::<f64>::ones((4, 4)));
/// let batch = Tensor::from(Array3::<f64>::ones((2, 4, 4)));
/// let number: Tensor0<f64> = vector.matmul(&vector);
/// let vectors: Tensor2<f64> = batch.matmul(&vector);
/// let matrices: Tensor3<f64> = matrix.matmul(&batch);
/// assert_eq!((number.item(), vectors.shape(), matrices.shape()), (4.0, &[2, 4][..], &[2, 4, 4][..]));
/// ```
pub trait MatMulRank<E: Dimension>: Dimension {
    /// The rank of the product.
    type Product: Dimension;
}

macro_rules! ranks {
    ($($D:ident $E:ident: $F:ident,)+) => {
        $(impl MatMulRank<$E> for $D {
            type Product = $F;
        })+
    };
}

ranks! {
    Ix1 Ix1: Ix0, Ix1 Ix2: Ix1, Ix1 Ix3: Ix2, Ix1 Ix4: Ix3, Ix1 Ix5: Ix4, Ix1 Ix6: Ix5,
    Ix2 Ix1: Ix1, Ix2 Ix2: Ix2, Ix2 Ix3: Ix3, Ix2 Ix4: Ix4, Ix2 Ix5: Ix5, Ix2 Ix6: Ix6,
    Ix3 Ix1: Ix2, Ix3 Ix2: Ix3, Ix3 Ix3: Ix3, Ix3 Ix4: Ix4, Ix3 Ix5: Ix5, Ix3 Ix6: Ix6,
    Ix4 Ix1: Ix3, Ix4 Ix2: Ix4, Ix4 Ix3: Ix4, Ix4 Ix4: Ix4, Ix4 Ix5: Ix5, Ix4 Ix6: Ix6,
    Ix5 Ix1: Ix4, Ix5 Ix2: Ix5, Ix5 Ix3: Ix5, Ix5 Ix4: Ix5, Ix5 Ix5: Ix5, Ix5 Ix6: Ix6,
    Ix6 Ix1: Ix5, Ix6 Ix2: Ix6, Ix6 Ix3: Ix6, Ix6 Ix4: Ix6, Ix6 Ix5: Ix6, Ix6 Ix6: Ix6,
    IxDyn Ix1: IxDyn, IxDyn Ix2: IxDyn, IxDyn Ix3: IxDyn, IxDyn Ix4: IxDyn, IxDyn Ix5: IxDyn,
    IxDyn Ix6: IxDyn, IxDyn IxDyn: IxDyn,
    Ix1 IxDyn: IxDyn, Ix2 IxDyn: IxDyn, Ix3 IxDyn: IxDyn, Ix4 IxDyn: IxDyn, Ix5 IxDyn: IxDyn,
    Ix6 IxDyn: IxDyn,
}

impl<T: Element, D: Dimension> Tensor<T, D> {
    /// Returns the product of two matrices, of a matrix and a vector in either order, of two vectors (a number), or of
    /// batches of matrices, whose leading axes broadcast as those of operators do.
    ///
    /// # Panics
    /// If the inner lengths differ, leading axes do not broadcast, or either has rank 0.
    ///
    /// ```
    /// use pullback::{Tensor, ndarray::array};
    ///
    /// let x = Tensor::from(array![[1.0, 2.0]]);
    /// assert_eq!(x.matmul(&x.t()).to_array(), array![[5.0]]);
    /// assert_eq!(x.matmul(&Tensor::from(array![3.0, 4.0])).to_array(), array![11.0]);
    /// ```
    #[must_use]
    #[track_caller]
    pub fn matmul<E: Dimension>(&self, other: &Tensor<T, E>) -> Tensor<T, D::Product>
    where
        D: MatMulRank<E>,
    {
        if let (Some(x), Some(y)) = (self.as_dimensionality(), other.as_dimensionality()) {
            let product = MatMul::apply(x, y).into_dimensionality();
            // INVARIANT: a product of two matrices is one.
            return product.expect("the rank of a matrix");
        }
        let (subscripts, shape) = batched(self.shape(), other.shape());
        Contract::apply(self, other, &subscripts, &shape)
    }
}

// Names of axes; leading ones are numbered from the last.
const ROWS: u8 = 255;
const INNER: u8 = 254;
const COLUMNS: u8 = 253;

/// Returns the names of the axes of operands that are not both matrices, and the shape of their product.
#[track_caller]
fn batched(x: &[usize], y: &[usize]) -> (Subscripts, Vec<usize>) {
    assert!(
        !x.is_empty() && !y.is_empty(),
        "matmul of tensors of shapes {x:?} and {y:?}: a tensor of rank 0 cannot be multiplied"
    );
    let (x_lead, x_own) = x.split_at(x.len().saturating_sub(2));
    let (y_lead, y_own) = y.split_at(y.len().saturating_sub(2));
    assert!(
        x_own.last() == y_own.first(),
        "matmul of tensors of shapes {x:?} and {y:?}: the inner lengths differ"
    );
    let Some(lead) = common_shape(x_lead, y_lead) else {
        panic!("matmul of tensors of shapes {x:?} and {y:?}: the leading axes do not broadcast")
    };
    let names = |lead: usize, own: &[u8]| -> Vec<u8> {
        // INVARIANT: no tensor has so many axes.
        let lead = u8::try_from(lead).expect("few axes");
        (0..lead).rev().chain(own.iter().copied()).collect()
    };
    let (rows, columns) = (x_own.len() > 1, y_own.len() > 1);
    let x_names: &[u8] = if rows { &[ROWS, INNER] } else { &[INNER] };
    let y_names: &[u8] = if columns { &[INNER, COLUMNS] } else { &[INNER] };
    let own: Vec<u8> = [(rows, ROWS), (columns, COLUMNS)]
        .into_iter()
        .filter_map(|(is_there, name)| is_there.then_some(name))
        .collect();
    let mut shape = lead.to_vec();
    shape.extend(rows.then(|| x_own[0]));
    shape.extend(columns.then(|| y_own[1]));
    let subscripts = Subscripts::new(
        names(x_lead.len(), x_names),
        names(y_lead.len(), y_names),
        names(lead.len(), &own),
    );
    (subscripts, shape)
}
