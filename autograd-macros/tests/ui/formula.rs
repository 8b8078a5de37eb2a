use pullback::prelude::*;

mod function_of_tensors {
    use super::*;
    #[custom_function(elementwise)]
    pub fn logistic<T: Real>(x: T) -> T { 1.0 / (1.0 + (-x).exp()) }
    #[custom_function(elementwise)]
    pub fn swish<T: Real>(x: T) -> T { x * logistic(x) }
    // A closure of that name is another one.
    #[custom_function(elementwise)]
    pub fn right<T: Real>(x: T) -> T {
        let logistic = |x: T| x * 2.0;
        logistic(x) * Logistic::formula(x)
    }
}

mod function_of_f64 {
    use super::*;
    #[custom_function(elementwise)]
    pub fn logarithm<T: Real>(x: T) -> T { f64::ln(x) }
    // Of values it is right.
    #[custom_function(elementwise)]
    pub fn right<T: Real>(x: T, rate: f64) -> T { x * f64::ln(rate) }
}

mod method_of_a_literal {
    use super::*;
    #[custom_function(elementwise)]
    pub fn octaves<T: Real>(x: T) -> T { 2.0.powf(x) }
}

mod parameter_that_is_impl_real {
    use super::*;
    #[custom_function(elementwise)]
    pub fn square(x: impl Real) -> impl Real { x * x * 2.0 }
}

mod no_return_type {
    use super::*;
    #[custom_function(elementwise)]
    pub fn twice<T: Real>(x: T) { 2.0 * x }
    pub fn used(x: &Tensor1<f64>) -> Tensor1<f64> { twice(x).sum_axis(pullback::ndarray::Axis(0)); twice(x) }
}

mod literal_as_the_result {
    use super::*;
    #[custom_function(elementwise)]
    pub fn step<T: Real>(x: T) -> T { if x > 0.0 { 1.0 } else { 0.0 } }
    // A literal that is computed with is right, and so is one of a local.
    #[custom_function(elementwise)]
    pub fn right<T: Real>(x: T, n: usize) -> T {
        let k = if n > 2 { 1.0 } else { 0.0 };
        match n { 0 => k * x, 1 => ({ 2.0 }) * x, _ => 1.0.into() }
    }
}

mod a_call_of_itself {
    use super::*;
    #[custom_function(elementwise)]
    pub fn product<T: Real>(x: T) -> T { if x > 1.0 { product(x - 1.0) * x } else { x } }
    #[custom_function(elementwise)]
    pub fn right<T: Real>(x: T) -> T { if x > 1.0 { Right::formula(x - 1.0) * x } else { x } }
}

mod row_that_begins_with_literals {
    use super::*;
    #[custom_function(elementwise)]
    pub fn repeated<T: Real>(x: T) -> T {
        let mut s = [0.0; 2];
        s[0] = x;
        s[0] + s[1]
    }
    #[custom_function(elementwise)]
    pub fn listed<T: Real>(p: [T; 2]) -> T {
        let mut s = [0.0, 1.0];
        for k in 0..2 {
            s[k] += 2.0 * p[k];
        }
        s[0] + s[1]
    }
    // Those are rows of `f64`.
    #[custom_function(elementwise)]
    pub fn right<T: Real>(x: T, weights: [f64; 2]) -> T {
        let mut s = [0.0; 2];
        for (s, weight) in s.iter_mut().zip(weights) {
            *s = 2.0 * weight;
        }
        s[0] = if x > 0.0 { s[0] } else { 1.0 };
        let (knots, sum) = ([0.5, 1.5], s[0] + s[1]);
        let mut s = [x, x * x];
        s[1] = x * sum;
        s[0] + s[1] * knots[1]
    }
}

mod cast_of_a_rounded_number {
    use super::*;
    #[custom_function(elementwise)]
    pub fn entry<T: Real>(x: T, table: &[f64]) -> T { x * table[x.floor() as usize] }
}

fn main() {}

mod sum_that_begins_with_a_literal {
    use super::*;
    #[custom_function(elementwise)]
    pub fn weighed<T: Real>(p: [T; 3], weights: &[f64]) -> T {
        let mut sum = 0.0;
        let mut total = 0.0;
        for (k, weight) in weights.iter().enumerate() {
            sum += p[k] * *weight;
            total += *weight;
        }
        sum / total
    }
}

mod integer_beside_a_number {
    use super::*;
    #[custom_function(elementwise)]
    pub fn shifted<T: Real>(x: T) -> T { 2 * x }
}

mod integer_after_a_number {
    use super::*;
    #[custom_function(elementwise)]
    pub fn shifted<T: Real>(x: T) -> T { x - 1 }
}

mod integer_as_an_argument {
    use super::*;
    #[custom_function(elementwise)]
    pub fn ramp<T: Real>(x: T) -> T { x.max(0) }
}

mod integer_in_a_closure {
    use super::*;
    #[custom_function(elementwise)]
    pub fn twice<T: Real>(x: T) -> T {
        let double = |y: T| y * 2;
        double(x)
    }
}

