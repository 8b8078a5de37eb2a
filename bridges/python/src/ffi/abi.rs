//! The structures of XLA's typed foreign function interface, and safe access to the buffers and attributes of a call.
//!
//! The interface is that of `xla/ffi/api/c_api.h`, which jaxlib has in `jax.ffi.include_dir()`: structures that begin
//! with their size, so that later versions can add fields at the end. A version with another layout has another major
//! version, and is refused before a program runs.
//!
//! # Note [Borrowed buffers]
//! Tensors share the memory of operands, which is XLA's again when the handler returns. A function can keep a handle on
//! a tensor for longer, without any unsafe code. So each tensor counts itself in [`Held`], and [`handler`] ends the process
//! if one is left: the handle would show memory of others.

#![allow(unsafe_code, reason = "each block has its argument")]

use std::ffi::{CString, c_char, c_int, c_void};
use std::marker::PhantomData;
use std::process::abort;
use std::sync::Arc;
use std::{ptr, slice};

use pullback::foreign::catch_panic;
use pullback::{Element, TensorD};

use crate::borrowed::Borrowed;

/// The major version of the interface with these structures.
const MAJOR: c_int = 0;
/// The oldest version that XLA accepts, from which on it has all that is used here.
const MINOR: c_int = 1;

const METADATA: c_int = 1;
const BUFFER: c_int = 1;
const STRING: c_int = 4;
const INVALID_ARGUMENT: c_int = 3;

#[repr(C)]
struct Extension {
    struct_size: usize,
    kind: c_int,
    next: *mut Extension,
}

#[repr(C)]
struct Version {
    struct_size: usize,
    extensions: *mut Extension,
    major: c_int,
    minor: c_int,
}

/// The beginning of the metadata of a handler, whose other fields have their defaults.
#[repr(C)]
struct Metadata {
    struct_size: usize,
    version: Version,
    traits: u32,
}

#[repr(C)]
struct MetadataExtension {
    base: Extension,
    metadata: *mut Metadata,
}

/// An error of XLA, which only XLA reads.
#[repr(C)]
pub(super) struct XlaError {
    _private: [u8; 0],
}

#[repr(C)]
struct ErrorCreate {
    struct_size: usize,
    extensions: *mut Extension,
    message: *const c_char,
    code: c_int,
}

/// The beginning of XLA's functions.
#[repr(C)]
struct Api {
    struct_size: usize,
    extensions: *mut Extension,
    version: Version,
    internal: *const c_void,
    create_error: Option<unsafe extern "C" fn(*mut ErrorCreate) -> *mut XlaError>,
}

#[repr(C)]
struct Buffer {
    struct_size: usize,
    extensions: *mut Extension,
    dtype: c_int,
    data: *mut c_void,
    rank: i64,
    lengths: *const i64,
}

/// The operands of a call, or its results.
#[repr(C)]
struct Buffers {
    struct_size: usize,
    extensions: *mut Extension,
    count: i64,
    kinds: *const c_int,
    addresses: *const *const Buffer,
}

#[repr(C)]
struct Span {
    first: *const u8,
    length: usize,
}

#[repr(C)]
struct Attributes {
    struct_size: usize,
    extensions: *mut Extension,
    count: i64,
    kinds: *const c_int,
    names: *const *const Span,
    values: *const *const c_void,
}

/// The beginning of a call.
#[repr(C)]
pub(super) struct CallFrame {
    struct_size: usize,
    extensions: *mut Extension,
    api: *const Api,
    context: *mut c_void,
    stage: c_int,
    operands: Buffers,
    results: Buffers,
    attributes: Attributes,
}

/// The type of the elements of a buffer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(i32)]
pub(crate) enum Kind {
    Bool = 1,
    I8 = 2,
    I16 = 3,
    I32 = 4,
    I64 = 5,
    U8 = 6,
    U16 = 7,
    U32 = 8,
    U64 = 9,
    F32 = 11,
    F64 = 12,
}

impl Kind {
    fn of(dtype: c_int) -> Option<Self> {
        const KINDS: [Kind; 11] = [
            Kind::Bool,
            Kind::I8,
            Kind::I16,
            Kind::I32,
            Kind::I64,
            Kind::U8,
            Kind::U16,
            Kind::U32,
            Kind::U64,
            Kind::F32,
            Kind::F64,
        ];
        KINDS.into_iter().find(|kind| *kind as c_int == dtype)
    }

