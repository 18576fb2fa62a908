//! The first line of a question about a call that no rehearsal describes: what is done, to what, and where it goes.
//!
//! `Send email: to "a@x.com", bcc "b@y.com", subject "Hi" ('send_email' of source 'mail')?`
//!
//! The verb is the operation's own name, because only its author knows whether an amount is paid, charged or refunded. The
//! values are those that tell one call from another; all of them follow below the headline. Only declared parameters are
//! named: a caller could add others to distract from them.

use aquifer_protocol::effect::Effect;
use aquifer_protocol::inflect::without_s;
use aquifer_protocol::operation::Operation;
use serde_json::Value;

use super::call::{FullCall, push_step};
use super::render::{escape, quote, quote_name};
use crate::destination::MAX_DEPTH;
use crate::destination::ParameterRole;

/// Maximum number of values that are named.
const MAX_ITEMS: usize = 6;

/// Maximum number of elements of a list that are named.
const MAX_ELEMENTS: usize = 3;

/// Maximum number of characters of a value.
const MAX_VALUE_CHARS: usize = 80;

/// Names of parameters that are read as "to".
const TO: &[&str] = &["to", "recipient", "recipients", "payee", "beneficiary", "to_account", "to_email", "to_emails"];

/// Names of parameters that are read as "from".
const FROM: &[&str] = &["from", "from_account", "source_account"];

/// The headline of a call.
pub(super) fn describe(operation: &Operation, call: Option<&FullCall>) -> String {
    let mut text = phrase(operation);
    if let Some(call) = call {
        let mut finder = Finder { operation, call, items: Vec::new(), object: None };
        finder.find();
        if let Some(object) = finder.object {
            text.push_str(&format!(" {object}"));
        }
        for (index, item) in finder.items.iter().enumerate() {
            text.push_str(if index == 0 { ": " } else { item.separator() });
            text.push_str(&item.text);
        }
    }
    text.push_str(&format!(" ('{}'", escape(&operation.name)));
    if !operation.origin.source.is_empty() {
        text.push_str(&format!(" of source '{}'", escape(&operation.origin.source)));
    }
    text.push_str(")?");
    text
}

/// The operation's own name as words: `Send email`.
fn phrase(operation: &Operation) -> String {
    let own = &operation.origin.own_name;
    let name = if own.is_empty() { &operation.name } else { own };
    let words = name.split('_').filter(|word| !word.is_empty()).collect::<Vec<_>>().join(" ");
    let mut characters = words.chars();
    let first = characters.next().map(|first| first.to_uppercase().to_string()).unwrap_or_default();
    escape(&format!("{first}{}", characters.as_str()))
}

/// A value in the headline.
struct Item {
    kind: ItemKind,
    text: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum ItemKind {
    Amount,
    To,
    From,
    Destination,
    Account,
    Permission,
    Thing,
    Text,
}

impl Item {
    /// What stands before it, unless it is the first one.
    fn separator(&self) -> &'static str {
        if matches!(self.kind, ItemKind::To | ItemKind::From) { " " } else { ", " }
    }
}

struct Finder<'a> {
    operation: &'a Operation,
    call: &'a FullCall,
    items: Vec<Item>,
    /// The thing that the operation's name ends with: the id in `delete_file {file_id: "13"}`.
    object: Option<String>,
}

impl<'a> Finder<'a> {
    fn find(&mut self) {
        let (operation, call) = (self.operation, self.call);
        let object = self.object_parameter();
        let pays = operation.safety.effects.contains(Effect::Pays);
        for (name, value) in &call.params {
            let Some(parameter) = operation.parameter(name) else { continue };
            let mut place = String::new();
            push_step(&mut place, name);
            // Where something goes by default is still where it goes.
            let is_destination = ParameterRole::from_name(name) == ParameterRole::Destination;
            if call.hidden.contains(&place) || (call.defaults.contains(&place) && !is_destination) {
                continue;
            }
            if Some(&*parameter.name) == object {
                self.object = show(value);
                continue;
            }
            self.add(name, value, pays);
            self.find_inside(name, value, 0);
        }
        self.items.sort_by_key(|item| item.kind);
        let more = self.items.len().saturating_sub(MAX_ITEMS);
        self.items.truncate(MAX_ITEMS);
        if more > 0 {
            let plural = if more == 1 { "" } else { "s" };
            self.items.push(Item { kind: ItemKind::Thing, text: format!("and {more} more value{plural}") });
        }
    }

