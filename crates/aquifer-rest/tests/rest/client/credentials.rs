//! Credentials: where they go, and that they are never shown.

use aquifer_engine::trace::Trace;
use aquifer_protocol::error::Code;
use aquifer_rest::{AuthScheme, Authenticator, ClientSettings, CredentialPlace, HttpClient, Security, SendRules};
use tokio_util::sync::CancellationToken;

use super::server::{Reply, Server};
use super::{assert_code, failure, get, reads, send, settings};

const SECRET: &str = "s3cret/+value";

fn environment(name: &str) -> Option<String> {
    match name {
        "KEY" => Some(SECRET.to_owned()),
        "PADDED" => Some(format!(" {SECRET}\n")),
        "USER" => Some("ann".to_owned()),
        "BROKEN" => Some("a\r\nHost: evil".to_owned()),
        "COLON" => Some("a:b".to_owned()),
        "EMPTY" => Some(String::new()),
        _ => None,
    }
}

fn credential(place: CredentialPlace, prefix: &str, variable: &str) -> AuthScheme {
    AuthScheme::Credential { place, prefix: prefix.to_owned(), variable: variable.to_owned() }
}

fn header(variable: &str) -> AuthScheme {
    credential(CredentialPlace::Header("Authorization".to_owned()), "Bearer ", variable)
}

fn query() -> AuthScheme {
    credential(CredentialPlace::Query("api key".to_owned()), "", "KEY")
}

fn cookie() -> AuthScheme {
    credential(CredentialPlace::Cookie("session".to_owned()), "", "KEY")
}

fn basic(username: &str) -> AuthScheme {
    AuthScheme::Basic { username_variable: username.to_owned(), password_variable: "KEY".to_owned() }
}

fn client(settings: &ClientSettings, schemes: &[AuthScheme]) -> HttpClient {
    HttpClient::new(settings, Authenticator::new(schemes, environment)).unwrap()
}

#[tokio::test]
async fn credentials_go_to_their_place() {
    let server = Server::start(|_, _| Reply::json(200, "{}")).await;
    let settings = settings(&server);
    let url = format!("{}/x?a=%2F&api+key=old", server.url());
    for scheme in [header("PADDED"), query(), cookie(), basic("USER")] {
        let mut request = get(&url);
        request.headers.push(("Cookie".to_owned(), "a=b".to_owned()));
        let response = send(&client(&settings, &[scheme]), request).await.unwrap();
        assert!(!response.url.contains("s3cret"), "{}", response.url);
    }
    let received = server.received();
    assert_eq!(received[0].headers["authorization"], format!("Bearer {SECRET}"));
    assert_eq!(received[0].target, "/x?a=%2F&api+key=old");
    assert_eq!(received[1].target, "/x?a=%2F&api+key=s3cret%2F%2Bvalue");
    assert_eq!(received[2].headers["cookie"], format!("a=b; session={SECRET}"));
    assert_eq!(received[3].headers["authorization"], "Basic YW5uOnMzY3JldC8rdmFsdWU=");
    assert!(!received[1].headers.contains_key("authorization"));
}

#[tokio::test]
async fn a_cookie_of_the_caller_does_not_replace_the_credential() {
    let server = Server::start(|_, _| Reply::json(200, "{}")).await;
    let mut request = get(&server.url());
    request.headers.push(("Cookie".to_owned(), "session=mine; a=b; session =mine;sessions=1".to_owned()));
    send(&client(&settings(&server), &[cookie()]), request).await.unwrap();
    assert_eq!(server.received()[0].headers["cookie"], format!("a=b; sessions=1; session={SECRET}"));
}

#[tokio::test]
async fn credentials_follow_redirects_on_the_same_origin_only() {
    let other = Server::start(|_, _| Reply::json(200, "{}")).await;
    let elsewhere = other.url();
    let server = Server::start(move |received, _| match received.target.as_str() {
        "/a" => Reply::redirect(302, "/b"),
        "/c" => Reply::redirect(302, &elsewhere),
        _ => Reply::json(200, "{}"),
    })
    .await;
    let client = client(&settings(&server), &[header("KEY")]);
    send(&client, get(&format!("{}/a", server.url()))).await.unwrap();
    send(&client, get(&format!("{}/c", server.url()))).await.unwrap_err();
    assert!(server.received().iter().all(|received| received.headers.contains_key("authorization")));
    assert_eq!((server.count(), other.count()), (3, 0));
}

