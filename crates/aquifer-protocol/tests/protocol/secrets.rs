//! Credentials are found in every surrounding, and ordinary text stays as it is. Other crates use the same two tables.

use aquifer_protocol::secrets::{REDACTED, find_secrets, looks_like_secret, redact};
use proptest::prelude::*;

/// What it is, the text around it, and the credential itself.
struct Case {
    kind: &'static str,
    text: String,
    secret: String,
}

fn credentials() -> Vec<Case> {
    let lines = include_str!("../data/credentials.txt").lines().filter(|line| !line.starts_with('#'));
    let read = |line: &'static str| {
        let (kind, text) = line.split_once('\t').unwrap();
        let marked = text.replacen('~', "", 1).replace("\\n", "\n");
        let (before, rest) = marked.split_once('«').unwrap();
        let (secret, after) = rest.split_once('»').unwrap();
        Case { kind, text: format!("{before}{secret}{after}"), secret: secret.to_owned() }
    };
    lines.map(read).collect()
}

fn innocents() -> impl Iterator<Item = &'static str> {
    include_str!("../data/innocent.txt").lines().filter(|line| !line.starts_with('#'))
}

#[test]
fn r_saf_5_every_credential_is_redacted_and_nothing_else() {
    let cases = credentials();
    assert!(cases.len() >= 60, "{}", cases.len());
    for Case { kind, text, secret } in cases {
        let expected = text.replacen(&secret, REDACTED, 1);
        assert_eq!(redact(&text), expected, "{kind}");
        assert!(looks_like_secret(&text), "{kind}");
        assert_eq!(find_secrets(&text).count(), 1, "{kind}");
        // What was redacted holds nothing any more.
        assert_eq!(redact(&expected), expected, "{kind}");
    }
}

#[test]
fn r_saf_5_a_credential_is_found_in_every_surrounding() {
    for Case { kind, text, secret } in credentials() {
        for surrounding in [
            "*",
            "it was * before",
            "failed: *",
            "failed:*",
            "(*)",
            "[*]",
            "'*'",
            "\"*\"",
            "`*`",
            "<*>",
            "a,*,b",
            "x;*;y",
            "line one\n*\nline three",
            "tab\t*\tafter",
            "größe * 日本",
            "日本*",
            "{\"error\": {\"message\": \"*\"}}",
            "escaped\\n*\\nmore",
            "escaped\\t*",
            "escaped\\u0020*",
            "%20*",
            "id=*",
            "key: *",
            "https://example.com/?q=*",
        ] {
            // An encrypted or cut key goes on to the end, and the rest of a header's line belongs to it.
            let goes_on = kind.contains("cut") || secret.contains(' ');
            let shown = redact(&surrounding.replace('*', &text)).into_owned();
            assert!(!shown.contains(&secret), "{kind} in {surrounding}: {shown}");
            if !goes_on && surrounding.ends_with("after") {
                assert!(shown.ends_with("\tafter"), "{kind}: {shown}");
            }
        }
    }
}

#[test]
fn r_saf_5_a_word_after_a_secret_name_is_redacted_where_nothing_follows_it() {
    for (text, expected) in [
        ("password: swordfish", "password: [redacted]"),
        ("user: ada\npassword: swordfish\nhost: db", "user: ada\npassword: [redacted]\nhost: db"),
        ("user: ada, password: swordfish, host: db", "user: ada, password: [redacted] host: db"),
        ("password: the swordfish", "password: the swordfish"),
        ("password = swordfish or so", "password = [redacted] or so"),
    ] {
        assert_eq!(redact(text), expected);
    }
}

#[test]
fn r_saf_5_several_credentials_of_one_text_are_all_redacted() {
    let cases = credentials();
    let all: String = cases.iter().map(|case| format!("{}\n", case.text)).collect();
    let shown = redact(&all);
    for case in cases.iter().filter(|case| !case.kind.contains("cut")) {
        assert!(!shown.contains(&case.secret), "{}", case.kind);
    }
}

#[test]
fn ordinary_text_is_unchanged() {
    assert!(innocents().count() >= 60);
    for text in innocents() {
        assert_eq!(redact(text), text);
        for surrounding in ["see * there", "\"*\"", "(*)", "first\n*\nlast"] {
            let text = surrounding.replace('*', text);
            assert_eq!(redact(&text), text);
        }
    }
}

/// Each of these would take minutes if a look ahead that fails were not bounded.
#[test]
fn hostile_text_is_searched_in_one_pass() {
    for piece in [
        "sk-",
        "sk-a-",
        "eyJ",
        "eyJ.",
        "-eyJ",
        "eyJaaaaaaaaaaaaa.",
        "-----BEGIN ",
        "-----BEGIN PRIVATE KEY",
        "://",
        "://a:",
        "a:b@",
        "password=$",
        "password=",
        "token: ",
        "\"password\": \"<",
        "password='<",
        "Basic ",
        "Basic AAAA",
        "Bearer ",
        "=",
        ":",
        "1",
        "12345678:",
        "Maaaaaaaaaaaaaaaaaaaaaaaaa.",
        "patAAAAAAAAAAAAAA.",
        ".atlasv1.",
        "ghp_",
        "\\n",
        "%20",
        "\\u0020",
        "hooks.slack.com/services/",
        "xoxe.",
        "--password ",
        "--token x",
        "<password>",
        "password%3D",
        "password=>",
    ] {
        let text = piece.repeat(60_000 / piece.len());
        let _ = redact(&text);
    }
}

proptest! {
    #[test]
    fn searching_any_text_never_panics(text in "(sk-|eyJ|-----BEGIN PRIVATE KEY-----|://|=|:|\"|@|password|\\PC|[a-zA-Z0-9]{1,20}){0,40}") {
        let mut last = 0;
        for found in find_secrets(&text) {
            prop_assert!(found.range.start >= last && found.range.end > found.range.start);
            prop_assert!(text.get(found.range.clone()).is_some());
            last = found.range.end;
        }
        prop_assert!(redact(&text).len() <= text.len() + REDACTED.len() * (1 + text.len()));
    }
}
