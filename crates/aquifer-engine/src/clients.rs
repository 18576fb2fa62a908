//! The clients that are connected, by the names that they give themselves. A name is not an identity: it is shown to
//! people and decides nothing.

use std::collections::BTreeMap;
use std::sync::Arc;

use aquifer_protocol::text;
use jiff::{SignedDuration, Timestamp};
use parking_lot::{Mutex, MutexGuard};

/// How many clients are listed. Others are only counted.
const MAX_CLIENTS: usize = 200;

/// How many characters of a name and of a version are kept.
const MAX_NAME_CHARS: usize = 64;

/// How long a client without a connection is listed after it has asked for the tools.
const RECENT: SignedDuration = SignedDuration::from_mins(15);

/// A client that is connected, or that has asked for the tools recently.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ConnectedClient {
    /// The name it gave itself, cleaned.
    pub name: String,
    /// The version it gave itself, cleaned.
    pub version: String,
    /// How it is connected.
    pub transport: ClientTransport,
    /// When it connected, or when it first asked for the tools.
    pub since: Timestamp,
}

/// How a client is connected.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ClientTransport {
    /// Over stdio.
    Stdio,
    /// Over HTTP, with a session.
    HttpSession,
    /// Over HTTP, with requests that stand alone. Such a client is never connected; it is listed for some minutes.
    HttpRequests,
}

impl ClientTransport {
    /// The name that people see.
    pub const fn as_str(self) -> &'static str {
        match self {
            ClientTransport::Stdio => "stdio",
            ClientTransport::HttpSession => "HTTP session",
            ClientTransport::HttpRequests => "HTTP requests",
        }
    }
}

/// The list of connected clients.
#[derive(Debug, Default)]
pub struct ClientRegistry(Mutex<State>);

#[derive(Debug, Default)]
struct State {
    next: u64,
    connected: BTreeMap<u64, ConnectedClient>,
    /// How many connected clients are not listed.
    unlisted: usize,
    /// Clients without a connection, and when each was last seen.
    recent: Vec<(ConnectedClient, Timestamp)>,
}

impl ClientRegistry {
    /// Lists a client until the result is dropped.
    pub fn connect(
        self: &Arc<Self>,
        name: &str,
        version: &str,
        transport: ClientTransport,
        now: Timestamp,
    ) -> ClientConnection {
        let mut state = self.state();
        let place = if state.connected.len() < MAX_CLIENTS {
            state.next += 1;
            let number = state.next;
            state.connected.insert(number, client(name, version, transport, now));
            Some(number)
        } else {
            state.unlisted += 1;
            None
        };
        ClientConnection { registry: self.clone(), place }
    }

    /// Lists a client without a connection for some minutes.
    pub fn note(&self, name: &str, version: &str, now: Timestamp) {
        let seen = client(name, version, ClientTransport::HttpRequests, now);
        let mut state = self.state();
        state.recent.retain(|(_, last)| is_recent(*last, now));
        let known = state.recent.iter_mut().find(|(known, _)| known.name == seen.name && known.version == seen.version);
        match known {
            Some((_, last)) => *last = now,
            None => {
                if state.recent.len() >= MAX_CLIENTS {
                    state.recent.remove(0);
                }
                state.recent.push((seen, now));
            }
        }
    }

    /// The clients, the oldest first, and how many more are connected.
    pub fn list(&self, now: Timestamp) -> (Vec<ConnectedClient>, usize) {
        let state = self.state();
        let recent = state.recent.iter().filter(|(_, last)| is_recent(*last, now)).map(|(client, _)| client);
        let mut clients: Vec<ConnectedClient> = state.connected.values().chain(recent).cloned().collect();
        clients.sort_by_key(|client| client.since);
        (clients, state.unlisted)
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock()
    }
}

/// A connected client. Dropping it removes the client from the list.
#[derive(Debug)]
pub struct ClientConnection {
    registry: Arc<ClientRegistry>,
    place: Option<u64>,
}

impl Drop for ClientConnection {
    fn drop(&mut self) {
        let mut state = self.registry.state();
        match self.place {
            Some(number) => drop(state.connected.remove(&number)),
            None => state.unlisted = state.unlisted.saturating_sub(1),
        }
    }
}

fn client(name: &str, version: &str, transport: ClientTransport, since: Timestamp) -> ConnectedClient {
    let [name, version] = [name, version].map(|text| {
        let beginning: String = text.chars().take(MAX_NAME_CHARS).collect();
        text::clean(&beginning).trim().to_owned()
    });
    let name = if name.is_empty() { "without a name".to_owned() } else { name };
    ConnectedClient { name, version, transport, since }
}

fn is_recent(last: Timestamp, now: Timestamp) -> bool {
    now.duration_since(last) <= RECENT
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(registry: &ClientRegistry, now: Timestamp) -> Vec<String> {
        registry.list(now).0.into_iter().map(|client| client.name).collect()
    }

    #[test]
    fn a_client_is_listed_while_it_is_connected() {
        let registry = Arc::new(ClientRegistry::default());
        let now = Timestamp::UNIX_EPOCH;
        let first = registry.connect("Desk\u{202e}top", "1.2", ClientTransport::HttpSession, now);
        let second = registry.connect(&"x".repeat(1000), "", ClientTransport::Stdio, now);
        assert_eq!(names(&registry, now), ["Desktop".to_owned(), "x".repeat(MAX_NAME_CHARS)]);
        drop(first);
        assert_eq!(names(&registry, now).len(), 1);
        drop(second);
        assert_eq!(names(&registry, now), Vec::<String>::new());
    }

    #[test]
    fn the_list_is_bounded() {
        let registry = Arc::new(ClientRegistry::default());
        let now = Timestamp::UNIX_EPOCH;
        let all: Vec<_> = (0..MAX_CLIENTS + 3)
            .map(|number| registry.connect(&number.to_string(), "", ClientTransport::Stdio, now))
            .collect();
        assert_eq!((registry.list(now).0.len(), registry.list(now).1), (MAX_CLIENTS, 3));
        drop(all);
        assert_eq!(registry.list(now), (Vec::new(), 0));
        (0..MAX_CLIENTS + 3).for_each(|number| registry.note(&number.to_string(), "", now));
        assert_eq!(registry.list(now).0.len(), MAX_CLIENTS);
    }

    #[test]
    fn a_client_without_a_connection_is_listed_for_some_minutes() {
        let registry = ClientRegistry::default();
        let now = Timestamp::UNIX_EPOCH;
        registry.note("agent", "1", now);
        let later = now + SignedDuration::from_mins(10);
        registry.note("agent", "1", later);
        assert_eq!(names(&registry, now + SignedDuration::from_mins(20)), ["agent"]);
        assert_eq!(registry.list(later).0.first().map(|client| client.since), Some(now));
        assert_eq!(names(&registry, now + SignedDuration::from_mins(26)), Vec::<String>::new());
    }
}
