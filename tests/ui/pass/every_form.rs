//! Each way in which something can be taken, kept and asked for.

use std::cell::RefCell;
use std::fmt;
use std::marker::PhantomData;

use pullback::jvp;
use pullback::ndarray::{
    Array, Array1, ArrayD, ArrayView, ArrayView1, ArrayViewD, ArrayViewMut, ArrayViewMut1,
    Dimension, Ix1, array,
};
use pullback::prelude::*;

/// Generic over everything, with a closure and a constant.
pub struct Map<T, D, F, const N: usize>(PhantomData<(T, D, F)>);

#[custom_function(name = "map")]
impl<T, D, F, const N: usize> Map<T, D, F, N>
where
    T: Element,
    D: Dimension,
    F: Fn(T) -> T + Clone + Send + Sync + 'static,
{
    #[forward(outputs(y))]
    pub fn forward<'a>(
        x: ArrayView<'a, T, D>,
        f: F,
        &shift: &'a T,
        shape: [usize; N],
        mut label: Option<&'a str>,
    ) -> Array<T, D> {
        let _ = (shape, label.take());
        x.mapv(|x| f(x) + shift)
    }

    #[backward(x)]
    fn backward(
        grad_y: &Tensor<T, D>,
        x: &Tensor<T, D>,
        y: &Tensor<T, D>,
        f: &F,
        &shift: &T,
        shape: &[usize],
        label: Option<&str>,
    ) -> Option<Tensor<T, D>> {
        let _ = (y, f, shape);
        assert_eq!(label, Some("label"));
        Some(grad_y * x * shift)
    }

    #[jvp]
    fn jvp(
        x: &Tensor<T, D>,
        tangent_x: Option<&Tensor<T, D>>,
        y: &Tensor<T, D>,
        f: &F,
        &shift: &T,
        shape: [usize; N],
        label: Option<&str>,
    ) -> Option<Tensor<T, D>> {
        let _ = (y, f, shape);
        assert_eq!(label, Some("label"));
        tangent_x.map(|tangent| tangent * x * shift)
    }
}

/// Owned inputs, dynamic ranks, an error.
pub struct Dynamic;

#[custom_function]
impl Dynamic {
    #[forward(outputs(u, v))]
    pub fn forward(
        x: &TensorD<f64>,
        y: ArrayD<f64>,
        z: Option<ArrayD<f64>>,
    ) -> Result<(TensorD<f64>, ArrayD<f64>), fmt::Error> {
        Ok((x.clone(), z.ok_or(fmt::Error)? + y))
    }

    #[backward(y, x)]
    fn joint(
        grad_u: Option<ArrayD<f64>>,
        grad_v: ArrayD<f64>,
        y: ArrayViewD<f64>,
    ) -> (ArrayD<f64>, Option<ArrayD<f64>>) {
        assert_eq!(y.ndim(), 1);
        (grad_v, grad_u)
    }

    #[backward(z)]
    fn alone(grad_v: ArrayD<f64>, z: ArrayD<f64>) -> ArrayD<f64> {
        grad_v * z
    }

    #[jvp]
    fn jvp(
        tangent_x: Option<ArrayViewD<f64>>,
        tangent_y: ArrayD<f64>,
        tangent_z: Option<ArrayD<f64>>,
        z: Option<ArrayD<f64>>,
        u: ArrayViewD<f64>,
    ) -> (Option<ArrayD<f64>>, ArrayD<f64>) {
        assert_eq!(z.map(|z| z.ndim()), Some(u.ndim()));
        let along_x = tangent_x.map(|tangent| tangent.to_owned());
        (
            along_x,
            tangent_z.map_or_else(|| tangent_y.clone(), |tangent| tangent + &tangent_y),
        )
    }
}

/// Raw identifiers, and a float output and an input without gradients.
pub struct Raw;

