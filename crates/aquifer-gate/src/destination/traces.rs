//! Traces of destinations in texts: everything that a program or a reader may take for an e-mail address, a host or a number.
//!
//! Here a trace too many costs a question, and one too few lets a destination through. So nothing has to be well-formed: a text
//! is cut at every character that cannot be part of a trace, and what is left counts in every length that makes sense.

use std::collections::BTreeSet;

use super::address::Destination;
use super::address::DestinationKind;
use super::text::{FILE_ENDS, MIN_ACCOUNT_DIGITS};

/// Maximum number of bytes of one trace.
const MAX_BYTES: usize = 320;

/// Maximum number of parts of a host of which shorter ones count as well.
const MAX_LABELS: usize = 8;

/// Maximum number of characters of a reference of HTML, with its semicolon.
const MAX_REFERENCE: usize = 10;

/// Characters of the local part of an e-mail address.
fn is_local(c: char) -> bool {
    c.is_ascii_alphanumeric() || matches!(c, '.' | '_' | '+' | '-' | '=' | '~')
}

/// Characters of the name of a host.
fn is_host(c: char) -> bool {
    c.is_ascii_alphanumeric() || matches!(c, '.' | '-')
}

/// What is searched.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Searched {
    /// A text, in which an address may go over into the next word.
    Text,
    /// A value that a call goes to: only what is written counts.
    Value,
}

/// The traces of a text: e-mail addresses, hosts, and the digits of accounts and phone numbers.
pub(super) fn traces(text: &str, searched: Searched, found: &mut BTreeSet<Destination>) {
    let decoded = decode(text);
    let text = decoded.as_deref().unwrap_or(text);
    emails(text, searched, found);
    hosts(text, searched, found);
    if text.bytes().filter(u8::is_ascii_digit).count() >= MIN_ACCOUNT_DIGITS {
        numbers(text, found);
    }
}

/// A text with the characters that references of HTML, percent signs and backslashes stand for. `None` if there are none.
fn decode(text: &str) -> Option<String> {
    if !text.contains(['&', '%', '\\', '\u{3002}', '\u{ff0e}', '\u{ff20}']) {
        return None;
    }
    let mut decoded = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(c) = rest.chars().next() {
        let after = rest.get(c.len_utf8()..).unwrap_or_default();
        // Two of them are slashes to some; one may stand for a line break.
        if let Some(after) = after.strip_prefix('\\').filter(|_| c == '\\') {
            decoded.push_str("\\\\");
            rest = after;
            continue;
        }
        let (read, next) = match c {
            '\\' => after.strip_prefix(['n', 'r', 't']).map_or((c, after), |after| (' ', after)),
            '&' => reference(after).unwrap_or(('&', after)),
            '%' => percent(after).unwrap_or(('%', after)),
            '\u{3002}' | '\u{ff0e}' => ('.', after),
            '\u{ff20}' => ('@', after),
            c => (c, after),
        };
        decoded.push(read);
        rest = next;
    }
    Some(decoded)
}

/// The character of `#64;`, `#x40;`, `commat;` or `period;`, and what follows.
fn reference(text: &str) -> Option<(char, &str)> {
    let end = text.char_indices().take(MAX_REFERENCE).find(|(_, c)| *c == ';').map(|(end, _)| end)?;
    let (name, after) = (text.get(..end)?, text.get(end + 1..)?);
    let code = match name.strip_prefix('#') {
        Some(code) => match code.strip_prefix(['x', 'X']) {
            Some(hex) => u32::from_str_radix(hex, 16).ok()?,
            None => code.parse().ok()?,
        },
        None => u32::from(match name {
            "commat" => '@',
            "period" => '.',
            "sol" => '/',
            "colon" => ':',
            "amp" => '&',
            _ => ' ',
        }),
    };
    Some((char::from_u32(code)?, after))
}

fn percent(text: &str) -> Option<(char, &str)> {
    let (code, after) = text.split_at_checked(2)?;
    let code = u8::from_str_radix(code, 16).ok().filter(u8::is_ascii)?;
    Some((char::from(code), after))
}

fn emails(text: &str, searched: Searched, found: &mut BTreeSet<Destination>) {
    for (at, _) in text.match_indices('@') {
        let (before, after) = (text.get(..at).unwrap_or_default(), text.get(at + 1..).unwrap_or_default());
        let start = before.char_indices().rev().take(MAX_BYTES).take_while(|(_, c)| is_local(*c)).last();
        let Some(local) = start.and_then(|(start, _)| before.get(start..)) else { continue };
        let Some(domains) = domains(after, searched) else { continue };
        // `to=eve` and `eve` may both be meant.
        let locals = [Some(local), local.rsplit_once('=').map(|(_, local)| local)];
        for local in locals.into_iter().flatten() {
            let local = local.trim_matches('.').to_ascii_lowercase();
            for domain in domains.iter().filter(|_| !local.is_empty()) {
                found.insert(Destination::new(DestinationKind::Email, format!("{local}@{domain}")));
            }
        }
    }
}

