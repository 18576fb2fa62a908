//! Names: from whatever an upstream calls its tools and parameters to snake_case, each unlike the others (R-DIS-3).
//!
//! A name depends on the set of names beside it, never on their order: a server that lists its tools in another order
//! tomorrow must not swap what two operations do. Names that are fine as they are therefore keep what they have, and
//! of the others those that would collide carry a mark made from the original.

use std::collections::{BTreeMap, HashSet};

use aquifer_protocol::operation::{LONGEST_NAME, RESERVED, is_snake_case};
use sha2::{Digest, Sha256};

/// Longer names of parameters help nobody.
const LONGEST_PARAMETER: usize = 64;

/// A name that was given.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Given {
    /// The name.
    pub name: String,
    /// Why it is what it is.
    pub why: Why,
}

/// Why a name is what it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Why {
    /// It was fine.
    Kept,
    /// It was spelled otherwise, or was too long.
    Respelled,
    /// It belongs to the protocol.
    Reserved,
    /// Another would have had the same name.
    Collided,
}

/// Names for operations, one for each tool. The tools' names must differ.
pub fn operations<'a>(tools: impl IntoIterator<Item = &'a str>) -> Vec<Given> {
    give(tools, RESERVED, LONGEST_NAME, "tool")
}

/// Names for the parameters of one operation. The original names must differ.
pub fn parameters<'a>(originals: impl IntoIterator<Item = &'a str>) -> Vec<Given> {
    // The token that confirms a call travels under this name; an upstream's own is another thing.
    give(originals, &["confirmation_token"], LONGEST_PARAMETER, "parameter")
}

/// The name, no longer than `longest`: a longer one ends in a mark of the whole, so that two of them stay apart.
pub fn fit(name: &str, longest: usize) -> String {
    if name.len() <= longest { name.to_owned() } else { marked(name, name, longest, 5) }
}

/// Any name as snake_case of plain letters; empty if nothing in it can be spelled.
pub fn snake(name: &str) -> String {
    let plain = deunicode::deunicode(name);
    let mut snake = String::with_capacity(plain.len() + 4);
    let mut previous = ' ';
    let mut letters = plain.chars().peekable();
    while let Some(letter) = letters.next() {
        if letter.is_ascii_alphanumeric() {
            let next_is_small = letters.peek().is_some_and(char::is_ascii_lowercase);
            let begins_word = letter.is_ascii_uppercase()
                && (previous.is_ascii_lowercase()
                    || previous.is_ascii_digit()
                    || (previous.is_ascii_uppercase() && next_is_small));
            if begins_word && !snake.is_empty() && !snake.ends_with('_') {
                snake.push('_');
            }
            snake.push(letter.to_ascii_lowercase());
        } else if !snake.is_empty() && !snake.ends_with('_') && letter != '\'' {
            snake.push('_');
        }
        previous = letter;
    }
    let snake = snake.trim_end_matches('_');
    if snake.starts_with(|c: char| c.is_ascii_digit()) { format!("n{snake}") } else { snake.to_owned() }
}

/// A name for an adapter: `^[a-z][a-z0-9-]*$`.
pub fn kebab(name: &str) -> String {
    let kebab = fit(&snake(name), 60).replace('_', "-");
    if kebab.is_empty() { "upstream".to_owned() } else { kebab }
}

fn give<'a>(
    originals: impl IntoIterator<Item = &'a str>,
    reserved: &[&str],
    longest: usize,
    fallback: &str,
) -> Vec<Given> {
    let originals: Vec<&str> = originals.into_iter().collect();
    let is_fine = |name: &str| is_snake_case(name) && name.len() <= longest && !reserved.contains(&name);
    let mut taken: HashSet<String> = reserved.iter().map(|&name| name.to_owned()).collect();
    taken.extend(originals.iter().filter(|name| is_fine(name)).map(|&name| name.to_owned()));
    let wanted: Vec<(String, Why)> = originals
        .iter()
        .map(|original| {
            let base = match snake(original) {
                _ if is_snake_case(original) => (*original).to_owned(),
                empty if empty.is_empty() => fallback.to_owned(),
                name => name,
            };
            if is_fine(original) {
                (base, Why::Kept)
            } else if reserved.contains(&base.as_str()) {
                (format!("{base}_{fallback}"), Why::Reserved)
            } else {
                (fit_marked(&base, original, longest), Why::Respelled)
            }
        })
        .collect();
    let mut wishes: BTreeMap<&str, usize> = BTreeMap::new();
    for (name, why) in &wanted {
        if *why != Why::Kept {
            *wishes.entry(name).or_default() += 1;
        }
    }
    // Names nobody else wants are given first: a mark must never take one of them away.
    let is_free = |name: &str, taken: &HashSet<String>| wishes.get(name) == Some(&1) && !taken.contains(name);
    let alone: Vec<bool> = wanted.iter().map(|(name, why)| *why != Why::Kept && is_free(name, &taken)).collect();
    taken.extend(wanted.iter().zip(&alone).filter(|(_, alone)| **alone).map(|((name, _), _)| name.clone()));
    let mut given: Vec<Option<Given>> = wanted
        .iter()
        .zip(&alone)
        .map(|((name, why), alone)| (*alone || *why == Why::Kept).then(|| Given { name: name.clone(), why: *why }))
        .collect();
    // In the order of the originals, not of the list, so that even two equal marks fall out the same way.
    let mut open: Vec<usize> =
        (0..given.len()).filter(|&index| given.get(index).is_some_and(Option::is_none)).collect();
    open.sort_by_key(|&index| originals.get(index));
    for index in open {
        let (Some(original), Some((base, why))) = (originals.get(index), wanted.get(index)) else { continue };
        let name = (5..=64)
            .map(|digits| marked(base, original, longest, digits))
            .find(|name| !taken.contains(name))
            .unwrap_or_else(|| marked(base, &format!("{index}\0{original}"), longest, 16));
        taken.insert(name.clone());
        let why = if *why == Why::Reserved { Why::Reserved } else { Why::Collided };
        if let Some(slot) = given.get_mut(index) {
            *slot = Some(Given { name, why });
        }
    }
    given.into_iter().flatten().collect()
}

fn fit_marked(base: &str, original: &str, longest: usize) -> String {
    if base.len() <= longest { base.to_owned() } else { marked(base, original, longest, 5) }
}

/// The beginning of a name and so many digits of a digest of the original.
fn marked(base: &str, original: &str, longest: usize, digits: usize) -> String {
    let digits = digits.min(longest.saturating_sub(4));
    let mark: String = hex(&Sha256::digest(original.as_bytes())).chars().take(digits).collect();
    let room = longest.saturating_sub(digits + 2);
    let kept: String = base.chars().take(room).collect();
    let kept = kept.trim_end_matches('_');
    if kept.is_empty() { format!("x{mark}") } else { format!("{kept}_x{mark}") }
}

pub(crate) fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}
