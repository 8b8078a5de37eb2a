//! Normally distributed numbers.

use std::f64::consts::TAU;

use rand::RngExt;
use rand_xoshiro::Xoshiro256PlusPlus;

/// A number of mean 0 and standard deviation 1 (Box and Muller, 1958).
pub fn normal(random: &mut Xoshiro256PlusPlus) -> f64 {
    let (u, v): (f64, f64) = (random.random(), random.random());
    (-2.0 * (1.0 - u).ln()).sqrt() * (TAU * v).cos()
}

#[cfg(test)]
mod tests {
    use rand::SeedableRng;

    use super::*;

    /// Moments of 100,000 numbers, within five of their standard errors.
    #[test]
    fn the_moments_are_those_of_the_normal_distribution() {
        let mut random = Xoshiro256PlusPlus::seed_from_u64(1);
        let numbers: Vec<f64> = (0..100_000).map(|_| normal(&mut random)).collect();
        for (power, moment, variance) in
            [(1, 0.0, 1.0), (2, 1.0, 2.0), (3, 0.0, 15.0), (4, 3.0, 96.0)]
        {
            let mean = numbers.iter().map(|x| x.powi(power)).sum::<f64>() / 1e5;
            let error: f64 = variance / 1e5;
            assert!(
                (mean - moment).abs() < 5.0 * error.sqrt(),
                "{power}: {mean}"
            );
        }
    }
}
