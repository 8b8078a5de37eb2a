//! A formula of pairs: of each row with each column of a matrix that is never in memory.
//!
//! An input has one item for each row, shape `[n, 1]`, for each column, `[1, m]`, or one for all, `[1, 1]`. Results are
//! summed to such a shape too. The loops run over the columns in tiles of [`TILE`], for one row after the other; where
//! there are few columns and more rows, over rows in place of columns.
//!
//! # The order of a sum
//! Along the axis of the tiles: the elements of a tile pairwise, or where loops add them, those that are 128 apart in
//! order and then pairwise; then the tiles from the first to the last. Along the other axis: in parts of [`PART`] items
//! from the first to the last, then the parts of a stripe, then the stripes. All of these depend on the numbers of rows
//! and columns alone, so a sum is the same on any number of threads.

use std::borrow::Cow;
use std::mem::MaybeUninit;
use std::ops::Range;
use std::sync::Mutex;

use ndarray::{Array1, Array2, ArrayD, ArrayView2, ArrayViewD, Axis, IxDyn};

use super::evaluate::{cycled, evaluate, items, runs};
use super::evaluation::{BLOCK, Evaluation, LANES, Loops, Wanted};
use super::faster::Choice;
use super::item::Item;
use super::recorded::Replay;
use super::tile::{Side, TILE, Tile, WIDTH};
use crate::element::Element;
use crate::loops::axes::Axes;
use crate::loops::reductions::{Reduction, first_extremes, reduce_lanes};
use crate::loops::sum::{sum_slice, sum_to};
use crate::loops::wide::zip_in_place;
use crate::parallel::{split, worth};

/// The items along the other axis whose results are added before they are added to others.
const PART: usize = 64;

/// The most stripes that the other axis is cut into. Each has its own sums for the axis of the tiles.
const STRIPES: usize = 32;

/// The least items of a stripe.
const LEAST: usize = 8;

/// The rows of a tile that are reduced at a time where that is no sum.
const BAND: usize = 16;

/// An array of items for rows, for columns, or for all: the numbers of the items, each by itself.
struct Input<T> {
    /// Of items along the axis of tiles, up to a multiple of [`LANES`]: the last one is repeated there.
    numbers: Vec<Vec<T>>,
    along: Along,
}

/// What an array has several items along.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Along {
    /// The axis of the tiles.
    Tiles,
    /// The other axis.
    Others,
    Neither,
}

/// The pairs, as the loops run over them.
#[derive(Clone, Copy)]
struct Pairs {
    /// The items along the axis of the tiles.
    tiled: usize,
    /// The items along the other one.
    others: usize,
    /// The axis of the tiles.
    axis: usize,
}

impl Pairs {
    fn new(shape: [usize; 2]) -> Self {
        let axis = usize::from(shape[1] >= 4 * LANES || shape[1] >= shape[0]);
        Self {
            tiled: shape[axis],
            others: shape[1 - axis],
            axis,
        }
    }

    fn along(&self, shape: &[usize]) -> Along {
        if shape[self.axis] > 1 {
            Along::Tiles
        } else if shape[1 - self.axis] > 1 {
            Along::Others
        } else {
            Along::Neither
        }
    }

    /// Returns whether loops can add the results: those of values and of the first order, over tiles of columns, if all
    /// tensors are along the axis of their side.
    fn are_added<T: Element>(
        &self,
        function: &dyn Loops<T>,
        evaluation: Evaluation,
        inputs: impl Iterator<Item = Along>,
        targets: &[Option<Along>],
    ) -> bool {
        let has_loops = matches!(
            evaluation,
            Evaluation::Values | Evaluation::Partials { order: 1 }
        );
        let sides = function.sides();
        // What has no side, gradients and outputs, has an item for each row.
        let fits = |(place, along): (usize, Along)| {
            let is_column = sides.get(place) == Some(&Side::Column);
            is_column == (along == Along::Tiles)
        };
        let of_targets = targets.iter().enumerate();
        let mut of_targets = of_targets.filter_map(|(place, along)| Some((place, (*along)?)));
        has_loops
            && self.axis == 1
            && function.is_summed()
            && inputs.enumerate().all(fits)
            && of_targets.all(|(place, along)| match evaluation {
                Evaluation::Values => along != Along::Tiles,
                _ => fits((place, along)),
            })
    }

    fn tiles(&self) -> impl Iterator<Item = Range<usize>> + use<> {
        let tiled = self.tiled;
        let starts = (0..tiled).step_by(TILE);
        starts.map(move |start| start..tiled.min(start + TILE))
    }

