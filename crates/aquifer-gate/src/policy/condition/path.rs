//! Finds the values that a condition refers to, however their names are spelled.
//!
//! Servers differ in how strictly they match names (see [`aquifer_protocol::spelling`]). Some accept a flat name for a
//! nested one (`items[0].amount`), an object with numbered keys for a list, or text for an object. So every key that
//! may match a part of the path is followed, and text is uncertain if it may contain the rest of the path. A value is
//! certain if it is under a declared name, or under exactly the name in the rule; the source may ignore others.

use aquifer_protocol::operation::Operation;
use aquifer_protocol::schema::{Kind, Parameter, Rest, Schema};
use aquifer_protocol::spelling::{fold, fold_segments, folds_to};
use serde_json::{Map, Value};

use super::TypedOperation;

/// Maximum number of type references that are followed.
const MAX_REFERENCES: usize = 64;

/// A path into parameters.
#[derive(Debug, Clone)]
pub(super) struct Path {
    written: String,
    names: Vec<Name>,
}

/// One name of a path.
#[derive(Debug, Clone)]
struct Name {
    written: String,
    folded: String,
}

/// A value found under a path.
#[derive(Debug)]
pub(super) struct FoundValue<'a> {
    pub(super) value: &'a Value,
    /// Its declared schemas.
    pub(super) schemas: Vec<&'a Schema>,
    pub(super) is_certain: bool,
    /// Whether it is text that a source may parse as an object or a list.
    pub(super) is_structured_text: bool,
}

/// Whether an operation has a parameter under a path.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(in super::super) enum Presence {
    /// The operation has no such parameter.
    Absent,
    /// The operation accepts any value there.
    Possible,
    /// The operation declares it.
    Declared,
}

/// A value to follow the rest of the path from.
struct PendingValue<'a, 'p> {
    value: &'a Value,
    schemas: Vec<&'a Schema>,
    rest: &'p [Name],
    is_certain: bool,
}

impl Name {
    fn is_spelled(&self, key: &str) -> bool {
        if self.folded.is_empty() { key == self.written } else { folds_to(key, &self.folded) }
    }

    /// Whether this is the name of the parameter, either ours or its source's.
    fn names(&self, parameter: &Parameter) -> bool {
        self.is_spelled(&parameter.name) || parameter.original_name.as_deref().is_some_and(|name| self.is_spelled(name))
    }
}

impl Path {
    pub(super) fn parse(written: &str) -> Option<Self> {
        let names: Vec<Name> =
            written.split('.').map(|name| Name { written: name.to_owned(), folded: fold(name) }).collect();
        let is_readable = names.iter().all(|name| !name.written.trim().is_empty());
        is_readable.then(|| Self { written: written.to_owned(), names })
    }

    pub(super) fn written(&self) -> &str {
        &self.written
    }

    /// Whether the operation declares the first name of the path.
    pub(super) fn begins_in(&self, operation: &Operation) -> bool {
        let first = self.names.first();
        first.is_some_and(|first| operation.parameters.iter().any(|parameter| first.names(parameter)))
    }

    /// Whether the path is the table name parameter of a generic operation.
    pub(super) fn names_table(&self, operation: &Operation) -> bool {
        operation.routing.generic_name.is_some()
            && matches!(self.names.as_slice(), [only] if only.folded == fold("table_name"))
    }

    /// Every value at the path. Lists are expanded. A parameter that was not sent has its declared default.
    pub(super) fn values<'a>(&self, typed: TypedOperation<'a>, params: &'a Map<String, Value>) -> Vec<FoundValue<'a>> {
        self.walk(typed, params, true)
    }

    /// Every value that was sent under the path. A list counts as one value, even if it is empty.
    pub(super) fn sent<'a>(&self, typed: TypedOperation<'a>, params: &'a Map<String, Value>) -> Vec<FoundValue<'a>> {
        self.walk(typed, params, false)
    }

