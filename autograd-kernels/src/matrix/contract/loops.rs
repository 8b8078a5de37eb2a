//! The loops of a contraction.

use std::cmp::Reverse;

use ndarray::ArrayViewD;

use super::Subscripts;

/// A loop over the axes of one name: how far apart the elements of its steps are in the first operand, in
/// the second and in the output.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Loop {
    pub(super) length: usize,
    pub(super) strides: [isize; 3],
}

const ONE: Loop = Loop {
    length: 1,
    strides: [0; 3],
};

/// All loops of more than one step: a product of matrices, and those around it.
#[derive(Debug)]
pub(super) struct Loops {
    /// Rows, summands and columns.
    pub(super) matrix: [Loop; 3],
    /// Loops whose steps write to one element.
    pub(super) summed: Vec<Loop>,
    /// Loops whose steps write to different elements.
    pub(super) outer: Vec<Loop>,
}

/// Returns the loop of each name, without loops of one step.
#[track_caller]
pub(super) fn find<T>(
    x: &ArrayViewD<'_, T>,
    y: &ArrayViewD<'_, T>,
    subscripts: &Subscripts,
    shape: &[usize],
) -> Vec<Loop> {
    let row_major = row_major(shape);
    let arrays: [(&[u8], &[usize], &[isize]); 3] = [
        (&subscripts.x, x.shape(), x.strides()),
        (&subscripts.y, y.shape(), y.strides()),
        (&subscripts.output, shape, &row_major),
    ];
    let mut named: Vec<(u8, Loop)> = Vec::new();
    for (array, (names, shape, strides)) in arrays.into_iter().enumerate() {
        assert!(
            names.len() == shape.len(),
            "a contraction of shapes {:?} and {:?} to {:?}: {subscripts:?} names a different number of axes",
            x.shape(),
            y.shape(),
            arrays[2].1,
        );
        for ((&name, &length), &stride) in names.iter().zip(shape).zip(strides) {
            if length == 1 {
                continue;
            }
            let known = named.iter().position(|(known, _)| *known == name);
            let one = known.unwrap_or_else(|| {
                named.push((name, Loop { length, ..ONE }));
                named.len() - 1
            });
            let (_, one) = &mut named[one];
            assert!(
                one.length == length,
                "a contraction of shapes {:?} and {:?} to {:?}: axes {name} of {subscripts:?} have \
                 lengths {} and {length}",
                x.shape(),
                y.shape(),
                arrays[2].1,
                one.length,
            );
            one.strides[array] += stride;
        }
    }
    named.into_iter().map(|(_, one)| one).collect()
}

/// Returns whether the loops write to each of `size` elements of the output.
pub(super) fn cover(loops: &[Loop], size: usize) -> bool {
    let written: usize = loops
        .iter()
        .filter(|one| one.strides[2] != 0)
        .map(|one| one.length)
        .product();
    written == size && loops.iter().all(|one| one.length > 0)
}

fn row_major(shape: &[usize]) -> Vec<isize> {
    let mut strides = vec![0; shape.len()];
    let mut stride = 1_usize;
    for (axis_stride, &length) in strides.iter_mut().zip(shape).rev() {
        *axis_stride = stride.cast_signed();
        stride = stride.saturating_mul(length);
    }
    strides
}

impl Loops {
    /// Sorts the loops by kind, and makes a product of matrices of the longest.
    pub(super) fn new(found: &mut Vec<Loop>) -> Self {
        let mut of_kind = |belongs: fn([bool; 3]) -> bool| {
            let loops = found.extract_if(.., |one| belongs(one.strides.map(|stride| stride != 0)));
            merged(loops.collect())
        };
        let mut summed = of_kind(|[_, _, output]| !output);
        let mut rows = of_kind(|[_, y, _]| !y);
        let mut columns = of_kind(|[x, _, _]| !x);
        let mut outer = merged(std::mem::take(found));
        let matrix = [&mut rows, &mut summed, &mut columns].map(longest);
        outer.extend(rows);
        outer.extend(columns);
        // Where the output is written to in order, the innermost steps are next to each other.
        outer.sort_by_key(|one| Reverse(one.strides[2].abs()));
        Self {
            matrix,
            summed,
            outer,
        }
    }
}

/// Removes the longest loop and returns it.
fn longest(loops: &mut Vec<Loop>) -> Loop {
    let index = (0..loops.len()).max_by_key(|&index| loops[index].length);
    index.map_or(ONE, |index| loops.remove(index))
}

/// Merges loops into as few as possible: two become one where their steps are evenly spaced.
fn merged(mut loops: Vec<Loop>) -> Vec<Loop> {
    loops.sort_by_key(|one| Reverse(one.strides.map(isize::unsigned_abs)));
    let mut merged: Vec<Loop> = Vec::with_capacity(loops.len());
    for inner in loops {
        if let Some(outer) = merged.last_mut()
            && (0..3).all(|array| {
                outer.strides[array] == inner.strides[array] * inner.length.cast_signed()
            })
        {
            outer.length *= inner.length;
            outer.strides = inner.strides;
        } else {
            merged.push(inner);
        }
    }
    merged
}

#[cfg(test)]
mod tests {
    use super::*;

    fn loops(loops: &[(usize, [isize; 3])]) -> Loops {
        let loops = loops
            .iter()
            .map(|&(length, strides)| Loop { length, strides });
        Loops::new(&mut loops.collect())
    }

    #[test]
    fn a_batch_of_rows_times_one_matrix_is_one_product() {
        // bij,jk->bik of lengths 2, 3, 4 and 5
        let found = loops(&[
            (2, [12, 0, 15]),
            (3, [4, 0, 5]),
            (4, [1, 5, 0]),
            (5, [0, 1, 1]),
        ]);
        let lengths = found.matrix.map(|one| one.length);
        assert_eq!((lengths, found.outer.len()), ([6, 4, 5], 0));
    }

    #[test]
    fn its_gradient_is_one_product_too() {
        // bij,bik->jk
        let found = loops(&[
            (2, [12, 15, 0]),
            (3, [4, 5, 0]),
            (4, [1, 0, 5]),
            (5, [0, 1, 1]),
        ]);
        let lengths = found.matrix.map(|one| one.length);
        assert_eq!((lengths, found.summed.len()), ([4, 6, 5], 0));
    }

    #[test]
    fn loops_with_gaps_are_not_merged() {
        // abij,abjk->abik of a view with a gap
        let found = loops(&[
            (2, [100, 40, 12]),
            (2, [20, 20, 6]),
            (2, [4, 0, 3]),
            (4, [1, 3, 0]),
            (3, [0, 1, 1]),
        ]);
        assert_eq!(found.outer.len(), 2);
    }
}
