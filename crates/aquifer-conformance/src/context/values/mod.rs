//! Values that match the description of a parameter, and values that violate it.

mod invalid;
mod pattern;
mod valid;

pub(crate) use invalid::{constraint_violations, wrong_type};
pub(crate) use valid::ValueGenerator;

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use serde_json::{Value, json};

    use super::{ValueGenerator, constraint_violations, wrong_type};
    use crate::description::{Parameter, Type};

    fn parameter(raw: Value) -> Parameter {
        let mut named = raw.as_object().cloned().unwrap_or_default();
        named.insert("name".into(), json!("x"));
        Parameter::parse(&Value::Object(named)).unwrap_or_default()
    }

    fn types() -> BTreeMap<String, Type> {
        let fields =
            [json!({"name": "field", "type": "string", "required": true}), json!({"name": "n", "type": "number"})];
        let sort = json!({"kind": "object", "fields": fields});
        BTreeMap::from([("Sort".to_owned(), Type::parse(&sort))])
    }

    #[test]
    fn generated_values_match_the_description() {
        let types = types();
        let values = ValueGenerator { types: &types, salt: "s", variant: 0 };
        for (raw, expected) in [
            (json!({"type": "string"}), json!("conformance s")),
            (json!({"type": "string", "maxLength": 1}), json!("s")),
            (json!({"type": "string", "enum": ["a", "b"]}), json!("a")),
            (json!({"type": "string", "format": "date"}), json!("2024-05-06")),
            (json!({"type": "string", "pattern": "^[A-Z]{2}-[0-9]+$"}), json!("AB-123")),
            (json!({"type": "integer", "minimum": 5}), json!(5)),
            (json!({"type": "number", "maximum": 0.5}), json!(0.5)),
            (json!({"type": "integer", "minimum": 1.5}), json!(2)),
            (json!({"type": "string", "pattern": "^\\+[1-9]{7}$"}), json!("+1111111")),
            (json!({"type": "integer | null"}), json!(1)),
            (json!({"type": "array", "items": {"type": "string", "enum": ["root"]}}), json!(["root"])),
            (json!({"type": "Sort | Sort[]"}), json!({"field": "conformance s"})),
        ] {
            assert_eq!(values.generate(&parameter(raw.clone())), Some(expected), "{raw}");
        }
        assert_eq!(values.generate(&parameter(json!({"type": "Unheard"}))), None);
        assert_eq!(values.generate(&parameter(json!({"type": "string", "pattern": "^(?=x).$"}))), None);
    }

    #[test]
    fn variants_are_different_valid_values() {
        let types = types();
        let value = |raw: &Value, variant| {
            ValueGenerator { types: &types, salt: "00000a", variant }.generate(&parameter(raw.clone()))
        };
        for (raw, expected) in [
            (json!({"type": "string", "enum": ["a", "b"]}), json!("b")),
            (json!({"type": "boolean"}), json!(true)),
            (json!({"type": "integer"}), json!(1012)),
            (json!({"type": "integer", "maximum": 100}), json!(100)),
            (json!({"type": "integer", "minimum": 10, "maximum": 20}), json!(10)),
            (json!({"type": "string", "pattern": "^\\+[1-9]{7}$"}), json!("+3211111")),
            (json!({"type": "string", "format": "date"}), json!("2024-05-07")),
            (json!({"type": "string", "format": "uuid"}), json!("7d444840-9dc0-41d1-b245-5ffdce00000a")),
            (json!({"type": "string", "pattern": "^[A-Z]+$"}), json!("ABC")),
        ] {
            assert_eq!(value(&raw, 1), Some(expected), "{raw}");
        }
    }

    #[test]
    fn a_wrong_type_matches_no_alternative() {
        let types = types();
        for (words, expected) in [
            ("integer", Some(json!("not a number"))),
            ("string", Some(json!({"unexpected": true}))),
            ("string | string[]", Some(json!({"unexpected": true}))),
            ("Sort | string", Some(json!(7))),
            ("any", None),
            ("Unheard", None),
        ] {
            assert_eq!(wrong_type(&parameter(json!({"type": words})), &types), expected, "{words}");
        }
    }

    #[test]
    fn each_violation_violates_one_constraint() {
        let broken = |raw: Value| -> Vec<(&'static str, Value)> { constraint_violations(&parameter(raw)) };
        assert_eq!(
            broken(json!({"type": "integer", "minimum": 1, "maximum": 9})),
            [("minimum", json!(0)), ("maximum", json!(10))]
        );
        assert_eq!(broken(json!({"type": "string", "enum": ["a"]})), [("enum", json!("none_of_these"))]);
        assert_eq!(
            broken(json!({"type": "string", "minLength": 2, "maxLength": 3})),
            [("minLength", json!("x")), ("maxLength", json!("xxxx"))]
        );
        assert_eq!(broken(json!({"type": "string", "pattern": "^[a-z]+$"})), [("pattern", json!("% %"))]);
        assert_eq!(broken(json!({"type": "string"})), []);
    }
}