#[tokio::test]
async fn the_first_complete_scheme_is_used() {
    let server = Server::start(|_, _| Reply::json(200, "{}")).await;
    let client = client(&settings(&server), &[header("UNSET"), cookie(), header("KEY")]);
    send(&client, get(&server.url())).await.unwrap();
    assert!(server.received()[0].headers.contains_key("cookie"));
    assert!(client.missing_variables(&Security::Any).is_empty());
    assert_eq!(client.without_credentials(&format!("a {SECRET} b")), "a [redacted] b");
}

#[tokio::test]
async fn missing_variables_are_named() {
    let server = Server::start(|_, _| Reply::json(200, "{}")).await;
    for (schemes, names) in [
        (vec![header("UNSET")], &["UNSET"][..]),
        (vec![header("EMPTY")], &["EMPTY"]),
        (vec![basic("UNSET"), header("EMPTY")], &["UNSET"]),
        (vec![AuthScheme::Basic { username_variable: "U".to_owned(), password_variable: "P".to_owned() }], &["U", "P"]),
    ] {
        let client = client(&settings(&server), &schemes);
        assert_eq!(client.missing_variables(&Security::Any), names);
        let failure = failure(&client, get(&server.url())).await;
        assert_code(&failure, Code::AuthCredentialMissing);
        assert!(names.iter().all(|name| failure.message().contains(&format!("'{name}'"))), "{}", failure.message());
        assert!(!format!("{failure:?}").contains("s3cret"));
    }
    assert_eq!(server.count(), 0);
}

#[tokio::test]
async fn unusable_credentials_are_named_and_not_shown() {
    let server = Server::start(|_, _| Reply::json(200, "{}")).await;
    let host = credential(CredentialPlace::Header("Host".to_owned()), "", "KEY");
    let cookie = credential(CredentialPlace::Cookie("a;b".to_owned()), "", "KEY");
    for (scheme, name) in [(header("BROKEN"), "BROKEN"), (basic("COLON"), "COLON"), (host, ""), (cookie, "KEY")] {
        let failure = failure(&client(&settings(&server), &[scheme]), get(&server.url())).await;
        assert_code(&failure, Code::AuthConfigInvalid);
        assert!(failure.message().contains(name), "{}", failure.message());
        let shown = format!("{failure:?}");
        assert!(!shown.contains("evil") && !shown.contains("s3cret") && !shown.contains("a:b"), "{shown}");
    }
    assert_eq!(server.count(), 0);
}

#[tokio::test]
async fn targets_that_repeat_credentials_do_not_reveal_them() {
    let echo = |received: &super::server::Received| {
        format!("no: {} {:?} czNjcmV0Lyt2YWx1ZQ s3c\u{200b}ret/+value", received.target, received.headers)
    };
    let server = Server::start(move |received, number| {
        let text = echo(received);
        match number % 3 {
            0 => Reply::json(403, &serde_json::json!({"message": text, "errors": [text]}).to_string()),
            1 => Reply::Answer(400, vec![("content-type", "application/problem+json".to_owned())], {
                serde_json::json!({"title": text, "detail": text, "instance": text}).to_string().into_bytes()
            }),
            _ => Reply::Answer(500, vec![("content-type", "text/plain".to_owned())], text.into_bytes()),
        }
    })
    .await;
    for scheme in [header("KEY"), query(), cookie(), basic("USER")] {
        let client = client(&settings(&server), &[scheme]);
        for _ in 0..3 {
            let failure = failure(&client, get(&server.url())).await;
            let shown = format!("{failure:?} {client:?}");
            for secret in ["s3cret", "czNjcmV0", "YW5uOnMzY3JldC8rdmFsdWU"] {
                assert!(!shown.contains(secret), "{shown}");
            }
            assert!(shown.contains("[redacted]"), "{shown}");
        }
    }
}