#[custom_function]
impl Raw {
    #[forward(outputs(r#in, mask), saves(r#loop), non_differentiable(mask))]
    pub fn forward(
        r#type: ArrayView<f64, Ix1>,
        #[non_differentiable] r#fn: ArrayView1<f64>,
    ) -> (Array1<f64>, Array1<f64>, Array1<f64>) {
        (&r#type * &r#fn, r#fn.to_owned(), r#fn.to_owned())
    }

    #[backward(r#type)]
    fn backward(
        grad_in: Array1<f64>,
        r#fn: ArrayView1<f64>,
        mask: ArrayView1<f64>,
        r#loop: Array1<f64>,
    ) -> Array1<f64> {
        assert_eq!(r#fn, mask);
        grad_in * r#loop
    }

    #[jvp]
    fn jvp(
        tangent_type: Option<ArrayView1<f64>>,
        r#fn: ArrayView1<f64>,
        r#in: Array1<f64>,
        mask: ArrayView1<f64>,
    ) -> Array1<f64> {
        assert_eq!(r#fn, mask);
        tangent_type.map_or(r#in * 0.0, |tangent| &tangent * &mask)
    }
}

/// Lists, of an alias and without gradients among them.
pub struct Lists;

type Vector<'a> = ArrayView1<'a, f64>;

#[custom_function]
impl Lists {
    #[forward]
    pub fn forward<'a, 'b>(
        us: &'a [ArrayView<'b, f64, Ix1>],
        #[tensor] vs: &[Vector<'_>],
        #[non_differentiable] scales: &[ArrayViewD<f64>],
    ) -> Array1<f64> {
        let scale: f64 = scales.iter().map(|scale| scale.sum()).product();
        let sum = |views: &[Vector]| views.iter().fold(Array1::zeros(2), |sum, view| sum + view);
        sum(us) * scale + sum(vs)
    }

    #[backward(us)]
    fn grad_us(
        grad_output: ArrayView1<f64>,
        us: &[Vector<'_>],
        scales: &[ArrayViewD<f64>],
    ) -> Option<Vec<Option<Array1<f64>>>> {
        let scale: f64 = scales.iter().map(|scale| scale.sum()).product();
        Some(us.iter().map(|_| Some(&grad_output * scale)).collect())
    }

    #[backward(vs)]
    fn grad_vs(grad_output: ArrayView1<f64>, vs: &[Vector<'_>]) -> Vec<Array1<f64>> {
        vec![grad_output.to_owned(); vs.len()]
    }

    #[jvp]
    fn jvp(
        tangent_us: &[Option<ArrayView1<f64>>],
        tangent_vs: &[Vector<'_>],
        scales: &[ArrayViewD<f64>],
    ) -> Array1<f64> {
        let us: Vec<Vector> = tangent_us.iter().flatten().cloned().collect();
        Self::forward(&us, tangent_vs, scales)
    }
}

/// Inputs written to: of any rank, with and without a gradient, beside an output and what is saved.
pub struct Update<T, D>(PhantomData<(T, D)>);

#[custom_function]
impl<T: Element, D: Dimension> Update<T, D> {
    #[forward(outputs(old, r#type), saves(sum))]
    pub fn forward<'a>(
        mut r#in: ArrayViewMut<'a, T, D>,
        #[non_differentiable] count: ArrayViewMut1<T>,
        by: ArrayView<T, D>,
    ) -> Result<(Array<T, D>, usize, Array<T, D>), fmt::Error> {
        let mut count = count;
        count[0] += T::one();
        let old = r#in.to_owned();
        r#in += &by;
        Ok((old, r#in.ndim(), r#in.to_owned()))
    }

    #[backward]
    fn backward(
        grad_in: Array<T, D>,
        grad_old: ArrayView<T, D>,
        r#in: ArrayView<T, D>,
        output_in: ArrayView<T, D>,
        output_count: Array1<T>,
        sum: ArrayView<T, D>,
        r#type: usize,
    ) -> (Array<T, D>, Array<T, D>) {
        assert_eq!(
            (output_in.to_owned(), r#type),
            (sum.to_owned(), r#in.ndim())
        );
        assert!(output_count[0] > T::zero());
        (&grad_in + &grad_old, grad_in)
    }

    #[jvp]
    fn jvp(
        tangent_in: ArrayView<T, D>,
        tangent_by: Option<ArrayView<T, D>>,
        output_in: Array<T, D>,
        r#in: ArrayView<T, D>,
        count: ArrayView1<T>,
    ) -> (Array<T, D>, Option<Array<T, D>>) {
        assert_eq!((output_in.shape(), count.len()), (r#in.shape(), 1));
        let along = tangent_by.map_or_else(|| tangent_in.to_owned(), |by| &tangent_in + &by);
        (tangent_in.to_owned(), Some(along))
    }
}

fn in_place() {
    let count = RefCell::new(Tensor::from(array![0.0]));
    let (x, y) = (
        Tensor::from(array![1.0, 2.0]),
        Tensor::from(array![5.0, 7.0]),
    );
    let update = |(x, y): (&Tensor1<f64>, &Tensor1<f64>)| {
        let mut z = x.clone();
        let (old, rank) = Update::apply(&mut z, &mut count.borrow_mut(), y).unwrap();
        assert_eq!(rank, 1);
        (z, old)
    };
    let ((z, old), (along_z, along_old)) = jvp(update, (&x, &y), (&y, &x)).unwrap();
    assert_eq!(
        (z.to_array(), old.to_array()),
        (array![6.0, 9.0], array![1.0, 2.0])
    );
    assert_eq!(
        (along_z.to_array(), along_old.to_array()),
        (array![6.0, 9.0], array![5.0, 7.0])
    );
    let y = y.set_requires_grad(true);
    let (z, old) = update((&x, &y));
    (z.sum() + old.sum()).backward().unwrap();
    assert_eq!(y.grad().unwrap(), array![1.0, 1.0]);
    assert_eq!(count.borrow().to_array(), array![2.0]);
}

fn forward_mode() {
    let x = Tensor::from(array![1.0, 2.0]);
    let map = |(x,): (&Tensor1<f64>,)| Map::apply(x, |x: f64| x * x, &2.0, [1, 2], Some("label"));
    let (_, along) = jvp(map, (&x,), (&x,)).unwrap();
    assert_eq!(along.to_array(), array![2.0, 8.0]);
    let d = x.clone().into_dyn();
    let dynamic = |(x,): (&TensorD<f64>,)| Dynamic::apply(x, x.clone(), Some(x.clone())).unwrap();
    let (_, (along_u, along_v)) = jvp(dynamic, (&d,), (&d,)).unwrap();
    assert_eq!(along_u.to_array(), d.to_array());
    assert_eq!(along_v.to_array(), (&d + &d).to_array());
    let (_, along) = jvp(|(x,)| Raw::apply(x, x).0, (&x,), (&x,)).unwrap();
    assert_eq!(along.to_array(), array![1.0, 4.0]);
    let scale = Tensor::from(array![2.0]).into_dyn();
    let lists = |(x,): (&Tensor1<f64>,)| Lists::apply(&[x], &[x, x], &[&scale, &scale]);
    assert_eq!(
        jvp(lists, (&x,), (&x,)).unwrap().1.to_array(),
        array![6.0, 12.0]
    );
    let x = x.set_requires_grad(true);
    lists((&x,)).sum().backward().unwrap();
    assert_eq!(x.grad().unwrap(), array![6.0, 6.0]);
}

fn main() {
    forward_mode();
    in_place();
    let x = Tensor::from(array![1.0, 2.0]).set_requires_grad(true);
    let y = Map::apply(&x, |x: f64| x * x, &3.0, [1, 2], Some("label"));
    y.sum().backward().unwrap();
    assert_eq!(x.grad().unwrap(), array![3.0, 6.0]);
    assert_eq!(Map::<f64, Ix1, fn(f64) -> f64, 0>::NAME, "map");

    x.zero_grad();
    let d = x.clone().into_dyn();
    assert!(Dynamic::apply(&d, d.clone(), None).is_err());
    let (u, v) = Dynamic::apply(&d, d.clone(), Some(d.clone())).unwrap();
    (u.sum() + v.sum()).backward().unwrap();
    assert_eq!(x.grad().unwrap(), array![3.0, 4.0]);

    x.zero_grad();
    let (y, mask) = Raw::apply(&x, &Tensor::from(array![5.0, 7.0]));
    assert!(!mask.requires_grad());
    y.sum().backward().unwrap();
    assert_eq!(x.grad().unwrap(), array![5.0, 7.0]);
}
