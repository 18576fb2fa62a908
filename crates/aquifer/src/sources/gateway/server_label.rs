//! Describes an MCP server to the operator, without secrets.

use aquifer_sql::Target;
use aquifer_upstream::Transport;

use super::super::source_label::hash_digits;

pub(super) fn server(transport: &Transport) -> String {
    match transport {
        Transport::Stdio { command, args, env, cwd } => {
            let folder = cwd.as_deref().map(|cwd| cwd.to_string_lossy().into_owned()).unwrap_or_default();
            // The number of arguments separates them from the variables that follow.
            let count = args.len().to_string();
            let variables = env.iter().flat_map(|(name, value)| [name.as_str(), value]);
            let written = [command.as_str(), &folder, &count].into_iter();
            format!("{command} #{}", hash_digits(written.chain(args.iter().map(String::as_str)).chain(variables)))
        }
        Transport::Http { url, headers, bearer } => {
            let headers = headers.iter().flat_map(|(name, value)| [name.as_str(), value]);
            let token = bearer.iter().map(|bearer| bearer.token.as_str());
            let written = [url.as_str()].into_iter().chain(headers).chain(token);
            format!("{} #{}", Target::without_secrets(url), hash_digits(written))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stdio(args: &[&str], env: &[(&str, &str)]) -> String {
        let own = |text: &&str| (*text).to_owned();
        let pair = |(name, value): &(&str, &str)| ((*name).to_owned(), (*value).to_owned());
        server(&Transport::Stdio {
            command: "npx".to_owned(),
            args: args.iter().map(own).collect(),
            env: env.iter().map(pair).collect(),
            cwd: None,
        })
    }

    fn http(url: &str, headers: &[(&str, &str)]) -> String {
        let headers = headers.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
        server(&Transport::Http { url: url.to_owned(), headers, bearer: None })
    }

    #[test]
    fn r_saf_3_servers_are_told_apart_and_show_no_secret() {
        let places = [
            stdio(&["server", "--db", "staging"], &[]),
            stdio(&["server", "--db", "production"], &[]),
            stdio(&["server"], &[("TOKEN", "hunter2")]),
            stdio(&["server", "TOKEN", "hunter2"], &[]),
            http("https://example.com/mcp", &[]),
            http("https://example.com/mcp", &[("x-tenant", "hunter2")]),
            http("https://user:hunter2@example.com/mcp?key=hunter2", &[]),
        ];
        for (index, place) in places.iter().enumerate() {
            assert!(!place.contains("hunter2"), "{place}");
            assert!(!places.iter().skip(index + 1).any(|other| other == place), "{place}");
        }
        assert_eq!(stdio(&["server"], &[]), stdio(&["server"], &[]));
    }
}
