//! The requirements of `CHECK` constraints for single columns: bounds, lengths, lists of values. Constraints that are
//! not fully understood are ignored here, because the database checks all of them anyway.

use crate::schema::sql_tokens::{Token, is_enclosed, last_cast, tokens, unwrapped};

/// The requirements for the values of one column.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct ColumnRules {
    pub(crate) minimum: Option<f64>,
    pub(crate) maximum: Option<f64>,
    pub(crate) above: Option<f64>,
    pub(crate) below: Option<f64>,
    pub(crate) min_length: Option<u64>,
    pub(crate) max_length: Option<u64>,
    /// The allowed integers.
    pub(crate) numbers: Vec<i64>,
    /// The allowed strings.
    pub(crate) words: Vec<String>,
    /// Whether text has to be JSON, which is how Django and others store it in SQLite.
    pub(crate) is_json: bool,
}

/// A single requirement.
#[derive(Debug, Clone, PartialEq)]
enum Rule {
    Minimum(f64),
    Maximum(f64),
    Above(f64),
    Below(f64),
    MinLength(f64),
    MaxLength(f64),
    Numbers(Vec<i64>),
    Words(Vec<String>),
    Json,
}

impl ColumnRules {
    /// The requirements of these expressions for a column. `is_column` recognizes its name.
    pub(crate) fn from_checks<'a>(
        expressions: impl IntoIterator<Item = &'a str>,
        is_column: impl Fn(&str) -> bool,
    ) -> Self {
        let mut rules = Self::default();
        for expression in expressions {
            for (_, rule) in parse_conjunction(&tokens(expression)).into_iter().filter(|(column, _)| is_column(column))
            {
                rules.add(rule);
            }
        }
        rules
    }

    /// Combines the requirements of both.
    pub(crate) fn merge(mut self, other: Self) -> Self {
        let Self { minimum, maximum, above, below, min_length, max_length, numbers, words, is_json } = other;
        let bounds = [
            minimum.map(Rule::Minimum),
            maximum.map(Rule::Maximum),
            above.map(Rule::Above),
            below.map(Rule::Below),
            Some(Rule::Numbers(numbers)).filter(|rule| *rule != Rule::Numbers(Vec::new())),
            Some(Rule::Words(words)).filter(|rule| *rule != Rule::Words(Vec::new())),
            is_json.then_some(Rule::Json),
        ];
        bounds.into_iter().flatten().for_each(|rule| self.add(rule));
        self.min_length = self.min_length.max(min_length);
        self.max_length = self.max_length.into_iter().chain(max_length).min();
        self
    }

    /// Adds a rule. All rules must hold.
    fn add(&mut self, rule: Rule) {
        let greater = |known: &mut Option<f64>, new: f64| *known = Some(known.map_or(new, |known| known.max(new)));
        let less = |known: &mut Option<f64>, new: f64| *known = Some(known.map_or(new, |known| known.min(new)));
        match rule {
            Rule::Minimum(bound) => greater(&mut self.minimum, bound),
            Rule::Above(bound) => greater(&mut self.above, bound),
            Rule::Maximum(bound) => less(&mut self.maximum, bound),
            Rule::Below(bound) => less(&mut self.below, bound),
            Rule::MinLength(count) => self.min_length = self.min_length.max(length(count.ceil())),
            Rule::MaxLength(count) => {
                self.max_length = self.max_length.into_iter().chain(length(count.floor().max(0.0))).min();
            }
            Rule::Numbers(numbers) if self.numbers.is_empty() => self.numbers = numbers,
            Rule::Numbers(numbers) => self.numbers.retain(|known| numbers.contains(known)),
            Rule::Words(words) if self.words.is_empty() => self.words = words,
            Rule::Words(words) => self.words.retain(|known| words.contains(known)),
            Rule::Json => self.is_json = true,
        }
    }
}

#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "within the range of lengths")]
fn length(count: f64) -> Option<u64> {
    (0.0..1e9).contains(&count).then_some(count as u64)
}

