//! Validates parameters against their description.

use serde_json::{Map, Value};

use super::{Failure, Flaw, Server};

fn camel(name: &str) -> String {
    let mut words = name.split('_');
    let first = words.next().unwrap().to_owned();
    words.fold(first, |camel, word| camel + &word[..1].to_uppercase() + &word[1..])
}

fn fits(words: &str, value: &Value) -> bool {
    words.split('|').map(str::trim).any(|word| match word {
        "string" => value.is_string(),
        "integer" => value.is_i64() || value.is_u64(),
        "number" => value.is_number(),
        "boolean" => value.is_boolean(),
        "array" | "string[]" => value.is_array(),
        "null" => value.is_null(),
        _ => value.is_object(),
    })
}

impl Server {
    /// The validated parameters, under their canonical names.
    pub(super) fn checked(&self, operation: &Value, params: Map<String, Value>) -> Result<Map<String, Value>, Failure> {
        let name = operation["name"].as_str().unwrap();
        let description = operation["parameters"].as_array().unwrap();
        let own = |key: &str| description.iter().find(|own| own["name"] == key);
        let mut checked = Map::new();
        for (key, value) in params {
            let alias = description.iter().find(|own| camel(own["name"].as_str().unwrap()) == key);
            let hidden = key == "dry_run" && name == "list_authors" && self.has(Flaw::HiddenParameter);
            let refused = key == "highlight" && self.has(Flaw::DocumentedNotAccepted);
            let alias = alias.filter(|_| !refused && !self.has(Flaw::NoAliases));
            match own(&key).filter(|_| !refused).or(alias) {
                Some(own) => drop(checked.insert(own["name"].as_str().unwrap().to_owned(), value)),
                None if hidden || self.has(Flaw::UnknownSilent) => {}
                None => {
                    let valid: Vec<&str> = description.iter().map(|own| own["name"].as_str().unwrap()).collect();
                    let message = format!("Unknown parameter '{key}'. Valid: {}", valid.join(", "));
                    return Err(Failure("VALIDATION_UNKNOWN_PARAM", message, Value::Null));
                }
            }
        }
        for own in description {
            let key = own["name"].as_str().unwrap();
            let Some(value) = checked.get(key) else {
                let ignored = key == "query" && name == "search_books" && self.has(Flaw::RequiredIgnored);
                if own["required"] == true && !ignored {
                    let named = if self.has(Flaw::MissingUnnamed) { "something" } else { key };
                    let message =
                        format!("Missing required parameter '{named}'. Expected: {}", own["type"].as_str().unwrap());
                    return Err(Failure("VALIDATION_MISSING_PARAM", message, Value::Null));
                }
                continue;
            };
            let loose = key == "total" && self.has(Flaw::WrongTypeAccepted);
            if !fits(own["type"].as_str().unwrap(), value) && !loose {
                let expected =
                    if self.has(Flaw::TypeNotTold) { "something else" } else { own["type"].as_str().unwrap() };
                let message = format!("Parameter '{key}' expected '{expected}'");
                return Err(Failure("VALIDATION_INVALID_TYPE", message, Value::Null));
            }
            self.constrained(own, key, value)?;
        }
        if name == "search_books" && self.has(Flaw::ValidRefused) {
            return Err(Failure("VALIDATION_INVALID_VALUE", "Parameter 'query' is not good".into(), Value::Null));
        }
        Ok(checked)
    }

    fn constrained(&self, own: &Value, key: &str, value: &Value) -> Result<(), Failure> {
        let invalid =
            |what: String| Err(Failure("VALIDATION_INVALID_VALUE", format!("Parameter '{key}' {what}"), Value::Null));
        if let Some(allowed) = own["enum"].as_array() {
            let loose = (key == "query" && self.has(Flaw::BadQueryAnswered))
                || (key == "scope" && self.has(Flaw::EnumNotEnforced));
            if !allowed.contains(value) && !loose {
                return invalid(format!("is none of {}", own["enum"]));
            }
        }
        if let (Some(minimum), Some(value)) = (own["minimum"].as_f64(), value.as_f64())
            && value < minimum
            && !self.has(Flaw::MinimumNotEnforced)
        {
            return invalid(format!("is less than {minimum}"));
        }
        if let (Some(longest), Some(text)) = (own["maxLength"].as_u64(), value.as_str())
            && text.chars().count() as u64 > longest
        {
            return invalid(format!("is longer than {longest}"));
        }
        if own["pattern"].is_string()
            && (value == "" || !value.as_str().unwrap().chars().all(|c| c.is_ascii_uppercase()))
            && !self.has(Flaw::PatternNotEnforced)
        {
            return invalid("is not written in capitals".into());
        }
        if own["format"] == "date-time" && !value.as_str().unwrap().ends_with('Z') {
            return invalid("is no date and time".into());
        }
        Ok(())
    }
}
