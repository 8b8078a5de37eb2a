//! The messages of panics about shapes and settings, which name the line of the call.

use pullback::functional::{vjp, vmap};
use pullback::ndarray::{Array1, Array2, Array3, Array4, ArrayView1, Axis, Ix1, Slice, array, s};
use pullback::nn::{
    BatchNorm1d, Conv1d, Conv2d, Dropout, Embedding, Generator, GroupNorm, LayerNorm, Linear,
    MultiheadAttention, Softmax, Softplus, StateDict, init, save_checkpoint,
};
use pullback::ops::ConvOptions;
use pullback::optim::schedule::{Cosine, OneCycle, Step};
use pullback::optim::{Adam, Sgd, clip_grad_norm};
use pullback::prelude::*;

use super::Page;
use crate::functions::{leaf, panic_of};

/// Returns the message of a call's panic, and whether the panic is at a line of this file.
fn panic_message(call: impl FnOnce()) -> (String, bool) {
    let (message, file, _) = panic_of(call);
    (message, file == file!())
}

macro_rules! refused {
    ($($call:expr;)*) => { vec![$(panic_message(|| { let _ = $call; })),*] };
}

pub(super) fn all(page: &mut Page) {
    let sections = [
        ("Tensors", tensors()),
        ("Built-in functions", functions()),
        ("Losses and kernels", losses()),
        ("Layers", layers()),
        ("First values and states", states()),
        ("Optimizers", optimizers()),
    ];
    for (title, messages) in sections {
        page.section(title);
        for (message, is_here) in messages {
            assert!(is_here, "not the line of the call: {message}");
            page.line(&message);
        }
    }
}

type Messages = Vec<(String, bool)>;

fn generator() -> Generator {
    Generator::seed(1)
}

fn matrix(rows: usize, columns: usize) -> Tensor2<f64> {
    Tensor::from(Array2::zeros((rows, columns)))
}

fn signals(length: usize) -> Tensor3<f64> {
    Tensor::from(Array3::zeros((1, 2, length)))
}

fn image() -> Tensor4<f64> {
    Tensor::from(Array4::zeros((1, 2, 4, 4)))
}

fn tensors() -> Messages {
    let x = leaf([1.0, 2.0]);
    let y = &x * 2.0;
    refused! {
        y.item();
        y.clone().set_requires_grad(false);
        x.set_grad(array![1.0]);
        y.clone().update(|_| ());
        y.register_post_accumulate_grad_hook(|_| ());
        x.detach().register_hook(|_| None);
        x.detach().retain_grad();
        jvp(squares, &[&x, &x][..], &[&x][..]);
        vjp(squares, &[&x, &x], &[&x]);
        vmap(|x| x.sum(), Axis(1), &x);
        vmap(|x| x.sum(), Axis(0), &matrix(0, 2));
        vmap(|(x, _)| x.sum(), Axis(0), (&x, &matrix(3, 2)));
        vmap(|x| Tensor::from(Array1::<f64>::zeros(1 + usize::from(x.item() > 1.5))), Axis(0), &x);
        vmap(|x| vec![x.clone(); 1 + usize::from(x.item() > 1.5)], Axis(0), &x);
        FirstOf::apply_batch(&matrix(2, 3), Some(&matrix(4, 1)), 1);
        FirstOf::apply_batch(&Tensor::from(array![[0.0, 0.0], [1.0, 0.0]]), None, 1);
        FirstOf::apply_batch(&Tensor::from(array![[9.0, 0.0]]), None, 2);
        FirstOf::apply_batch(&matrix(0, 3), None, 4);
    }
}

/// The first elements of `x`.
#[custom_function(
    batch(x, y),
    grad(x) = grad_output.to_owned(),
    grad(y) = grad_output.to_owned(),
)]
fn first_of(x: ArrayView1<f64>, y: Option<ArrayView1<f64>>, count: usize) -> Array1<f64> {
    let count = count + usize::from(x[0] > 0.0);
    assert!(count <= x.len() && y.is_none(), "there are fewer");
    x.slice(s![..count]).to_owned()
}

fn squares(list: &[Tensor1<f64>]) -> Vec<Tensor1<f64>> {
    list.iter().map(|x| x * x).collect()
}

