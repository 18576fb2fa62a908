//! The result budget: how many tokens an answer may take (`max_tokens`, R-EXT-3).
//!
//! Pages end before the item that no longer fits, groups before the group that does not, and an item that does not fit by
//! itself is shortened. Tokens are estimated ([`TokenEstimator`]). Room for everything around the items is reserved in
//! advance: the envelope, the cursors and the warning that says what was cut. Databases, items in memory and results of
//! servers share this code, so that their pages end in the same place.

mod estimate;
mod shrink;

use aquifer_protocol::category::Category;
use aquifer_protocol::error::Failure;
use aquifer_protocol::operation::Operation;
use aquifer_protocol::schema::{Kind, Parameter, Range, Schema};
use aquifer_protocol::warning::{RESULT_SHORTENED, Warning};
use serde_json::{Value, json};

pub use estimate::TokenEstimator;
pub use estimate::estimate_text;
pub use estimate::estimate_value;
pub use estimate::estimate_value_up_to;
pub use shrink::Cut;
pub use shrink::cut_position;
pub use shrink::shrink;
pub use shrink::shrink_row;

/// The name of the parameter.
pub const MAX_TOKENS: &str = "max_tokens";

/// A smaller budget would not hold one item with its cursors.
pub const MIN_BUDGET: usize = 400;

/// A greater budget would exceed every other limit.
pub const MAX_BUDGET: usize = 1_000_000;

/// The envelope around the data.
const ENVELOPE: usize = 10;

/// The names and flags of the page information.
const PAGE_INFO: usize = 25;

/// The warning that a page ended early.
const PAGE_WARNING: usize = 60;

/// The warning that an item was shortened.
const CUT_WARNING: usize = 110;

/// Adds the parameter to an operation that reads, unless it has one of that name or cannot be called.
pub fn offer(operation: &mut Operation) {
    let can_be_read = operation.category == Category::Read && operation.safety.quarantine.is_none();
    if can_be_read && operation.parameter(MAX_TOKENS).is_none() {
        operation.parameters.push(parameter());
    }
}

/// Whether the operation has the parameter added by [`offer`]. One of the same name may belong to its source.
pub fn is_offered(operation: &Operation) -> bool {
    operation.parameter(MAX_TOKENS).is_some_and(|parameter| parameter.is_shared)
}

/// The parameter of every operation that supports a budget.
pub fn parameter() -> Parameter {
    let range = Range { minimum: Some(MIN_BUDGET as f64), maximum: Some(MAX_BUDGET as f64), ..Range::default() };
    let schema = Schema { range, ..Schema::new(Kind::Integer) };
    Parameter::optional(MAX_TOKENS, schema.describe("Limit of the answer, in estimated tokens.")).shared()
}

/// Reads a value of the parameter.
pub fn parse(value: &Value) -> Result<usize, Failure> {
    let number = value.as_u64().and_then(|number| usize::try_from(number).ok());
    number.filter(|number| (MIN_BUDGET..=MAX_BUDGET).contains(number)).ok_or_else(|| {
        let problem = format!("must be a whole number from {MIN_BUDGET} to {MAX_BUDGET}. Leave it out for no budget");
        Failure::invalid_value(MAX_TOKENS, problem)
    })
}

/// The remaining budget of an answer.
#[derive(Debug, Clone, Copy)]
pub struct Budget {
    max_tokens: usize,
    used: usize,
}

impl Budget {
    /// The budget of an answer with pages or groups. Room for everything around them is reserved.
    pub fn new(max_tokens: usize) -> Self {
        Self { max_tokens, used: ENVELOPE + PAGE_WARNING }
    }

    /// The budget as the caller knows it.
    pub fn max_tokens(&self) -> usize {
        self.max_tokens
    }

    /// The tokens that are left.
    pub fn remaining(&self) -> usize {
        self.max_tokens.saturating_sub(self.used)
    }

    /// Uses tokens.
    pub fn spend(&mut self, tokens: usize) {
        self.used = self.used.saturating_add(tokens);
    }

    /// An equal share of what is left, for one of several parts.
    pub fn share(&self, parts: usize) -> usize {
        self.remaining() / parts.max(1)
    }
}

/// Decides which items of a page fit.
#[derive(Debug, Clone)]
pub struct PageBudget {
    limit: usize,
    max_tokens: usize,
    used: usize,
    /// The cursor of the first item.
    first_cursor: Option<usize>,
    every_cursor: bool,
}

