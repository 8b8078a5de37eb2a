mod empty {
    /// y = x²
    #[doc = pullback::math!(" ")]
    pub fn square(x: f64) -> f64 { x * x }
}

mod not_a_string {
    /// y = x²
    #[doc = pullback::math!(x^2)]
    pub fn square(x: f64) -> f64 { x * x }
    /// y = x³
    #[doc = pullback::math!("x", "3")]
    pub fn cube(x: f64) -> f64 { x * x * x }
    /// y = x
    #[doc = pullback::math!()]
    pub fn identity(x: f64) -> f64 { x }
}

fn main() {}
