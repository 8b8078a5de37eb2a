//! The entries of a header.

/// The key of the metadata, which no tensor can be named.
pub(super) const METADATA: &str = "__metadata__";

/// An element type of the format.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Dtype {
    pub(super) name: &'static str,
    /// The number of bits of an element.
    pub(super) bits: usize,
}

impl Dtype {
    pub(super) const F32: Self = Self::new("F32", 32);
    pub(super) const F64: Self = Self::new("F64", 64);

    /// All element types of the format.
    const ALL: [Self; 22] = [
        Self::new("F4", 4),
        Self::new("F6_E2M3", 6),
        Self::new("F6_E3M2", 6),
        Self::new("BOOL", 8),
        Self::new("U8", 8),
        Self::new("I8", 8),
        Self::new("F8_E5M2", 8),
        Self::new("F8_E4M3", 8),
        Self::new("F8_E8M0", 8),
        Self::new("F8_E4M3FNUZ", 8),
        Self::new("F8_E5M2FNUZ", 8),
        Self::new("I16", 16),
        Self::new("U16", 16),
        Self::new("F16", 16),
        Self::new("BF16", 16),
        Self::new("I32", 32),
        Self::new("U32", 32),
        Self::F32,
        Self::new("C64", 64),
        Self::F64,
        Self::new("I64", 64),
        Self::new("U64", 64),
    ];

    const fn new(name: &'static str, bits: usize) -> Self {
        Self { name, bits }
    }

    pub(super) fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|dtype| dtype.name == name)
    }
}

/// The header's entry for a tensor.
#[derive(Clone, Debug)]
pub(super) struct Stored {
    pub(super) dtype: Dtype,
    pub(super) shape: Vec<usize>,
    /// The position of the first byte, from the end of the header.
    pub(super) begin: u64,
    /// The position after the last byte.
    pub(super) end: u64,
}

impl Stored {
    /// Returns the number of bits of all elements; `None` if no array can have the shape, even without elements.
    pub(super) fn bits(&self) -> Option<u128> {
        let axes = self.shape.iter().filter(|length| **length != 0);
        let product = axes.copied().try_fold(1, usize::checked_mul)?;
        let bits = product as u128 * self.dtype.bits as u128;
        let fits = bits / 8 <= isize::MAX as u128;
        let is_empty = self.shape.contains(&0);
        fits.then_some(if is_empty { 0 } else { bits })
    }
}