    fn walk<'a>(
        &self,
        typed: TypedOperation<'a>,
        params: &'a Map<String, Value>,
        for_values: bool,
    ) -> Vec<FoundValue<'a>> {
        let mut values = Vec::new();
        let mut open = Vec::new();
        let declared: Vec<&Parameter> = typed.operation.parameters.iter().collect();
        step(params, &declared, &[], &self.names, true, for_values, &mut open);
        while let Some(PendingValue { value, schemas, rest, is_certain }) = open.pop() {
            match value {
                Value::Array(items) if for_values || !rest.is_empty() => {
                    let schemas = item_schemas(&schemas, typed);
                    open.extend(items.iter().map(|value| PendingValue {
                        value,
                        schemas: schemas.clone(),
                        rest,
                        is_certain,
                    }));
                }
                Value::Object(object) if !rest.is_empty() => {
                    let (declared, others) = field_schemas(&schemas, typed);
                    step(object, &declared, &others, rest, is_certain, for_values, &mut open);
                }
                Value::String(text) if !rest.is_empty() => {
                    if may_hold(text, rest) {
                        values.push(FoundValue { value, schemas, is_certain: false, is_structured_text: true });
                    }
                }
                // The path continues, but the value has no fields.
                _ if !rest.is_empty() => {}
                Value::String(text) => {
                    let is_structured_text = is_structured(text) && !are_texts(&schemas, typed);
                    values.push(FoundValue { value, schemas, is_certain, is_structured_text });
                }
                _ => values.push(FoundValue { value, schemas, is_certain, is_structured_text: false }),
            }
        }
        values
    }

    /// Whether the operation has a parameter under the path, and its declared schemas.
    pub(super) fn declared<'a>(&self, typed: TypedOperation<'a>) -> (Presence, Vec<&'a Schema>) {
        let Some((first, rest)) = self.names.split_first() else { return (Presence::Absent, Vec::new()) };
        let own = typed.operation.parameters.iter().filter(|parameter| first.names(parameter));
        let schemas: Vec<&Schema> = own.map(|parameter| &parameter.schema).collect();
        if schemas.is_empty() {
            let presence = if typed.operation.open { Presence::Possible } else { Presence::Absent };
            return (presence, schemas);
        }
        Self::follow(rest, schemas, typed)
    }

    /// Whether a schema has a field under the path.
    pub(super) fn declared_in(&self, schema: &Schema, typed: TypedOperation<'_>) -> Presence {
        Self::follow(&self.names, vec![schema], typed).0
    }

    /// Follows names into schemas.
    fn follow<'a>(
        names: &[Name],
        mut schemas: Vec<&'a Schema>,
        typed: TypedOperation<'a>,
    ) -> (Presence, Vec<&'a Schema>) {
        for name in names {
            let (mut next, mut presence) = (Vec::new(), Presence::Absent);
            // Lists are expanded; a list type may contain itself.
            for schema in item_variants(&schemas, typed) {
                match &schema.kind {
                    Kind::Object(shape) => {
                        let fields = shape.fields.iter().filter(|field| name.names(field));
                        let before = next.len();
                        next.extend(fields.map(|field| &field.schema));
                        if next.len() == before && !matches!(shape.rest, Rest::Refused) {
                            presence = Presence::Possible;
                        }
                    }
                    Kind::Any | Kind::Array(_) | Kind::Named(_) => presence = Presence::Possible,
                    Kind::Null | Kind::Boolean | Kind::Integer | Kind::Number | Kind::String | Kind::Union(_) => {}
                }
            }
            if next.is_empty() {
                return (presence, next);
            }
            schemas = next;
        }
        (Presence::Declared, item_variants(&schemas, typed))
    }
}

