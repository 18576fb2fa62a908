//! The destinations that people have agreed to, in the state store.
//!
//! Only a person's agreement to a call makes its destinations known, for the caller and the source of that call. What a model
//! or a server writes never does.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use aquifer_engine::Caller;
use aquifer_engine::clock::{Clock as _, SteadyClock};
use aquifer_engine::store::{Record, StateStore, StoreError};
use aquifer_protocol::hex::hex;
use aquifer_protocol::operation::Operation;
use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use super::address::{Destination, DestinationKind};
use super::find::CallDestinations;
use super::settings::{ConfiguredDestinations, DestinationSettings, DestinationSettingsError};
use crate::timeout::{change_record, with_timeout};

const PREFIX: &str = "gate/known/";

/// Maximum number of destinations listed.
const MAX_LISTED: usize = 10_000;

/// Number of characters of an id that are shown.
const ID_CHARS: usize = 10;

/// For what a destination is known.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Scope {
    /// Something may be sent to it.
    Recipient,
    /// Something may be sent to everything at this domain.
    Domain,
    /// Texts may mention it.
    Mentioned,
}

/// How a call uses a destination.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Role {
    Recipient,
    Mentioned,
}

/// What a person wants to be remembered about the destinations of a call.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Remember {
    /// Exactly these destinations, and what the texts mention.
    Destinations,
    /// The same, and everything at the domains of these destinations.
    Domains,
    /// Nothing: the person wants to be asked again, or was not told that anything is remembered.
    #[default]
    Nothing,
}

/// A destination that a person agreed to.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct KnownDestination {
    /// Its id, long enough to name it.
    #[serde(default)]
    pub id: String,
    /// The source.
    pub source: String,
    /// The database or server behind the source.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub place: String,
    /// The caller, if known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub caller: Option<String>,
    /// What it is.
    pub kind: DestinationKind,
    /// The destination, or the domain.
    pub destination: String,
    /// For what it is known.
    pub scope: Scope,
    /// The operation that was agreed to.
    pub operation: String,
    /// Who agreed, if known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub approved_by: Option<String>,
    /// When.
    pub approved_at: Timestamp,
    /// Until when it is known.
    pub expires_at: Timestamp,
}

/// Knows the destinations that people have agreed to.
pub(crate) struct KnownDestinations {
    store: Arc<dyn StateStore>,
    clock: Arc<SteadyClock>,
    configured: BTreeMap<String, ConfiguredDestinations>,
    remember_for: Duration,
}

impl KnownDestinations {
    pub(crate) fn new(
        settings: &DestinationSettings,
        store: Arc<dyn StateStore>,
        clock: Arc<SteadyClock>,
    ) -> Result<Self, DestinationSettingsError> {
        Ok(Self { store, clock, configured: settings.parse()?, remember_for: settings.remember_for })
    }

    /// How long destinations stay known.
    pub(crate) fn remember_for(&self) -> Duration {
        self.remember_for
    }

    /// Whether destinations are remembered at all.
    pub(crate) fn remembers(&self) -> bool {
        !self.remember_for.is_zero()
    }

    /// Whether a call goes only where a person has agreed to, and its texts mention nothing else. While the store is
    /// unavailable, only those destinations are known that the operator configured.
    pub(crate) async fn know_all(
        &self,
        operation: &Operation,
        caller: &Caller,
        destinations: &CallDestinations,
    ) -> bool {
        if !destinations.is_complete() {
            return false;
        }
        let configured = self.configured.get(&*operation.origin.source);
        let is_configured = |name| configured.is_some_and(|configured| configured.contain(name, Role::Recipient));
        let has_configured_names = destinations.names().all(is_configured);
        for place in destinations.places() {
            let is_known = place.kind == DestinationKind::Name && has_configured_names;
            if !is_known && !self.knows(operation, caller, (&place, Role::Recipient)).await {
                return false;
            }
        }
        for mentioned in destinations.mentioned() {
            if !self.knows(operation, caller, (mentioned, Role::Mentioned)).await {
                return false;
            }
        }
        true
    }

    /// Those to which nobody has agreed as a recipient.
    pub(crate) async fn unknown_among(
        &self,
        operation: &Operation,
        caller: &Caller,
        destinations: impl IntoIterator<Item = Destination>,
    ) -> Vec<Destination> {
        let mut unknown = Vec::new();
        for destination in destinations {
            if !self.knows(operation, caller, (&destination, Role::Recipient)).await {
                unknown.push(destination);
            }
        }
        unknown
    }

    /// The destinations and mentions of a call to which nobody has agreed.
    pub(crate) async fn unknown_of(
        &self,
        operation: &Operation,
        caller: &Caller,
        destinations: &CallDestinations,
    ) -> Vec<Destination> {
        let mut unknown = self.unknown_among(operation, caller, destinations.recipients().cloned()).await;
        for mentioned in destinations.mentioned() {
            if !self.knows(operation, caller, (mentioned, Role::Mentioned)).await {
                unknown.push(mentioned.clone());
            }
        }
        unknown
    }

