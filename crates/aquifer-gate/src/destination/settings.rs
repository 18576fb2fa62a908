//! Settings of destinations: those that the operator knows, and how long those are kept that people agreed to.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use super::address::{Destination, DestinationKind, domain_name};
use super::known::Role;

const DAY: u64 = 24 * 60 * 60;

/// Longest time for which an agreement is kept, in days.
const MAX_DAYS: u64 = 3_650;

/// The destinations that nobody is asked about, and how long others stay known.
#[derive(Debug, Clone)]
pub struct DestinationSettings {
    /// The destinations that the operator knows, by source: addresses, and whole domains as `@domain` or `https://host/*`.
    pub known: BTreeMap<String, Vec<String>>,
    /// How long a destination stays known after a person agreed to it. Zero: it is asked about every time.
    pub remember_for: Duration,
    /// Whether calls that would run are asked about if a destination of theirs stood inside a text.
    pub asks_about_texts: bool,
    /// Whether every change is confirmed after its caller has read a text.
    pub confirms_after_text: bool,
}

impl Default for DestinationSettings {
    fn default() -> Self {
        let remember_for = Duration::from_secs(180 * DAY);
        Self { known: BTreeMap::new(), remember_for, asks_about_texts: true, confirms_after_text: false }
    }
}

/// Why a setting of destinations is invalid.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum DestinationSettingsError {
    /// A known destination that is no address and no domain.
    #[error(
        "'{entry}' of source '{source_name}' is no known destination: write an address ('bob@example.com'), all addresses of a \
         domain ('@example.com'), a link ('https://example.com/hook'), all links of a host ('https://example.com/*'), an \
         account, a phone number or a name. '*' stands for nothing else"
    )]
    Unreadable {
        /// The entry.
        entry: String,
        /// The source.
        source_name: String,
    },
    /// A time that is too long.
    #[error("destinations can be remembered for at most {MAX_DAYS} days")]
    TooLong,
}

/// The destinations that the operator knows of one source.
#[derive(Debug, Default)]
pub(super) struct ConfiguredDestinations {
    exact: BTreeSet<Destination>,
    domains: BTreeSet<Destination>,
}

impl ConfiguredDestinations {
    pub(super) fn contain(&self, destination: &Destination, role: Role) -> bool {
        // Something is read from a host only if its links are known, not the addresses there.
        let is_known_host = |role: Role| {
            let of = |kind: DestinationKind, value: String| self.domains.contains(&Destination::new(kind, value));
            of(DestinationKind::Url, format!("https://{}", destination.value))
                || (role == Role::Mentioned && of(DestinationKind::Email, destination.value.clone()))
        };
        // The operator means a name wherever it says who gets something.
        let exact = Destination { parameter: String::new(), ..destination.clone() };
        self.exact.contains(&exact)
            || destination.domain().is_some_and(|domain| self.domains.contains(&domain))
            || (destination.kind == DestinationKind::Host && is_known_host(role))
    }
}

impl DestinationSettings {
    /// The known destinations by source.
    pub(super) fn parse(&self) -> Result<BTreeMap<String, ConfiguredDestinations>, DestinationSettingsError> {
        if self.remember_for > Duration::from_secs(MAX_DAYS * DAY) {
            return Err(DestinationSettingsError::TooLong);
        }
        let of_source = |(source, entries): (&String, &Vec<String>)| {
            let mut configured = ConfiguredDestinations::default();
            for entry in entries {
                if !configured.add(entry) {
                    let (entry, source_name) = (entry.clone(), source.clone());
                    return Err(DestinationSettingsError::Unreadable { entry, source_name });
                }
            }
            Ok((source.clone(), configured))
        };
        self.known.iter().map(of_source).collect()
    }
}

