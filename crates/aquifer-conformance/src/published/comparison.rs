//! Compares the restated shapes with the published schemas: members, required members, enums, patterns, minimums, and
//! whether other members are allowed.

use std::collections::BTreeSet;

use serde_json::Value;

use super::envelope;
use super::introspection;
use super::schema::SpecSchemas;
use super::shape::{ObjectShape, Shape};

/// Texts with which a restated pattern must agree with the published one.
const SAMPLES: &[&str] = &[
    "",
    "a",
    "A",
    "1",
    "_",
    "a_b",
    "A_B",
    "a1",
    "A1",
    "1a",
    "a-b",
    "aB",
    "a b",
    "1.0.0",
    "1.0.0-draft",
    "1.0",
    "1.0.0-",
    "1.0.0+x",
    "v1.0.0",
];

/// Deeper shapes are not restated.
const MAX_DEPTH: usize = 32;

pub(super) fn compare(schemas: &SpecSchemas) -> Vec<String> {
    let mut found = Vec::new();
    let mut comparison = Comparison { schemas, name: "introspection-response", found: &mut found };
    for (definition, shape) in [
        ("OperationsListData", &introspection::OPERATIONS_DATA),
        ("OperationDetailData", &introspection::OPERATION_DATA),
        ("TypesListData", &introspection::TYPES_DATA),
        ("TypeDetailData", &introspection::TYPE_DATA),
        ("IntrospectionError", &introspection::ERROR),
    ] {
        comparison.definition(definition, shape);
    }
    comparison.name = "operation-result";
    comparison.variants(None, &[("success", &envelope::SUCCESS), ("failure", &envelope::FAILURE)]);
    comparison.name = "batch-operation";
    for (definition, shape) in [
        ("BatchResultItem", &envelope::BATCH_ITEM),
        ("HaltedOperation", &envelope::HALTED),
        ("PendingOperationItem", &envelope::PENDING),
        ("BatchSummary", &envelope::SUMMARY),
    ] {
        comparison.definition(definition, shape);
    }
    comparison.variants(
        Some("OperationResult"),
        &[("success", &envelope::BATCH_ITEM_SUCCESS), ("failure", &envelope::BATCH_ITEM_FAILURE)],
    );
    comparison.batch();
    found
}

struct Comparison<'a> {
    schemas: &'a SpecSchemas,
    /// The schema file.
    name: &'static str,
    found: &'a mut Vec<String>,
}

