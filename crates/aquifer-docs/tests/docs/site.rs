//! The whole site: every page, every link, in both styles.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::LazyLock;

use aquifer_docs::{Group, LinkStyle, PAGES, Site, SiteFile};
use serde_json::Value;

use crate::elements::{Element, elements};

static SERVED: LazyLock<Site> = LazyLock::new(|| Site::render(LinkStyle::Served));
static STATIC: LazyLock<Site> = LazyLock::new(|| Site::render(LinkStyle::Static));

const REPOSITORY: &str = concat!(env!("CARGO_PKG_REPOSITORY"), "/blob/main/");

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// The pages of a site with their elements.
fn pages(site: &Site) -> Vec<(&str, Vec<Element>)> {
    let pages = site.files().filter(|(_, file)| file.content_type.starts_with("text/html"));
    pages.map(|(path, file)| (path, elements(text(file)))).collect()
}

fn text(file: &SiteFile) -> &str {
    std::str::from_utf8(&file.body).unwrap()
}

#[test]
fn every_file_of_the_documentation_is_a_page() {
    let mut expected = BTreeSet::new();
    for folder in ["", "docs", "docs/adr", "docs/conformance", "docs/how-to"] {
        for entry in std::fs::read_dir(root().join(folder)).unwrap() {
            let name = entry.unwrap().file_name().into_string().unwrap();
            if name.ends_with(".md") {
                expected.insert(format!("{folder}/{name}").trim_start_matches('/').to_owned());
            }
        }
    }
    let listed: BTreeSet<String> = PAGES.iter().map(|page| page.path.to_owned()).collect();
    assert_eq!(listed, expected);
    assert_eq!(listed.len(), PAGES.len(), "a page is listed twice");
    for folder in ["", "images/"] {
        let Ok(entries) = std::fs::read_dir(root().join("docs").join(folder)) else { continue };
        for entry in entries.map(Result::unwrap).filter(|entry| entry.path().is_file()) {
            let name = format!("{folder}{}", entry.file_name().to_str().unwrap());
            let is_known = name.ends_with(".md") || SERVED.get(&name).is_some();
            assert!(is_known, "docs/{name} is not part of the site: list it in src/page.rs");
        }
    }
}

#[test]
fn every_page_is_in_a_group_and_has_a_summary() {
    for group in Group::ALL {
        assert!(PAGES.iter().any(|page| page.group == group), "{group:?}");
    }
    for page in PAGES.iter().filter(|page| page.parent().is_none()) {
        assert!(page.summary.ends_with('.'), "{}", page.path);
    }
}

#[test]
fn every_link_leads_somewhere() {
    for (site, style) in [(&*SERVED, LinkStyle::Served), (&*STATIC, LinkStyle::Static)] {
        let ids: BTreeMap<&str, BTreeSet<String>> = pages(site)
            .into_iter()
            .map(|(path, elements)| (path, elements.iter().filter_map(|one| Some(one.get("id")?.to_owned())).collect()))
            .collect();
        let mut count = 0;
        for (page, elements) in pages(site) {
            for address in
                elements.iter().filter_map(|one| one.get("href").or(one.get("src")).or(one.get("data-index")))
            {
                if let Some(file) = address.strip_prefix(REPOSITORY) {
                    assert!(root().join(file).exists(), "{page} links to {file}");
                } else if !address.contains("://") && address != "/" {
                    let (path, fragment) = address.split_once('#').unwrap_or((address, ""));
                    let path = target(style, page, path);
                    assert!(site.get(&path).is_some(), "{page} links to {address}");
                    assert!(fragment.is_empty() || ids[&*path].contains(fragment), "{page} links to {address}");
                }
                count += 1;
            }
        }
        assert!(count > 1_000, "{count}");
    }
}

/// The path in the site that an address on a page means.
fn target(style: LinkStyle, page: &str, address: &str) -> String {
    if address.is_empty() {
        return page.to_owned();
    }
    if style == LinkStyle::Served {
        return address.strip_prefix("/docs").unwrap_or_else(|| panic!("{address}")).trim_start_matches('/').to_owned();
    }
    let mut parts: Vec<&str> = page.split('/').collect();
    parts.pop();
    for part in address.split('/') {
        if part == ".." {
            parts.pop().unwrap();
        } else {
            parts.push(part);
        }
    }
    parts.join("/")
}

