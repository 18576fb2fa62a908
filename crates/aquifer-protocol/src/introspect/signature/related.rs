//! Finds the operation that returns the value of a parameter such as `project_id`, judging by names.

use crate::catalog::Catalog;
use crate::operation::{Backing, Operation};
use crate::schema::Parameter;

/// Suffixes of parameters that identify something that another operation returns.
const ENDINGS: [&str; 4] = ["_id", "_iid", "_ids", "_uuid"];

/// Verbs of operations that return such resources, most likely first: those that return many, then those that return
/// one.
const VERBS_RETURNING_MANY: [&str; 5] = ["list", "search", "find", "query", "get"];
const VERBS_RETURNING_ONE: [&str; 6] = ["create", "open", "start", "new", "get_current", "get_my"];

/// Verbs that create a resource but do not precede its name: a connection comes from `connect` or
/// `connect_to_database`.
const MAKERS: [(&str, &str); 4] =
    [("connection", "connect"), ("session", "login"), ("subscription", "subscribe"), ("transaction", "begin")];

/// At most two operations that return values of a parameter. Empty for tables, whose references are more precise.
pub fn related_operations<'a>(parameter: &Parameter, of: &Operation, catalog: &'a Catalog) -> Vec<&'a Operation> {
    const MAX_RELATED: usize = 2;
    let is_table = !matches!(of.backing, Backing::None | Backing::Tool(_));
    let noun = ENDINGS.iter().find_map(|ending| parameter.name.strip_suffix(ending)).filter(|noun| !noun.is_empty());
    let Some(noun) = noun.filter(|_| !is_table && !parameter.is_shared) else { return Vec::new() };
    let prefix = of.name.strip_suffix(&*of.own_name).unwrap_or_default();
    let visible = |name: String| catalog.operation(&name).map(|operation| &**operation);
    let fits = |operation: &&Operation| operation.source == of.source && operation.name != of.name;
    let plural = plural(noun);
    let many = VERBS_RETURNING_MANY
        .iter()
        .flat_map(|verb| [format!("{prefix}{verb}_{plural}"), format!("{prefix}{plural}_{verb}")]);
    let one = VERBS_RETURNING_ONE
        .iter()
        .flat_map(|verb| [format!("{prefix}{verb}_{noun}"), format!("{prefix}{noun}_{verb}")]);
    let mut found: Vec<&Operation> = many.filter_map(visible).filter(fits).take(MAX_RELATED).collect();
    if found.is_empty() {
        found = one.filter_map(visible).filter(fits).take(MAX_RELATED).collect();
    }
    let maker = MAKERS.iter().find(|(made, _)| noun == *made || noun.ends_with(&format!("_{made}")));
    if let (true, Some((_, verb))) = (found.is_empty(), maker) {
        let starts = format!("{prefix}{verb}");
        let is_maker = |operation: &&Operation| {
            operation.name.strip_prefix(&*starts).is_some_and(|rest| rest.is_empty() || rest.starts_with('_'))
        };
        let all = catalog.operations().iter().map(|operation| &**operation);
        found = all.filter(is_maker).filter(fits).take(MAX_RELATED).collect();
    }
    found
}

fn plural(noun: &str) -> String {
    if let Some(stem) = noun.strip_suffix('y').filter(|stem| !stem.ends_with(['a', 'e', 'i', 'o', 'u'])) {
        return format!("{stem}ies");
    }
    if noun.ends_with(['s', 'x']) || noun.ends_with("ch") || noun.ends_with("sh") {
        return format!("{noun}es");
    }
    format!("{noun}s")
}
