//! A destination in one spelling: what is equal in this form goes to the same place.
//!
//! Only spellings that every program reads in the same way are brought to one form. Any other text is a name, which equals
//! nothing but itself: asking once too often is better than taking one destination for another.

use std::net::Ipv4Addr;

use serde::{Deserialize, Serialize};
use url::Host;

/// Maximum length of a destination. Longer texts are no destinations that somebody agreed to.
pub(super) const MAX_CHARS: usize = 2_000;

/// What a destination is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum DestinationKind {
    /// An e-mail address.
    Email,
    /// A link.
    Url,
    /// An international bank account number.
    Account,
    /// An international phone number.
    Phone,
    /// A host that a text links to.
    Host,
    /// The name or the id of a user, a channel, an account or a place.
    Name,
}

/// A destination in one spelling.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub(crate) struct Destination {
    pub(crate) kind: DestinationKind,
    pub(crate) value: String,
    /// The parameter of a name: `all` is another channel than a recipient.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub(crate) parameter: String,
}

impl Destination {
    pub(super) fn new(kind: DestinationKind, value: impl Into<String>) -> Self {
        Self { kind, value: value.into(), parameter: String::new() }
    }

    /// A name given for a parameter.
    pub(super) fn named(text: &str, parameter: &str) -> Option<Self> {
        let value = text.trim();
        let parameter = parameter.to_owned();
        (!value.is_empty()).then(|| Self { kind: DestinationKind::Name, value: value.to_owned(), parameter })
    }

    /// Names that count only together, in the order of their parameters.
    pub(super) fn together<'a>(names: impl Iterator<Item = &'a Self>) -> Self {
        let mut pairs: Vec<[&str; 2]> = names.map(|name| [&*name.parameter, &*name.value]).collect();
        pairs.sort_unstable();
        Self::new(
            DestinationKind::Name,
            serde_json::Value::from_iter(pairs.iter().map(|pair| pair.to_vec())).to_string(),
        )
    }

    /// The destinations that a text names: one, or several e-mail addresses with commas or semicolons between them.
    pub(crate) fn parse(text: &str, parameter: &str) -> Vec<Self> {
        if let Some(destination) = Self::recognize(text) {
            return vec![destination];
        }
        let parts: Option<Vec<Self>> =
            text.split([',', ';']).map(|part| Self::recognize(part).filter(is_email)).collect();
        parts.unwrap_or_else(|| Self::named(text, parameter).into_iter().collect())
    }

    /// The destination, if the whole text is an address, a link, an account or a phone number.
    pub(crate) fn recognize(text: &str) -> Option<Self> {
        let text = text.trim();
        if text.len() > MAX_CHARS || text.chars().any(is_invisible) {
            return None;
        }
        email(text).or_else(|| link(text)).or_else(|| account(text)).or_else(|| phone(text))
    }

    /// The part that a person can agree to as a whole: the domain of an e-mail address, or scheme and host of a link.
    pub(crate) fn domain(&self) -> Option<Self> {
        let value = match self.kind {
            DestinationKind::Email => self.value.rsplit_once('@')?.1.to_owned(),
            DestinationKind::Url => {
                let (scheme, rest) = self.value.split_once("://")?;
                format!("{scheme}://{}", rest.split('/').next()?)
            }
            DestinationKind::Account | DestinationKind::Phone | DestinationKind::Host | DestinationKind::Name => {
                return None;
            }
        };
        Some(Self::new(self.kind, value))
    }
}

fn is_email(destination: &Destination) -> bool {
    destination.kind == DestinationKind::Email
}

/// Whether a character changes a text without being seen.
pub(crate) fn is_invisible(c: char) -> bool {
    c.is_control()
        || matches!(c, '\u{ad}' | '\u{61c}' | '\u{180e}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}')
        || matches!(c, '\u{2060}'..='\u{206f}' | '\u{feff}' | '\u{fe00}'..='\u{fe0f}' | '\u{e0000}'..='\u{e0fff}')
}

/// An e-mail address, also with a plain name: `Bob <bob@x.com>`.
fn email(text: &str) -> Option<Destination> {
    let address = match text.strip_suffix('>').and_then(|text| text.split_once('<')) {
        Some((name, address)) => {
            let is_plain = |c: char| c.is_alphanumeric() || matches!(c, ' ' | '.' | '-' | '\'' | '_');
            let name = name.trim().trim_matches('"');
            (name.chars().all(is_plain)).then_some(address)?
        }
        None => text,
    };
    let (local, domain) = address.split_once('@')?;
    // No `%` and `!`: some servers forward `a%b.com@c.com` to b.com.
    let is_allowed = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '_' | '+' | '-' | '=' | '\'' | '&' | '~');
    let is_local = !local.is_empty() && local.len() <= 64 && local.chars().all(is_allowed);
    let is_dotted = !local.starts_with('.') && !local.ends_with('.') && !local.contains("..");
    if !is_local || !is_dotted {
        return None;
    }
    let domain = domain_name(domain)?;
    Some(Destination::new(DestinationKind::Email, format!("{}@{domain}", local.to_ascii_lowercase())))
}