/// Follows every key of an object that may match the first names of a path.
fn step<'a, 'p>(
    object: &'a Map<String, Value>,
    declared: &[&'a Parameter],
    others: &[&'a Schema],
    rest: &'p [Name],
    is_certain: bool,
    with_defaults: bool,
    open: &mut Vec<PendingValue<'a, 'p>>,
) {
    let Some((first, inside)) = rest.split_first() else { return };
    for (key, value) in object {
        let own: Vec<&Parameter> = declared.iter().copied().filter(|parameter| *parameter.name == **key).collect();
        let own_schemas = || own.iter().map(|parameter| &parameter.schema).collect();
        if own.is_empty() {
            for used in names_in(key, rest) {
                let is_certain = is_certain && used == 1 && *key == first.written;
                let rest = rest.get(used..).unwrap_or_default();
                open.push(PendingValue { value, schemas: others.to_vec(), rest, is_certain });
            }
        } else if own.iter().any(|parameter| first.names(parameter)) {
            open.push(PendingValue { value, schemas: own_schemas(), rest: inside, is_certain });
        } else if let Some(used) = exact_names_in(key, rest) {
            // Declared flat: `options.max_amount` is a single name for this source.
            let rest = rest.get(used..).unwrap_or_default();
            open.push(PendingValue { value, schemas: own_schemas(), rest, is_certain: false });
        }
    }
    let missing = declared.iter().filter(|parameter| with_defaults && !object.contains_key(&*parameter.name));
    for parameter in missing.filter(|parameter| first.names(parameter)) {
        if let Some(value) = &parameter.schema.default {
            open.push(PendingValue { value, schemas: vec![&parameter.schema], rest: inside, is_certain });
        }
    }
}

/// How many names of a path a key may match. `options.max_amount` matches two names, and so does
/// `options[0].max_amount`, because a number may be a list index. A key that is only an index matches none and is
/// skipped.
fn names_in(key: &str, names: &[Name]) -> Vec<usize> {
    let mut positions: Vec<usize> = exact_names_in(key, names).into_iter().collect();
    if key.contains(|character: char| character.is_numeric()) {
        positions.extend(names_around_indices(key, names));
        positions.sort_unstable();
        positions.dedup();
    }
    positions
}

/// How many names of a path a key matches if all of its letters and digits belong to them.
fn exact_names_in(key: &str, names: &[Name]) -> Option<usize> {
    let (first, others) = names.split_first()?;
    if first.is_spelled(key) {
        return Some(1);
    }
    if first.folded.is_empty() || others.is_empty() {
        return None;
    }
    let folded = fold(key);
    let mut left = folded.strip_prefix(first.folded.as_str())?;
    for (name, used) in others.iter().zip(2..) {
        left = left.strip_prefix(name.folded.as_str()).filter(|_| !name.folded.is_empty())?;
        if left.is_empty() {
            return Some(used);
        }
    }
    None
}

/// Like [`exact_names_in`], but any group of digits may be an index instead of a part of a name.
fn names_around_indices(key: &str, names: &[Name]) -> Vec<usize> {
    let spelled: String = names.iter().map(|name| name.folded.as_str()).collect();
    // The matched lengths so far, one for each way to read the segments.
    let mut ends: Vec<usize> = vec![0];
    for segment in fold_segments(key) {
        let is_next = |end: &&usize| spelled.get(**end..).is_some_and(|left| left.starts_with(segment.as_str()));
        let mut next: Vec<usize> = ends.iter().filter(is_next).map(|end| end + segment.len()).collect();
        if segment.chars().all(char::is_numeric) {
            next.extend(&ends);
        }
        next.sort_unstable();
        next.dedup();
        ends = next;
    }
    let mut boundary = 0;
    let boundaries = std::iter::once(0).chain(names.iter().map(|name| {
        boundary += name.folded.len();
        boundary
    }));
    let used = boundaries.enumerate().filter(|(_, boundary)| ends.contains(boundary));
    used.map(|(used, _)| used).collect()
}

/// Invisible characters that may precede a value.
const INVISIBLE: [char; 2] = ['\u{feff}', '\u{200b}'];

/// Whether a lenient source may parse the text as an object, a list or another string.
fn is_structured(text: &str) -> bool {
    let text = text.trim_matches(|c: char| c.is_whitespace() || c.is_control() || INVISIBLE.contains(&c));
    let is_quoted = |quote: char| text.len() > 1 && text.starts_with(quote) && text.ends_with(quote);
    text.starts_with(['{', '[']) || is_quoted('"') || is_quoted('\'')
}

/// Whether a source may find the rest of a path inside a text, such as embedded JSON, YAML or a query string. Escapes
/// may hide the name.
fn may_hold(text: &str, rest: &[Name]) -> bool {
    let has_name = || rest.last().is_none_or(|last| fold(text).contains(last.folded.as_str()));
    is_structured(text) || text.contains(['{', '[', '\\', '%', '&']) || has_name()
}

/// Whether these schemas allow only text.
fn are_texts(schemas: &[&Schema], typed: TypedOperation<'_>) -> bool {
    let variants = variants(schemas, typed);
    let may_be_read =
        |schema: &&Schema| matches!(schema.kind, Kind::Any | Kind::Array(_) | Kind::Object(_) | Kind::Named(_));
    !variants.is_empty() && !variants.iter().any(may_be_read)
}

/// Resolves named types and unions.
pub(super) fn variants<'a>(schemas: &[&'a Schema], typed: TypedOperation<'a>) -> Vec<&'a Schema> {
    let mut open: Vec<&Schema> = schemas.to_vec();
    let mut resolved = Vec::new();
    for _ in 0..MAX_REFERENCES {
        let Some(schema) = open.pop() else { break };
        match &schema.kind {
            Kind::Named(name) => match typed.types.and_then(|types| types.get(name)) {
                Some(named) => open.push(named),
                None => resolved.push(schema),
            },
            Kind::Union(members) => open.extend(members),
            _ => resolved.push(schema),
        }
    }
    resolved
}

/// The element schemas of lists.
fn item_schemas<'a>(schemas: &[&'a Schema], typed: TypedOperation<'a>) -> Vec<&'a Schema> {
    let items = variants(schemas, typed).into_iter().filter_map(|schema| match &schema.kind {
        Kind::Array(items) => items.as_deref(),
        _ => None,
    });
    items.collect()
}

/// The schemas, with lists replaced by their elements.
fn item_variants<'a>(schemas: &[&'a Schema], typed: TypedOperation<'a>) -> Vec<&'a Schema> {
    let mut resolved = Vec::new();
    let mut open = variants(schemas, typed);
    for _ in 0..MAX_REFERENCES {
        let Some(schema) = open.pop() else { break };
        match &schema.kind {
            Kind::Array(Some(items)) => open.extend(variants(&[items], typed)),
            _ => resolved.push(schema),
        }
    }
    resolved
}

/// The declared fields of objects, and the schemas of additional fields.
fn field_schemas<'a>(schemas: &[&'a Schema], typed: TypedOperation<'a>) -> (Vec<&'a Parameter>, Vec<&'a Schema>) {
    let (mut declared, mut others) = (Vec::new(), Vec::new());
    for schema in variants(schemas, typed) {
        if let Kind::Object(shape) = &schema.kind {
            declared.extend(&shape.fields);
            if let Rest::Of(rest) = &shape.rest {
                others.push(&**rest);
            }
        }
    }
    (declared, others)
}
