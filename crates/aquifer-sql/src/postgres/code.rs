//! Recognizes bodies of SQL and PL/pgSQL functions that only compute.
//!
//! This is an allowlist, not a parser: a body is recognized if every token is. The list contains no word that starts a
//! statement with effects, and no way to read a relation, because views, policies and foreign tables run code of their
//! own. Anything that makes it hard to tell code from text (dollar quotes, block comments, backslashes, `U&`) is not
//! recognized either.

use std::collections::HashSet;

use super::catalog::contains_word;

/// Built-in functions of PostgreSQL without side effects. Expressions may also call its other immutable functions.
pub(super) const FUNCTIONS: &str = "\
    abs age array_agg array_append array_cat array_length array_position array_prepend array_remove \
    array_to_json array_to_string avg bit_length bool_and bool_or btrim cardinality ceil ceiling char_length \
    character_length chr clock_timestamp coalesce concat concat_ws convert_from convert_to count \
    current_database current_date current_schema current_setting current_time current_timestamp current_user \
    date date_part date_trunc decode encode exp extract float8 floor format gen_random_uuid greatest host \
    initcap int4 int8 isfinite json_agg json_build_array json_build_object json_object_agg jsonb_agg \
    jsonb_array_elements jsonb_array_elements_text jsonb_array_length jsonb_build_array jsonb_build_object \
    jsonb_each jsonb_each_text jsonb_object_agg jsonb_object_keys jsonb_set jsonb_strip_nulls jsonb_typeof \
    justify_interval least left length ln localtime localtimestamp log lower lpad ltrim make_date make_interval \
    make_timestamp make_timestamptz max md5 min mod now nullif numeric octet_length overlay pg_notify \
    phraseto_tsquery plainto_tsquery position power quote_ident quote_literal quote_nullable random \
    regexp_match regexp_matches regexp_replace regexp_split_to_array repeat replace reverse right round \
    row_to_json rpad rtrim session_user setweight sha224 sha256 sha384 sha512 sign split_part sqrt \
    statement_timestamp string_agg string_to_array strip strpos substr substring sum text time timeofday \
    timestamp timestamptz timezone to_char to_date to_hex to_json to_jsonb to_number to_timestamp to_tsquery \
    to_tsvector transaction_timestamp translate trim trunc ts_rank tsvector_concat unnest upper uuidv4 uuidv7 \
    websearch_to_tsquery";

/// Words allowed anywhere outside of calls. `from` and `distinct` are only allowed in `IS DISTINCT FROM`.
const WORDS: &str = "\
    all and any array as at begin between case current_date current_time current_timestamp current_user debug detail \
    else elseif elsif end errcode escape exception false hint if ilike in info interval is like localtime \
    localtimestamp log message new not notice null old or perform raise return select session_user some symmetric \
    tg_argv tg_level tg_name tg_nargs tg_op tg_table_name tg_table_schema tg_when then time true unknown user using \
    warning when zone";

/// Words of these that may precede a parenthesis.
const BEFORE_PARENTHESIS: &str = "\
    all and any as between case else elseif elsif if ilike in like not or perform return select some then when";

/// Words that may precede a string. Any other word there is a type, and the string is its value.
const BEFORE_STRING: &str = "\
    and between case debug else elseif elsif escape exception from if ilike info interval like log not notice or perform \
    raise return select symmetric then time warning when zone";

/// Built-in types that may follow `::`.
const TYPES: &str = "\
    bigint bool boolean bpchar bytea char cidr date decimal float4 float8 inet int int2 int4 int8 integer interval json \
    jsonb name numeric real smallint text time timestamp timestamptz timetz tsquery tsvector uuid varchar";

#[derive(Debug, PartialEq, Eq)]
enum Token {
    /// An unquoted name or keyword, in lower case.
    Word(String),
    /// A quoted name.
    Quoted,
    String,
    /// A number or a numbered parameter.
    Value,
    Mark(char),
}

/// The names needed to read a body.
pub(super) struct Names<'a> {
    /// User-defined functions and types that have the name of a known word or of a parameter.
    pub(super) shadowed: &'a HashSet<String>,
    /// User-defined functions that can be called as `row.name`.
    pub(super) row_functions: &'a HashSet<String>,
    /// The function's parameters.
    pub(super) parameters: &'a [String],
}

/// All known words. A word is not recognized if the database has a function or type of that name: `perform(x)` may be a
/// call, and `info 'x'` a value of a type.
pub(super) fn known_names() -> Vec<String> {
    let all = [FUNCTIONS, TYPES, WORDS, BEFORE_PARENTHESIS, BEFORE_STRING, "distinct from"];
    all.into_iter().flat_map(|words| words.split(' ')).map(str::to_owned).collect()
}

