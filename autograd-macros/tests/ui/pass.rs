//! Definitions that must compile and run: every form of a definition, names that generated
//! code must not depend on, lints of careful crates. A test target without the harness, for in a test
//! build rustc does not look for missing documentation.

#![allow(
    clippy::all,
    clippy::pedantic,
    dead_code,
    missing_debug_implementations,
    missing_docs,
    unreachable_pub,
    unused_qualifications,
    reason = "code of users of all kinds; what is strict says so itself"
)]

pub mod named_apply {
    //! A function in the short form may have the name that is generated in a block.

    use pullback::ndarray::{Array1, ArrayView1};
    use pullback::prelude::*;

    #[custom_function(grad(x) = &grad_output * 2.0)]
    pub fn apply(x: ArrayView1<f64>) -> Array1<f64> {
        &x * 2.0
    }

    pub(super) fn main() {
        let x = Tensor::from(Array1::ones(2)).set_requires_grad(true);
        apply(&x).sum().backward().unwrap();
        assert_eq!(x.grad(), Some(Array1::from_elem(2, 2.0)));
        assert_eq!(Apply::NAME, "apply");
    }
}

pub mod context {
    //! `context` in backward functions: of blocks with parameters, of the short form, public and private.

    use pullback::prelude::*;

    pub mod functions {
        use std::marker::PhantomData;

        use pullback::ndarray::{Array, Array1, ArrayView, ArrayView1, Dimension};
        use pullback::prelude::*;

        pub struct Power<T, D, F: ?Sized, const N: usize>(PhantomData<(T, D)>, PhantomData<F>);

        #[custom_function]
        impl<T, D, F, const N: usize> Power<T, D, F, N>
        where
            T: Element,
            D: Dimension,
            F: Fn(T) -> T + Clone + Send + Sync + 'static,
            Self: Sized,
        {
            #[forward]
            pub fn forward(x: ArrayView<T, D>, w: ArrayView<T, D>, f: F) -> Array<T, D> {
                &x.mapv(f) * &w
            }

            #[backward(x)]
            pub(crate) fn grad_x(
                grad_output: ArrayView<T, D>,
                context: &PowerContext<T, D, F, N>,
            ) -> Array<T, D> {
                let (w, f) = (context.w.as_ref().unwrap(), context.f.as_deref().unwrap());
                assert!(context.x.is_some() && N == 1);
                &grad_output.mapv(f) * &w.view()
            }

            #[backward(w)]
            pub fn grad_w(
                grad_output: ArrayView<T, D>,
                x: ArrayView<T, D>,
                w: ArrayView<T, D>,
                f: F,
                context: &PowerContext<T, D, F, N>,
            ) -> Array<T, D> {
                assert_eq!(Some(w.shape()), context.w.as_ref().map(Tensor::shape));
                &grad_output * &x.mapv(f)
            }
        }

        #[custom_function(
            grad(x) = &grad_output * &both(context).1,
            grad(w) = (&x, &w, &grad_output * &both(context).0).2,
        )]
        pub fn product(x: ArrayView1<f64>, w: ArrayView1<f64>) -> Array1<f64> {
            &x * &w
        }

        fn both(context: &ProductContext) -> (Array1<f64>, Array1<f64>) {
            let of = |tensor: &Option<Tensor1<f64>>| tensor.as_ref().unwrap().to_array();
            (of(&context.x), of(&context.w))
        }
    }

    pub fn show<T: Element, D: pullback::ndarray::Dimension, F>(
        context: &functions::PowerContext<T, D, F, 1>,
    ) -> String
    where
        T: std::fmt::Debug,
        D: std::fmt::Debug,
        F: Fn(T) -> T + Clone + Send + Sync + std::fmt::Debug + 'static,
    {
        format!("{:?} {context:?}", context.x)
    }

    pub(super) fn main() -> Result<(), pullback::Error> {
        let x = Tensor::from(pullback::ndarray::array![2.0]).set_requires_grad(true);
        let y = functions::Power::<_, _, _, 1>::apply(&x, &x, |x: f64| x * 3.0);
        y.sum().backward()?;
        assert_eq!(x.grad(), Some(pullback::ndarray::array![12.0]));
        Ok(())
    }
}

