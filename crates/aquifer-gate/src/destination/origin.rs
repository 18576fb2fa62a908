//! Where the destinations of a call come from: those that stood inside a text that its caller has read.
//!
//! Whoever writes a text that a model reads may write an address into it. So destinations inside of texts are remembered, as
//! digests, for the caller of the call that returned the text. A destination that is a whole value of a result is none of
//! them, and neither is one that stood nowhere: that proves nothing.

use std::collections::{BTreeSet, HashMap, VecDeque};
use std::sync::Arc;
use std::time::Duration;

use aquifer_engine::Caller;
use aquifer_engine::clock::{Clock as _, SteadyClock};
use aquifer_engine::gate::Shown;
use aquifer_engine::store::{Record, StateStore, StoreError};
use aquifer_protocol::case::snake_case;
use aquifer_protocol::category::Category;
use aquifer_protocol::hex::hex;
use aquifer_protocol::operation::Operation;
use aquifer_protocol::response::{Attachment, Data};
use aquifer_protocol::schema::{Kind, Parameter, Schema};
use parking_lot::Mutex;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use sha2::{Digest as _, Sha256};

use super::address::{Destination, DestinationKind};
use super::roles::ParameterRole;
use super::settings::DestinationSettings;
use super::traces::{Searched, traces};
use crate::timeout::{change_record, with_timeout};

const PREFIX: &str = "gate/read/";

/// How long it is remembered what stood in a text.
const KEPT: Duration = Duration::from_secs(12 * 60 * 60);

/// Maximum number of destinations remembered for one caller. After more, every new destination counts as one of them.
const MAX_REMEMBERED: usize = 1_000;

/// Maximum depth at which destinations of a call are looked for. Requests are not nested so deeply.
const MAX_DEPTH: usize = 64;

/// Maximum number of characters of an address that is a whole value, and of words in it.
const MAX_WHOLE: usize = 200;
const MAX_WHOLE_WORDS: usize = 4;

/// Names of parameters from which something is read, besides those that say where something goes.
const READ_FROM: &str = "target source src href page site resource document feed image file request";

/// Maximum number of bytes of one result that are searched, and of destinations found in it.
const MAX_SEARCHED: usize = 256 * 1024;
const MAX_FOUND: usize = 250;

/// Maximum number of operations whose names are remembered for one caller.
const MAX_OPERATIONS: usize = 200;

/// Number of words that make a text that could tell a model what to do.
const MIN_WORDS: usize = 4;

/// Number of results that this process knows to be remembered, and for how many seconds it does.
const MAX_RECENT: usize = 256;
const RECENT_SECONDS: i64 = 60 * 60;

/// How long a result waits for its turn to be written.
const MAX_WAIT: Duration = Duration::from_secs(2);

/// Number of groups of callers whose texts are written one after the other.
const TURNS: usize = 16;

/// What a call has to do with texts that its caller has read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TextOrigin {
    /// A destination of the call stood inside a text.
    Destination {
        /// The destination.
        destination: String,
        /// The operation that returned the text, if it is remembered.
        operation: Option<Arc<str>>,
        /// How many minutes ago.
        minutes: u64,
    },
    /// The caller has read a text, after which the operator wants changes to be confirmed.
    Earlier {
        /// The operation that returned the text, if it is remembered.
        operation: Option<Arc<str>>,
    },
}

/// Remembers what stood inside of texts.
pub(crate) struct TextOrigins {
    store: Arc<dyn StateStore>,
    clock: Arc<SteadyClock>,
    asks_about_texts: bool,
    confirms_after_text: bool,
    /// Digests of caller and result, with the second in which they were remembered.
    recent: Mutex<VecDeque<(u64, i64)>>,
    /// The callers of whom something could not be written, and until when that may matter.
    unwritten: Mutex<HashMap<String, i64>>,
    /// Writers of this process take turns, so that they do not overtake each other again and again.
    turns: [tokio::sync::Mutex<()>; TURNS],
}

