//! A small seeded random number generator that produces the same sequence on every platform.

/// SplitMix64. Each part of the sample has its own generator, so that changing one word list does not affect the
/// others.
pub(crate) struct Rng(u64);

impl Rng {
    pub(crate) fn new(seed: u64) -> Self {
        Self(seed)
    }

    fn next_u64(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        mixed ^ (mixed >> 31)
    }

    /// A number from `low` to `high`, both inclusive, or `low` if `high` is smaller.
    pub(crate) fn between(&mut self, low: i64, high: i64) -> i64 {
        let span = high.saturating_sub(low).saturating_add(1).max(1);
        low + ((u128::from(self.next_u64()) * span as u128) >> 64) as i64
    }

    pub(crate) fn chance(&mut self, percent: i64) -> bool {
        self.between(1, 100) <= percent
    }

    pub(crate) fn choose<'a, T>(&mut self, choices: &'a [T]) -> Option<&'a T> {
        let position = self.position(choices.len());
        choices.get(position)
    }

    /// One of `choices`. Earlier ones are more likely.
    pub(crate) fn choose_early<'a, T>(&mut self, choices: &'a [T]) -> Option<&'a T> {
        let position = self.position(choices.len()).min(self.position(choices.len()));
        choices.get(position)
    }

    /// One of `choices`, or the default if there are none.
    pub(crate) fn pick<T: Copy + Default>(&mut self, choices: &[T]) -> T {
        self.choose(choices).copied().unwrap_or_default()
    }

    pub(crate) fn shuffle<T>(&mut self, items: &mut [T]) {
        for end in (1..items.len()).rev() {
            let other = self.position(end + 1);
            items.swap(end, other);
        }
    }

    /// Replaces each `#` with a digit and each `@` with a letter, for postal codes and telephone numbers.
    pub(crate) fn fill_pattern(&mut self, pattern: &str) -> String {
        let fill = |sign| match sign {
            '#' => self.pick(&['0', '1', '2', '3', '4', '5', '6', '7', '8', '9']),
            '@' => self.pick(&['A', 'B', 'D', 'E', 'G', 'H', 'K', 'L', 'N', 'P', 'R', 'T', 'W', 'X']),
            other => other,
        };
        pattern.chars().map(fill).collect()
    }

    fn position(&mut self, len: usize) -> usize {
        self.between(0, len as i64 - 1) as usize
    }
}
