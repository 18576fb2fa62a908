//! The functions of PostgreSQL that a caller's statement may call: those that compute a value from their arguments.

/// Built-in functions. Left out are those that reach files, other servers, sessions, locks, sequences, large objects,
/// settings or the catalog, and those that run a query given as text.
pub(super) const FUNCTIONS: &str = "\
    abs acos acosd acosh age any_value array_agg array_append array_cat array_dims array_fill array_length array_lower \
    array_ndims array_position array_positions array_prepend array_remove array_replace array_sample array_shuffle \
    array_to_json array_to_string array_to_tsvector array_upper ascii asin asind asinh atan atan2 atan2d atand atanh avg \
    bit_and bit_count bit_length bit_or bit_xor bool_and bool_or btrim cardinality cbrt ceil ceiling char_length \
    character_length chr clock_timestamp coalesce concat concat_ws convert_from convert_to corr cos cosd cosh cot cotd \
    count covar_pop covar_samp cume_dist daterange date date_add date_bin date_part date_subtract date_trunc decode \
    degrees dense_rank div encode enum_first enum_last enum_range erf erfc every exp extract factorial family \
    first_value float4 float8 floor format gcd gen_random_uuid generate_series generate_subscripts get_bit get_byte \
    greatest grouping host hostmask initcap int2 int4 int4range int8 int8range isempty isfinite json_agg json_array_elements \
    json_array_elements_text json_array_length json_build_array json_build_object json_each json_each_text \
    json_extract_path json_extract_path_text json_object json_object_agg json_object_keys json_strip_nulls json_typeof \
    jsonb_agg jsonb_array_elements jsonb_array_elements_text jsonb_array_length jsonb_build_array jsonb_build_object \
    jsonb_each jsonb_each_text jsonb_exists jsonb_extract_path jsonb_extract_path_text jsonb_insert jsonb_object \
    jsonb_object_agg jsonb_object_keys jsonb_path_exists jsonb_path_match jsonb_path_query jsonb_path_query_array \
    jsonb_path_query_first jsonb_pretty jsonb_set jsonb_strip_nulls jsonb_typeof justify_days justify_hours \
    justify_interval lag last_value lcm lead least left length ln log log10 lower lower_inc lower_inf lpad ltrim \
    make_date make_interval make_time make_timestamp make_timestamptz masklen max md5 min min_scale mod mode multirange \
    netmask network normalize now nth_value ntile nullif num_nonnulls num_nulls numeric numnode numrange octet_length \
    overlay parse_ident percent_rank percentile_cont percentile_disc phraseto_tsquery pi plainto_tsquery position pow \
    power quote_ident quote_literal quote_nullable radians random range_agg range_intersect_agg range_merge rank \
    regexp_count regexp_instr regexp_like regexp_match regexp_matches regexp_replace regexp_split_to_array \
    regexp_split_to_table regexp_substr regr_avgx regr_avgy regr_count regr_intercept regr_r2 regr_slope regr_sxx \
    regr_sxy regr_syy repeat replace reverse right round row_number row_to_json rpad rtrim scale set_bit set_byte \
    setweight sha224 sha256 sha384 sha512 sign sin sind sinh split_part sqrt starts_with statement_timestamp stddev \
    stddev_pop stddev_samp string_agg string_to_array string_to_table strip strpos substr substring sum tan tand tanh \
    text time timeofday timestamp timestamptz timezone to_ascii to_bin to_char to_date to_hex to_json to_jsonb to_number \
    to_oct to_timestamp to_tsquery to_tsvector transaction_timestamp translate trim trim_array trim_scale trunc \
    ts_headline ts_rank ts_rank_cd tsrange tstzrange tsvector_to_array unnest upper upper_inc upper_inf uuidv4 uuidv7 \
    var_pop var_samp variance websearch_to_tsquery width_bucket";

/// Functions that the grammar calls: `AT TIME ZONE`, `LIKE … ESCAPE`, `OVERLAPS`, `RANGE BETWEEN`, and casts that depend
/// on the time zone or currency.
pub(super) const GRAMMAR_FUNCTIONS: &str = "\
    in_range is_normalized like_escape money overlaps similar_escape similar_to_escape timetz timezone";

/// Types whose values are looked up in the catalog.
pub(super) const CATALOG_TYPES: &str = "\
    aclitem regclass regcollation regnamespace regoper regoperator regproc regprocedure regrole regtype";
