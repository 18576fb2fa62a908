//! Code of a PostgreSQL database that changes nothing but the row it is called for, as far as its text tells.
//!
//! Everything else that a transaction does is undone with it. What is not undone are sequences, and whatever leaves the
//! transaction: other servers, files, locks that outlast it. Code counts as harmless only if it calls nothing but
//! functions known here and holds no statement that changes tables, whose own triggers and defaults would have to be
//! known in turn.

use std::collections::HashSet;

use crate::checks::Words;

/// Functions of PostgreSQL itself that leave no trace.
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
    statement_timestamp string_agg string_to_array strip strpos substr substring sum text timeofday timezone \
    to_char to_date to_hex to_json to_jsonb to_number to_timestamp to_tsquery to_tsvector transaction_timestamp \
    translate trim trunc tsvector_concat unnest upper ts_rank websearch_to_tsquery xmlelement cast";

/// Words of the language that stand before parentheses without calling anything, and types that have lengths.
const SYNTAX: &str = "\
    all and any array as between bit bpchar by case char character decimal distinct else elsif elseif end \
    except exception exists filter for foreach from group having if in intersect interval into is join lateral \
    like ilike loop not on or order over partition perform raise return row select similar some then time \
    timestamp timestamptz to union using values varbit varchar varying when where while with within";

/// Words that begin or belong to statements whose effects are not known here.
const CHANGES: &str = "\
    insert update delete merge truncate copy execute call do create alter drop grant revoke lock listen \
    unlisten commit rollback savepoint nextval setval currval lastval vacuum analyze cluster reindex refresh \
    load prepare deallocate discard import set reset";

/// Triggers of PostgreSQL itself that only change the row.
const TRIGGERS: &str = "\
    tsvector_update_trigger tsvector_update_trigger_column suppress_redundant_updates_trigger";

/// Extensions whose functions compute and nothing else.
const EXTENSIONS: &str = "\
    btree_gin btree_gist citext cube fuzzystrmatch hstore intarray isn ltree pg_trgm pgcrypto seg unaccent \
    uuid-ossp";

/// What is known of the functions of a database.
pub(super) struct Harmless {
    /// Functions of the database's own that are called like ones of PostgreSQL: which of them is meant is not known.
    shadowed: HashSet<String>,
    /// Whether code may call functions without naming them: by operators, casts or views of the database's own.
    has_hidden_calls: bool,
}

/// A function as the catalog has it.
pub(super) struct Function<'a> {
    pub(super) schema: &'a str,
    pub(super) name: &'a str,
    pub(super) language: &'a str,
    pub(super) source: &'a str,
    pub(super) extension: Option<&'a str>,
}

impl Harmless {
    pub(super) fn new(shadowed: impl IntoIterator<Item = String>, has_hidden_calls: bool) -> Self {
        Self { shadowed: shadowed.into_iter().collect(), has_hidden_calls }
    }

    /// Whether a function leaves no trace.
    pub(super) fn is_function(&self, function: &Function<'_>) -> bool {
        if let Some(extension) = function.extension {
            return has(EXTENSIONS, extension);
        }
        match function.language {
            "internal" | "c" => {
                function.schema == "pg_catalog" && (has(TRIGGERS, function.name) || has(FUNCTIONS, function.name))
            }
            "sql" | "plpgsql" => self.is_code(function.source, &HashSet::new()),
            _ => false,
        }
    }

    /// Whether code calls nothing but what is known, or among these functions of the database's own.
    pub(super) fn is_code(&self, code: &str, own: &HashSet<String>) -> bool {
        let Some(words) = Words::of_postgres(code) else { return false };
        let is_known = |(schema, name): &(Option<String>, String)| {
            if own.contains(name) {
                return true;
            }
            let is_theirs = has(FUNCTIONS, name);
            match schema.as_deref() {
                None => (is_theirs && !self.shadowed.contains(name)) || has(SYNTAX, name),
                Some("pg_catalog") => is_theirs,
                Some(_) => false,
            }
        };
        !words.all.iter().any(|word| has(CHANGES, word))
            && words.called.iter().all(is_known)
            && !(self.has_hidden_calls && self.may_call_unnamed(code))
    }

