//! Resolves paths: `name`, `name.inside.it`, `_computed.name`, and `reference.name` through up to four references.

use std::sync::Arc;

use aquifer_protocol::case::snake_case;
use aquifer_protocol::suggest::nearest;

use super::problems;
use crate::collection::{Cardinality, Collection, ComputedValue, FieldType, QueryRoot};
use crate::plan::Path;

/// Each reference is a join.
pub(super) const MAX_REFERENCES: usize = 4;

/// The use of a path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum PathUse {
    Filter,
    Sort,
    Select,
    Aggregate,
}

/// Why a path cannot be resolved.
#[derive(Debug)]
pub(super) struct UnknownPath {
    /// The names that are valid there.
    pub(super) valid: Vec<String>,
    /// The path that is probably meant.
    pub(super) meant: Option<String>,
    /// What to write instead, as sentences.
    pub(super) advice: Option<String>,
}

/// The path and the type of its value.
pub(super) fn resolve(root: QueryRoot<'_>, text: &str, usage: PathUse) -> Result<(Path, FieldType), UnknownPath> {
    let (last, through, rest) = follow(root, text);
    if through.len() > MAX_REFERENCES {
        let advice =
            format!("A path can follow up to {MAX_REFERENCES} references. Query a collection closer to the field");
        return Err(UnknownPath { valid: valid_names(root, usage), meant: None, advice: Some(advice) });
    }
    match resolve_own(last.collection(), rest, usage, through.is_empty()) {
        Some((path, field_type)) => Ok((Path { through, ..path }, field_type)),
        None => Err(explain(last, &through, rest, usage)),
    }
}

/// Explains why the rest of a path cannot be resolved in the collection that its references lead to.
fn explain(last: QueryRoot<'_>, through: &[Arc<str>], rest: &str, usage: PathUse) -> UnknownPath {
    let prefix: String = through.iter().map(|step| format!("{step}.")).collect();
    let valid = valid_names(last, usage).into_iter().map(|name| format!("{prefix}{name}")).collect();
    let (step, after) = rest.split_once('.').unwrap_or((rest, ""));
    let many = |name: &str| last.collection().reference(name, Cardinality::Many);
    if let Some(many) = many(step).or_else(|| many(&snake_case(step)).filter(|_| !after.is_empty())) {
        let items = last.follow(many);
        let field = match after {
            "" => items.map_or("id", |items| example_field(items.collection())).to_owned(),
            after => {
                let is_unknown = |items: &QueryRoot<'_>| resolve(*items, after, usage).is_err();
                let respelled =
                    items.filter(is_unknown).and_then(|items| respell(items, after, &|at| valid_names(at, usage)));
                respelled.unwrap_or_else(|| after.to_owned())
            }
        };
        let name = problems::sanitize_path(&format!("{prefix}{}", many.name));
        let field = problems::sanitize_path(&field);
        let shown = format!("to show them, write {{\"{name}\": {{\"fields\": [\"{field}\"]}}}} in 'fields'");
        let filtered =
            format!("{{\"{name}\": {{\"some\": {{\"{field}\": …}}}}}} in 'filter', or with 'none' or 'every'");
        let advice = format!("'{name}' refers to many items: {shown}; to filter by them, write {filtered}");
        return UnknownPath { valid, meant: None, advice: Some(advice) };
    }
    if let Some((reference, target)) = last
        .collection()
        .reference(rest, Cardinality::One)
        .and_then(|reference| Some((reference, last.follow(reference)?)))
    {
        let (name, field) = (format!("{prefix}{}", reference.name), example_field(target.collection()));
        let advice = format!("'{name}' is a reference. Name a field behind it, such as '{name}.{field}'");
        return UnknownPath { valid, meant: None, advice: Some(advice) };
    }
    let leads_on = |meant: &String| {
        let (end, steps, field) = follow(last, meant);
        let is_many = || usage == PathUse::Filter && end.collection().reference(field, Cardinality::Many).is_some();
        steps.len() + through.len() <= MAX_REFERENCES
            && (resolve_own(end.collection(), field, usage, false).is_some() || is_many())
    };
    // For a single name, similar names are suggested anyway.
    let meant = (!after.is_empty()).then(|| respell(last, rest, &|at| valid_names(at, usage))).flatten();
    let meant = meant.filter(leads_on).map(|meant| format!("{prefix}{meant}"));
    UnknownPath { valid, meant, advice: None }
}

