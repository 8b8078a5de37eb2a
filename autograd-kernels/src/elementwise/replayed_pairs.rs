//! The values and derivatives of formulas that are recorded, added for the pairs of a tile: replayed for one row and some
//! columns at a time.

use super::formula::Formula;
use super::item::{NUMBER, of_numbers};
use super::order::First;
use super::recorded::{OfReplays, Replay, Replayed, Row, WIDTH, Wanted, depth, of_depth};
use super::replayed::{Outputs, Pairing, load};
use super::tile::{self, Side, Tile};
use crate::element::Element;

/// The number of sums of a row of a tile.
const SUMS: usize = tile::WIDTH;

/// Adds the derivatives of the first order that are wanted, for the pairs of a tile.
pub(super) fn add_partials<T, F, const I: usize, const O: usize>(
    formula: &F,
    kept: &mut Option<Replay<T>>,
    tile: Tile<'_, '_, T>,
) where
    T: Element,
    F: Formula<I, O>,
{
    let pairing = Pairing::<F, First, I, O>::new(formula);
    let sides = const { of_numbers::<_, I>(F::INPUTS, F::SIDES, Side::All) };
    let is_wanted = |place| {
        tile.sums
            .get(place)
            .is_some_and(|sum: &&mut [T]| !sum.is_empty())
    };
    let wanted = (0..tile.inputs.len()).map(is_wanted);
    let wanted = Wanted::Gradients(wanted.collect());
    let work = TileWork {
        formula: &pairing,
        sides: &sides,
        of_sums: &sides,
        tile,
    };
    replayed(wanted, kept, work);
}

/// Adds the values for the pairs of a tile, for each row.
pub(super) fn add_values<T, F, const I: usize, const O: usize>(
    formula: &F,
    kept: &mut Option<Replay<T>>,
    tile: Tile<'_, '_, T>,
) where
    T: Element,
    F: Formula<I, O>,
{
    let work = TileWork {
        formula: &Outputs(Pairing::<F, First, I, O>::new(formula)),
        sides: &const { of_numbers::<_, I>(F::INPUTS, F::SIDES, Side::All) },
        of_sums: &[],
        tile,
    };
    replayed(Wanted::Values(O), kept, work);
}

/// Adds what is wanted for the pairs of a tile.
fn replayed<T: Element>(
    wanted: Wanted,
    kept: &mut Option<Replay<T>>,
    work: TileWork<'_, '_, '_, T>,
) {
    let tile = &work.tile;
    let replay = kept.get_or_insert_with(|| {
        let (inputs, sums) = (tile.inputs.len(), tile.sums.len());
        Replay::new(wanted, depth::<T>(tile.columns), inputs, inputs.max(sums))
    });
    of_depth(replay.depth(), OfTile(work, replay));
}

/// What the loop over the pairs of a tile reads and writes.
struct TileWork<'a, 'b, 'c, T> {
    formula: &'a dyn Replayed<T>,
    /// Those of the inputs, and of the sums. What is not there, gradients and values, has a number for each row.
    sides: &'a [Side],
    of_sums: &'a [Side],
    tile: Tile<'b, 'c, T>,
}

/// The loop over the pairs of a tile.
struct OfTile<'a, 'b, 'c, 'd, T>(TileWork<'a, 'b, 'c, T>, &'d mut Replay<T>);

impl<T: Element> OfReplays for OfTile<'_, '_, '_, '_, T> {
    type Element = T;

    #[cfg_attr(optimized, inline(always))]
    fn run<const DEPTH: usize>(self) {
        let Self(work, replay) = self;
        let Tile {
            rows,
            columns,
            inputs,
            sums,
        } = work.tile;
        let is_column = |place: usize| work.sides.get(place) == Some(&Side::Column);
        let has_columns = |sum: usize| work.of_sums.get(sum) == Some(&Side::Column);
        // Of each result that is wanted, in rows of lanes: of the columns, or of one row.
        let mut own: Vec<Vec<Row<T>>> = Vec::with_capacity(sums.len());
        for (place, sum) in sums.iter().enumerate() {
            let count = match sum.is_empty() {
                true => 0,
                false if has_columns(place) => columns.div_ceil(WIDTH),
                false => SUMS / WIDTH,
            };
            own.push(vec![Row([T::zero(); WIDTH]); count]);
        }
        // The last ones come first, as in the loops that are compiled: sums are the same.
        let last = columns.saturating_sub(1) / SUMS * SUMS;
        for row in rows.clone() {
            for place in (0..inputs.len()).filter(|place| !is_column(*place)) {
                let elements = inputs[place];
                let element = elements[if elements.len() == 1 { 0 } else { row }];
                *replay.input(place) = [Row([element; WIDTH]); DEPTH];
            }
            let starts = (last..columns).step_by(replay.lanes());
            for start in starts.chain((0..last).step_by(replay.lanes())) {
                for place in (0..work.sides.len()).filter(|place| is_column(*place)) {
                    load(
                        &inputs[place][start..],
                        NUMBER,
                        replay.input::<DEPTH>(place),
                    );
                }
                replay.run(work.formula);
                for (place, own) in own.iter_mut().enumerate() {
                    if own.is_empty() {
                        continue;
                    }
                    let starts = (start..columns).step_by(WIDTH);
                    for (start, row) in starts.zip(replay.results().rows::<DEPTH>(place)) {
                        // Those of a row are of the columns that are so far apart.
                        let index = start / WIDTH % own.len();
                        add(&mut own[index], row, (columns - start).min(WIDTH));
                    }
                }
            }
            for (place, sum) in sums.iter_mut().enumerate() {
                if !has_columns(place) && !sum.is_empty() {
                    let sum = &mut sum[(row - rows.start) * SUMS..][..SUMS];
                    for (sum, own) in sum.chunks_exact_mut(WIDTH).zip(&mut own[place]) {
                        sum.copy_from_slice(&own.0);
                        own.0.fill(T::zero());
                    }
                }
            }
        }
        for (place, sum) in sums.iter_mut().enumerate() {
            if has_columns(place) {
                let own = own[place].iter().flat_map(|own| &own.0);
                for (sum, own) in sum.iter_mut().zip(own) {
                    *sum += *own;
                }
            }
        }
    }
}

/// Adds the first lanes.
#[cfg_attr(optimized, inline(always))]
fn add<T: Element>(sums: &mut Row<T>, lanes: &Row<T>, count: usize) {
    if count == WIDTH {
        sums.add_lanes(lanes);
    } else {
        for (sum, lane) in sums.0.iter_mut().zip(&lanes.0).take(count) {
            *sum += *lane;
        }
    }
}