    const fn size(self) -> usize {
        match self {
            Self::Bool | Self::I8 | Self::U8 => 1,
            Self::I16 | Self::U16 => 2,
            Self::I32 | Self::U32 | Self::F32 => 4,
            Self::I64 | Self::U64 | Self::F64 => 8,
        }
    }
}

/// A type of elements, of which any bits are a value.
pub(crate) trait Number: Copy {
    const KIND: Kind;
}

macro_rules! numbers {
    ($($T:ty => $kind:ident),+) => {$(impl Number for $T { const KIND: Kind = Kind::$kind; })+};
}

numbers!(i8 => I8, i16 => I16, i32 => I32, i64 => I64, u8 => U8, u16 => U16, u32 => U32, u64 => U64, f32 => F32, f64 => F64);

/// Counts the tensors that share the memory of a call's operands: see Note \[Borrowed buffers\].
type Held = Arc<()>;

/// Elements in row-major order, of an operand or of one example of it.
#[derive(Clone, Debug)]
pub(crate) struct Operand<'a> {
    kind: Kind,
    /// INVARIANT: the memory has so many elements.
    shape: Vec<usize>,
    first: *const u8,
    held: Held,
    of: PhantomData<&'a [u8]>,
}

// SAFETY: the memory is of numbers, and only read.
unsafe impl Send for Operand<'_> {}
// SAFETY: as above.
unsafe impl Sync for Operand<'_> {}

impl<'a> Operand<'a> {
    pub(crate) fn kind(&self) -> Kind {
        self.kind
    }

    pub(crate) fn shape(&self) -> &[usize] {
        &self.shape
    }

    pub(crate) fn len(&self) -> usize {
        self.shape.iter().product()
    }

    /// Returns the elements, if they are of this type.
    pub(crate) fn elements<T: Number>(&self) -> Option<&'a [T]> {
        // SAFETY: XLA's buffer has an aligned element of this kind for each index, and it is only read while the call
        // lasts. A slice without elements may have any address.
        (self.kind == T::KIND).then(|| unsafe { elements(self.first.cast(), self.len()) })
    }

    /// Returns the truth values, if they are truth values.
    pub(crate) fn truths(&self) -> Option<impl Iterator<Item = bool> + use<'a>> {
        // SAFETY: as above; any byte is a `u8`.
        let bytes = (self.kind == Kind::Bool)
            .then(|| unsafe { elements::<'a, u8>(self.first, self.len()) });
        bytes.map(|bytes| bytes.iter().map(|&byte| byte != 0))
    }

    /// Returns a tensor of the elements, which shares their memory, if they are of its type.
    pub(super) fn tensor<T: Element + Number>(&self) -> Option<TensorD<T>> {
        let elements = self.elements::<T>()?;
        if elements.is_empty() {
            return Some(TensorD::from_owner(&self.shape[..], Vec::new()));
        }
        // SAFETY: made from such a slice; the memory lives until the handler returns, and `handler` lets it return only
        // when no handle on `held` is left.
        let borrowed =
            unsafe { Borrowed::new(elements.as_ptr(), elements.len(), self.held.clone()) };
        Some(TensorD::from_owner(&self.shape[..], borrowed))
    }

    /// Returns the number of examples along the first axis.
    pub(super) fn examples(&self) -> usize {
        self.shape.first().copied().unwrap_or(0)
    }

    /// Returns one example: the elements at an index of the first axis.
    ///
    /// # Panics
    /// If there is none.
    pub(super) fn example(&self, index: usize) -> Self {
        assert!(index < self.examples(), "an example of the operand");
        let shape = self.shape[1..].to_vec();
        let size = shape.iter().product::<usize>() * self.kind.size();
        Self {
            // The address is within the buffer, as the index is.
            first: self.first.wrapping_add(index * size),
            shape,
            held: self.held.clone(),
            ..*self
        }
    }
}

/// The memory of a result, or of one example of it, to which a call writes.
#[derive(Debug)]
pub(crate) struct Target<'a> {
    kind: Kind,
    /// INVARIANT: the memory has so many elements.
    shape: Vec<usize>,
    first: *mut u8,
    of: PhantomData<&'a mut [u8]>,
}

// SAFETY: the memory is of numbers, and no other value has access to it.
unsafe impl Send for Target<'_> {}

