use super::*;
use crate::error::ErrorKind;

const TABLE: ShapeTable = ShapeTable {
    function: "f",
    axes: &["n", "i"],
    inputs: &[
        DeclaredShape {
            input: "x",
            text: "[.., n, i]",
            leading: true,
            lengths: &[DeclaredLength::Axis(0), DeclaredLength::Axis(1)],
        },
        DeclaredShape {
            input: "y",
            text: "[.., i, 3]",
            leading: true,
            lengths: &[DeclaredLength::Axis(1), DeclaredLength::Number(3)],
        },
        DeclaredShape {
            input: "z",
            text: "[[i, i]]",
            leading: false,
            lengths: &[DeclaredLength::Axis(1), DeclaredLength::Axis(1)],
        },
    ],
};

fn axes<'a>(x: &'a [usize], y: &'a [usize], z: &[&'a [usize]]) -> Result<Axes<'a, 2>, Error> {
    let inputs = [Dims::One(x), Dims::One(y), Dims::List(z.to_vec())];
    TABLE.axes(&inputs, Location::caller())
}

#[test]
fn axes_are_read_and_compared() {
    let read = axes(&[7, 2, 5], &[7, 5, 3], &[&[5, 5]]).unwrap();
    assert_eq!((read.lengths, read.leading), ([2, 5], &[7][..]));
    let refused = |x, y, z| axes(x, y, z).unwrap_err().message();
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
    let text = ["f", "output", "l / k"];
    let of =
        |length: Length| length.of_axis(text, 1, &[("l", n(3)), ("k", n(0))], Location::caller());
    assert_eq!(of(n(3) / n(1)).unwrap(), 3);
    assert_eq!(
        of(n(3) / n(0)).unwrap_err().message(),
        "`f`: axis 1 of `output` is `l / k`, which is not a number, with `l` = 3, `k` = 0"
    );
    for wrong in [
        n(-3),
        n(i128::MAX) + n(1),
        n(i128::from(u64::MAX)),
        u128::MAX.into_length(),
    ] {
        assert!(matches!(
            of(wrong).unwrap_err().kind(),
            ErrorKind::Length { axis: 1, .. }
        ));
    }
}

#[test]
fn an_expected_shape_may_leave_lengths_open() {
    let expected = Expected {
        leading: &[2],
        lengths: [ANY, 4],
    };
    assert!(expected.is(&[2, 9, 4]));
    for wrong in [&[2, 9, 5][..], &[3, 9, 4], &[9, 4], &[2, 9, 4, 1]] {
        assert!(!expected.is(wrong), "{wrong:?}");
    }
    assert_eq!(
        expected
            .error(["f", "y", "[.., _, n]"], &[2], Location::caller())
            .message(),
        "forward of `f` returned `y` of shape [2], but its declared shape, `[.., _, n]`, is [2, _, 4] here"
    );
    assert_eq!(
        (expected.to_array(), expected.to_vec()[1]),
        ([2, ANY, 4], ANY)
    );
}