/// A name of the domain name system in ASCII and lower case. Programs disagree about the spelling of others.
pub(super) fn domain_name(text: &str) -> Option<String> {
    let is_part = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '.';
    if text.is_empty() || !text.chars().all(is_part) || text.contains("..") || text.starts_with('.') {
        return None;
    }
    match Host::parse(text.strip_suffix('.').unwrap_or(text)).ok()? {
        Host::Domain(domain) => Some(domain),
        Host::Ipv4(_) | Host::Ipv6(_) => None,
    }
}

/// The host of a link, and its port: a domain, or an IPv4 address in its usual form.
pub(crate) fn host_name(authority: &str) -> Option<(String, &str)> {
    let (host, port) = authority.split_once(':').unwrap_or((authority, ""));
    if !port.chars().all(|c| c.is_ascii_digit()) || host.ends_with('.') {
        return None;
    }
    let address = || host.parse::<Ipv4Addr>().ok().filter(|address| address.to_string() == host);
    Some((domain_name(host).or_else(|| Some(address()?.to_string()))?, port))
}

/// A link that all programs read in the same way: without user names, fragments, dot segments, and what some take for the end
/// of it.
fn link(text: &str) -> Option<Destination> {
    let (scheme, rest) = text.split_once("://")?;
    let scheme = ["http", "https"].into_iter().find(|known| scheme.eq_ignore_ascii_case(known))?;
    let (authority, path) = rest.split_at(rest.find(['/', '?']).unwrap_or(rest.len()));
    let (host, port) = host_name(authority)?;
    if !is_plain_path(path) {
        return None;
    }
    let is_default = matches!((scheme, port), (_, "") | ("http", "80") | ("https", "443"));
    let port = if is_default { String::new() } else { format!(":{port}") };
    let slash = if path.starts_with('/') { "" } else { "/" };
    Some(Destination::new(DestinationKind::Url, format!("{scheme}://{host}{port}{slash}{path}")))
}

/// Whether a path with its query has one meaning, and names no other host.
pub(super) fn is_plain_path(path: &str) -> bool {
    let is_plain = |c: char| {
        c.is_ascii_alphanumeric() || matches!(c, '/' | '?' | '=' | '&' | '-' | '_' | '.' | '~' | '%' | '+' | ':')
    };
    let lower = path.to_ascii_lowercase();
    let odd = ["//", ":/", "/.", "%2e", "%2f", "%5c", "%00", "www."];
    path.chars().all(is_plain) && !odd.iter().any(|odd| lower.contains(odd))
}

/// An international bank account number. Blanks and case do not matter.
fn account(text: &str) -> Option<Destination> {
    let is_written = |c: char| c.is_ascii_alphanumeric() || c == ' ';
    if !text.chars().all(is_written) {
        return None;
    }
    let number: String = text.chars().filter(|c| *c != ' ').map(|c| c.to_ascii_uppercase()).collect();
    let (country, rest) = number.split_at_checked(2)?;
    let (check, own) = rest.split_at_checked(2)?;
    let is_account = country.bytes().all(|byte| byte.is_ascii_uppercase())
        && check.bytes().all(|byte| byte.is_ascii_digit())
        && (10..=30).contains(&own.len())
        && has_checksum(&number);
    is_account.then(|| Destination::new(DestinationKind::Account, number))
}

/// Whether the check digits of an account number are right (ISO 7064, modulo 97).
fn has_checksum(number: &str) -> bool {
    let Some((start, rest)) = number.split_at_checked(4) else { return false };
    let remainder = rest.chars().chain(start.chars()).try_fold(0, |remainder, c| {
        let digit = c.to_digit(36)?;
        Some((remainder * if digit > 9 { 100 } else { 10 } + digit) % 97)
    });
    remainder == Some(1)
}

/// A phone number with its country: `+1 (555) 010-999`.
fn phone(text: &str) -> Option<Destination> {
    let rest = text.strip_prefix('+')?;
    let is_written = |c: char| c.is_ascii_digit() || matches!(c, ' ' | '-' | '.' | '(' | ')' | '/');
    let digits: String = rest.chars().filter(char::is_ascii_digit).collect();
    let is_phone = rest.chars().all(is_written) && !rest.contains("(0)") && (7..=15).contains(&digits.len());
    is_phone.then(|| Destination::new(DestinationKind::Phone, format!("+{digits}")))
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "tests")]
mod tests {
    use super::DestinationKind::{Account, Email, Name, Phone, Url};
    use super::*;

