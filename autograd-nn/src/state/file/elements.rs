//! Conversion between numbers and little-endian bytes, through a buffer of fixed size.

use std::io::{self, Read, Write};

use autograd_core::AnyTensor;
use autograd_core::ndarray::{ArrayViewD, ArrayViewMutD};

use crate::parameter::any::AnyViewMut;

/// The number of bytes in the buffer.
const CHUNK: usize = 64 << 10;

trait LittleEndian: Copy {
    const SIZE: usize;
    fn put(self, bytes: &mut [u8]);
    fn take(bytes: &[u8]) -> Self;
}

macro_rules! little_endian {
    ($($T:ty),+) => {$(
        impl LittleEndian for $T {
            const SIZE: usize = size_of::<$T>();

            fn put(self, bytes: &mut [u8]) {
                bytes.copy_from_slice(&self.to_le_bytes());
            }

            fn take(bytes: &[u8]) -> Self {
                // INVARIANT: the chunks have that size.
                Self::from_le_bytes(bytes.try_into().expect("the bytes of one number"))
            }
        }
    )+};
}

little_endian!(f32, f64);

/// Writes the elements in row-major order.
pub(super) fn write(writer: &mut dyn Write, tensor: &AnyTensor) -> io::Result<()> {
    match tensor {
        AnyTensor::F32(tensor) => write_view(writer, &tensor.view()),
        AnyTensor::F64(tensor) => write_view(writer, &tensor.view()),
    }
}

fn write_view<T: LittleEndian>(writer: &mut dyn Write, view: &ArrayViewD<T>) -> io::Result<()> {
    match view.as_slice() {
        Some(elements) => write_all(writer, elements.iter(), elements.len()),
        None => write_all(writer, view.iter(), view.len()),
    }
}

fn write_all<'a, T: LittleEndian + 'a>(
    writer: &mut dyn Write,
    mut elements: impl Iterator<Item = &'a T>,
    count: usize,
) -> io::Result<()> {
    let mut chunk = vec![0; CHUNK.min(count * T::SIZE)];
    let mut left = count * T::SIZE;
    while left > 0 {
        let bytes = left.min(chunk.len());
        let pieces = chunk[..bytes].chunks_exact_mut(T::SIZE);
        for (piece, element) in pieces.zip(elements.by_ref()) {
            element.put(piece);
        }
        writer.write_all(&chunk[..bytes])?;
        left -= bytes;
    }
    Ok(())
}

/// Reads elements into all places of an array, in row-major order.
pub(super) fn read(reader: &mut dyn Read, target: AnyViewMut<'_>) -> io::Result<()> {
    match target {
        AnyViewMut::F32(view) => read_view(reader, view),
        AnyViewMut::F64(view) => read_view(reader, view),
    }
}

fn read_view<T: LittleEndian>(reader: &mut dyn Read, mut view: ArrayViewMutD<T>) -> io::Result<()> {
    let count = view.len();
    match view.as_slice_mut() {
        Some(elements) => read_all(reader, elements.iter_mut(), count),
        None => read_all(reader, view.iter_mut(), count),
    }
}

fn read_all<'a, T: LittleEndian + 'a>(
    reader: &mut dyn Read,
    mut elements: impl Iterator<Item = &'a mut T>,
    count: usize,
) -> io::Result<()> {
    let mut chunk = vec![0; CHUNK.min(count * T::SIZE)];
    let mut left = count * T::SIZE;
    while left > 0 {
        let bytes = left.min(chunk.len());
        reader.read_exact(&mut chunk[..bytes])?;
        let pieces = chunk[..bytes].chunks_exact(T::SIZE);
        for (piece, element) in pieces.zip(elements.by_ref()) {
            *element = T::take(piece);
        }
        left -= bytes;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use autograd_core::Tensor;
    use autograd_core::ndarray::{Array2, array};

    #[test]
    fn numbers_come_back_bit_by_bit_from_any_layout() {
        let bits = [0, 1, 0x7f80_0000, 0xff80_0001, 0x8000_0000, 0x7fc0_1234];
        let values = Array2::from_shape_fn((2, 3), |(i, j)| f32::from_bits(bits[3 * i + j]));
        let mut bytes = Vec::new();
        write(&mut bytes, &values.clone().reversed_axes().into()).unwrap();
        let mut back = Array2::<f32>::zeros((2, 3));
        let target = AnyViewMut::F32(back.view_mut().reversed_axes().into_dyn());
        read(&mut &bytes[..], target).unwrap();
        assert_eq!(back.map(|x| x.to_bits()), values.map(|x| x.to_bits()));
    }

    #[test]
    fn more_than_one_chunk() {
        let values = Array2::from_shape_fn((100, 333), |(i, j)| (i * 1000 + j) as f64);
        let mut bytes = Vec::new();
        write(&mut bytes, &values.clone().into()).unwrap();
        assert!(bytes.len() > 2 * CHUNK && bytes.len() % CHUNK != 0);
        let mut back = Array2::<f64>::zeros((100, 333));
        read(&mut &bytes[..], AnyViewMut::F64(back.view_mut().into_dyn())).unwrap();
        assert_eq!(back, values);
    }

    #[test]
    fn a_full_disk_is_an_error() {
        let full = std::fs::OpenOptions::new().write(true).open("/dev/full");
        // Only some systems have one.
        let Ok(mut full) = full else { return };
        let tensor = Tensor::from(array![1.0, 2.0]).into();
        let error = write(&mut full, &tensor).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::StorageFull);
    }
}
