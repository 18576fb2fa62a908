//! Markdown to HTML: ordinary and hostile input.

use aquifer_docs::markdown::{self, Document};
use aquifer_docs::{LinkStyle, LinkTarget, Page, resolve};

use crate::elements::elements;

fn render(text: &str) -> Document {
    let page = Page::at("docs/databases.md").unwrap();
    let document = markdown::render(text, &|destination| resolve(LinkStyle::Served, page, destination));
    elements(&document.html);
    document
}

#[track_caller]
fn check(markdown: &str, html: &str) {
    assert_eq!(render(markdown).html.trim_end(), html, "{markdown}");
}

#[test]
fn ordinary_markdown() {
    for (markdown, html) in [
        ("a *b* **c** `d<e>`", "<p>a <em>b</em> <strong>c</strong> <code>d&lt;e&gt;</code></p>"),
        ("a  \nb", "<p>a<br>\nb</p>"),
        ("> a", "<blockquote>\n<p>a</p>\n</blockquote>"),
        ("---", "<hr>"),
        ("# T", "<h1 id=\"t\">T</h1>"),
        (
            "- a\n  1. b\n     - c\n- d",
            "<ul>\n<li>a<ol>\n<li>b<ul>\n<li>c</li>\n</ul>\n</li>\n</ol>\n</li>\n<li>d</li>\n</ul>",
        ),
        ("3. a", "<ol start=\"3\">\n<li>a</li>\n</ol>"),
        ("    a<b", "<pre tabindex=\"0\"><code>a&lt;b</code></pre>"),
        (
            "```json\n{\"a\": 1}\n```",
            "<figure class=\"code\"><figcaption>json</figcaption><pre tabindex=\"0\"><code>{&quot;a&quot;: 1}\n</code></pre></figure>",
        ),
        ("```\na\n```", "<pre tabindex=\"0\"><code>a\n</code></pre>"),
        ("<!-- note -->", ""),
        ("a <!-- note --> b", "<p>a  b</p>"),
    ] {
        check(markdown, html);
    }
}

#[test]
fn tables_have_a_head_and_alignment_without_styles() {
    check(
        "| a | b |\n|---|--:|\n| 1 \\| 2 | `x` |",
        "<div class=\"scroll\" role=\"group\" aria-label=\"Table\" tabindex=\"0\"><table>\n\
         <thead><tr><th scope=\"col\">a</th><th scope=\"col\" class=\"right\">b</th></tr></thead>\n\
         <tbody>\n<tr><td>1 | 2</td><td class=\"right\"><code>x</code></td></tr>\n</tbody></table></div>",
    );
    let without_head = render("| | |\n|---|---|\n| 1 | 2 |").html;
    assert!(!without_head.contains("<th"), "{without_head}");
    let half = render("| | b |\n|---|---|\n| 1 | 2 |").html;
    assert!(half.contains("<thead><tr><td></td><th scope=\"col\">b</th></tr></thead>"), "{half}");
}

/// Ids equal those of GitHub, and none is given twice.
#[test]
fn headings_have_ids_and_anchors() {
    let document = render("# One\n## A `b` & *c*!\n## Twice\n### Twice\n## Twice-1\n## ¿?\n## Größe_x");
    let ids: Vec<&str> = document.headings.iter().map(|heading| heading.id.as_str()).collect();
    assert_eq!(ids, ["one", "a-b--c", "twice", "twice-1", "twice-1-1", "section", "größe_x"]);
    assert_eq!(document.title, "One");
    assert_eq!(document.headings[1].text, "A b & c!");
    assert!(
        document
            .html
            .contains("<h2 id=\"a-b--c\">A <code>b</code> &amp; <em>c</em>!</h2><a class=\"anchor\" href=\"#a-b--c\"")
    );
}

#[test]
fn raw_html_is_text() {
    for markdown in [
        "<script>alert(1)</script>",
        "a <script src=x></script> b",
        "<img src=x onerror=alert(1)>",
        "<div style=\"x\">\n\n*a*\n\n</div>",
        "<!-- a --><script>alert(1)</script><!-- b -->",
        "<!-- a\n\n<script>alert(1)</script>",
        "<!--> <script>alert(1)</script> -->",
        "# <svg onload=alert(1)>",
        "| <script> |\n|---|\n| <style> |",
        "```<script>\n</code></pre><script>alert(1)</script>\n```",
        "`</code><script>`",
        "&lt;script&gt; &#60;script&#62; &amp;lt;",
        "![<script>](x)",
        "[a](x \"\\\"><script>\")",
        "<a href=\"javascript:alert(1)\">x</a>",
        "<?php echo ?>",
        "<![CDATA[<script>]]>",
        "\u{0}<script>",
    ] {
        let html = render(markdown).html;
        for forbidden in ["script", "style", "svg", "img", "iframe"] {
            let has_element = elements(&html).iter().any(|element| element.name == forbidden);
            assert!(!has_element, "{markdown}: {html}");
        }
        let attributes = ["onerror", "onload", "style", "srcdoc"];
        let has_attribute = |attribute: &&str| elements(&html).iter().any(|element| element.get(attribute).is_some());
        assert!(!attributes.iter().any(has_attribute), "{markdown}: {html}");
    }
    check("&lt;b&gt; &copy; &quot;", "<p>&lt;b&gt; © &quot;</p>");
}

