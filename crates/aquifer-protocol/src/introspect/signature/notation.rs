//! A compact notation for types: `int`, `string[][]`, `open|closed`, `{name: string, tags?: string[]}`.

use std::fmt::Write as _;

use serde_json::Value;

use crate::schema::{Format, Kind, Parameter, Rest, Schema, Shape, Types};
use crate::text::clean;

/// Limits on how much of a type is written.
#[derive(Debug, Clone, Copy)]
pub(super) struct Detail {
    /// Maximum number of optional parameters and fields. The rest is only counted.
    pub(super) max_optional: usize,
    /// Maximum number of values of an enum.
    pub(super) max_values: usize,
    /// Approximate maximum length of a line in bytes. No further element is started beyond it.
    pub(super) max_bytes: usize,
    /// Maximum number of type elements at any depth. Limits the work as `max_bytes` limits the text.
    pub(super) max_parts: usize,
}

impl Detail {
    /// For lists.
    pub(super) const BRIEF: Self = Self { max_optional: 8, max_values: 8, max_bytes: 1_200, max_parts: 200 };
    /// For an operation requested by name.
    pub(super) const COMPLETE: Self =
        Self { max_optional: usize::MAX, max_values: 200, max_bytes: 12_000, max_parts: 2_000 };
}

/// Maximum depth at which objects are written out. Deeper ones are written as `object`.
const MAX_OBJECT_DEPTH: usize = 2;

/// Maximum depth at which arrays and alternatives are written out. Recursive types end here.
const MAX_NESTING: usize = 6;

/// Maximum number of alternatives of a union.
const MAX_MEMBERS: usize = 6;

/// Maximum number of characters of an untrusted name or value.
const MAX_WORD_CHARS: usize = 60;

/// Words that denote types. Values that equal them are quoted.
const TYPE_WORDS: [&str; 11] =
    ["any", "null", "bool", "int", "number", "string", "object", "date", "datetime", "uuid", "time"];

/// Writes the parameters and types of one line.
pub(super) struct TypeWriter<'a> {
    types: &'a Types,
    detail: Detail,
    /// Whether the source distinguishes `null` from an omitted value, so that optional fields show whether `null` is
    /// accepted.
    shows_optional_null: bool,
    parts: usize,
    pub(super) out: String,
}

impl<'a> TypeWriter<'a> {
    pub(super) fn new(types: &'a Types, detail: Detail, shows_optional_null: bool) -> Self {
        Self { types, detail, shows_optional_null, parts: 0, out: String::new() }
    }

    fn is_full(&self) -> bool {
        self.out.len() >= self.detail.max_bytes || self.parts >= self.detail.max_parts
    }

    /// Writes a list of parameters or fields: required ones first, then how many are left out.
    pub(super) fn members<'p>(&mut self, members: impl Iterator<Item = &'p Parameter> + Clone, depth: usize) {
        let shown = members.filter(|member| !member.schema.read_only);
        let is_retired = |member: &&Parameter| member.deprecated.is_some();
        let required = shown.clone().filter(|member| member.required);
        let optional = shown.clone().filter(|member| !member.required && !is_retired(member));
        let retired = shown.filter(|member| !member.required && is_retired(member));
        let (mut written, mut left_out, mut left_out_required) = (0_usize, 0_usize, 0_usize);
        let mut optional_count = 0;
        for member in required.chain(optional).chain(retired) {
            let is_folded = !member.required && optional_count >= self.detail.max_optional;
            if is_folded || self.is_full() {
                left_out += 1;
                left_out_required += usize::from(member.required);
                continue;
            }
            optional_count += usize::from(!member.required);
            self.separate(&mut written);
            self.member(member, depth);
        }
        if left_out > 0 {
            self.separate(&mut written);
            // Writing to a string cannot fail.
            let _ = match left_out_required {
                0 => write!(self.out, "… {left_out} more optional"),
                required => write!(self.out, "… {left_out} more, {required} required"),
            };
        }
    }

    fn separate(&mut self, written: &mut usize) {
        if *written > 0 {
            self.out.push_str(", ");
        }
        *written += 1;
    }

    fn member(&mut self, member: &Parameter, depth: usize) {
        self.word(&member.name);
        self.out.push_str(if member.required { ": " } else { "?: " });
        let nullable = member.required || self.shows_optional_null;
        self.schema(&member.schema, TypePosition { depth, nesting: 0, nullable });
    }

    fn schema(&mut self, schema: &Schema, position: TypePosition) {
        self.parts += 1;
        let resolved = schema.resolve(self.types);
        let start = self.out.len();
        if position.nesting > MAX_NESTING || self.parts > self.detail.max_parts {
            self.out.push_str("any");
        } else if let Some(allowed) = resolved.allowed.as_deref().or(schema.allowed.as_deref()) {
            self.values(allowed);
        } else {
            self.kind(resolved, position);
        }
        let is_nullable = schema.nullable || resolved.nullable;
        if is_nullable && position.nullable && !self.out.get(start..).is_some_and(|text| text.ends_with("null")) {
            self.out.push_str("|null");
        }
    }

    fn kind(&mut self, schema: &Schema, position: TypePosition) {
        let word = match &schema.kind {
            Kind::Null => "null",
            Kind::Boolean => "bool",
            Kind::Integer => "int",
            Kind::Number => "number",
            Kind::String => string_word(schema),
            Kind::Any | Kind::Named(_) => "any",
            Kind::Array(items) => return self.array(items.as_deref(), position),
            Kind::Object(shape) => return self.object(shape, position),
            Kind::Union(members) => return self.union(members, position),
        };
        self.out.push_str(word);
    }

    fn array(&mut self, items: Option<&Schema>, position: TypePosition) {
        let start = self.out.len();
        match items {
            Some(items) => self.schema(items, position.inside()),
            None => self.out.push_str("any"),
        }
        if has_alternatives(self.out.get(start..).unwrap_or_default()) {
            self.out.insert(start, '(');
            self.out.push(')');
        }
        self.out.push_str("[]");
    }

    fn object(&mut self, shape: &Shape, position: TypePosition) {
        if position.depth >= MAX_OBJECT_DEPTH {
            return self.out.push_str("object");
        }
        match (shape.fields.is_empty(), &shape.rest) {
            (true, Rest::Of(values)) => {
                self.out.push_str("{[key]: ");
                self.schema(values, TypePosition { depth: position.depth + 1, ..position.inside() });
                self.out.push('}');
            }
            (true, _) | (_, Rest::Documented) => self.out.push_str("object"),
            (false, _) => {
                self.out.push('{');
                self.members(shape.fields.iter(), position.depth + 1);
                self.out.push('}');
            }
        }
    }

    fn union(&mut self, members: &[Schema], position: TypePosition) {
        let mut written: Vec<String> = Vec::new();
        for member in members.iter().take(MAX_MEMBERS) {
            let start = self.out.len();
            self.schema(member, position.inside());
            let text = self.out.split_off(start);
            if !written.contains(&text) {
                written.push(text);
            }
        }
        if members.len() > MAX_MEMBERS {
            written.push("…".to_owned());
        }
        self.out.push_str(&written.join("|"));
    }

    fn values(&mut self, values: &[Value]) {
        for (index, value) in values.iter().enumerate() {
            if index > 0 {
                self.out.push('|');
            }
            if index >= self.detail.max_values || self.is_full() {
                return self.out.push('…');
            }
            match value {
                Value::String(text) => self.value(text),
                other => self.out.push_str(&shortened(&other.to_string())),
            }
        }
    }

    /// A value of an enum, unquoted if it cannot be mistaken for anything else.
    fn value(&mut self, text: &str) {
        let is_plain = !TYPE_WORDS.contains(&text) && !matches!(text, "true" | "false");
        self.out.push_str(&if is_plain { plain_or_quoted(text) } else { quoted(text) });
    }

    /// A name inside an object.
    fn word(&mut self, name: &str) {
        self.out.push_str(&plain_or_quoted(name));
    }
}