impl PageBudget {
    /// Creates a limit that lets the page use the whole remaining budget.
    pub fn new(budget: &Budget, every_cursor: bool) -> Self {
        let limit = budget.remaining().saturating_sub(PAGE_INFO);
        Self { limit, max_tokens: budget.max_tokens, used: 0, first_cursor: None, every_cursor }
    }

    /// The budget as the caller knows it.
    pub fn max_tokens(&self) -> usize {
        self.max_tokens
    }

    /// Returns whether one more item fits, and counts it if so. `cursor_bytes` is the length of its position before
    /// sealing.
    pub fn admit(&mut self, item_tokens: usize, cursor_bytes: usize) -> bool {
        let (used, first) = self.with_item(item_tokens, cursor_bytes);
        let fits = used + first + sealed_tokens(cursor_bytes) <= self.limit;
        if fits {
            self.used = used;
            self.first_cursor = Some(first);
        }
        fits
    }

    /// Admits no further items.
    pub fn close(&mut self) {
        self.limit = 0;
    }

    fn with_item(&self, item_tokens: usize, cursor_bytes: usize) -> (usize, usize) {
        let cursor = sealed_tokens(cursor_bytes);
        let own = if self.every_cursor { cursor + 6 } else { 1 };
        (self.used.saturating_add(item_tokens).saturating_add(own), self.first_cursor.unwrap_or(cursor))
    }

    /// How many tokens the first item may take if it has to be shortened.
    pub fn room_for_first(&self, cursor_bytes: usize) -> usize {
        let (used, first) = self.with_item(0, cursor_bytes);
        self.limit.saturating_sub(used + first + sealed_tokens(cursor_bytes) + CUT_WARNING - PAGE_WARNING)
    }
}

/// The tokens of a sealed cursor. The steps are coarse, because the same position may be serialized in different ways.
fn sealed_tokens(bytes: usize) -> usize {
    const STEP: usize = 16;
    // Sealing adds 16 bytes, base64 a third, and a token holds less than two of its characters.
    let characters = (bytes + 16) * 4 / 3;
    (characters * 11 / 16).div_ceil(STEP) * STEP
}

/// The room for an answer without pages: one item, or any other value. `warnings` are those that it already has.
pub fn room_for_value(max_tokens: usize, warnings: &[Warning]) -> usize {
    let warnings = if warnings.is_empty() { 0 } else { estimate_value(&json!(warnings)) };
    max_tokens.saturating_sub(ENVELOPE + warnings)
}

/// How the caller of an operation gets the rest of an answer that was shortened.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Remedy {
    /// It selects fields and sets a larger budget.
    Fields,
    /// It sets a larger budget.
    MoreTokens,
    /// It cannot set the budget: the operation has another parameter of that name.
    OwnParameters,
}

impl Remedy {
    const fn text(self) -> &'static str {
        match self {
            Remedy::Fields => "For the rest ask for 'fields' you need with more 'max_tokens'",
            Remedy::MoreTokens => "For the rest call again with more 'max_tokens'",
            Remedy::OwnParameters => "For the rest narrow the call: the server sets this budget",
        }
    }
}

/// Shortens a value that does not fit, and says what was cut.
pub fn shrink_answer(value: Value, room: usize, max_tokens: usize, remedy: Remedy) -> (Value, Warning) {
    let mut cuts = Vec::new();
    let value = shrink(value, room.saturating_sub(CUT_WARNING), &mut cuts);
    (value, shortened_answer(&cuts, max_tokens, remedy))
}

/// The warning for an item that was shortened. It comes before the data.
pub fn shortened(cuts: &[Cut], max_tokens: usize) -> Warning {
    shortened_answer(cuts, max_tokens, Remedy::Fields)
}

fn shortened_answer(cuts: &[Cut], max_tokens: usize, remedy: Remedy) -> Warning {
    /// Further ones are only counted.
    const MAX_LISTED: usize = 3;
    let listed: Vec<Value> = cuts
        .iter()
        .take(MAX_LISTED)
        .map(|cut| json!({ "field": cut.path, "shown": cut.shown, "of": cut.total, "unit": cut.unit.name() }))
        .collect();
    let message = format!("Shortened to keep 'max_tokens' {max_tokens}. {}", remedy.text());
    let warning = Warning::new(RESULT_SHORTENED, message).detail("cut", listed).before_data();
    if cuts.len() > MAX_LISTED { warning.detail("more_cut", cuts.len() - MAX_LISTED) } else { warning }
}
