//! The spellings of a known secret.

use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD_NO_PAD, URL_SAFE_NO_PAD};

use crate::text::percent;

/// The spellings in which a server may repeat a secret, without duplicates: plain, in JSON, in a URL, in a form, in base64.
pub fn spellings(secret: &str) -> Vec<String> {
    let json = serde_json::Value::from(secret).to_string();
    let in_url = percent::encode(secret);
    let in_form = in_url.replace("%20", "+");
    let mut all = vec![secret.to_owned()];
    let base64 = [STANDARD_NO_PAD.encode(secret), URL_SAFE_NO_PAD.encode(secret)];
    for spelling in [json.trim_matches('"').to_owned(), in_url, in_form].into_iter().chain(base64) {
        if !all.contains(&spelling) {
            all.push(spelling);
        }
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn secrets_are_spelled_in_every_way() {
        assert_eq!(spellings("plainsecret"), ["plainsecret", "cGxhaW5zZWNyZXQ"]);
        assert_eq!(
            spellings("a \"b>?"),
            ["a \"b>?", "a \\\"b>?", "a%20%22b%3E%3F", "a+%22b%3E%3F", "YSAiYj4/", "YSAiYj4_"]
        );
    }
}
