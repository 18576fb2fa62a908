//! Templates with `{named}` placeholders, and the local part of email addresses.

/// Replaces the placeholders of a template. Unknown ones stay in the text, where a test detects them.
pub(crate) fn render(template: &str, facts: &[(&str, &str)]) -> String {
    let mut parts = template.split('{');
    let mut text = String::with_capacity(template.len() + 32);
    text.push_str(parts.next().unwrap_or_default());
    for part in parts {
        let (gap, rest) = part.split_once('}').unwrap_or(("", part));
        match facts.iter().find(|(name, _)| *name == gap) {
            Some((_, fact)) => text.push_str(fact),
            None => text.extend(["{", gap, "}"]),
        }
        text.push_str(rest);
    }
    text
}

/// The name in lower-case ASCII with dots for spaces. Letters of other scripts are dropped, so it may be empty.
pub(crate) fn email_name(name: &str) -> String {
    let mut plain = String::with_capacity(name.len());
    for letter in name.chars().flat_map(char::to_lowercase) {
        match letter {
            'a'..='z' => plain.push(letter),
            ' ' if !plain.is_empty() => plain.push('.'),
            'á' | 'à' | 'â' | 'ã' | 'å' | 'ą' | 'ā' => plain.push('a'),
            'ä' | 'æ' => plain.push_str("ae"),
            'ç' | 'ć' => plain.push('c'),
            'é' | 'è' | 'ê' | 'ë' | 'ę' => plain.push('e'),
            'ğ' => plain.push('g'),
            'í' | 'ï' | 'î' | 'ı' => plain.push('i'),
            'ł' => plain.push('l'),
            'ñ' | 'ń' => plain.push('n'),
            'ó' | 'ô' | 'õ' | 'ō' => plain.push('o'),
            'ö' | 'ø' | 'œ' => plain.push_str("oe"),
            'ś' | 'ş' => plain.push('s'),
            'ß' => plain.push_str("ss"),
            'ú' | 'ū' | 'ù' => plain.push('u'),
            'ü' => plain.push_str("ue"),
            'ź' | 'ż' => plain.push('z'),
            _ => {}
        }
    }
    plain
}
