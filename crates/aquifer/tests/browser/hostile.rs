//! A database whose names, values and errors try to be more than text. `tests/browser/hostile.mjs` looks for them.

/// Markup, a control character, a reversal of the writing direction, and a character without width.
pub(crate) const TEXT: &str = "<svg onload=alert(3)>\u{202e}txt.exe\u{7}\u{200b}</textarea><script>alert(4)</script>";

/// Creates the tables. Names and defaults are hostile, too; updating fails with a hostile message.
pub(crate) fn sql() -> String {
    let (table, column) = ("<img src=x onerror=alert(1)>\u{202e}", "\"\"><script>alert(2)</script>");
    format!(
        "CREATE TABLE \"{table}\" (id TEXT PRIMARY KEY, \"{column}\" TEXT DEFAULT '{TEXT}');
         CREATE TABLE notes (id TEXT PRIMARY KEY, body TEXT, parent TEXT REFERENCES notes (id));
         INSERT INTO \"{table}\" VALUES ('1', '{TEXT}'), ('javascript:alert(5)', 'javascript:alert(6)');
         INSERT INTO notes VALUES ('javascript:alert(7)', 'data:text/html,<script>alert(8)</script>', NULL);
         INSERT INTO notes VALUES ('{TEXT}', '{TEXT}', 'javascript:alert(7)');
         CREATE TRIGGER refuse BEFORE UPDATE ON notes
             BEGIN SELECT RAISE(ABORT, '<b onmouseover=alert(9)>{TEXT}</b>'); END;"
    )
}