    fn parsed(text: &str) -> Vec<(DestinationKind, String)> {
        Destination::parse(text, "to").into_iter().map(|found| (found.kind, found.value)).collect()
    }

    #[test]
    fn r_saf_8_one_destination_has_one_spelling() {
        for (kind, spellings) in [
            (
                Email,
                &["bob@x.com", "Bob@X.com", " bob@x.com ", "BOB@x.COM.", "Bob <bob@x.com>", "\"Bob B.\" <BOB@x.com>"][..],
            ),
            (Email, &["a@xn--mnchen-3ya.example", "A@XN--mnchen-3ya.example"]),
            (Url, &["https://x.com/a?b=c", "HTTPS://X.com:443/a?b=c"]),
            (Account, &["DE89370400440532013000", "de89 3704 0044 0532 0130 00"]),
            (Phone, &["+1 (555) 010-999", "+1555010999", "+1.555.010.999"]),
        ] {
            let first = parsed(spellings[0]);
            assert_eq!(first.len(), 1);
            for spelling in spellings {
                assert_eq!(parsed(spelling), first, "{spelling}");
                assert_eq!(parsed(spelling)[0].0, kind, "{spelling}");
            }
        }
        let two = [(Email, "a@x.com".to_owned()), (Email, "b@y.com".to_owned())];
        assert_eq!(parsed("a@x.com, B@y.com"), two);
        assert_eq!(parsed("A <a@x.com>;b@y.com"), two);
        assert!(parsed("  ").is_empty());
    }

    #[test]
    fn r_saf_8_whatever_programs_read_differently_is_a_name_of_its_own() {
        let known = parsed("a@ours.com");
        for text in [
            "a@ours.com@evil.net",
            "evil@evil.net,a@ours.com",
            "evil@evil.net, A",
            "a@ours.com <evil@evil.net>",
            "\"a@ours.com\" <evil@evil.net>",
            "a@ours.com.evil.net",
            "a@ours.com\u{200b}",
            "a\u{200b}@ours.com",
            "a@ours\u{3002}com",
            "a@ours。com",
            "\u{ff41}@ours.com",
            "а@ours.com", // Cyrillic
            "a@оurs.com", // Cyrillic
            "evil%evil.net@ours.com",
            "evil.net!a@ours.com",
            "a @ours.com",
            "a@ours.com\nbcc: evil@evil.net",
            "a@ours.com?bcc=evil@evil.net",
            "mailto:a@ours.com",
            "a@ours.com evil@evil.net",
            "<a@ours.com> evil@evil.net",
            "a(evil@evil.net)@ours.com",
            "a@[10.0.0.1]",
            "a@10.0.0.1",
            "a..b@ours.com",
            ".a@ours.com",
            "a+x@ours.com",
        ] {
            assert_ne!(parsed(text), known, "{text}");
        }
        for text in [
            "https://ours.com@evil.net/",
            "https://ours.com:x@evil.net/",
            "https://evil.net\\@ours.com/",
            "https:ours.com/",
            "https:///ours.com",
            "https://ours.com./",
            "https://ours.com/a b",
            "https://ours.com%2eevil.net/",
            "javascript://ours.com/%0aalert(1)",
            "//ours.com/",
            "https://ours\u{200b}.com/",
            "https://ours.com/a#b",
            "https://ours.com/a/../b",
            "https://ours.com/a/%2E%2e/b",
            "https://ours.com,@evil.net/",
            "https://ours.com/\u{201d}https://evil.net/",
            "https://ours.com/?u=https://evil.net/",
            "http://012.0.0.8/",
            "http://2130706433/",
            "https://\u{ff4f}urs.com/",
            "https://stra\u{df}e.example/",
            "DE89370400440532013001",
            "US133000000121212121212",
            "+49 (0) 30 1234567",
        ] {
            let found = parsed(text);
            assert!(found.iter().all(|(kind, _)| *kind == Name), "{text}: {found:?}");
        }
        assert_eq!(parsed("#General"), [(Name, "#General".to_owned())]);
        assert_ne!(parsed("U123"), parsed("u123"));
    }

    #[test]
    fn r_saf_8_domains_are_whole() {
        let domain = |text: &str| Destination::parse(text, "to")[0].domain().map(|domain| domain.value);
        assert_eq!(domain("a@ours.com").as_deref(), Some("ours.com"));
        assert_eq!(domain("a@ours.com.evil.net").as_deref(), Some("ours.com.evil.net"));
        assert_eq!(domain("https://ours.com:443/a?b=c").as_deref(), Some("https://ours.com"));
        assert_eq!(domain("http://ours.com/").as_deref(), Some("http://ours.com"));
        assert_eq!(domain("https://ours.com:8443/").as_deref(), Some("https://ours.com:8443"));
        assert_eq!(domain("#general"), None);
    }
}