    fn add(&mut self, name: &str, value: &Value, pays: bool) {
        let sends = self.operation.safety.effects.contains(Effect::Sends);
        let is_destination = self.operation.safety.effects.destinations.iter().any(|known| **known == *name);
        let Some(shown) = show(value) else { return };
        let labelled = || format!("{} {shown}", quote_name(name));
        let (kind, text) = match ParameterRole::from_name(name) {
            _ if TO.contains(&name) => (ItemKind::To, format!("to {shown}")),
            _ if FROM.contains(&name) => (ItemKind::From, format!("from {shown}")),
            ParameterRole::Amount if pays && value.is_number() => {
                // "1,200" alone could be anything.
                let label = if self.has_recipient() { String::new() } else { format!("{} ", quote_name(name)) };
                (ItemKind::Amount, format!("{label}{}", as_amount(&shown)))
            }
            ParameterRole::Amount => (ItemKind::Account, labelled()),
            ParameterRole::Destination => (ItemKind::Destination, labelled()),
            ParameterRole::Permission => (ItemKind::Permission, labelled()),
            _ if is_destination => (ItemKind::Destination, labelled()),
            ParameterRole::Thing => (ItemKind::Thing, labelled()),
            ParameterRole::Other | ParameterRole::Body if self.names_noun(name) => (ItemKind::Thing, labelled()),
            // What somebody outside is told may be the harm.
            ParameterRole::Body if sends && value.is_string() => (ItemKind::Text, labelled()),
            ParameterRole::Other | ParameterRole::Body => return,
        };
        self.items.push(Item { kind, text });
    }

    /// Whether the call says to whom.
    fn has_recipient(&self) -> bool {
        let params = &self.call.params;
        TO.iter().any(|name| params.get(*name).and_then(show).is_some() && self.operation.parameter(name).is_some())
    }

    /// Destinations inside objects: `message.bcc`.
    fn find_inside(&mut self, path: &str, value: &Value, depth: usize) {
        let members: Vec<(String, &Value)> = match value {
            _ if depth >= MAX_DEPTH => return,
            Value::Object(members) => members.iter().map(|(name, member)| (format!("{path}.{name}"), member)).collect(),
            Value::Array(items) => items.iter().map(|item| (path.to_owned(), item)).collect(),
            _ => return,
        };
        for (path, member) in members {
            let name = path.rsplit('.').next().unwrap_or_default();
            let is_member = value.is_object() && ParameterRole::from_name(name) == ParameterRole::Destination;
            if let Some(shown) = show(member).filter(|_| is_member) {
                self.items.push(Item { kind: ItemKind::Destination, text: format!("{} {shown}", quote_name(&path)) });
            }
            if self.items.len() > MAX_ITEMS * 2 {
                return;
            }
            self.find_inside(&path, member, depth + 1);
        }
    }