mod integer_beside_a_number_of_a_row {
    use super::*;
    #[custom_function(elementwise)]
    pub fn first<T: Real>(p: [T; 3]) -> T { p[0] * 2 }
    #[custom_function(elementwise)]
    pub fn last<T: Real>(p: [T; 3], k: usize) -> T { 2 - p[k + 1] }
    // A list is one of any numbers.
    #[custom_function(elementwise)]
    pub fn right<T: Real>(p: [T; 3], sizes: &[usize]) -> T { p[sizes[0] * 2] * 2.0 }
}

mod integer_in_a_map_of_a_row {
    use super::*;
    #[custom_function(elementwise)]
    pub fn double<T: Real>(p: [T; 3]) -> [T; 3] { p.map(|y| y * 2) }
    #[custom_function(elementwise)]
    pub fn sum<T: Real>(p: [T; 3]) -> T { p.iter().map(|&y| 3 * y).sum() }
    // Of one name, both must be numbers.
    #[custom_function(elementwise)]
    pub fn right<T: Real>(p: [T; 3]) -> T {
        let places = [0, 1].map(|y| y * 2);
        p.map(|y| y * 2.0)[places[1]]
    }
}

mod power_of_a_number_of_a_row {
    use super::*;
    #[custom_function(elementwise)]
    pub fn square<T: Real>(p: [T; 3]) -> T { p[0] ^ 2 }
}

// What an index is called may be a number elsewhere.
mod index_in_a_closure {
    use super::*;
    #[custom_function(elementwise)]
    pub fn sum<T: Real>(p: [T; 4]) -> T {
        let even = |k: usize| p[k * 2];
        let half = |k: T| k * 0.5;
        half(even(0) + even(1))
    }
}

mod float_on_the_left {
    use super::*;
    #[custom_function(elementwise)]
    pub fn ramp<T: Real>(x: T) -> T { if 0 <= x { x } else { T::from(0.0) } }
}

mod cast_of_a_number {
    use super::*;
    #[custom_function(elementwise)]
    pub fn whole<T: Real>(x: T, table: &[f64]) -> T { x * table[x as usize] }
}

mod caret_as_a_power {
    use super::*;
    #[custom_function(elementwise)]
    pub fn square<T: Real>(x: T) -> T { x ^ 2 }
    // None of these is one of the mistakes above.
    #[custom_function(elementwise)]
    pub fn right<T: Real>(x: T, pair: (i32, f64), n: usize) -> T {
        let mut count = 0.0;
        for k in 0..n {
            count += if x > k as f64 { 1.0 } else { 0.0 };
        }
        let y = if 2.0 * x < x * x { x.max(0.0) } else { x.powi(pair.0) };
        count * y * (pair.1 + count)
    }
}

mod functions_that_numbers_have_not {
    use super::*;
    #[custom_function(elementwise)]
    pub fn decibels<T: Real>(x: T, y: T) -> T { 10.0 * (x / y).abs().log10() }
    #[custom_function(elementwise)]
    pub fn turned<T: Real>(angle: T) -> T {
        let (sine, cosine) = angle.sin_cos();
        sine + cosine
    }
    #[custom_function(elementwise)]
    pub fn bits<T: Real>(p: [T; 2]) -> T { p[0].log(2.0) + p[1].log(p[0]) }
    #[custom_function(elementwise)]
    pub fn phase<T: Real>(x: T, period: f64) -> T { x % period }
    // Of values, there are all functions and operators of `f64`.
    #[custom_function(elementwise)]
    pub fn right<T: Real>(x: T, width: f64, n: usize) -> T {
        let rest = width.log10() + width % 2.0 + (width / 2.0).fract() + (2 * width as usize) as f64;
        x * rest * (2 * n) as f64 * width.floor() * 2 as f64
    }
}

mod integers_beside_floats {
    use super::*;
    #[custom_function(elementwise)]
    pub fn rest<T: Real>(x: T, part: f64) -> T { x * (1 - part) + x * (part / 2) }
}

mod integers_beside_parentheses_and_methods {
    use super::*;
    #[custom_function(elementwise)]
    pub fn squash<T: Real>(x: T, limit: T) -> T { x / (1 + (x / limit).powi(2)).sqrt() }
    #[custom_function(elementwise)]
    pub fn shifted<T: Real>(x: T) -> T { (x * x).exp() - 1 + x.sin() * 2 }
    // Calls, pairs and their methods may have integers.
    #[custom_function(elementwise)]
    pub fn right<T: Real>(x: T, p: [T; 4], n: usize) -> T {
        let places = [place(x) + 1, 1 + place::<T>(x) - 1, 2 * (n, x).0 % 4, (x.place() + n) * 2 % 4, 1 + (x).place()];
        places.iter().map(|&place| p[place]).sum()
    }
    fn place<T: Real>(x: T) -> usize { usize::from(x > 0.5) }
    trait Place: Real { fn place(self) -> usize { place(self) } }
    impl<T: Real> Place for T {}
}
