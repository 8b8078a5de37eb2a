/// y = x²
#[doc = pullback::math!(x^2)]
pub fn square(x: f64) -> f64 {
    x * x
}

fn main() {}
