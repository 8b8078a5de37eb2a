//! Checks of settings, which panic with the name of the setting.

#[track_caller]
pub(super) fn not_negative(name: &str, value: f64) -> f64 {
    assert!(
        value >= 0.0 && value.is_finite(),
        "the {name} is {value}: a finite number of at least 0 is needed"
    );
    value
}

#[track_caller]
pub(super) fn positive(name: &str, value: f64) -> f64 {
    assert!(
        value > 0.0 && value.is_finite(),
        "the {name} is {value}: a finite number above 0 is needed"
    );
    value
}

/// Panics unless a share is at least 0 and below 1.
#[track_caller]
pub(super) fn below_one(name: &str, value: f64) -> f64 {
    assert!(
        (0.0..1.0).contains(&value),
        "the {name} is {value}: a number of at least 0 and below 1 is needed"
    );
    value
}

/// Panics if a count is 0.
#[track_caller]
pub(super) fn at_least_one(name: &str, count: u64) -> u64 {
    assert!(count > 0, "the {name} is 0: at least 1 is needed");
    count
}