#[test]
fn links_that_are_no_links_become_text() {
    for destination in [
        "javascript:alert(1)",
        "JaVaScRiPt:alert(1)",
        "javascript&#58;alert(1)",
        "&#x6A;avascript:alert(1)",
        "<java\tscript:alert(1)>",
        "< javascript:alert(1)>",
        "vbscript:x",
        "data:text/html,<script>",
        "file:///etc/passwd",
        "blob:x",
        "//evil.example",
        "\\\\evil.example",
        "/absolute",
        "../../outside.md",
        "a%20b.md",
    ] {
        let html = render(&format!("[text]({destination})")).html;
        assert!(!html.contains("href"), "{destination}: {html}");
        assert!(html.contains("text"), "{destination}: {html}");
    }
}

#[test]
fn links_lead_to_pages() {
    let from = |path: &str, style: LinkStyle, to: &str| resolve(style, Page::at(path).unwrap(), to);
    let inside = |address: &str| LinkTarget::Inside(address.to_owned());
    for (path, to, served, fixed) in [
        ("docs/databases.md", "safety.md#rules", "/docs/safety#rules", "safety.html#rules"),
        ("docs/databases.md", "#x", "#x", "#x"),
        ("docs/databases.md", "../README.md", "/docs/readme", "readme.html"),
        ("docs/databases.md", "adr/README.md", "/docs/adr/readme", "adr/readme.html"),
        ("docs/databases.md", "adr", "/docs/adr/readme", "adr/readme.html"),
        ("docs/adr/0001-one-definition.md", "../gateway.md", "/docs/gateway", "../gateway.html"),
        (
            "docs/adr/0001-one-definition.md",
            "0002-byte-scanner.md",
            "/docs/adr/0002-byte-scanner",
            "../adr/0002-byte-scanner.html",
        ),
        ("README.md", "docs/safety.md", "/docs/safety", "safety.html"),
        ("README.md", "ARCHITECTURE.md", "/docs/architecture", "architecture.html"),
        ("docs/tokens.md", "tokens.schema.json", "/docs/tokens.schema.json", "tokens.schema.json"),
    ] {
        assert_eq!(from(path, LinkStyle::Served, to), inside(served), "{path} {to}");
        assert_eq!(from(path, LinkStyle::Static, to), inside(fixed), "{path} {to}");
    }
    let outside = |path, to| match from(path, LinkStyle::Served, to) {
        LinkTarget::Outside(address) => address,
        other => panic!("{other:?}"),
    };
    assert_eq!(outside("README.md", "https://mcpaql.org"), "https://mcpaql.org");
    assert!(outside("docs/rest.md", "../examples/adapters").ends_with("/blob/main/examples/adapters"));
}

#[test]
fn images_of_the_site_are_shown_and_others_become_text() {
    check("a ![b *c*](https://img.example/x.png) d", "<p>a b <em>c</em> d</p>");
    check("[![b](https://img.example/x.png)](safety.md)", "<p><a href=\"/docs/safety\">b</a></p>");
    let image = |source: &str| LinkTarget::Image(format!("/docs/{source}"));
    for (markdown, html) in [
        (
            "![a *b* \"c\" <d>](x.png)",
            "<p><img src=\"/docs/x.png\" alt=\"a b &quot;c&quot; &lt;d&gt;\" loading=\"lazy\"></p>",
        ),
        ("![a ![b](y.png) c](x.png) d", "<p><img src=\"/docs/x.png\" alt=\"a b c\" loading=\"lazy\"> d</p>"),
    ] {
        assert_eq!(markdown::render(markdown, &image).html.trim_end(), html);
    }
}

/// Whatever the depth, the stack of this process does not grow with it.
#[test]
fn deep_nesting_is_rendered() {
    for markdown in ["> ".repeat(5_000) + "a", "[".repeat(20_000), "*a ".repeat(20_000), "- ".repeat(2_000) + "a"] {
        assert!(!render(&markdown).html.is_empty());
    }
}
