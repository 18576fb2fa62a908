//! Routing and validation: a [`Request`] becomes [`Routed`], then [`Checked`]. The functions are pure, and the types
//! record what was checked.
//!
//! Before anything runs, these are checked in order: required parameters, types, unknown names, constraints. Then
//! defaults are filled in (R-REQ-4). All problems are collected; the first determines the code.

mod intent;
mod refused;
mod value;

use std::collections::HashMap;
use std::sync::{Arc, LazyLock};

use serde_json::{Map, Value};

use crate::case;
use crate::catalog::Catalog;
use crate::error::problems::explain_unknown;
use crate::error::wording::{looks_like_a_leak, quotable};
use crate::error::{Code, Failure, Problem};
use crate::operation::{Operation, TOKEN};
use crate::request::{Metadata, Request};
use crate::requirement::Requirement;
use crate::schema::{Parameter, Types, type_words};
use crate::spelling::fold;
use crate::suggest;
use crate::surface::{Receiver, Surface};
use crate::warning::Warning;

pub use refused::Refused;

use refused::UnknownParameters;

/// A request whose operation exists and was sent to the correct tool.
#[derive(Debug)]
pub struct Routed {
    operation: Arc<Operation>,
    params: Map<String, Value>,
    beside: Map<String, Value>,
    metadata: Metadata,
}

/// A request whose parameters are valid and have their defaults filled in.
#[derive(Debug)]
pub struct Checked {
    operation: Arc<Operation>,
    params: Map<String, Value>,
    metadata: Metadata,
    warnings: Vec<Warning>,
    types: Arc<Types>,
    /// Boxed because it is rare and requests are moved often.
    wider: Option<Box<WiderScope>>,
}

/// What policy evaluates in addition to the operation and parameters of a request.
#[derive(Debug, Default)]
struct WiderScope {
    also_needs: Vec<Arc<Operation>>,
    needed_params: Map<String, Value>,
    judged_params: Option<Map<String, Value>>,
}

/// The stage at which a problem is found. The earliest stage determines the code of the failure.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Stage {
    Missing,
    Type,
    Unknown,
    Constraint,
}

/// Problems with the stage each was found in.
type StagedProblems = Vec<(Stage, Problem)>;

/// How unknown parameters are treated.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Strictness {
    /// Refused.
    #[default]
    Strict,
    /// Dropped with a warning. For development only.
    Lenient,
}

/// Finds the operation that a request names, and refuses it if it was sent to the tool of another family.
pub fn route(catalog: &Catalog, surface: &Surface, receiver: &Receiver, request: Request) -> Result<Routed, Failure> {
    let Some(operation) = catalog.operation(&request.operation) else {
        return Err(unknown_operation(catalog, surface, receiver, &request.operation));
    };
    surface.admit(operation, receiver)?;
    Ok(Routed::new(operation.clone(), request))
}

/// The maximum number of suggestions for an unknown name.
const MAX_SUGGESTIONS: usize = 3;

/// The failure for an unknown operation, with the most similar names whose operations do no more than the name implies.
pub fn unknown_operation(catalog: &Catalog, surface: &Surface, receiver: &Receiver, wanted: &str) -> Failure {
    let intent = intent::Intent::new(wanted);
    let of_receiver = |operation: &Operation| match receiver {
        Receiver::Family(family) => surface.family_of(operation) == &**family,
        Receiver::Unified => false,
    };
    let candidates: Vec<&str> = catalog
        .operations()
        .iter()
        .filter(|operation| intent.allows(operation, of_receiver(operation)))
        .map(|operation| &*operation.name)
        .collect();
    // First a typing error, then the same name with the verb that catalogs use, then similarly spelled names.
    let intended = suggest::intended_name(wanted, candidates.iter().copied());
    let named_so = |name: String| suggest::nearest(&name, candidates.iter().copied());
    let mut spellings = intent.other_spellings();
    spellings.sort_by_key(|name| !candidates.contains(&name.as_str()));
    let mut near: Vec<&str> = Vec::new();
    let spelled_alike = suggest::near(wanted, candidates.iter().copied(), MAX_SUGGESTIONS);
    for name in intended.into_iter().chain(spellings.into_iter().filter_map(named_so)).chain(spelled_alike) {
        if near.len() < MAX_SUGGESTIONS && !near.contains(&name) {
            near.push(name);
        }
    }
    let shown = quotable(wanted);
    let hint = match near.first() {
        Some(name) => format!("Did you mean '{name}'?"),
        None => "Find the right name with introspect {query: \"signatures\", search: \"…\"}".to_owned(),
    };
    let failure = Failure::new(Code::NotFoundOperation, format!("Unknown operation: '{shown}'. {hint}"))
        .detail("operation", bounded(wanted));
    if near.is_empty() { failure } else { failure.detail("suggestions", near) }
}