/// What is remembered for one caller.
#[derive(Debug, Default, Serialize, Deserialize)]
struct ReadTexts {
    /// The operations that returned texts.
    operations: Vec<String>,
    /// The digest of each destination, the index of its operation, and when it was read, in seconds.
    found: VecDeque<(u64, usize, i64)>,
    /// The index of the operation that returned the latest text, and when. Kept if changes are confirmed after it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    text: Option<(usize, i64)>,
    /// Until when others were remembered for which there is no more room.
    #[serde(default)]
    crowded_until: i64,
}

/// What stands in the texts of one result.
#[derive(Debug, Default)]
struct TextContent {
    found: BTreeSet<u64>,
    has_text: bool,
    /// What is looked for.
    keeps_traces: bool,
    keeps_text: bool,
    /// Whether there is more than can be searched or remembered.
    is_cut: bool,
    searched: usize,
}

impl TextOrigins {
    pub(crate) fn new(settings: &DestinationSettings, store: Arc<dyn StateStore>, clock: Arc<SteadyClock>) -> Self {
        Self {
            store,
            clock,
            asks_about_texts: settings.asks_about_texts,
            confirms_after_text: settings.confirms_after_text,
            recent: Mutex::default(),
            unwritten: Mutex::default(),
            turns: Default::default(),
        }
    }

    /// Whether changes are confirmed after a text was read.
    pub(crate) fn confirms_after_text(&self) -> bool {
        self.confirms_after_text
    }

    /// Whether calls of the operation may be confirmed because of a text.
    pub(crate) fn may_concern(&self, operation: &Operation) -> bool {
        let is_change = operation.category != Category::Read;
        let may_lead = |parameter: &Parameter| {
            leads_somewhere(operation, &parameter.name) || (is_change && may_have_members(&parameter.schema))
        };
        (self.confirms_after_text && is_change && !operation.origin.source.is_empty())
            || (self.is_asked_about(operation) && operation.parameters.iter().any(may_lead))
    }

    /// What is written into a database goes nowhere else.
    fn is_asked_about(&self, operation: &Operation) -> bool {
        self.asks_about_texts && !operation.origin.native
    }

    /// The destinations of a call that has no other reason to be asked about: where a change goes, and the hosts from
    /// which something is read.
    pub(crate) fn destinations(&self, operation: &Operation, params: &Map<String, Value>) -> Vec<Destination> {
        let mut found = BTreeSet::new();
        if self.is_asked_about(operation) {
            collect_members(operation, params, false, 0, &mut found);
        }
        let is_read = operation.category == Category::Read;
        found.into_iter().filter(|found| !is_read || found.kind == DestinationKind::Host).collect()
    }

