//! The functions of SQLite that a caller's statement may call: those that compute a value from their arguments.

/// Left out are functions that reach files, extensions, full-text indexes or the connection (`load_extension`,
/// `fts3_tokenizer`, `match`, `snippet`, `sqlite_…`, `changes`), our own, and those that take time or memory proportional
/// to the product of two lengths (`json_patch`, `json_pretty`). `bounded_functions` replaces others of that kind.
const FUNCTIONS: &str = "\
    -> ->> abs acos acosh asin asinh atan atan2 atanh avg ceil ceiling char coalesce concat concat_ws cos cosh count \
    cume_dist current_date current_time current_timestamp date datetime degrees dense_rank exp first_value floor format \
    glob group_concat hex if ifnull iif instr json json_array json_array_insert json_array_length json_error_position \
    json_extract json_group_array json_group_object json_insert json_object json_quote json_remove \
    json_replace json_set json_type json_valid jsonb jsonb_array jsonb_array_insert jsonb_extract jsonb_group_array \
    jsonb_group_object jsonb_insert jsonb_object jsonb_remove jsonb_replace jsonb_set julianday lag last_value \
    lead length like likelihood likely ln log log10 log2 lower ltrim max median min mod nth_value ntile nullif \
    octet_length percent_rank percentile percentile_cont percentile_disc pi pow power printf quote radians random \
    randomblob rank replace round row_number rtrim sign sin sinh soundex sqrt strftime string_agg substr substring \
    subtype sum tan tanh time timediff total trim trunc typeof unhex unicode unistr unistr_quote unixepoch unlikely upper \
    zeroblob";

/// Table-valued functions that only compute.
const TABLE_FUNCTIONS: [&str; 4] = ["json_each", "json_tree", "jsonb_each", "jsonb_tree"];

/// Whether a statement may call the function.
pub(super) fn is_harmless(name: &str) -> bool {
    FUNCTIONS.split(' ').any(|known| known.eq_ignore_ascii_case(name))
}

/// Whether a statement may use the function like a table.
pub(super) fn is_harmless_table(name: &str) -> bool {
    TABLE_FUNCTIONS.iter().any(|known| known.eq_ignore_ascii_case(name))
}