impl Routed {
    /// A request for a known operation.
    pub fn new(operation: Arc<Operation>, request: Request) -> Self {
        let Request { params, beside, metadata, .. } = request;
        Self { operation, params, beside, metadata }
    }

    /// The operation to perform.
    pub fn operation(&self) -> &Arc<Operation> {
        &self.operation
    }

    /// Skips validation, for a request that is refused whatever its parameters.
    pub fn unchecked(self, catalog: &Catalog) -> Checked {
        let Routed { operation, mut params, beside, metadata } = self;
        for (name, value) in beside {
            params.entry(name).or_insert(value);
        }
        Checked { operation, params, metadata, warnings: Vec::new(), types: catalog.types().clone(), wider: None }
    }

    /// Checks the parameters against the operation's definition.
    pub fn check(self, catalog: &Catalog, strictness: Strictness) -> Result<Checked, Failure> {
        self.check_or_return(catalog, strictness).map_err(|refused| refused.failure)
    }

    /// Like `check`, but returns a request that is not valid, so that it can be checked again.
    pub fn check_or_return(self, catalog: &Catalog, strictness: Strictness) -> Result<Checked, Box<Refused>> {
        let Routed { operation, mut params, mut beside, metadata } = self;
        if operation.safety.quarantine.is_some() {
            // The parameters of a quarantined operation are not shown to callers, so they are not checked. The gate
            // reports why it cannot be called.
            params.clear();
            beside.clear();
        }
        let mut problems = Vec::new();
        let mut warnings = Vec::new();
        let Collected { mut known, mut unknown } = collect_parameters(&operation, params, beside, &mut problems);
        // A parameter that was given twice is known only once.
        let is_complete = problems.is_empty() && operation.safety.quarantine.is_none();
        if strictness == Strictness::Lenient && !unknown.is_empty() {
            warnings.push(ignored(&unknown.names()));
            unknown = UnknownParameters::default();
        }
        if let Some(deprecation) = &operation.deprecated {
            warnings.push(Warning::deprecated_operation(&operation.name, deprecation));
        }
        let mut trials = value::BASE_TRIALS;
        for parameter in &operation.parameters {
            match find_mut(&mut known, &parameter.name) {
                Some(value) => {
                    let mut checker = value::Checker::new(catalog.types(), &operation, &mut problems);
                    checker.parameter(parameter, value, &mut trials);
                    if let Some(deprecation) = &parameter.deprecated {
                        warnings.push(Warning::deprecated_parameter(&parameter.name, deprecation));
                    }
                }
                None if parameter.required => problems.push((Stage::Missing, missing(&operation, parameter))),
                None => {}
            }
        }
        let unmet = operation.requirements.iter().filter(|requirement| !requirement.is_met(&known));
        problems.extend(unmet.map(|requirement| (Stage::Missing, unmet_requirement(&operation, requirement))));
        if !unknown.is_empty() {
            problems.push((Stage::Unknown, unknown_parameters(&operation, &unknown.names())));
        }
        if let Some(failure) = collect(&operation, problems) {
            let request = is_complete.then(|| unknown.into_request(&operation, known, metadata));
            return Err(Box::new(Refused { failure, request }));
        }
        // An upstream fills in its own defaults and receives exactly what the caller sent.
        for parameter in operation.parameters.iter().filter(|_| operation.origin.native) {
            if let Some(default) = &parameter.schema.default
                && !parameter.schema.is_source_default
                && !known.contains_key(&*parameter.name)
            {
                known.insert(parameter.name.to_string(), default.clone());
            }
        }
        let mut metadata = metadata;
        if operation.safety.takes_token
            && let Some(Value::String(token)) = known.shift_remove(TOKEN)
        {
            metadata.accept(token);
        }
        let types = catalog.types().clone();
        Ok(Checked { operation, params: known, metadata, warnings, types, wider: None })
    }
}