impl Target<'_> {
    pub(crate) fn kind(&self) -> Kind {
        self.kind
    }

    pub(crate) fn shape(&self) -> &[usize] {
        &self.shape
    }

    fn len(&self) -> usize {
        self.shape.iter().product()
    }

    /// Returns the elements, if they are of this type.
    pub(crate) fn elements<T: Number>(&mut self) -> Option<&mut [T]> {
        let length = self.len();
        (self.kind == T::KIND).then(|| {
            if length == 0 {
                return &mut [][..];
            }
            // SAFETY: XLA's buffer has an aligned element of this kind for each index; the memory may have any bits,
            // which are a number. Nothing else has access to it: XLA gives each result its own buffer, and `examples`
            // cuts it into disjoint ones.
            unsafe { slice::from_raw_parts_mut(self.first.cast(), length) }
        })
    }

    /// Returns the bytes.
    pub(crate) fn bytes(&mut self) -> &mut [u8] {
        let length = self.len() * self.kind.size();
        if length == 0 {
            return &mut [];
        }
        // SAFETY: as above.
        unsafe { slice::from_raw_parts_mut(self.first, length) }
    }

    /// Cuts the memory into that of the examples along the first axis.
    pub(super) fn examples(self) -> impl Iterator<Item = Self> {
        let count = self.shape.first().copied().unwrap_or(0);
        let shape = self.shape.get(1..).unwrap_or_default().to_vec();
        let size = shape.iter().product::<usize>() * self.kind.size();
        (0..count).map(move |index| Self {
            shape: shape.clone(),
            // The address is within the buffer, as the index is.
            first: self.first.wrapping_add(index * size),
            ..self
        })
    }
}

/// The operands, the results and the program of a call.
pub(super) struct Frame<'a> {
    pub(super) operands: Vec<Operand<'a>>,
    pub(super) results: Vec<Target<'a>>,
    pub(super) program: &'a str,
}

/// What a handler does.
pub(super) trait Body {
    /// Computes the results of a call.
    fn run(frame: Frame<'_>) -> Result<(), String>;
}

/// Returns the address of a handler.
pub(super) fn address<B: Body>() -> usize {
    let handler: unsafe extern "C" fn(*mut CallFrame) -> *mut XlaError = handler::<B>;
    handler as usize
}

/// Runs the body on a call that XLA makes, and returns its error as one of XLA.
///
/// # Safety
/// `frame` is a call of this interface from XLA, whose buffers live until this function returns.
unsafe extern "C" fn handler<B: Body>(frame: *mut CallFrame) -> *mut XlaError {
    // SAFETY: by this function's own contract.
    let frame = unsafe { &*frame };
    // SAFETY: as above; XLA keeps its structures while the call lasts.
    if unsafe { describe(frame.extensions) } {
        return ptr::null_mut();
    }
    // SAFETY: as above.
    let Some(api) = (unsafe { frame.api.as_ref() }) else {
        abort();
    };
    let mut held = Held::default();
    // SAFETY: as above.
    let read = || unsafe { read(frame, &held) }.and_then(B::run);
    let result = catch_panic(read).and_then(|result| result);
    if Arc::get_mut(&mut held).is_none() {
        eprintln!(
            "a function called by JAX has kept a handle on one of its arguments after it returned, and the memory is \
             JAX's: keep a copy, `Tensor::from(x.to_array())`"
        );
        abort();
    }
    match result {
        Ok(()) => ptr::null_mut(),
        Err(text) => error(api, &text),
    }
}

/// Returns whether XLA asks for the metadata of the handler, after writing them.
///
/// # Safety
/// `extensions` is the list of extensions of a call from XLA.
unsafe fn describe(extensions: *mut Extension) -> bool {
    // SAFETY: by this function's own contract; an extension of this kind is as long as its structure.
    unsafe {
        let Some(extension) = extensions.as_ref() else {
            return false;
        };
        if extension.kind != METADATA {
            return describe(extension.next);
        }
        let metadata = &mut *(*extensions.cast::<MetadataExtension>()).metadata;
        metadata.version.major = MAJOR;
        metadata.version.minor = MINOR;
        metadata.traits = 0;
    }
    true
}

fn error(api: &Api, text: &str) -> *mut XlaError {
    // A text in C ends at the first zero.
    let text = CString::new(text.replace('\0', " ")).unwrap_or_default();
    let mut arguments = ErrorCreate {
        struct_size: size_of::<ErrorCreate>(),
        extensions: ptr::null_mut(),
        message: text.as_ptr(),
        code: INVALID_ARGUMENT,
    };
    let Some(create) = api.create_error else {
        abort();
    };
    // SAFETY: XLA's function copies the message.
    unsafe { create(&raw mut arguments) }
}

/// Reads the operands, the results and the program of a call.
///
/// # Safety
/// `frame` is a call of this interface from XLA, whose buffers live as long as `'a`.
unsafe fn read<'a>(frame: &'a CallFrame, held: &Held) -> Result<Frame<'a>, String> {
    if frame.struct_size < size_of::<CallFrame>() {
        return Err("the interface of this jaxlib is too old".to_owned());
    }
    // SAFETY: by this function's own contract, as for all blocks here.
    let program = unsafe { text(&frame.attributes, "program") };
    let operands = unsafe { buffers(&frame.operands) }.map(|buffer| {
        let (kind, shape, first) = unsafe { parts(buffer?) }?;
        Ok(Operand {
            kind,
            shape,
            first: first.cast_const(),
            held: held.clone(),
            of: PhantomData,
        })
    });
    let results = unsafe { buffers(&frame.results) }.map(|buffer| {
        let (kind, shape, first) = unsafe { parts(buffer?) }?;
        Ok(Target {
            kind,
            shape,
            first,
            of: PhantomData,
        })
    });
    Ok(Frame {
        operands: operands.collect::<Result<_, String>>()?,
        results: results.collect::<Result<_, String>>()?,
        program: program.ok_or("a call without the attribute `program`")?,
    })
}