impl Comparison<'_> {
    fn report(&mut self, path: &str, problem: impl Into<String>) {
        self.found.push(format!("{} {path}: {}", self.name, problem.into()));
    }

    fn definition(&mut self, definition: &str, shape: &'static ObjectShape) {
        match self.schemas.schema(self.name, Some(definition)).cloned() {
            Some(schema) => self.object(shape, &schema, definition, 0),
            None => self.report(definition, "it is not published"),
        }
    }

    /// Compares the variants of a schema or definition, in the published order.
    fn variants(&mut self, definition: Option<&str>, shapes: &[(&str, &'static ObjectShape)]) {
        let published = self.schemas.schema(self.name, definition).and_then(|schema| schema.get("oneOf"));
        let variants = published.and_then(Value::as_array).cloned().unwrap_or_default();
        if variants.len() != shapes.len() {
            self.report("oneOf", format!("{} variants are published, {} are known", variants.len(), shapes.len()));
        }
        for (variant, (path, shape)) in variants.iter().zip(shapes) {
            self.object(shape, variant, path, 0);
        }
    }

    /// The schema of batches has three variants: the request, the success and the failure as a whole, which is the
    /// failure of introspection.
    fn batch(&mut self) {
        let published = self.schemas.schema(self.name, None).cloned().unwrap_or_default();
        match published.get("oneOf").and_then(Value::as_array).map(Vec::as_slice) {
            Some([_, success, failure]) => {
                self.object(&envelope::BATCH, &success.clone(), "success", 0);
                let error = failure.pointer("/properties/error").cloned().unwrap_or_default();
                let names = member_names(&error);
                if names != BTreeSet::from(["code".to_owned(), "message".to_owned()]) {
                    self.report("failure", format!("its error has other members: {names:?}"));
                }
            }
            _ => self.report("oneOf", "it has not three variants"),
        }
    }

    fn object(&mut self, shape: &'static ObjectShape, schema: &Value, path: &str, depth: usize) {
        let known: BTreeSet<String> = shape.members.iter().map(|member| member.name.to_owned()).collect();
        let published = member_names(schema);
        for name in published.difference(&known) {
            self.report(path, format!("'{name}' is published, but not known"));
        }
        for name in known.difference(&published) {
            self.report(path, format!("'{name}' is known, but not published"));
        }
        let required: BTreeSet<&str> =
            shape.members.iter().filter(|member| member.required).map(|member| member.name).collect();
        let demanded: BTreeSet<&str> =
            schema.get("required").and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_str).collect();
        if required != demanded {
            self.report(path, format!("{demanded:?} are required, not {required:?}"));
        }
        let is_open = schema.get("additionalProperties") != Some(&Value::Bool(false));
        if is_open != shape.open {
            self.report(path, if is_open { "other members are allowed" } else { "other members are not allowed" });
        }
        for member in shape.members {
            if let Some(inner) = schema.pointer(&format!("/properties/{}", member.name)) {
                self.value(&member.shape, inner, &format!("{path}.{}", member.name), depth + 1);
            }
        }
    }

    fn value(&mut self, shape: &'static Shape, schema: &Value, path: &str, depth: usize) {
        if depth > MAX_DEPTH {
            return self.report(path, "it is nested too deeply");
        }
        let resolved = self.schemas.resolve(self.name, schema).clone();
        let word = |keyword: &str| resolved.get(keyword).and_then(Value::as_str).unwrap_or_default().to_owned();
        let kind = word("type");
        let expected = match shape {
            // Described elsewhere, or free.
            Shape::Any => return,
            Shape::Text | Shape::Word | Shape::Pattern(_) | Shape::OneOf(_) => "string",
            Shape::Flag => "boolean",
            Shape::Number(_) => "number",
            Shape::Integer(_) => "integer",
            Shape::Null => "null",
            Shape::AnyList | Shape::List(_) => "array",
            Shape::AnyObject | Shape::Object(_) => "object",
            Shape::Nullable(_) | Shape::Tagged { .. } | Shape::Constant(_) => "",
        };
        if kind != expected {
            return self.report(path, format!("its type is '{kind}', not '{expected}'"));
        }
        let minimum = resolved.get("minimum").and_then(Value::as_u64);
        match shape {
            Shape::OneOf(words) => {
                let known: BTreeSet<&str> = words.iter().copied().collect();
                let allowed = resolved.get("enum").and_then(Value::as_array).into_iter().flatten();
                let published: BTreeSet<&str> = allowed.filter_map(Value::as_str).collect();
                if known != published {
                    self.report(path, format!("{published:?} are published, not {known:?}"));
                }
            }
            Shape::Pattern(pattern) => {
                let text = word("pattern");
                let Some(published) = self.schemas.pattern(&text) else {
                    return self.report(path, "no pattern is published");
                };
                if let Some(sample) =
                    SAMPLES.iter().find(|sample| published.is_match(sample) != (pattern.matches)(sample))
                {
                    self.report(path, format!("the patterns disagree about '{sample}'"));
                }
            }
            Shape::Text | Shape::Word if resolved.get("enum").is_some() || resolved.get("pattern").is_some() => {
                self.report(path, "values are restricted, which is not known");
            }
            Shape::Integer(known) if minimum != Some(*known) => {
                self.report(path, format!("its minimum is {minimum:?}, not {known}"));
            }
            Shape::Number(known) if minimum != *known => {
                self.report(path, format!("its minimum is {minimum:?}, not {known:?}"));
            }
            Shape::List(item) => match resolved.get("items") {
                Some(items) => self.value(item, &items.clone(), &format!("{path}[]"), depth + 1),
                None => self.report(path, "nothing is published about its items"),
            },
            Shape::AnyList if resolved.get("items").is_some() => self.report(path, "its items are restricted"),
            Shape::AnyObject if resolved.get("properties").is_some() => self.report(path, "its members are published"),
            Shape::Object(object) => self.object(object, &resolved, path, depth + 1),
            Shape::Constant(value) if resolved.get("const") != Some(&Value::Bool(*value)) => {
                self.report(path, format!("it is not the constant {value}"));
            }
            Shape::Nullable(inner) => self.nullable(inner, &resolved, path, depth),
            Shape::Tagged { tag, variants } => self.tagged(tag, variants, &resolved, path, depth),
            _ => {}
        }
    }

    fn nullable(&mut self, inner: &'static Shape, schema: &Value, path: &str, depth: usize) {
        let variants = schema.get("oneOf").and_then(Value::as_array).cloned().unwrap_or_default();
        let is_null = |variant: &Value| variant.get("type").and_then(Value::as_str) == Some("null");
        let (nulls, others): (Vec<Value>, Vec<Value>) = variants.into_iter().partition(is_null);
        match (nulls.as_slice(), others.as_slice()) {
            ([_], [other]) => self.value(inner, other, path, depth + 1),
            _ => self.report(path, "it is not a value or null"),
        }
    }

    fn tagged(
        &mut self,
        tag: &str,
        shapes: &'static [(&'static str, &'static ObjectShape)],
        schema: &Value,
        path: &str,
        depth: usize,
    ) {
        let variants = schema.get("oneOf").and_then(Value::as_array).cloned().unwrap_or_default();
        if variants.len() != shapes.len() {
            self.report(path, format!("{} variants are published, {} are known", variants.len(), shapes.len()));
        }
        for mut variant in variants {
            let constant = variant.pointer_mut(&format!("/properties/{tag}")).map(Value::take).unwrap_or_default();
            let name = constant.get("const").and_then(Value::as_str).unwrap_or_default();
            let Some((_, shape)) = shapes.iter().find(|(known, _)| *known == name) else {
                self.report(path, format!("the variant '{name}' is not known"));
                continue;
            };
            // The tag is compared by its constant alone.
            if let Some(place) = variant.pointer_mut(&format!("/properties/{tag}")) {
                *place = serde_json::json!({ "type": "string" });
            }
            self.object(shape, &variant, &format!("{path}({name})"), depth + 1);
        }
    }
}

fn member_names(schema: &Value) -> BTreeSet<String> {
    schema
        .get("properties")
        .and_then(Value::as_object)
        .into_iter()
        .flat_map(|members| members.keys().cloned())
        .collect()
}