/// The parameters of a request.
struct Collected {
    /// Under their canonical names.
    known: Map<String, Value>,
    unknown: UnknownParameters,
}

/// Collects the parameters under their canonical names, and the unknown ones. The source's own spelling and camelCase
/// are aliases (R-REQ-3), and `params` takes precedence over the top level (R-REQ-2).
///
/// An operation that accepts undeclared parameters accepts them only in `params`: at the top level, a misspelled name
/// would reach the source unnoticed. An undeclared name must not be another spelling of a declared one, because the
/// source might treat both as the same parameter, and policy would not have evaluated the value.
fn collect_parameters(
    operation: &Operation,
    params: Map<String, Value>,
    beside: Map<String, Value>,
    problems: &mut StagedProblems,
) -> Collected {
    let declared_names = DeclaredParameters::new(operation);
    if beside.is_empty() && params.keys().all(|name| declared_names.canonical(name).is_some()) {
        return Collected { known: params, unknown: UnknownParameters::default() };
    }
    let mut known = Map::new();
    let mut unknown = UnknownParameters::default();
    let mut declared = None;
    for (name, value) in params {
        let canonical = match declared_names.named(&name) {
            Some(parameter) => parameter.name.to_string(),
            None if operation.open
                && declared
                    .get_or_insert_with(|| Spellings::new(&operation.parameters))
                    .spelling_of(&name)
                    .is_none() =>
            {
                name
            }
            None => {
                unknown.params.push((name, value));
                continue;
            }
        };
        if known.contains_key(&canonical) {
            let twice = format!("Parameter '{canonical}' is given twice, once under an alias. Send it once");
            let problem = Problem::new(Code::ValidationInvalidValue, &*canonical, twice);
            problems.push((Stage::Constraint, problem.detail("param_name", &*canonical)));
        }
        known.insert(canonical, value);
    }
    for (name, value) in beside {
        match declared_names.named(&name) {
            Some(parameter) => {
                known.entry(&*parameter.name).or_insert(value);
            }
            None => unknown.beside.push((name, value)),
        }
    }
    Collected { known, unknown }
}

/// Finds a parameter in a request. Comparing a few names costs less than hashing one.
fn find_mut<'a>(params: &'a mut Map<String, Value>, name: &str) -> Option<&'a mut Value> {
    const MAX_COMPARED: usize = 8;
    match params.len() {
        ..=MAX_COMPARED => params.iter_mut().find(|(given, _)| *given == name).map(|(_, value)| value),
        _ => params.get_mut(name),
    }
}

/// Operations with more parameters than this are indexed when a request is checked.
const MAX_SEARCHED_FIELDS: usize = 64;

/// The declared parameters of an operation, by name. A few are searched linearly and many are indexed, so that checking
/// thousands of names against thousands of parameters takes linear time.
struct DeclaredParameters<'a> {
    operation: &'a Operation,
    by_name: Option<HashMap<&'a str, &'a Parameter>>,
    by_original: Option<HashMap<&'a str, &'a Parameter>>,
}

impl<'a> DeclaredParameters<'a> {
    fn new(operation: &'a Operation) -> Self {
        let many = || (operation.parameters.len() > MAX_SEARCHED_FIELDS).then(|| operation.parameters.iter().rev());
        let by_name = many().map(|all| all.map(|one| (&*one.name, one)).collect());
        let by_original = many().map(|all| all.filter_map(|one| Some((one.original_name.as_deref()?, one))).collect());
        Self { operation, by_name, by_original }
    }

    fn canonical(&self, name: &str) -> Option<&'a Parameter> {
        match &self.by_name {
            Some(index) => index.get(name).copied(),
            None => self.operation.parameter(name),
        }
    }

    fn original(&self, name: &str) -> Option<&'a Parameter> {
        let is_own = |parameter: &&Parameter| parameter.original_name.as_deref() == Some(name);
        match &self.by_original {
            Some(index) => index.get(name).copied(),
            None => self.operation.parameters.iter().find(is_own),
        }
    }

    /// The parameter with this name, in the canonical spelling, the source's own spelling or camelCase. The source's
    /// own spelling takes precedence over camelCase, because a tool may have both `userId` and `user_id`.
    fn named(&self, name: &str) -> Option<&'a Parameter> {
        let is_camel_case =
            || name.starts_with(|c: char| c.is_ascii_lowercase()) && name.chars().all(|c| c.is_ascii_alphanumeric());
        self.canonical(name)
            .or_else(|| self.original(name))
            .or_else(|| if is_camel_case() { self.canonical(&case::snake_case(name)) } else { None })
    }
}