/// An untrusted name or value: unchanged if it is a plain word, otherwise quoted as JSON text, which cannot end a line.
pub fn plain_or_quoted(text: &str) -> String {
    if is_plain_word(text) { text.to_owned() } else { quoted(text) }
}

/// The values of an enum, as in a signature: `open|closed|…`.
pub fn plain_values<'a>(values: impl Iterator<Item = &'a str>) -> String {
    let mut writer = TypeWriter::new(EMPTY_TYPES, Detail::BRIEF, false);
    let values: Vec<Value> = values.take(Detail::BRIEF.max_values + 1).map(Value::from).collect();
    writer.values(&values);
    writer.out
}

const EMPTY_TYPES: &Types = &Types::new();

fn quoted(text: &str) -> String {
    Value::from(shortened(&clean(text))).to_string()
}

/// The position of a type in a signature.
#[derive(Clone, Copy)]
struct TypePosition {
    /// The number of enclosing objects.
    depth: usize,
    /// The number of enclosing arrays and unions.
    nesting: usize,
    /// Whether `null` is mentioned.
    nullable: bool,
}

impl TypePosition {
    fn inside(self) -> Self {
        Self { nesting: self.nesting + 1, nullable: true, ..self }
    }
}

fn string_word(schema: &Schema) -> &'static str {
    match schema.format {
        Some(Format::Date) => "date",
        Some(Format::DateTime) => "datetime",
        Some(Format::Uuid) => "uuid",
        _ => "string",
    }
}

/// Whether a written type has alternatives at its top level, so that a following `[]` would apply only to the last of
/// them.
fn has_alternatives(text: &str) -> bool {
    let mut depth = 0_usize;
    let mut is_quoted = false;
    let mut characters = text.chars();
    while let Some(character) = characters.next() {
        match character {
            '\\' if is_quoted => drop(characters.next()),
            '"' => is_quoted = !is_quoted,
            _ if is_quoted => {}
            '{' | '(' => depth += 1,
            '}' | ')' => depth = depth.saturating_sub(1),
            '|' if depth == 0 => return true,
            _ => {}
        }
    }
    false
}

fn is_plain_word(text: &str) -> bool {
    text.len() <= MAX_WORD_CHARS
        && text.starts_with(|c: char| c.is_ascii_alphabetic() || matches!(c, '_' | '@' | '$'))
        && text.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.' | '/' | '@' | '$' | ':' | '+'))
        && !text.ends_with(':')
}

fn shortened(text: &str) -> String {
    match text.char_indices().nth(MAX_WORD_CHARS) {
        Some((end, _)) => format!("{}…", text.get(..end).unwrap_or_default()),
        None => text.to_owned(),
    }
}
