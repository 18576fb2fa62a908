//! Parameters for items next to `aggregate`, in an answer without items (R-COL-6).
//!
//! They apply to the groups where callers mean that: `sort` by a result sorts the groups, and `first` limits groups
//! that have an order or are paged. Otherwise `first` is ignored, because most callers mean items by it and would not
//! expect groups to be missing. Parameters that can only mean items cause a warning if they are harmless, and are
//! refused if the caller relies on them to continue.

use aquifer_protocol::warning::Warning;
use serde_json::{Map, Value};

use super::AggregateMode;
use super::aggregate::MAX_GROUP_OFFSET;
use super::problems::Problems;
use super::sort::split_direction;
use crate::plan::{Aggregate, GroupOrder, MAX_GROUPS};

/// Refused, because without items there is nothing to continue.
const REFUSED: &[&str] = &["after", "last", "before", "page", "page_size", "edges"];

/// Ignored with a warning: they only select what is shown of items, so nothing is lost without them.
const IGNORED: &[&str] = &["fields", "preset", "total"];

/// Applies the parameters to the aggregates.
pub(super) fn apply(
    params: &Map<String, Value>,
    mode: AggregateMode,
    aggregates: &mut [Aggregate],
    problems: &mut Problems,
    warnings: &mut Vec<Warning>,
) {
    let is_given = |name: &&str| params.get(*name).is_some_and(|value| *value != Value::Bool(false));
    // No items from the end are no items, which is what `aggregate` returns anyway.
    let is_relied_on = |name: &&str| is_given(name) && (*name != "last" || number(params, name) != Some(0));
    refuse(&REFUSED.iter().copied().filter(is_relied_on).collect::<Vec<_>>(), mode, problems);
    let mut ignored: Vec<&str> = IGNORED.iter().copied().filter(is_given).collect();
    let mut grouped: Vec<&mut Aggregate> =
        aggregates.iter_mut().filter(|aggregate| !aggregate.group_by.is_empty()).collect();
    ignored.extend(order_groups(params, &mut grouped, problems));
    for name in ["first", "limit"] {
        ignored.extend(limit_groups(params, name, &mut grouped, warnings).then_some(name));
    }
    ignored.extend(skip_groups(params, &mut grouped, problems).then_some("offset"));
    if !ignored.is_empty() {
        warnings.push(not_applied(&ignored, mode));
    }
}

fn refuse(names: &[&str], mode: AggregateMode, problems: &mut Problems) {
    let (it, has) = if names.len() == 1 { ("it", "has") } else { ("them", "have") };
    let remedy = match mode {
        AggregateMode::WithItems => format!("Leave {it} out, or set 'include_items' to true"),
        AggregateMode::Only => format!("Leave {it} out, or ask for the items in a call without 'aggregate'"),
    };
    let problem = format!("{has} no effect with 'aggregate', which returns no items. {remedy}");
    match names {
        [] => {}
        [only] => problems.invalid(only, problem),
        several => problems.conflict(several, problem),
    }
}

fn not_applied(names: &[&str], mode: AggregateMode) -> Warning {
    let quoted: Vec<String> = names.iter().map(|name| format!("'{name}'")).collect();
    let remedy = match mode {
        AggregateMode::WithItems => "For items, set 'include_items' to true",
        AggregateMode::Only => "For items, call without 'aggregate'",
    };
    let message = format!("{} had no effect: 'aggregate' returns no items. {remedy}", quoted.join(", "));
    Warning::new("PARAMETER_NOT_APPLIED", message).detail("param_names", names.to_vec())
}

fn number(params: &Map<String, Value>, name: &str) -> Option<usize> {
    params.get(name).and_then(Value::as_u64).and_then(|number| usize::try_from(number).ok())
}

/// Returns whether the parameter has no effect. Zero asks for no items, which is what `aggregate` returns anyway.
fn limit_groups(
    params: &Map<String, Value>,
    name: &str,
    grouped: &mut [&mut Aggregate],
    warnings: &mut Vec<Warning>,
) -> bool {
    let Some(wanted) = number(params, name).filter(|wanted| *wanted > 0) else { return false };
    let is_sorted = ["sort", "order", "offset"].iter().any(|name| params.contains_key(*name));
    let is_ordered = |aggregate: &Aggregate| is_sorted || aggregate.order != GroupOrder::ByGroup;
    let is_limited = |aggregate: &Aggregate| aggregate.page.first.is_none() && is_ordered(aggregate);
    let has_effect = grouped.iter().any(|aggregate| is_ordered(aggregate));
    if wanted > MAX_GROUPS && has_effect {
        warnings.push(
            Warning::new(
                "VALIDATION_PAGE_SIZE_CLAMPED",
                format!("'{name}' was reduced to the largest number of groups"),
            )
            .detail("param_name", name)
            .detail("requested", wanted)
            .detail("applied", MAX_GROUPS),
        );
    }
    for aggregate in grouped.iter_mut().filter(|aggregate| is_limited(aggregate)) {
        aggregate.page.first = Some(wanted.min(MAX_GROUPS));
    }
    !has_effect
}