/// Returns the buffers of a call.
///
/// # Safety
/// They are those of a call from XLA.
unsafe fn buffers(of: &Buffers) -> impl Iterator<Item = Result<&Buffer, String>> {
    // SAFETY: XLA gives the number of elements of both arrays, of which each is the address of a buffer.
    let (kinds, buffers) = unsafe {
        let count = usize::try_from(of.count).unwrap_or(0);
        (elements(of.kinds, count), elements(of.addresses, count))
    };
    kinds.iter().zip(buffers).map(|(kind, buffer)| {
        let other = || format!("an operand of kind {kind}, which is not a buffer");
        // SAFETY: as above.
        (*kind == BUFFER)
            .then(|| unsafe { &**buffer })
            .ok_or_else(other)
    })
}

/// Returns the element type, the shape and the address of a buffer.
///
/// # Safety
/// It is a buffer of a call from XLA.
unsafe fn parts(buffer: &Buffer) -> Result<(Kind, Vec<usize>, *mut u8), String> {
    let kind = Kind::of(buffer.dtype);
    let kind = kind.ok_or_else(|| format!("an array of XLA's element type {}", buffer.dtype))?;
    // SAFETY: by this function's own contract; the rank is the number of lengths.
    let lengths = unsafe { elements(buffer.lengths, usize::try_from(buffer.rank).unwrap_or(0)) };
    let shape = lengths.iter().map(|&length| usize::try_from(length));
    let shape = shape.collect::<Result<_, _>>();
    let shape = shape.map_err(|_| "an array of negative length".to_owned())?;
    Ok((kind, shape, buffer.data.cast()))
}

/// Returns the text of an attribute.
///
/// # Safety
/// They are the attributes of a call from XLA, and live as long as `'a`.
unsafe fn text<'a>(of: &'a Attributes, name: &str) -> Option<&'a str> {
    // SAFETY: XLA gives the number of elements of the arrays. Each has an address of a name, and of a value, which is a
    // span of bytes if its kind is a string.
    unsafe {
        let count = usize::try_from(of.count).ok()?;
        let kinds = elements(of.kinds, count);
        let (names, values) = (elements(of.names, count), elements(of.values, count));
        let bytes = |span: &'a Span| elements(span.first, span.length);
        let is_it = |&place: &usize| bytes(&*names[place]) == name.as_bytes();
        let place = (0..count).find(is_it)?;
        let value = (kinds[place] == STRING).then(|| bytes(&*values[place].cast::<Span>()));
        str::from_utf8(value?).ok()
    }
}

/// Returns a slice, also for no elements at any address.
///
/// # Safety
/// There are so many elements at this address as long as `'a`, and nothing writes to them.
unsafe fn elements<'a, T>(first: *const T, count: usize) -> &'a [T] {
    if count == 0 {
        return &[];
    }
    // SAFETY: by this function's own contract.
    unsafe { slice::from_raw_parts(first, count) }
}
