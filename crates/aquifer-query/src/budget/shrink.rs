//! Shortens a value: long texts are truncated, lists get fewer elements, and objects with too many members lose the
//! last ones. Small values stay complete, so that keys and states are kept at the expense of long texts.

use aquifer_protocol::text::shortened;
use serde_json::{Map, Value};

use super::estimate::{TokenEstimator, estimate_text, estimate_value_up_to};
use crate::value::grapheme::grapheme_boundary;

/// Something that was cut.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Cut {
    /// Where it was.
    pub path: String,
    /// What is counted.
    pub unit: Unit,
    /// How much is shown.
    pub shown: usize,
    /// How much there is.
    pub total: usize,
}

/// What is counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unit {
    /// The characters of a text.
    Characters,
    /// The elements of a list.
    Elements,
    /// The members of an object.
    Members,
}

impl Unit {
    /// Its name in a warning.
    pub fn name(self) -> &'static str {
        match self {
            Unit::Characters => "characters",
            Unit::Elements => "elements",
            Unit::Members => "members",
        }
    }
}

/// The tokens of the mark at the end of a shortened text, without the number.
const MARK: usize = 7;

/// The minimum tokens that a member is shortened to.
const MIN_MEMBER: usize = 12;

/// The maximum length of paths in warnings.
const MAX_PATH_CHARS: usize = 80;

/// Shortens a value to about `max_tokens`, or as far as possible.
pub fn shrink(value: Value, max_tokens: usize, cuts: &mut Vec<Cut>) -> Value {
    shrink_at(value, max_tokens, "", cuts)
}

/// Shortens the cells of a row in a table. All cells stay.
pub fn shrink_row(cells: Vec<Value>, columns: &[String], max_tokens: usize, cuts: &mut Vec<Cut>) -> Vec<Value> {
    let costs: Vec<usize> = cells.iter().map(|cell| cost_within(cell, max_tokens)).collect();
    let shares = shares(&costs, max_tokens.saturating_sub(2 + cells.len()));
    let names = columns.iter().map(String::as_str).chain(std::iter::repeat(""));
    let shrunk = cells.into_iter().zip(names).zip(costs.iter().zip(shares));
    shrunk.map(|((cell, name), (cost, share))| fit(cell, *cost, share, name, cuts)).collect()
}

fn shrink_at(value: Value, max_tokens: usize, path: &str, cuts: &mut Vec<Cut>) -> Value {
    let cost = estimate_value_up_to(&value, max_tokens);
    fit(value, cost, max_tokens, path, cuts)
}

/// The cost of a part of a value that has to fit into `max_tokens`. Large parts are not measured to their end, because
/// nested values would be measured again at every level.
fn cost_within(part: &Value, max_tokens: usize) -> usize {
    estimate_value_up_to(part, max_tokens.max(MIN_MEMBER))
}

/// The value itself if it fits, otherwise a shortened one.
fn fit(value: Value, cost: usize, max_tokens: usize, path: &str, cuts: &mut Vec<Cut>) -> Value {
    if cost <= max_tokens {
        return value;
    }
    match value {
        Value::String(text) => shrink_text(text, max_tokens, path, cuts).into(),
        Value::Array(elements) => shrink_list(elements, max_tokens, path, cuts).into(),
        Value::Object(members) => shrink_object(members, max_tokens, path, cuts).into(),
        scalar => scalar,
    }
}

fn shrink_text(text: String, max_tokens: usize, path: &str, cuts: &mut Vec<Cut>) -> String {
    let end = cut_position(&text, max_tokens.saturating_sub(MARK));
    let (kept, rest) = text.split_at_checked(end).unwrap_or((&text, ""));
    let cut = rest.chars().count();
    if cut == 0 {
        return text;
    }
    let shown = kept.chars().count();
    cuts.push(Cut { path: short_path(path), unit: Unit::Characters, shown, total: shown + cut });
    shortened::mark(kept, cut)
}

/// Where a text has to end so that it takes no more than `max_tokens` as JSON. Never inside a grapheme.
pub fn cut_position(text: &str, max_tokens: usize) -> usize {
    let mut estimator = TokenEstimator::default();
    let mut buffer = [0; 4];
    for (at, c) in text.char_indices() {
        match c {
            '"' | '\\' | '\n' | '\r' | '\t' => estimator.add(b"\\n"),
            c if c.is_control() => estimator.add(b"\\u0000"),
            c => estimator.add(c.encode_utf8(&mut buffer).as_bytes()),
        }
        if estimator.tokens() > max_tokens {
            return grapheme_boundary(text, at);
        }
    }
    text.len()
}

fn shrink_list(elements: Vec<Value>, max_tokens: usize, path: &str, cuts: &mut Vec<Cut>) -> Vec<Value> {
    let total = elements.len();
    let (mut used, mut kept) = (2, Vec::new());
    for element in elements {
        let cost = cost_within(&element, max_tokens) + 1;
        if used + cost > max_tokens {
            if kept.is_empty() && max_tokens > MIN_MEMBER {
                kept.push(shrink_at(element, max_tokens.saturating_sub(3), path, cuts));
            }
            break;
        }
        used += cost;
        kept.push(element);
    }
    if kept.len() < total {
        cuts.push(Cut { path: short_path(path), unit: Unit::Elements, shown: kept.len(), total });
    }
    kept
}

fn shrink_object(
    members: Map<String, Value>,
    max_tokens: usize,
    path: &str,
    cuts: &mut Vec<Cut>,
) -> Map<String, Value> {
    let total = members.len();
    let mut room = max_tokens.saturating_sub(2);
    let (mut least, mut kept, mut costs) = (0, Vec::new(), Vec::new());
    for (name, value) in members {
        let (own, cost) = (estimate_text(name.as_bytes()) + 2, cost_within(&value, max_tokens));
        least += own + cost.min(MIN_MEMBER);
        // One member stays, unless it is deep inside or its name alone is too long.
        let may_be_empty = max_tokens <= MIN_MEMBER || own > max_tokens;
        if least > max_tokens && (!kept.is_empty() || may_be_empty) {
            break;
        }
        room = room.saturating_sub(own);
        kept.push((name, value));
        costs.push(cost);
    }
    let count = kept.len();
    let shares = shares(&costs, room);
    let member = |((name, value), (cost, share)): ((String, Value), (&usize, usize))| {
        let at = if path.is_empty() { short_path(&name) } else { short_path(&format!("{path}.{name}")) };
        let value = fit(value, *cost, share, &at, cuts);
        (name, value)
    };
    let shrunk = kept.into_iter().zip(costs.iter().zip(shares)).map(member).collect();
    if count < total {
        cuts.push(Cut { path: short_path(path), unit: Unit::Members, shown: count, total });
    }
    shrunk
}

/// Divides the budget: small members get what they need, and large ones share the rest equally.
fn shares(costs: &[usize], room: usize) -> Vec<usize> {
    let mut order: Vec<usize> = (0..costs.len()).collect();
    order.sort_by_key(|index| costs.get(*index));
    let (mut left, mut shares) = (room, vec![0; costs.len()]);
    for (position, index) in order.iter().enumerate() {
        let share = left / (order.len() - position).max(1);
        let cost = costs.get(*index).copied().unwrap_or(0);
        let granted = cost.min(share.max(MIN_MEMBER));
        left = left.saturating_sub(granted);
        if let Some(slot) = shares.get_mut(*index) {
            *slot = granted;
        }
    }
    shares
}

fn short_path(path: &str) -> String {
    path.chars().take(MAX_PATH_CHARS).collect()
}
