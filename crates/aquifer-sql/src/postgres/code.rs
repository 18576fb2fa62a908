//! Recognizes bodies of SQL and PL/pgSQL functions that do nothing but compute.
//!
//! This is an allowlist, not a parser: a body is recognized if every token of it is. No word that begins a statement
//! with effects is on the list, and neither is a way to read a relation: views, policies and foreign tables run code of
//! their own. Whatever makes it hard to tell code from text (dollar quotes, block comments, backslashes, `U&`) is not
//! recognized either.

use std::collections::HashSet;

use super::safe_code::{FUNCTIONS, has};

/// Words that may stand anywhere outside of calls. `from` and `distinct` are only allowed as in `IS DISTINCT FROM`.
const WORDS: &str = "\
    all and any array as at begin between case current_date current_time current_timestamp current_user debug detail \
    else elseif elsif end errcode escape exception false hint if ilike in info interval is like localtime \
    localtimestamp log message new not notice null old or perform raise return select session_user some symmetric \
    tg_argv tg_level tg_name tg_nargs tg_op tg_table_name tg_table_schema tg_when then time true unknown user using \
    warning when zone";

/// Those of them that may stand before a parenthesis.
const BEFORE_PARENTHESIS: &str = "\
    all and any as between case else elseif elsif if ilike in like not or perform return select some then when";

/// Those that may stand before a string. Any other word there is a type, and the string a value of it.
const BEFORE_STRING: &str = "\
    and between case debug else elseif elsif escape exception from if ilike info interval like log not notice or perform \
    raise return select symmetric then time warning when zone";

/// Types of PostgreSQL itself that `::` may name.
const TYPES: &str = "\
    bigint bool boolean bpchar bytea char cidr date decimal float4 float8 inet int int2 int4 int8 integer interval json \
    jsonb name numeric real smallint text time timestamp timestamptz timetz tsquery tsvector uuid varchar";

#[derive(Debug, PartialEq, Eq)]
enum Token {
    /// A name or keyword without quotes, in lower case.
    Word(String),
    /// A quoted name.
    Quoted,
    String,
    /// A number or a numbered parameter.
    Value,
    Mark(char),
}

/// What has to be known to read a body.
pub(super) struct Names<'a> {
    /// Functions and types of the database's own that have a name that is known here, or that of a parameter.
    pub(super) shadowed: &'a HashSet<String>,
    /// Functions of the database's own that can be called as `row.name`.
    pub(super) of_rows: &'a HashSet<String>,
    /// The function's parameters.
    pub(super) parameters: &'a [String],
}

/// The words that are known here. None of them is recognized where the database has a function or a type of that name:
/// `perform(x)` may be a call, and `info 'x'` a value of a type.
pub(super) fn known_names() -> Vec<String> {
    let all = [FUNCTIONS, TYPES, WORDS, BEFORE_PARENTHESIS, BEFORE_STRING, "distinct from"];
    all.into_iter().flat_map(|words| words.split(' ')).map(str::to_owned).collect()
}

/// Whether a body of a function is recognized as one that only computes.
pub(super) fn is_pure(body: &str, names: &Names<'_>) -> bool {
    let Some(tokens) = tokens(body) else { return false };
    (0..tokens.len()).all(|index| is_recognized_token(&tokens, index, names))
}

fn is_recognized_token(tokens: &[Token], index: usize, names: &Names<'_>) -> bool {
    let before = |distance: usize| index.checked_sub(distance).and_then(|index| tokens.get(index));
    let is_mark = |token: Option<&Token>, mark: char| token == Some(&Token::Mark(mark));
    let is_word = |token: Option<&Token>, word: &str| matches!(token, Some(Token::Word(found)) if found == word);
    let next = tokens.get(index + 1);
    let is_field = is_mark(before(1), '.');
    let word = match tokens.get(index) {
        Some(Token::Word(word)) => word.as_str(),
        // Only as the name of a field: everything else is spelled without quotes in code that is recognized.
        Some(Token::Quoted) => return is_field && !is_mark(next, '(') && names.of_rows.is_empty(),
        Some(Token::String | Token::Value | Token::Mark(_)) | None => return true,
    };
    let is_call = is_mark(next, '(');
    if is_field {
        return match is_call {
            true => is_word(before(2), "pg_catalog") && !is_mark(before(3), '.') && has(FUNCTIONS, word),
            false => !names.of_rows.contains(word),
        };
    }
    if names.shadowed.contains(word) {
        return false;
    }
    if is_mark(before(1), ':') && is_mark(before(2), ':') {
        return has(TYPES, word) && !is_mark(next, '.');
    }
    if next == Some(&Token::String) && !has(BEFORE_STRING, word) {
        return false;
    }
    let is_parameter = names.parameters.iter().any(|name| name == word);
    if is_mark(next, '.') {
        return word == "new" || word == "old" || word == "pg_catalog" || is_parameter;
    }
    if is_call {
        return has(BEFORE_PARENTHESIS, word) || has(FUNCTIONS, word);
    }
    let follows_is = |distance: usize| {
        is_word(before(distance), "is") || (is_word(before(distance), "not") && is_word(before(distance + 1), "is"))
    };
    match word {
        "distinct" => follows_is(1),
        "from" => is_word(before(1), "distinct") && follows_is(2),
        _ => has(WORDS, word) || is_parameter,
    }
}

