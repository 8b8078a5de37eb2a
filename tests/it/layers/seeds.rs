//! A seed gives a model with the same bits each time.

use pullback::ndarray::Array1;
use pullback::nn::{
    Conv1d, Conv2d, ConvTranspose2d, Dropout, Embedding, Generator, Linear, MultiheadAttention,
};
use pullback::prelude::*;

use super::generator;

/// Returns all layers with random initial values, from one generator.
fn layers(seed: u64) -> Vec<Box<dyn Module>> {
    let g = &mut Generator::seed(seed);
    vec![
        Box::new(Linear::<f32>::new(3, 2, g)),
        Box::new(Conv1d::<f32>::new(2, 3, 2, g)),
        Box::new(Conv2d::<f32>::new(2, 3, 2, g)),
        Box::new(ConvTranspose2d::<f32>::new(2, 3, 2, g)),
        Box::new(Embedding::<f32>::new(3, 2, g)),
        Box::new(MultiheadAttention::<f32>::new(4, 2, g)),
    ]
}

/// Returns the bits of all parameters, hashed by FNV-1a.
fn digest(module: &dyn Module) -> u64 {
    let mut digest = 0xcbf2_9ce4_8422_2325_u64;
    for parameter in module.parameters() {
        let tensor = parameter
            .to_any()
            .to_tensor::<f32>()
            .expect("single precision");
        for byte in tensor.view().iter().flat_map(|x| x.to_bits().to_le_bytes()) {
            digest = (digest ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3);
        }
    }
    digest
}

#[test]
fn a_seed_gives_the_same_layers_for_ever() {
    let found: Vec<u64> = layers(7).iter().map(|layer| digest(&**layer)).collect();
    let expected: [u64; 6] = [
        0x5e68_6d17_8f3d_2e27,
        0x117e_3503_0457_64e7,
        0xceaf_b7d2_3864_8065,
        0xcee6_c04d_e2cf_168a,
        0x3b39_cc61_b87a_7659,
        0x8b51_9155_e105_9b5e,
    ];
    assert_eq!(found, expected);
    let others = layers(8);
    assert!(
        found
            .iter()
            .zip(&others)
            .all(|(found, other)| *found != digest(&**other))
    );
}

#[test]
fn dropout_is_what_its_seed_and_its_count_say() {
    let x = Tensor::from(Array1::<f32>::ones(64));
    let run = || {
        let dropout = Dropout::new(0.5, &mut generator());
        [(); 3].map(|()| dropout.forward(&x).to_array())
    };
    assert_eq!(run(), run());
    let g = &mut generator();
    let (first, second) = (Dropout::new(0.5, g), Dropout::new(0.5, g));
    assert_ne!(first.forward(&x).to_array(), second.forward(&x).to_array());
}

#[test]
fn threads_never_share_a_call_of_dropout() {
    let dropout = Dropout::new(0.5, &mut generator());
    let x = Tensor::from(Array1::<f32>::ones(64));
    let mut drawn: Vec<Vec<bool>> = std::thread::scope(|scope| {
        let (dropout, x) = (&dropout, &x);
        let thread = move || -> Vec<Vec<bool>> {
            (0..50)
                .map(|_| {
                    dropout
                        .forward(x)
                        .view()
                        .iter()
                        .map(|&y| y == 0.0)
                        .collect()
                })
                .collect()
        };
        let threads = [(); 4].map(|()| scope.spawn(thread));
        threads
            .into_iter()
            .flat_map(|thread| thread.join().expect("no panic"))
            .collect()
    });
    drawn.sort();
    drawn.dedup();
    assert_eq!((drawn.len(), dropout.calls()), (200, 200));
}