/// The rules of a conjunction.
fn parse_conjunction(tokens: &[Token]) -> Vec<(String, Rule)> {
    let tokens = unwrapped(tokens);
    // In `x IS NULL OR …` the rest is the requirement: NULL is handled separately.
    let alternatives = split(tokens, "or");
    if alternatives.len() > 1 {
        let (tests, others): (Vec<&[Token]>, Vec<&[Token]>) =
            alternatives.into_iter().partition(|part| is_null_test(part));
        let [only] = others.as_slice() else { return Vec::new() };
        // If another column is tested for NULL, the rest may not apply.
        let tested: Vec<Option<Operand>> = tests.into_iter().map(null_tested).collect();
        let is_of = |column: &String, one: &Option<Operand>| *one == Some(Operand::Column(column.clone()));
        let rules = parse_conjunction(only).into_iter();
        return rules.filter(|(column, _)| tested.iter().all(|one| is_of(column, one))).collect();
    }
    let parts = split(tokens, "and");
    if parts.len() > 1 {
        return parts.into_iter().flat_map(parse_conjunction).collect();
    }
    parse_single(tokens)
}

fn is_null_test(tokens: &[Token]) -> bool {
    matches!(unwrapped(tokens), [.., is, null] if is.is_word("is") && null.is_word("null"))
}

/// The operand of a NULL test.
fn null_tested(tokens: &[Token]) -> Option<Operand> {
    match unwrapped(tokens) {
        [tested @ .., _, _] => parse_operand(tested),
        _ => None,
    }
}

/// Splits at a word outside of parentheses. The AND of a BETWEEN does not count.
fn split<'t>(tokens: &'t [Token], word: &str) -> Vec<&'t [Token]> {
    let (mut parts, mut depth, mut start, mut is_between) = (Vec::new(), 0_i32, 0, false);
    for (index, token) in tokens.iter().enumerate() {
        depth += token.opens();
        if depth != 0 {
            continue;
        }
        if token.is_word("between") {
            is_between = true;
        } else if is_between && token.is_word("and") {
            is_between = false;
        } else if token.is_word(word) {
            parts.push(tokens.get(start..index).unwrap_or_default());
            start = index + 1;
        }
    }
    parts.push(tokens.get(start..).unwrap_or_default());
    parts
}

/// A side of a comparison.
#[derive(Debug, Clone, PartialEq)]
enum Operand {
    Column(String),
    Length(String),
    /// The length without surrounding blanks, which is at most the length.
    TrimmedLength(String),
    Number(f64),
    Text(String),
}

const COMPARISONS: &[&str] = &["=", "==", "<>", "!=", "<", "<=", ">", ">="];

fn parse_single(tokens: &[Token]) -> Vec<(String, Rule)> {
    let mut depth = 0;
    for (index, token) in tokens.iter().enumerate() {
        depth += token.opens();
        if depth != 0 {
            continue;
        }
        let (before, after) = (tokens.get(..index).unwrap_or_default(), tokens.get(index + 1..).unwrap_or_default());
        if token.is_word("between") {
            return parse_between(before, after);
        }
        if token.is_word("in") {
            return parse_operand(before).map(|left| parse_list(left, after)).unwrap_or_default();
        }
        if let Token::Operator(operator) = token
            && COMPARISONS.contains(&&**operator)
        {
            return parse_comparison(operator, before, after);
        }
    }
    match tokens {
        [function, argument @ ..] if function.is_word("json_valid") && is_enclosed(argument) => {
            match parse_operand(unwrapped(argument)) {
                Some(Operand::Column(column)) => vec![(column, Rule::Json)],
                _ => Vec::new(),
            }
        }
        _ => Vec::new(),
    }
}

fn parse_between(before: &[Token], after: &[Token]) -> Vec<(String, Rule)> {
    let Some(and) = after.iter().position(|token| token.is_word("and")) else { return Vec::new() };
    let (low, high) = (after.get(..and).unwrap_or_default(), after.get(and + 1..).unwrap_or_default());
    let mut rules = parse_comparison(">=", before, low);
    rules.extend(parse_comparison("<=", before, high));
    rules
}

