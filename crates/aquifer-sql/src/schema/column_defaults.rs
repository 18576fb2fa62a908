//! The defaults of columns as callers see them: a value or a description. The database applies defaults itself, so they
//! are only documented.

use aquifer_query::FieldType;
use aquifer_query::value::parse_timestamp;
use serde_json::{Value, json};

use crate::rows::time;
use crate::rows::time_digits::TimeDigits;
use crate::schema::sql_tokens::{Token, last_cast, tokens, unwrapped};

#[derive(Debug, Clone, PartialEq)]
pub(crate) enum ColumnDefault {
    /// A fixed value.
    Value(Value),
    /// A value computed for each row.
    Computed(&'static str),
}

/// Functions and keywords for the current time.
const NOW: &[&str] = &[
    "now",
    "current_timestamp",
    "current_date",
    "localtimestamp",
    "statement_timestamp",
    "transaction_timestamp",
    "clock_timestamp",
];

impl ColumnDefault {
    /// Parses the default expression that a database stores.
    pub(crate) fn parse(expression: &str, field_type: &FieldType) -> Option<Self> {
        let tokens = tokens(expression);
        let tokens = without_cast(unwrapped(&tokens));
        let is_null = matches!(tokens, [only] if only.is_word("null"));
        // Numbering a key by a sequence is not worth mentioning.
        if tokens.is_empty() || is_null || tokens.iter().any(|token| token.is_word("nextval")) {
            return None;
        }
        Some(literal(tokens, field_type).map_or_else(|| Self::Computed(describe(tokens, field_type)), Self::Value))
    }
}

/// Removes a cast and the parentheses around its operand: `'new'::text`, `(0)::numeric`.
fn without_cast(tokens: &[Token]) -> &[Token] {
    match last_cast(tokens) {
        Some(index) => unwrapped(tokens.get(..index).unwrap_or_default()),
        None => tokens,
    }
}

fn literal(tokens: &[Token], field_type: &FieldType) -> Option<Value> {
    let text = match tokens {
        [Token::Text(text) | Token::Quoted(text) | Token::Number(text)] => text.clone(),
        [Token::Operator(sign), Token::Number(number)] if sign == "-" => format!("-{number}"),
        [Token::Word(word)] if ["true", "false"].iter().any(|known| word.eq_ignore_ascii_case(known)) => {
            word.to_lowercase()
        }
        [Token::Word(array), Token::Mark('['), Token::Mark(']')] if array.eq_ignore_ascii_case("array") => {
            "{}".to_owned()
        }
        _ => return None,
    };
    match field_type {
        FieldType::Text | FieldType::Enum(_) => Some(text.into()),
        FieldType::Integer => {
            text.parse::<i64>().ok().filter(|number| number.unsigned_abs() < 1 << 53).map(Value::from)
        }
        FieldType::Number => match (text.parse::<i64>(), text.parse::<f64>()) {
            (Ok(whole), _) if whole.unsigned_abs() < 1 << 53 => Some(whole.into()),
            (_, Ok(number)) if number.fract() == 0.0 && number.abs() < 1e15 => {
                Some(format!("{number}").parse::<i64>().ok()?.into())
            }
            (_, Ok(number)) if number.is_finite() => Some(number.into()),
            _ => None,
        },
        FieldType::Boolean => match text.to_ascii_lowercase().as_str() {
            "1" | "true" | "t" => Some(true.into()),
            "0" | "false" | "f" => Some(false.into()),
            _ => None,
        },
        FieldType::Time => {
            let mut shown = Vec::new();
            time::write_timestamp(parse_timestamp(&text)?, &TimeDigits::default(), &mut shown);
            serde_json::from_slice(&shown).ok()
        }
        FieldType::Date => text.parse::<jiff::civil::Date>().ok().map(|date| date.to_string().into()),
        FieldType::Uuid => (text.len() == 36).then(|| text.to_lowercase().into()),
        FieldType::Json => serde_json::from_str(&text).ok(),
        FieldType::List(_) => (text == "{}").then(|| json!([])),
        FieldType::Bytes => None,
    }
}

/// Describes a default that is not a literal.
fn describe(tokens: &[Token], field_type: &FieldType) -> &'static str {
    let mentions = |word: &str| {
        let matches = |token: &Token| match token {
            Token::Text(text) => text.eq_ignore_ascii_case(word),
            token => token.is_word(word),
        };
        tokens.iter().any(matches)
    };
    let is_uuid = || tokens.iter().filter_map(Token::word).any(|word| word.to_lowercase().contains("uuid"));
    match field_type {
        FieldType::Date if NOW.iter().any(|word| mentions(word)) => "the current date",
        _ if NOW.iter().any(|word| mentions(word)) => "the current time",
        _ if is_uuid() => "a new UUID",
        _ => "computed by the database",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn defaults_of_both_databases() {
        let value = |value: Value| Some(ColumnDefault::Value(value));
        let computed = |description| Some(ColumnDefault::Computed(description));
        let list = FieldType::List(None);
        for (expression, field_type, expected) in [
            ("1.5", &FieldType::Number, value(json!(1.5))),
            ("0.00", &FieldType::Number, value(json!(0))),
            ("'0'::numeric", &FieldType::Number, value(json!(0))),
            ("(0)::numeric", &FieldType::Number, value(json!(0))),
            ("-7", &FieldType::Integer, value(json!(-7))),
            ("'-1'::integer", &FieldType::Integer, value(json!(-1))),
            ("(42)", &FieldType::Integer, value(json!(42))),
            ("'7'", &FieldType::Integer, value(json!(7))),
            ("9223372036854775807", &FieldType::Integer, computed("computed by the database")),
            ("'it''s'", &FieldType::Text, value(json!("it's"))),
            ("'new'::character varying", &FieldType::Text, value(json!("new"))),
            ("\"new\"", &FieldType::Text, value(json!("new"))),
            ("5", &FieldType::Text, value(json!("5"))),
            ("''", &FieldType::Text, value(json!(""))),
            ("'now'", &FieldType::Text, value(json!("now"))),
            ("TRUE", &FieldType::Boolean, value(json!(true))),
            ("0", &FieldType::Boolean, value(json!(false))),
            ("'2026-01-31 12:00:00'", &FieldType::Time, value(json!("2026-01-31T12:00:00Z"))),
            ("'2026-01-31'::date", &FieldType::Date, value(json!("2026-01-31"))),
            ("'{\"a\": [1]}'::jsonb", &FieldType::Json, value(json!({ "a": [1] }))),
            ("'{}'::text[]", &list, value(json!([]))),
            ("ARRAY[]::text[]", &list, value(json!([]))),
            ("CURRENT_TIMESTAMP", &FieldType::Time, computed("the current time")),
            ("now()", &FieldType::Time, computed("the current time")),
            ("timezone('utc'::text, now())", &FieldType::Time, computed("the current time")),
            ("datetime('now')", &FieldType::Time, computed("the current time")),
            ("CURRENT_DATE", &FieldType::Date, computed("the current date")),
            ("gen_random_uuid()", &FieldType::Uuid, computed("a new UUID")),
            ("lower(hex(randomblob(16)))", &FieldType::Text, computed("computed by the database")),
            ("(1 + 1)", &FieldType::Integer, computed("computed by the database")),
            ("NULL", &FieldType::Text, None),
            ("NULL::character varying", &FieldType::Text, None),
            ("nextval('t_id_seq'::regclass)", &FieldType::Integer, None),
            ("", &FieldType::Text, None),
        ] {
            assert_eq!(ColumnDefault::parse(expression, field_type), expected, "{expression} {field_type:?}");
        }
    }
}