impl DestinationSettings {
    /// What the operator should know about known destinations that mean something else than they seem to.
    pub fn warnings(&self) -> Vec<String> {
        let looks_like_domain = |entry: &str| {
            let end = entry.rsplit_once('.').map_or("", |(_, end)| end);
            Destination::recognize(entry).is_none()
                && domain_name(entry).is_some()
                && end.len() > 1
                && end.chars().all(|c| c.is_ascii_alphabetic())
        };
        let entries = self.known.iter().flat_map(|(source, entries)| entries.iter().map(move |entry| (source, entry)));
        entries
            .filter(|(_, entry)| looks_like_domain(entry))
            .map(|(source, entry)| {
                format!(
                    "'{entry}' in known_destinations of source '{source}' is a name: write '@{entry}' for the addresses of this \
                     domain, or 'https://{entry}/*' for its links"
                )
            })
            .collect()
    }
}

impl ConfiguredDestinations {
    /// Adds an entry. Returns `false` if it is no destination.
    fn add(&mut self, entry: &str) -> bool {
        if let Some(domain) = entry.strip_prefix('@') {
            let domain = domain_name(domain).filter(|domain| domain.contains('.'));
            return domain.map(|value| self.domains.insert(Destination::new(DestinationKind::Email, value))).is_some();
        }
        if let Some(host) = entry.strip_suffix("/*") {
            let domain = Destination::recognize(&format!("{host}/")).and_then(|link| link.domain());
            let domain = domain.filter(|domain| domain.kind == DestinationKind::Url && *host == *domain.value);
            return domain.map(|domain| self.domains.insert(domain)).is_some();
        }
        let parsed = Destination::parse(entry, "");
        let is_one = parsed.len() == 1 && !entry.contains('*');
        if is_one {
            self.exact.extend(parsed);
        }
        is_one
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "tests")]
mod tests {
    use super::*;

    fn settings(entries: &[&str]) -> Result<BTreeMap<String, ConfiguredDestinations>, DestinationSettingsError> {
        let entries = entries.iter().map(|entry| (*entry).to_owned()).collect();
        DestinationSettings { known: BTreeMap::from([("mail".to_owned(), entries)]), ..DestinationSettings::default() }
            .parse()
    }

    #[test]
    fn r_saf_8_a_configured_domain_is_that_domain_and_no_other() {
        let parsed = settings(&["@ours.com", "eve@x.com", "https://hooks.ours.com/*", "#general"]).unwrap();
        let knows = |text: &str| {
            Destination::parse(text, "to").iter().all(|found| parsed["mail"].contain(found, Role::Recipient))
        };
        for text in
            ["a@ours.com", "B@OURS.com", "eve@x.com", "https://hooks.ours.com/1?b", "#general", "a@ours.com,b@ours.com"]
        {
            assert!(knows(text), "{text}");
        }
        for text in [
            "a@mail.ours.com",
            "a@ours.com.evil.net",
            "a@evilours.com",
            "evil@evil.net,a@ours.com",
            "bob@x.com",
            "http://hooks.ours.com/1",
            "https://hooks.ours.com:8443/1",
            "https://hooks.ours.com.evil.net/1",
            "https://hooks.ours.com@evil.net/1",
            "https://ours.com/1",
            "#General",
        ] {
            assert!(!knows(text), "{text}");
        }
    }

    #[test]
    fn names_that_look_like_domains_are_warned_about() {
        let known = |entry: &str| {
            let entries = vec![entry.to_owned()];
            let known = BTreeMap::from([("mail".to_owned(), entries)]);
            DestinationSettings { known, ..DestinationSettings::default() }.warnings()
        };
        assert!(known("our-company.com")[0].contains("write '@our-company.com'"));
        for entry in ["@our-company.com", "a@our-company.com", "https://our-company.com/*", "#general", "C0123", "team"]
        {
            assert!(known(entry).is_empty(), "{entry}");
        }
    }

    #[test]
    fn entries_that_say_less_than_they_seem_to_are_refused() {
        for entry in [
            "",
            "*",
            "*@ours.com",
            "@",
            "@com",
            "@*.com",
            "https://*/",
            "https://ours.com*",
            "https://ours.com/a/*",
            "a@x.com,b@x.com",
        ] {
            assert!(settings(&[entry]).is_err(), "{entry}");
        }
        let too_long = Duration::from_secs((MAX_DAYS + 1) * DAY);
        assert!(DestinationSettings { remember_for: too_long, ..DestinationSettings::default() }.parse().is_err());
    }
}