fn parse_comparison(operator: &str, before: &[Token], after: &[Token]) -> Vec<(String, Rule)> {
    let Some(left) = parse_operand(before) else { return Vec::new() };
    if let ("=", Some(list_of)) = (operator, any_of(after)) {
        return parse_list(left, list_of);
    }
    let Some(right) = parse_operand(after) else { return Vec::new() };
    let flipped = match operator {
        ">" => "<",
        ">=" => "<=",
        "<" => ">",
        "<=" => ">=",
        same => same,
    };
    comparison_rule(operator, &left, &right).or_else(|| comparison_rule(flipped, &right, &left)).unwrap_or_default()
}

/// `ANY (ARRAY[…])`, PostgreSQL's form of `IN (…)`.
fn any_of(tokens: &[Token]) -> Option<&[Token]> {
    let (_, rest) = tokens.split_first().filter(|(any, _)| any.is_word("any"))?;
    let (array, list) = unwrapped(strip_cast(unwrapped(rest)).0).split_first()?;
    (array.is_word("array") && matches!(list, [Token::Mark('['), .., Token::Mark(']')])).then_some(list)
}

fn comparison_rule(operator: &str, left: &Operand, right: &Operand) -> Option<Vec<(String, Rule)>> {
    let single_rule = |column: &String, rule: Rule| Some(vec![(column.clone(), rule)]);
    match (operator, left, right) {
        (">=", Operand::Column(column), Operand::Number(bound)) => single_rule(column, Rule::Minimum(*bound)),
        ("<=", Operand::Column(column), Operand::Number(bound)) => single_rule(column, Rule::Maximum(*bound)),
        (">", Operand::Column(column), Operand::Number(bound)) => single_rule(column, Rule::Above(*bound)),
        ("<", Operand::Column(column), Operand::Number(bound)) => single_rule(column, Rule::Below(*bound)),
        ("<>" | "!=", Operand::Column(column), Operand::Text(text)) if text.is_empty() => {
            single_rule(column, Rule::MinLength(1.0))
        }
        (">=", Operand::Length(column) | Operand::TrimmedLength(column), Operand::Number(count)) => {
            single_rule(column, Rule::MinLength(*count))
        }
        (">", Operand::Length(column) | Operand::TrimmedLength(column), Operand::Number(count)) => {
            single_rule(column, Rule::MinLength(count.floor() + 1.0))
        }
        ("<=", Operand::Length(column), Operand::Number(count)) => single_rule(column, Rule::MaxLength(*count)),
        ("<", Operand::Length(column), Operand::Number(count)) => {
            single_rule(column, Rule::MaxLength(count.ceil() - 1.0))
        }
        ("=" | "==", Operand::Length(column), Operand::Number(count)) => {
            Some(vec![(column.clone(), Rule::MinLength(*count)), (column.clone(), Rule::MaxLength(*count))])
        }
        _ => None,
    }
}

/// `(a, b, c)` or `[a, b, c]`: all numbers, or all texts.
fn parse_list(left: Operand, tokens: &[Token]) -> Vec<(String, Rule)> {
    let (Operand::Column(column), [_, inner @ .., _], true) = (left, tokens, is_enclosed(tokens)) else {
        return Vec::new();
    };
    let mut depth = 0;
    let parts = inner.split(|token| {
        depth += token.opens();
        depth == 0 && *token == Token::Mark(',')
    });
    let Some(values) = parts.map(parse_operand).collect::<Option<Vec<Operand>>>() else { return Vec::new() };
    let number = |value: &Operand| match value {
        #[expect(clippy::cast_possible_truncation, reason = "whole and within the exact range")]
        Operand::Number(number) if number.fract() == 0.0 && number.abs() < 9e15 => Some(*number as i64),
        _ => None,
    };
    let word = |value: &Operand| match value {
        Operand::Text(text) => Some(text.clone()),
        _ => None,
    };
    let numbers = values.iter().map(number).collect::<Option<Vec<i64>>>().map(Rule::Numbers);
    let words = || values.iter().map(word).collect::<Option<Vec<String>>>().map(Rule::Words);
    numbers.or_else(words).map(|rule| (column, rule)).into_iter().collect()
}