/// The declared names of an object, indexed by all their spellings.
struct Spellings<'a>(HashMap<String, &'a str>);

impl<'a> Spellings<'a> {
    fn new(declared: &'a [Parameter]) -> Self {
        let names = declared
            .iter()
            .flat_map(|one| [Some((&one.name, one)), one.original_name.as_ref().map(|name| (name, one))]);
        let folded = names.flatten().map(|(spelled, one)| (fold(spelled), &*one.name));
        Self(folded.filter(|(folded, _)| !folded.is_empty()).collect())
    }

    /// The declared name that this is a spelling of.
    fn spelling_of(&self, name: &str) -> Option<&'a str> {
        self.0.get(&fold(name)).copied()
    }
}

/// Whether an operation would accept these parameters.
pub(crate) fn accepts(operation: &Operation, types: &Types, mut params: Map<String, Value>) -> bool {
    if !operation.requirements.iter().all(|requirement| requirement.is_met(&params)) {
        return false;
    }
    let (mut problems, mut trials) = (StagedProblems::new(), value::BASE_TRIALS);
    for parameter in &operation.parameters {
        if let Some(value) = params.get_mut(&*parameter.name) {
            value::Checker::new(types, operation, &mut problems).parameter(parameter, value, &mut trials);
        }
    }
    problems.is_empty()
}

/// Validates values whose schema is known only after the request was resolved: `values` of a generic operation depends
/// on the table. Failures refer to the requested operation.
pub fn check_values<'v>(
    operation: &Operation,
    types: &Types,
    values: impl IntoIterator<Item = (&'v Parameter, &'v mut Value)>,
) -> Result<(), Failure> {
    let (mut problems, mut trials) = (StagedProblems::new(), value::BASE_TRIALS);
    for (parameter, value) in values {
        value::Checker::new(types, operation, &mut problems).parameter(parameter, value, &mut trials);
    }
    collect(operation, problems).map_or(Ok(()), Err)
}

/// Combines all problems into one failure.
fn collect(operation: &Operation, mut found: StagedProblems) -> Option<Failure> {
    if found.is_empty() {
        return None;
    }
    found.sort_by_key(|(stage, _)| *stage);
    let problems = found.into_iter().map(|(_, problem)| problem).collect();
    Problem::collect(problems, operation.class().has_bare_answers())
}

fn missing(operation: &Operation, parameter: &Parameter) -> Problem {
    let expected = type_words(&parameter.schema);
    let words = parameter.schema.allowed.as_ref().map(|allowed| {
        let listed: Vec<String> = allowed.iter().map(value::quoted).collect();
        format!("one of: {}", listed.join(", "))
    });
    let described = parameter.schema.description.as_deref().map(|text| text.trim_end_matches('.').to_owned());
    let meaning: Vec<String> = words.into_iter().chain(described).collect();
    let meaning = Some(meaning.join("; "))
        .filter(|text| !text.is_empty() && !looks_like_a_leak(text))
        .map(|text| format!(" ({text})"))
        .unwrap_or_default();
    Problem::new(
        Code::ValidationMissingParam,
        &*parameter.name,
        format!("Missing required parameter '{}'. Expected: {expected}{meaning}", parameter.name),
    )
    .detail("param_name", &*parameter.name)
    .detail("operation", &*operation.name)
    .detail("expected_type", expected)
}

fn unmet_requirement(operation: &Operation, requirement: &Requirement) -> Problem {
    let path = requirement.first_path();
    Problem::new(Code::ValidationMissingParam, &*path, requirement.sentence())
        .detail("param_name", path)
        .detail("operation", &*operation.name)
}

fn unknown_parameters(operation: &Operation, unknown: &[String]) -> Problem {
    let valid: Vec<&str> = operation.parameters.iter().map(|parameter| &*parameter.name).collect();
    let (names, hint, suggestions) = explain_unknown(unknown, &valid);
    Problem::new(
        Code::ValidationUnknownParam,
        "",
        format!("Unknown parameter(s) for operation '{}': {names}.{hint}", operation.name),
    )
    .detail("operation", &*operation.name)
    .detail("unknown_params", unknown.iter().map(|name| bounded(name)).collect::<Vec<_>>())
    .valid("valid_params", &valid)
    .details(suggestions)
}

