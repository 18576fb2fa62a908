// What is served, what it costs, and what waits for a person.
import { h, replace } from "/lib/dom.js";
import { get } from "/lib/api.js";
import { on } from "/lib/events.js";
import { age, date, number, plural, span, tokens } from "/lib/format.js";

export const title = () => "Overview";

const STATES = { live: ["badge-ok", "live"], cached: ["badge-warn", "cached"], starting: ["badge-warn", "starting"], unavailable: ["badge-danger", "unavailable"] };

export async function render(main) {
  const overview = await get("/overview");
  const intro = h("p", { class: "muted" });
  const body = h("div", {});
  const draw = (current) => {
    intro.textContent = summary(current);
    replace(body, callsToAction(current), costs(current), sources(current), clients(current), firstSteps(current));
  };
  const refresh = () => get("/overview").then((current) => body.contains(document.activeElement) || draw(current), () => null);
  draw(overview);
  replace(main, h("div", { class: "heading" }, h("div", {}, h("h1", { tabindex: "-1" }, "Overview"), intro)), body);
  const ends = [on("approvals", refresh), on("catalog", refresh)];
  return () => ends.forEach((end) => end());
}

function summary({ version, started_at: started, operations, sources: list, surface }) {
  return `Aquifer ${version}, running for ${span(Date.now() - Date.parse(started))}. Agents see ${plural(operations, "operation")} of ${plural(list.length, "source")} through ${plural(surface.tools.length, "tool")}.`;
}

function callsToAction({ pending_approvals: pending, quarantined, sources: list }) {
  const down = list.filter(({ state }) => state === "unavailable");
  return [
    pending > 0 && action("warn", `${plural(pending, "call")} ${pending === 1 ? "waits" : "wait"} for approval.`, "/approvals", "Decide"),
    quarantined > 0 && action("warn", `${plural(quarantined, "operation")} ${quarantined === 1 ? "is" : "are"} quarantined: the definition is new or has changed.`, "/review", "Review"),
    down.map(({ name, notes }) => action("danger", [`${name} is unavailable.`, notes?.[0]].filter(Boolean).join(" "), "/settings", "Check the settings")),
  ];
}

function action(kind, message, href, label) {
  return h("div", { class: `card ${kind} call-to-action` }, h("p", {}, message), h("a", { class: "button", href }, label));
}

function costs({ surface, direct_tokens: direct, tokens_are_estimated: estimated, operations }) {
  const share = direct > 0 ? Math.max(0.5, (surface.tokens / direct) * 100) : 100;
  const saved = direct > surface.tokens && surface.tokens > 0 ? ` That is ${number(Math.round(direct / surface.tokens))} times less.` : "";
  return h("section", { class: "card" }, h("h2", {}, "What an agent pays to connect"),
    bar("Through Aquifer", surface.tokens, Math.min(100, share), estimated), bar("One tool for each operation", direct, 100, estimated),
    h("p", { class: "muted" }, `${plural(surface.tools.length, "tool")} instead of ${number(operations)}.${saved}`),
    h("details", {}, h("summary", {}, "The tools"), h("dl", { class: "facts" }, surface.tools.map((tool) => [h("dt", { class: "mono" }, tool.name), h("dd", {}, `${tokens(tool.tokens, estimated)}. ${tool.description ?? ""}`)]))));
}

function bar(label, count, share, estimated) {
  const fill = h("span", { class: "meter-fill" });
  fill.style.width = `${share}%`;
  return h("div", { class: "meter-row" }, h("span", {}, label), h("span", { class: "meter", "aria-hidden": "true" }, fill), h("span", { class: "right nowrap" }, tokens(count, estimated)));
}

function sources({ sources: list, tokens_are_estimated: estimated }) {
  return h("section", {}, h("h2", {}, "Sources"), list.length === 0 && h("p", { class: "empty" }, "No sources are configured."),
    h("div", { class: "cards" }, list.map((source) => sourceCard(source, estimated))));
}

function sourceCard(source, estimated) {
  const [kind, label] = STATES[source.state] ?? ["", source.state];
  const fact = (name, value) => value && [h("dt", {}, name), h("dd", {}, value)];
  return h("div", { class: "card" },
    h("h3", { class: "card-title" }, h("a", { href: `/operations?source=${encodeURIComponent(source.name)}` }, source.name), h("span", { class: `badge ${kind}` }, label)),
    h("p", { class: "mono muted place" }, source.place),
    h("dl", { class: "facts" },
      fact("Operations", number(source.operations)),
      fact("Tables", source.tables > 0 && h("a", { href: "/schema" }, number(source.tables))),
      fact("Quarantined", source.quarantined > 0 && h("a", { href: "/review" }, number(source.quarantined))),
      fact("Left out", source.left_out > 0 && number(source.left_out)),
      fact("Trust", source.trust),
      fact("Version", source.version),
      fact("Catalog", Number.isFinite(source.catalog_age_ms) && `read ${span(source.catalog_age_ms)} ago`),
      fact("Tokens directly", tokens(source.direct_tokens, estimated))),
    source.notes?.length > 0 && h("ul", { class: "notes" }, source.notes.map((note) => h("li", {}, note))));
}

function clients({ clients: list = [], unlisted_clients: unlisted = 0, tokens_are_estimated: estimated }) {
  if (list.length === 0) return null;
  const row = (client) => h("tr", {}, h("th", { scope: "row" }, client.name), h("td", {}, client.version), h("td", {}, client.transport), h("td", { title: date(client.since) }, age(client.since)), h("td", { class: "right" }, tokens(client.tokens, estimated)));
  return h("section", {}, h("h2", {}, "Connected clients"), h("p", { class: "muted" }, `Together they paid ${tokens(list.reduce((sum, client) => sum + client.tokens, 0), estimated)} for the tools that they see at connect. Clients choose their names themselves.${unlisted > 0 ? ` ${plural(unlisted, "client")} more ${unlisted === 1 ? "is" : "are"} connected.` : ""}`),
    h("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": "Connected clients" }, h("table", { class: "table" },
    h("thead", {}, h("tr", {}, ["Client", "Version", "Transport", "Connected"].map((name) => h("th", { scope: "col" }, name)), h("th", { scope: "col", class: "right" }, "Tokens"))),
    h("tbody", {}, list.map(row)))));
}

function firstSteps({ operations }) {
  if (operations === 0) return null;
  return h("section", {}, h("h2", {}, "First steps"), h("ol", { class: "steps" },
    h("li", {}, h("a", { href: "/operations" }, "Look at the operations"), " and search for them in plain words, as an agent does."),
    h("li", {}, "Open one, fill in the form and run it. Calls that delete something ask first."),
    h("li", {}, h("a", { href: "/try" }, "Send a request of your own"), ", or several at once."),
    h("li", {}, "Connect an agent to ", h("code", {}, `${location.origin}/mcp`), " and ", h("a", { href: "/live" }, "watch its calls"), ".")));
}