/// The domain with which a text begins, and the shorter ones with which it may end: a sentence may follow without a blank.
fn domains(text: &str, searched: Searched) -> Option<Vec<String>> {
    let end = text
        .char_indices()
        .take(MAX_BYTES)
        .find(|(_, c)| !is_host(*c))
        .map_or(text.len().min(MAX_BYTES), |(end, _)| end);
    let name = text.get(..end)?.trim_matches(['.', '-']).to_ascii_lowercase();
    let labels: Vec<&str> = name.split('.').filter(|label| !label.is_empty()).collect();
    let is_domain = labels.len() > 1;
    let is_one = searched == Searched::Value || labels.len() > MAX_LABELS;
    let lengths = if is_one { labels.len()..=labels.len() } else { 2..=labels.len() };
    is_domain.then(|| lengths.filter_map(|length| Some(labels.get(..length)?.join("."))).collect())
}

fn hosts(text: &str, searched: Searched, found: &mut BTreeSet<Destination>) {
    let host = |name: String| Destination::new(DestinationKind::Host, name);
    // What follows two slashes, whatever it looks like, and behind the user names in it.
    let is_slash = |c: char| matches!(c, '/' | '\\');
    let mut rest = text;
    while let Some(slash) = rest.find(is_slash) {
        let after = rest.get(slash..).unwrap_or_default();
        let behind = after.trim_start_matches(is_slash);
        if after.len() - behind.len() > 1 {
            let is_end = |c: char| is_slash(c) || matches!(c, '?' | '#' | '"' | '<' | '>') || c.is_whitespace();
            let authority = behind.split(is_end).next().unwrap_or_default();
            for part in authority.split('@').take(MAX_LABELS) {
                found.extend(domains(part, searched).into_iter().flatten().map(host));
            }
        }
        rest = behind;
    }
    let bytes = text.as_bytes();
    let is_part = |index: usize| bytes.get(index).is_some_and(|byte| is_host(char::from(*byte)));
    let mut searched_to = 0;
    for (dot, _) in text.match_indices('.') {
        // Most stops end a sentence.
        if dot < searched_to || !is_part(dot + 1) {
            continue;
        }
        let begin = (searched_to..dot).rev().take_while(|index| is_part(*index)).last().unwrap_or(dot);
        let end = (dot..text.len()).find(|index| !is_part(*index)).unwrap_or(text.len());
        searched_to = end;
        let name = text.get(begin..end).unwrap_or_default();
        let is_of_email =
            text.get(..begin).is_some_and(|before| before.ends_with('@')) || bytes.get(end) == Some(&b'@');
        if !is_of_email && may_be_host(name) {
            let names = domains(name, searched).into_iter().flatten();
            found.extend(names.filter(|name| may_be_host(name)).map(host));
        }
    }
}

/// Whether a name with dots may be one of a host: not that of a file, a number, a version or an abbreviation.
fn may_be_host(name: &str) -> bool {
    let name = name.trim_matches(['.', '-']);
    let end = name.rsplit_once('.').map_or("", |(_, end)| end);
    let is_file = || FILE_ENDS.split_ascii_whitespace().any(|known| known.eq_ignore_ascii_case(end));
    let is_ip = || name.split('.').count() == 4 && name.split('.').all(|part| part.parse::<u8>().is_ok());
    (end.len() > 1 && end.chars().all(|c| c.is_ascii_alphabetic()) && !is_file()) || end.starts_with("xn--") || is_ip()
}

/// Accounts and phone numbers, by their digits: groups of them, with blanks and a few marks between, and groups of capitals in
/// the middle of an account.
fn numbers(text: &str, found: &mut BTreeSet<Destination>) {
    let mut groups: Vec<&str> = Vec::new();
    for part in
        text.split(|c: char| !(c.is_ascii_alphanumeric() || matches!(c, ' ' | '-' | '.' | '/' | '(' | ')' | '+')))
    {
        let mut words = part.split(|c: char| !c.is_ascii_alphanumeric()).filter(|word| !word.is_empty()).peekable();
        while let Some(word) = words.next() {
            let has_digit = |word: &str| word.bytes().any(|byte| byte.is_ascii_digit());
            let is_between = word.len() == 4
                && word.bytes().all(|byte| byte.is_ascii_uppercase())
                && words.peek().is_some_and(|next| has_digit(next))
                && !groups.is_empty();
            if has_digit(word) || is_between {
                groups.push(word);
            } else {
                insert_number(&mut groups, found);
            }
        }
        insert_number(&mut groups, found);
    }
}

