// Searches the titles and headings of all pages. The index is loaded when the field is used for the first time.
(() => {
  const MAX_RESULTS = 20;
  const box = document.querySelector(".search");
  const input = box.querySelector("input");
  const list = box.querySelector(".results");
  const status = box.querySelector("[role=status]");
  const indexAddress = new URL(box.dataset.index, location.href);
  let loading;

  const load = () => {
    loading ??= fetch(indexAddress).then((answer) => {
      if (!answer.ok) throw new Error(`The index answered ${answer.status}`);
      return answer.json();
    });
    // The next use tries again.
    loading.catch(() => { loading = undefined; });
    return loading;
  };

  /** Higher is better, 0 is no match: every word has to occur, at best at the start of a word of the title. */
  const score = (entry, words) => {
    const text = `${entry.heading ?? ""} ${entry.page}`.toLowerCase();
    const own = (entry.heading ?? entry.page).toLowerCase();
    let sum = 0;
    for (const word of words) {
      if (!text.includes(word)) return 0;
      if (own.startsWith(word)) sum += 4;
      else if (own.split(/[^\p{L}\p{N}_]+/u).some((part) => part.startsWith(word))) sum += 3;
      else if (own.includes(word)) sum += 2;
      else sum += 0.5;
    }
    return sum + (entry.heading ? 0 : 1);
  };

  const element = (tag, text) => {
    const made = document.createElement(tag);
    made.textContent = text;
    return made;
  };

  const item = (entry) => {
    const link = element("a", entry.heading ?? entry.page);
    link.href = new URL(entry.address, indexAddress);
    if (entry.heading) link.append(element("small", entry.page));
    const made = document.createElement("li");
    made.append(link);
    return made;
  };

  const close = () => {
    list.replaceChildren();
    list.hidden = true;
    status.textContent = "";
  };

  const show = (entries, words) => {
    const found = entries.map((entry) => [score(entry, words), entry]).filter(([points]) => points > 0);
    found.sort(([left], [right]) => right - left);
    const items = found.slice(0, MAX_RESULTS).map(([, entry]) => item(entry));
    list.replaceChildren(...(items.length ? items : [element("li", "Nothing found")]));
    list.hidden = false;
    status.textContent = found.length === 1 ? "1 result" : `${found.length} results`;
  };

  const search = async () => {
    const typed = input.value;
    const words = typed.toLowerCase().split(/\s+/).filter(Boolean);
    if (!words.length) return close();
    try {
      const entries = await load();
      if (input.value === typed) show(entries, words);
    } catch {
      list.replaceChildren(element("li", "The search index cannot be loaded here."));
      list.hidden = false;
      status.textContent = "The search index cannot be loaded here.";
    }
  };

  /** Arrow keys move through the results, Escape leaves them. */
  const onKey = (event) => {
    const stops = [input, ...list.querySelectorAll("a")];
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (event.key === "Escape") {
      close();
      input.focus();
    } else if (step && stops.length > 1) {
      event.preventDefault();
      const next = stops.indexOf(document.activeElement) + step;
      stops[(next + stops.length) % stops.length].focus();
    }
  };

  box.hidden = false;
  input.addEventListener("input", search);
  box.addEventListener("keydown", onKey);
  list.addEventListener("click", (event) => event.target.closest("a") && close());
  document.addEventListener("click", (event) => box.contains(event.target) || close());
  box.addEventListener("focusout", (event) => event.relatedTarget && !box.contains(event.relatedTarget) && close());

  // A popover stays open when a link leads to a section of the same page.
  for (const popover of document.querySelectorAll("[popover]")) {
    popover.addEventListener("click", (event) => {
      if (event.target.closest("a") && popover.matches(":popover-open")) popover.hidePopover();
    });
  }
})();
