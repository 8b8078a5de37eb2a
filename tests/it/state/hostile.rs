//! Damaged and malicious files are errors with a reason.

use std::fs;
use std::path::Path;

use pullback::ndarray::array;
use pullback::nn::{Parameter, StateError, StateFile, Stateful};

use super::files::{Folder, file_of};

/// Returns the error of a file with these bytes, without its name.
fn refusal(path: &Path, bytes: &[u8]) -> String {
    fs::write(path, bytes).unwrap();
    let error = StateFile::open(path).expect_err("the file is damaged");
    assert!(matches!(error, StateError::Malformed { .. }), "{error:?}");
    let error = error.to_string();
    let prefix = format!("{} is not a complete safetensors file: ", path.display());
    error
        .strip_prefix(&prefix)
        .expect("the file's name")
        .to_owned()
}

#[test]
fn files_that_are_none_are_refused() {
    let folder = Folder::new("none");
    let path = folder.file("file");
    let length = |length: u64, rest: &str| [&length.to_le_bytes()[..], rest.as_bytes()].concat();
    let cases: [(Vec<u8>, &str); 9] = [
        (
            vec![],
            "it has 0 bytes, but the length of its header takes 8",
        ),
        (vec![0; 7], "it has 7 bytes"),
        (vec![0; 8], "its header does not begin with `{`"),
        (
            length(3, "{}"),
            "its header has 3 bytes, but the file ends after 2",
        ),
        (
            length(u64::MAX, "{}"),
            "its header has 18446744073709551615 bytes, more than 100000000",
        ),
        (
            length(100_000_000, "{}"),
            "its header has 100000000 bytes, but the file ends after 2",
        ),
        (
            length(2, "\0\0"),
            "its header is not JSON: it has control characters",
        ),
        (
            length(2, "{}x"),
            "its header describes 0 bytes of elements, but the file has 1",
        ),
        (
            b"\x80\x02}q\x00X\x06\x00\x00\x00weight".to_vec(),
            "its header has",
        ),
    ];
    for (bytes, what) in cases {
        let refusal = refusal(&path, &bytes);
        assert!(refusal.starts_with(what), "{refusal}");
    }
}

