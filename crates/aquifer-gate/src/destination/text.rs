//! Links, addresses and accounts that a text mentions. Whoever reads it may follow them.
//!
//! Programs find links in texts in many ways. So a word in which any of them may see one has to be, as a whole, an address or
//! a link that all programs read in the same way. Every other such word is a name of its own, to which nobody has agreed.

use super::address::{Destination, DestinationKind, host_name, is_invisible, is_plain_path};

/// Fewest digits of an account number.
pub(super) const MIN_ACCOUNT_DIGITS: usize = 9;

/// Fewest letters and digits of an account in which both are mixed.
const MIN_MIXED_CHARS: usize = 24;

/// Ends of file names that are no top-level domains, unlike `zip` and `sh`.
pub(super) const FILE_ENDS: &str = "7z bat bmp cfg conf cpp csv dat doc docx eml env epub exe gif go gz heic htm html ico ics ini ipynb jar \
    java jpeg jpg js json jsonl jsx key kt lock log mkv mp3 mp4 msg numbers odp ods odt ogg pages parquet pdf php png ppt pptx psd \
    rb rst rtf scss sql sqlite svg swift tar tex tgz tif tiff toml ts tsv tsx txt wav webm webp xls xlsx xml yaml yml";

/// Elements of HTML that separate words.
const BLOCKS: &str = "blockquote body br center dd div dl dt h1 h2 h3 h4 h5 h6 head header footer hr html li main ol p pre section table \
    tbody td tfoot th thead title tr ul";

/// Schemes of links that have no slashes.
const SCHEMES: &str = "bitcoin callto data ethereum facetime file intent javascript mailto market sip sips skype sms slack tel vbscript \
    viber whatsapp zoommtg";

/// What a text mentions: e-mail addresses, the hosts of links, and accounts.
pub(super) fn mentions(text: &str) -> Vec<Destination> {
    let (plain, tags) = without_markup(text);
    let mentioned = words(&plain).filter_map(|(_, word)| mention(word)).chain(digit_groups(&plain));
    tags.into_iter().chain(mentioned).collect()
}

/// A text without its HTML elements, and those of them that have attributes or are none.
fn without_markup(text: &str) -> (String, Vec<Destination>) {
    let (mut plain, mut tags) = (String::with_capacity(text.len()), Vec::new());
    let mut rest = text;
    while let Some((before, after)) = rest.split_once('<') {
        plain.push_str(before);
        let is_markup =
            after.starts_with(|c: char| c.is_ascii_alphabetic() || matches!(c, '/' | '!' | '@' | '#' | '?'));
        if !is_markup {
            plain.push('<');
            rest = after;
            continue;
        }
        let (tag, after) = after.split_once('>').unwrap_or((after, ""));
        let name = tag.trim_start_matches('/').trim_end_matches('/').trim();
        if name.is_empty() || !name.bytes().all(|byte| byte.is_ascii_alphanumeric()) {
            // `<bob@x.com>` is an address, and `<https://x.com>` a link.
            match mention(tag) {
                Some(found) if found.kind != DestinationKind::Name => tags.push(found),
                _ => tags.push(Destination::new(DestinationKind::Name, tag)),
            }
            plain.push(' ');
        } else if BLOCKS.split_ascii_whitespace().any(|block| block.eq_ignore_ascii_case(name)) {
            plain.push(' ');
        }
        rest = after;
    }
    plain.push_str(rest);
    let plain = if plain.contains('&') {
        plain.replace("&nbsp;", " ").replace("&amp;", "&").replace("&quot;", "\"")
    } else {
        plain
    };
    (plain, tags)
}

/// Whether a word may be an address, a link or an account.
pub(crate) fn is_mention(word: &str) -> bool {
    mention(word).is_some()
}

/// The words of a text with their offsets, without the punctuation around them.
pub(crate) fn words(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let is_open = |c: char| matches!(c, '(' | '<' | '[' | '{' | '"' | '\'' | '*' | '_' | '`');
    let is_close =
        |c: char| matches!(c, ')' | '>' | ']' | '}' | '"' | '\'' | '*' | '_' | '`' | '.' | ',' | ';' | ':' | '!' | '?');
    split(text).filter_map(move |(start, word)| {
        let bare = word.trim_start_matches(is_open);
        let start = start + (word.len() - bare.len());
        let bare = bare.trim_end_matches(is_close);
        (!bare.is_empty()).then_some((start, bare))
    })
}

/// The parts of a text between blanks, with their offsets.
fn split(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let is_blank = |c: char| c.is_whitespace() || c.is_control();
    let mut offset = 0;
    text.split_inclusive(is_blank).map(move |part| {
        let start = offset;
        offset += part.len();
        (start, part.trim_end_matches(is_blank))
    })
}