    /// Remembers what stands in the texts of an answer. `None` if nothing has to be written.
    pub(crate) fn note(
        &self,
        operation: &Operation,
        shown: Shown<'_>,
        caller: &Caller,
    ) -> Option<impl Future<Output = ()> + Send + use<'_>> {
        if !self.asks_about_texts && !self.confirms_after_text {
            return None;
        }
        let mut content = TextContent {
            keeps_traces: self.asks_about_texts,
            keeps_text: self.confirms_after_text,
            ..TextContent::default()
        };
        content.add_shown(shown);
        let is_needed = !content.found.is_empty() || content.is_cut || (content.has_text && self.confirms_after_text);
        if !is_needed {
            return None;
        }
        let key = key(caller);
        let recent = content.digest(&key);
        if self.is_recent(recent) {
            return None;
        }
        let name = operation.name.clone();
        Some(async move {
            let now = self.clock.now().as_second();
            let change = |record: Option<&Record>| {
                let mut texts = record.map(ReadTexts::parse).unwrap_or_default();
                texts.add(&name, &content, now, self.confirms_after_text);
                serde_json::to_vec(&texts).ok().map(|value| (value, KEPT))
            };
            // A store that does not answer must not make others wait for it in turn.
            let written = match tokio::time::timeout(MAX_WAIT, self.turn(&key).lock()).await {
                Ok(_turn) => change_record(&*self.store, &key, change).await,
                Err(_) => Err(StoreError("others wait for the state store".to_owned())),
            };
            if written.is_ok() {
                self.remember_recent(recent);
            }
            if let Err(error) = written {
                tracing::warn!(%error, "what stood in a text is not remembered, so every new destination counts as read");
                let mut unwritten = self.unwritten.lock();
                unwritten.retain(|_, until| *until > now);
                unwritten.insert(key, now.saturating_add(kept_seconds()));
            }
        })
    }

    /// Whether this process has remembered the same for this caller a short while ago.
    fn is_recent(&self, digest: u64) -> bool {
        let now = self.clock.now().as_second();
        self.recent.lock().iter().any(|(known, at)| *known == digest && now.saturating_sub(*at) < RECENT_SECONDS)
    }

    fn remember_recent(&self, digest: u64) {
        let mut recent = self.recent.lock();
        if recent.len() >= MAX_RECENT {
            recent.pop_front();
        }
        recent.push_back((digest, self.clock.now().as_second()));
    }

    /// Where one of these destinations stood inside a text that the caller has read.
    pub(crate) async fn find(
        &self,
        caller: &Caller,
        destinations: &[Destination],
    ) -> Result<Option<TextOrigin>, StoreError> {
        if destinations.is_empty() {
            return Ok(None);
        }
        let mut texts = self.texts(caller).await?.unwrap_or_default();
        let unwritten = self.unwritten.lock().get(&key(caller)).copied();
        texts.crowded_until = texts.crowded_until.max(unwritten.unwrap_or_default());
        let now = self.clock.now().as_second();
        let found = destinations.iter().find_map(|destination| {
            let digest = digest(destination);
            let (_, operation, at) = texts.found.iter().rev().find(|(known, ..)| *known == digest)?;
            Some((destination, texts.operation(*operation), now.saturating_sub(*at)))
        });
        // What has been forgotten may be any of them.
        let crowded = || (texts.crowded_until > now).then(|| Some((destinations.first()?, None, 0)))?;
        Ok(found.or_else(crowded).map(|(destination, operation, seconds)| TextOrigin::Destination {
            destination: destination.value.clone(),
            operation,
            minutes: u64::try_from(seconds / 60).unwrap_or(0),
        }))
    }

    /// The text that the caller has read, if changes are confirmed after that.
    pub(crate) async fn text_read(&self, caller: &Caller) -> Result<Option<TextOrigin>, StoreError> {
        let texts = self.texts(caller).await?.unwrap_or_default();
        let now = self.clock.now().as_second();
        let is_unwritten =
            texts.crowded_until > now || self.unwritten.lock().get(&key(caller)).is_some_and(|until| *until > now);
        let latest = texts.text.filter(|(_, at)| now.saturating_sub(*at) < kept_seconds());
        let earlier = latest.map(|(operation, _)| TextOrigin::Earlier { operation: texts.operation(operation) });
        Ok(earlier.or_else(|| is_unwritten.then_some(TextOrigin::Earlier { operation: None })))
    }

    fn turn(&self, key: &str) -> &tokio::sync::Mutex<()> {
        let index = key.bytes().fold(0_usize, |sum, byte| sum + usize::from(byte)) % TURNS;
        self.turns.get(index).unwrap_or(&self.turns[0])
    }

    async fn texts(&self, caller: &Caller) -> Result<Option<ReadTexts>, StoreError> {
        Ok(with_timeout(self.store.get(&key(caller))).await?.as_ref().map(ReadTexts::parse))
    }
}

impl ReadTexts {
    /// A record that cannot be read was about something.
    fn parse(record: &Record) -> Self {
        serde_json::from_slice(&record.value).unwrap_or_else(|_| Self { crowded_until: i64::MAX, ..Self::default() })
    }

    fn operation(&self, index: usize) -> Option<Arc<str>> {
        self.operations.get(index).map(|name| name.as_str().into())
    }