pub mod every_form {
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
            let sum =
                |views: &[Vector]| views.iter().fold(Array1::zeros(2), |sum, view| sum + view);
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
        let map =
            |(x,): (&Tensor1<f64>,)| Map::apply(x, |x: f64| x * x, &2.0, [1, 2], Some("label"));
        let (_, along) = jvp(map, (&x,), (&x,)).unwrap();
        assert_eq!(along.to_array(), array![2.0, 8.0]);
        let d = x.clone().into_dyn();
        let dynamic =
            |(x,): (&TensorD<f64>,)| Dynamic::apply(x, x.clone(), Some(x.clone())).unwrap();
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

    pub(super) fn main() {
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
}

pub mod hygiene {
    //! No prelude, and the usual names taken: generated code leans on neither.
    #![no_implicit_prelude]
    #![allow(dead_code)]

    use ::pullback::ndarray::{Array1, ArrayView1, ArrayViewMut1};
    use ::pullback::{Tensor1, custom_function};

    struct Box;
    struct Clone;
    struct Err;
    struct Function;
    struct None;
    struct Ok;
    struct Result;
    struct Some;
    struct String;
    struct Tensor;
    struct Vec;
    mod core {}
    mod std {}
    mod pullback {}

    type Option<T> = ::core::option::Option<T>;

    pub struct Scale;

    // The names of inputs are those that generated code would choose for itself.
    #[custom_function]
    impl Scale {
        #[forward]
        pub fn forward(
            edges: ArrayView1<f64>,
            needs: Option<ArrayView1<f64>>,
            node: f64,
            state: &[usize],
            call: &str,
            context: u8,
        ) -> Array1<f64> {
            let _ = (needs, state, call, context);
            &edges * node
        }

        #[backward(edges)]
        fn edges(
            grad_output: Array1<f64>,
            node: f64,
            state: &[usize],
            call: &str,
            context: u8,
        ) -> Array1<f64> {
            let _ = (state, call, context);
            grad_output * node
        }

        #[backward(needs)]
        fn needs(grad_output: Array1<f64>) -> Array1<f64> {
            grad_output
        }

        #[jvp]
        fn level(
            tangent_edges: Option<Array1<f64>>,
            tangent_needs: Option<ArrayView1<f64>>,
            node: f64,
            state: &[usize],
            call: &str,
        ) -> Option<Array1<f64>> {
            let _ = (tangent_needs, state, call);
            ::core::option::Option::map(tangent_edges, |tangent| tangent * node)
        }
    }

    pub struct Shift;

    #[custom_function]
    impl Shift {
        #[forward]
        pub fn forward(in_place: ArrayViewMut1<f64>, primal: f64) {
            let mut in_place = in_place;
            in_place += primal;
        }

        #[backward(in_place)]
        fn backward(grad_output: Array1<f64>) -> Array1<f64> {
            grad_output
        }
    }

    pub struct Join;

    #[custom_function]
    impl Join {
        #[forward]
        pub fn forward(list: &[ArrayView1<f64>], edge: ArrayView1<f64>) -> Array1<f64> {
            let _ = list;
            edge.to_owned()
        }

        #[backward]
        fn backward(
            grad_output: Array1<f64>,
            list: &[ArrayView1<f64>],
        ) -> (Option<::std::vec::Vec<Array1<f64>>>, Array1<f64>) {
            let _ = list;
            (::core::option::Option::None, grad_output)
        }
    }

