//! No secret is ever written (R-DIS-2).

use aquifer_discovery::adapter::build;
use aquifer_discovery::bundle::RawCapture;
use aquifer_discovery::normalize;
use aquifer_discovery::redact::{self, REDACTED};
use proptest::prelude::*;
use serde_json::json;

use crate::fixture::http;

#[test]
fn r_dis_2_values_are_hidden_where_they_could_be_secret() {
    for (given, shown) in [
        ("https://example.com/mcp", "https://example.com/mcp"),
        ("https://user:pw@example.com/mcp", "https://example.com/mcp"),
        ("https://example.com/mcp?api_key=abc&x=1#frag", "https://example.com/mcp?api_key=REDACTED&x=REDACTED"),
        ("https://example.com/s/ghp_0123456789abcdef/mcp", "https://example.com/s/REDACTED/mcp"),
        ("http://localhost:8080", "http://localhost:8080"),
    ] {
        assert_eq!(redact::url(given), shown);
    }
    for (given, shown) in [
        (vec!["-y", "@modelcontextprotocol/server-github"], vec!["-y", "@modelcontextprotocol/server-github"]),
        (vec!["--token", "abc", "--port", "80"], vec!["--token", REDACTED, "--port", "80"]),
        (vec!["--api-key=abc"], vec!["--api-key=[redacted]"]),
        (vec!["--apiKey=${KEY}"], vec!["--apiKey=${KEY}"]),
        (vec!["-H", "Authorization: Bearer abc"], vec!["-H", "Authorization:[redacted]"]),
        (
            vec!["-e", "GITHUB_TOKEN=abc", "-e", "GITHUB_TOKEN"],
            vec!["-e", "GITHUB_TOKEN=[redacted]", "-e", "GITHUB_TOKEN"],
        ),
        (vec!["-p", "8080", "-p", "hunter2"], vec!["-p", "8080", "-p", REDACTED]),
        (vec!["postgres://me:pw@db/shop"], vec!["postgres://db/shop"]),
        (vec!["Server=db;Password=pw"], vec!["Server=db;Password=[redacted]"]),
        (vec!["sk-abcdefgh"], vec![REDACTED]),
        (vec!["/home/me/project", "--verbose"], vec!["/home/me/project", "--verbose"]),
    ] {
        assert_eq!(redact::arguments(&given), shown, "{given:?}");
    }
    assert_eq!(redact::env_value("abc"), REDACTED);
    assert_eq!(redact::env_value("${HOME}"), "${HOME}");
    assert_eq!(redact::header("X-Anything", "abc"), REDACTED);
    assert_eq!(redact::header("Accept", "application/json"), "application/json");
}

proptest! {
    #[test]
    fn r_dis_2_redaction_never_leaks(secret in "s3cr3t[A-Za-z0-9_!%.]{1,40}", place in 0..14_usize, name in "[a-z]{1,8}") {
        let (mut arguments, mut env, mut headers, mut url) = (Vec::new(), Vec::new(), Vec::new(), None);
        match place {
            0 => arguments.extend(["--token".to_owned(), secret.clone()]),
            1 => arguments.push(format!("--{name}-key={secret}")),
            2 => arguments.extend(["-H".to_owned(), format!("X-{name}: {secret}")]),
            3 => arguments.extend(["--header".to_owned(), secret.clone()]),
            4 => arguments.extend(["--env".to_owned(), format!("{name}={secret}")]),
            5 => arguments.push(format!("https://{name}:{secret}@example.com/")),
            6 => arguments.push(format!("{name}=https://example.com/?q={secret}")),
            7 => env.push((name.clone(), secret.clone())),
            8 => headers.push((name.clone(), secret.clone())),
            9 => url = Some(format!("https://{secret}@example.com/mcp")),
            10 => url = Some(format!("https://example.com/mcp?{secret}")),
            11 => url = Some(format!("https://example.com/mcp?{name}={secret}&b=c")),
            12 => url = Some(format!("https://example.com/mcp#{secret}")),
            _ => arguments.extend(["-p".to_owned(), secret.clone()]),
        }
        let shown = redact::configuration(Some(("npx", &arguments)), &env, url.as_deref(), &headers);
        let text = serde_json::to_string(&shown).unwrap();
        prop_assert!(!text.contains("s3cr3t"), "{text}");
        // Nothing gets through either if the caller forgot to redact.
        let mut source = http("forgetful");
        if let Some(url) = url {
            source.server_url = url;
        }
        source.auth.token_command = Some(format!("vault --token {secret}"));
        let pairs = |all: Vec<(String, String)>| all.into_iter().collect::<std::collections::BTreeMap<_, _>>();
        let raw = json!({ "args": arguments, "env": pairs(env), "headers": pairs(headers), "password": secret });
        source.capture_config_redacted = raw.as_object().unwrap().clone();
        let bundle = normalize(source, RawCapture::from_pages(&[]).unwrap());
        let built = build(&bundle).unwrap();
        let all = [bundle.write().unwrap(), built.adapter, built.sidecar].concat();
        prop_assert!(!all.contains("s3cr3t"), "{all}");
    }
}
