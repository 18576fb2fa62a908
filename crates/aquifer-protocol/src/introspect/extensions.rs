//! The extensions of the specification that this server declares in `_protocol.extensions` (R-INT-1a, R-EXT-1 to R-EXT-5).

use super::Facts;
use crate::catalog::Catalog;

/// Tests whether a server has an extension.
type IsOffered = fn(&Catalog, &Facts) -> bool;

/// All extensions. The names are stable, because clients look for them.
const EXTENSIONS: &[(&str, IsOffered)] = &[
    ("introspection", |_, _| true),
    ("signatures", |_, _| true),
    ("schema", |catalog, _| catalog.has_tables()),
    ("reference_paths", |catalog, _| catalog.has_tables()),
    ("embedded_rows", |catalog, _| catalog.has_tables()),
    ("quantified_filters", |catalog, _| catalog.has_tables()),
    ("field_comparisons", |catalog, _| catalog.has_shared_parameter("filter")),
    ("aggregates", |catalog, _| catalog.has_shared_parameter("aggregate")),
    ("table_shape", |catalog, _| catalog.has_shared_parameter("shape")),
    ("result_budget", |catalog, _| catalog.has_shared_parameter("max_tokens")),
    ("query_sql", |catalog, _| catalog.operations().iter().any(|operation| &*operation.origin.own_name == "query_sql")),
    ("batch_references", |_, _| true),
    ("batch_confirmation", |_, facts| facts.confirmation),
    ("error_codes", |_, _| true),
    ("accepted_trust", |_, _| true),
    ("effects", |_, _| true),
];

/// The names of the extensions that are offered.
pub(super) fn extensions(catalog: &Catalog, facts: &Facts) -> Vec<&'static str> {
    EXTENSIONS.iter().filter(|(_, is_offered)| is_offered(catalog, facts)).map(|(name, _)| *name).collect()
}
