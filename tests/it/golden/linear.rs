//! Products, convolutions and pooling.

use pullback::ndarray::{Dimension, Ix1, Ix2, Ix3, Ix4};
use pullback::ops::ConvOptions;
use pullback::prelude::*;

use super::{Attributes, Function, ranked};

pub fn function<T: Element>(op: &str, attributes: &Attributes) -> Option<Function<T>> {
    Some(match op {
        "matmul" => matmul::<T, Ix2, Ix2>(),
        "matmul_batched" => matmul::<T, Ix3, Ix3>(),
        "matmul_vec" => matmul::<T, Ix2, Ix1>(),
        "linear" => Box::new(|x| x[0].linear(&ranked(&x[1]), Some(&ranked(&x[2])))),
        "conv1d" => {
            let options = ConvOptions {
                stride: [attributes.get("stride")],
                padding: [attributes.get("padding")],
                ..ConvOptions::default()
            };
            Box::new(move |x| {
                let (x, weight, bias) = (ranked::<T, Ix3>(&x[0]), ranked(&x[1]), ranked(&x[2]));
                x.conv1d(&weight, Some(&bias), options).into_dyn()
            })
        }
        "conv2d" | "conv2d_groups" => {
            let plain = ConvOptions::default();
            let options = ConvOptions {
                stride: attributes
                    .get::<Option<_>>("stride")
                    .unwrap_or(plain.stride),
                padding: attributes.get("padding"),
                dilation: attributes
                    .get::<Option<_>>("dilation")
                    .unwrap_or(plain.dilation),
                groups: attributes
                    .get::<Option<_>>("groups")
                    .unwrap_or(plain.groups),
            };
            Box::new(move |x| {
                let (image, weight) = (ranked::<T, Ix4>(&x[0]), ranked(&x[1]));
                let bias = x.get(2).map(ranked);
                image.conv2d(&weight, bias.as_ref(), options).into_dyn()
            })
        }
        "max_pool2d" => pool(attributes, Tensor4::max_pool2d),
        "avg_pool2d" => pool(attributes, Tensor4::avg_pool2d),
        _ => return None,
    })
}

fn matmul<T, D, E>() -> Function<T>
where
    T: Element,
    D: pullback::ops::MatMulRank<E>,
    E: Dimension,
{
    Box::new(|x| {
        ranked::<T, D>(&x[0])
            .matmul(&ranked::<T, E>(&x[1]))
            .into_dyn()
    })
}

/// A pooling function of a tensor, a kernel, a stride and a padding.
type Pool<T> = fn(&Tensor4<T>, [usize; 2], [usize; 2], [usize; 2]) -> Tensor4<T>;

fn pool<T: Element>(attributes: &Attributes, pool: Pool<T>) -> Function<T> {
    let (kernel, stride) = (attributes.get("kernel"), attributes.get("stride"));
    Box::new(move |x| pool(&ranked(&x[0]), kernel, stride, [0, 0]).into_dyn())
}