#[tokio::test]
async fn network_errors_do_not_reveal_credentials() {
    let server = Server::start(|_, _| Reply::Reset).await;
    let client = client(&settings(&server), &[query()]);
    let failure = failure(&client, get(&server.url())).await;
    assert!(failure.cause().is_some());
    assert!(!format!("{failure:?}").contains("s3cret"), "{failure:?}");
    assert!(!format!("{failure:?}").contains("api+key"), "{failure:?}");
}

#[tokio::test]
async fn hosts_that_a_description_names_get_no_credentials() {
    let server = Server::start(|_, _| Reply::json(200, "{}")).await;
    let other = Server::start(|_, _| Reply::json(200, "{}")).await;
    let mut settings = settings(&server);
    settings.headers = vec![
        ("X-Team-Key".to_owned(), "Token t3am-secret".to_owned()),
        ("X-Version".to_owned(), "2024-01-01".to_owned()),
    ];
    settings.allow_private_addresses = true;
    settings.other_base_urls = vec![other.url()];
    for scheme in [header("KEY"), query(), cookie()] {
        let client = client(&settings, &[scheme]);
        send(&client, get(&server.url())).await.unwrap();
        send(&client, get(&other.url())).await.unwrap();
        assert_eq!(client.presentable("a t3am-secret of 2024-01-01"), "a [redacted] of [redacted]");
    }
    assert!(server.received().iter().all(|received| received.headers["x-team-key"] == "Token t3am-secret"));
    for received in other.received() {
        assert!(!format!("{received:?}").contains("s3cret"), "{received:?}");
        assert!(!received.headers.contains_key("x-team-key"), "{received:?}");
    }
    assert_eq!((server.count(), other.count()), (3, 3));
    // A host that the operator names gets them.
    settings.trusted_base_urls = vec![other.url()];
    send(&client(&settings, &[header("KEY")]), get(&other.url())).await.unwrap();
    assert!(other.received()[3].headers.contains_key("authorization"));
    assert!(other.received()[3].headers.contains_key("x-team-key"));
}

#[tokio::test]
async fn headers_of_the_operator_are_checked() {
    let server = Server::start(|_, _| Reply::json(200, "{}")).await;
    for (name, value, is_valid) in
        [("Authorization", "Bearer x", true), ("Host", "x", false), ("X y", "z", false), ("X", "a\r\nb", false)]
    {
        let headers = vec![(name.to_owned(), value.to_owned())];
        let settings = ClientSettings { headers, ..settings(&server) };
        assert_eq!(HttpClient::new(&settings, Authenticator::none()).is_ok(), is_valid, "{name}");
    }
}

#[tokio::test]
async fn recorded_messages_show_no_credential() {
    let server = Server::start(|_, _| {
        Reply::json(200, &format!("{{\"you\":\"{SECRET}\",\"ok\":1}}")).with("Set-Cookie", "sid=abc; HttpOnly")
    })
    .await;
    let mut settings = settings(&server);
    settings.headers = vec![("X-Tenant".to_owned(), "tenant-4711".to_owned())];
    for scheme in [header("KEY"), query(), cookie(), basic("USER")] {
        let client = client(&settings, &[scheme]);
        let trace = Trace::recording();
        let rules = SendRules { trace: trace.clone(), ..reads() };
        let mut request = get(&format!("{}/x", server.url()));
        request.headers.push(("X-Api-Key".to_owned(), "typed-by-caller".to_owned()));
        client.send(request, &rules, &CancellationToken::new()).await.unwrap();
        let messages = trace.messages();
        let [sent, returned] = messages.as_slice() else { panic!("{messages:?}") };
        assert!(sent.head.starts_with("GET http://127.0.0.1:"), "{}", sent.head);
        assert!(sent.head.contains("x-tenant: [redacted]"), "{}", sent.head);
        assert!(returned.head.starts_with("200\n") && returned.body.contains("\"ok\":1"), "{returned:?}");
        for text in [&sent.head, &sent.body, &returned.head, &returned.body] {
            for secret in ["s3cret", "tenant-4711", "typed-by-caller", "sid=abc", "YW5uOn"] {
                assert!(!text.contains(secret), "{secret} in {text}");
            }
        }
    }
}
