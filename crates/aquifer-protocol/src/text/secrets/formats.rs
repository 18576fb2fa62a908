//! Table of the credential formats that have a recognizable prefix.

use std::sync::LazyLock;

use super::{OWN_TOKEN, assigned, begins_word, looks_random, shapes};

/// The characters of a credential after its prefix.
#[derive(Clone, Copy)]
enum Body {
    Hex,
    /// Capitals and digits.
    Upper,
    Alnum,
    /// Letters, digits, `_`.
    Word,
    /// Letters, digits, `_`, `-`: base64 for URLs.
    Url,
    /// Letters, digits, `+`, `/`, `=`, `_`, `-`: base64 of either kind.
    Base64,
    /// Letters, digits, `_`, `-`, `.`, `=`: several parts.
    Dotted,
    /// Letters, digits, `_`, `-`, `/`: the path of a URL.
    Path,
}

impl Body {
    fn allows(self, byte: u8) -> bool {
        let alnum = byte.is_ascii_alphanumeric();
        match self {
            Body::Hex => byte.is_ascii_hexdigit(),
            Body::Upper => byte.is_ascii_uppercase() || byte.is_ascii_digit(),
            Body::Alnum => alnum,
            Body::Word => alnum || byte == b'_',
            Body::Url => alnum || matches!(byte, b'_' | b'-'),
            Body::Base64 => alnum || matches!(byte, b'_' | b'-' | b'+' | b'/' | b'='),
            Body::Dotted => alnum || matches!(byte, b'_' | b'-' | b'.' | b'='),
            Body::Path => alnum || matches!(byte, b'_' | b'-' | b'/'),
        }
    }
}

/// A credential format.
pub(super) struct Format {
    /// The kind of credential, for messages.
    pub(super) kind: &'static str,
    prefixes: &'static [&'static str],
    body: Body,
    /// The minimum length of the body.
    min: usize,
    /// Whether ordinary words can end with the prefix (`sk-` in `task-`), so that it only counts at the start of a
    /// word.
    is_weak: bool,
    /// Whether ordinary words also begin with the prefix.
    pub(super) is_common: bool,
    /// Whether the body has exactly `min` characters.
    is_exact: bool,
    /// Minimum length of the longest run of letters and digits in the body, which rules out hyphenated prose. 0: no
    /// minimum.
    min_run: usize,
}

const fn format(kind: &'static str, prefixes: &'static [&'static str], body: Body, min: usize) -> Format {
    Format { kind, prefixes, body, min, is_weak: false, is_common: false, is_exact: false, min_run: 0 }
}

impl Format {
    const fn weak(mut self) -> Self {
        self.is_weak = true;
        self
    }

    const fn common(mut self) -> Self {
        self.is_common = true;
        self.weak()
    }

    const fn exact(mut self) -> Self {
        self.is_exact = true;
        self
    }

    const fn run(mut self, min_run: usize) -> Self {
        self.min_run = min_run;
        self
    }

    /// The end of the credential that starts here, if there is one.
    pub(super) fn end_of_match(&self, bytes: &[u8], start: usize, prefix: &str) -> Option<usize> {
        /// Maximum number of bytes of the body that are examined, so that scanning text full of prefixes stays linear.
        const MAX_EXAMINED_BYTES: usize = 64;
        let rest = bytes.get(start..)?.strip_prefix(prefix.as_bytes())?;
        if self.is_weak && !begins_word(bytes, start) {
            return None;
        }
        let is_body = |byte: &&u8| self.body.allows(**byte);
        let examined = rest.iter().take(self.min.max(MAX_EXAMINED_BYTES)).take_while(is_body).count();
        let sample = rest.get(..examined)?;
        if examined < self.min || !looks_random(sample) || !has_run(sample, self.min_run) {
            return None;
        }
        let body_start = start + prefix.len();
        if self.is_exact {
            let next = rest.get(self.min);
            return next.is_none_or(|byte| !byte.is_ascii_alphanumeric()).then_some(body_start + self.min);
        }
        let length = rest.iter().take_while(is_body).count();
        // Trailing dots end a sentence and are not part of the credential.
        let dots = rest.get(..length)?.iter().rev().take_while(|byte| **byte == b'.').count();
        Some(body_start + length - dots)
    }
}

/// Whether the sample contains a random-looking run of at least this many letters and digits.
fn has_run(sample: &[u8], min_run: usize) -> bool {
    let mut runs = sample.split(|byte| !byte.is_ascii_alphanumeric());
    min_run == 0 || runs.any(|run| run.len() >= min_run && looks_random(run))
}

/// A format, with one of its prefixes.
type Prefixed = (&'static Format, &'static str);

/// The formats, indexed by prefix.
struct Index {
    /// By the first two bytes of their prefixes.
    by_pair: Vec<(u16, Prefixed)>,
    by_first_byte: Vec<Vec<Prefixed>>,
    marks: Marks,
}

/// A bit set of the byte pairs that a credential may start with. It rules out most positions of a text.
pub(super) struct Marks(Vec<u64>);

impl Marks {
    fn add(&mut self, pair: u16) {
        if let Some(word) = self.0.get_mut(usize::from(pair / 64)) {
            *word |= 1 << (pair % 64);
        }
    }

    #[inline]
    pub(super) fn contains(&self, first: u8, second: u8) -> bool {
        let pair = pair(first, second);
        self.0.get(usize::from(pair / 64)).is_some_and(|word| word & (1 << (pair % 64)) != 0)
    }
}

static INDEX: LazyLock<Index> = LazyLock::new(|| {
    let all = || FORMATS.iter().flat_map(|format| format.prefixes.iter().map(move |prefix| (format, *prefix)));
    let starting_with = |byte: u8| all().filter(move |(_, prefix)| prefix.as_bytes().first() == Some(&byte)).collect();
    // A test checks that every prefix has at least two bytes.
    let by_prefix = |prefixed: Prefixed| match prefixed.1.as_bytes() {
        [first, second, ..] => Some((pair(*first, *second), prefixed)),
        _ => None,
    };
    let mut by_pair: Vec<(u16, Prefixed)> = all().filter_map(by_prefix).collect();
    by_pair.sort_by_key(|(pair, _)| *pair);
    let mut marks = Marks(vec![0; 1024]);
    for (pair, _) in &by_pair {
        marks.add(*pair);
    }
    for pair in 0..=u16::MAX {
        let [first, second] = pair.to_be_bytes();
        if shapes::may_begin(first, second) || assigned::may_begin(first, second) {
            marks.add(pair);
        }
    }
    Index { by_first_byte: (0..=u8::MAX).map(starting_with).collect(), by_pair, marks }
});

fn pair(first: u8, second: u8) -> u16 {
    u16::from_be_bytes([first, second])
}

/// The byte pairs that any kind of credential may start with.
pub(super) fn marks() -> &'static Marks {
    &INDEX.marks
}

