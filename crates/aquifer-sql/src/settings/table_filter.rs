//! Selects tables by the patterns of `include` and `exclude`, compiled once for each reflection.

use aquifer_protocol::glob::Patterns;

use super::Settings;

/// Selects the tables to offer.
pub(crate) struct TableFilter<'a> {
    settings: &'a Settings,
    include: Patterns,
    exclude: Patterns,
}

impl<'a> TableFilter<'a> {
    /// Compiles the patterns and reports every invalid one.
    pub(crate) fn new(settings: &'a Settings, mut complain: impl FnMut(String)) -> Self {
        let mut compile = |key: &str, patterns: &[String]| {
            let folded: Vec<_> = patterns.iter().map(|pattern| settings.fold(pattern)).collect();
            Patterns::new(folded.iter().map(AsRef::as_ref), |problem| complain(format!("{key}: {problem}")))
        };
        let include = compile("include", &settings.include);
        let exclude = compile("exclude", &settings.exclude);
        Self { settings, include, exclude }
    }

    /// Whether a table is offered, by its name or by schema and name.
    pub(crate) fn admits(&self, schema: Option<&str>, table: &str) -> bool {
        let full = schema.map(|schema| format!("{schema}.{table}"));
        let table = self.settings.fold(table);
        let names = || std::iter::once(&*table).chain(full.as_deref());
        self.include.admits_one_of(names()) && (self.exclude.is_empty() || !self.exclude.admits_one_of(names()))
    }
}

impl Settings {
    /// All errors in the patterns of `include` and `exclude`.
    pub fn pattern_problems(&self) -> Vec<String> {
        let mut problems = Vec::new();
        TableFilter::new(self, |problem| problems.push(problem));
        problems
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing)]
mod tests {
    use super::*;
    use crate::settings::Target;

    const SQLITE: &str = "sqlite:shop.db";
    const POSTGRES: &str = "postgres://h/shop";

    fn settings(target: &str, include: &[&str], exclude: &[&str]) -> Settings {
        let mut settings = Settings::with_target("shop", Target::parse(target).unwrap());
        settings.include = include.iter().map(ToString::to_string).collect();
        settings.exclude = exclude.iter().map(ToString::to_string).collect();
        settings
    }

    #[test]
    fn tables_are_selected_by_patterns() {
        type Case<'a> = (&'a str, &'a [&'a str], &'a [&'a str], &'a [&'a str], &'a [&'a str]);
        let cases: &[Case<'_>] = &[
            (SQLITE, &[], &[], &["orders", "日本語"], &[]),
            (SQLITE, &["orders"], &[], &["orders", "Orders"], &["orders2"]),
            (SQLITE, &["Order*", "*_log"], &[], &["orders", "audit_log"], &["audit_logs"]),
            (SQLITE, &["order_?"], &[], &["order_1", "order_ä"], &["order_", "order_12"]),
            (SQLITE, &["??"], &[], &["ab", "日本"], &["a", "日本語"]),
            (SQLITE, &["a*b*c"], &[], &["axxbyyc"], &["axxbyy"]),
            (SQLITE, &["*", "!*_log"], &[], &["orders"], &["audit_log"]),
            (SQLITE, &["!*_log"], &[], &["orders"], &["audit_log"]),
            (SQLITE, &[], &["log_????"], &["log_1", "log_20261"], &["log_2026", "LOG_2026"]),
            (SQLITE, &[], &["*_log", "!audit_log"], &["orders", "audit_log"], &["http_log"]),
            (SQLITE, &["order*"], &["orders_?"], &["orders", "order_items"], &["orders_1", "customers"]),
            (POSTGRES, &["sales.*"], &[], &["sales.x"], &["public.x", "public.sales"]),
            (POSTGRES, &["Orders"], &[], &["public.Orders", "sales.Orders"], &["public.orders"]),
            (POSTGRES, &["*"], &["s?les.*"], &["public.x"], &["sales.x", "sbles.y"]),
            (POSTGRES, &[], &["secrets"], &["public.secret"], &["public.secrets", "sales.secrets"]),
        ];
        for (target, include, exclude, offered, left_out) in cases {
            let settings = settings(target, include, exclude);
            let filter = TableFilter::new(&settings, |problem| panic!("{problem}"));
            for (names, expected) in [(offered, true), (left_out, false)] {
                for name in *names {
                    let (schema, table) = match name.split_once('.') {
                        Some((schema, table)) => (Some(schema), table),
                        None => (None, *name),
                    };
                    assert_eq!(filter.admits(schema, table), expected, "{include:?} {exclude:?} {name}");
                }
            }
        }
    }

    #[test]
    fn invalid_patterns_are_reported() {
        for pattern in ["", " ", "orders ", "[ab]*", "{a,b}", "a|b", "a\u{7}b", &"a".repeat(300)] {
            for (include, exclude, key) in [(&[pattern][..], &[][..], "include"), (&[], &[pattern], "exclude")] {
                let mut problems = Vec::new();
                let settings = settings(SQLITE, include, exclude);
                TableFilter::new(&settings, |problem| problems.push(problem));
                assert!(problems.len() == 1 && problems[0].starts_with(key), "{pattern:?}: {problems:?}");
            }
        }
    }
}
