use super::*;

const TABLE: ShapeTable = ShapeTable {
    text: "f\nn i\n\nx [.., n, i]\ny [.., i, 3]\nz [[i, i]]\nw [.., _, i]\nv [.., n, i]",
    inputs: &[1, 2, 0, 1, 1, 2, 1, 128, 0, 2, 1, 1],
    outputs: &[1, 2, 255, 1, 2, 0],
    numbers: &[3],
};

/// Reads the lengths of three inputs, and gives them to `look`.
fn read<R>(
    x: &[usize],
    y: &[usize],
    z: &[&[usize]],
    look: impl FnOnce(&Lengths<'_, 2, 0>) -> R,
) -> Result<R, Error> {
    let inputs = [Dims::One(x), Dims::One(y), Dims::List(z.to_vec())];
    let mut lengths = Lengths::unread(&inputs);
    TABLE.read_lengths(&mut lengths, nothing_computed, Location::caller())?;
    Ok(look(&lengths))
}

#[test]
fn axes_are_read_and_compared() {
    let found = read(&[7, 2, 5], &[7, 5, 3], &[&[5, 5]], |lengths| {
        let wrong = [
            &[7, 9, 9, 5][..],
            &[7, 9, 6],
            &[8, 9, 5],
            &[9, 5],
            &[7, 9, 5, 1],
        ];
        let expected = TABLE.expected(lengths, 0);
        assert!(expected.is(&[7, 9, 5]));
        assert!(wrong.iter().all(|wrong| !expected.is(wrong)));
        let error = TABLE.returned_error(0, &expected, &[2], Location::caller());
        assert_eq!(
            error.message(),
            "forward of `f` returned `w` of shape [2], but its declared shape, `[.., _, i]`, is [7, _, 5] here"
        );
        (
            lengths.axes,
            lengths.leading.to_vec(),
            TABLE.shape(lengths, 1),
        )
    });
    assert_eq!(found.unwrap(), ([2, 5], vec![7], vec![7, 2, 5]));
    let refused =
        |x: &[usize], y: &[usize], z: &[&[usize]]| read(x, y, z, |_| ()).unwrap_err().message();
    assert_eq!(
        refused(&[2, 5], &[4, 3], &[]),
        "`f` of `x` of shape [2, 5] and `y` of shape [4, 3]: axis `i` is 5 in `x` and 4 in `y`"
    );
    assert_eq!(
        refused(&[7, 2, 5], &[5, 3], &[]),
        "`f` of `x` of shape [7, 2, 5] and `y` of shape [5, 3]: the leading axes are [7] in `x` and [] in `y`"
    );
    assert_eq!(
        refused(&[2, 5], &[5, 4], &[]),
        "`f` of `y` of shape [5, 4], which is not of the declared form `[.., i, 3]`"
    );
    assert_eq!(
        refused(&[5], &[5, 3], &[]),
        "`f` of `x` of shape [5], which is not of the declared form `[.., n, i]`"
    );
    assert_eq!(
        refused(&[2, 5], &[5, 3], &[&[5, 5], &[5, 6]]),
        "`f` of `x` of shape [2, 5] and `z[1]` of shape [5, 6]: axis `i` is 5 in `x` and 6 in `z[1]`"
    );
}

#[test]
fn lengths_are_computed_without_overflow() {
    let n = |number: i128| number.into_length();
    assert_eq!((n(-1) / n(2) + n(1), n(7) / n(-2)), (n(0), n(-4)));
    assert_eq!(
        (n(-1) % n(3), n(5) % n(3), -n(3)),
        (n(2), n(2), n(0) - n(3))
    );
    for wrong in [
        n(-3),
        n(i128::MAX) + n(1),
        n(3) / n(0),
        n(i128::from(u64::MAX)),
        u128::MAX.into_length(),
    ] {
        assert_eq!(wrong.to_usize(), None);
    }
    assert_eq!((n(3) / n(1)).to_usize(), Some(3));
}

#[test]
fn expressions_are_compared_and_shown_with_their_numbers() {
    let table = ShapeTable {
        text: "f\nl\nk\nx [l]\nw [2 * l]\noutput [l / k]\n2 * l\nl / k",
        inputs: &[0, 1, 0, 0, 1, 64],
        outputs: &[0, 1, 65],
        numbers: &[],
    };
    let lengths = |x: &[usize], w: &[usize], k: i128| {
        let inputs = [Dims::One(x), Dims::One(w)];
        let computed = |[l]: &[usize; 1]| {
            let (l, k) = (l.into_length(), k.into_length());
            ([2.into_length() * l, l / k], [k])
        };
        let mut lengths = Lengths::unread(&inputs);
        let found = table.read_lengths(&mut lengths, computed, Location::caller());
        found
            .map(|()| table.shape(&lengths, 0))
            .map_err(|error| error.message())
    };
    assert_eq!(lengths(&[7], &[14], 2), Ok(vec![3]));
    assert_eq!(
        lengths(&[7], &[13], 2).unwrap_err(),
        "`f` of `w` of shape [13]: the length declared as `2 * l` is 14 here"
    );
    assert_eq!(
        lengths(&[7], &[14], 0).unwrap_err(),
        "`f`: axis 0 of `output` is `l / k`, which is not a number, with `l` = 7, `k` = 0"
    );
    assert_eq!(
        lengths(&[7], &[14], -2).unwrap_err(),
        "`f`: axis 0 of `output` is `l / k` = -4, with `l` = 7, `k` = -2"
    );
}
