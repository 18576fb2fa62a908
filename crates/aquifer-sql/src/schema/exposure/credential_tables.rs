//! Tables of login sessions and tokens, which are not served unless the operator names them.
//!
//! Hiding the secret of such a row is not enough: that a person is logged in, since when and from where, is no business
//! of a caller, and deleting or changing a row logs somebody out or keeps them logged in.

use aquifer_query::FieldType;

use super::secret_names::{holds_session, looks_secret, names_credentials};
use crate::schema::model::Table;
use crate::settings::Settings;

/// Words in the names of columns that say how long a session lasts.
const LIFETIME_WORDS: &[&str] = &["expire", "expires", "expiry", "expiration", "activity", "accessed", "ttl"];

/// Whether a table holds login sessions or tokens, judged by its name and its columns: a table of conference sessions
/// has no secret, and one of tokens on a blockchain has none either.
pub(super) fn holds_credentials(table: &Table) -> bool {
    let known_type =
        |is_guessed: bool, field_type: &FieldType| if is_guessed { FieldType::Text } else { field_type.clone() };
    let mut columns = table.columns.iter();
    let secrets = || {
        let columns =
            table.columns.iter().map(|column| (&*column.name, known_type(column.is_guessed, &column.field_type)));
        columns.filter(|(name, field_type)| looks_secret(&table.name, name, field_type)).map(|(name, _)| name)
    };
    let lasts = |name: &str| LIFETIME_WORDS.iter().any(|word| name.to_ascii_lowercase().contains(word));
    if holds_session(&table.name) {
        let is_identifier = |name: &str| !["data", "payload"].contains(&name.to_ascii_lowercase().as_str());
        return secrets().any(is_identifier)
            || (secrets().next().is_some() && columns.any(|column| lasts(&column.name)));
    }
    names_credentials(&table.name) && secrets().next().is_some()
}

/// Whether the operator names the table: in `include` without a wildcard, or with settings of its own.
pub(super) fn is_named(table: &Table, settings: &Settings) -> bool {
    let full_name = table.full_name();
    let name = settings.fold(&table.name);
    settings.entry(table.schema.as_deref(), &table.name).is_some()
        || settings.include.iter().any(|pattern| *pattern == full_name || settings.fold(pattern) == name)
}
