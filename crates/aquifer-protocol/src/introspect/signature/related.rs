//! Finds the operation that returns the value of a parameter such as `project_id`, judging by names.

use crate::case::snake_case;
use crate::catalog::Catalog;
use crate::category::Category;
use crate::operation::{Backing, Operation};
use crate::schema::Parameter;
use crate::text::inflect::plural_name;

/// Suffixes of parameters that identify something that another operation returns.
const ENDINGS: [&str; 4] = ["_id", "_iid", "_ids", "_uuid"];

/// Verbs of operations that return such resources, most likely first: those that return many, those that return one, and
/// those that create one.
const VERBS_RETURNING_MANY: [&str; 5] = ["list", "search", "find", "query", "get"];
const VERBS_RETURNING_ONE: [&str; 5] = ["search", "find", "get_current", "get_my", "get"];
const VERBS_CREATING_ONE: [&str; 4] = ["create", "open", "start", "new"];

/// Verbs that create a resource but do not precede its name: a connection comes from `connect` or
/// `connect_to_database`.
const MAKERS: [(&str, &str); 4] =
    [("connection", "connect"), ("session", "login"), ("subscription", "subscribe"), ("transaction", "begin")];

/// At most two operations that return values of a parameter. Empty for tables, whose references are more precise.
pub fn related_operations<'a>(parameter: &Parameter, of: &Operation, catalog: &'a Catalog) -> Vec<&'a Operation> {
    const MAX_RELATED: usize = 2;
    let is_table = !matches!(of.origin.backing, Backing::None | Backing::Tool(_));
    if is_table || parameter.is_shared {
        return Vec::new();
    }
    // What needs the value itself does not give it.
    let needs_it =
        |operation: &Operation| operation.parameters.iter().any(|known| known.required && known.name == parameter.name);
    let fits = |operation: &&Operation| {
        operation.origin.source == of.origin.source && operation.name != of.name && !needs_it(operation)
    };
    let all = || catalog.operations().iter().map(|operation| &**operation).filter(fits);
    let noun = ENDINGS.iter().find_map(|ending| parameter.name.strip_suffix(ending)).filter(|noun| !noun.is_empty());
    // Catalogs are large, and most operations have no path: nothing is searched for them.
    let listed = || collection(parameter, of).and_then(|path| all().find(|operation| lists(operation, &path)));
    let Some(noun) = noun else { return listed().into_iter().collect() };
    let prefix = of.name.strip_suffix(&*of.origin.own_name).unwrap_or_default();
    let plural = plural_name(noun);
    let named = |verbs: &[&str], noun: &str| -> Vec<&'a Operation> {
        let names = verbs.iter().flat_map(|verb| [format!("{prefix}{verb}_{noun}"), format!("{prefix}{noun}_{verb}")]);
        let found = names.filter_map(|name| catalog.operation(&name).map(|operation| &**operation));
        found.filter(fits).take(MAX_RELATED).collect()
    };
    let routed = || -> Vec<&'a Operation> {
        if let Some(found) = listed() {
            return vec![found];
        }
        let is_list = |operation: &&Operation| {
            route(operation).is_some_and(|(_, path)| snake_case(path.rsplit('/').next().unwrap_or_default()) == plural)
                && operation.category == Category::Read
        };
        // The shortest path is the list of all, and others are parts of it.
        all().filter(is_list).min_by_key(|operation| route(operation).map(|(_, path)| path.len())).into_iter().collect()
    };
    let made = || -> Vec<&'a Operation> {
        let maker = MAKERS.iter().find(|(made, _)| noun == *made || noun.ends_with(&format!("_{made}")));
        let Some((_, verb)) = maker else { return Vec::new() };
        let starts = format!("{prefix}{verb}");
        let is_maker = |operation: &&Operation| {
            operation.name.strip_prefix(&*starts).is_some_and(|rest| rest.is_empty() || rest.starts_with('_'))
        };
        all().filter(is_maker).take(MAX_RELATED).collect()
    };
    let ways: [&dyn Fn() -> Vec<&'a Operation>; 5] = [
        &|| named(&VERBS_RETURNING_MANY, &plural),
        &routed,
        &|| named(&VERBS_RETURNING_ONE, noun),
        &|| named(&VERBS_CREATING_ONE, noun),
        &made,
    ];
    ways.iter().map(|way| way()).find(|found| !found.is_empty()).unwrap_or_default()
}

/// The method and the path of an operation of an HTTP API.
fn route(operation: &Operation) -> Option<(&str, &str)> {
    let Backing::Tool(called) = &operation.origin.backing else { return None };
    called.split_once(' ').filter(|(_, path)| path.starts_with('/'))
}

/// The path of the things among which a parameter chooses one: `/planets` for the parameter of `/planets/{planetId}`.
fn collection(parameter: &Parameter, of: &Operation) -> Option<String> {
    let (_, path) = route(of)?;
    let original = parameter.original_name.as_ref().unwrap_or(&parameter.name);
    let (before, _) = path.split_once(&format!("/{{{original}}}"))?;
    (!before.is_empty() && !before.ends_with('}')).then(|| anonymous(before))
}

/// Whether an operation reads what is at a path.
fn lists(operation: &Operation, path: &str) -> bool {
    let found = route(operation).filter(|(method, _)| *method == "GET" && operation.category == Category::Read);
    found.is_some_and(|(_, found)| anonymous(found) == path)
}

/// A path whose placeholders have no names: they differ between operations.
fn anonymous(path: &str) -> String {
    let is_placeholder = |segment: &str| segment.starts_with('{') && segment.ends_with('}');
    let segments = path.trim_end_matches('/').split('/');
    segments.map(|segment| if is_placeholder(segment) { "{}" } else { segment }).collect::<Vec<_>>().join("/")
}