/// Inserts the digits of a group that is long enough, and of all groups together.
fn insert_number(groups: &mut Vec<&str>, found: &mut BTreeSet<Destination>) {
    let together = groups.concat();
    let is_date = |group: &str| group.len() == 4 && (group.starts_with("19") || group.starts_with("20"));
    let starts_with_date = groups.len() > 1 && groups.first().is_some_and(|group| is_date(group));
    let several = (groups.len() > 1 && !starts_with_date).then_some(&*together);
    for number in groups.iter().copied().chain(several) {
        let digits: String = number.chars().filter(char::is_ascii_digit).collect();
        if digits.len() >= MIN_ACCOUNT_DIGITS && digits.len() <= 40 {
            found.insert(Destination::new(DestinationKind::Account, digits));
        }
    }
    groups.clear();
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(text: &str) -> Vec<String> {
        let mut all = BTreeSet::new();
        traces(text, Searched::Text, &mut all);
        all.into_iter().map(|found| found.value).collect()
    }

    /// Time that grew with the square of these would not end within the limit of a test.
    #[test]
    fn hostile_texts_are_searched_in_one_pass() {
        for (piece, most) in [
            ("/", 0),
            ("\\", 0),
            ("&", 0),
            ("&#", 0),
            ("%", 0),
            ("@", 0),
            ("a@", 0),
            (".", 0),
            ("a.", 0),
            ("1 ", 0),
            ("//a", 0),
            ("//a@", 0),
            ("a@b.co ", 1),
            ("evil.net.", 1),
            ("=", 0),
            ("\\n", 0),
        ] {
            let mut all = BTreeSet::new();
            traces(&piece.repeat(250_000 / piece.len()), Searched::Text, &mut all);
            assert!(all.len() <= most, "{piece}: {all:?}");
        }
    }

    #[test]
    fn r_saf_8_whatever_may_be_a_destination_leaves_a_trace() {
        for text in [
            "[Eve](mailto:eve@evil.net)",
            "<a href=\"mailto:eve@evil.net?subject=x\">Eve</a>",
            "Email:eve@evil.net",
            "\u{201c}eve@evil.net\u{201d}",
            "eve@evil.net\u{2014}she is new",
            "eve@evil.net's",
            "bob@x.com,eve@evil.net",
            "eve&#64;evil.net",
            "eve&#x40;evil&period;net",
            "eve%40evil.net",
            "a\\neve@evil.net\\nb",
            "to=eve@evil.net",
            "EVE@EVIL.NET.",
            "eve@evil.net.Please write",
            "\u{8bf7}\u{5199}eve@evil.net\u{8c22}",
            "eve\u{ff20}evil\u{3002}net",
        ] {
            assert!(found(text).contains(&"eve@evil.net".to_owned()), "{text}: {:?}", found(text));
        }
        for text in [
            "[this](https://evil.net/x)",
            "![](https://evil.net/x)",
            "<a href=//evil.net>",
            "\u{201c}https://evil.net/x\u{201d}",
            "https://evil.net/log?d={notes}",
            "https://evil.net/#x",
            "https://u@evil.net/x",
            "https://evil.net./",
            "https:\\\\evil.net\\x",
            "https://evil.net:8443/x",
            "HTTPS://EVIL.NET",
            "evil.net/x",
            "open evil.net.",
            "\u{8bf7}\u{6253}\u{5f00}evil.net\u{8c22}\u{8c22}",
            "https%3A%2F%2Fevil.net%2Fx",
        ] {
            assert!(found(text).contains(&"evil.net".to_owned()), "{text}: {:?}", found(text));
        }
        for (text, number) in [
            ("GB29 NWBK 6016 1331 9268 19", "2960161331926819"),
            ("pay DE89 3704 0044 0532 0130 00, 250 EUR", "89370400440532013000"),
            ("de89 3704 0044 0532 0130 00", "89370400440532013000"),
            ("US133000000121212121212.", "133000000121212121212"),
            ("call +1 (555) 010-9999!", "15550109999"),
            ("1234567890", "1234567890"),
        ] {
            assert!(found(text).contains(&number.to_owned()), "{text}: {:?}", found(text));
        }
        for text in
            ["See notes.pdf and v1.2.3, e.g. on 2026-01-01 10:00:00.125.", "12,000.00 for order 4711", "a.b", "@all"]
        {
            assert!(found(text).is_empty(), "{text}: {:?}", found(text));
        }
    }
}
