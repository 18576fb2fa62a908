//! The form of a question: the fields of a type, as MCP forms have them.

use aquifer_protocol::error::{Code, Failure};
use schemars::JsonSchema;
use schemars::generate::SchemaSettings;
use serde_json::{Map, Value, json};

type Object = Map<String, Value>;

/// The fields of `T` as a flat object without references and nulls. Fails if a field is not of a simple type: a client
/// would refuse the form, and nobody would see the question.
pub(super) fn form_schema<T: JsonSchema>() -> Result<Object, Failure> {
    let settings = SchemaSettings::draft2020_12().with(|settings| {
        settings.inline_subschemas = true;
        settings.meta_schema = None;
    });
    let schema = settings.into_generator().into_root_schema_for::<T>().to_value();
    let is_struct = schema.get("type").and_then(Value::as_str) == Some("object")
        && !["oneOf", "anyOf"].iter().any(|name| schema.get(name).is_some())
        && !schema.get("additionalProperties").is_some_and(Value::is_object);
    if !is_struct {
        return Err(no_form("The type of a question is not a struct with named fields".to_owned()));
    }
    let mut fields = Object::new();
    for (name, property) in schema.get("properties").and_then(Value::as_object).into_iter().flatten() {
        let field = simple_field(property);
        let field = field.ok_or_else(|| no_form(format!("Field '{name}' of a question is not of a simple type")))?;
        fields.insert(name.clone(), Value::Object(field));
    }
    let mut form = Object::from_iter([("type".to_owned(), json!("object")), ("properties".to_owned(), fields.into())]);
    form.extend(schema.get("required").map(|required| ("required".to_owned(), required.clone())));
    Ok(form)
}

fn no_form(problem: String) -> Failure {
    Failure::new(Code::InternalError, format!("{problem}, so it cannot be asked"))
}

/// One field of the form. `None` if its type is not simple.
fn simple_field(property: &Value) -> Option<Object> {
    let property = property.as_object()?;
    let mut field = match alternatives(property) {
        None => property.clone(),
        Some(alternatives) => {
            let mut simple = match <[&Object; 1]>::try_from(alternatives.clone()) {
                Ok([only]) => simple_field(&Value::Object(only.clone()))?,
                Err(_) => choice(&alternatives)?,
            };
            // What is said about the field goes before what is said about its type.
            simple.extend(property.iter().filter(|(name, _)| is_annotation(name)).map(|(n, v)| (n.clone(), v.clone())));
            simple
        }
    };
    if let Some(Value::Array(types)) = field.get("type") {
        let mut types = types.iter().filter(|name| name.as_str() != Some("null"));
        let (only, None) = (types.next()?.clone(), types.next()) else { return None };
        field.insert("type".to_owned(), only);
    }
    if let Some(Value::Array(values)) = field.get_mut("enum") {
        values.retain(|value| !value.is_null());
    }
    if let Some(value) = field.remove("const") {
        field.insert("enum".to_owned(), json!([value]));
    }
    // Widths such as `uint8` are no formats of MCP, and "not given" is no default.
    field.retain(|name, value| match name.as_str() {
        "format" => matches!(value.as_str(), Some("email" | "uri" | "date" | "date-time")),
        "default" => !value.is_null(),
        _ => true,
    });
    let is_text_choice = |of: &Object| {
        of.get("enum").is_none_or(|values| values.as_array().is_some_and(|all| all.iter().all(Value::is_string)))
    };
    match field.get("type")?.as_str()? {
        "string" => is_text_choice(&field).then_some(field),
        "integer" | "number" | "boolean" => (!field.contains_key("enum")).then_some(field),
        "array" => {
            let items = simple_field(field.get("items")?)?;
            let values = items.get("enum").filter(|_| is_text_choice(&items))?.clone();
            field.insert("items".to_owned(), json!({ "type": "string", "enum": values }));
            field.retain(|name, _| {
                is_annotation(name) || matches!(name.as_str(), "type" | "items" | "minItems" | "maxItems")
            });
            Some(field)
        }
        _ => None,
    }
}

fn is_annotation(name: &str) -> bool {
    matches!(name, "title" | "description" | "default")
}

/// The alternatives of a type, except null.
fn alternatives(property: &Object) -> Option<Vec<&Object>> {
    let listed = property.get("oneOf").or_else(|| property.get("anyOf"))?.as_array()?;
    let objects = listed.iter().filter_map(Value::as_object);
    Some(objects.filter(|one| one.get("type").and_then(Value::as_str) != Some("null")).collect())
}

/// A choice between the variants of an enum. Variants with a doc comment are alternatives of their own; the comment is part
/// of the name that the person sees. `enumNames` is known in all revisions of MCP.
fn choice(variants: &[&Object]) -> Option<Object> {
    let (mut values, mut names) = (Vec::new(), Vec::new());
    for variant in variants {
        let description = variant.get("description").and_then(Value::as_str);
        let own = match (variant.get("const"), variant.get("enum")) {
            (Some(value), _) => vec![value],
            (None, Some(several)) => several.as_array()?.iter().collect(),
            (None, None) => return None,
        };
        for value in own {
            let value = value.as_str()?;
            let words = description.map(|text| text.split_whitespace().collect::<Vec<_>>().join(" "));
            names.push(words.map_or_else(|| value.to_owned(), |words| format!("{value}: {words}")));
            values.push(value);
        }
    }
    let choice = json!({ "type": "string", "enum": values, "enumNames": names });
    choice.as_object().cloned()
}