fn functions() -> Messages {
    let (x, m) = (leaf([1.0, 2.0]), matrix(2, 3));
    refused! {
        &x + &leaf([1.0, 2.0, 3.0]);
        matrix(4_000_000, 1) * matrix(1, 4_000_000);
        matrix(4_000_000, 1).matmul(&matrix(1, 4_000_000));
        m.matmul(&matrix(2, 3));
        m.linear(&matrix(4, 2), None);
        m.broadcast_to::<Ix1>(&[3]);
        m.reshape([7]);
        m.permute(&[0, 0]);
        m.sum_axis(Axis(2));
        m.mean_axis(Axis(2));
        m.slice(s![.., 5]);
        m.split(Axis(1), &[2, 2]);
        m.index_select(Axis(0), &[2]);
        m.softmax(Axis(2));
        m.embedding(&[2]);
        m.embedding_padded(&[0], 2);
        m.index_add(Axis(0), &[0], &m);
        m.flip(&[3]);
        m.dropout(1.5, 1);
        Tensor2::<f64>::stack(Axis(0), &[] as &[&Tensor2<f64>]);
        Tensor2::<f64>::concat(Axis(0), &[] as &[&Tensor2<f64>]);
        image().max_pool2d([5, 5], [1, 1], [0, 0]);
        image().conv2d(&Tensor::from(Array4::zeros((1, 2, 5, 5))), None, ConvOptions::default());
        signals(4).conv1d(&signals(5), None, ConvOptions::default());
        signals(4).conv1d(&signals(2), Some(&x), ConvOptions::default());
        m.slice_axis(Axis(1), Slice::from(1..4));
        m.solve(&x);
    }
}

fn losses() -> Messages {
    use pullback::kernels;
    use pullback::ops::Reduction::Mean;
    let m = matrix(2, 3);
    refused! {
        m.mse_loss(&matrix(3, 2), Mean);
        m.huber_loss(&m, -1.0, Mean);
        m.cross_entropy(&[0], Mean);
        m.cross_entropy(&[0, 3], Mean);
        kernels::matmul(&m.view(), &m.view());
    }
}

fn layers() -> Messages {
    let g = &mut generator();
    let m = matrix(4, 5);
    let linear = Linear::<f64>::new(3, 2, g);
    let embedding = Embedding::<f64>::new(3, 6, g);
    let conv = Conv2d::<f64>::new(3, 2, 3, g);
    let norm = BatchNorm1d::<f64>::new(3);
    refused! {
        linear.forward(&m);
        embedding.forward(&[3][..]);
        conv.forward(&image());
        norm.forward(&m);
        Softmax::new(2).forward(&m);
        Softplus::new(0.0);
        Dropout::seeded(1.5, 1);
        GroupNorm::<f64>::new(2, 3);
        LayerNorm::<f64, Ix1>::new(3).eps(-1.0);
        Conv1d::<f64>::builder(3, 2, 1).groups(2).build(g);
        MultiheadAttention::<f64>::builder(3, 2).build(g);
    }
}

fn states() -> Messages {
    let g = &mut generator();
    let state = [("a.b", StateDict::new())];
    let mut parameter = Parameter::new(array![1.0]);
    refused! {
        init::uniform::<f64, _>(2, 1.0, 0.0, g);
        init::normal::<f64, _>(2, 0.0, -1.0, g);
        init::orthogonal::<f64, _>(2, 1.0, g);
        parameter.set(array![1.0, 2.0].view());
        StateDict::new()["weight"];
        save_checkpoint("model", &parameter, &state, &[]);
    }
}

fn optimizers() -> Messages {
    let mut adam = Adam::new(0.1);
    let model = |count: usize| -> Vec<_> {
        let parameters = (0..count).map(|_| Parameter::new(array![1.0]));
        let parameters = parameters.inspect(|parameter| parameter.set_grad(array![1.0]));
        parameters.collect()
    };
    adam.step(&mut model(1));
    refused! {
        Sgd::new(-0.1);
        Sgd::new(0.1).momentum(f64::NAN);
        Adam::new(0.1).betas(1.0, 0.9);
        Adam::new(0.1).eps(-1.0);
        adam.step(&mut model(2));
        Adam::new(0.1).param_group(|path| path == "2", |group| group.weight_decay(0.0)).step(&mut model(2));
        Cosine::new(0.1, 0);
        OneCycle::new(0.1, 1);
        Step::new(0.1, 1, f64::INFINITY);
        clip_grad_norm(&model(1), 0.0);
    }
}
