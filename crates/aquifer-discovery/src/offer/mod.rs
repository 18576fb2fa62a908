//! The operations of a source, and the mapping of each call back to the upstream's own names (R-DIS-7). Built from the
//! bundle of a server or from a reviewed adapter, with the same result.

mod sanitize;

use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::Arc;
use std::time::Duration;

use aquifer_protocol::catalog::pascal_case;
use aquifer_protocol::category::Category;
use aquifer_protocol::danger::Danger;
use aquifer_protocol::effect::{Effect, Effects};
use aquifer_protocol::operation::{Backing, Operation, Returns, Safeguards};
use aquifer_protocol::schema::{Deprecation, Kind, Parameter, Pattern, Schema, SchemaReader, Types};
use serde_json::{Map, Value, json};

use crate::adapter::{self, Adapter, AdapterOperation, AdapterParameter, KnownEvidence, MapsTo};
use crate::bundle::{Bundle, NormalizedOperation};
use crate::classify::{self, Inference, OwnPrefix, Subject};
use crate::schema::{self, Input};
use crate::text;
use crate::tool::{Annotations, Tool};
use sanitize::Replacements;

/// Maximum length of reasons and messages.
const MAX_TEXT_LEN: usize = 1_000;

/// Maximum number of reasons.
const MAX_REASONS: usize = 20;

/// The operations of one source and the calls behind them.
#[derive(Debug, Clone, Default)]
pub struct Offer {
    /// The operations, for the catalog.
    pub operations: Vec<Operation>,
    /// The types they refer to.
    pub types: Types,
    /// The call behind each operation, by the operation's name.
    pub calls: BTreeMap<Arc<str>, Call>,
    /// Claims of an adapter that were ignored, for the operator.
    pub ignored: Vec<String>,
}

/// How an operation is executed.
#[derive(Debug, Clone)]
pub struct Call {
    /// The target of the call.
    pub maps_to: MapsTo,
    /// Whether the tool accepts undeclared parameters.
    pub open: bool,
    /// The fields of a result that are returned if a caller requests none.
    pub default_fields: Vec<Arc<str>>,
    /// The canonical and original names of parameters.
    names: NameMap,
    /// Values that are shown differently from the upstream's spelling.
    replacements: Replacements,
}

/// A parameter's canonical name and the upstream's own.
type NamePair = (Arc<str>, Arc<str>);

/// The canonical and original names of parameters. A few are searched linearly, many are indexed.
#[derive(Debug, Clone, Default)]
struct NameMap {
    all: Vec<NamePair>,
    by_name: Option<HashMap<Arc<str>, usize>>,
    by_original: Option<HashMap<Arc<str>, usize>>,
}

impl NameMap {
    /// Larger maps are indexed.
    const INDEXED: usize = 32;

    fn from_pairs<'a>(pairs: impl Iterator<Item = (&'a str, &'a str)>) -> Self {
        let all: Vec<NamePair> = pairs.map(|(name, original)| (name.into(), original.into())).collect();
        if all.len() <= Self::INDEXED {
            return Self { all, ..Self::default() };
        }
        let index = |pick: fn(&NamePair) -> &Arc<str>| {
            all.iter().enumerate().rev().map(|(place, pair)| (pick(pair).clone(), place)).collect()
        };
        Self { by_name: Some(index(|(name, _)| name)), by_original: Some(index(|(_, original)| original)), all }
    }

    fn original(&self, name: &str) -> Option<&Arc<str>> {
        let place = match &self.by_name {
            Some(index) => *index.get(name)?,
            None => self.all.iter().position(|(known, _)| &**known == name)?,
        };
        self.all.get(place).map(|(_, original)| original)
    }

    fn canonical(&self, original: &str) -> Option<&Arc<str>> {
        let place = match &self.by_original {
            Some(index) => *index.get(original)?,
            None => self.all.iter().position(|(_, known)| &**known == original)?,
        };
        self.all.get(place).map(|(name, _)| name)
    }
}