/// Strips a cast at the end, and returns its type.
fn strip_cast(tokens: &[Token]) -> (&[Token], Option<String>) {
    match last_cast(tokens) {
        Some(index) => {
            let words = tokens.get(index + 1..).unwrap_or_default().iter().filter_map(Token::word);
            (tokens.get(..index).unwrap_or_default(), Some(words.collect::<Vec<_>>().join(" ").to_lowercase()))
        }
        None => (tokens, None),
    }
}

/// Types to which a column can be cast without changing its value.
const LOSSLESS: &[&str] =
    &["text", "character varying", "varchar", "bpchar", "character", "numeric", "double precision"];
const NUMERIC: &[&str] = &["integer", "bigint", "smallint", "numeric", "real", "double precision"];

fn parse_operand(tokens: &[Token]) -> Option<Operand> {
    let (inner, cast) = strip_cast(unwrapped(tokens));
    if let Some(cast) = cast {
        let inner = parse_operand(inner)?;
        return match &inner {
            Operand::Text(text) if NUMERIC.contains(&&*cast) => text.parse().ok().map(Operand::Number),
            Operand::Column(_) | Operand::Length(_) | Operand::TrimmedLength(_) if !LOSSLESS.contains(&&*cast) => None,
            _ => Some(inner),
        };
    }
    match inner {
        [Token::Number(number)] => number.parse().ok().map(Operand::Number),
        [Token::Operator(sign), Token::Number(number)] if sign == "-" => {
            number.parse().ok().map(|number: f64| Operand::Number(-number))
        }
        [Token::Text(text)] => Some(Operand::Text(text.clone())),
        [Token::Word(name)] if name.eq_ignore_ascii_case("null") => None,
        [Token::Word(name) | Token::Quoted(name)] => Some(Operand::Column(name.clone())),
        [_, Token::Mark('.'), Token::Word(name) | Token::Quoted(name)] => Some(Operand::Column(name.clone())),
        [Token::Word(function), arguments @ ..] if is_enclosed(arguments) => {
            let is = |names: &[&str]| names.iter().any(|name| function.eq_ignore_ascii_case(name));
            if !is(&["length", "char_length", "character_length"]) {
                return None;
            }
            match parse_operand(arguments) {
                Some(Operand::Column(column)) => Some(Operand::Length(column)),
                Some(_) => None,
                None => parse_trimmed(unwrapped(arguments)).map(Operand::TrimmedLength),
            }
        }
        _ => None,
    }
}