    /// The parameter that identifies what the operation's name ends with.
    fn object_parameter(&self) -> Option<&'a str> {
        let (operation, call) = (self.operation, self.call);
        let own = &operation.origin.own_name;
        let name = if own.is_empty() { &operation.name } else { own };
        let noun = without_s(name.rsplit('_').next().unwrap_or_default());
        let is_object = |name: &str| {
            let bare = name.strip_suffix("_id").or_else(|| name.strip_suffix("_ids")).unwrap_or(name);
            matches!(name, "id" | "ids") || without_s(bare) == noun
        };
        let is_value = |value: &Value| value.is_string() || value.is_number();
        let params = call.params.iter().filter(|(_, value)| is_value(value));
        let mut names = params.filter_map(|(name, _)| operation.parameter(name)).map(|parameter| &*parameter.name);
        let is_thing =
            |name: &str| matches!(ParameterRole::from_name(name), ParameterRole::Thing | ParameterRole::Other);
        names.find(|name| is_object(name) && is_thing(name))
    }

    /// Whether a word of the operation's name is the name of the parameter: `reserve_hotel {hotel}`.
    fn names_noun(&self, name: &str) -> bool {
        let name = without_s(name);
        self.operation.origin.own_name.split('_').skip(1).any(|word| without_s(word) == name)
    }
}

/// A value in a line of ours. `None` if it says nothing, or too much.
fn show(value: &Value) -> Option<String> {
    match value {
        Value::Null | Value::Bool(_) | Value::Object(_) => None,
        Value::Number(number) => Some(escape(&cut(&number.to_string()))),
        Value::String(text) if text.trim().is_empty() => None,
        Value::String(text) => Some(shorten(text)),
        Value::Array(items) => {
            let mut shown: Vec<String> = items.iter().filter(|item| !item.is_array()).filter_map(show).collect();
            match items.iter().filter(|item| item.is_object()).count() {
                0 => {}
                1 => shown.push("1 item".to_owned()),
                objects => shown.push(format!("{objects} items")),
            }
            let more = shown.len().saturating_sub(MAX_ELEMENTS);
            let listed = shown.get(..MAX_ELEMENTS.min(shown.len()))?.join(", ");
            match more {
                _ if listed.is_empty() => None,
                0 => Some(listed),
                more => Some(format!("{listed} and {more} more")),
            }
        }
    }
}

fn shorten(text: &str) -> String {
    let shown = cut(text);
    match shown.len() < text.len() {
        true => format!("{} ({} characters)", quote(&shown), text.chars().count()),
        false => quote(&shown),
    }
}

fn cut(text: &str) -> String {
    match text.char_indices().nth(MAX_VALUE_CHARS) {
        None => text.to_owned(),
        Some((end, _)) => format!("{}…", text.get(..end).unwrap_or_default()),
    }
}

/// `10000.5` as `10,000.50`.
fn as_amount(number: &str) -> String {
    let (whole, rest) = number.find('.').map_or((number, ""), |index| number.split_at(index));
    let (sign, digits) = whole.strip_prefix('-').map_or(("", whole), |digits| ("-", digits));
    if !digits.bytes().all(|byte| byte.is_ascii_digit()) {
        return number.to_owned();
    }
    let mut out = sign.to_owned();
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    let zero = if rest.len() == 2 { "0" } else { "" };
    out + rest + zero
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "tests")]
mod tests {
    use aquifer_protocol::category::Category;
    use aquifer_protocol::schema::{Kind, Parameter, Schema};
    use serde_json::json;

    use super::*;

    fn check(name: &str, effect: Effect, params: Value, expected: &str) {
        let mut operation = Operation::new(name, Category::Execute, "");
        operation.origin.own_name = name.into();
        operation.origin.source = "s".into();
        operation.safety.effects.add(effect, "its name says it");
        let params = params.as_object().unwrap().clone();
        operation.parameters = params
            .keys()
            .filter(|name| !name.starts_with("undeclared"))
            .map(|name| Parameter::optional(name, Schema::new(Kind::Any)))
            .collect();
        let params = super::super::order::order_members(params, &|_| false);
        let call = FullCall {
            params,
            defaults: vec!["/title".to_owned(), "/bcc".to_owned()],
            hidden: vec!["/name".to_owned()],
        };
        assert_eq!(describe(&operation, Some(&call)), format!("{expected} ('{name}' of source 's')?"));
    }

