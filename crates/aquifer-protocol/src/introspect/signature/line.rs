//! The signature of one operation.

use super::notation::{Detail, TypeWriter};
use super::requirement::requirement_notation;
use super::summary::summary;
use crate::operation::Operation;
use crate::schema::{Parameter, Types};

/// The marker for what is required before a call runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Mark {
    /// Nothing is required.
    #[default]
    None,
    /// The call has to be confirmed, by the caller with a token or by the person at the client.
    Confirm,
    /// A person has to approve the call in a separate channel.
    Approval,
    /// The call is denied.
    Denied,
}

impl Mark {
    const fn text(self) -> &'static str {
        match self {
            Mark::None => "",
            Mark::Confirm => " [confirm]",
            Mark::Approval => " [approval]",
            Mark::Denied => " [denied]",
        }
    }
}

/// Stands for the parameters of the query language in a signature.
const QUERY: &str = "...query";

/// The parameters of the query language that a hint explains. The others exist for compatibility, or depend on these.
const HINTED: [&str; 7] = ["fields", "filter", "sort", "aggregate", "first", "after", BUDGET];

/// The result budget, which every operation that reads accepts.
const BUDGET: &str = "max_tokens";

/// Writes signatures, and records what the hints have to explain.
#[derive(Debug)]
pub struct SignatureWriter {
    is_complete: bool,
    query: Vec<&'static str>,
    /// Whether an operation without the query language has a result budget.
    has_budget_alone: bool,
    has_dry_run: bool,
    has_if_match: bool,
}

impl SignatureWriter {
    /// A writer of abbreviated or complete signatures.
    pub fn new(is_complete: bool) -> Self {
        Self { is_complete, query: Vec::new(), has_budget_alone: false, has_dry_run: false, has_if_match: false }
    }

    /// The signature of an operation in this endpoint family, in a catalog with these types.
    pub fn line(&mut self, operation: &Operation, types: &Types, family: &str, mark: Mark) -> String {
        let detail = if self.is_complete { Detail::COMPLETE } else { Detail::BRIEF };
        let mut writer = TypeWriter::new(types, detail, operation.origin.native);
        writer.out.push_str(&operation.name);
        writer.out.push('(');
        let start = writer.out.len();
        let is_queried = takes_query(operation);
        // The fields of a shaped result are selected in the same way everywhere.
        let selects = !is_queried && operation.capabilities.shaping.is_some() && shared(operation, "fields");
        let explained_elsewhere = |parameter: &&Parameter| {
            parameter.is_shared
                && (is_explained_elsewhere(parameter, is_queried) || (selects && &*parameter.name == "fields"))
        };
        writer.members(operation.parameters.iter().filter(|parameter| !explained_elsewhere(parameter)), 0);
        let mut rest = |text: &str| {
            if writer.out.len() > start {
                writer.out.push_str(", ");
            }
            writer.out.push_str(text);
        };
        if is_queried {
            rest(QUERY);
        }
        if selects {
            rest("fields?");
        }
        if operation.open {
            rest("...any");
        }
        let mut line = writer.out;
        line.push_str(") ");
        line.push_str(family);
        for requirement in &operation.requirements {
            line.extend([" [", &*requirement_notation(requirement), "]"]);
        }
        line.push_str(mark.text());
        let summary = summary(description(operation), &operation.origin.own_name);
        if !summary.is_empty() {
            line.push_str(": ");
            line.push_str(&summary);
        }
        self.remember(operation, is_queried);
        line
    }

    fn remember(&mut self, operation: &Operation, is_queried: bool) {
        let has = |name: &str| shared(operation, name);
        if is_queried {
            self.query.extend(HINTED.into_iter().filter(|name| has(name)));
        }
        self.has_budget_alone |= !is_queried && has(BUDGET);
        self.has_dry_run |= has("dry_run");
        self.has_if_match |= has("if_match");
    }

    /// Whether the hint of the query language explains a parameter. Nothing is explained twice.
    fn is_hinted_with_query(&self, name: &str) -> bool {
        self.query.contains(&name) && !(self.has_budget_alone && name == BUDGET)
    }

    /// Hints that explain once what the lines written so far abbreviate.
    pub fn notes(&self) -> Vec<String> {
        let mut notes = Vec::new();
        let query: Vec<String> =
            HINTED.iter().filter(|name| self.is_hinted_with_query(name)).map(|name| format!("{name}?")).collect();
        if !query.is_empty() {
            notes.push(format!("{QUERY}: {}", query.join(", ")));
        }
        if self.has_budget_alone {
            notes.push(format!("reads also take {BUDGET}?"));
        }
        match (self.has_dry_run, self.has_if_match) {
            (true, true) => notes.push("writes also take dry_run?: bool, if_match?: _etag".to_owned()),
            (true, false) => notes.push("writes also take dry_run?: bool".to_owned()),
            (false, true) => notes.push("writes also take if_match?: _etag".to_owned()),
            (false, false) => {}
        }
        notes
    }
}

/// The part of a description that is worth summarizing. The rest of a table operation's description is the same for all
/// tables.
fn description(operation: &Operation) -> &str {
    let whole = &*operation.description;
    match operation.origin.backing.table() {
        Some(_) => whole.split_once(": ").map_or(whole, |(head, _)| head),
        None => whole,
    }
}

/// Whether an operation has this shared parameter.
fn shared(operation: &Operation, name: &str) -> bool {
    operation.parameter(name).is_some_and(|parameter| parameter.is_shared)
}

/// Whether an operation supports the query language, not only field selection.
fn takes_query(operation: &Operation) -> bool {
    operation.parameters.iter().any(|parameter| parameter.is_shared && matches!(&*parameter.name, "filter" | "first"))
}

/// Whether a shared parameter is explained by a hint or marker. Other parameters are written out.
fn is_explained_elsewhere(parameter: &Parameter, is_queried: bool) -> bool {
    match &*parameter.name {
        crate::operation::TOKEN | "dry_run" | "if_match" | "preset" | BUDGET => true,
        // An answer that continues says how.
        "after" => true,
        _ => is_queried,
    }
}
