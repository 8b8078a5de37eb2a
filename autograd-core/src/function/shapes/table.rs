//! The declared shapes of a function in two literals, of which the compiler of a user's crate makes little work.

/// The declared shapes of a function.
///
/// A declared shape is a byte for what comes before the lengths, one for their number, and one for each length.
///
/// | before the lengths | |
/// |---|---|
/// | 0 | nothing |
/// | 1 | the leading axes, `..` |
/// | 2 + `n` | the shape of input `n`, and no lengths |
///
/// | a length | |
/// |---|---|
/// | 0 to 63 | of the axis of this number |
/// | 64 to 127 | the expression of this number and 64 |
/// | 128 to 254 | the number at this place and 128 of `numbers` |
/// | 255 | any |
#[derive(Debug)]
pub struct ShapeTable {
    /// A line for the function's name, for the names of the axes, for those of the values that expressions compute
    /// with, for the name and the shape of each tensor, and for each expression.
    pub text: &'static str,
    /// The shapes of the inputs that have one.
    pub inputs: &'static [u8],
    /// Those of what forward returns.
    pub outputs: &'static [u8],
    /// The lengths that are written as numbers.
    pub numbers: &'static [usize],
}

/// There are not more axes than this.
pub(super) const MOST_AXES: usize = 64;

/// A declared shape.
#[derive(Clone, Copy, Debug)]
pub(super) struct DeclaredShape {
    pub(super) leading: Leading,
    /// The last axes.
    pub(super) lengths: &'static [u8],
}

/// What comes before the lengths of a declared shape.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Leading {
    None,
    Axes,
    /// The shape of the input of this number.
    Of(usize),
}

/// The declared length of one axis.
#[derive(Clone, Copy, Debug)]
pub(super) enum DeclaredLength {
    Any,
    Number(usize),
    /// The length of the axis of this number.
    Axis(usize),
    /// The expression of this number.
    Computed(usize),
}

/// The declared shapes in bytes of a table.
#[derive(Clone)]
struct DeclaredShapes(&'static [u8]);

impl Iterator for DeclaredShapes {
    type Item = DeclaredShape;

    #[inline]
    fn next(&mut self) -> Option<DeclaredShape> {
        let [leading, count, rest @ ..] = self.0 else {
            return None;
        };
        let (lengths, rest) = rest.split_at_checked(usize::from(*count))?;
        self.0 = rest;
        let leading = match leading {
            0 => Leading::None,
            1 => Leading::Axes,
            input => Leading::Of(usize::from(input - 2)),
        };
        Some(DeclaredShape { leading, lengths })
    }
}

impl ShapeTable {
    /// Returns the declared shapes of the inputs that have one.
    #[inline]
    pub(super) fn inputs(&self) -> impl Iterator<Item = DeclaredShape> + use<> {
        DeclaredShapes(self.inputs)
    }

    /// Returns those of what forward returns.
    #[inline]
    pub(super) fn outputs(&self) -> impl Iterator<Item = DeclaredShape> + use<> {
        DeclaredShapes(self.outputs)
    }

    /// Returns what a length is.
    #[inline]
    pub(super) fn length(&self, code: u8) -> DeclaredLength {
        let place = usize::from(code);
        match code {
            0..64 => DeclaredLength::Axis(place),
            64..128 => DeclaredLength::Computed(place - 64),
            128..255 => DeclaredLength::Number(self.numbers[place - 128]),
            255 => DeclaredLength::Any,
        }
    }

    /// Returns the function's name.
    pub(super) fn function(&self) -> &'static str {
        self.line(0)
    }

    /// Returns the names of the axes.
    pub(super) fn axes(&self) -> impl Iterator<Item = &'static str> + use<> {
        self.line(1).split_whitespace()
    }

    /// Returns the names of the values that expressions compute with.
    pub(super) fn values(&self) -> impl Iterator<Item = &'static str> + use<> {
        self.line(2).split_whitespace()
    }

    /// Returns the name of a tensor and its shape as it is written: those of inputs come before those of what forward
    /// returns.
    pub(super) fn tensor(&self, number: usize) -> (&'static str, &'static str) {
        let line = self.line(3 + number);
        line.split_once(' ').unwrap_or((line, ""))
    }

    /// Returns an expression as it is written.
    pub(super) fn expression(&self, number: usize) -> &'static str {
        self.line(3 + self.inputs().count() + self.outputs().count() + number)
    }

    fn line(&self, number: usize) -> &'static str {
        self.text.split('\n').nth(number).unwrap_or_default()
    }
}
