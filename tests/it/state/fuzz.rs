//! Files with random damage cause no panic, and change no model in part.

use std::fs;
use std::path::Path;
use std::sync::OnceLock;

use proptest::prelude::*;
use pullback::nn::{StateDict, Stateful};
use safetensors::SafeTensors;

use super::files::Folder;
use super::{bits, model};
use crate::graphs::cases_or;

/// A change of a byte or of the length.
#[derive(Clone, Debug)]
enum Damage {
    Set(prop::sample::Index, u8),
    Cut(prop::sample::Index),
    Insert(prop::sample::Index, Vec<u8>),
    Swap(prop::sample::Index, prop::sample::Index),
}

fn damage() -> impl Strategy<Value = Damage> {
    use prop::sample::Index;
    let text = prop::sample::select(&b"{}[]\",:0123456789-eE.\\u\0\xff"[..]);
    let byte = prop_oneof![any::<u8>(), text];
    prop_oneof![
        4 => (any::<Index>(), byte.clone()).prop_map(|(place, byte)| Damage::Set(place, byte)),
        1 => any::<Index>().prop_map(Damage::Cut),
        2 => (any::<Index>(), prop::collection::vec(byte, 1..20)).prop_map(|(place, bytes)| Damage::Insert(place, bytes)),
        1 => (any::<Index>(), any::<Index>()).prop_map(|(a, b)| Damage::Swap(a, b)),
    ]
}

fn damaged(bytes: &mut Vec<u8>, damage: Damage) {
    if bytes.is_empty() {
        return;
    }
    match damage {
        Damage::Set(place, byte) => *place.get_mut(bytes) = byte,
        Damage::Cut(place) => bytes.truncate(place.index(bytes.len())),
        Damage::Insert(place, more) => {
            let place = place.index(bytes.len());
            bytes.splice(place..place, more);
        }
        Damage::Swap(a, b) => {
            let length = bytes.len();
            bytes.swap(a.index(length), b.index(length));
        }
    }
}

/// Opens, reads and loads a file. Loading succeeds as a whole, or changes nothing.
fn try_all(path: &Path, bytes: &[u8]) -> bool {
    fs::write(path, bytes).unwrap();
    let read = StateDict::load_safetensors(path);
    let mut target = model(5);
    let before = bits(&target.state_dict());
    let loaded = target.load_safetensors(path);
    let after = bits(&target.state_dict());
    match (&read, loaded) {
        (_, Err(_)) => assert_eq!(after, before),
        (Err(error), Ok(())) => panic!("loaded what cannot be read: {error}"),
        // The name of a tie may be damaged: one of the parameter's names is enough, and others are unused.
        (Ok(read), Ok(())) => {
            let mut read = bits(read);
            read.retain(|(name, ..)| after.iter().any(|(wanted, ..)| name == wanted));
            assert!(
                read.iter().all(|entry| after.contains(entry)) && read.len() + 1 >= after.len()
            );
        }
    }
    // The reader of the crate safetensors checks no more than this.
    if read.is_ok() {
        SafeTensors::deserialize(bytes).expect("a file by the crate's rules too");
    }
    read.is_ok()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: cases_or(2000), failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn damaged_files_are_read_whole_or_refused(damages in prop::collection::vec(damage(), 1..4)) {
        static WHOLE: OnceLock<Vec<u8>> = OnceLock::new();
        let folder = Folder::new("damaged");
        let path = folder.file("file");
        let whole = WHOLE.get_or_init(|| {
            model(1).save_safetensors(&path).unwrap();
            let bytes = fs::read(&path).unwrap();
            assert!(try_all(&path, &bytes));
            bytes
        });
        let mut bytes = whole.clone();
        for damage in damages {
            damaged(&mut bytes, damage);
        }
        try_all(&path, &bytes);
    }

    #[test]
    fn random_bytes_are_refused(bytes in prop::collection::vec(any::<u8>(), 0..200), announced in 0_u64..250) {
        let folder = Folder::new("random");
        let path = folder.file("file");
        try_all(&path, &bytes);
        let bytes = [&announced.to_le_bytes()[..], &bytes].concat();
        try_all(&path, &bytes);
    }
}