/// Headers, the number of bytes after them, and the errors.
const HEADERS: &[(&str, usize, &str)] = &[
    ("[]", 0, "its header does not begin with `{`"),
    ("null", 0, "its header does not begin with `{`"),
    ("{} {}", 0, "its header: "),
    (
        r#"{"a":7}"#,
        0,
        "its header: `a`: expected a map with `dtype`, `shape` and `data_offsets`, found 7",
    ),
    (
        r#"{"a":{}}"#,
        0,
        "its header: `a`: `data_offsets` is missing",
    ),
    (
        r#"{"a":{"dtype":"F32","shape":[1]}}"#,
        4,
        "its header: `a`: `data_offsets` is missing",
    ),
    (
        r#"{"a":{"dtype":"F33","shape":[1],"data_offsets":[0,4]}}"#,
        4,
        "its header: `a`: the element type `F33` is unknown",
    ),
    (
        r#"{"a":{"dtype":"F32","shape":[-1],"data_offsets":[0,4]}}"#,
        4,
        "its header: `a`: expected a whole number from 0 to 18446744073709551615, found -1",
    ),
    (
        r#"{"a":{"dtype":"F32","shape":[1.0],"data_offsets":[0,4]}}"#,
        4,
        "its header: `a`: expected a whole number from 0 to 18446744073709551615, found 1.0",
    ),
    (
        r#"{"a":{"dtype":"F32","shape":[NaN],"data_offsets":[0,4]}}"#,
        4,
        "its header: `a`: ",
    ),
    (
        r#"{"a":{"dtype":"F32","shape":[1e3],"data_offsets":[0,4]}}"#,
        4,
        "its header: `a`: expected a whole number from 0 to 18446744073709551615, found 1e3",
    ),
    (
        r#"{"a":{"dtype":"F32","shape":[1],"data_offsets":[-4,0]}}"#,
        4,
        "its header: `a`: expected a whole number from 0 to 18446744073709551615, found -4",
    ),
    (
        r#"{"a":{"dtype":"F32","shape":[1],"data_offsets":[0]}}"#,
        4,
        "its header: `a`: `data_offsets` must have two numbers, found ",
    ),
    (
        r#"{"a":{"dtype":"F32","shape":[1],"data_offsets":[0,4,8]}}"#,
        4,
        "its header: `a`: ",
    ),
    (
        r#"{"a":{"dtype":"F32","dtype":"F32","shape":[1],"data_offsets":[0,4]}}"#,
        4,
        "its header: `a`: `dtype` occurs twice",
    ),
    (
        r#"{"a":{"dtype":"F32","shape":[1],"data_offsets":[0,4]},"a":{"dtype":"F32","shape":[1],"data_offsets":[0,4]}}"#,
        4,
        "its header: `a` occurs twice",
    ),
    (
        r#"{"__metadata__":{},"__metadata__":{}}"#,
        0,
        "its header: `__metadata__` occurs twice",
    ),
    (
        r#"{"__metadata__":{"k":"1","k":"1"}}"#,
        0,
        "its header: `k` occurs twice",
    ),
    (
        r#"{"__metadata__":{"k":1}}"#,
        0,
        "its header: expected a string, found 1",
    ),
    (
        r#"{"__metadata__":[]}"#,
        0,
        "its header: expected a map from names to strings, found a list",
    ),
    (
        r#"{"a":{"dtype":"U8","shape":[0],"data_offsets":[0,0]},"\u0061":{"dtype":"U8","shape":[0],"data_offsets":[0,0]}}"#,
        0,
        "its header: `a` occurs twice",
    ),
    (
        r#"{"a":{"dtype":"F32","shape":[1],"packed":true,"data_offsets":[0,4]}}"#,
        4,
        "its header: `a`: `packed` is unknown: expected `dtype`, `shape` and `data_offsets`",
    ),
    // Offsets.
    (
        r#"{"a":{"dtype":"F32","shape":[1],"data_offsets":[0,4]}}"#,
        3,
        "its header describes 4 bytes of elements, but the file has 3",
    ),
    (
        r#"{"a":{"dtype":"F32","shape":[1],"data_offsets":[0,4]}}"#,
        5,
        "its header describes 4 bytes of elements, but the file has 5",
    ),
    (
        r#"{"a":{"dtype":"F32","shape":[1],"data_offsets":[4,8]}}"#,
        8,
        "the bytes of `a` are [4, 8], but should begin at 0",
    ),
    (
        r#"{"a":{"dtype":"F32","shape":[1],"data_offsets":[4,0]}}"#,
        4,
        "the bytes of `a` are [4, 0]",
    ),
    (
        r#"{"a":{"dtype":"F32","shape":[2],"data_offsets":[0,8]},"b":{"dtype":"F32","shape":[1],"data_offsets":[4,8]}}"#,
        8,
        "the bytes of `b` are [4, 8], but should begin at 8",
    ),
    (
        r#"{"a":{"dtype":"F32","shape":[1],"data_offsets":[0,4]},"b":{"dtype":"F32","shape":[1],"data_offsets":[8,12]}}"#,
        12,
        "the bytes of `b` are [8, 12], but should begin at 4",
    ),
    (
        r#"{"a":{"dtype":"F32","shape":[1],"data_offsets":[0,8]}}"#,
        8,
        "`a` has 8 bytes, but F32 of shape [1] takes 4",
    ),
    (
        r#"{"a":{"dtype":"F64","shape":[1],"data_offsets":[0,4]}}"#,
        4,
        "`a` has 4 bytes, but F64 of shape [1] takes 8",
    ),
    (
        r#"{"a":{"dtype":"F4","shape":[3],"data_offsets":[0,1]}}"#,
        1,
        "`a` has 1 byte, but F4 of shape [3] takes 2",
    ),
    (
        r#"{"a":{"dtype":"F32","shape":[1],"data_offsets":[0,18446744073709551615]}}"#,
        4,
        "`a` has 18446744073709551615 bytes",
    ),
    (
        r#"{"a":{"dtype":"F32","shape":[1],"data_offsets":[0,18446744073709551616]}}"#,
        4,
        "its header: `a`: ",
    ),
    // Shapes.
    (
        r#"{"a":{"dtype":"F32","shape":[4294967296,4294967296],"data_offsets":[0,0]}}"#,
        0,
        "the shape [4294967296, 4294967296] of `a`, of F32, does not fit into memory",
    ),
    (
        r#"{"a":{"dtype":"F32","shape":[0,4294967296,4294967296],"data_offsets":[0,0]}}"#,
        0,
        "the shape [0, 4294967296, 4294967296] of `a`",
    ),
    (
        r#"{"a":{"dtype":"F64","shape":[2305843009213693952],"data_offsets":[0,0]}}"#,
        0,
        "the shape [2305843009213693952] of `a`",
    ),
    (
        r#"{"a":{"dtype":"F32","shape":[0],"data_offsets":[0,4]}}"#,
        4,
        "`a` has 4 bytes, but F32 of shape [0] takes 0",
    ),
];