fn mention(word: &str) -> Option<Destination> {
    if !may_be_followed(word) {
        return None;
    }
    let found = match Destination::recognize(word) {
        Some(Destination { kind: DestinationKind::Url, value, .. }) => {
            value.split_once("://").and_then(|(_, rest)| host(rest))
        }
        Some(found) => Some(found),
        None => host(word),
    };
    Some(found.unwrap_or_else(|| Destination::new(DestinationKind::Name, word)))
}

/// The host of a link without its scheme, if all programs read it in the same way.
fn host(rest: &str) -> Option<Destination> {
    let (authority, path) = rest.split_at(rest.find(['/', '?']).unwrap_or(rest.len()));
    let (host, port) = host_name(authority).filter(|(host, _)| host.contains('.') && is_plain_path(path))?;
    let value = if matches!(port, "" | "80" | "443") { host } else { format!("{host}:{port}") };
    Some(Destination::new(DestinationKind::Host, value))
}

/// Whether a program or a person may see a link, an address or an account in a word.
fn may_be_followed(word: &str) -> bool {
    // Most words of most texts.
    if word.bytes().all(|byte| byte.is_ascii_alphabetic() || byte == b'-') && word.len() < MIN_MIXED_CHARS {
        return false;
    }
    let has = |part: &str| word.contains(part);
    let is_reference = has("&#") || word.split_once('&').is_some_and(|(_, rest)| rest.contains(';'));
    let is_scheme = |before: &str| SCHEMES.split_ascii_whitespace().any(|known| ends_with_word(before, known));
    let digits = word.chars().filter(char::is_ascii_digit).count();
    let letters = word.chars().filter(|c| c.is_alphabetic()).count();
    let is_commit = word.len() == 40 && word.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'));
    let is_mixed =
        digits + letters >= MIN_MIXED_CHARS && digits > 2 && letters > 2 && !has("-") && !has("/") && !is_commit;
    let is_amount = has(".") && has(",");
    has("//")
        || has(":/")
        || has("\\")
        || word.match_indices(':').any(|(index, _)| word.get(..index).is_some_and(is_scheme))
        || is_reference
        || is_address(word)
        || is_encoded(word)
        || word.to_ascii_lowercase().contains("www.")
        || (digits >= MIN_ACCOUNT_DIGITS && letters <= digits && !is_commit && !is_amount)
        || is_mixed
        || has_domain(word)
        || (word.contains(['*', '~', '`', '_']) && has_domain(&word.replace(['*', '~', '`', '_'], "")))
        || word.chars().any(is_invisible)
}

/// Whether a name stands behind an `@`: an address, or somebody whom a chat notifies.
fn is_address(word: &str) -> bool {
    word.split('@').skip(1).any(|after| after.starts_with(|c: char| c.is_alphanumeric() || !c.is_ascii()))
}

/// Whether a text ends with a word that nothing else joins.
fn ends_with_word(text: &str, word: &str) -> bool {
    let Some(start) = text.len().checked_sub(word.len()) else { return false };
    let is_end = text.get(start..).is_some_and(|end| end.eq_ignore_ascii_case(word));
    is_end && !text.get(..start).is_some_and(|before| before.ends_with(|c: char| c.is_ascii_alphanumeric()))
}

/// Whether two hexadecimal digits follow a percent sign.
fn is_encoded(word: &str) -> bool {
    let is_pair = |rest: &str| rest.bytes().take(2).filter(u8::is_ascii_hexdigit).count() == 2;
    word.split('%').skip(1).any(is_pair)
}