/// Returns whether the parameter has no effect.
fn skip_groups(params: &Map<String, Value>, grouped: &mut [&mut Aggregate], problems: &mut Problems) -> bool {
    let Some(offset) = number(params, "offset").filter(|offset| *offset > 0) else { return false };
    if u64::try_from(offset).is_ok_and(|offset| offset > MAX_GROUP_OFFSET) {
        problems.invalid("offset", format!("must be no more than {MAX_GROUP_OFFSET}"));
    }
    for aggregate in grouped.iter_mut().filter(|aggregate| aggregate.page.offset == 0) {
        aggregate.page.offset = offset;
    }
    grouped.is_empty()
}

/// A criterion: what to sort by, and whether the greatest comes first.
struct Criterion<'a> {
    name: &'a str,
    descending: bool,
}

/// Applies `sort` and `order` to the groups. Returns the name of a parameter without effect.
fn order_groups(
    params: &Map<String, Value>,
    grouped: &mut [&mut Aggregate],
    problems: &mut Problems,
) -> Option<&'static str> {
    let Some(sort) = params.get("sort") else {
        let descending = match params.get("order").map(Value::as_str) {
            None => return None,
            Some(Some("asc")) => false,
            Some(Some("desc")) => true,
            Some(_) => {
                problems.unsuitable("order", "must be 'asc' or 'desc'", &["asc", "desc"]);
                return None;
            }
        };
        for aggregate in grouped.iter_mut().filter(|aggregate| aggregate.order == GroupOrder::ByGroup) {
            aggregate.order = GroupOrder::ByValue { descending };
        }
        return grouped.is_empty().then_some("order");
    };
    let first = if let Value::Array(several) = sort { several.first()? } else { sort };
    let Some(criterion) = criterion(first, params.get("order")) else {
        problems.wrong_type("sort", "{field, order} or a name such as '-count'");
        return None;
    };
    let mut has_effect = false;
    for aggregate in grouped.iter_mut() {
        if aggregate.order != GroupOrder::ByGroup {
            // Its own order takes precedence.
            has_effect = true;
            continue;
        }
        match find(aggregate, criterion.name) {
            Some(SortTarget::Group) if criterion.descending => aggregate.order = GroupOrder::ByGroupDescending,
            Some(SortTarget::Group) => {}
            Some(SortTarget::Result(0)) => aggregate.order = GroupOrder::ByValue { descending: criterion.descending },
            Some(SortTarget::Result(_)) => {
                let name = &aggregate.name;
                let problem = format!("orders groups by their first function. Put it first in 'aggregate.{name}'");
                problems.invalid("sort", problem);
            }
            None => continue,
        }
        has_effect = true;
    }
    (!has_effect).then_some("sort")
}

fn criterion<'a>(sort: &'a Value, order: Option<&'a Value>) -> Option<Criterion<'a>> {
    let (name, order) = match sort {
        Value::String(name) => (name.as_str(), order),
        Value::Object(parts) => (parts.get("field")?.as_str()?, parts.get("order")),
        _ => return None,
    };
    let (name, direction) = match split_direction(name) {
        Some((name, direction)) if order.is_none() => (name, Some(direction)),
        _ => (name, order.cloned()),
    };
    match direction.as_ref().map(Value::as_str) {
        None | Some(Some("asc")) => Some(Criterion { name, descending: false }),
        Some(Some("desc")) => Some(Criterion { name, descending: true }),
        Some(_) => None,
    }
}

/// What groups can be sorted by.
enum SortTarget {
    /// A field that it is grouped by.
    Group,
    /// The result of the function with this index.
    Result(usize),
}

fn find(aggregate: &Aggregate, name: &str) -> Option<SortTarget> {
    if aggregate.group_by.iter().any(|key| key.path.to_string() == name) {
        return Some(SortTarget::Group);
    }
    let own = name.strip_prefix(&*aggregate.name).and_then(|rest| rest.strip_prefix('.')).unwrap_or(name);
    if own == &*aggregate.name {
        return Some(SortTarget::Result(0));
    }
    let names = aggregate.names();
    let is_meant = |(function, short): &(&crate::plan::Function, &String)| {
        let path = function.paths().first().map(ToString::to_string).unwrap_or_default();
        own == short.as_str() || own == path || own == format!("{}_{path}", function.name())
    };
    aggregate.functions.iter().zip(&names).position(|result| is_meant(&result)).map(SortTarget::Result)
}