#[test]
fn headers_that_cannot_be_true_are_refused() {
    let folder = Folder::new("headers");
    let path = folder.file("file");
    for (header, elements, what) in HEADERS {
        let refusal = refusal(&path, &file_of(header, *elements));
        assert!(refusal.starts_with(what), "{header}\n{refusal}");
    }
}

#[test]
fn deep_nesting_and_wrong_text_are_refused() {
    let folder = Folder::new("nesting");
    let path = folder.file("file");
    let axes = vec!["1"; 65].join(",");
    let header = format!(r#"{{"a":{{"dtype":"U8","shape":[{axes}],"data_offsets":[0,1]}}}}"#);
    let many = refusal(&path, &file_of(&header, 1));
    assert_eq!(many, "its header: `a`: a list has more than 64 numbers");
    for open in [
        r#"{"a":[["#,
        r#"{"a":"#,
        r#"{"a":{"b":"#,
        r#"{"__metadata__":{"k":["#,
    ] {
        let refusal = refusal(&path, &file_of(&open.repeat(100_000), 0));
        assert!(refusal.starts_with("its header: "), "{refusal}");
    }
    let mut bytes = file_of(r#"{"__metadata__":{"k":"vv"}}"#, 0);
    let place = bytes.windows(2).position(|pair| pair == b"vv").unwrap();
    bytes[place..place + 2].copy_from_slice(&[0xc3, 0x28]);
    let refusal = refusal(&path, &bytes);
    assert!(refusal.starts_with("its header: "), "{refusal}");
}

#[test]
fn what_is_no_file_is_refused() {
    let folder = Folder::new("what");
    let error = StateFile::open(folder.file("")).unwrap_err().to_string();
    assert!(error.ends_with("it is not a regular file"), "{error}");
    let error = StateFile::open(folder.file("missing")).unwrap_err();
    assert!(
        matches!(&error, StateError::Io { source, .. } if source.kind() == std::io::ErrorKind::NotFound)
    );
    assert!(std::error::Error::source(&error).is_some());
}

#[test]
fn a_file_that_shrinks_after_it_was_opened_is_an_error() {
    let folder = Folder::new("shrinks");
    let path = folder.file("file");
    let mut parameter = Parameter::new(array![1.0, 2.0]);
    parameter.save_safetensors(&path).unwrap();
    let mut file = StateFile::open(&path).unwrap();
    let whole = fs::read(&path).unwrap();
    let writer = fs::OpenOptions::new().write(true).open(&path).unwrap();
    writer.set_len(whole.len() as u64 - 8).unwrap();
    let error = file
        .load_into(&mut parameter, true)
        .unwrap_err()
        .to_string();
    assert!(error.starts_with("could not read `` from "), "{error}");
}