    #[custom_function(grad(edges) = {
        let _ = (state, call, context);
        &grad_output * *node
    })]
    fn scale_by(
        edges: ArrayView1<f64>,
        node: f64,
        state: &[usize],
        call: &str,
        context: u8,
    ) -> Array1<f64> {
        let _ = (state, call, context);
        &edges * node
    }

    pub(super) fn main() {
        let x: Tensor1<f64> = ::core::convert::From::from(Array1::ones(1));
        let x = x.set_requires_grad(true);
        let mut x = x;
        ::pullback::no_grad(|| Shift::apply(&mut x, 0.0));
        let y = Join::apply(&[&x], &x);
        let y = Scale::apply(&y, Option::None, 3.0, &[], "", 0);
        scale_by(&y, 2.0, &[], "", 0).sum().backward().unwrap();
        ::std::assert_eq!(x.grad().unwrap()[0], 6.0);
    }
}

pub mod names_of_primitives {
    //! Types with the names of primitive types and of the prelude: generated code means those of `core`.

    #![no_implicit_prelude]
    #![allow(non_camel_case_types)]

    use ::core::primitive;
    use ::pullback::ndarray::{Array, Array1, ArrayView, ArrayView1, Dimension};
    use ::pullback::nn::Parameter;
    use ::pullback::{Element, Module, Real, Tensor1, custom_function};

    struct bool;
    struct char;
    struct f32;
    struct f64;
    struct i32;
    struct i64;
    struct str;
    struct u8;
    struct u32;
    struct u64;
    struct usize;

    struct Box;
    struct Err;
    struct None;
    struct Ok;
    struct Option;
    struct Result;
    struct Some;
    struct String;
    struct Vec;
    trait Clone {}
    trait Copy {}
    trait Default {}
    trait Drop {}
    trait Fn {}
    trait FnMut {}
    trait From {}
    trait Into {}
    trait Iterator {}
    trait Send {}
    trait Sized {}
    trait Sync {}
    trait ToOwned {}

    pub struct Affine<T, D>(::core::marker::PhantomData<(T, D)>);

    #[custom_function]
    impl<T: Element, D: Dimension> Affine<T, D> {
        #[forward(outputs(y, count), saves(saved))]
        pub fn forward(
            x: ArrayView<T, D>,
            shift: ::core::option::Option<ArrayView<T, D>>,
            scale: T,
            axes: &[primitive::usize],
            label: &primitive::str,
        ) -> (Array<T, D>, primitive::usize, primitive::f64) {
            let _ = (axes, label);
            let y = x.mapv(|x| x * scale);
            let y = match shift {
                ::core::option::Option::Some(shift) => y + shift,
                ::core::option::Option::None => y,
            };
            (y, axes.len(), 1.0)
        }

        #[backward(x)]
        fn grad_x(
            grad_y: ArrayView<T, D>,
            scale: T,
            saved: primitive::f64,
            axes: &[primitive::usize],
            label: &primitive::str,
            needs_input_grad: AffineNeedsInputGrad,
        ) -> Array<T, D> {
            let _ = (saved, axes, label, needs_input_grad);
            grad_y.mapv(|grad| grad * scale)
        }

        #[backward(shift)]
        fn grad_shift(grad_y: Array<T, D>) -> Array<T, D> {
            grad_y
        }

        #[jvp]
        fn jvp(
            tangent_x: ArrayView<T, D>,
            tangent_shift: ::core::option::Option<ArrayView<T, D>>,
            scale: T,
        ) -> Array<T, D> {
            let tangent = tangent_x.mapv(|tangent| tangent * scale);
            match tangent_shift {
                ::core::option::Option::Some(shift) => tangent + shift,
                ::core::option::Option::None => tangent,
            }
        }
    }

    #[custom_function(shapes(x = [n], output = [n]), grad(x) = &grad_output * *scale)]
    pub fn scaled(x: ArrayView1<primitive::f64>, scale: primitive::f64) -> Array1<primitive::f64> {
        &x * scale
    }

    #[custom_function(adjoint(x) = &grad_output * *scale, batch(x))]
    pub fn linear(x: ArrayView1<primitive::f64>, scale: primitive::f64) -> Array1<primitive::f64> {
        &x * scale
    }

    pub struct Root;

    #[custom_function]
    impl Root {
        #[forward]
        pub fn forward(
            a: ArrayView1<primitive::f64>,
            count: primitive::usize,
        ) -> Array1<primitive::f64> {
            let _ = count;
            a.mapv(primitive::f64::sqrt)
        }