    /// Returns an input's numbers; those of a missing one are zeros.
    fn input<T: Element>(&self, input: Option<&ArrayViewD<'_, T>>, item: Item) -> Input<T> {
        let Some(input) = input else {
            return Input {
                numbers: vec![vec![T::zero()]; item.numbers()],
                along: Along::Neither,
            };
        };
        let along = self.along(input.shape());
        let number = |number| {
            let mut elements: Vec<T> = if item.row().is_some() {
                input.index_axis(Axis(2), number).iter().copied().collect()
            } else {
                input.iter().copied().collect()
            };
            if along == Along::Tiles {
                let last = elements[elements.len() - 1];
                elements.resize(elements.len().next_multiple_of(LANES), last);
            }
            elements
        };
        let numbers = (0..item.numbers()).map(number).collect();
        Input { numbers, along }
    }

    /// Returns the stripes of the other axis.
    fn stripes(&self) -> Vec<Range<usize>> {
        let size = self.others.div_ceil(STRIPES).max(LEAST);
        let starts = (0..self.others).step_by(size);
        starts
            .map(|start| start..self.others.min(start + size))
            .collect()
    }
}

/// The sums of one stripe: for each number of the results that are wanted, one for each item along its axis.
type Sums<T> = Vec<Vec<T>>;

/// An evaluation of a formula on pairs.
struct Work<'a, T: Element> {
    function: &'a dyn Loops<T>,
    evaluation: Evaluation,
    runs: Cow<'static, [Wanted]>,
    pairs: Pairs,
    inputs: Vec<Input<T>>,
    /// For each number of the results, what it is summed to, if it is wanted.
    targets: Vec<Option<Along>>,
    /// Whether the loops add the results themselves.
    are_added: bool,
}