/// The path with each step replaced by the most similar name: `homeSite.openedOn` is `home_site.opened_on`. `names` are
/// those that the last step can have.
fn respell(at: QueryRoot<'_>, text: &str, names: &dyn Fn(QueryRoot<'_>) -> Vec<String>) -> Option<String> {
    respell_steps(at, text, names, MAX_REFERENCES)
}

fn respell_steps(
    at: QueryRoot<'_>,
    text: &str,
    names: &dyn Fn(QueryRoot<'_>) -> Vec<String>,
    max_references: usize,
) -> Option<String> {
    let Some((step, after)) = text.split_once('.').filter(|(step, _)| *step != "_computed") else {
        let own = names(at);
        return nearest(text, own.iter().map(String::as_str).filter(|name| !name.ends_with(".*"))).map(str::to_owned);
    };
    let references = at.references.iter().filter(|reference| reference.cardinality == Cardinality::One);
    let spellings = references.flat_map(|reference| std::iter::once(&reference.name).chain(&reference.aliases));
    let nested = at.fields.iter().filter(|field| field.field_type.has_paths()).map(|field| &field.name);
    let near = nearest(step, spellings.chain(nested).map(|name| &**name))?;
    if at.field(near).is_some_and(|field| field.field_type.has_paths()) {
        return Some(format!("{near}.{after}"));
    }
    let reference = at.collection().reference(near, Cardinality::One)?;
    let rest = respell_steps(at.follow(reference)?, after, names, max_references.checked_sub(1)?)?;
    Some(format!("{}.{rest}", reference.name))
}

/// Explains why a name refers to no items of another collection.
pub(super) fn explain_related(root: QueryRoot<'_>, name: &str) -> UnknownPath {
    let many = |at: QueryRoot<'_>| -> Vec<String> {
        let references = at.references.iter().filter(|reference| reference.cardinality == Cardinality::Many);
        references.map(|reference| reference.name.to_string()).collect()
    };
    let (last, through, _) = follow(root, name);
    let prefix: String = through.iter().map(|step| format!("{step}.")).collect();
    let valid = many(last).into_iter().map(|name| format!("{prefix}{name}")).collect();
    let meant = respell(root, name, &many).filter(|meant| related_items(root, meant).is_some());
    UnknownPath { valid, meant, advice: None }
}

/// A field to name in an example: the first that is not part of the key.
fn example_field(collection: &Collection) -> &str {
    let is_key = |name: &str| collection.key.iter().any(|key| **key == *name);
    let mut names = collection.fields.iter().map(|field| &*field.name);
    names.clone().find(|name| !is_key(name)).or_else(|| names.next()).unwrap_or("id")
}

/// Follows the references that a path begins with: the collection they lead to, their names, and the rest of the path.
pub(super) fn follow<'a, 't>(root: QueryRoot<'a>, text: &'t str) -> (QueryRoot<'a>, Vec<Arc<str>>, &'t str) {
    let (mut at, mut through, mut rest) = (root, Vec::new(), text);
    while through.len() <= MAX_REFERENCES
        // A field whose name contains a dot takes precedence, and so does a path into a field.
        && at.field(rest).is_none()
        && let Some((step, after)) = rest.split_once('.')
        && !at.field(step).is_some_and(|field| field.field_type.has_paths())
        && let Some(reference) = at.collection().reference(step, Cardinality::One)
        && let Some(next) = at.follow(reference)
    {
        through.push(reference.name.clone());
        (at, rest) = (next, after);
    }
    (at, through, rest)
}