/// The content security policy of the explorer forbids them.
#[test]
fn no_page_has_inline_scripts_or_styles() {
    let attributes = "alt aria-current aria-label autocomplete charset class content data-index defer for hidden href html id \
                      lang loading name placeholder popover popovertarget rel role scope spellcheck src start tabindex type";
    let attributes: BTreeSet<&str> = attributes.split_whitespace().collect();
    for site in [&*SERVED, &*STATIC] {
        for (page, elements) in pages(site) {
            for element in &elements {
                assert!(element.name != "style", "{page}");
                assert!(element.name != "script" || element.get("src").is_some(), "{page}");
                for attribute in element.attributes.keys() {
                    assert!(attributes.contains(&**attribute), "{page}: {attribute} of {}", element.name);
                }
            }
        }
        for (page, file) in site.files().filter(|(_, file)| file.content_type.starts_with("text/html")) {
            let scripts = text(file).split("<script").skip(1);
            assert!(scripts.clone().all(|script| script.split_once('>').unwrap().1.starts_with("</script>")), "{page}");
        }
        elements(site.not_found());
    }
}

#[test]
fn pages_are_structured_for_assistive_technology() {
    for (page, elements) in pages(&SERVED) {
        let ids: Vec<&str> = elements.iter().filter_map(|element| element.get("id")).collect();
        let different: BTreeSet<&&str> = ids.iter().collect();
        assert_eq!(ids.len(), different.len(), "{page}: an id is there twice");
        let count = |name: &str| elements.iter().filter(|element| element.name == name).count();
        assert_eq!((count("h1"), count("main"), count("title"), count("header")), (1, 1, 1, 1), "{page}");
        let levels = elements.iter().filter_map(|element| element.name.strip_prefix('h')?.parse::<u8>().ok());
        let mut last = 0;
        for level in levels {
            assert!(level <= last + 1, "{page}: a heading of level {level} follows one of level {last}");
            last = level;
        }
        let current = elements.iter().filter(|element| element.get("aria-current").is_some()).count();
        assert_eq!(current, usize::from(!page.is_empty()), "{page}");
        for navigation in elements.iter().filter(|element| element.name == "nav") {
            assert!(navigation.get("aria-label").is_some(), "{page}");
        }
        for target in elements.iter().filter_map(|element| element.get("popovertarget")) {
            assert!(ids.contains(&target), "{page}: {target}");
        }
    }
}

/// A page with all addresses replaced.
fn without_addresses(html: &str) -> String {
    let mut out = String::new();
    for part in html.split_inclusive('"') {
        let is_address = ["href=\"", "src=\"", "data-index=\""].iter().any(|name| out.ends_with(name));
        out.push_str(if is_address { "…\"" } else { part });
    }
    out
}

#[test]
fn served_and_static_pages_differ_only_in_their_links() {
    assert_eq!(SERVED.files().count(), STATIC.files().count());
    for (path, served) in SERVED.files() {
        let is_page = served.content_type.starts_with("text/html");
        let other = match path {
            "" => "index.html".to_owned(),
            path if is_page => format!("{path}.html"),
            path => path.to_owned(),
        };
        let fixed = STATIC.get(&other).unwrap_or_else(|| panic!("{other}"));
        assert_eq!(served.content_type, fixed.content_type);
        if path == "search.json" || served.content_type.starts_with("image/png") {
            continue;
        }
        let served = text(served).replace("<a class=\"explorer\" href=\"/\">Explorer</a>\n", "");
        assert!(without_addresses(&served) == without_addresses(text(fixed)), "{path}");
    }
}

#[test]
fn the_search_index_lists_every_page_and_heading() {
    for (site, style) in [(&*SERVED, LinkStyle::Served), (&*STATIC, LinkStyle::Static)] {
        let index: Vec<Value> = serde_json::from_slice(&site.get("search.json").unwrap().body).unwrap();
        for entry in &index {
            let address = entry["address"].as_str().unwrap();
            assert!(entry["page"].as_str().is_some_and(|title| !title.is_empty()), "{entry}");
            let path = address.split('#').next().unwrap();
            assert!(site.get(path).is_some(), "{style:?} {entry}");
        }
        let titles = index.iter().filter(|entry| entry.get("heading").is_none()).count();
        assert_eq!(titles, PAGES.len());
        assert!(index.iter().any(|entry| entry["page"] == "Databases" && entry["heading"] == "Statements of callers"));
    }
}

#[test]
fn pages_have_neighbours_in_the_order_of_the_list() {
    for (index, page) in PAGES.iter().enumerate() {
        let elements = elements(text(SERVED.get(&page.name()).unwrap()));
        let link = |relation: &str| {
            let link = elements.iter().find(|element| element.get("rel") == Some(relation));
            link.map(|element| element.get("href").unwrap().to_owned())
        };
        let address = |other: usize| PAGES.get(other).map(|page| format!("/docs/{}", page.name()));
        assert_eq!(link("prev"), index.checked_sub(1).and_then(address), "{}", page.path);
        assert_eq!(link("next"), address(index + 1), "{}", page.path);
    }
}
