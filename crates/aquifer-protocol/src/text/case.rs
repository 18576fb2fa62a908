//! Converts names to snake_case and PascalCase, for the whole project.
//!
//! [`snake_case`] changes only the case style and keeps every other character, so that the result can be compared with
//! a declared name. [`snake_identifier`] converts any text to a valid identifier, for operations, parameters and
//! fields. Stored names depend on both, so their results must not change. Types have names in [`pascal_case`].

/// Converts `camelCase`, `kebab-case` and `Title Case` to `snake_case` (R-REQ-3).
pub fn snake_case(name: &str) -> String {
    let mut snake = String::with_capacity(name.len() + 4);
    let characters: Vec<char> = name.chars().collect();
    for (index, &character) in characters.iter().enumerate() {
        if character.is_uppercase() {
            let before = index.checked_sub(1).and_then(|i| characters.get(i));
            let after = characters.get(index + 1);
            let starts_word = before.is_some_and(|b| b.is_lowercase() || b.is_ascii_digit())
                || (before.is_some_and(|b| b.is_uppercase()) && after.is_some_and(|a| a.is_lowercase()));
            if starts_word && !snake.ends_with('_') {
                snake.push('_');
            }
            snake.extend(character.to_lowercase());
        } else if matches!(character, '-' | ' ' | '.') {
            snake.push('_');
        } else {
            snake.push(character);
        }
    }
    snake
}

/// Converts any name to a snake_case identifier of ASCII letters and digits: `OrderLine` and `Order Line` to
/// `order_line`, `Käufer` to `kaufer`. Empty if no character of the name has an ASCII spelling.
pub fn snake_identifier(name: &str) -> String {
    let plain = deunicode::deunicode(name);
    let mut snake = String::with_capacity(plain.len() + 4);
    let mut previous = ' ';
    let mut characters = plain.chars().peekable();
    while let Some(character) = characters.next() {
        if character.is_ascii_alphanumeric() {
            let next_is_small = characters.peek().is_some_and(char::is_ascii_lowercase);
            let begins_word = character.is_ascii_uppercase()
                && (previous.is_ascii_lowercase()
                    || previous.is_ascii_digit()
                    || (previous.is_ascii_uppercase() && next_is_small));
            if begins_word && !snake.is_empty() && !snake.ends_with('_') {
                snake.push('_');
            }
            snake.push(character.to_ascii_lowercase());
        } else if !snake.is_empty() && !snake.ends_with('_') && character != '\'' {
            snake.push('_');
        }
        previous = character;
    }
    let snake = snake.trim_end_matches('_');
    if snake.starts_with(|c: char| c.is_ascii_digit()) { format!("n{snake}") } else { snake.to_owned() }
}

/// Converts `create_task` to `CreateTask`.
pub fn pascal_case(name: &str) -> String {
    name.split(|c: char| !c.is_alphanumeric())
        .flat_map(|word| {
            let mut characters = word.chars();
            characters.next().into_iter().flat_map(char::to_uppercase).chain(characters)
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::{snake_case, snake_identifier};

    #[test]
    fn respelling_and_identifiers_differ_where_they_have_to() {
        for (name, respelled, identifier) in [
            ("OrderLine", "order_line", "order_line"),
            ("Order Line", "order_line", "order_line"),
            ("HTTPServer", "http_server", "http_server"),
            ("get-2Fast", "get_2_fast", "get_2_fast"),
            ("_private__name_", "_private__name_", "private_name"),
            ("Käufer", "käufer", "kaufer"),
            ("it's", "it's", "its"),
            ("2nd", "2nd", "n2nd"),
            ("$%", "$%", ""),
        ] {
            assert_eq!(snake_case(name), respelled, "{name}");
            assert_eq!(snake_identifier(name), identifier, "{name}");
        }
    }
}
