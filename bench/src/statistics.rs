//! Medians and percentiles.

/// The value below which this share of the values lies; NaN if there are no values.
pub fn percentile(values: &[f64], share: f64) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a share of a length is one")]
    let rank = ((sorted.len().saturating_sub(1)) as f64 * share).round() as usize;
    sorted.get(rank).copied().unwrap_or(f64::NAN)
}

/// The value in the middle.
pub fn median(values: &[f64]) -> f64 {
    percentile(values, 0.5)
}

/// The median of the ratios of values measured side by side.
pub fn ratio(first: &[f64], second: &[f64]) -> f64 {
    let ratios: Vec<f64> = first.iter().zip(second).map(|(first, second)| first / second).collect();
    median(&ratios)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentiles_are_values_of_the_sample() {
        let values = [5.0, 1.0, 4.0, 2.0, 3.0];
        assert_eq!(median(&values), 3.0);
        assert_eq!(percentile(&values, 0.99), 5.0);
        assert_eq!(percentile(&values, 0.0), 1.0);
        assert!(median(&[]).is_nan());
    }
}
