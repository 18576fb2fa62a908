//! Compares addresses: of hosts, mail, accounts and files.
//!
//! Programs disagree about many spellings of an address. Only those that all of them read in the same way are compared; for
//! any other, the verdict is `Unsure`, so that no spelling slips through a rule.

use std::fmt;

use serde_json::Value;
use url::Host;

use super::Verdict;
use crate::destination::{Destination, DestinationKind, host_name};
use crate::policy::settings::PatternList;

/// Number of letters and digits that two spellings of one account have in common.
const MIN_ALIKE: usize = 6;

/// Whether an address is one of those that a rule names.
#[derive(Debug, Clone)]
pub(super) enum AddressTest {
    Host(Vec<HostPattern>),
    EmailDomain(Vec<DomainPattern>),
    Account(Vec<String>),
    PathUnder(Vec<Folder>),
}

/// A domain, or the names below one: `*.example.com`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct DomainPattern {
    domain: String,
    is_below: bool,
}

/// A host and its port. Without one, the usual port of a scheme.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct HostPattern {
    name: DomainPattern,
    port: Option<u16>,
}

/// A folder. Absolute paths begin with an empty name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Folder(Vec<String>);

impl AddressTest {
    pub(super) fn host(words: &PatternList, report: impl FnMut(String)) -> Self {
        let advice = "is no host: write 'example.com', '*.example.com' for the names below it, or 'example.com:8443'";
        AddressTest::Host(parse_all(words, HostPattern::parse, advice, report))
    }

    pub(super) fn email_domain(words: &PatternList, report: impl FnMut(String)) -> Self {
        let advice = "is no domain: write 'example.com', or '*.example.com' for the names below it";
        AddressTest::EmailDomain(parse_all(words, DomainPattern::parse, advice, report))
    }

    pub(super) fn account(words: &PatternList, report: impl FnMut(String)) -> Self {
        let advice = "is no account: write its letters and digits, with or without blanks";
        AddressTest::Account(parse_all(words, account, advice, report))
    }

    pub(super) fn path_under(words: &PatternList, report: impl FnMut(String)) -> Self {
        let advice =
            "is no folder: write '/srv/reports', or 'reports' for relative paths, without '.', '..' and wildcards";
        AddressTest::PathUnder(parse_all(words, Folder::pattern, advice, report))
    }

    pub(super) fn verdict(&self, value: &Value) -> Verdict {
        match (self, value) {
            (AddressTest::Host(hosts), Value::String(text)) => compare_host(text, hosts),
            (AddressTest::EmailDomain(domains), Value::String(text)) => compare_email(text, domains),
            (AddressTest::Account(accounts), Value::String(text)) => compare_account(text, accounts),
            // A float may have lost digits.
            (AddressTest::Account(accounts), Value::Number(number)) if !number.is_f64() => {
                compare_account(&number.to_string(), accounts)
            }
            (AddressTest::PathUnder(folders), Value::String(text)) => compare_path(text, folders),
            _ => Verdict::Unsure,
        }
    }

    /// The test as words after the name of a parameter.
    pub(super) fn describe(&self, is_inverted: bool) -> String {
        let (is, leads) = if is_inverted { ("is not", "does not lead") } else { ("is", "leads") };
        match self {
            AddressTest::Host(hosts) => format!("{leads} to host {}", listed(hosts)),
            AddressTest::EmailDomain(domains) => format!("{is} an address at {}", listed(domains)),
            AddressTest::Account(accounts) => format!("{is} account {}", listed(accounts)),
            AddressTest::PathUnder(folders) => format!("{leads} into folder {}", listed(folders)),
        }
    }
}

fn parse_all<T>(
    words: &PatternList,
    parse: impl Fn(&str) -> Option<T>,
    advice: &str,
    mut report: impl FnMut(String),
) -> Vec<T> {
    let mut parsed = Vec::new();
    for word in words.iter() {
        match parse(word) {
            Some(one) => parsed.push(one),
            None if word.starts_with('!') => report(format!("'{word}' excludes: set 'not = true' instead")),
            None => report(format!("'{word}' {advice}")),
        }
    }
    parsed
}

fn listed(items: &[impl fmt::Display]) -> String {
    items.iter().map(ToString::to_string).collect::<Vec<_>>().join(" or ")
}

impl DomainPattern {
    fn parse(word: &str) -> Option<Self> {
        let (domain, is_below) = word.strip_prefix("*.").map_or((word, false), |domain| (domain, true));
        let is_part = |c: char| c.is_alphanumeric() || matches!(c, '-' | '.' | '_');
        if domain.is_empty() || !domain.chars().all(is_part) {
            return None;
        }
        // An operator may write a domain as people read it.
        match Host::parse(domain).ok()? {
            Host::Domain(domain) => {
                Some(Self { domain: domain.strip_suffix('.').unwrap_or(&domain).to_owned(), is_below })
            }
            Host::Ipv4(address) => (!is_below).then(|| Self { domain: address.to_string(), is_below }),
            Host::Ipv6(_) => None,
        }
    }

    fn is_met_by(&self, host: &str) -> bool {
        match self.is_below {
            true => host.strip_suffix(&*self.domain).is_some_and(|below| below.len() > 1 && below.ends_with('.')),
            false => host == self.domain,
        }
    }
}

impl HostPattern {
    fn parse(word: &str) -> Option<Self> {
        let (name, port) = match word.rsplit_once(':') {
            Some((name, port)) => (name, Some(port.parse().ok()?)),
            None => (word, None),
        };
        Some(Self { name: DomainPattern::parse(name)?, port })
    }
}