        #[residual]
        fn residual(
            output: &Tensor1<primitive::f64>,
            a: &Tensor1<primitive::f64>,
            count: primitive::usize,
        ) -> Tensor1<primitive::f64> {
            let _ = count;
            output * output - a
        }
    }

    #[custom_function(elementwise, grad(x) = grad_output * scale)]
    pub fn rounded<T: Real>(x: T, #[non_differentiable] step: T, scale: primitive::f64) -> T {
        (x / step).round() * step
    }

    #[custom_function(elementwise, grad(x, once) = grad_output * x * label as primitive::f64)]
    pub fn labelled<T: Real>(x: T, #[each] label: &[primitive::i64]) -> T {
        x * label as primitive::f64
    }

    #[custom_function(elementwise)]
    pub fn rows<T: Real>(x: [T; 2], y: T) -> ([T; 2], T) {
        (x.map(|x| x * y + 1.0), 2.0 * (x[0] + x[1] + y))
    }

    #[custom_function(pairs(reduce = log_sum_exp))]
    pub fn paired<T: Real>(#[row] x: [T; 2], #[column] y: [T; 2], scale: primitive::f64) -> T {
        (x[0] * y[0] + x[1] * y[1]) * scale
    }

    #[custom_function(scan, outputs(last, read))]
    pub fn remembered<T: Real>(
        #[state] memory: &mut [T],
        #[step] key: &[T],
        decay: primitive::f64,
    ) -> T {
        memory[0] = memory[0] * decay + key[0];
        memory[0]
    }

    #[custom_function(scan)]
    pub fn leaky<T: Real>(#[state] v: T, #[step] x: T, decay: primitive::f64) -> T {
        v * decay + x
    }

    #[derive(Module)]
    pub struct Layer<E: Element, D: Dimension> {
        weight: Parameter<E, D>,
        #[module(skip, show)]
        size: primitive::usize,
        #[module(skip)]
        shadow: ::core::marker::PhantomData<(E, D)>,
    }

    pub(super) fn main() {
        let x: Tensor1<primitive::f64> = ::core::convert::From::from(Array1::from_elem(2, 4.0));
        let x = x.set_requires_grad(true);
        let y = Affine::apply(&x, ::core::option::Option::None, 2.0, &[], "").0;
        let y = linear(&scaled(&Root::apply(&y, 0), 2.0), 3.0);
        let y = labelled(
            &rounded(&y, &Tensor1::from_owner(&[1], [1.0]), 1.0),
            &[1, 2],
        );
        y.sum().backward().unwrap();
        ::std::assert!(x.grad().unwrap()[0] > 0.0);
    }
}

pub mod modules {
    //! Derived modules under no prelude, strict lints, and names that generated code uses too.

