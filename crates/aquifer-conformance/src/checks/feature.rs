//! Optional features. A server offers the features that it documents. Checks of other features are omitted, and the
//! check of its capabilities lists them.

use serde_json::Value;

use crate::context::CheckContext;
use crate::description::resources::Resource;
use crate::description::{Operation, ValueKind};
use crate::record::Mode;

/// An optional feature of a server.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Feature {
    /// Operations grouped into families, so that an operation can be sent to the wrong tool.
    Families,
    /// `filter`.
    Filters,
    /// Comparisons in `filter`.
    Ranges,
    /// `sort`.
    Sorting,
    /// `first` and `after`.
    Cursors,
    /// `limit` and `offset`.
    Offsets,
    /// `total`.
    Totals,
    /// Named selections of fields.
    Presets,
    /// `aggregate`.
    Aggregates,
    /// Computed fields.
    Computed,
    /// Documented defaults.
    Defaults,
    /// Parameter names with several words.
    LongNames,
    /// `get_*` operations.
    Getting,
    /// Creation with an identifier given by the caller.
    OwnKeys,
    /// Fields that may be null.
    Nullable,
    /// `dry_run`.
    DryRuns,
    /// Operations that need confirmation.
    Confirmation,
    /// Documented examples.
    Examples,
    /// Documented examples of operations with `dry_run`.
    RehearsedExamples,
    /// Something that can be created and read.
    RoundTrips,
    /// Something that can be created and listed.
    ListedCreation,
    /// Something that can be created, read and updated.
    Updates,
    /// Something that can be created, read and deleted.
    Deletion,
    /// UPDATE operations.
    UpdateOperations,
    /// Something that can be created, and updated through `input`.
    InputUpdates,
    /// Parameters that shape the answer of a collection.
    Controls,
}

/// All features, with their display names.
pub(crate) const ALL: [(Feature, &str); 26] = [
    (Feature::Families, "endpoint families"),
    (Feature::Filters, "filters"),
    (Feature::Ranges, "comparisons in filters"),
    (Feature::Sorting, "sorting"),
    (Feature::Cursors, "cursors"),
    (Feature::Offsets, "limit and offset"),
    (Feature::Totals, "totals"),
    (Feature::Presets, "field presets"),
    (Feature::Aggregates, "aggregates"),
    (Feature::Computed, "computed fields"),
    (Feature::Defaults, "defaults"),
    (Feature::LongNames, "parameter names of several words"),
    (Feature::Getting, "get operations"),
    (Feature::OwnKeys, "identifiers given by the caller"),
    (Feature::Nullable, "fields that may be null"),
    (Feature::DryRuns, "dry runs"),
    (Feature::Confirmation, "confirmation"),
    (Feature::Examples, "examples"),
    (Feature::RehearsedExamples, "examples of dry runs"),
    (Feature::RoundTrips, "things that can be created and read"),
    (Feature::ListedCreation, "things that can be created and listed"),
    (Feature::Updates, "things that can be created, read and updated"),
    (Feature::Deletion, "things that can be created, read and deleted"),
    (Feature::UpdateOperations, "UPDATE operations"),
    (Feature::InputUpdates, "updates through 'input' of things that can be created"),
    (Feature::Controls, "parameters that shape a collection"),
];