    #[test]
    fn r_saf_9_the_headline_says_what_is_done_to_what_and_where_it_goes() {
        let long = "x".repeat(5_000);
        check(
            "send_email",
            Effect::Sends,
            json!({ "body": long, "recipients": ["a@x.com", "b@x.com"], "subject": "Hi", "bcc": ["c@y.com"], "title": "d", "cc": [] }),
            &format!(
                "Send email: to \"a@x.com\", \"b@x.com\", bcc \"c@y.com\", subject \"Hi\", body \"{}…\" (5000 characters)",
                "x".repeat(80)
            ),
        );
        check(
            "send_money",
            Effect::Pays,
            json!({ "recipient": "US133000000121212121212", "amount": 10000.5, "subject": "Rent", "date": "2022-01-01" }),
            "Send money: 10,000.50 to \"US133000000121212121212\", subject \"Rent\", date \"2022-01-01\"",
        );
        check(
            "transfer",
            Effect::Pays,
            json!({ "from_account": "Main", "amount": 1000000, "iban": "DE02", "payee": "Bob" }),
            "Transfer: 1,000,000 to \"Bob\" from \"Main\", iban \"DE02\"",
        );
        check(
            "update_payment",
            Effect::Pays,
            json!({ "payment_id": 7, "amount": 1200.25 }),
            "Update payment 7: amount 1,200.25",
        );
        check(
            "send_direct_message",
            Effect::Sends,
            json!({ "recipient": "Alice", "body": "See evil.example", "attachments": [{ "file_id": "1" }, { "file_id": "2" }] }),
            "Send direct message: to \"Alice\", attachments 2 items, body \"See evil.example\"",
        );
        check(
            "send_direct_message",
            Effect::Sends,
            json!({ "to": ["eve@x.com", {}] }),
            "Send direct message: to \"eve@x.com\", 1 item",
        );
        check("delete_file", Effect::Removes, json!({ "file_id": "13" }), "Delete file \"13\"");
        check(
            "reserve_hotel",
            Effect::Pays,
            json!({ "hotel": "Riverside", "start_day": "2024-05-13" }),
            "Reserve hotel \"Riverside\": start_day \"2024-05-13\"",
        );
        check(
            "share_file",
            Effect::Grants,
            json!({ "file_id": 26, "email": "a@x.com", "permission": "rw" }),
            "Share file 26: email \"a@x.com\", permission \"rw\"",
        );
        check(
            "add_user_to_channel",
            Effect::Grants,
            json!({ "user": "Bob", "channel": "general" }),
            "Add user to channel: channel \"general\", user \"Bob\"",
        );
        check("update_password", Effect::Grants, json!({ "name": "secret" }), "Update password");
        check(
            "post_message",
            Effect::Sends,
            json!({ "message": { "bcc": ["x@y.z"], "text": "hi" } }),
            "Post message: message.bcc \"x@y.z\"",
        );
        check("run_job", Effect::Runs, json!({ "undeclared_recipient": "boss@x.com", "speed": 3 }), "Run job");
    }

    #[test]
    fn r_saf_9_values_cannot_forge_a_headline() {
        check(
            "send_email",
            Effect::Sends,
            json!({ "recipients": ["a@x.com\", subject \"Hi\"?\n1 parameter:\u{202e}"], "subject": "x".repeat(100) }),
            &format!(
                "Send email: to \"a@x.com\\\", subject \\\"Hi\\\"?\\n1 parameter:\\u{{202e}}\", subject \"{}…\" (100 \
                 characters)",
                "x".repeat(80)
            ),
        );
        let many: Vec<String> = (0..40).map(|number| format!("{number}@x.com")).collect();
        check(
            "send_email",
            Effect::Sends,
            json!({ "recipients": many }),
            "Send email: to \"0@x.com\", \"1@x.com\", \"2@x.com\" and 37 more",
        );
    }
}
