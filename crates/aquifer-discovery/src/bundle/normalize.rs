//! Converts a capture into a bundle: every usable tool becomes an operation, and every decision and omission is
//! recorded (R-DIS-3). The same input gives the same bytes.

use std::collections::HashSet;

use aquifer_protocol::catalog::pascal_case;
use aquifer_protocol::text::clean_json;
use serde_json::Value;

use super::{
    Bundle, InferenceSources, NormalizedBundle, NormalizedOperation, NormalizedParameter, NormalizedReturns,
    Provenance, RawCapture, SCHEMA_VERSION, Source,
};
use crate::classify::{self, Inference, OwnPrefix, Subject};
use crate::name::{self, AssignedName, EstablishedNames, NameReason};
use crate::schema::{self, NarrowedParameter};
use crate::text;
use crate::tool::Tool;
use crate::warning::{self, BundleWarning};

/// The usable tools of a capture, parsed once.
#[derive(Debug, Clone, Default)]
pub struct Listing {
    /// The tools in the upstream's order, without duplicate names.
    pub tools: Vec<Tool>,
    warnings: Vec<BundleWarning>,
}

impl Listing {
    /// Reads a capture.
    pub fn from_capture(capture: &RawCapture) -> Self {
        let mut listing = Self::default();
        let mut seen = HashSet::new();
        for (index, raw) in capture.tools().iter().enumerate() {
            match Tool::read(raw) {
                Err(problem) => {
                    let message = format!("Entry {} of the tool list was skipped: {problem}.", index + 1);
                    let warning = BundleWarning::new(warning::UNREADABLE_TOOL, message);
                    listing.warnings.push(warning.field(&format!("tools.{index}")));
                }
                Ok(tool) if !seen.insert(tool.name.clone()) => {
                    let message = "A second tool with this name cannot be called and was skipped.";
                    let warning = BundleWarning::new(warning::DUPLICATE_TOOL, message).tool(&tool.name);
                    listing.warnings.push(warning.field(&format!("tools.{index}")));
                }
                Ok(tool) => listing.tools.push(tool),
            }
        }
        listing
    }

    /// The number of entries that are not usable as operations.
    pub fn unusable(&self) -> usize {
        self.warnings.len()
    }
}

/// Makes a bundle from a capture. Always redacts the source.
pub fn normalize(source: Source, raw_capture: RawCapture) -> Bundle {
    let listing = Listing::from_capture(&raw_capture);
    normalize_with_names(source, raw_capture, &listing, &EstablishedNames::default())
}

/// Like [`normalize`], for a listing that is already parsed. Tools with an established operation name keep it.
pub fn normalize_with_names(
    source: Source,
    raw_capture: RawCapture,
    listing: &Listing,
    established: &EstablishedNames,
) -> Bundle {
    let source = source.redacted();
    let mut warnings = listing.warnings.clone();
    let names = name::operations_with_established(listing.tools.iter().map(|tool| tool.name.as_str()), established);
    let pairs = listing.tools.iter().zip(&names);
    let server_name = source.server.as_ref().and_then(|server| server.name.as_deref());
    let tools = listing.tools.iter().map(|tool| tool.name.as_str());
    let prefix = OwnPrefix::of_server(&source.name, server_name, tools);
    let operations = pairs.map(|(tool, assigned)| operation(tool, assigned, &prefix, &mut warnings)).collect();
    Bundle {
        schema_version: SCHEMA_VERSION.to_owned(),
        source,
        raw_capture,
        normalized_bundle: NormalizedBundle { operations, warnings },
    }
}

fn operation(
    tool: &Tool,
    assigned: &AssignedName,
    prefix: &OwnPrefix,
    warnings: &mut Vec<BundleWarning>,
) -> NormalizedOperation {
    let mut own = Vec::new();
    let mut review_reasons = Vec::new();
    explain_name(assigned, &mut own, &mut review_reasons);
    let (description, description_field, description_from) = describe(tool, &mut own);
    let input = schema::read_input(tool.input_schema());
    let names = name::parameters(input.parameters.iter().map(|parameter| parameter.original_name.as_str()));
    let mut budget = schema::NarrowingBudget::default();
    let params: Vec<NormalizedParameter> = input
        .parameters
        .iter()
        .zip(&names)
        .map(|(parameter, assigned)| {
            let narrow = schema::narrow(parameter, &input.types, &mut budget);
            warn_of_parameter(parameter, assigned, &narrow, &mut own);
            published(parameter, assigned, narrow)
        })
        .collect();
    if !input.broken.is_empty() {
        let message = format!("The input schema is invalid: {}.", input.broken.join("; "));
        own.push(BundleWarning::new(warning::INVALID_SCHEMA, message).field("inputSchema"));
        review_reasons.push(format!("the input schema is invalid: {}", input.broken.join("; ")));
    }
    own.extend(input.warnings);
    let parameter_names: Vec<&str> = params.iter().map(|parameter| parameter.name.as_str()).collect();
    let subject = Subject {
        name: &assigned.name,
        // A generated description is not evidence.
        description: description_field.map_or("", |_| &description),
        parameters: &parameter_names,
        annotations: tool.annotations,
    };
    let (decision, judged) = classify::classify_tool(tool, subject, prefix, !review_reasons.is_empty());
    for reason in &decision.review_reasons {
        let message = format!("Needs review: {reason}.");
        own.push(BundleWarning::new(warning::NEEDS_REVIEW, message).field("endpoint").heuristic("classification"));
    }
    review_reasons.extend(decision.review_reasons);
    let needs_review = !review_reasons.is_empty();
    warnings.extend(own.into_iter().map(|warning| warning.tool(&tool.name)));
    NormalizedOperation {
        source_tool_name: tool.name.clone(),
        operation_name: assigned.name.clone(),
        title: tool.title().map(|(title, _)| text::presentable(title)),
        description,
        endpoint: decision.category,
        endpoint_confidence: decision.confidence,
        danger_level: judged.danger,
        needs_review,
        review_reasons,
        params,
        maps_to: format!("tool:{}", tool.name),
        returns: NormalizedReturns {
            type_name: "object".to_owned(),
            name: format!("{}Result", pascal_case(&assigned.name)),
            description: "The result of the upstream's tool".to_owned(),
        },
        provenance: Provenance {
            name: "name".to_owned(),
            description: description_field.map(str::to_owned),
            annotations: annotation_names(tool),
            input_schema_present: tool.input_schema().is_some(),
            inference_sources: Some(InferenceSources {
                operation_name: if assigned.reason == NameReason::Kept {
                    Inference::DirectSourceMetadata
                } else {
                    Inference::DeterministicNormalization
                },
                description: description_from,
                endpoint: decision.category_from,
                danger_level: judged.from,
                maps_to: Inference::DeterministicNormalization,
            }),
        },
    }
}