/// Whether the body of a function only computes.
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
        // Quoted names are accepted only as field names: recognized code writes all other names without quotes.
        Some(Token::Quoted) => return is_field && !is_mark(next, '(') && names.row_functions.is_empty(),
        Some(Token::String | Token::Value | Token::Mark(_)) | None => return true,
    };
    let is_call = is_mark(next, '(');
    if is_field {
        return match is_call {
            true => is_word(before(2), "pg_catalog") && !is_mark(before(3), '.') && contains_word(FUNCTIONS, word),
            false => !names.row_functions.contains(word),
        };
    }
    if names.shadowed.contains(word) {
        return false;
    }
    if is_mark(before(1), ':') && is_mark(before(2), ':') {
        return contains_word(TYPES, word) && !is_mark(next, '.');
    }
    if next == Some(&Token::String) && !contains_word(BEFORE_STRING, word) {
        return false;
    }
    let is_parameter = names.parameters.iter().any(|name| name == word);
    if is_mark(next, '.') {
        return word == "new" || word == "old" || word == "pg_catalog" || is_parameter;
    }
    if is_call {
        return contains_word(BEFORE_PARENTHESIS, word) || contains_word(FUNCTIONS, word);
    }
    let follows_is = |distance: usize| {
        is_word(before(distance), "is") || (is_word(before(distance), "not") && is_word(before(distance + 1), "is"))
    };
    match word {
        "distinct" => follows_is(1),
        "from" => is_word(before(1), "distinct") && follows_is(2),
        _ => contains_word(WORDS, word) || is_parameter,
    }
}

/// The tokens of code without `--` comments; `None` if it contains anything unusual.
fn tokens(code: &str) -> Option<Vec<Token>> {
    let is_end_of_line = |c: char| c == '\n' || c == '\r';
    let mut tokens = Vec::new();
    let mut characters = code.chars().peekable();
    // In some strings a backslash escapes the closing quote.
    if code.contains('\\') || code.contains("/*") {
        return None;
    }
    while let Some(character) = characters.next() {
        match character {
            ' ' | '\t' | '\n' | '\r' => {}
            '-' if characters.peek() == Some(&'-') => while characters.next_if(|c| !is_end_of_line(*c)).is_some() {},
            '\'' | '"' => {
                skip_quoted(&mut characters, character)?;
                tokens.push(if character == '"' { Token::Quoted } else { Token::String });
            }
            '0'..='9' | '$' => {
                let mut digits = usize::from(character != '$');
                while characters.next_if(char::is_ascii_digit).is_some() {
                    digits += 1;
                }
                // Neither `$$`, `$tag$` nor `1e5`, which older servers read differently.
                if digits == 0 || characters.peek().is_some_and(|c| is_part_of_name(*c) || *c == '$') {
                    return None;
                }
                tokens.push(Token::Value);
            }
            'a'..='z' | 'A'..='Z' | '_' => {
                let mut word = String::from(character.to_ascii_lowercase());
                while let Some(character) = characters.next_if(|c| is_part_of_name(*c)) {
                    word.push(character.to_ascii_lowercase());
                }
                // `a$b` is one name, and prefixes such as `U&'…'` and `E'…'` change the meaning of a string.
                if matches!(characters.peek(), Some('$' | '\'' | '"'))
                    || (word == "u" && characters.peek() == Some(&'&'))
                {
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

fn is_part_of_name(character: char) -> bool {
    character.is_ascii_alphanumeric() || character == '_' || !character.is_ascii()
}

/// Skips to the end of a string or quoted name.
fn skip_quoted(characters: &mut std::iter::Peekable<std::str::Chars<'_>>, quote: char) -> Option<()> {
    loop {
        if characters.next()? == quote && characters.next_if_eq(&quote).is_none() {
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
        let row_functions = HashSet::from(["draw".to_owned()]);
        let parameters = ["amount".to_owned()];
        let names = Names { shadowed: &shadowed, row_functions: &row_functions, parameters: &parameters };
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
            // Reading a relation runs the code behind it.
            "SELECT * FROM f",
            "SELECT DISTINCT FROM f",
            "SELECT f",
            "TABLE f",
            "BEGIN SELECT x INTO NEW.a FROM v; RETURN NEW; END",
            "BEGIN PERFORM 1 WHERE EXISTS (TABLE v); END",
            // User-defined types have checks.
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
            // Words that are user-defined functions or types.
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