impl Call {
    /// The arguments under the upstream's own names. Values are unchanged, except that a value chosen from a cleaned
    /// list is translated back to the upstream's spelling.
    pub fn arguments(&self, params: Map<String, Value>) -> Map<String, Value> {
        let original = |name: &str| self.names.original(name).map(|own| own.to_string());
        let exact = |name: &str, value: Value| match self.replacements.is_empty() {
            true => value,
            false => self.replacements.exact(name, value),
        };
        params
            .into_iter()
            .map(|(name, value)| {
                let value = exact(&name, value);
                (original(&name).unwrap_or(name), value)
            })
            .collect()
    }

    /// The parameters that give these arguments: the inverse of [`arguments`](Self::arguments).
    pub fn params(&self, arguments: Map<String, Value>) -> Map<String, Value> {
        arguments
            .into_iter()
            .map(|(own, value)| {
                let name = self.canonical(&own).map(str::to_owned).unwrap_or(own);
                let value = self.replacements.shown(&name, value);
                (name, value)
            })
            .collect()
    }

    /// The canonical name of an upstream's parameter, for its error messages.
    pub fn canonical(&self, original: &str) -> Option<&str> {
        self.names.canonical(original).map(|name| &**name)
    }

    /// Whether there is a parameter with this canonical name.
    pub fn takes(&self, name: &str) -> bool {
        self.names.original(name).is_some()
    }

    /// Canonical and original name of each parameter.
    pub fn names(&self) -> impl Iterator<Item = (&str, &str)> {
        self.names.all.iter().map(|(name, original)| (&**name, &**original))
    }
}

impl Offer {
    /// The offer for a server's bundle.
    pub fn from_bundle(bundle: &Bundle, source: &str) -> Self {
        Self::from_listing(bundle, &bundle.tools(), source, |_| true)
    }

    /// Like [`from_bundle`](Self::from_bundle), for parsed tools, restricted to the wanted ones.
    pub fn from_listing(bundle: &Bundle, tools: &[Tool], source: &str, is_wanted: impl Fn(&str) -> bool) -> Self {
        let by_name: HashMap<&str, &Tool> = tools.iter().map(|tool| (tool.name.as_str(), tool)).collect();
        let server_name = bundle.source.server.as_ref().and_then(|server| server.name.as_deref());
        let prefix = OwnPrefix::of_server(source, server_name, tools.iter().map(|tool| tool.name.as_str()));
        let mut offer = Self::default();
        for operation in bundle.normalized_bundle.operations.iter().filter(|one| is_wanted(&one.source_tool_name)) {
            if let Some(tool) = by_name.get(operation.source_tool_name.as_str()) {
                offer.add_tool(operation, tool, source, &prefix);
            }
        }
        offer.sanitize(&text::presentable);
        offer
    }

    /// The offer of a reviewed adapter, with no evidence other than its file.
    pub fn from_adapter(adapter: &Adapter, source: &str) -> Self {
        Self::from_adapter_with_evidence(adapter, source, &KnownEvidence::default())
    }

    /// The offer of a reviewed adapter, checked against further evidence.
    pub fn from_adapter_with_evidence(adapter: &Adapter, source: &str, known: &KnownEvidence<'_>) -> Self {
        let mut offer = Self::default();
        for operation in &adapter.operations {
            offer.add_reviewed(operation, source, known);
        }
        for operation in &mut offer.operations {
            operation.origin.trust = adapter.trust;
        }
        offer.sanitize(&text::presentable);
        offer
    }

    /// Applies `clean` to all text of the source that callers see. Can be applied again with a function that removes
    /// further secrets.
    pub fn sanitize(&mut self, clean: &dyn Fn(&str) -> String) {
        for operation in &mut self.operations {
            let Some(call) = self.calls.get_mut(&operation.name) else { continue };
            sanitize::operation(operation, &mut call.replacements, clean);
        }
        self.types.values_mut().for_each(|named| sanitize::named_type(named, clean));
    }

