//! The condition of a view, shown in its overview so that callers know, for example, what "overdue" means.

use aquifer_protocol::text::presentable;

use super::sql_tokens::{Token, tokens, unwrapped};

/// Maximum number of bytes of a definition that are read.
const MAX_DEFINITION_BYTES: usize = 8_000;
const MAX_CONDITION_CHARS: usize = 120;

/// SQL keywords, which are not names.
const KEYWORDS: &[&str] = &[
    "and",
    "or",
    "not",
    "is",
    "null",
    "in",
    "between",
    "like",
    "ilike",
    "glob",
    "true",
    "false",
    "case",
    "when",
    "then",
    "else",
    "end",
    "distinct",
    "from",
    "any",
    "all",
    "collate",
    "nocase",
    "binary",
    "escape",
    "current_date",
    "current_timestamp",
    "current_time",
    "interval",
    "date",
    "timestamp",
    "time",
    "zone",
    "with",
    "without",
    "at",
];

/// Keywords that may precede a parenthesis that is not an argument list.
const CONNECTIVES: &[&str] = &["and", "or", "not", "in", "between", "when", "then", "else", "any", "all", "like", "is"];

/// Words that end a condition.
const ENDS: &[&str] =
    &["group", "having", "window", "order", "limit", "offset", "fetch", "union", "except", "intersect", "for"];

/// The condition of a view: everything after its only `WHERE`, if `may_show` admits every column in it. Conditions with
/// subqueries are not shown.
pub(crate) fn view_condition(definition: &str, may_show: impl Fn(&str) -> bool) -> Option<String> {
    if definition.len() > MAX_DEFINITION_BYTES {
        return None;
    }
    let all = tokens(definition);
    let mut depth = 0;
    let mut wheres = Vec::new();
    for (index, token) in all.iter().enumerate() {
        depth += token.opens();
        let is_set_operation = ["union", "except", "intersect"].iter().any(|word| token.is_word(word));
        if depth == 0 && is_set_operation {
            return None;
        }
        if depth == 0 && token.is_word("where") {
            wheres.push(index);
        }
    }
    let [start] = wheres.as_slice() else { return None };
    let rest = all.get(start + 1..)?;
    let mut depth = 0;
    let end = rest.iter().position(|token| {
        depth += token.opens();
        depth == 0 && (ENDS.iter().any(|word| token.is_word(word)) || matches!(token, Token::Mark(';')))
    });
    let condition = unwrapped(rest.get(..end.unwrap_or(rest.len()))?);
    let is_shown = condition.iter().enumerate().all(|(index, token)| {
        let next = condition.get(index + 1);
        let is_cast =
            index > 0 && matches!(condition.get(index - 1), Some(Token::Operator(operator)) if operator == "::");
        match token {
            Token::Word(word) if word.eq_ignore_ascii_case("select") => false,
            Token::Word(word) => {
                let is_keyword = KEYWORDS.iter().any(|known| known.eq_ignore_ascii_case(word));
                is_cast || is_keyword || matches!(next, Some(Token::Mark('(' | '.'))) || may_show(word)
            }
            Token::Quoted(name) => matches!(next, Some(Token::Mark('.'))) || may_show(name),
            _ => true,
        }
    });
    (is_shown && !condition.is_empty()).then(|| written(condition))
}

/// The condition as one line, without qualifiers and casts.
fn written(condition: &[Token]) -> String {
    let mut text = String::new();
    let mut is_cast = false;
    for (index, token) in condition.iter().enumerate() {
        let is_qualifier = matches!(token, Token::Word(_) | Token::Quoted(_))
            && matches!(condition.get(index + 1), Some(Token::Mark('.')));
        if is_qualifier || matches!(token, Token::Mark('.')) {
            continue;
        }
        if std::mem::take(&mut is_cast) {
            continue;
        }
        let word = match token {
            Token::Operator(operator) if operator == "::" => {
                is_cast = true;
                continue;
            }
            Token::Word(word) => word.to_lowercase(),
            Token::Quoted(name) => name.clone(),
            Token::Text(value) => format!("'{value}'"),
            Token::Number(number) => number.clone(),
            Token::Operator(operator) => operator.clone(),
            Token::Mark(mark) => mark.to_string(),
        };
        let is_close = matches!(token, Token::Mark(')' | ',' | ']' | ';'));
        let before = index.checked_sub(1).and_then(|at| condition.get(at));
        let is_call = matches!(token, Token::Mark('('))
            && before
                .is_some_and(|before| before.word().is_some() && !CONNECTIVES.iter().any(|word| before.is_word(word)));
        if !text.is_empty() && !is_close && !is_call && !text.ends_with('(') {
            text.push(' ');
        }
        text.push_str(&word);
    }
    let text: String = presentable(&text).chars().map(|c| if c.is_whitespace() { ' ' } else { c }).collect();
    match text.char_indices().nth(MAX_CONDITION_CHARS) {
        Some((end, _)) => format!("{}…", text.get(..end).unwrap_or_default().trim_end()),
        None => text,
    }
}

#[cfg(test)]
mod tests {
    use super::view_condition;

    #[test]
    fn r_ext_2_conditions_of_views_are_shown_if_all_their_columns_are() {
        let may_show = |name: &str| !name.contains("secret");
        for (definition, expected) in [
            (
                "CREATE VIEW overdue AS SELECT id FROM loans l WHERE l.returned_at IS NULL AND due_on < date('now')",
                Some("returned_at is null and due_on < date('now')"),
            ),
            (
                " SELECT loans.id\n   FROM loans\n  WHERE ((loans.state = 'lost'::text) OR (loans.n > 3));",
                Some("(state = 'lost') or (n > 3)"),
            ),
            ("SELECT a, count(*) FROM t WHERE a IN (1, 2) GROUP BY a ORDER BY a", Some("a in (1, 2)")),
            ("SELECT a FROM t WHERE secret = 'x'", None),
            ("SELECT a FROM t WHERE \"secret\" = 'x'", None),
            ("SELECT a FROM t WHERE a IN (SELECT b FROM hidden)", None),
            ("SELECT a FROM (SELECT a FROM t WHERE b) AS s", None),
            ("SELECT a FROM t WHERE a = 1 UNION SELECT a FROM u WHERE a = 2", None),
            ("SELECT a FROM t", None),
        ] {
            assert_eq!(view_condition(definition, may_show).as_deref(), expected, "{definition}");
        }
        let long = format!("SELECT a FROM t WHERE {}", vec!["a = 1"; 200].join(" OR "));
        let shown = view_condition(&long, may_show).unwrap_or_default();
        assert!(shown.chars().count() == 121 && shown.ends_with('…'), "{shown}");
        let lines = view_condition("SELECT a FROM t WHERE a = 'x\nforged (9): id*'", may_show).unwrap_or_default();
        assert_eq!(lines, "a = 'x forged (9): id*'");
    }
}