    #![no_implicit_prelude]
    #![deny(warnings, unused, missing_docs, unused_qualifications)]
    #![deny(
        unreachable_pub,
        elided_lifetimes_in_paths,
        trivial_casts,
        unused_lifetimes
    )]
    #![deny(single_use_lifetimes, unsafe_code, deprecated)]

    use ::pullback as pb;
    use ::pullback::Module;
    use ::pullback::ndarray::{Dimension, Ix1, IxDyn};
    use ::pullback::nn::{Buffer, Mode, Parameter};
    use ::std::boxed::Box;
    use ::std::collections::{BTreeMap, HashMap};
    use ::std::marker::PhantomData;
    use ::std::option::Option;
    use ::std::string::String;
    use ::std::vec::Vec;

    /// Fields whose names generated code has too.
    #[derive(Module)]
    pub struct Names {
        /// A path.
        pub path: Parameter<f64, Ix1>,
        /// A visitor.
        pub visitor: Option<Parameter<f64, Ix1>>,
        /// A formatter.
        pub f: Buffer<f32, IxDyn>,
        /// Itself.
        pub self_: Mode,
        /// A name that a keyword has.
        pub r#type: Parameter<f64, Ix1>,
        /// A number.
        #[module(skip, show)]
        pub r#loop: usize,
        /// Any module.
        pub name: Option<Box<dyn pb::nn::Module>>,
        /// A list of lists.
        pub field_0: Vec<[(Parameter<f64, Ix1>, Mode); 2]>,
    }

    /// An enum whose variants have such fields.
    #[derive(Module)]
    pub enum Variants<L, T> {
        /// A module.
        Inner(L),
        /// A module of any type.
        Other(Box<dyn pb::nn::Module>),
        /// Fields.
        Fields {
            /// A path.
            path: Parameter<T, Ix1>,
            /// A visitor.
            visitor: Parameter<T, Ix1>,
            /// A number.
            #[module(skip, show)]
            r#fn: f64,
        },
        /// Fields without names.
        Pair(L, #[module(skip, show)] f64),
        /// Plain data.
        Data(#[module(skip)] fn(T) -> T),
        /// Nothing.
        Unit,
    }

    /// No variants.
    #[derive(Module)]
    pub enum Never {}

    /// No fields.
    #[derive(Module)]
    #[module(crate = pb)]
    pub struct Unit;

    /// A tuple struct.
    #[derive(Module)]
    #[module(name = "T", extra_repr = rank)]
    pub struct Tuple<T, D, const N: usize>(pub [Parameter<T, D>; N], pub PhantomData<fn(D)>)
    where
        D: Dimension;

    fn rank<T, D: Dimension, const N: usize>(_: &Tuple<T, D, N>) -> String {
        ::std::format!("{:?}", D::NDIM)
    }

    /// A module of modules of a kind, and of itself.
    #[derive(Module)]
    pub struct Tree<L: ::std::clone::Clone, S> {
        leaf: L,
        children: Vec<Tree<L, S>>,
        left: Option<Box<Tree<L, S>>>,
        named: HashMap<String, L, S>,
        sorted: BTreeMap<String, Option<L>>,
    }

    /// An associated type.
    pub trait Block {
        /// The block.
        type Inner;
    }

    /// A module of it.
    #[derive(Module)]
    pub struct Blocks<B: Block> {
        inner: Vec<B::Inner>,
        first: <B as Block>::Inner,
        /// An old one.
        #[deprecated]
        pub last: Option<Parameter<f32, Ix1>>,
    }

    /// An alias of a parameter.
    pub type Weight<T> = Parameter<T, Ix1>;

    /// A module of an alias, and of a module with parameters of its own.
    #[derive(Module)]
    pub(crate) struct Aliased<T>
    where
        T: ::std::fmt::Display,
    {
        weight: Weight<T>,
        inner: Tuple<T, Ix1, 2>,
        boxed: Box<Tuple<T, Ix1, 1>>,
    }

    fn is_module<M: pb::nn::Module + ::std::fmt::Display>() {}

    pub(super) fn main() {
        is_module::<Names>();
        is_module::<Variants<Unit, f32>>();
        is_module::<Never>();
        is_module::<Tuple<f64, IxDyn, 3>>();
        is_module::<Aliased<f32>>();
    }
}

pub mod strict_lints {
    //! Lints that a careful crate turns into errors; nothing generated is any of their business.
    #![deny(
        missing_copy_implementations,
        missing_debug_implementations,
        missing_docs,
        single_use_lifetimes,
        unreachable_pub,
        unused_lifetimes,
        unused_qualifications,
        unused_results,
        warnings
    )]

    use pullback::ndarray::{Array1, ArrayView1, ArrayViewMut1};
    use pullback::prelude::*;

    // The type is more visible than what its function takes.
    #[allow(unreachable_pub)]
    mod functions {
        use super::*;

        /// A mode that nobody outside sees, in a function that they may see.
        #[derive(Clone, Debug)]
        pub(super) enum Mode {
            Plain,
            Scaled(Vec<f64>),
        }

        /// y = x + s·b
        #[derive(Clone, Copy, Debug)]
        pub struct Add;

        #[custom_function]
        impl Add {
            /// y = x + s·b
            #[forward(outputs(y, count), saves(scale))]
            pub(super) fn forward(
                x: ArrayView1<f64>,
                b: Option<ArrayView1<f64>>,
                mode: Mode,
            ) -> (Array1<f64>, usize, f64) {
                let scale = match &mode {
                    Mode::Plain => 1.0,
                    Mode::Scaled(factors) => factors.iter().product(),
                };
                let y = b.map_or_else(|| x.to_owned(), |b| &x + &b * scale);
                (y, x.len(), scale)
            }

            #[backward]
            fn backward(
                grad_y: ArrayView1<f64>,
                scale: f64,
                needs_input_grad: AddNeedsInputGrad,
            ) -> (Array1<f64>, Option<Array1<f64>>) {
                let grad_b = needs_input_grad.b.then(|| &grad_y * scale);
                (grad_y.to_owned(), grad_b)
            }

            #[jvp]
            fn jvp(
                tangent_x: Option<Array1<f64>>,
                tangent_b: Option<ArrayView1<f64>>,
                mode: &Mode,
                y: ArrayView1<f64>,
            ) -> Array1<f64> {
                let scale = match mode {
                    Mode::Plain => 1.0,
                    Mode::Scaled(factors) => factors.iter().product(),
                };
                let along_x = tangent_x.unwrap_or_else(|| &y * 0.0);
                tangent_b.map_or_else(|| along_x.clone(), |tangent| &along_x + &tangent * scale)
            }
        }
    }

    // The same in the short form.
    #[allow(unreachable_pub)]
    mod short {
        use super::*;

        /// Shown to nobody, in a function that is.
        #[derive(Clone, Debug)]
        pub(crate) struct Factors(Vec<f64>);

        impl Factors {
            pub(super) fn new(factors: Vec<f64>) -> Self {
                Self(factors)
            }
        }

        /// y = x + s·b
        ///
        /// # Errors
        /// None.
        #[custom_function(
            outputs(y, count),
            grad(x) = grad_y.to_owned(),
            grad(b) = &grad_y * factors.0.iter().product::<f64>() * *sign,
        )]
        #[inline]
        pub(super) fn add<T: Copy + Send + Sync + Into<f64> + 'static>(
            x: ArrayView1<f64>,
            b: ArrayView1<f64>,
            factors: Factors,
            sign: f64,
            other: &T,
        ) -> Result<(Array1<f64>, usize), std::fmt::Error> {
            let scale = factors.0.iter().product::<f64>() * sign + (*other).into();
            Ok((&x + &b * scale, x.len()))
        }

        /// y = c·x
        #[custom_function(higher_order, grad(x) = grad_output * *factor)]
        pub fn scale(x: ArrayView1<f64>, factor: f64) -> Array1<f64> {
            &x * factor
        }

        // Not used, but for what is used below.
        #[custom_function(grad(x) = grad_output.to_owned())]
        fn same(x: ArrayView1<f64>) -> Array1<f64> {
            x.to_owned()
        }

        pub(super) fn twice(x: &Tensor1<f64>) -> Tensor1<f64> {
            same(&scale(x, 2.0))
        }
    }

    /// Functions that write to their inputs.
    pub mod in_place {
        use super::*;

        /// x ← s·x, and how many elements there are.
        #[derive(Clone, Copy, Debug)]
        pub struct Scale;

        #[custom_function]
        impl Scale {
            /// x ← s·x
            #[forward]
            pub fn forward(mut x: ArrayViewMut1<f64>, s: f64) -> Result<(), String> {
                x *= s;
                Ok(())
            }

            #[backward(x)]
            fn backward(grad_output: Array1<f64>, s: f64) -> Array1<f64> {
                grad_output * s
            }

            #[jvp]
            fn jvp(tangent_x: Array1<f64>, s: f64) -> Array1<f64> {
                tangent_x * s
            }
        }

        /// x ← 0
        #[derive(Clone, Copy, Debug)]
        pub struct Clear;

        #[custom_function]
        impl Clear {
            /// x ← 0
            #[forward]
            pub fn forward(mut x: ArrayViewMut1<f64>, list: &[ArrayView1<f64>]) {
                let _ = list;
                x.fill(0.0);
            }

            #[backward(ignores_grad)]
            fn backward(list: &[ArrayView1<f64>]) -> (Option<Array1<f64>>, Vec<Array1<f64>>) {
                (None, list.iter().map(|one| one * 0.0).collect())
            }
        }
    }

    mod quiet {
        use super::*;

        struct Double;

        #[custom_function]
        impl Double {
            #[forward]
            fn forward(x: ArrayView1<f64>) -> Array1<f64> {
                &x * 2.0
            }

            #[backward(x)]
            fn backward(grad_output: Array1<f64>) -> Array1<f64> {
                grad_output * 2.0
            }
        }

        pub(super) fn double(x: &Tensor1<f64>) -> Tensor1<f64> {
            Double::apply(x)
        }
    }

    macro_rules! scale {
        ($name:ident, $factor:expr, $view:ty) => {
            struct $name;

            #[custom_function]
            impl $name {
                #[forward]
                fn forward(x: $view) -> Array1<f64> {
                    &x * $factor
                }

                #[backward(x)]
                fn backward(grad_output: Array1<f64>) -> Array1<f64> {
                    grad_output * $factor
                }
            }
        };
    }

    scale!(Triple, 3.0, ArrayView1<f64>);

    /// Whether x is positive, with a surrogate gradient, which alone uses its parameters.
    #[custom_function(elementwise, grad(x) = grad_output * *slope / (1.0 + (alpha * x).square()))]
    fn spike<T: Real>(x: T, alpha: T, slope: &f64) -> T {
        if x > 0.0 { T::from(1.0) } else { T::from(0.0) }
    }

    // Written out, the last round assigns what nobody reads, and the first one has no `x[k - 1]`.
    #[custom_function(elementwise)]
    fn rounds<T: Real>(x: [T; 3]) -> T {
        let (mut sum, mut last) = (T::from(0.0), T::from(1.0));
        for k in 0..3 {
            sum += x[k] * last;
            if k > 0 {
                sum *= x[k - 1];
            }
            last = x[k];
        }
        for v in x {
            sum += v
        }
        for _ in 0..2 {
            if sum > 1.0 {
                sum /= 2.0
            }
        }
        sum
    }

    pub(super) fn main() {
        let alpha = Tensor::from(Array1::<f64>::ones(2));
        let x = Tensor::from(Array1::ones(2)).set_requires_grad(true);
        spike(&x, &alpha, &2.0).sum().backward().unwrap();
        let row = Tensor::from(pullback::ndarray::array![2.0, 3.0, 4.0]);
        let sum: Tensor0<f64> = rounds(&row);
        assert_eq!(sum.item(), (((2.0 + 6.0) * 2.0 + 12.0) * 3.0 + 9.0) / 4.0);
        assert_eq!(x.grad().unwrap(), Array1::ones(2));
        let x = Tensor::from(Array1::ones(2)).set_requires_grad(true);
        let (y, count) = functions::Add::apply(&x, Some(&x), functions::Mode::Scaled(vec![2.0]));
        let (z, _) = functions::Add::apply(&y, None, functions::Mode::Plain);
        assert_eq!(count, 2);
        let (z, _) = short::add(
            &z,
            &z.detach(),
            short::Factors::new(vec![0.0]),
            1.0,
            &0.0_f32,
        )
        .unwrap();
        let z = short::twice(&z) * 0.5;
        let mut w = &x * 1.0;
        in_place::Scale::apply(&mut w, 2.0).unwrap();
        in_place::Clear::apply(&mut w, &[&x]);
        Triple::apply(&quiet::double(&z)).sum().backward().unwrap();
        assert_eq!(x.grad().unwrap(), Array1::from_elem(2, 18.0));
    }
}