/// The formats with a prefix that starts with this byte, each with that prefix.
pub(super) fn beginning_with(byte: u8) -> &'static [Prefixed] {
    INDEX.by_first_byte.get(usize::from(byte)).map(Vec::as_slice).unwrap_or_default()
}

/// The formats with a prefix that starts with these two bytes, each with that prefix.
pub(super) fn beginning_with_pair(first: u8, second: u8) -> impl Iterator<Item = Prefixed> {
    let pair = pair(first, second);
    let from = INDEX.by_pair.partition_point(|(known, _)| *known < pair);
    let rest = INDEX.by_pair.get(from..).unwrap_or_default();
    rest.iter().take_while(move |(known, _)| *known == pair).map(|(_, prefixed)| *prefixed)
}

/// Minimum lengths are somewhat below the real ones, so that truncated credentials are also found.
#[rustfmt::skip]
static FORMATS: &[Format] = &[
    format(OWN_TOKEN, &["conf_", "confirm_", "quota_continue_"], Body::Url, 43),
    // AI services
    format("Anthropic key", &["sk-ant-"], Body::Url, 20),
    format("OpenAI key", &["sk-proj-", "sk-svcacct-", "sk-admin-", "sk-None-"], Body::Url, 20),
    format("OpenRouter key", &["sk-or-v1-"], Body::Hex, 32),
    format("OpenAI key", &["sk-"], Body::Url, 16).weak().run(16),
    format("Groq key", &["gsk_"], Body::Alnum, 30).weak(),
    format("Perplexity key", &["pplx-"], Body::Alnum, 30),
    format("Replicate token", &["r8_"], Body::Alnum, 30).common(),
    format("xAI key", &["xai-"], Body::Alnum, 40).common(),
    format("Hugging Face token", &["hf_", "api_org_"], Body::Alnum, 30).weak(),
    format("NVIDIA key", &["nvapi-"], Body::Url, 40),
    format("LangSmith key", &["lsv2_pt_", "lsv2_sk_"], Body::Word, 32),
    format("Tavily key", &["tvly-"], Body::Url, 20).run(12),
    format("Firecrawl key", &["fc-"], Body::Hex, 32).common().exact(),
    format("Apify token", &["apify_api_"], Body::Alnum, 30),
    format("E2B key", &["e2b_"], Body::Hex, 32).weak(),
    // Development
    format("GitHub token", &["ghp_", "gho_", "ghu_", "ghs_", "ghr_"], Body::Alnum, 20),
    format("GitHub token", &["github_pat_"], Body::Word, 22),
    format("GitLab token",
        &["glpat-", "gldt-", "glrt-", "glcbt-", "glptt-", "glft-", "glsoat-", "glimt-", "glagent-", "glffct-", "gloas-"],
        Body::Dotted, 16),
    format("npm token", &["npm_"], Body::Alnum, 30).weak(),
    format("PyPI token", &["pypi-"], Body::Url, 40).run(20),
    format("RubyGems key", &["rubygems_"], Body::Hex, 32),
    format("Docker token", &["dckr_pat_", "dckr_oat_"], Body::Url, 20),
    format("Sourcegraph token", &["sgp_"], Body::Word, 40).common(),
    format("Postman key", &["PMAK-"], Body::Url, 30),
    format("Atlassian token", &["ATATT", "ATCTT", "ATBB"], Body::Base64, 24).common(),
    format("Linear key", &["lin_api_", "lin_oauth_"], Body::Alnum, 20),
    format("Notion token", &["ntn_"], Body::Alnum, 20).weak(),
    format("Notion token", &["secret_"], Body::Alnum, 40).weak(),
    format("Figma token", &["figd_"], Body::Url, 20),
    format("Sentry token", &["sntrys_"], Body::Base64, 30),
    format("Sentry token", &["sntryu_"], Body::Hex, 32),
    format("Grafana token", &["glsa_"], Body::Word, 30),
    format("Grafana token", &["glc_", "eyJrIjoi"], Body::Base64, 30).weak(),
    format("New Relic key", &["NRAK-"], Body::Upper, 20),
    format("Doppler token", &["dp.pt.", "dp.st.", "dp.ct.", "dp.sa.", "dp.scim.", "dp.audit."], Body::Dotted, 24).weak().run(20),
    format("Pulumi token", &["pul-"], Body::Hex, 32).common(),
    // Clouds and hosting
    format("AWS access key", &["AKIA", "ASIA", "ABIA", "ACCA"], Body::Upper, 16).weak().exact(),
    format("Google key", &["AIza"], Body::Url, 30).weak(),
    format("Google client secret", &["GOCSPX-"], Body::Url, 20),
    format("Google token", &["ya29."], Body::Dotted, 20),
    format("Google token", &["1//0"], Body::Url, 30).common(),
    format("DigitalOcean token", &["dop_v1_", "doo_v1_", "dor_v1_"], Body::Hex, 32),
    format("Heroku key", &["HRKU-"], Body::Url, 20),
    format("Fly token", &["fo1_"], Body::Url, 30).weak(),
    format("Fly token", &["fm1_", "fm1a_", "fm1r_", "fm2_"], Body::Base64, 40).weak(),
    format("Supabase token", &["sbp_", "sb_secret_"], Body::Url, 20).weak().run(16),
    format("PlanetScale token", &["pscale_tkn_", "pscale_pw_", "pscale_oauth_"], Body::Dotted, 20),
    format("Databricks token", &["dapi"], Body::Hex, 32).common(),
    format("Netlify token", &["nfp_"], Body::Alnum, 30).weak(),
    format("Tailscale key", &["tskey-"], Body::Url, 16).run(8),
    format("Vault token", &["hvs.", "hvb.", "hvr."], Body::Url, 20).weak(),
    format("1Password token", &["ops_eyJ"], Body::Base64, 40),
    format("age key", &["AGE-SECRET-KEY-1"], Body::Upper, 40),
    // Messaging
    format("Slack token", &["xoxb-", "xoxp-", "xoxa-", "xoxr-", "xoxs-", "xoxc-", "xoxd-", "xoxe-", "xoxe.", "xapp-"], Body::Dotted, 10),
    format("Slack webhook", &["hooks.slack.com/services/", "hooks.slack.com/workflows/", "hooks.slack.com/triggers/"], Body::Path, 20),
    format("Discord webhook", &["discord.com/api/webhooks/", "discordapp.com/api/webhooks/"], Body::Path, 40),
    format("SendGrid key", &["SG."], Body::Dotted, 40).weak(),
    format("Mailgun key", &["key-"], Body::Hex, 32).common().exact(),
    format("Brevo key", &["xkeysib-"], Body::Url, 40),
    format("Twilio key", &["SK"], Body::Hex, 32).common().exact(),
    format("Facebook token", &["EAA"], Body::Url, 56).common(),
    // Payments and commerce
    format("Stripe key", &["sk_live_", "sk_test_", "rk_live_", "rk_test_"], Body::Alnum, 16),
    format("Stripe webhook secret", &["whsec_"], Body::Base64, 20),
    format("Shopify token", &["shpat_", "shpss_", "shpca_", "shppa_"], Body::Hex, 24),
    format("Square token", &["sq0atp-", "sq0csp-"], Body::Url, 20),
    // File storage
    format("Dropbox token", &["sl."], Body::Url, 60).common(),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn r_saf_5_every_prefix_is_found_by_its_first_two_bytes() {
        for format in FORMATS {
            for prefix in format.prefixes {
                let begins = |[first, second]: [u8; 2]| {
                    marks().contains(first, second)
                        && beginning_with_pair(first, second).any(|(_, known)| known == *prefix)
                };
                assert!(prefix.as_bytes().first_chunk().copied().is_some_and(begins), "{prefix}");
            }
        }
    }
}