impl<'a, T: Element> Work<'a, T> {
    fn new(
        function: &'a dyn Loops<T>,
        evaluation: Evaluation,
        inputs: &[Option<ArrayViewD<'_, T>>],
        pairs: Pairs,
        targets: &[Option<Along>],
    ) -> Self {
        let [of_inputs, of_results] = items(function, evaluation);
        let wanted: Vec<bool> = targets.iter().map(Option::is_some).collect();
        let numbers = cycled(of_results).zip(targets);
        let of_inputs = inputs.iter().zip(cycled(of_inputs));
        let of_inputs = of_inputs.map(|(input, item)| pairs.input(input.as_ref(), item));
        let of_inputs: Vec<Input<T>> = of_inputs.collect();
        let alongs = of_inputs.iter().map(|input| input.along);
        Self {
            are_added: pairs.are_added(function, evaluation, alongs, targets),
            function,
            evaluation,
            runs: runs(function, evaluation, inputs, &wanted),
            pairs,
            inputs: of_inputs,
            targets: numbers
                .flat_map(|(item, target)| std::iter::repeat_n(*target, item.numbers()))
                .collect(),
        }
    }

    /// Returns the choice between loops for so many items of the other axis.
    fn choice(&self, others: usize) -> Choice {
        let count = others.saturating_mul(self.pairs.tiled);
        Choice::of(self.function, self.evaluation, count)
    }

    /// Calls `reduce` with the results for a tile and one item of the other axis: those that are wanted, one after the
    /// other, of `TILE` elements each, of which the tile has as many as it is long.
    fn tile(
        &self,
        tile: &Range<usize>,
        others: Range<usize>,
        results: &mut [T],
        (choice, kept): (&mut Choice, &mut Option<Replay<T>>),
        mut reduce: impl FnMut(usize, &mut [T]),
    ) {
        let length = tile.len().next_multiple_of(LANES);
        let repeated = length.min(BLOCK);
        let numbers = || {
            self.inputs
                .iter()
                .flat_map(|input| input.numbers.iter().map(|number| (number, input.along)))
        };
        let mut buffers: Vec<T> = Vec::with_capacity(numbers().count() * repeated);
        for (number, along) in numbers() {
            if along == Along::Neither {
                buffers.resize(buffers.len() + repeated, number[0]);
            }
        }
        let constants = buffers.len();
        for other in others {
            buffers.truncate(constants);
            for (number, along) in numbers() {
                if along == Along::Others {
                    buffers.resize(buffers.len() + repeated, number[other]);
                }
            }
            let (mut of_all, mut of_one) = (
                buffers[..constants].chunks_exact(repeated),
                buffers[constants..].chunks_exact(repeated),
            );
            let inputs: Vec<&[T]> = numbers()
                .filter_map(|(number, along)| match along {
                    Along::Tiles => Some(&number[tile.start..][..length]),
                    Along::Others => of_one.next(),
                    Along::Neither => of_all.next(),
                })
                .collect();
            let mut parts = uninit(results).chunks_exact_mut(TILE);
            let mut written: Vec<&mut [MaybeUninit<T>]> = self
                .targets
                .iter()
                .map(|target| {
                    let part = target.and_then(|_| parts.next());
                    part.map_or_else(Default::default, |part| &mut part[..length])
                })
                .collect();
            for &run in &*self.runs {
                choice.run(run, |run| {
                    self.function
                        .run(self.evaluation, run, 0, &inputs, &mut written, kept);
                    kept.as_ref().is_none_or(Replay::has_programs)
                });
            }
            reduce(other, results);
        }
    }

    /// Adds the results for a tile and some items of the other axis to the sums of a stripe that starts at `first`.
    /// `parts` is room for sums of each of these items, for each result that has some.
    fn add(
        &self,
        tile: &Range<usize>,
        others: Range<usize>,
        first: usize,
        sums: &mut Sums<T>,
        parts: &mut [Vec<T>],
        (choice, kept): (&mut Choice, &mut Option<Replay<T>>),
    ) {
        let length = tile.len().next_multiple_of(LANES);
        let numbers = self
            .inputs
            .iter()
            .flat_map(|input| input.numbers.iter().map(|number| (number, input.along)));
        let inputs: Vec<&[T]> = numbers
            .map(|(number, along)| match along {
                Along::Tiles => &number[tile.start..][..length],
                Along::Others | Along::Neither => &number[..],
            })
            .collect();
        let mut all = sums.iter_mut().zip(&mut *parts);
        let mut written: Vec<&mut [T]> = self
            .targets
            .iter()
            .map(|target| {
                let found = target.and_then(|along| Some((along, all.next()?)));
                match found {
                    None => Default::default(),
                    Some((Along::Tiles, (sum, _))) => &mut sum[tile.clone()],
                    Some((_, (_, part))) => &mut part[..others.len() * WIDTH],
                }
            })
            .collect();
        for &run in &*self.runs {
            choice.run(run, |run| {
                let tile = Tile {
                    rows: others.clone(),
                    columns: tile.len(),
                    inputs: &inputs,
                    sums: &mut written,
                };
                self.function.add_pairs(self.evaluation, run, tile, kept);
                kept.as_ref().is_none_or(Replay::has_programs)
            });
        }
        let sums = sums.iter_mut().zip(parts);
        for (sum, part) in sums.filter(|(_, part)| !part.is_empty()) {
            let own = &mut sum[others.start - first..others.end - first];
            for (sum, part) in own.iter_mut().zip(part.chunks_exact(WIDTH)) {
                *sum += sum_slice(part);
            }
        }
    }

    /// Returns the sums of a stripe.
    fn sums(&self, stripe: Range<usize>) -> Sums<T> {
        let targets: Vec<Along> = self.targets.iter().copied().flatten().collect();
        let mut sums: Sums<T> = targets
            .iter()
            .map(|along| match along {
                Along::Tiles => vec![T::zero(); self.pairs.tiled],
                Along::Others | Along::Neither => vec![T::zero(); stripe.len()],
            })
            .collect();
        let (mut choice, mut kept) = (self.choice(stripe.len()), None);
        if self.are_added {
            let room = |along: &Along| match along {
                Along::Tiles => Vec::new(),
                Along::Others | Along::Neither => vec![T::zero(); PART * WIDTH],
            };
            let mut parts: Vec<Vec<T>> = targets.iter().map(room).collect();
            self.for_each_part(&stripe, |tile, part| {
                let mut rest = part;
                while !rest.is_empty() {
                    let count = choice.longest().div_ceil(tile.len()).min(rest.len());
                    let some = rest.start..rest.start + count;
                    rest.start = some.end;
                    let state = (&mut choice, &mut kept);
                    self.add(tile, some, stripe.start, &mut sums, &mut parts, state);
                }
            });
            return sums;
        }
        let mut results = vec![T::zero(); targets.len() * TILE];
        let mut of_part = results.clone();
        self.for_each_part(&stripe, |tile, part| {
            of_part.fill(T::zero());
            let state = (&mut choice, &mut kept);
            self.tile(tile, part, &mut results, state, |other, results| {
                let results = results.chunks_exact(TILE);
                let all = results.zip(of_part.chunks_exact_mut(TILE)).zip(&mut sums);
                for (((result, of_part), sum), along) in all.zip(&targets) {
                    let result = &result[..tile.len()];
                    match along {
                        Along::Tiles => {
                            zip_in_place(&mut of_part[..tile.len()], result, |x, y| x + y);
                        }
                        Along::Others | Along::Neither => {
                            sum[other - stripe.start] += sum_slice(result);
                        }
                    }
                }
            });
            let all = of_part.chunks_exact(TILE).zip(&mut sums).zip(&targets);
            for ((of_part, sum), _) in all.filter(|(_, along)| **along == Along::Tiles) {
                let part = &of_part[..tile.len()];
                zip_in_place(&mut sum[tile.clone()], part, |x, y| x + y);
            }
        });
        sums
    }

    /// Calls `add` with each tile and each part of a stripe.
    fn for_each_part(
        &self,
        stripe: &Range<usize>,
        mut add: impl FnMut(&Range<usize>, Range<usize>),
    ) {
        for tile in self.pairs.tiles() {
            for start in stripe.clone().step_by(PART) {
                add(&tile, start..stripe.end.min(start + PART));
            }
        }
    }

    /// Returns the sums of all stripes: of each number that is wanted, one for each item.
    fn run(&self) -> Sums<T> {
        let stripes = self.pairs.stripes();
        let found = in_stripes(&stripes, self.pairs.tiled, |stripe| self.sums(stripe));
        let targets = self.targets.iter().copied().flatten();
        let mut all: Sums<T> = targets.clone().map(|_| Vec::new()).collect();
        for sums in found {
            for ((sum, all), along) in sums.into_iter().zip(&mut all).zip(targets.clone()) {
                if along != Along::Tiles {
                    all.extend(sum);
                } else if all.is_empty() {
                    *all = sum;
                } else {
                    zip_in_place(all, &sum, |x, y| x + y);
                }
            }
        }
        for (sums, along) in all.iter_mut().zip(targets) {
            if along == Along::Neither {
                *sums = vec![sum_slice(sums)];
            }
        }
        all
    }
}

/// Returns what `work` returns for each stripe, in their order.
fn in_stripes<R: Send>(
    stripes: &[Range<usize>],
    tiled: usize,
    work: impl Fn(Range<usize>) -> R + Sync,
) -> Vec<R> {
    let found: Vec<Mutex<Option<R>>> = stripes.iter().map(|_| Mutex::new(None)).collect();
    let pairs = stripes.first().map_or(0, |stripe| stripe.len() * tiled);
    split(stripes.len(), worth::FORMULA / pairs.max(1), |range| {
        for stripe in range {
            let result = work(stripes[stripe].clone());
            // A lock is held here alone: the work of another thread that panicked is not waited for.
            if let Ok(mut place) = found[stripe].lock() {
                *place = Some(result);
            }
        }
    });
    let found = found.into_iter();
    found
        .filter_map(|place| place.into_inner().ok().flatten())
        .collect()
}

/// Returns room for results, of which the elements are there already.
fn uninit<T: Element>(elements: &mut [T]) -> &mut [MaybeUninit<T>] {
    // SAFETY: of one layout, and the loops write elements alone.
    #[expect(unsafe_code, reason = "see above")]
    unsafe {
        &mut *(std::ptr::from_mut(elements) as *mut [MaybeUninit<T>])
    }
}

/// Returns whether some array has items for pairs, or there are no pairs, or there is no axis to sum over: then
/// [`evaluate`] does as well.
fn are_few<'a>(shape: [usize; 2], mut others: impl Iterator<Item = &'a [usize]>) -> bool {
    shape.contains(&0) || shape.contains(&1) || others.any(|own| own[0] > 1 && own[1] > 1)
}