    async fn knows(&self, operation: &Operation, caller: &Caller, (destination, role): (&Destination, Role)) -> bool {
        let configured = self.configured.get(&*operation.origin.source);
        if configured.is_some_and(|configured| configured.contain(destination, role)) {
            return true;
        }
        let key = |destination: &Destination, scope| key(operation, caller, destination, scope);
        let keys = [
            Some(key(destination, Scope::Recipient)),
            destination.domain().map(|domain| key(&domain, Scope::Domain)),
            (role == Role::Mentioned).then(|| key(destination, Scope::Mentioned)),
        ];
        for key in keys.into_iter().flatten() {
            match with_timeout(self.store.get(&key)).await {
                Ok(Some(record)) if !record.value.is_empty() => return true,
                Ok(_) => {}
                Err(error) => {
                    tracing::warn!(%error, "it is not known whether somebody agreed to a destination");
                    return false;
                }
            }
        }
        false
    }

    /// Makes the destinations of a call known that a person agreed to. What its texts mention may be mentioned again, which
    /// does not make it a recipient. Nothing is remembered if the person may not have seen all of it.
    pub(crate) async fn remember(
        &self,
        operation: &Operation,
        caller: &Caller,
        destinations: &CallDestinations,
        (remember, by): (Remember, Option<&str>),
    ) -> Result<(), StoreError> {
        if !destinations.is_complete() {
            return Ok(());
        }
        let mentioned = destinations.mentioned().map(|mentioned| (mentioned.clone(), Scope::Mentioned));
        self.remember_each(operation, caller, destinations.places(), mentioned.collect(), (remember, by)).await
    }

    /// Makes these known as recipients, and others as something that texts may mention.
    pub(crate) async fn remember_each(
        &self,
        operation: &Operation,
        caller: &Caller,
        places: Vec<Destination>,
        others: Vec<(Destination, Scope)>,
        (remember, by): (Remember, Option<&str>),
    ) -> Result<(), StoreError> {
        if remember == Remember::Nothing || !self.remembers() {
            return Ok(());
        }
        let widened = |place: Destination| match place.domain().filter(|_| remember == Remember::Domains) {
            Some(domain) => (domain, Scope::Domain),
            None => (place, Scope::Recipient),
        };
        let places = places.into_iter().map(widened);
        let now = self.clock.now();
        let expires_at = now.checked_add(self.remember_for).unwrap_or(Timestamp::MAX);
        for (destination, scope) in places.chain(others) {
            let known = KnownDestination {
                id: String::new(),
                source: operation.origin.source.to_string(),
                place: operation.origin.place.to_string(),
                caller: caller.principal.as_deref().map(str::to_owned),
                kind: destination.kind,
                destination: destination.value.clone(),
                scope,
                operation: operation.name.to_string(),
                approved_by: by.map(str::to_owned),
                approved_at: now,
                expires_at,
            };
            let value = serde_json::to_vec(&known).map_err(|error| StoreError(error.to_string()))?;
            let write = |_: Option<&Record>| Some((value.clone(), self.remember_for));
            change_record(&*self.store, &key(operation, caller, &destination, scope), write).await?;
        }
        Ok(())
    }
}

/// The key of a destination. It does not depend on the session: a person agrees for longer. A name means something only as the
/// value of a parameter of one operation.
fn key(operation: &Operation, caller: &Caller, destination: &Destination, scope: Scope) -> String {
    let mut hash = Sha256::new();
    let (origin, principal) = (&operation.origin, caller.principal.as_deref());
    let is_name = destination.kind == DestinationKind::Name;
    let of_name = if is_name { [&*operation.name, &*destination.parameter] } else { ["", ""] };
    hash.update(format!(
        "{scope:?} {:?} {}",
        destination.kind,
        if principal.is_some() { "caller" } else { "anonymous" }
    ));
    let parts = [&*origin.source, &*origin.place, principal.unwrap_or_default(), &*destination.value];
    for part in parts.into_iter().chain(of_name) {
        hash.update(format!(" {}:{part}", part.len()));
    }
    format!("{PREFIX}{}", hex(&hash.finalize()))
}

/// The destinations that people have agreed to, by source and destination.
pub async fn list(store: &dyn StateStore) -> Result<Vec<KnownDestination>, StoreError> {
    let records = with_timeout(store.list(PREFIX, MAX_LISTED)).await?;
    let mut known: Vec<_> = records.iter().filter_map(|(key, record)| from_record(key, record)).collect();
    known.sort_by(|one, other| (&one.source, &one.destination).cmp(&(&other.source, &other.destination)));
    Ok(known)
}

fn from_record(key: &str, record: &Record) -> Option<KnownDestination> {
    let known: KnownDestination = serde_json::from_slice(&record.value).ok()?;
    Some(KnownDestination { id: key.strip_prefix(PREFIX)?.get(..ID_CHARS)?.to_owned(), ..known })
}

/// Forgets the destinations with one of these ids, or all. Returns those that were forgotten.
pub async fn forget(store: &dyn StateStore, ids: Option<&[String]>) -> Result<Vec<KnownDestination>, StoreError> {
    let mut forgotten = Vec::new();
    for (key, record) in with_timeout(store.list(PREFIX, MAX_LISTED)).await? {
        let Some(known) = from_record(&key, &record) else { continue };
        let is_named = ids.is_none_or(|ids| ids.contains(&known.id));
        if is_named {
            // An empty record is no agreement. It goes when it expires.
            change_record(store, &key, |_| Some((Vec::new(), Duration::from_secs(1)))).await?;
            forgotten.push(known);
        }
    }
    Ok(forgotten)
}