/// The tokens of code, without `--` comments; nothing if it holds anything unusual.
fn tokens(code: &str) -> Option<Vec<Token>> {
    let is_end_of_line = |c: char| c == '\n' || c == '\r';
    let mut tokens = Vec::new();
    let mut letters = code.chars().peekable();
    // In some strings a backslash keeps a quote from ending the string.
    if code.contains('\\') || code.contains("/*") {
        return None;
    }
    while let Some(letter) = letters.next() {
        match letter {
            ' ' | '\t' | '\n' | '\r' => {}
            '-' if letters.peek() == Some(&'-') => while letters.next_if(|c| !is_end_of_line(*c)).is_some() {},
            '\'' | '"' => {
                skip_quoted(&mut letters, letter)?;
                tokens.push(if letter == '"' { Token::Quoted } else { Token::String });
            }
            '0'..='9' | '$' => {
                let mut digits = usize::from(letter != '$');
                while letters.next_if(char::is_ascii_digit).is_some() {
                    digits += 1;
                }
                // Neither `$$`, `$tag$` nor `1e5`, which older servers read differently.
                if digits == 0 || letters.peek().is_some_and(|c| is_part_of_name(*c) || *c == '$') {
                    return None;
                }
                tokens.push(Token::Value);
            }
            'a'..='z' | 'A'..='Z' | '_' => {
                let mut word = String::from(letter.to_ascii_lowercase());
                while let Some(letter) = letters.next_if(|c| is_part_of_name(*c)) {
                    word.push(letter.to_ascii_lowercase());
                }
                // `a$b` is one name, and prefixes such as `U&'…'` and `E'…'` change what a string means.
                if matches!(letters.peek(), Some('$' | '\'' | '"')) || (word == "u" && letters.peek() == Some(&'&')) {
                    return None;
                }
                tokens.push(Token::Word(word));
            }
            mark if mark.is_ascii_punctuation() && !"`{}".contains(mark) => tokens.push(Token::Mark(mark)),
            _ => return None,
        }
    }
    Some(tokens)
}

fn is_part_of_name(letter: char) -> bool {
    letter.is_ascii_alphanumeric() || letter == '_' || !letter.is_ascii()
}

