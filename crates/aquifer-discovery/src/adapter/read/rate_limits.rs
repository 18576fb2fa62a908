//! The `rate_limits` of an adapter file.

use std::collections::HashSet;

use aquifer_protocol::category::Category;
use aquifer_protocol::error::Code;
use aquifer_protocol::glob::Glob;

use crate::adapter::rate_limits::{DeclaredLimit, DeclaredPrice, DeclaredQuota, LimitScope, RateLimits, Window};
use crate::adapter::{AdapterOperation, MapsTo};
use crate::problem::{Findings, join};
use crate::text::yaml::Node;

/// The fields of the published schema, then those that the specification's documents use, then those that they announce
/// for a later version.
#[rustfmt::skip]
const FIELDS: &[&str] = &[
    "requests_per_minute", "requests_per_hour", "requests_per_day", "burst_limit",
    "requests_per_second", "concurrent_requests", "api_limits", "quotas", "cost",
    "shared_pools", "scheduling", "coordination",
];

/// The same for the block of a single operation.
const OPERATION_FIELDS: &[&str] =
    &["requests_per_second", "requests_per_minute", "requests_per_hour", "requests_per_day", "burst_limit"];

const LATER: &[&str] = &["shared_pools", "scheduling", "coordination"];

#[rustfmt::skip]
const METRICS: &[&str] = &[
    "requests_per_second", "requests_per_minute", "requests_per_hour", "requests_per_day", "requests_per_month",
    "cost_per_second", "cost_per_minute", "cost_per_hour", "cost_per_day", "cost_per_month",
    "tokens_per_minute", "tokens_per_hour", "tokens_per_day",
];

const CATEGORIES: [(&str, Category); 5] = [
    ("create", Category::Create),
    ("read", Category::Read),
    ("update", Category::Update),
    ("delete", Category::Delete),
    ("execute", Category::Execute),
];

/// Fields of one entry of `api_limits`.
#[rustfmt::skip]
const API_LIMIT_FIELDS: &[&str] = &[
    "scope", "endpoint", "category", "limit", "window", "remaining_header", "reset_header", "metric", "count_method",
];

/// The maximum cost. Costs are counted in millionths, and larger amounts would lose precision.
const MAX_AMOUNT: f64 = 9_000_000_000.0;

/// Reads the blocks of the file and of its operations.
pub(super) fn read(
    front: &Node,
    operations: &[AdapterOperation],
    findings: &mut Findings,
    warnings: &mut Vec<String>,
) -> RateLimits {
    let mut reader = Reader { operations, findings, warnings, names: HashSet::new(), declared: RateLimits::default() };
    if let Some(block) = front.get("rate_limits") {
        reader.block(block);
    }
    for category in Category::ALL {
        let key = category.as_str().to_ascii_lowercase();
        let listed = front.get("operations").and_then(|all| all.get(&key)).and_then(Node::items);
        for (index, item) in listed.into_iter().flatten().enumerate() {
            let name = item.get("name").and_then(Node::as_str);
            if let (Some(name), Some(block)) = (name, item.get("rate_limits")) {
                reader.operation(name, block, &format!("operations.{key}[{index}].rate_limits"));
            }
        }
    }
    reader.declared
}

struct Reader<'a> {
    operations: &'a [AdapterOperation],
    findings: &'a mut Findings,
    warnings: &'a mut Vec<String>,
    names: HashSet<String>,
    declared: RateLimits,
}