    fn add(&mut self, operation: &str, content: &TextContent, now: i64, keeps_text: bool) {
        let index = self.operations.iter().position(|known| known == operation).unwrap_or_else(|| {
            if self.operations.len() < MAX_OPERATIONS {
                self.operations.push(operation.to_owned());
                return self.operations.len() - 1;
            }
            usize::MAX
        });
        let kept = kept_seconds();
        self.found.retain(|(digest, _, at)| !content.found.contains(digest) && now - at < kept);
        self.found.extend(content.found.iter().map(|digest| (*digest, index, now)));
        if content.is_cut {
            self.crowded_until = now.saturating_add(kept);
        }
        while self.found.len() > MAX_REMEMBERED {
            let forgotten = self.found.pop_front();
            let until = forgotten.map_or(0, |(_, _, at)| at.saturating_add(kept));
            self.crowded_until = self.crowded_until.max(until);
        }
        if keeps_text && content.has_text {
            self.text = Some((index, now));
        }
    }
}

impl TextContent {
    fn add_shown(&mut self, shown: Shown<'_>) {
        match shown {
            Shown::Answer(answer) => {
                match &answer.data {
                    Data::Value(value) => self.add_value(value),
                    Data::Text(json) => self.add_json(json.get()),
                }
                for attachment in &answer.attachments {
                    if let Attachment::Verbatim(json) = attachment {
                        self.add_json(json);
                    }
                }
            }
            Shown::Value(value) => self.add_value(value),
            // A server's refusal is a text of its own.
            Shown::Failure(failure) => {
                self.add(failure.message());
                failure.details().values().for_each(|detail| self.add_value(detail));
            }
        }
    }

    fn digest(&self, key: &str) -> u64 {
        let mut hash = Sha256::new();
        hash.update(key);
        hash.update([u8::from(self.has_text), u8::from(self.is_cut)]);
        self.found.iter().for_each(|digest| hash.update(digest.to_le_bytes()));
        first_bytes(&hash.finalize())
    }

    fn add_value(&mut self, value: &Value) {
        match value {
            Value::String(text) => self.add(text),
            Value::Array(items) => items.iter().for_each(|item| self.add_value(item)),
            Value::Object(members) => {
                for (name, member) in members {
                    self.add(name);
                    self.add_value(member);
                }
            }
            Value::Null | Value::Bool(_) | Value::Number(_) => {}
        }
    }

    /// Searches every string of a JSON text, names of members included, without building its values.
    fn add_json(&mut self, json: &str) {
        let mut rest = json;
        while let Some((_, after)) = rest.split_once('"') {
            let (mut end, mut is_escaped) = (0, false);
            while let Some(found) = after.get(end..).and_then(|rest| rest.find(['"', '\\'])) {
                end += found;
                if after.as_bytes().get(end) == Some(&b'"') {
                    break;
                }
                is_escaped = true;
                // What follows a backslash is one ASCII character.
                end += 2;
            }
            let (Some(text), Some(next)) = (after.get(..end), after.get(end.saturating_add(1)..)) else { return };
            if is_escaped {
                let unescaped: Option<String> = serde_json::from_str(&format!("\"{text}\"")).ok();
                // Half of a character is no text, but what is around it is read.
                self.add(unescaped.as_deref().unwrap_or(text));
            } else {
                self.add(text);
            }
            rest = next;
        }
    }

    fn add(&mut self, text: &str) {
        // Most strings are names and numbers: one look at each byte tells.
        let marks = text.bytes().fold(0, |marks, byte| marks | mark_of(byte));
        if marks & (BLANK | MARK) == 0 {
            return;
        }
        let text = text.trim();
        if text.len() <= MAX_WHOLE && is_whole(text) {
            return;
        }
        if self.keeps_text && !self.has_text {
            // Languages without blanks have words, too.
            let letters = || text.chars().filter(|c| !c.is_ascii() && c.is_alphabetic()).nth(MIN_WORDS).is_some();
            self.has_text = text.split_whitespace().nth(MIN_WORDS - 1).is_some() || letters();
        }
        if !self.keeps_traces || marks & (MARK | STOP | DIGIT) == 0 {
            return;
        }
        self.searched = self.searched.saturating_add(text.len());
        self.is_cut |= self.searched > MAX_SEARCHED;
        if self.is_cut {
            return;
        }
        let mut found = BTreeSet::new();
        traces(text, Searched::Text, &mut found);
        self.found.extend(found.iter().map(digest));
        while self.found.len() > MAX_FOUND {
            self.is_cut = true;
            self.found.pop_last();
        }
    }
}

