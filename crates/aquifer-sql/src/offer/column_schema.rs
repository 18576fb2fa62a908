//! Schemas of column values, as introspection shows them and requests are validated.

use aquifer_protocol::schema::{Comparison, Format, Kind, Pattern, Range, Schema, Span};
use aquifer_query::FieldType;
use serde_json::Value;

use crate::schema::column_defaults::ColumnDefault;
use crate::schema::column_rules::ColumnRules;
use crate::schema::model::{Column, PostgresRead, Store};

/// The schema of values that may be stored. Rows may be older than their constraints, so keys use [`schema`] instead.
pub(super) fn constrained(column: &Column) -> Schema {
    let (rules, mut schema) = (&column.rules, schema(&column.field_type, column));
    match column.field_type {
        FieldType::Text => {
            schema.length.min = rules.min_length;
            schema.length.max = schema.length.max.into_iter().chain(rules.max_length).min();
        }
        FieldType::Integer => {
            let at_least = [rules.minimum.map(f64::ceil), rules.above.map(|bound| bound.floor() + 1.0)];
            let at_most = [rules.maximum.map(f64::floor), rules.below.map(|bound| bound.ceil() - 1.0)];
            schema.range.minimum = at_least.into_iter().flatten().chain(schema.range.minimum).reduce(f64::max);
            schema.range.maximum = at_most.into_iter().flatten().chain(schema.range.maximum).reduce(f64::min);
            if !rules.numbers.is_empty() {
                schema.allowed = Some(rules.numbers.iter().map(|number| Value::from(*number)).collect());
            }
        }
        // Exact numbers may also be sent as text; these bounds apply to those sent as numbers.
        FieldType::Number => {
            let ColumnRules { minimum, maximum, above, below, .. } = *rules;
            schema.range = Range { minimum, maximum, above, below, ..schema.range };
        }
        _ => {}
    }
    schema
}

/// Adds the default of the column to a schema.
pub(super) fn with_default(mut schema: Schema, column: &Column) -> Schema {
    match &column.default {
        Some(ColumnDefault::Value(value)) => {
            schema.default = Some(value.clone());
            schema.is_source_default = true;
        }
        Some(ColumnDefault::Computed(words)) => {
            let before = schema.description.as_deref().map(|text| format!("{text} ")).unwrap_or_default();
            schema = schema.describe(&format!("{before}Default: {words}."));
        }
        None => {}
    }
    schema
}

/// The schema of a column's values, by type only.
pub(super) fn schema(field_type: &FieldType, column: &Column) -> Schema {
    let formatted = |format| Schema { format: Some(format), ..Schema::string() };
    match field_type {
        FieldType::Text => {
            let length = Span { min: None, max: column.length };
            Schema { length, comparison: column.comparison, ..Schema::string() }
        }
        FieldType::Enum(words) => {
            Schema { comparison: column.comparison, ..Schema::one_of(words.iter().map(|word| &**word)) }
        }
        FieldType::Integer => {
            let (minimum, maximum) = column.range.unzip();
            Schema { range: Range { minimum, maximum, ..Range::default() }, ..Schema::new(Kind::Integer) }
        }
        FieldType::Number => {
            let exact = matches!(&column.store, Store::Postgres(store) if store.read == PostgresRead::Decimal);
            if exact {
                let digits = Schema { pattern: Some(Pattern::new(r"^-?\d+(\.\d+)?$")), ..Schema::string() };
                let (above, below) = column.range.unzip();
                let number = Schema { range: Range { above, below, ..Range::default() }, ..Schema::new(Kind::Number) };
                Schema::new(Kind::Union(vec![number, digits]))
            } else {
                Schema::new(Kind::Number)
            }
        }
        FieldType::Boolean => Schema::new(Kind::Boolean),
        FieldType::Time => formatted(Format::DateTime),
        FieldType::Date => formatted(Format::Date),
        FieldType::Uuid => Schema { comparison: column.comparison, ..formatted(Format::Uuid) },
        FieldType::Bytes => {
            // The last character before the padding carries unused bits, which have to be zero.
            let base64 = r"^([A-Za-z0-9+/]{4})*([A-Za-z0-9+/][AQgw]==|[A-Za-z0-9+/]{2}[AEIMQUYcgkosw048]=)?$";
            Schema { pattern: Some(Pattern::new(base64)), ..Schema::string() }
        }
        FieldType::List(element) => {
            let element = element.as_deref().map(|element| {
                let element = schema(element, &bare(column));
                Box::new(Schema { nullable: true, ..element })
            });
            // Policy rules need the comparison even if nothing else is known of the elements.
            let element = element.or_else(|| {
                let comparison = column.comparison;
                let unknown = Schema { nullable: true, comparison, ..Schema::new(Kind::Any) };
                (comparison != Comparison::Exact).then(|| Box::new(unknown))
            });
            Schema::new(Kind::Array(element))
        }
        FieldType::Json => Schema::new(Kind::Any),
    }
}

/// The column without the constraints that apply only to whole values.
fn bare(column: &Column) -> Column {
    Column {
        name: column.name.clone(),
        sql_name: column.sql_name.clone(),
        quoted: column.quoted.clone(),
        field_type: column.field_type.clone(),
        is_guessed: column.is_guessed,
        store: column.store.clone(),
        nullable: true,
        has_default: false,
        generated: false,
        comment: None,
        length: None,
        range: None,
        rules: ColumnRules::default(),
        default: None,
        may_insert: true,
        may_update: true,
        comparison: column.comparison,
        may_have_index: false,
        digits: column.digits.clone(),
    }
}
