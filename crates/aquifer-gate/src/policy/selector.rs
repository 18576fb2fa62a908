//! Selects the operations that a rule, a limit or a price applies to: by source, by name, and by the tool or table
//! behind them.
//!
//! Names change: a second source adds a prefix, a collision adds a suffix. So an operation is matched by its served
//! name, by its name in the source, and by that name with the source as prefix. The same goes for the generic operation
//! that resolves to it. Tools and tables are matched by their names in the upstream or the database.
//!
//! When in doubt, the stricter reading applies. Restricting selectors match every name and ignore case, and exclude
//! only exact matches. Loosening selectors do the opposite: without a source they match the served name only, because a
//! new source may use the same name for its own operation. If there are several sources, they have to name the source,
//! without wildcards.

use aquifer_protocol::case::snake_case;
use aquifer_protocol::operation::Operation;

use super::settings::PatternList;
use aquifer_protocol::glob::{Case, Patterns};

/// The keys of a selector as written in the configuration.
#[derive(Debug, Clone, Default)]
pub(crate) struct SelectorKeys {
    pub(crate) source: PatternList,
    pub(crate) operation: PatternList,
    pub(crate) tool: PatternList,
    pub(crate) table: PatternList,
}

/// Selects operations.
#[derive(Debug, Clone)]
pub(crate) struct Selector {
    keys: SelectorKeys,
    loosens: bool,
    source: Patterns,
    operation: Patterns,
    tool: Patterns,
    table: Patterns,
    /// The patterns of `table` that contain a dot and may mean `schema.table`.
    table_in_schema: Patterns,
}

impl Selector {
    /// Creates a restricting selector: for rules without `loosen`, limits and prices. Invalid patterns are reported
    /// with their key.
    pub(crate) fn restricting(keys: SelectorKeys, report: impl FnMut(String)) -> Self {
        Self::new(keys, false, report)
    }

    /// Creates a selector for a rule with `loosen = true`.
    pub(crate) fn loosening(keys: SelectorKeys, report: impl FnMut(String)) -> Self {
        Self::new(keys, true, report)
    }

    fn new(keys: SelectorKeys, loosens: bool, mut report: impl FnMut(String)) -> Self {
        let (only, never) = if loosens { (Case::Exact, Case::Ignored) } else { (Case::Ignored, Case::Exact) };
        let mut patterns = |key: &str, words: &PatternList, only: Case, never: Case| {
            Patterns::with_case(words.iter(), only, never, |problem| report(format!("{key}: {problem}")))
        };
        Self {
            source: patterns("source", &keys.source, only, never),
            // Operation names have no capitals.
            operation: patterns("operation", &keys.operation, Case::Exact, Case::Exact),
            tool: patterns("tool", &keys.tool, only, never),
            table: patterns("table", &keys.table, only, never),
            table_in_schema: Patterns::with_case(
                // Without a dot, `sales*` matches tables, not every table of a schema with that name.
                keys.table.iter().filter(|word| word.contains('.')),
                only,
                never,
                |_| {},
            ),
            keys,
            loosens,
        }
    }

    /// Creates a selector of the same kind with other keys.
    pub(super) fn with_keys(&self, keys: SelectorKeys) -> Self {
        Self::new(keys, self.loosens, |_| {})
    }

    /// Whether it belongs to a rule that loosens.
    pub(super) fn is_loosening(&self) -> bool {
        self.loosens
    }

    /// The keys as written in the configuration.
    pub(crate) fn keys(&self) -> &SelectorKeys {
        &self.keys
    }

    /// Whether it selects this operation.
    pub(crate) fn selects(&self, operation: &Operation) -> bool {
        self.selects_source(&operation.origin.source)
            && self.selects_name(operation)
            && self.selects_tool(operation)
            && self.selects_table(operation)
    }

    /// Whether it selects this operation by its tool.
    pub(super) fn selects_tool(&self, operation: &Operation) -> bool {
        selects_backing(&self.tool, operation.origin.backing.tool())
    }

    /// Whether it selects this operation by its table.
    pub(super) fn selects_table(&self, operation: &Operation) -> bool {
        if self.table.is_empty() {
            return true;
        }
        let Some(table) = operation.origin.backing.table() else { return false };
        let full = operation.origin.backing.table_with_schema();
        let full = || full.as_deref();
        let is_wanted = self.table.wants_one_of([table])
            || (self.table_in_schema.selects() && self.table_in_schema.wants_one_of(full()));
        is_wanted && !self.table.excludes_one_of([table]) && !self.table_in_schema.excludes_one_of(full())
    }

    /// Whether it may select operations of this source.
    pub(crate) fn selects_source(&self, source: &str) -> bool {
        self.source.admits(source)
    }

    /// Whether it selects this operation by its names.
    pub(super) fn selects_name(&self, operation: &Operation) -> bool {
        if self.operation.is_empty() {
            return true;
        }
        let (served, own, generic) =
            (&*operation.name, &*operation.origin.own_name, operation.routing.generic_name.as_deref());
        let plain = || [own].into_iter().chain(generic);
        let qualified = || plain().map(|name| qualified_name(&operation.origin.source, name));
        let known_by_own_name = !self.loosens || self.source.selects();
        let is_wanted = self.operation.wants_one_of([served])
            || (known_by_own_name
                && (self.operation.wants_one_of(plain())
                    || qualified().any(|name| self.operation.wants_one_of([name.as_str()]))));
        is_wanted
            && !self.operation.excludes_one_of(plain().chain([served]))
            && !(self.loosens && qualified().any(|name| self.operation.excludes_one_of([name.as_str()])))
    }
}

/// Whether the patterns admit the tool or table. An operation without one is admitted only if there are no patterns.
fn selects_backing(patterns: &Patterns, backing: Option<&str>) -> bool {
    patterns.is_empty() || backing.is_some_and(|name| patterns.admits(name))
}

/// The operation's own name with the source as prefix, as served when there are several sources.
pub(super) fn qualified_name(source: &str, own_name: &str) -> String {
    let mut name = String::with_capacity(source.len() + own_name.len() + 2);
    for character in snake_case(source).chars() {
        match character {
            character if character.is_alphanumeric() => name.push(character),
            _ if name.is_empty() || name.ends_with('_') => {}
            _ => name.push('_'),
        }
    }
    // Operation names must not start with a digit.
    if name.starts_with(|first: char| first.is_ascii_digit()) {
        name.insert(0, 'n');
    }
    if !name.ends_with('_') {
        name.push('_');
    }
    name.push_str(own_name);
    name
}