/// Whether a parameter says where a change goes, or from where something is read.
fn leads_somewhere(operation: &Operation, parameter: &str) -> bool {
    let is_read_from = || {
        let name = snake_case(parameter);
        operation.category == Category::Read && READ_FROM.split_ascii_whitespace().any(|known| known == name)
    };
    operation.safety.effects.destinations.iter().any(|known| **known == *parameter)
        || (operation.category == Category::Read && ParameterRole::from_name(parameter) == ParameterRole::Destination)
        || is_read_from()
}

/// Whether values of this type may have members, which may be destinations.
fn may_have_members(schema: &Schema) -> bool {
    matches!(schema.kind, Kind::Any | Kind::Array(_) | Kind::Object(_) | Kind::Named(_) | Kind::Union(_))
}

fn collect_members(
    operation: &Operation,
    members: &Map<String, Value>,
    is_destination: bool,
    depth: usize,
    found: &mut BTreeSet<Destination>,
) {
    for (name, value) in members {
        // A member of a parameter is known by its name alone.
        let is_named = match depth {
            0 => leads_somewhere(operation, name),
            _ => ParameterRole::from_name(name) == ParameterRole::Destination,
        };
        // Some APIs take addresses as names of members.
        if is_destination {
            traces(name, Searched::Value, found);
        }
        collect(operation, value, is_destination || is_named, depth + 1, found);
    }
}

fn collect(
    operation: &Operation,
    value: &Value,
    is_destination: bool,
    depth: usize,
    found: &mut BTreeSet<Destination>,
) {
    match value {
        _ if depth > MAX_DEPTH => {}
        Value::String(text) if is_destination => traces(text, Searched::Value, found),
        Value::Number(number) if is_destination => traces(&number.to_string(), Searched::Value, found),
        Value::Array(items) => items.iter().for_each(|item| collect(operation, item, is_destination, depth + 1, found)),
        Value::Object(members) => collect_members(operation, members, is_destination, depth, found),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

fn kept_seconds() -> i64 {
    i64::try_from(KEPT.as_secs()).unwrap_or(i64::MAX)
}

fn digest(destination: &Destination) -> u64 {
    first_bytes(&Sha256::digest(format!("{:?} {}", destination.kind, destination.value)))
}

/// A blank, or a character of a language that may do without.
const BLANK: u8 = 1;
/// A character that stands in or around addresses.
const MARK: u8 = 2;
/// A full stop.
const STOP: u8 = 4;
const DIGIT: u8 = 8;

const fn mark_of(byte: u8) -> u8 {
    match byte {
        b' ' | b'\t' | b'\n' | b'\r' | 0x80.. => BLANK,
        b'@' | b'&' | b'%' | b'/' | b'\\' | b'=' | b',' | b';' | b'"' | b'(' | b'[' | b'<' => MARK,
        b'.' => STOP,
        b'0'..=b'9' => DIGIT,
        _ => 0,
    }
}

/// Whether a value is one address and nothing else, or a list of addresses.
fn is_whole(text: &str) -> bool {
    let is_one = |part: &str| {
        part.split_whitespace().nth(MAX_WHOLE_WORDS).is_none()
            && Destination::recognize(part).is_some_and(|found| found.kind != DestinationKind::Name)
    };
    is_one(text) || text.split([',', ';']).all(is_one)
}

fn first_bytes(hash: &[u8]) -> u64 {
    hash.first_chunk().map_or(0, |bytes| u64::from_le_bytes(*bytes))
}

/// The key of what a caller has read. Callers without an identity share one: a new connection forgets nothing.
fn key(caller: &Caller) -> String {
    let (kind, principal) = caller.principal.as_deref().map_or(("anonymous", ""), |principal| ("caller", principal));
    format!("{PREFIX}{}", hex(&Sha256::digest(format!("{kind} {principal}"))))
}
