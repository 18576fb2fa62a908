//! Tables of login sessions and tokens are served only if the operator names them.

use serde_json::json;

use crate::support::fixtures_with;

/// As frameworks create them: Django and its packages, Laravel, Rails, Keycloak, NextAuth, Express.
const CREDENTIALS: &str = "
    CREATE TABLE django_session (session_key varchar(40) PRIMARY KEY, session_data text NOT NULL, expire_date timestamp NOT NULL);
    CREATE TABLE authtoken_token (key varchar(40) PRIMARY KEY, created timestamp, user_id int);
    CREATE TABLE knox_authtoken (digest varchar(128) PRIMARY KEY, token_key varchar(25), expiry timestamp, user_id int);
    CREATE TABLE oauth2_provider_accesstoken (id int PRIMARY KEY, token text, expires timestamp, user_id int);
    CREATE TABLE oauth2_provider_grant (id int PRIMARY KEY, code varchar(255), code_challenge text, nonce text, secret text);
    CREATE TABLE token_blacklist_outstandingtoken (id int PRIMARY KEY, token text, jti varchar(255));
    CREATE TABLE sessions (id varchar(255) PRIMARY KEY, user_id int, ip_address text, payload text, last_activity int);
    CREATE TABLE personal_access_tokens (id int PRIMARY KEY, name text, token varchar(64), abilities text);
    CREATE TABLE password_resets (email text, token text, created_at timestamp);
    CREATE TABLE user_sessions (id int PRIMARY KEY, session_id text, data text, updated_at timestamp);
    CREATE TABLE credential (id varchar(36) PRIMARY KEY, user_id varchar(36), secret_data text, credential_data text);
    CREATE TABLE \"VerificationToken\" (identifier text, token text, expires timestamp);
    CREATE TABLE \"Session\" (id text PRIMARY KEY, \"sessionToken\" text, \"userId\" text, expires timestamp);
    CREATE TABLE session (sid varchar PRIMARY KEY, sess text, expire timestamp);
    CREATE TABLE api_keys (id int PRIMARY KEY, name text, hashed_key text);";

/// Names that are like them, and tables with a secret that are about something else.
const OTHERS: &str = "
    CREATE TABLE conference_sessions (id int PRIMARY KEY, title text, room text, starts_at timestamp);
    CREATE TABLE training_sessions (id int PRIMARY KEY, data text, day date);
    CREATE TABLE tokens (id int PRIMARY KEY, symbol text, address text, decimals int);
    CREATE TABLE users (id int PRIMARY KEY, name text, api_token text, remember_token text);
    CREATE TABLE accounts (id int PRIMARY KEY, provider text, access_token text);
    CREATE TABLE keys (id int PRIMARY KEY, room text);
    CREATE VIEW logins AS SELECT session_key, expire_date FROM django_session;";

#[tokio::test]
async fn r_ext_6_tables_of_sessions_and_tokens_are_served_only_if_they_are_named() {
    // SQLite ignores case, so that it has one table of this name.
    let sqlite = format!("{CREDENTIALS}{OTHERS}").replace("CREATE TABLE session (sid", "CREATE TABLE web_session (sid");
    let postgres = format!("{CREDENTIALS}{OTHERS}");
    let count = CREDENTIALS.matches("CREATE TABLE").count();
    for fixture in fixtures_with(&sqlite, &postgres, |_| {}).await {
        let operations = fixture.operations();
        let mut names: Vec<&str> = operations.iter().filter_map(|name| name.strip_prefix("list_")).collect();
        names.sort_unstable();
        let expected = ["accounts", "conference_sessions", "keys", "logins", "tokens", "training_sessions", "users"];
        assert_eq!(names, expected);
        // A view shows no more of them than before.
        let fields = fixture.call_ok("list_logins", json!({ "fields": "full" })).await;
        assert!(!fields.to_string().contains("session_key"), "{fields}");
        let notes = fixture.engine.snapshot().mounts().first().unwrap().source.status().notes;
        assert!(notes.iter().any(|note| note.matches('\'').count() >= 2 * count), "{notes:?}");
    }
    let named = |settings: &mut aquifer_sql::Settings| {
        settings.include = vec!["django_*".to_owned(), "authtoken_token".to_owned(), "users".to_owned()];
        settings.tables.entry("sessions".to_owned()).or_default();
    };
    for fixture in fixtures_with(&sqlite, &postgres, named).await {
        let operations = fixture.operations();
        let is_listed = |name: &str| operations.contains(&name.to_owned());
        // A pattern names nothing.
        assert!(
            is_listed("list_authtoken_tokens") && !operations.iter().any(|name| name.contains("django")),
            "{operations:?}"
        );
    }
}