    fn add_tool(&mut self, made: &NormalizedOperation, tool: &Tool, source: &str, prefix: &OwnPrefix) {
        let input = schema::read_input(tool.input_schema());
        let own = input.by_name();
        let mut operation = Operation::new(&made.operation_name, made.endpoint, &made.description);
        operation.safety.danger = made.danger_level;
        operation.safety.effects = effects_of_tool(made, tool, prefix);
        operation.safety.danger_evidence =
            Some(text::presentable(&evidence_of_tool(made, tool, &operation.safety.effects)).into());
        operation.open = input.open;
        operation.returns = Returns::undeclared(&made.returns.description);
        operation.parameters = made
            .params
            .iter()
            .filter_map(|parameter| {
                let mut own = own.get(parameter.original_name.as_str())?.under(&parameter.name);
                own.schema.description = parameter.description.as_deref().map(Into::into);
                Some(own)
            })
            .collect();
        let call = Call {
            maps_to: MapsTo::Tool(tool.name.clone()),
            open: input.open,
            default_fields: Vec::new(),
            names: NameMap::from_pairs(made.params.iter().map(|one| (one.name.as_str(), one.original_name.as_str()))),
            replacements: Replacements::default(),
        };
        self.add(operation, input.types, schema::read_output(tool.definition.get("outputSchema")), call, source);
    }

    fn add_reviewed(&mut self, reviewed: &AdapterOperation, source: &str, known: &KnownEvidence<'_>) {
        let effective = adapter::raise_to_evidence(reviewed, known);
        let ignored = effective.ignored;
        self.ignored.extend(ignored.iter().map(|ignored| format!("'{}': {ignored}", reviewed.name)));
        let mut operation = Operation::new(&reviewed.name, effective.category, &reviewed.description);
        operation.safety.danger = effective.danger;
        operation.safety.danger_evidence = Some(match &ignored {
            Some(ignored) => text::presentable(ignored).into(),
            None => "its adapter file says so".into(),
        });
        operation.safety.effects = effects_of_reviewed(reviewed, effective.category);
        operation.safety.safeguards = safeguards(reviewed);
        if let Some(returns) = &reviewed.returns {
            operation.returns = Returns::undeclared(returns);
        }
        let input: Option<Input> = reviewed.input_schema.as_ref().map(|schema| schema::read_input(Some(schema)));
        let own = input.as_ref().map(Input::by_name).unwrap_or_default();
        operation.open = input.as_ref().is_some_and(|input| input.open);
        // Without a sidecar, parameters are described only by the adapter file, so there are no definitions to refer
        // to.
        let document = json!({});
        let mut reader = SchemaReader::new(&document);
        operation.parameters = reviewed
            .parameters
            .iter()
            .map(|parameter| {
                let whole = own.get(parameter.original_name.as_str());
                let mut made = match whole {
                    Some(whole) => whole.under(&parameter.name),
                    None => plain(parameter, &mut reader),
                };
                let described = parameter.schema.get("description").and_then(Value::as_str);
                made.schema.description = described.map(Into::into);
                made.required |= parameter.required;
                if whole.is_some() {
                    tighten(&mut made.schema, &parameter.schema);
                }
                made
            })
            .collect();
        let mut types = reader.into_types();
        types.extend(input.map(|input| input.types).unwrap_or_default());
        let call = Call {
            maps_to: reviewed.maps_to.clone(),
            open: operation.open,
            default_fields: reviewed.default_fields.iter().map(|name| name.as_str().into()).collect(),
            names: NameMap::from_pairs(
                reviewed.parameters.iter().map(|one| (one.name.as_str(), one.original_name.as_str())),
            ),
            replacements: Replacements::default(),
        };
        self.add(operation, types, schema::read_output(reviewed.output_schema.as_ref()), call, source);
    }