impl Reader<'_> {
    fn block(&mut self, block: &Node) {
        let path = "rate_limits";
        if !self.findings.object(block, path, FIELDS) {
            return;
        }
        self.plain_limits(block, path, "", &LimitScope::All);
        self.declared.max_concurrent =
            self.count(block, "concurrent_requests", path).and_then(|count| usize::try_from(count).ok());
        self.each(block, "api_limits", path, Self::api_limit);
        if let Some(quotas) = block.get("quotas") {
            self.quotas(quotas);
        }
        if let Some(cost) = block.get("cost") {
            self.cost(cost);
        }
        for later in LATER.iter().filter(|later| block.get(later).is_some()) {
            self.warnings.push(format!("'rate_limits.{later}' is not supported and has no effect"));
        }
    }

    fn operation(&mut self, name: &str, block: &Node, path: &str) {
        if self.findings.object(block, path, OPERATION_FIELDS) {
            self.plain_limits(block, path, &format!("{name}_"), &LimitScope::Operations(vec![name.to_owned()]));
        }
    }

    /// `requests_per_…` and `burst_limit`, which becomes a limit per second.
    fn plain_limits(&mut self, block: &Node, path: &str, prefix: &str, scope: &LimitScope) {
        for window in Window::ALL {
            let key = format!("requests_per_{}", window.as_str());
            if let Some(limit) = self.count(block, &key, path) {
                self.add_limit(&format!("{prefix}{key}"), limit, window, scope.clone());
            }
        }
        if let Some(limit) = self.count(block, "burst_limit", path) {
            self.add_limit(&format!("{prefix}burst_limit"), limit, Window::Second, scope.clone());
        }
    }

    fn api_limit(&mut self, item: &Node, path: &str, number: usize) {
        if !self.findings.object(item, path, API_LIMIT_FIELDS) {
            return;
        }
        let scopes = ["global", "endpoint", "category"];
        let Some(scope) = self.findings.required(item, "scope", path) else { return };
        let Some(scope) = self.findings.one_of(scope, &join(path, "scope"), &scopes, Code::SchemaInvalidType) else {
            return;
        };
        let Some(window) = self.window(item, path) else { return };
        if self.findings.required(item, "limit", path).is_none() {
            return;
        }
        let Some(limit) = self.count(item, "limit", path) else { return };
        let metric = self.findings.optional_text(item, "metric", path);
        if metric.is_some_and(|metric| !metric.starts_with("requests")) {
            self.warnings.push(format!("'{path}' is not enforced: only requests are counted"));
            return;
        }
        let per = window.as_str();
        let (name, scope) = match scope {
            "global" => (format!("global_per_{per}"), Some(LimitScope::All)),
            "category" => {
                let Some(node) = self.findings.required(item, "category", path) else { return };
                let (words, place) = (CATEGORIES.map(|(word, _)| word), join(path, "category"));
                let Some(word) = self.findings.one_of(node, &place, &words, Code::SchemaInvalidType) else { return };
                let category = CATEGORIES.into_iter().find(|(name, _)| *name == word).map(|(_, category)| category);
                (format!("{word}_per_{per}"), category.map(LimitScope::Category))
            }
            _ => (format!("endpoint_{number}_per_{per}"), self.endpoint(item, path)),
        };
        if let Some(scope) = scope {
            self.add_limit(&name, limit, window, scope);
        }
    }

    /// The operations whose `maps_to` matches the pattern. A path with `{placeholders}` is compared literally.
    fn endpoint(&mut self, item: &Node, path: &str) -> Option<LimitScope> {
        let node = self.findings.required(item, "endpoint", path)?;
        let place = join(path, "endpoint");
        let pattern = self.findings.text(node, &place)?;
        if pattern == "*" {
            return Some(LimitScope::All);
        }
        let glob = Glob::new(&pattern);
        let targets = |operation: &AdapterOperation| match &operation.maps_to {
            MapsTo::Tool(tool) => vec![tool.clone(), format!("tool:{tool}")],
            MapsTo::Route { method, path } => vec![path.clone(), format!("{method} {path}")],
        };
        let is_meant = |operation: &&AdapterOperation| {
            let is_like = |target: &String| *target == pattern || glob.as_ref().is_ok_and(|glob| glob.matches(target));
            targets(operation).iter().any(is_like)
        };
        let names: Vec<String> =
            self.operations.iter().filter(is_meant).map(|operation| operation.name.clone()).collect();
        match (names.is_empty(), glob) {
            (false, _) => return Some(LimitScope::Operations(names)),
            (true, Err(problem)) => self.findings.add(Code::SchemaInvalidType, &place, node.at, problem),
            (true, Ok(_)) => self.warnings.push(format!("'{place}' matches no operation and has no effect")),
        }
        None
    }

    fn quotas(&mut self, block: &Node) {
        let path = "rate_limits.quotas";
        let fields = &["enabled", "limits", "persistence", "reset_schedule", "alerts"];
        if !self.findings.object(block, path, fields) {
            return;
        }
        for later in ["reset_schedule", "alerts"].into_iter().filter(|later| block.get(later).is_some()) {
            self.warnings.push(format!("'{path}.{later}' is not supported and has no effect"));
        }
        let is_enabled = self.findings.flag(block, "enabled", path).unwrap_or(true);
        self.each(block, "limits", path, Self::quota);
        if !is_enabled {
            self.declared.quotas.clear();
        }
    }

    fn quota(&mut self, item: &Node, path: &str, _number: usize) {
        if !self.findings.object(item, path, &["metric", "warn", "pause", "hard_stop", "currency"]) {
            return;
        }
        let Some(metric) = self.findings.required(item, "metric", path) else { return };
        let Some(metric) = self.findings.one_of(metric, &join(path, "metric"), METRICS, Code::SchemaInvalidType) else {
            return;
        };
        let is_whole = metric.starts_with("requests");
        let [warn, pause, hard_stop] =
            ["warn", "pause", "hard_stop"].map(|step| self.amount(item, step, path, is_whole));
        let steps: Vec<f64> = [warn, pause, hard_stop].into_iter().flatten().collect();
        if steps.is_empty() {
            self.findings.missing(&join(path, "warn"), item.at);
        } else if !steps.is_sorted() {
            let message = format!("Fields of '{path}' must increase: 'warn', 'pause', 'hard_stop'");
            self.findings.add(Code::SchemaInvalidType, path, item.at, message);
        } else if metric.starts_with("tokens") {
            self.warnings.push(format!("'{path}' is not enforced: tokens of a target are not counted"));
        } else {
            self.declared.quotas.push(DeclaredQuota { metric: metric.to_owned(), warn, pause, hard_stop });
        }
        self.currency(item, path);
    }

    fn cost(&mut self, block: &Node) {
        let path = "rate_limits.cost";
        if !self.findings.object(block, path, &["model", "currency", "pricing"]) {
            return;
        }
        let models = ["per_call", "per_token", "per_byte", "tiered"];
        let model = block.get("model");
        let model =
            model.and_then(|node| self.findings.one_of(node, &join(path, "model"), &models, Code::SchemaInvalidType));
        if model.is_some_and(|model| model != "per_call") {
            self.warnings.push(format!("'{path}.model' is not supported: only 'cost_per_call' is counted"));
        }
        self.currency(block, path);
        self.each(block, "pricing", path, Self::price);
    }

    fn price(&mut self, item: &Node, path: &str, _number: usize) {
        if !self.findings.object(item, path, &["endpoint", "cost_per_call", "cost_per_token", "cost_per_byte"]) {
            return;
        }
        let cost = self.amount(item, "cost_per_call", path, false);
        if let (Some(scope), Some(cost_per_call)) = (self.endpoint(item, path), cost) {
            self.declared.prices.push(DeclaredPrice { scope, cost_per_call });
        }
    }

    fn currency(&mut self, node: &Node, path: &str) {
        let currency = self.findings.optional_text(node, "currency", path);
        self.declared.currency = self.declared.currency.take().or(currency);
    }

    fn each(&mut self, block: &Node, key: &str, path: &str, read: fn(&mut Self, &Node, &str, usize)) {
        let Some(list) = block.get(key) else { return };
        let path = join(path, key);
        match list.items() {
            Some(items) => {
                for (index, item) in items.iter().enumerate() {
                    read(self, item, &format!("{path}[{index}]"), index + 1);
                }
            }
            None => self.findings.wrong_type(list, &path, "array"),
        }
    }

    fn window(&mut self, item: &Node, path: &str) -> Option<Window> {
        let node = self.findings.required(item, "window", path)?;
        let words = Window::ALL.map(Window::as_str);
        let word = self.findings.one_of(node, &join(path, "window"), &words, Code::SchemaInvalidType)?;
        Window::ALL.into_iter().find(|window| window.as_str() == word)
    }

    /// A whole number of 1 or more.
    fn count(&mut self, block: &Node, key: &str, path: &str) -> Option<u64> {
        let node = block.get(key)?;
        let count = node.to_json().as_u64().filter(|count| *count >= 1);
        if count.is_none() {
            self.not_a_number(node, &join(path, key), "a whole number of 1 or more");
        }
        count
    }

    fn amount(&mut self, item: &Node, key: &str, path: &str, is_whole: bool) -> Option<f64> {
        let node = item.get(key)?;
        let is_fine = |amount: &f64| (0.0..=MAX_AMOUNT).contains(amount) && (!is_whole || amount.fract() == 0.0);
        let amount = node.to_json().as_f64().filter(is_fine);
        if amount.is_none() {
            let expected = if is_whole { "a whole number of 0 or more" } else { "a number of 0 or more" };
            self.not_a_number(node, &join(path, key), expected);
        }
        amount
    }

    fn not_a_number(&mut self, node: &Node, path: &str, expected: &str) {
        if node.to_json().is_number() {
            let message = format!("Field '{path}' must be {expected}");
            self.findings.add(Code::SchemaInvalidType, path, node.at, message);
        } else {
            self.findings.wrong_type(node, path, "number");
        }
    }

    fn add_limit(&mut self, name: &str, limit: u64, window: Window, scope: LimitScope) {
        let mut unique = name.to_owned();
        let mut number = self.declared.limits.len();
        while !self.names.insert(unique.clone()) {
            number += 1;
            unique = format!("{name}_{number}");
        }
        self.declared.limits.push(DeclaredLimit { name: unique, limit, window, scope });
    }
}