/// `trim(x)`, `btrim(x)`, `TRIM(BOTH FROM x)`.
fn parse_trimmed(tokens: &[Token]) -> Option<String> {
    let (function, arguments) = tokens.split_first()?;
    if !["trim", "btrim", "ltrim", "rtrim"].iter().any(|name| function.is_word(name)) {
        return None;
    }
    let inner = match unwrapped(arguments) {
        [both, from, rest @ ..] if both.is_word("both") && from.is_word("from") => rest,
        inner => inner,
    };
    match parse_operand(inner)? {
        Operand::Column(column) => Some(column),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn from_checks(expression: &str) -> ColumnRules {
        ColumnRules::from_checks([expression], |column| column == "x")
    }

    #[test]
    fn checks_of_both_databases_become_rules() {
        let none = ColumnRules::default;
        let numbers = |numbers: &[i64]| ColumnRules { numbers: numbers.to_vec(), ..none() };
        let words = |words: &[&str]| ColumnRules { words: words.iter().map(|&word| word.into()).collect(), ..none() };
        let minimum = |bound: f64| ColumnRules { minimum: Some(bound), ..none() };
        let maximum = |bound: f64| ColumnRules { maximum: Some(bound), ..none() };
        let within = |low, high| ColumnRules { minimum: Some(low), maximum: Some(high), ..none() };
        let above = |bound: f64| ColumnRules { above: Some(bound), ..none() };
        let lengths = |min_length, max_length| ColumnRules { min_length, max_length, ..none() };
        for (expression, expected) in [
            // As written for SQLite.
            ("x >= 0", minimum(0.0)),
            ("0 <= x", minimum(0.0)),
            ("\"x\" > -1.5", above(-1.5)),
            ("x BETWEEN 1 AND 10", within(1.0, 10.0)),
            ("x >= 1 AND x <= 10 AND y > 99", within(1.0, 10.0)),
            ("(x IS NULL) OR (x >= 1 and x <= 10)", within(1.0, 10.0)),
            ("x BETWEEN 1 AND 10 AND x <= 5", within(1.0, 5.0)),
            ("x IS NULL OR x >= 1 AND x <= 10", within(1.0, 10.0)),
            ("x IN (1, 2,3)", numbers(&[1, 2, 3])),
            ("x in ('it''s', 'b')", words(&["it's", "b"])),
            ("length(x) <= 5", lengths(None, Some(5))),
            ("length(x) BETWEEN 2 AND 4", lengths(Some(2), Some(4))),
            ("length(x) = 3", lengths(Some(3), Some(3))),
            ("length(trim(x)) > 0", lengths(Some(1), None)),
            ("x <> ''", lengths(Some(1), None)),
            ("json_valid(x)", ColumnRules { is_json: true, ..none() }),
            ("(JSON_VALID(\"x\") OR \"x\" IS NULL)", ColumnRules { is_json: true, ..none() }),
            ("json_valid(x) OR y IS NULL", none()),
            ("json_valid(lower(x))", none()),
            ("t.x <= 1e3 /* no more */", maximum(1000.0)),
            // As PostgreSQL prints them.
            ("((x >= (0)::numeric))", minimum(0.0)),
            ("((x > '-1'::integer))", above(-1.0)),
            ("((x >= 1) AND (x <= 10))", within(1.0, 10.0)),
            ("((x)::text = ANY ((ARRAY['a'::character varying, 'b'::character varying])::text[]))", words(&["a", "b"])),
            ("(x = ANY (ARRAY[1, 2]))", numbers(&[1, 2])),
            ("(char_length((x)::text) <= 5)", lengths(None, Some(5))),
            ("(length(TRIM(BOTH FROM x)) > 0)", lengths(Some(1), None)),
            ("(x <> ''::text)", lengths(Some(1), None)),
            ("(x > (0)::double precision)", above(0.0)),
            // Nothing can be concluded.
            ("x >= 0 OR y > 1", none()),
            ("y > 1 OR x >= 1 AND x <= 10", none()),
            ("y IS NULL OR x >= 1", none()),
            ("((y IS NULL) OR (x >= 1))", none()),
            ("x IS NULL OR y IS NULL OR x >= 1", none()),
            ("x + y IS NULL OR x >= 1", none()),
            ("NOT x >= 0", none()),
            ("NOT (x >= 0)", none()),
            ("x NOT IN (1, 2)", none()),
            ("x NOT BETWEEN 1 AND 2", none()),
            ("abs(x) >= 1", none()),
            ("x >= y", none()),
            ("x + 1 >= 2", none()),
            ("x >= 0 = 1", none()),
            ("(x)::integer >= 1", none()),
            ("x >= '2020-01-01'", none()),
            ("x COLLATE NOCASE IN ('a')", none()),
            ("x IN (1, 'a')", none()),
            ("x IN (SELECT 1)", none()),
            ("length(x + y) < 4", none()),
            ("CASE WHEN x > 1 THEN 1 ELSE 0 END", none()),
            ("x > \"5\"", none()),
            ("x >= 0 AND", minimum(0.0)),
            ("((x >= 0", none()),
            ("", none()),
        ] {
            assert_eq!(from_checks(expression), expected, "{expression}");
        }
    }
}