impl Feature {
    /// Its display name.
    pub(crate) fn name(self) -> &'static str {
        ALL.iter().find(|(feature, _)| *feature == self).map_or("such feature", |(_, name)| name)
    }

    /// Whether the server documents it.
    pub(crate) fn is_offered(self, context: &CheckContext<'_>) -> bool {
        let any = |holds: &dyn Fn(&Operation) -> bool| context.description.operations.iter().any(holds);
        let read = |name: &str| context.description.read_operations().any(|operation| operation.has_parameter(name));
        let readable = |holds: &dyn Fn(&Resource) -> bool| {
            let mut created = context.resources.iter().filter(|own| own.create.is_some() && own.get.is_some());
            created.any(holds)
        };
        match self {
            Self::Families => context.mode != Mode::Single && context.client.aql_tools().len() > 1,
            Self::Filters => read("filter"),
            Self::Ranges => context.description.read_operations().any(documents_ranges),
            Self::Sorting => read("sort"),
            Self::Cursors => context
                .description
                .read_operations()
                .any(|operation| operation.has_parameter("first") && operation.has_parameter("after")),
            Self::Offsets => context
                .description
                .read_operations()
                .any(|operation| operation.has_parameter("limit") && operation.has_parameter("offset")),
            Self::Totals => read("total"),
            Self::Presets => context.description.read_operations().any(|operation| !presets(operation).is_empty()),
            Self::Aggregates => read("aggregate"),
            Self::Computed => any(&|operation| !declared_computed_fields(operation).is_empty()),
            Self::Defaults => {
                context.description.read_operations().flat_map(|operation| &operation.parameters).any(|parameter| {
                    parameter.default.as_ref().is_some_and(|default| !default.is_null()) && !parameter.required
                })
            }
            Self::LongNames => {
                let tried = context
                    .description
                    .read_operations()
                    .filter(|operation| context.valid_requests.contains_key(&operation.name));
                tried.flat_map(|operation| &operation.parameters).any(is_long)
            }
            Self::Getting => context.resources.iter().any(Resource::is_stored),
            Self::OwnKeys => context.resources.iter().any(|resource| {
                let takes = |create: &Operation| resource.key.iter().all(|key| create.has_parameter(key));
                resource.get.is_some() && resource.create.as_ref().is_some_and(takes)
            }),
            Self::Nullable => context.resources.iter().any(|resource| {
                let fields = resource.update.iter().flat_map(|update| context.updatable_fields(update));
                fields.into_iter().any(|field| field.accepts(&ValueKind::Null))
            }),
            Self::DryRuns => context.description.write_operations().any(|operation| operation.has_parameter("dry_run")),
            Self::Confirmation => {
                context.description.write_operations().any(|operation| operation.has_parameter("confirmation_token"))
            }
            Self::Controls => {
                ["first", "limit", "page_size", "fields", "filter", "sort", "total", "aggregate"].into_iter().any(read)
            }
            Self::Examples => any(&|operation| !operation.examples().is_empty()),
            Self::RehearsedExamples => {
                let mut writes = context.description.write_operations();
                writes.any(|operation| operation.has_parameter("dry_run") && !operation.examples().is_empty())
            }
            Self::RoundTrips => readable(&|_| true),
            Self::ListedCreation => {
                context.resources.iter().any(|resource| resource.create.is_some() && resource.list.is_some())
            }
            Self::Updates => readable(&|resource| resource.update.is_some()),
            Self::Deletion => readable(&|resource| resource.delete.is_some()),
            Self::UpdateOperations => any(&|operation| operation.category == "UPDATE"),
            Self::InputUpdates => {
                readable(&|resource| resource.update.as_ref().is_some_and(|update| update.has_parameter("input")))
            }
        }
    }
}

fn is_long(parameter: &crate::description::Parameter) -> bool {
    parameter.name.contains('_')
}

/// Whether the description of `filter`, or of its type, mentions comparisons.
pub(crate) fn documents_ranges(operation: &Operation) -> bool {
    let filter = operation.parameter("filter");
    filter.is_some_and(|filter| ["gte", "$gt", ">="].iter().any(|word| filter.describes(word)))
}

/// The computed fields that an operation declares.
pub(crate) fn declared_computed_fields(operation: &Operation) -> Vec<String> {
    let declared = operation.raw.get("computed_fields").and_then(Value::as_array);
    declared.into_iter().flatten().filter_map(|field| field.get("name")?.as_str().map(str::to_owned)).collect()
}

/// The presets that an operation documents, smallest first.
pub(crate) fn presets(operation: &Operation) -> Vec<&'static str> {
    const KNOWN: [&str; 3] = ["minimal", "standard", "full"];
    let describes = |name: &str, preset: &str| {
        operation.parameter(name).is_some_and(|parameter| {
            parameter.allowed.iter().any(|allowed| allowed == preset) || parameter.describes(preset)
        })
    };
    KNOWN.into_iter().filter(|preset| describes("fields", preset) || describes("preset", preset)).collect()
}
