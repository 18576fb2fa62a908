//! Spellings of one name. Servers differ in how closely they look: Go and .NET ignore the case of JSON names, many
//! frameworks accept `maxAmount`, `max-amount` and `MaxAmount` for `max_amount`. Whatever such a server could take for a
//! declared name must be treated as that name, or a rule about it could be evaded by spelling.

/// The name reduced to what every spelling of it shares: its letters and digits, without case.
pub fn fold(name: &str) -> String {
    // By way of upper case, because some letters have no lower case of their own: `ſ` is an `s` to a server that
    // compares as Unicode folds.
    name.chars().filter(|c| c.is_alphanumeric()).flat_map(char::to_uppercase).flat_map(char::to_lowercase).collect()
}

#[cfg(test)]
mod tests {
    use super::fold;

    #[test]
    fn r_req_3_every_spelling_folds_to_the_same_name() {
        for name in [
            "max_amount",
            "maxAmount",
            "MaxAmount",
            "MAX_AMOUNT",
            "max-amount",
            "max.amount",
            "max amount",
            "_max_amount_",
            "max\u{200b}_amount",
            "MAX__AMOUNT",
        ] {
            assert_eq!(fold(name), "maxamount", "{name:?}");
        }
        // Characters that servers comparing by Unicode folding take for plain letters.
        assert_eq!(fold("\u{212a}ey_\u{17f}"), fold("keyS"));
        assert_ne!(fold("max_amount"), fold("max_amounts"));
        assert_eq!(fold("größe"), fold("GRÖSSE"));
        assert_eq!(fold("___"), "");
    }
}