/// Values that hold floats but are not tensors, under names that the macro cannot resolve.
pub mod data {
    use pullback::ndarray::{Array1, Array2, ArrayView1};
    use pullback::prelude::*;

    type Real = f64;
    type Vector = Array1<Real>;
    type Indices = Array1<usize>;
    type Function<'a> = &'a (dyn Fn(&Tensor1<f64>) -> f64 + 'a);

    #[derive(Clone)]
    pub struct Settings<T>(T);

    #[custom_function(grad(x) = &grad_y * *factor, outputs(y, z))]
    pub fn scaled<const N: usize>(
        x: ArrayView1<f64>,
        factor: Real,
        measured: &Vector,
        many: Vec<Vector>,
        at: ArrayView1<'_, usize>,
        table: &Array2<f64>,
        settings: Option<&Settings<Real>>,
        function: Function<'_>,
        lengths: [Real; N],
    ) -> (Array1<f64>, Indices) {
        assert!(settings.is_none() && many.is_empty() && measured.is_empty() && table.is_empty());
        (
            &x * factor * function(&Tensor::from(at.mapv(|i| i as f64))) * lengths[0],
            at.to_owned(),
        )
    }

    pub fn main() {
        let (x, none) = (Tensor::from(Array1::ones(2)), Array1::zeros(0));
        let (at, table) = (Array1::from(vec![3_usize]), Array2::zeros((0, 0)));
        let first = |x: &Tensor1<f64>| x.view()[0];
        let (y, z) = scaled(
            &x,
            2.0,
            &none,
            vec![],
            at.view(),
            &table,
            None,
            &first,
            [0.5],
        );
        assert_eq!((y.to_array(), z), (Array1::from_elem(2, 3.0), at));
    }
}

/// Gradients that begin with a block: each is one expression.
pub mod blocks {
    use pullback::ndarray::{Array1, ArrayView1, array};
    use pullback::prelude::*;