impl Folder {
    /// The names of a path that all programs read in the same way.
    fn parse(text: &str) -> Option<Self> {
        let path = text.strip_suffix('/').unwrap_or(text);
        if text.is_empty() {
            return None;
        }
        let names: Vec<String> = path.split('/').map(str::to_owned).collect();
        let (first, rest) = names.split_first()?;
        // Some systems drop dots and blanks at the end of a name.
        let is_plain = |name: &String| {
            let is_plain = |c: char| c.is_alphanumeric() || " -_.,()+@=#&!".contains(c);
            !name.is_empty() && name.chars().all(is_plain) && !name.ends_with(['.', ' ']) && !name.starts_with(' ')
        };
        ((first.is_empty() || is_plain(first)) && rest.iter().all(is_plain)).then_some(Self(names))
    }

    /// A folder that a rule names: not the root, below which everything is.
    fn pattern(word: &str) -> Option<Self> {
        Self::parse(word).filter(|folder| folder.0.iter().any(|name| !name.is_empty()))
    }

    fn is_absolute(&self) -> bool {
        self.0.first().is_some_and(String::is_empty)
    }

    /// Whether a path leads into this folder.
    fn holds(&self, path: &Self) -> Verdict {
        if self.is_absolute() != path.is_absolute() {
            return Verdict::Unsure;
        }
        // The folder itself, and one that it is in, are neither in it nor elsewhere.
        let length = self.0.len().min(path.0.len());
        let (start, below) = path.0.split_at_checked(length).unwrap_or_default();
        let own = self.0.get(..length).unwrap_or_default();
        if start == own {
            return if below.is_empty() { Verdict::Unsure } else { Verdict::Yes };
        }
        // Systems differ in case, and in the spelling of letters with accents.
        let may_be_same =
            |(one, other): (&String, &String)| one.eq_ignore_ascii_case(other) || !(one.is_ascii() && other.is_ascii());
        match start.iter().zip(own).all(may_be_same) {
            true => Verdict::Unsure,
            false => Verdict::No,
        }
    }
}

impl fmt::Display for DomainPattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}{}", if self.is_below { "*." } else { "" }, self.domain)
    }
}

impl fmt::Display for HostPattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.name)?;
        self.port.map_or(Ok(()), |port| write!(f, ":{port}"))
    }
}

impl fmt::Display for Folder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0.join("/"))
    }
}

/// A host, and the port, if it is known.
struct NamedHost {
    name: String,
    port: Option<u16>,
    /// Whether no port is written, or the usual one.
    has_usual_port: bool,
}

impl NamedHost {
    /// The host that a link leads to, or that is named without one.
    fn parse(text: &str) -> Option<Self> {
        let (usual, authority) = if text.contains("://") {
            let link = Destination::recognize(text).filter(|found| found.kind == DestinationKind::Url)?.domain()?.value;
            let (scheme, authority) = link.split_once("://")?;
            (Some(if scheme == "http" { 80 } else { 443 }), authority.to_owned())
        } else {
            // Some take `name:443` for a link with the scheme `name`.
            (None, (!text.contains(':')).then(|| text.to_owned())?)
        };
        let (name, port) = host_name(&authority)?;
        let port = if port.is_empty() { None } else { Some(port.parse().ok()?) };
        Some(Self { name, port: port.or(usual), has_usual_port: port.is_none() })
    }
}

fn compare_host(text: &str, hosts: &[HostPattern]) -> Verdict {
    let Some(host) = NamedHost::parse(text) else { return Verdict::Unsure };
    Verdict::any(hosts.iter().filter(|pattern| pattern.name.is_met_by(&host.name)).map(|pattern| {
        match (pattern.port, host.port) {
            (None, _) if host.has_usual_port => Verdict::Yes,
            (None, _) | (Some(_), None) => Verdict::Unsure,
            (Some(expected), Some(port)) => Verdict::from(expected == port),
        }
    }))
}

/// A text may name several addresses.
fn compare_email(text: &str, domains: &[DomainPattern]) -> Verdict {
    Verdict::merge(Destination::parse(text, "").iter().map(|found| match (found.kind, found.value.rsplit_once('@')) {
        (DestinationKind::Email, Some((_, domain))) => domains.iter().any(|own| own.is_met_by(domain)).into(),
        _ => Verdict::Unsure,
    }))
}

/// The letters, digits and hyphens of an account number. Blanks and case do not matter.
fn account(text: &str) -> Option<String> {
    let is_written = |c: char| c.is_ascii_alphanumeric() || matches!(c, ' ' | '-');
    let number: String = text.chars().filter(|c| *c != ' ').map(|c| c.to_ascii_uppercase()).collect();
    let is_number = text.chars().all(is_written) && number.bytes().any(|byte| byte.is_ascii_alphanumeric());
    is_number.then_some(number)
}

fn compare_account(text: &str, accounts: &[String]) -> Verdict {
    let Some(number) = account(text) else { return Verdict::Unsure };
    let plain = number.replace('-', "");
    Verdict::any(accounts.iter().map(|account| match *account == number {
        true => Verdict::Yes,
        false if may_be_same(&plain, &account.replace('-', "")) => Verdict::Unsure,
        false => Verdict::No,
    }))
}

/// Whether two numbers may be one account, written with and without leading zeros, or as a part of an international number:
/// one is in the other, or they have a longer part in common.
fn may_be_same(one: &str, other: &str) -> bool {
    let in_common = |part: &[u8]| std::str::from_utf8(part).is_ok_and(|part| other.contains(part));
    one.contains(other) || other.contains(one) || one.as_bytes().windows(MIN_ALIKE).any(in_common)
}

fn compare_path(text: &str, folders: &[Folder]) -> Verdict {
    let Some(path) = Folder::parse(text) else { return Verdict::Unsure };
    Verdict::any(folders.iter().map(|folder| folder.holds(&path)))
}