fn explain_name(assigned: &AssignedName, own: &mut Vec<BundleWarning>, review_reasons: &mut Vec<String>) {
    let name = &assigned.name;
    let (code, message) = match assigned.reason {
        NameReason::Kept => return,
        NameReason::Respelled => (warning::RENAMED, format!("The operation is named '{name}'.")),
        NameReason::Reserved => {
            review_reasons
                .push(format!("the tool's name is reserved by the protocol; the operation is named '{name}'"));
            (warning::RESERVED_NAME, format!("The name is reserved by the protocol; the operation is named '{name}'."))
        }
        NameReason::Collided => {
            review_reasons.push(format!("another tool would have the same name; the operation is named '{name}'"));
            (warning::NAME_COLLISION, format!("Another tool would have the same name; this one is named '{name}'."))
        }
    };
    own.push(BundleWarning::new(code, message).field("name"));
}

/// The description of a tool, the field it was taken from, and how it was derived.
fn describe(tool: &Tool, own: &mut Vec<BundleWarning>) -> (String, Option<&'static str>, Inference) {
    let description = tool.text("description").map(|words| (words, "description")).or_else(|| tool.title());
    let Some((words, field)) = description else {
        let words = format!("Calls the upstream's tool '{}'.", text::shorten(&text::presentable(&tool.name), 80));
        return (words, None, Inference::DeterministicNormalization);
    };
    let cleaned = text::presentable(words);
    if cleaned != words {
        own.push(BundleWarning::new(warning::HIDDEN_TEXT, removed(words, "the description")).field(field));
    }
    let exact = cleaned == words && field == "description";
    let from = if exact { Inference::DirectSourceMetadata } else { Inference::DeterministicNormalization };
    (cleaned, Some(field), from)
}

/// Describes which kinds of characters were removed from a text.
fn removed(words: &str, from: &str) -> String {
    match text::is_clean(words) {
        true => format!("A credential was removed from {from}."),
        false => format!("Terminal escapes or hidden characters were removed from {from}."),
    }
}

fn warn_of_parameter(
    parameter: &schema::InputParameter,
    assigned: &AssignedName,
    narrow: &NarrowedParameter,
    own: &mut Vec<BundleWarning>,
) {
    let about = |code: &str, message: String| BundleWarning::new(code, message).field(&parameter.source_path);
    match assigned.reason {
        NameReason::Kept | NameReason::Respelled => {}
        NameReason::Reserved => {
            own.push(about(
                warning::RESERVED_NAME,
                format!("The name is reserved by the protocol; the parameter is named '{}'.", assigned.name),
            ));
        }
        NameReason::Collided => {
            own.push(about(
                warning::NAME_COLLISION,
                format!("Another parameter would have the same name; this one is named '{}'.", assigned.name),
            ));
        }
    }
    if !narrow.left_out.is_empty() {
        let keywords = narrow.left_out.join(", ");
        own.push(about(
            warning::SHAPE_NARROWED,
            format!("The published schema has no field for: {}.", text::shorten(&text::presentable(&keywords), 200)),
        ));
    }
    let exact = narrow.allowed.iter().flatten().chain(&narrow.pattern);
    if exact.into_iter().any(|word| !text::is_clean(word)) {
        own.push(about(
            warning::HIDDEN_TEXT,
            "A value or pattern holds terminal escapes or hidden characters. Callers see it without them and the \
             upstream gets it as it is."
                .to_owned(),
        ));
    }
}

fn published(
    parameter: &schema::InputParameter,
    assigned: &AssignedName,
    narrow: NarrowedParameter,
) -> NormalizedParameter {
    NormalizedParameter {
        name: assigned.name.clone(),
        original_name: parameter.original_name.clone(),
        type_name: narrow.type_name,
        required: parameter.required,
        description: narrow.description,
        default: narrow.default.map(|default| clean_json(default, &text::presentable)),
        allowed: narrow.allowed,
        minimum: narrow.minimum,
        maximum: narrow.maximum,
        pattern: narrow.pattern,
        format: narrow.format,
        source_path: parameter.source_path.clone(),
    }
}

fn annotation_names(tool: &Tool) -> Vec<String> {
    let annotations = tool.definition.get("annotations").and_then(Value::as_object);
    annotations.into_iter().flat_map(|all| all.keys()).map(|key| text::presentable(key)).collect()
}