    #[custom_function(grad(x) = if *up { 2.0 } else { 3.0 } * &grad_output, gradcheck(x = [3], up = true))]
    pub fn conditional(x: ArrayView1<f64>, up: bool) -> Array1<f64> {
        &x * if up { 2.0 } else { 3.0 }
    }

    #[custom_function(grad(x) = match k { 0 => 1.0, _ => 2.0 } - 0.0 + &grad_output * 0.0)]
    pub fn matched(x: ArrayView1<f64>, k: usize) -> Array1<f64> {
        &x * 1.0 + k as f64
    }

    #[custom_function(grad(x) = { 3.0 } * &grad_output)]
    pub fn block(x: ArrayView1<f64>) -> Array1<f64> {
        &x * 3.0
    }

    #[custom_function(grad(x) = array! { 2.0, 2.0 } * &grad_output)]
    pub fn called(x: ArrayView1<f64>) -> Array1<f64> {
        &x * 2.0
    }

    #[custom_function(higher_order, grad(x) = { let two = 2.0; grad_output * two } * 1.0)]
    pub fn again(x: ArrayView1<f64>) -> Array1<f64> {
        &x * 2.0
    }

    #[custom_function(
        elementwise,
        grad(x) = if x > 0.0 { T::from(2.0) } else { T::from(3.0) } * grad_output,
    )]
    pub fn formula<T: Real>(x: T) -> T {
        if x > 0.0 { 2.0 * x } else { 3.0 * x }
    }

    pub fn main() {
        let x = Tensor::from(array![1.0, 2.0]).set_requires_grad(true);
        let functions: [fn(&Tensor1<f64>) -> Tensor1<f64>; 4] = [block, called, again, formula];
        let gradient = |y: &Tensor1<f64>| grad(&y.sum(), &x).unwrap().to_array()[0];
        assert_eq!(functions.map(|f| gradient(&f(&x))), [3.0, 2.0, 2.0, 2.0]);
        assert_eq!(gradient(&conditional(&x, false)), 3.0);
        assert_eq!(gradient(&matched(&x, 0)), 1.0);
    }
}

fn main() {
    blocks::main();
    context::main().unwrap();
    data::main();
    every_form::main();
    hygiene::main();
    modules::main();
    named_apply::main();
    names_of_primitives::main();
    strict_lints::main();
}