    /// A single word or call of nothing but names, or a text with the type that reads it, uses no operator and no cast.
    fn may_call_unnamed(&self, code: &str) -> bool {
        let is_word = |code: &str| code.chars().all(|c| c.is_alphanumeric() || "_.()".contains(c));
        let is_text = |code: &str| {
            code.len() > 1 && code.starts_with('\'') && code.ends_with('\'') && code.matches('\'').count() == 2
        };
        let is_type = |code: &str| code.chars().all(|c| c.is_alphanumeric() || "_.()[], ".contains(c));
        let code = code.trim();
        !match code.split_once("::") {
            None => is_word(code) || is_text(code),
            Some((value, kind)) => is_text(value) && is_type(kind),
        }
    }
}

fn has(list: &str, word: &str) -> bool {
    list.split(' ').any(|known| known == word)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn r_req_9_code_is_harmless_only_if_all_of_it_is_known() {
        let known = Harmless::new(["reverse".to_owned()], false);
        for (code, expected) in [
            ("BEGIN NEW.updated_at = now(); RETURN NEW; END", true),
            ("BEGIN IF (NEW.a IS NULL) THEN RAISE EXCEPTION 'insert % please', NEW.a; END IF; RETURN NEW; END;", true),
            ("BEGIN PERFORM pg_notify('changed', row_to_json(NEW)::text); RETURN NEW; END", true),
            (
                "begin new.words := setweight(to_tsvector('simple', coalesce(new.title, '')), 'A'); return new; end",
                true,
            ),
            ("SELECT lower($1) || pg_catalog.upper($2)", true),
            ("BEGIN NEW.id := nextval('s'); RETURN NEW; END", false),
            ("BEGIN NEW.id := NEXTVAL ('s'); RETURN NEW; END", false),
            ("BEGIN NEW.id := \"nextval\"('s'); RETURN NEW; END", false),
            ("BEGIN NEW.id := (ARRAY[nextval('s')])[1]; RETURN NEW; END", false),
            ("BEGIN INSERT INTO log VALUES (NEW.id); RETURN NEW; END", false),
            ("BEGIN EXECUTE 'insert'; RETURN NEW; END", false),
            ("BEGIN PERFORM dblink_exec('x', 'y'); RETURN NEW; END", false),
            ("BEGIN PERFORM public.lower('y'); RETURN NEW; END", false),
            ("BEGIN PERFORM reverse('y'); RETURN NEW; END", false),
            ("BEGIN /* now( */ PERFORM other(); RETURN NEW; END", false),
            ("SELECT E'\\'' || lower('x')", false),
            ("SELECT * FROM f", true),
            ("SELECT f", true),
            ("'ORD-'::text || (5)::bigint", true),
        ] {
            assert_eq!(known.is_code(code, &HashSet::new()), expected, "{code}");
        }
        assert!(known.is_code("my_id()", &HashSet::from(["my_id".to_owned()])));
        let hidden = Harmless::new([], true);
        for (code, expected) in [
            ("'open'::text", true),
            ("now()", true),
            ("0", true),
            ("CURRENT_TIMESTAMP", true),
            ("'a'::text || 'b'::text", false),
            ("'a'::text::word", false),
            ("(a)::word", false),
            ("BEGIN NEW.a := NEW.a @@@ 1; RETURN NEW; END", false),
        ] {
            assert_eq!(hidden.is_code(code, &HashSet::new()), expected, "{code}");
        }
        let function = |schema, name, language, extension| {
            known.is_function(&Function { schema, name, language, source: "x", extension })
        };
        assert!(function("pg_catalog", "tsvector_update_trigger", "internal", None));
        assert!(!function("public", "tsvector_update_trigger", "c", None));
        assert!(function("public", "uuid_generate_v4", "c", Some("uuid-ossp")));
        assert!(!function("public", "dblink_exec", "c", Some("dblink")));
        assert!(!function("public", "x", "plpython3u", None));
    }
}
