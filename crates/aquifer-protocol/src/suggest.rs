//! The nearest valid name for a wrong one.

/// Names this far apart are not worth suggesting.
const CLOSE_ENOUGH: f64 = 0.72;

/// The valid name nearest to `wrong`, if one is close.
pub fn nearest<'a>(wrong: &str, valid: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    rank(wrong, valid).into_iter().next().map(|(_, name)| name)
}

/// The valid names near to `wrong`, nearest first, no more than `most`.
pub fn near<'a>(wrong: &str, valid: impl IntoIterator<Item = &'a str>, most: usize) -> Vec<&'a str> {
    rank(wrong, valid).into_iter().take(most).map(|(_, name)| name).collect()
}

fn rank<'a>(wrong: &str, valid: impl IntoIterator<Item = &'a str>) -> Vec<(f64, &'a str)> {
    // Comparing costs the product of both lengths, and the wrong name comes from outside.
    let wrong: String = snake_case(&wrong.chars().take(64).collect::<String>());
    let mut ranked: Vec<(f64, &str)> = valid
        .into_iter()
        .map(|name| (likeness(&wrong, name), name))
        .filter(|(likeness, _)| *likeness >= CLOSE_ENOUGH)
        .collect();
    ranked.sort_by(|a, b| b.0.total_cmp(&a.0).then_with(|| a.1.cmp(b.1)));
    ranked
}

/// Typing errors weigh little; so does a word left out, added or put elsewhere.
fn likeness(wrong: &str, name: &str) -> f64 {
    let (a, b) = (words(wrong), words(name));
    let common = a.iter().filter(|word| b.contains(word)).count();
    #[expect(clippy::cast_precision_loss, reason = "counts of words")]
    let shared = if a.is_empty() || b.is_empty() { 0.0 } else { common as f64 * 2.0 / (a.len() + b.len()) as f64 };
    // Comparing letter by letter is dear, and hopeless where the lengths differ by more than the likeness allows.
    #[expect(clippy::cast_precision_loss, reason = "lengths of names")]
    let lengths = wrong.len().min(name.len()) as f64 / wrong.len().max(name.len()).max(1) as f64;
    let letters = if lengths < CLOSE_ENOUGH { 0.0 } else { strsim::normalized_damerau_levenshtein(wrong, name) };
    letters.max(shared * 0.95)
}

fn words(name: &str) -> Vec<&str> {
    name.split('_').filter(|word| !word.is_empty()).map(singular).collect()
}

fn singular(word: &str) -> &str {
    word.strip_suffix('s').filter(|stem| stem.len() > 2).unwrap_or(word)
}

/// `camelCase`, `kebab-case` and `Title Case` as `snake_case` (R-REQ-3).
pub fn snake_case(name: &str) -> String {
    let mut snake = String::with_capacity(name.len() + 4);
    let letters: Vec<char> = name.chars().collect();
    for (index, &letter) in letters.iter().enumerate() {
        if letter.is_uppercase() {
            let before = index.checked_sub(1).and_then(|i| letters.get(i));
            let after = letters.get(index + 1);
            let starts_word = before.is_some_and(|b| b.is_lowercase() || b.is_ascii_digit())
                || (before.is_some_and(|b| b.is_uppercase()) && after.is_some_and(|a| a.is_lowercase()));
            if starts_word && !snake.ends_with('_') {
                snake.push('_');
            }
            snake.extend(letter.to_lowercase());
        } else if matches!(letter, '-' | ' ' | '.') {
            snake.push('_');
        } else {
            snake.push(letter);
        }
    }
    snake
}
