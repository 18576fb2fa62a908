//! The extensions of the specification that this server declares in `_protocol.extensions` (R-EXT-1 to R-EXT-5).

use super::Facts;
use crate::catalog::Catalog;

/// Tests whether a server has an extension.
type IsOffered = fn(&Catalog, &Facts) -> bool;

/// All extensions. The names are stable, because clients look for them.
const EXTENSIONS: &[(&str, IsOffered)] = &[
    ("signatures", |_, _| true),
    ("schema", |catalog, _| catalog.has_tables()),
    ("reference_paths", |catalog, _| catalog.has_tables()),
    ("embedded_rows", |catalog, _| catalog.has_tables()),
    ("quantified_filters", |catalog, _| catalog.has_tables()),
    ("field_comparisons", |catalog, _| catalog.has_shared_parameter("filter")),
    ("aggregates", |catalog, _| catalog.has_shared_parameter("aggregate")),
    ("table_shape", |catalog, _| catalog.has_shared_parameter("shape")),
    ("batch_references", |_, _| true),
    ("batch_confirmation", |_, facts| facts.confirmation),
    ("accepted_trust", |_, _| true),
];

/// The names of the extensions that are offered.
pub(super) fn extensions(catalog: &Catalog, facts: &Facts) -> Vec<&'static str> {
    EXTENSIONS.iter().filter(|(_, is_offered)| is_offered(catalog, facts)).map(|(name, _)| *name).collect()
}