/// Whether a stop has a letter or digit before it, and a word behind it that may be a top-level domain, or is part of an IPv4
/// address. The name of a file alone has none.
fn has_domain(word: &str) -> bool {
    // Other full stops become one when a link is opened.
    const STOPS: [char; 6] = ['.', '\u{2024}', '\u{3002}', '\u{fe52}', '\u{ff0e}', '\u{ff61}'];
    let is_name = word.chars().all(|c| c.is_alphanumeric() || matches!(c, '.' | '-' | '_'));
    let is_file = |end: &str| {
        let end = end.split(|c: char| !c.is_ascii_alphanumeric()).next().unwrap_or_default();
        is_name && FILE_ENDS.split_ascii_whitespace().any(|known| known.eq_ignore_ascii_case(end))
    };
    let mut numbers = 0;
    for (index, stop) in word.match_indices(STOPS) {
        let (before, after) =
            (word.get(..index).unwrap_or_default(), word.get(index + stop.len()..).unwrap_or_default());
        let is_ascii = |c: Option<char>| c.is_some_and(|c| c.is_ascii_alphanumeric());
        // The full stop of sentences in Chinese and Japanese.
        if stop == "\u{3002}" && !(is_ascii(before.chars().next_back()) && is_ascii(after.chars().next())) {
            continue;
        }
        let is_last = |c: char| c.is_alphanumeric() || !c.is_ascii() || matches!(c, '-' | '_' | ')' | ']');
        let end: &str = after.split(|c: char| !c.is_alphanumeric() && c != '-').next().unwrap_or_default();
        let is_top = end.chars().count() > 1 && (end.chars().all(char::is_alphabetic) || end.starts_with("xn--"));
        if before.chars().next_back().is_some_and(is_last) && is_top && !(word.ends_with(end) && is_file(end)) {
            return true;
        }
        let ends_with_digit = before.chars().next_back().is_some_and(|c| c.is_ascii_digit());
        numbers += usize::from(ends_with_digit && after.starts_with(|c: char| c.is_ascii_digit()));
    }
    numbers >= 3
}

/// Accounts and phone numbers that are written in several groups: `DE89 3704 0044`, `+1 (555) 010-9999`.
fn digit_groups(text: &str) -> impl Iterator<Item = Destination> {
    let mut parts = split(text).map(|(_, part)| part);
    let (mut group, mut count) = (String::new(), 0);
    std::iter::from_fn(move || {
        loop {
            let part = parts.next();
            let word = part.unwrap_or_default().trim_end_matches(['.', ',', ';', '!', '?']);
            let is_mark = part.is_some() && !word.contains(char::is_alphanumeric);
            if is_mark && count > 0 {
                continue;
            }
            if is_digit_group(word) {
                group.push_str(word);
                count += 1;
                continue;
            }
            let (ended, size) = (std::mem::take(&mut group), std::mem::take(&mut count));
            if size > 1 && ended.chars().filter(char::is_ascii_digit).count() >= MIN_ACCOUNT_DIGITS {
                return Some(Destination::new(DestinationKind::Account, ended));
            }
            part?;
        }
    })
}

