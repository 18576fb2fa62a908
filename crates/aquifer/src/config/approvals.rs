//! The configuration section `[approvals]`.

use aquifer_net::is_loopback_host;
use axum::http::Uri;
use serde::Deserialize;

use super::Variables;

/// `[approvals]`: who is told that a call waits for a person.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct ApprovalsConfig {
    /// The address that is told about every approval. It may refer to variables.
    pub(crate) webhook: Option<String>,
    /// The secret that signs what is sent there. It may refer to variables.
    pub(crate) webhook_secret: Option<String>,
    /// The address at which people reach the explorer, for links to approvals.
    pub(crate) explorer_url: Option<String>,
    /// Whether the page of an approval opens by itself in the browser of this machine. Default: yes.
    pub(crate) open_page: Option<bool>,
    /// The variables from `env_file`.
    #[serde(skip)]
    pub(crate) variables: Variables,
}

/// Minimum length of the webhook's secret.
const MIN_SECRET_LEN: usize = 16;

/// A setting that is not valid.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct ApprovalsProblem {
    /// Its name in the section.
    pub(crate) setting: &'static str,
    pub(crate) message: String,
}

impl ApprovalsConfig {
    /// Settings that are not valid. A text with a variable that is not set here cannot be checked.
    pub(crate) fn problems(&self) -> Vec<ApprovalsProblem> {
        let mut problems = Vec::new();
        let mut wrong = |setting, message: String| problems.push(ApprovalsProblem { setting, message });
        let expand = |text: &str| self.variables.expand(text).ok();
        if let Some(webhook) = &self.webhook {
            if let Some(Err(message)) = expand(webhook).map(|url| check_webhook_url(&url)) {
                wrong("webhook", message);
            }
            let secret = expand(self.webhook_secret.as_deref().unwrap_or_default());
            if let Some(Err(message)) = secret.map(|secret| check_webhook_secret(&secret)) {
                wrong("webhook_secret", message);
            }
        }
        if let Some(url) = &self.explorer_url
            && let Err(message) = check_explorer_url(url)
        {
            wrong("explorer_url", message);
        }
        problems
    }
}

/// Checks the address of the webhook. It is not quoted, because it may contain a credential.
pub(crate) fn check_webhook_url(url: &str) -> Result<(), String> {
    let Some((scheme, host)) = scheme_and_host(url) else { return Err("approvals.webhook is not a URL".to_owned()) };
    match scheme == "https" || (scheme == "http" && is_loopback_host(&host)) {
        true => Ok(()),
        false => {
            Err("approvals.webhook has to begin with https://. http:// is allowed for this machine only".to_owned())
        }
    }
}

/// Checks the secret of the webhook.
pub(crate) fn check_webhook_secret(secret: &str) -> Result<(), String> {
    match secret.len() >= MIN_SECRET_LEN {
        true => Ok(()),
        false => Err(format!("approvals.webhook_secret is missing or shorter than {MIN_SECRET_LEN} characters")),
    }
}

/// Checks the address at which people reach the explorer. Links to approvals begin with it.
pub(crate) fn check_explorer_url(url: &str) -> Result<(), String> {
    let is_web = scheme_and_host(url).is_some_and(|(scheme, _)| scheme == "https" || scheme == "http");
    if !is_web {
        return Err(
            "approvals.explorer_url is not the address of a website, such as https://aquifer.example.com".to_owned()
        );
    }
    match url.contains(['?', '#']) {
        true => Err("approvals.explorer_url must not have a query or a fragment: paths are added to it".to_owned()),
        false => Ok(()),
    }
}

/// The scheme and the host of an address.
fn scheme_and_host(url: &str) -> Option<(String, String)> {
    let parsed: Uri = url.parse().ok()?;
    let host = parsed.host().filter(|host| !host.is_empty())?;
    Some((parsed.scheme_str()?.to_ascii_lowercase(), host.to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The settings that are not valid.
    fn wrong(webhook: Option<&str>, secret: Option<&str>, explorer_url: Option<&str>) -> Vec<&'static str> {
        let [webhook, webhook_secret, explorer_url] = [webhook, secret, explorer_url].map(|it| it.map(str::to_owned));
        let config = ApprovalsConfig { webhook, webhook_secret, explorer_url, ..ApprovalsConfig::default() };
        config.problems().into_iter().map(|problem| problem.setting).collect()
    }

    #[test]
    fn addresses_and_the_secret_are_checked() {
        let secret = Some("0123456789abcdef");
        for url in ["https://hooks.example/x?y=z", "http://127.0.0.1:9/x", "http://[::1]/x", "http://localhost/"] {
            assert_eq!(wrong(Some(url), secret, None), [""; 0], "{url}");
        }
        for url in [
            "",
            "hooks.example",
            "/x",
            "http://hooks.example/x",
            "ftp://127.0.0.1/",
            "https://",
            "http://localhost.evil/",
        ] {
            assert_eq!(wrong(Some(url), secret, None), ["webhook"], "{url}");
        }
        assert_eq!(wrong(Some("https://hooks.example/"), None, None), ["webhook_secret"]);
        assert_eq!(wrong(Some("https://hooks.example/"), Some("short"), None), ["webhook_secret"]);
        assert_eq!(wrong(None, Some("short"), None), [""; 0], "nothing is signed with it");
        // What a variable holds is known where the server runs.
        assert_eq!(wrong(Some("${AQUIFER_TEST_UNSET}"), Some("${AQUIFER_TEST_UNSET}"), None), [""; 0]);
        for url in ["https://aquifer.example.com", "http://127.0.0.1:3910/", "https://example.com/aquifer"] {
            assert_eq!(wrong(None, None, Some(url)), [""; 0], "{url}");
        }
        for url in ["", "aquifer.example.com", "javascript:alert(1)", "https://x.example/?a=1", "https://x.example/#a"]
        {
            assert_eq!(wrong(None, None, Some(url)), ["explorer_url"], "{url}");
        }
    }
}