fn ignored(unknown: &[String]) -> Warning {
    Warning::new("VALIDATION_UNKNOWN_PARAM_WARNING", "Unknown parameters were ignored (lenient mode)")
        .detail("unknown_params", unknown.iter().map(|name| bounded(name)).collect::<Vec<_>>())
}

/// A caller's name, shortened for a message.
fn bounded(name: &str) -> String {
    name.chars().take(128).collect()
}

impl Checked {
    /// The operation to perform.
    pub fn operation(&self) -> &Arc<Operation> {
        &self.operation
    }

    /// The complete parameters.
    pub fn params(&self) -> &Map<String, Value> {
        &self.params
    }

    /// The types that its parameters may refer to.
    pub fn types(&self) -> &Types {
        &self.types
    }

    /// Parameters of the protocol itself.
    pub fn metadata(&self) -> &Metadata {
        &self.metadata
    }

    /// Further operations that the caller must be allowed to use for this request, because it reads the same data.
    pub fn also_needs(&self) -> &[Arc<Operation>] {
        self.wider.as_ref().map_or(&[], |wider| &wider.also_needs)
    }

    /// The parameters with which these operations are judged. Empty if the request does not say what it reads.
    pub fn needed_params(&self) -> &Map<String, Value> {
        static NONE: LazyLock<Map<String, Value>> = LazyLock::new(Map::new);
        self.wider.as_ref().map_or(&NONE, |wider| &wider.needed_params)
    }

    /// The parameters that policy evaluates: those of the operation and, if another operation was requested that
    /// resolved to this one, those of the original request, with all names of the objects they refer to.
    pub fn judged_params(&self) -> &Map<String, Value> {
        self.wider.as_ref().and_then(|wider| wider.judged_params.as_ref()).unwrap_or(&self.params)
    }

    /// Adds parameters for policy to evaluate.
    #[must_use]
    pub fn with_judged_params(mut self, more: Map<String, Value>) -> Self {
        if !more.is_empty() {
            let mut judged = self.params.clone();
            judged.extend(more);
            self.wider.get_or_insert_default().judged_params = Some(judged);
        }
        self
    }

    /// Takes the parameters, which the caller replaces by their canonical form. That form must be valid, too.
    pub fn take_params(&mut self) -> Map<String, Value> {
        std::mem::take(&mut self.params)
    }

    /// The same request with these parameters.
    #[must_use]
    pub fn with_params(mut self, params: Map<String, Value>) -> Self {
        self.params = params;
        self
    }

    /// Adds operations that the request needs, and the parameters with which they are judged.
    #[must_use]
    pub fn needing(mut self, also_needs: Vec<Arc<Operation>>, needed_params: Map<String, Value>) -> Self {
        if !also_needs.is_empty() {
            let wider = self.wider.get_or_insert_default();
            wider.also_needs = also_needs;
            wider.needed_params = needed_params;
        }
        self
    }

    /// Converts the request into one of another operation, validated against that operation's definition.
    pub fn as_request_of(
        self,
        operation: &Arc<Operation>,
        catalog: &Catalog,
        params: Map<String, Value>,
    ) -> Result<Self, Failure> {
        let Checked { metadata, warnings, .. } = self;
        let routed = Routed { operation: operation.clone(), params, beside: Map::new(), metadata };
        let mut checked = routed.check(catalog, Strictness::Strict)?;
        checked.warnings.splice(0..0, warnings);
        Ok(checked)
    }

    /// Like `as_request_of` without validation, for a request that is refused whatever its parameters.
    pub fn as_unchecked_request_of(
        self,
        operation: &Arc<Operation>,
        catalog: &Catalog,
        params: Map<String, Value>,
    ) -> Self {
        Routed { operation: operation.clone(), params, beside: Map::new(), metadata: self.metadata }.unchecked(catalog)
    }

    /// Splits the request into its parts for the source that executes it.
    pub fn into_parts(self) -> (Arc<Operation>, Map<String, Value>, Vec<Warning>) {
        (self.operation, self.params, self.warnings)
    }
}