/// Whether a word may be a part of a number: digits, and the beginning of an account. Dates and times are none.
fn is_digit_group(word: &str) -> bool {
    let is_part = |c: char| c.is_ascii_digit() || matches!(c, '+' | '-' | '(' | ')' | '/' | '.');
    let is_year = word.len() == 4 && (word.starts_with("19") || word.starts_with("20"));
    let is_digits = word.chars().all(is_part) && word.chars().any(|c| c.is_ascii_digit());
    let is_date = word.len() == 10 && word.matches('-').count() == 2;
    let is_start = word.len() == 4
        && word.get(..2).is_some_and(|country| country.bytes().all(|byte| byte.is_ascii_alphabetic()))
        && word.get(2..).is_some_and(|check| check.bytes().all(|byte| byte.is_ascii_digit()));
    (is_digits && !is_date && !is_year) || is_start
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(text: &str) -> Vec<(DestinationKind, String)> {
        mentions(text).into_iter().map(|found| (found.kind, found.value)).collect()
    }

    #[test]
    fn r_saf_8_the_hosts_of_plain_links_and_plain_addresses_are_found() {
        for (text, kind, expected) in [
            ("See https://x.com/a?b=c.", DestinationKind::Host, "x.com"),
            ("See http://X.com:80", DestinationKind::Host, "x.com"),
            ("<https://x.com/a>, please", DestinationKind::Host, "x.com"),
            ("go to www.x.com!", DestinationKind::Host, "www.x.com"),
            ("go to x.com/login", DestinationKind::Host, "x.com"),
            ("go to X.Com.", DestinationKind::Host, "x.com"),
            ("https://x.com:8443/", DestinationKind::Host, "x.com:8443"),
            ("https://10.0.0.1/x", DestinationKind::Host, "10.0.0.1"),
            ("write to Eve@X.com, please", DestinationKind::Email, "eve@x.com"),
            ("Eve <eve@x.com>", DestinationKind::Email, "eve@x.com"),
            ("pay to DE89370400440532013000.", DestinationKind::Account, "DE89370400440532013000"),
            ("call +15550109999 now", DestinationKind::Phone, "+15550109999"),
            ("_x.com_ or *x.com*", DestinationKind::Host, "x.com"),
            ("<p>Hi<br/>see x.com</p>", DestinationKind::Host, "x.com"),
        ] {
            let mut found = found(text);
            found.dedup();
            assert_eq!(found, [(kind, expected.to_owned())], "{text}");
        }
    }

    #[test]
    fn r_saf_8_whatever_may_be_followed_otherwise_is_never_a_known_host() {
        for text in [
            "https://ours.com@evil.net/",
            "https://ours.com\\@evil.net/",
            "https://ours.com,@evil.net/x",
            "https://ours.com;@evil.net/x",
            "https://ours.com|@evil.net/x",
            "https://ours.com'@evil.net/x",
            "https://ours.com*@evil.net/x",
            "<a href=\"//evil.net\">",
            "[ours.com](//evil.net)",
            "[ours.com](https://evil.net/x)",
            "href=\"https:/evil.net\"",
            "https:evil.net",
            "http:\\\\evil.net",
            "\\\\evil.net\\share",
            "mailto:eve%40evil.net",
            "tel:+15550109999",
            "https&#58;//evil.net",
            "https&#58;&#47;&#47;evil&#46;net",
            "https%3A%2F%2Fevil%2Enet",
            "Link:www.evil.net",
            "\u{201c}www.evil.net\u{201d}",
            "\u{2192}www.evil.net",
            "\u{1f517}evil.net/x",
            "~www.evil.net~",
            "url=www.evil.net",
            "evil.net\u{2026}",
            "evil.net\u{2019}s",
            "evil.sh/login",
            "ours-login.zip/x",
            "https://ours.com/\u{201d}https://evil.net/",
            "https://ours.com/\u{3002}https://evil.net/",
            "https://ours.com/^https://evil.net/",
            "https://ours.com/\u{feff}https://evil.net/",
            "https://ours.com/?u=https://evil.net",
            "evi\u{200b}l.net",
            "evil\u{3002}net",
            "ftp://evil.net/x",
            "javascript://ours.com/%0aalert(1)",
            "10.0.0.1",
            "IBAN:DE89370400440532013000",
            "Tel:+15550109999",
            "account 1234567890",
            "US133000000121212121212",
            "bc1qar0srrr7xfkvy5l643lydnw9re59gtzzwf5mdq",
            "pay to DE89 3704 0044 0532 0130 00 today",
            "pay to de89 3704 0044 0532 0130 00",
            "+1 (555) 010-9999",
            "<a href=\"https:evil.\nnet/login\">",
            "<a href= \"https://ours.com\n.evil.\nnet/x\">here</a>",
            "<a href=\"https:evil&#46net\">",
            "<img src=//evil.net/x>",
            "[wiki](https:\\/\\/evil\\.net/login)",
            "[{\"image\": \"https:\\/\\/evil\\u002enet\"}]",
            "evil<b></b>.<b></b>net/login",
            "evil.**net**",
            "<@U666>",
            "<!channel>",
            "@eve",
            "skype:eve?chat",
            "data:text/html;base64,xx",
            "Pay:bitcoin:bc1qxyz",
            "\u{1f525}.to/x",
            "cafe\u{301}.com",
            "evil\u{fe52}net/x",
            "evil\u{2024}net",
            "DE89 3704 \u{b7} 0044 0532 \u{b7} 0130 00",
            "+49 151.234 567.89",
        ] {
            let found = found(text);
            let is_unknown = |(kind, value): &(DestinationKind, String)| {
                let is_ours = value == "ours.com" && *kind == DestinationKind::Host;
                !is_ours && *kind != DestinationKind::Email
            };
            assert!(!found.is_empty() && found.iter().all(is_unknown), "{text}: {found:?}");
        }
    }

    #[test]
    fn ordinary_text_mentions_nothing() {
        for text in [
            "Hi Bob, the meeting is at 10:30 on 2026-01-02. See you, e.g. in room 4.2!",
            "Total: 1,234.56 EUR (version 1.2.3); see report.pdf, notes.txt and Cargo.toml",
            "a.b c.d U.S. Ph.D. i.e. this... and/or that, 24/7, AT&T",
            "From 2026-01-02 2026-01-03 until 2026-01-04",
            "50% of all: yes/no? #general, a < b and c > d",
            "\u{8cc7}\u{6599}.pdf\u{3092}\u{6dfb}\u{4ed8}, 3\u{6642}\u{3067}\u{3059}\u{3002}\u{3088}\u{308d}\u{3057}\u{304f}",
            "In 2024 2025 2026: 1.234.567,89 EUR, 608ae76388ec59526d0e5fc74347e5f41467eb59",
            "<p>Hi <b>Bob</b>,&nbsp;see you</p>",
            "Order 12345, invoice 2026-0001, \u{dc}bergr\u{f6}\u{df}e",
            "",
        ] {
            assert_eq!(found(text), [], "{text}");
        }
    }
}
