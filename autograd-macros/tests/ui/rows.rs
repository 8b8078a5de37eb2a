use pullback::prelude::*;

mod row_of_plain_numbers {
    use super::*;

    #[custom_function(elementwise)]
    fn norm<T: Real>(x: [f64; 3]) -> T {
        T::from(x[0] + x[1] + x[2])
    }
}

mod returned_row_of_plain_numbers {
    use super::*;

    #[custom_function(elementwise)]
    fn doubled<T: Real>(x: [T; 3]) -> [f64; 3] {
        x.map(|x| x * 2.0)
    }
}

mod length_is_a_value {
    use super::*;

    #[custom_function(elementwise)]
    fn total<T: Real>(x: [T; n], n: usize) -> T {
        x.into_iter().sum()
    }
}

mod length_is_a_parameter {
    use super::*;

    #[custom_function(elementwise)]
    fn total<T: Real, const N: usize>(x: [T; N]) -> T {
        x.into_iter().sum()
    }
}

mod length_is_left_out {
    use super::*;

    #[custom_function(elementwise)]
    fn total<T: Real>(x: [T; _]) -> T {
        x.into_iter().sum()
    }
}

mod length_is_not_there {
    use super::*;

    #[custom_function(elementwise)]
    fn total<T: Real>(x: [T]) -> T {
        x[0]
    }
}

mod no_numbers {
    use super::*;

    #[custom_function(elementwise)]
    fn total<T: Real>(x: [T; 0], y: T) -> T {
        y
    }
}

mod vec_of_numbers {
    use super::*;

    #[custom_function(elementwise)]
    fn total<T: Real>(x: Vec<T>) -> T {
        x.into_iter().sum()
    }
}

mod slice_of_numbers {
    use super::*;

    #[custom_function(elementwise)]
    fn total<T: Real>(x: &[T]) -> T {
        x[0] + x[1]
    }
}

mod reference_to_a_row {
    use super::*;

    #[custom_function(elementwise)]
    fn total<T: Real>(x: &[T; 2]) -> T {
        x[0] + x[1]
    }
}

mod tuple_of_numbers {
    use super::*;

    #[custom_function(elementwise)]
    fn total<T: Real>(x: (T, T)) -> T {
        x.0 + x.1
    }
}

mod matrix_of_numbers {
    use super::*;

    #[custom_function(elementwise)]
    fn trace<T: Real>(x: [[T; 3]; 3]) -> T {
        x[0][0] + x[1][1] + x[2][2]
    }
}

mod returned_vec {
    use super::*;

    #[custom_function(elementwise)]
    fn turned<T: Real>(x: [T; 2]) -> Vec<T> {
        vec![x[1], -x[0]]
    }
}

mod returned_matrix {
    use super::*;

    #[custom_function(elementwise)]
    fn outer<T: Real>(x: [T; 2]) -> [[T; 2]; 2] {
        [[x[0] * x[0], x[0] * x[1]], [x[1] * x[0], x[1] * x[1]]]
    }
}

mod another_length_on_return {
    use super::*;

    #[custom_function(elementwise)]
    fn turned<T: Real>(x: [T; 2]) -> [T; 3] {
        [x[1], -x[0]]
    }
}

mod literal_in_a_returned_row {
    use super::*;

    #[custom_function(elementwise)]
    fn lifted<T: Real>(x: [T; 2]) -> [T; 3] {
        [x[0], x[1], 1.0]
    }
}

mod each_of_a_row {
    use super::*;

    #[custom_function(elementwise)]
    fn total<T: Real>(#[each] x: [T; 2]) -> T {
        x[0] + x[1]
    }
}

mod pattern_of_a_row {
    use super::*;

    #[custom_function(elementwise)]
    fn total<T: Real>([x, y]: [T; 2]) -> T {
        x + y
    }
}

mod gradient_of_another_length {
    use super::*;

    #[custom_function(elementwise, grad(x) = [grad_output, grad_output])]
    fn total<T: Real>(x: [T; 3]) -> T {
        x[0] + x[1] + x[2]
    }
}

mod gradient_is_a_number {
    use super::*;

    #[custom_function(elementwise, grad(x) = grad_output * x[0])]
    fn first<T: Real>(x: [T; 3]) -> T {
        x[0] * x[0]
    }
}

mod gradcheck_of_another_length {
    use super::*;

    #[custom_function(elementwise, gradcheck(x = [4, 2]))]
    fn total<T: Real>(x: [T; 3]) -> T {
        x[0] + x[1] + x[2]
    }
}

mod gradcheck_without_the_axis_of_rows {
    use super::*;

    #[custom_function(elementwise, gradcheck(scale = [4], x = [3]))]
    fn weighed<T: Real>(scale: T, x: [T; 3]) -> T {
        scale * (x[0] + x[1] + x[2])
    }
}

mod gradcheck_of_a_row_without_lengths {
    use super::*;

    #[custom_function(elementwise, gradcheck(x = []))]
    fn total<T: Real>(x: [T; 3]) -> T {
        x[0] + x[1] + x[2]
    }
}

mod too_many_numbers {
    use super::*;

    #[custom_function(elementwise)]
    fn dot<T: Real>(x: [T; 48], y: [T; 49]) -> T {
        x[0] * y[0]
    }
}

mod too_many_numbers_by_a_constant {
    use super::*;

    const LENGTH: usize = 97;

    #[custom_function(elementwise)]
    fn first<T: Real>(x: [T; LENGTH]) -> T {
        x[0]
    }
}

mod too_many_returned_numbers {
    use super::*;

    #[custom_function(elementwise)]
    fn filled<T: Real>(x: T) -> [T; 97] {
        [x; 97]
    }
}

mod output_named_like_a_row {
    use super::*;

    #[custom_function(elementwise, outputs(q, norm))]
    fn unit<T: Real>(q: [T; 2]) -> ([T; 2], T) {
        let norm = q[0].hypot(q[1]);
        (q.map(|q| q / norm), norm)
    }
}

mod number_for_a_row {
    use super::*;

    #[custom_function(elementwise)]
    fn scaled<T: Real>(x: [T; 3], scale: T) -> [T; 3] {
        scale * x
    }
}

mod constant_that_is_no_float {
    use super::*;

    const COUNT: usize = 3;

    #[custom_function(elementwise)]
    fn mean<T: Real>(x: [T; 3]) -> T {
        (x[0] + x[1] + x[2]) / COUNT
    }
}

mod exponent_that_is_no_i32 {
    use super::*;

    #[custom_function(elementwise)]
    fn series<T: Real>(x: [T; 3], w: [f64; 3]) -> T {
        let mut sum = T::from(0.0);
        for (k, w) in w.into_iter().enumerate() {
            sum += x[k].powi(k) * w;
        }
        sum
    }
}

fn main() {}

mod mistakes_beside_values {
    use super::*;

    #[custom_function(elementwise)]
    fn shifted<T: Real>(x: [T; 3], flag: bool) -> T {
        x[0] * (flag as f64) + x[1] * x[2]
    }

    #[custom_function(elementwise)]
    fn halved<T: Real>(x: [T; 3]) -> T {
        let half: f64 = 1;
        x[0] * half + x[1] * x[2]
    }
}
