/// y = x²
#[doc = pullback::math!(" ")]
pub fn square(x: f64) -> f64 {
    x * x
}

fn main() {}
