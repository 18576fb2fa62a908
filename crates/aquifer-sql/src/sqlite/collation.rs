//! How SQLite compares the text of a column.

use aquifer_protocol::schema::Comparison;
use aquifer_query::FieldType;
use rusqlite::{Connection, Result};

/// How values of a column with this declared type and collation are compared.
pub(super) fn comparison(field_type: &FieldType, declared: &str, collation: Option<&str>) -> Comparison {
    if !matches!(field_type, FieldType::Text | FieldType::Enum(_)) {
        return Comparison::Exact;
    }
    // Text in a numeric column is compared as a number if it looks like one: '1', '01' and '1.0' are equal.
    if has_number_affinity(declared) {
        return Comparison::Unknown;
    }
    collation_comparison(collation)
}

pub(super) fn collation_comparison(name: Option<&str>) -> Comparison {
    let is = |known: &str| name.is_none_or(|name| name.eq_ignore_ascii_case(known));
    if is("BINARY") {
        Comparison::Exact
    } else if is("NOCASE") {
        Comparison::IgnoreCase
    } else if is("RTRIM") {
        Comparison::IgnoreTrailingBlanks
    } else {
        Comparison::Unknown
    }
}

/// The looser of two comparisons.
pub(super) fn looser(one: Comparison, other: Comparison) -> Comparison {
    match (one, other) {
        _ if one == other => one,
        (Comparison::Exact, looser) | (looser, Comparison::Exact) => looser,
        _ => Comparison::Unknown,
    }
}

/// The declared collation of a table's column.
pub(super) fn declared_collation(connection: &Connection, table: &str, column: &str) -> Result<Option<String>> {
    let (_, collation, ..) = connection.column_metadata(Some("main"), table, column)?;
    Ok(collation.map(|name| name.to_string_lossy().into_owned()))
}

/// SQLite's rules of affinity for declared types.
fn has_number_affinity(declared: &str) -> bool {
    let declared = declared.to_ascii_uppercase();
    let says = |word: &str| declared.contains(word);
    if says("INT") {
        return true;
    }
    !(says("CHAR") || says("CLOB") || says("TEXT") || says("BLOB") || declared.trim().is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn r_saf_2_text_is_compared_by_the_column_affinity_and_collation() {
        use Comparison::{Exact, IgnoreCase, IgnoreTrailingBlanks, Unknown};
        for (field_type, declared, collation, expected) in [
            (FieldType::Text, "TEXT", Some("BINARY"), Exact),
            (FieldType::Text, "", None, Exact),
            (FieldType::Text, "VARCHAR(20)", Some("nocase"), IgnoreCase),
            (FieldType::Text, "TEXT", Some("RTRIM"), IgnoreTrailingBlanks),
            (FieldType::Text, "TEXT", Some("german"), Unknown),
            (FieldType::Text, "STRING", Some("BINARY"), Unknown),
            (FieldType::Text, "UUID", Some("BINARY"), Unknown),
            (FieldType::Text, "POINT", Some("BINARY"), Unknown),
            (FieldType::Integer, "INTEGER", Some("NOCASE"), Exact),
        ] {
            assert_eq!(comparison(&field_type, declared, collation), expected, "{declared} {collation:?}");
        }
        assert_eq!(looser(Exact, IgnoreCase), IgnoreCase);
        assert_eq!(looser(IgnoreCase, IgnoreTrailingBlanks), Unknown);
    }
}