/// Skips to the end of a string or a quoted name.
fn skip_quoted(letters: &mut std::iter::Peekable<std::str::Chars<'_>>, quote: char) -> Option<()> {
    loop {
        if letters.next()? == quote && letters.next_if_eq(&quote).is_none() {
            return Some(());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn r_req_9_a_body_is_pure_only_if_every_token_is() {
        let shadowed = ["reverse", "date", "warning", "elsif", "like", "some"].map(str::to_owned);
        let shadowed = HashSet::from(shadowed);
        let of_rows = HashSet::from(["draw".to_owned()]);
        let parameters = ["amount".to_owned()];
        let names = Names { shadowed: &shadowed, of_rows: &of_rows, parameters: &parameters };
        for body in [
            "BEGIN NEW.updated_at = now(); RETURN NEW; END",
            "\r\nBEGIN\r\n  -- don't forget\r\n  NEW.updated_at := CURRENT_TIMESTAMP;\r\n  RETURN NEW;\r\nEND;\r\n",
            "BEGIN NEW.updated_at = now() AT TIME ZONE 'utc'; RETURN NEW; END",
            "BEGIN IF NEW.a IS DISTINCT FROM OLD.a THEN NEW.at := clock_timestamp(); END IF; RETURN NEW; END",
            "BEGIN IF TG_OP = 'UPDATE' THEN NULL; END IF; RETURN NEW; END",
            "BEGIN IF (NEW.a IS NULL) THEN RAISE EXCEPTION 'insert % please', NEW.a; END IF; RETURN NEW; END;",
            "BEGIN PERFORM pg_notify('changed', row_to_json(NEW)::text); RETURN NEW; END",
            "begin new.words := setweight(to_tsvector('simple', coalesce(new.title, '')), 'A'); return new; end",
            "BEGIN NEW.version := OLD.version + 1; NEW.slug := lower(regexp_replace(NEW.title, '[^a-z$]+', '-', 'g')); RETURN NEW; END",
            "SELECT lower($1) || pg_catalog.upper($2)",
            "SELECT amount > 0 AND amount < 100",
            "SELECT 'it''s -- fine' <> $1",
            "SELECT $1 ILIKE 'x' ESCAPE '!' AND $1 NOT BETWEEN 'a' AND 'b' AND now() > $2 + interval '1 day'",
            "SELECT CASE $1 WHEN 'a' THEN 'b' ELSE 'c' END IS DISTINCT FROM 'd'",
            "BEGIN RAISE 'no'; RAISE LOG 'a %', 1; RAISE INFO 'b'; RETURN 'x'; END",
            "BEGIN RAISE EXCEPTION USING MESSAGE = 'a', HINT = 'b'; END",
            "SELECT ARRAY['a'] || 'b' = ANY('{}'::text)",
        ] {
            assert!(is_pure(body, &names), "{body}");
        }
        for body in [
            "BEGIN NEW.id := nextval('s'); RETURN NEW; END",
            "BEGIN NEW.id := NEXTVAL ('s'); RETURN NEW; END",
            "BEGIN NEW.id := \"nextval\"('s'); RETURN NEW; END",
            "BEGIN NEW.id := (ARRAY[nextval('s')])[1]; RETURN NEW; END",
            "BEGIN INSERT INTO log VALUES (NEW.id); RETURN NEW; END",
            "BEGIN EXECUTE 'insert'; RETURN NEW; END",
            "BEGIN CALL f; END",
            "BEGIN PERFORM dblink_exec('x', 'y'); RETURN NEW; END",
            "BEGIN PERFORM public.lower('y'); RETURN NEW; END",
            "BEGIN PERFORM new.pg_catalog.lower('y'); RETURN NEW; END",
            "BEGIN PERFORM reverse('y'); RETURN NEW; END",
            "BEGIN NEW.a := NEW.draw; RETURN NEW; END",
            "BEGIN NEW.a := (NEW).draw; RETURN NEW; END",
            "BEGIN NEW.a := (NEW).\"draw\"; RETURN NEW; END",
            // Reading runs what is behind relations.
            "SELECT * FROM f",
            "SELECT DISTINCT FROM f",
            "SELECT f",
            "TABLE f",
            "BEGIN SELECT x INTO NEW.a FROM v; RETURN NEW; END",
            "BEGIN PERFORM 1 WHERE EXISTS (TABLE v); END",
            // Types of the database's own have checks.
            "BEGIN NEW.a := 'x'::odd; RETURN NEW; END",
            "BEGIN NEW.a := 'x'::public.odd; RETURN NEW; END",
            "BEGIN NEW.a := 'x'::date; RETURN NEW; END",
            "BEGIN NEW.a := CAST('x' AS odd); RETURN NEW; END",
            "BEGIN NEW.a := odd 'x'; RETURN NEW; END",
            "SELECT amount 'x'",
            "SELECT user 'x'",
            "SELECT array 'x'",
            "BEGIN NEW.a := detail 'x'; RETURN NEW; END",
            "BEGIN NEW.a := message -- '\n 'x'; RETURN NEW; END",
            // Words that are functions or types of the database's own.
            "BEGIN RAISE WARNING 'x'; END",
            "BEGIN NEW.a := warning('x'); END",
            "BEGIN NEW.a := warning; END",
            "BEGIN IF true THEN NULL; ELSIF (true) THEN NULL; END IF; END",
            "SELECT like($1, $1, 1)",
            "SELECT $1 LIKE 'x'",
            "SELECT 1 = some(ARRAY[1])",
            "DECLARE a odd := 'x'; BEGIN RETURN NEW; END",
            // Code that looks like text, and text that looks like code.
            "BEGIN RAISE NOTICE $$can't$$; INSERT INTO log VALUES (1); RAISE NOTICE $$can't$$; END",
            "BEGIN RAISE NOTICE $a$can't$a$; PERFORM nextval('s'); RAISE NOTICE $a$'$a$; END",
            "BEGIN /* outer /* inner */ don't */ PERFORM nextval('s'); /* ' */ RETURN NEW; END",
            "BEGIN /* now( */ RETURN NEW; END",
            "BEGIN PERFORM U&\"n!0065xtval\" UESCAPE '!' ('s'); END",
            "BEGIN PERFORM U& \"n\"; END",
            "BEGIN -- \r PERFORM nextval('s'); \n END",
            "BEGIN -- '\n PERFORM nextval('s'); -- '\n END",
            "SELECT E'\\'' || lower('x')",
            "SELECT E'x'",
            "SELECT lower('x",
            "SELECT $1$2",
            "SELECT lower\u{a0}('x')",
            "SELECT é",
            "<<a>> BEGIN RETURN NEW; END",
            "#variable_conflict use_column BEGIN RETURN NEW; END",
        ] {
            assert!(!is_pure(body, &names), "{body}");
        }
    }
}
