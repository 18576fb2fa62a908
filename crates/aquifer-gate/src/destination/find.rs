//! The destinations of a call.
//!
//! A call that runs without a question must not reach anybody through a parameter that nobody looked at. So every value is
//! either what is sent, whose texts are searched for links and addresses, or a part of where it goes, and has to be known.

use std::collections::BTreeSet;

use aquifer_protocol::case::snake_case;
use aquifer_protocol::operation::Operation;
use aquifer_protocol::text::secrets::names_secret;
use serde_json::{Map, Value};

use super::address::{Destination, DestinationKind};
use super::roles::ParameterRole;
use super::text;

/// Maximum depth at which destinations are looked for.
pub(crate) const MAX_DEPTH: usize = 4;

/// Maximum number of destinations of a call that somebody may have agreed to.
const MAX_DESTINATIONS: usize = 100;

/// Maximum number of links and addresses in the texts of a call. A question lists no more.
const MAX_MENTIONS: usize = 20;

/// Names of parameters for what is sent. Any other parameter may say where it goes.
const CONTENT: &str = "subject title text texts body message content contents html markdown description note notes comment comments \
    summary headline caption html_body text_body body_html body_text html_content text_content message_text message_body \
    plain_text attachment attachments start end start_time end_time start_date end_date starts_at ends_at date time day duration \
    timezone time_zone location priority importance format language locale lang color";

/// Names of parameters for files that are sent. Their members are what is sent, too.
const FILES: &str = "attachment attachments";

/// Names of parameters for links that are sent beside a recipient.
const SENT_LINKS: &str = "link links url urls uri website reply_to";

/// What a parameter is for, where a call sends something.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Part {
    /// It says to whom something goes.
    Recipient,
    /// It is what is sent.
    Content,
    /// It may be either.
    Other,
}

/// The destinations of a call.
#[derive(Debug, Default)]
pub(crate) struct CallDestinations {
    recipients: BTreeSet<Destination>,
    /// Values of parameters that may say where something goes.
    others: BTreeSet<Destination>,
    mentioned: BTreeSet<Destination>,
    /// Number of values in lists that may say where something goes.
    listed: usize,
    has_recipient: bool,
    /// Whether there may be more: values that are nested too deeply, too many, of no known form, or secret.
    is_incomplete: bool,
}

impl CallDestinations {
    /// Finds the destinations of a call.
    pub(crate) fn of(operation: &Operation, params: &Map<String, Value>) -> Self {
        let mut destinations = Self::default();
        let part_of = |name: &str| match operation.safety.effects.destinations.iter().any(|known| **known == *name) {
            true => Part::Recipient,
            false => part_by_name(name),
        };
        let is_recipient = |name: &str| part_of(name) == Part::Recipient && !is_listed(SENT_LINKS, name);
        let has_recipients = operation.parameters.iter().any(|parameter| is_recipient(&parameter.name));
        for (name, value) in params {
            let is_sensitive = operation.parameter(name).is_some_and(|parameter| parameter.sensitive);
            destinations.is_incomplete |= is_sensitive && !value.is_null();
            let before = destinations.recipients.len();
            destinations.collect(name, value, part_of(name), 0);
            let is_new = destinations.recipients.len() > before;
            destinations.has_recipient |=
                is_new && part_of(name) == Part::Recipient && (is_recipient(name) || !has_recipients);
        }
        destinations
    }

