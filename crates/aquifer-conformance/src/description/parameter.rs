//! One parameter or field, as introspection describes it.

use serde_json::Value;

/// A parameter of an operation, a field of a type, or an element of a list.
#[derive(Clone, Debug, Default)]
pub(crate) struct Parameter {
    pub(crate) name: String,
    pub(crate) required: bool,
    /// The alternatives of its type.
    pub(crate) kinds: Vec<ValueKind>,
    /// The type as written in introspection.
    pub(crate) type_text: String,
    pub(crate) description: String,
    /// The descriptions of the types it names.
    pub(crate) type_descriptions: Vec<String>,
    pub(crate) default: Option<Value>,
    pub(crate) allowed: Vec<Value>,
    pub(crate) minimum: Option<f64>,
    pub(crate) maximum: Option<f64>,
    pub(crate) min_length: Option<usize>,
    pub(crate) max_length: Option<usize>,
    pub(crate) pattern: Option<String>,
    pub(crate) format: Option<String>,
    pub(crate) items: Option<Box<Parameter>>,
    /// Whether it is a secret that is never returned.
    pub(crate) sensitive: bool,
}

/// One alternative of a type.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(crate) enum ValueKind {
    /// Text.
    String,
    /// A whole number.
    Integer,
    /// A number.
    Number,
    /// True or false.
    Boolean,
    /// An object without a known shape.
    Object,
    /// A list, with the kind of its elements if known.
    Array(Option<Box<ValueKind>>),
    /// Null.
    Null,
    /// Any JSON value.
    Any,
    /// A type that `query: "types"` describes.
    Named(String),
}

impl Parameter {
    /// Parses leniently. `None` only if there is no name.
    pub(crate) fn parse(raw: &Value) -> Option<Self> {
        let mut parameter = Self::parse_element(raw);
        parameter.name = raw.get("name")?.as_str()?.to_owned();
        Some(parameter)
    }

    fn parse_element(raw: &Value) -> Self {
        let word = |key: &str| raw.get(key).and_then(Value::as_str).map(str::to_owned);
        let length = |key: &str| raw.get(key).and_then(Value::as_u64).and_then(|length| usize::try_from(length).ok());
        let type_text = word("type").unwrap_or_default();
        Self {
            name: String::new(),
            required: raw.get("required").and_then(Value::as_bool).unwrap_or_default(),
            kinds: type_text.split('|').map(|word| ValueKind::parse(word.trim())).collect(),
            type_text,
            description: word("description").unwrap_or_default(),
            type_descriptions: Vec::new(),
            default: raw.get("default").cloned(),
            allowed: raw.get("enum").and_then(Value::as_array).cloned().unwrap_or_default(),
            minimum: raw.get("minimum").and_then(Value::as_f64),
            maximum: raw.get("maximum").and_then(Value::as_f64),
            min_length: length("minLength"),
            max_length: length("maxLength"),
            pattern: word("pattern"),
            format: word("format"),
            items: raw.get("items").filter(|items| items.is_object()).map(|items| Box::new(Self::parse_element(items))),
            sensitive: raw.get("sensitive").and_then(Value::as_bool).unwrap_or_default(),
        }
    }

    /// Whether its description, or that of its type, contains a word.
    pub(crate) fn describes(&self, word: &str) -> bool {
        std::iter::once(&self.description).chain(&self.type_descriptions).any(|text| text.contains(word))
    }

    pub(crate) fn accepts(&self, kind: &ValueKind) -> bool {
        self.kinds.contains(kind)
    }

    pub(crate) fn accepts_list(&self) -> bool {
        self.kinds.iter().any(|kind| matches!(kind, ValueKind::Array(_)))
    }

    /// The named types that it refers to.
    pub(crate) fn named_types(&self) -> Vec<&str> {
        let mut named: Vec<&str> = self.kinds.iter().filter_map(ValueKind::name).collect();
        named.extend(self.items.iter().flat_map(|items| items.named_types()));
        named
    }
}

impl ValueKind {
    pub(crate) fn parse(word: &str) -> Self {
        if let Some(element) = word.strip_suffix("[]") {
            return Self::Array(Some(Box::new(Self::parse(element.trim_matches(['(', ')'])))));
        }
        let lower = word.to_ascii_lowercase();
        if let Some(element) = lower.strip_prefix("array<").and_then(|rest| rest.strip_suffix('>')) {
            let at = "array<".len();
            let element = word.get(at..at + element.len()).unwrap_or(element);
            return Self::Array(Some(Box::new(Self::parse(element))));
        }
        match lower.as_str() {
            "string" | "str" | "text" => Self::String,
            "integer" | "int" => Self::Integer,
            "number" | "float" | "double" => Self::Number,
            "boolean" | "bool" => Self::Boolean,
            "object" | "map" | "record" | "dict" => Self::Object,
            "array" | "list" => Self::Array(None),
            "null" => Self::Null,
            "any" | "json" | "unknown" | "" => Self::Any,
            _ => Self::Named(word.to_owned()),
        }
    }

    fn name(&self) -> Option<&str> {
        match self {
            Self::Named(name) => Some(name),
            Self::Array(Some(element)) => element.name(),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::{Parameter, ValueKind};

    #[test]
    fn types_are_parsed_in_every_notation() {
        let named = |name: &str| ValueKind::Named(name.to_owned());
        let list = |kind: ValueKind| ValueKind::Array(Some(Box::new(kind)));
        for (type_text, kinds) in [
            ("string", vec![ValueKind::String]),
            ("string | string[]", vec![ValueKind::String, list(ValueKind::String)]),
            ("Sort | Sort[] | string", vec![named("Sort"), list(named("Sort")), ValueKind::String]),
            ("integer | null", vec![ValueKind::Integer, ValueKind::Null]),
            ("Array<Widget>", vec![list(named("Widget"))]),
            ("array", vec![ValueKind::Array(None)]),
            ("", vec![ValueKind::Any]),
        ] {
            let parameter = Parameter::parse(&json!({"name": "x", "type": type_text})).unwrap_or_default();
            assert_eq!(parameter.kinds, kinds, "{type_text}");
        }
    }

    #[test]
    fn invalid_members_are_ignored() {
        assert!(Parameter::parse(&json!({"type": "string"})).is_none());
        let parameter = Parameter::parse(&json!({"name": "x", "required": "yes", "enum": 7, "minimum": "low"}));
        assert!(parameter.is_some_and(|own| !own.required && own.allowed.is_empty() && own.minimum.is_none()));
    }
}