/// Evaluates a formula on pairs, and sums each result that is wanted to a shape: `[n, 1]`, `[1, m]` or `[1, 1]`, with a
/// last axis more for results that are rows. The inputs have such shapes; a missing one is zeros.
#[doc(hidden)]
pub fn evaluate_sums<T: Element>(
    function: &dyn Loops<T>,
    evaluation: Evaluation,
    inputs: &[Option<ArrayViewD<'_, T>>],
    shape: [usize; 2],
    targets: &[Option<[usize; 2]>],
) -> Vec<Option<ArrayD<T>>> {
    let [_, of_results] = items(function, evaluation);
    let wanted: Vec<bool> = targets.iter().map(Option::is_some).collect();
    let shapes = inputs.iter().flatten().map(ArrayViewD::shape);
    let of_targets = targets.iter().flatten().map(|target| &target[..]);
    let whole = |target: &[usize], row: Option<usize>| {
        let mut whole = target.to_vec();
        whole.extend(row);
        whole
    };
    let rows = cycled(of_results).map(Item::row);
    if are_few(shape, shapes.chain(of_targets)) {
        let found = evaluate(function, evaluation, inputs, &shape, &wanted).into_iter();
        let found = found.zip(targets).zip(rows);
        let summed = found.map(|((found, target), row)| {
            let found = ArrayD::from_shape_vec(whole(&shape, row), found?);
            // INVARIANT: `evaluate` returns an item for each pair.
            let found = found.expect("an item for each pair");
            Some(sum_to(&found.view(), &whole(&(*target)?, row)))
        });
        return summed.collect();
    }
    let pairs = Pairs::new(shape);
    let along = |target: &Option<[usize; 2]>| target.map(|target| pairs.along(&target));
    let along: Vec<Option<Along>> = targets.iter().map(along).collect();
    let work = Work::new(function, evaluation, inputs, pairs, &along);
    let mut sums = work.run().into_iter();
    let each = targets.iter().zip(cycled(of_results));
    each.map(|(target, item)| {
        let whole = whole(&(*target)?, item.row());
        let numbers: Vec<Vec<T>> = sums.by_ref().take(item.numbers()).collect();
        let count = numbers.first().map_or(0, Vec::len);
        let elements = (0..count).flat_map(|at| numbers.iter().map(move |number| number[at]));
        let array = ArrayD::from_shape_vec(IxDyn(&whole), elements.collect());
        // INVARIANT: there is a sum for each item of the target.
        Some(array.expect("a sum for each item"))
    })
    .collect()
}

/// Evaluates a formula with one result, a number, on pairs, and reduces it over the columns. Returns the results of the
/// rows, and for an extreme the column that has it first. There is at least one column.
#[doc(hidden)]
pub fn evaluate_reduced<T: Element>(
    function: &dyn Loops<T>,
    reduction: Reduction,
    inputs: &[Option<ArrayViewD<'_, T>>],
    shape: [usize; 2],
) -> (Vec<T>, Vec<usize>) {
    let pairs = Pairs {
        tiled: shape[1],
        others: shape[0],
        axis: 1,
    };
    let targets = [Some(Along::Others)];
    let work = Work::new(function, Evaluation::Values, inputs, pairs, &targets);
    let stripes = pairs.stripes();
    let found = in_stripes(&stripes, pairs.tiled, |stripe| {
        work.reduced(reduction, stripe)
    });
    let (mut all, mut places) = (Vec::new(), Vec::new());
    for (results, of_stripe) in found {
        all.extend(results);
        places.extend(of_stripe);
    }
    (all, places)
}

impl<T: Element> Work<'_, T> {
    /// Returns the reductions of the rows of a stripe, and the columns that have an extreme.
    fn reduced(&self, reduction: Reduction, stripe: Range<usize>) -> (Vec<T>, Vec<usize>) {
        let tiles: Vec<Range<usize>> = self.pairs.tiles().collect();
        let (mut best, mut places) = (Vec::new(), Vec::new());
        let (mut choice, mut kept) = (self.choice(stripe.len()), None);
        let (mut band, mut results) = (Vec::with_capacity(BAND * TILE), vec![T::zero(); TILE]);
        for start in stripe.clone().step_by(BAND) {
            let rows = start..stripe.end.min(start + BAND);
            // The reductions of each tile are reduced again.
            let mut of_tiles = Array2::from_elem((rows.len(), tiles.len()), T::zero());
            let mut columns = Vec::with_capacity(tiles.len());
            for (tile, mut of_tile) in tiles.iter().zip(of_tiles.columns_mut()) {
                band.clear();
                let state = (&mut choice, &mut kept);
                self.tile(tile, rows.clone(), &mut results, state, |_, results| {
                    band.extend_from_slice(&results[..tile.len()]);
                });
                let view = ArrayView2::from_shape((rows.len(), tile.len()), &band);
                // INVARIANT: so much was added for each row.
                let (found, first) = of_lanes(reduction, &view.expect("a row for each"));
                of_tile.assign(&found);
                columns.push(first);
            }
            let (found, first) = of_lanes(reduction, &of_tiles.view());
            best.extend(found);
            places.extend(
                first
                    .iter()
                    .enumerate()
                    .map(|(row, &tile)| tiles[tile].start + columns[tile][row]),
            );
        }
        (best, places)
    }
}

/// Returns the reduction of each row, and the first column that has an extreme; no columns for other reductions.
fn of_lanes<T: Element>(reduction: Reduction, rows: &ArrayView2<'_, T>) -> (Array1<T>, Vec<usize>) {
    let axes = Axes::one(Axis(1));
    match reduction {
        Reduction::Max | Reduction::Min => first_extremes(reduction, rows, axes),
        _ => (reduce_lanes(reduction, rows, axes), Vec::new()),
    }
}