    fn collect(&mut self, name: &str, value: &Value, part: Part, depth: usize) {
        // A secret is neither stored nor shown.
        if depth > MAX_DEPTH || (names_secret(&snake_case(name)) && !value.is_null()) {
            self.is_incomplete = true;
            return;
        }
        match (value, part) {
            (Value::Null, _) => {}
            (Value::String(text), Part::Recipient) => self.extend(Destination::parse(text, name)),
            (Value::String(text), Part::Other) => match Destination::recognize(text) {
                Some(found) => self.extend([found]),
                None => self.others.extend(Destination::named(text, name)),
            },
            (Value::String(text), Part::Content) => self.mention(text),
            (Value::Number(number), Part::Recipient) => self.extend(Destination::named(&number_text(number), name)),
            (Value::Number(number), Part::Other) => self.others.extend(Destination::named(&number_text(number), name)),
            (Value::Number(number), Part::Content) => self.mention(&number_text(number)),
            // Nobody knows whom it means.
            (Value::Bool(_), Part::Recipient) => self.is_incomplete = true,
            (Value::Bool(flag), Part::Other | Part::Content) => {
                self.others.extend(Destination::named(if *flag { "true" } else { "false" }, name));
            }
            (Value::Array(items), Part::Other) => {
                self.listed = self.listed.saturating_add(items.len());
                items.iter().for_each(|item| self.collect(name, item, part, depth + 1));
            }
            (Value::Array(items), _) => items.iter().for_each(|item| self.collect(name, item, part, depth + 1)),
            (Value::Object(members), _) => {
                for (member, value) in members {
                    // Some APIs take addresses as names of members.
                    self.is_incomplete |= Destination::recognize(member).is_some();
                    let own = match (part_by_name(member), part) {
                        (Part::Recipient, _) | (_, Part::Recipient) => Part::Recipient,
                        (_, Part::Content) if is_listed(FILES, name) => Part::Content,
                        (own, _) => own,
                    };
                    self.collect(member, value, own, depth + 1);
                }
            }
        }
    }

    fn mention(&mut self, text: &str) {
        self.mentioned.extend(text::mentions(text).into_iter().take(MAX_MENTIONS + 1));
        self.is_incomplete |= self.mentioned.len() > MAX_MENTIONS;
    }

    fn extend(&mut self, found: impl IntoIterator<Item = Destination>) {
        for destination in found {
            if self.recipients.len() >= MAX_DESTINATIONS {
                self.is_incomplete = true;
                return;
            }
            self.recipients.insert(destination);
        }
    }

    /// Whether all of them were found.
    pub(crate) fn is_complete(&self) -> bool {
        !self.is_incomplete && self.others.len() <= MAX_DESTINATIONS
    }

    /// Whether a parameter that says to whom something goes has a value.
    pub(crate) fn has_recipient(&self) -> bool {
        self.has_recipient
    }

    /// To whom something goes, as far as it was found: what parameters for recipients say, and addresses and links elsewhere.
    pub(crate) fn recipients(&self) -> impl Iterator<Item = &Destination> {
        self.recipients.iter()
    }

    /// To how many something goes, each counted once. `None` if that cannot be told.
    pub(crate) fn count(&self) -> Option<usize> {
        // A name with an address in it, such as a list that not all programs read in the same way.
        let may_be_several = |found: &Destination| {
            found.kind == DestinationKind::Name
                && (found.value.contains(['@', '\n', ',', ';']) || found.value.contains("://"))
        };
        let is_clear = !self.is_incomplete && !self.recipients.iter().chain(&self.others).any(may_be_several);
        is_clear.then(|| self.recipients.len().saturating_add(self.listed))
    }

    /// Whether there are values that may say where something goes, besides recipients.
    pub(crate) fn has_others(&self) -> bool {
        !self.others.is_empty()
    }

    /// The names and other values that only together say where something goes: a channel of a team, a thread of a channel.
    pub(crate) fn names(&self) -> impl Iterator<Item = &Destination> {
        let names = self.recipients.iter().filter(|recipient| recipient.kind == DestinationKind::Name);
        names.chain(&self.others)
    }

    /// Everything that has to be known: addresses and links each on its own, and all names together.
    pub(crate) fn places(&self) -> Vec<Destination> {
        let is_address = |recipient: &&Destination| recipient.kind != DestinationKind::Name;
        let mut places: Vec<Destination> = self.recipients.iter().filter(is_address).cloned().collect();
        let mut names = self.names();
        match (names.next(), names.next()) {
            (None, _) => {}
            (Some(only), None) => places.push(only.clone()),
            (Some(_), Some(_)) => places.push(Destination::together(self.names())),
        }
        places
    }

    /// What the texts of the call mention besides, as far as it was found.
    pub(crate) fn mentioned(&self) -> impl Iterator<Item = &Destination> {
        self.mentioned.difference(&self.recipients)
    }
}

fn is_listed(list: &str, name: &str) -> bool {
    let name = snake_case(name);
    list.split_ascii_whitespace().any(|known| known == name)
}

fn part_by_name(name: &str) -> Part {
    match ParameterRole::from_name(name) {
        ParameterRole::Destination => Part::Recipient,
        _ if is_listed(CONTENT, name) => Part::Content,
        _ => Part::Other,
    }
}

