//! Style sheet and scripts.

use std::collections::BTreeMap;

const STYLE: &str = include_str!("../../ui/docs.css");
const EXPLORER_STYLE: &str = include_str!("../../../aquifer-explorer/ui/style.css");
const SCRIPTS: [&str; 2] = [include_str!("../../ui/search.js"), include_str!("../../ui/theme.js")];

/// The WCAG level AA for text.
const MIN_CONTRAST: f64 = 4.5;

/// The custom properties of a style sheet.
fn properties(style: &str) -> BTreeMap<&str, &str> {
    let lines = style.lines().filter_map(|line| line.trim().strip_prefix("--")?.strip_suffix(';')?.split_once(": "));
    lines.collect()
}

#[test]
fn the_colours_are_those_of_the_explorer() {
    let (ours, explorer) = (properties(STYLE), properties(EXPLORER_STYLE));
    assert!(ours.len() > 10, "{ours:?}");
    for (name, value) in ours {
        assert_eq!(explorer.get(name), Some(&value), "--{name}");
    }
}

/// The light and the dark colour of a property.
fn colours(name: &str) -> [[f64; 3]; 2] {
    let value = properties(STYLE)[name];
    let pair = value.strip_prefix("light-dark(").and_then(|rest| rest.strip_suffix(')')).unwrap();
    let (light, dark) = pair.split_once(", ").unwrap();
    [light, dark].map(|colour| {
        let digits: Vec<u32> =
            colour.trim_start_matches('#').chars().map(|digit| digit.to_digit(16).unwrap()).collect();
        let step = digits.len() / 3;
        [0, 1, 2].map(|channel| f64::from(digits[channel * step] * 16 + digits[channel * step + step - 1]) / 255.0)
    })
}

fn luminance(colour: [f64; 3]) -> f64 {
    let linear = colour.map(|part| if part <= 0.04045 { part / 12.92 } else { ((part + 0.055) / 1.055).powf(2.4) });
    0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]
}

#[test]
fn text_has_enough_contrast_in_both_themes() {
    for (text, grounds) in [
        ("text", &["bg", "panel", "raised", "accent-bg"][..]),
        ("muted", &["bg", "panel", "raised"]),
        ("accent", &["bg", "panel", "raised", "accent-bg"]),
    ] {
        for ground in grounds {
            for theme in [0, 1] {
                let [one, other] = [text, ground].map(|name| luminance(colours(name)[theme]) + 0.05);
                let contrast = one.max(other) / one.min(other);
                assert!(contrast >= MIN_CONTRAST, "{text} on {ground}: {contrast}");
            }
        }
    }
}

#[test]
fn nothing_is_loaded_from_elsewhere_or_parsed_as_html() {
    for word in ["url(", "@import", "@font-face"] {
        assert!(!STYLE.contains(word), "{word}");
    }
    for script in SCRIPTS {
        for word in
            ["innerHTML", "outerHTML", "insertAdjacentHTML", "document.write", "eval(", "Function(", "http", "console."]
        {
            assert!(!script.contains(word), "{word}");
        }
    }
}
