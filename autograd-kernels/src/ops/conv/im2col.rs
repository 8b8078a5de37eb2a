//! The columns of a convolution, for convolutions of your own.

use ndarray::{Array3, Array4, ArrayView3, ArrayView4};

use super::columns;
use super::geometry::{ConvOptions, Geometry};
use crate::element::Element;
use crate::memory;

/// Returns the windows of a convolution of images of shape `[batch, channels, height, width]` as matrices of shape
/// `[batch, channels · kernel height · kernel width, output height · output width]`. The convolution is the weights,
/// as a matrix with a row for each output, times these. The padding is zeros. Groups are ignored.
///
/// # Panics
/// If kernel and options do not fit the images, or the result has too many elements.
#[track_caller]
pub fn im2col<T: Element>(
    x: &ArrayView4<'_, T>,
    kernel: [usize; 2],
    options: &ConvOptions<2>,
) -> Array3<T> {
    let shape = geometry(x.shape(), kernel, options);
    let x = x.as_standard_layout();
    // INVARIANT: it was given the standard layout.
    let x = x.as_slice().expect("row-major");
    let [rows, pixels] = matrix(&shape);
    let mut all = memory::take(shape.batch * rows * pixels);
    if shape.is_plain() {
        all.extend_from_slice(x);
    } else {
        let mut columns = Vec::new();
        for image in 0..shape.batch {
            let (channels, lines) = (0..shape.channels, 0..shape.output[0]);
            columns::gather(&shape, x, image, channels, lines, &mut columns);
            all.extend_from_slice(&columns);
        }
    }
    // INVARIANT: a column for each pixel of each image.
    Array3::from_shape_vec((shape.batch, rows, pixels), all).expect("whole columns")
}

/// Adds each element of the columns to its pixel in images of shape `[batch, channels, height, width]`: the reverse of
/// [`im2col`]. Each is the gradient of the other.
///
/// # Panics
/// If kernel and options do not fit the images, or the columns do not have the shape that [`im2col`] returns.
#[track_caller]
pub fn col2im<T: Element>(
    columns: &ArrayView3<'_, T>,
    images: [usize; 4],
    kernel: [usize; 2],
    options: &ConvOptions<2>,
) -> Array4<T> {
    let shape = geometry(&images, kernel, options);
    let [rows, pixels] = matrix(&shape);
    assert!(
        columns.shape() == [shape.batch, rows, pixels],
        "col2im of columns of shape {:?}: kernels of size {kernel:?} with {options:?} on images of shape \
         {images:?} have columns of shape {:?}",
        columns.shape(),
        [shape.batch, rows, pixels]
    );
    let mut x = Array4::zeros(images);
    for (mut x, columns) in x.outer_iter_mut().zip(columns.outer_iter()) {
        let columns = columns.as_standard_layout();
        // INVARIANT: both are row-major.
        let channels = x.as_slice_mut().expect("row-major");
        let columns = columns.as_slice().expect("row-major");
        columns::add(&shape, columns, 0..shape.output[0], channels);
    }
    x
}

#[track_caller]
fn geometry(images: &[usize], kernel: [usize; 2], options: &ConvOptions<2>) -> Geometry {
    let options = ConvOptions {
        groups: 1,
        ..*options
    };
    let channels = images[1];
    let lengths = [images[0], channels, 1, channels];
    let size = [images[2], images[3]];
    match Geometry::new(lengths, size, kernel, &options) {
        Some(shape) => shape,
        None => panic!(
            "columns of images of shape {images:?} for kernels of size {kernel:?} with {options:?}: they do \
             not fit"
        ),
    }
}

/// Returns the rows and columns for each image.
fn matrix(shape: &Geometry) -> [usize; 2] {
    [shape.summands(), shape.output_pixels()]
}