    /// Adds an operation. Its types are prefixed with its name, because types of two tools, or of the protocol, may
    /// have the same name.
    fn add(
        &mut self,
        mut operation: Operation,
        types: Types,
        output: Option<(Schema, Types)>,
        call: Call,
        source: &str,
    ) {
        operation.origin.source = source.into();
        operation.origin.native = false;
        if let MapsTo::Tool(tool) = &call.maps_to {
            operation.origin.backing = Backing::Tool(tool.as_str().into());
        }
        let base = pascal_case(&operation.name);
        let names = self.enter_types(&base, types);
        let rename = |name: &str| -> Arc<str> { names.get(name).cloned().unwrap_or_else(|| name.into()) };
        for parameter in &mut operation.parameters {
            parameter.schema.rename_types(&rename);
        }
        if let Some((output, types)) = output {
            operation.returns.type_name = self.enter_output(&format!("{base}Result"), output, types);
        }
        self.calls.insert(operation.name.clone(), call);
        self.operations.push(operation);
    }

    /// Adds types with this prefix. Returns the new name of each type.
    fn enter_types(&mut self, base: &str, types: Types) -> BTreeMap<Arc<str>, Arc<str>> {
        let mut names: BTreeMap<Arc<str>, Arc<str>> = BTreeMap::new();
        let mut taken: HashSet<Arc<str>> = HashSet::new();
        let mut next: HashMap<String, u64> = HashMap::new();
        for name in types.keys() {
            let wanted = format!("{base}{}", pascal_case(name));
            let is_free = |name: &str| !self.types.contains_key(name) && !taken.contains(name);
            let free: Arc<str> = if is_free(&wanted) {
                wanted.into()
            } else {
                let number = next.entry(wanted.clone()).or_insert(2);
                loop {
                    let candidate = format!("{wanted}_{number}");
                    *number += 1;
                    if is_free(&candidate) {
                        break candidate.into();
                    }
                }
            };
            taken.insert(free.clone());
            names.insert(name.clone(), free);
        }
        let rename = |name: &str| -> Arc<str> { names.get(name).cloned().unwrap_or_else(|| name.into()) };
        for (name, schema) in &types {
            let mut schema = (**schema).clone();
            schema.rename_types(&rename);
            self.types.insert(rename(name), Arc::new(schema));
        }
        names
    }

    /// Adds the result type of a tool. Returns its name.
    fn enter_output(&mut self, name: &str, mut output: Schema, types: Types) -> Arc<str> {
        let names = self.enter_types(name, types);
        output.rename_types(&|name| names.get(name).cloned().unwrap_or_else(|| name.into()));
        if let Kind::Named(given) = &output.kind {
            return given.clone();
        }
        let free = (1_u64..).map(|number| if number == 1 { name.to_owned() } else { format!("{name}_{number}") });
        let free: Arc<str> =
            free.into_iter().find(|name| !self.types.contains_key(name.as_str())).unwrap_or_default().into();
        self.types.insert(free.clone(), Arc::new(output));
        free
    }
}

/// The effects of a tool, by its own name and by that of its operation.
fn effects_of_tool(made: &NormalizedOperation, tool: &Tool, prefix: &OwnPrefix) -> Effects {
    let parameters: Vec<&str> = made.params.iter().map(|parameter| parameter.name.as_str()).collect();
    let described = made.provenance.description.as_ref().map_or("", |_| &*made.description);
    let judged = |name: &str, description: &str| {
        let subject = Subject { name, description, parameters: &parameters, annotations: tool.annotations };
        classify::judge(subject, made.endpoint, made.needs_review, prefix).effects
    };
    let own_name = classify::normalized_name(&tool.name);
    let mut effects = judged(&own_name, described);
    if own_name != made.operation_name {
        effects.merge(judged(&made.operation_name, ""));
    }
    effects
}

/// The effects of a reviewed operation, by what its file says.
fn effects_of_reviewed(reviewed: &AdapterOperation, category: Category) -> Effects {
    let parameters: Vec<&str> = reviewed.parameters.iter().map(|parameter| parameter.name.as_str()).collect();
    let annotations = match &reviewed.maps_to {
        MapsTo::Tool(_) => reviewed.annotations,
        MapsTo::Route { method, .. } => Annotations::for_method(method),
    };
    let (name, description) = (&*reviewed.name, &*reviewed.description);
    let subject = Subject { name, description, parameters: &parameters, annotations };
    classify::judge(subject, category, false, &OwnPrefix::default()).effects
}