/// 7, 7.0 and 7e0 are the same number.
fn number_text(number: &serde_json::Number) -> String {
    match number.as_f64() {
        Some(float) if number.is_f64() && float.fract() == 0.0 => format!("{float:.0}"),
        _ => number.to_string(),
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "tests")]
mod tests {
    use aquifer_protocol::category::Category;
    use aquifer_protocol::schema::{Parameter, Schema};
    use serde_json::json;

    use super::*;

    fn found(params: &Value) -> CallDestinations {
        let mut operation = Operation::new("send", Category::Execute, "");
        operation.parameters = ["to", "url"].map(|name| Parameter::optional(name, Schema::string())).into();
        operation.safety.effects.destinations.push("room".into());
        CallDestinations::of(&operation, params.as_object().unwrap())
    }

    fn values(params: &Value) -> Vec<String> {
        found(params).places().into_iter().map(|found| found.value).collect()
    }

    #[test]
    fn r_saf_7_destinations_are_found_wherever_they_stand() {
        let params = json!({
            "to": [" Bob@X.com ", "a@x.com"], "bcc": "", "body": "to c@x.com", "room": 7, "start_time": 8,
            "message": { "text": "d@x.com", "cc": [{ "email": "E@x.com", "name": "Eve" }] }, "forward": "f@x.com",
        });
        let names = r#"[["name","Eve"],["room","7"]]"#;
        assert_eq!(values(&params), ["a@x.com", "bob@x.com", "e@x.com", "f@x.com", names]);
        let mentioned: Vec<String> = found(&params).mentioned().map(|found| found.value.clone()).collect();
        assert_eq!(mentioned, ["c@x.com", "d@x.com"]);
        assert!(found(&params).is_complete() && found(&params).has_recipient());
    }

    #[test]
    fn r_saf_8_every_value_that_is_not_sent_says_where_it_goes() {
        for (params, expected) in [
            (json!({ "to": "a@x.com", "user_id": "eve" }), &["a@x.com", "eve"][..]),
            (json!({ "to": "a@x.com", "reply_all": true, "note": null }), &["a@x.com", "true"]),
            (json!({ "to": "a@x.com", "silent": false }), &["a@x.com", "false"]),
            (json!({ "to": "a@x.com", "body": true }), &["a@x.com", "true"]),
            (json!({ "to": "a@x.com", "options": { "group": 7, "color": "red" } }), &["a@x.com", "7"]),
            (json!({ "to": "a@x.com", "message": { "text": "Hi", "rcpt": "eve" } }), &["a@x.com", "eve"]),
            (json!({ "to": "a@x.com", "recipient_details": "eve" }), &["a@x.com", "eve"]),
            (json!({ "to": "b", "team": "a" }), &[r#"[["team","a"],["to","b"]]"#]),
            (json!({ "to": "a", "team": "b" }), &[r#"[["team","b"],["to","a"]]"#]),
            (json!({ "to": "a@x.com", "subject": "Hi", "attachments": [{ "file_id": "13" }] }), &["a@x.com"]),
        ] {
            assert_eq!(values(&params), expected, "{params}");
        }
        for params in [
            json!({ "to": { "eve@x.com": true } }),
            json!({ "to": true }),
            json!({ "to": "a@x.com", "api_key": "k" }),
            json!({ "to": "a@x.com", "body": { "text": "Hi", "password": "p" } }),
            json!({ "to": [[[[[["a@x.com"]]]]]] }),
            json!({ "to": (0..=MAX_DESTINATIONS).map(|number| format!("a{number}@x.com")).collect::<Vec<_>>() }),
            json!({ "to": "a@x.com", "body": (0..=MAX_MENTIONS).map(|n| format!("a{n}@x.com ")).collect::<String>() }),
        ] {
            assert!(!found(&params).is_complete(), "{params}");
        }
    }

    #[test]
    fn r_saf_8_a_link_that_is_sent_is_no_recipient() {
        for (params, expected) in [
            (json!({ "to": "a@x.com" }), true),
            (json!({ "room": 7 }), true),
            (json!({ "url": "https://x.com/" }), false),
            (json!({ "user_id": "eve", "url": "https://x.com/" }), false),
            (json!({ "to": "", "extra": "a@x.com" }), false),
            (json!({ "body": "write to c@x.com" }), false),
        ] {
            assert_eq!(found(&params).has_recipient(), expected, "{params}");
        }
    }
}