/// The references that a name follows: some to one item each, and the last to many.
pub(super) type ManyReference<'a> = (Vec<Arc<str>>, Arc<str>, QueryRoot<'a>);

/// The items of another collection that a name refers to.
pub(super) fn related_items<'a>(collection: QueryRoot<'a>, name: &str) -> Option<ManyReference<'a>> {
    let (last, through, rest) = follow(collection, name);
    if last.field(rest).is_some() || through.len() > MAX_REFERENCES {
        return None;
    }
    let reference = last.collection().reference(rest, Cardinality::Many)?;
    Some((through, reference.name.clone(), last.follow(reference)?))
}

/// Resolves a path without references.
fn resolve_own(collection: &Collection, text: &str, usage: PathUse, is_root: bool) -> Option<(Path, FieldType)> {
    if let Some(field) = collection.field(text) {
        return Some((Path::field(&field.name), field.field_type.clone()));
    }
    let mut steps = text.split('.');
    let first = steps.next().unwrap_or_default();
    let inside: Vec<Arc<str>> = steps.map(Into::into).collect();
    if first == "_computed" {
        let [name] = inside.as_slice() else { return None };
        let computed = collection.computed(name).filter(|computed| is_usable(computed, usage))?;
        return Some((Path { computed: true, ..Path::from_name(computed.name.clone()) }, computed.field_type.clone()));
    }
    if text == "_etag" && collection.versions && usage == PathUse::Select && is_root {
        return Some((Path::field("_etag"), FieldType::Text));
    }
    let empty_step = inside.iter().any(|step| step.is_empty());
    match collection.field(first) {
        Some(field) if field.field_type.has_paths() && !empty_step => {
            Some((Path { inside, ..Path::from_name(field.name.clone()) }, FieldType::Json))
        }
        // In an open collection, a field with text in the known items may have an object in others.
        _ if collection.open && !first.is_empty() && !empty_step => {
            Some((Path { inside, ..Path::field(first) }, FieldType::Json))
        }
        _ => None,
    }
}

fn is_usable(computed: &ComputedValue, usage: PathUse) -> bool {
    match usage {
        PathUse::Select => true,
        PathUse::Filter | PathUse::Aggregate => computed.filterable,
        PathUse::Sort => computed.sortable,
    }
}

/// The names that are valid for this use. `field.*` stands for all paths into a field that cannot be used as a whole, and
/// for all paths through a reference. Conditions can also name references to many items.
pub(super) fn valid_names(collection: QueryRoot<'_>, usage: PathUse) -> Vec<String> {
    let references = collection.references.iter().filter_map(|reference| match reference.cardinality {
        Cardinality::One => Some(format!("{}.*", reference.name)),
        Cardinality::Many => (usage == PathUse::Filter).then(|| reference.name.to_string()),
    });
    valid_names_where(collection, usage, |_| true).into_iter().chain(references).collect()
}

/// Like [`valid_names`], limited to own fields with types that fit.
pub(super) fn valid_names_where(
    collection: QueryRoot<'_>,
    usage: PathUse,
    fits: impl Fn(&FieldType) -> bool,
) -> Vec<String> {
    let fields = collection.fields.iter().filter(|field| fits(&field.field_type)).filter_map(|field| match usage {
        PathUse::Sort if field.field_type.has_paths() => Some(format!("{}.*", field.name)),
        PathUse::Sort if !field.field_type.is_ordered() => None,
        _ => Some(field.name.to_string()),
    });
    let computed =
        collection.computed.iter().filter(|computed| is_usable(computed, usage) && fits(&computed.field_type));
    let version = (collection.versions && usage == PathUse::Select).then(|| "_etag".to_owned());
    fields.chain(computed.map(|computed| format!("_computed.{}", computed.name))).chain(version).collect()
}