/// The evidence for a tool's danger, in a few words for operators.
fn evidence_of_tool(made: &NormalizedOperation, tool: &Tool, effects: &Effects) -> String {
    let decided = made.provenance.inference_sources.as_ref().map(|sources| sources.danger_level);
    if decided == Some(Inference::ManualOverride) {
        return "a reviewer decided it".to_owned();
    }
    if let Some(reason) = made.review_reasons.first().filter(|_| made.needs_review) {
        return format!("it has not been reviewed: {reason}");
    }
    let hints = tool.annotations;
    if made.endpoint == Category::Read {
        let declared = hints.read_only == Some(true);
        return if declared { "the server declares that it only reads" } else { "its name says that it only reads" }
            .to_owned();
    }
    let parameters: Vec<&str> = made.params.iter().map(|parameter| parameter.name.as_str()).collect();
    let assessment = classify::assess(Subject {
        name: &classify::normalized_name(&tool.name),
        description: &made.description,
        parameters: &parameters,
        annotations: hints,
    });
    let hard = assessment.hard.filter(|hard| hard.danger == made.danger_level);
    let is_declared = hints.destructive == Some(true);
    let by_effect = effects
        .first_for_person()
        .filter(|found| made.danger_level == Danger::Destructive && !(is_declared && found.effect == Effect::Removes));
    match (by_effect, hard, hints.destructive) {
        (Some(found), ..) => format!("it {}: {}", found.effect, found.evidence),
        (None, Some(hard), _) => hard.reason,
        (None, None, Some(false)) => "the server declares that it destroys nothing".to_owned(),
        (None, None, _) => "it changes something, and the server does not say that it destroys nothing".to_owned(),
    }
}

/// The file's confirmation settings, cleaned, because a person reads them before deciding.
pub fn safeguards(reviewed: &AdapterOperation) -> Safeguards {
    let words = |written: &String| text::shorten(&text::clean(written), MAX_TEXT_LEN);
    Safeguards {
        always_confirm: reviewed.requires_confirmation,
        reasons: reviewed.danger_reasons.iter().take(MAX_REASONS).map(|reason| words(reason).into()).collect(),
        message: reviewed.confirmation_message.as_ref().map(|message| words(message).into()),
        cooldown: Duration::from_secs(reviewed.cooldown_seconds),
    }
}

/// Applies a reviewer's changes to a schema: constraints narrower than the tool's, or another default.
pub fn tighten(schema: &mut Schema, reviewed: &Value) {
    if let Some(words) = reviewed.get("enum").and_then(Value::as_array) {
        let known = schema.allowed.take();
        let is_known = |word: &&Value| known.as_ref().is_none_or(|known| known.contains(word));
        schema.allowed = Some(words.iter().filter(is_known).cloned().collect());
    }
    let number = |key: &str| reviewed.get(key).and_then(Value::as_f64);
    if let Some(least) = number("minimum") {
        schema.range.minimum = Some(schema.range.minimum.map_or(least, |known| known.max(least)));
    }
    if let Some(most) = number("maximum") {
        schema.range.maximum = Some(schema.range.maximum.map_or(most, |known| known.min(most)));
    }
    if let Some(pattern) = reviewed.get("pattern").and_then(Value::as_str) {
        schema.pattern = Some(Pattern::new(pattern));
    }
    if let Some(default) = reviewed.get("default") {
        schema.default = Some(default.clone());
    }
}

fn plain(parameter: &AdapterParameter, reader: &mut SchemaReader<'_>) -> Parameter {
    let flag = |key: &str| parameter.schema.get(key).and_then(Value::as_bool) == Some(true);
    Parameter {
        name: parameter.name.as_str().into(),
        original_name: (parameter.name != parameter.original_name).then(|| parameter.original_name.as_str().into()),
        required: parameter.required,
        schema: reader.read(&parameter.schema),
        sensitive: flag("writeOnly"),
        allow_nul: false,
        deprecated: flag("deprecated").then(Deprecation::default),
        is_shared: false,
    }
}
