// Runs requests and shows their answers: cancel, pages, confirmation, corrections.
import { announce, h, replace } from "/lib/dom.js";
import { post } from "/lib/api.js";
import { duration } from "/lib/format.js";
import { operationLinks } from "/lib/references.js";
import { describeRequest, remember } from "/lib/storage.js";
import { failureView } from "/parts/failure.js";
import { resultView } from "/parts/result.js";

/**
 * `request()` returns the request to run, or null if it is invalid. `apply(request)` puts a corrected request into the editor.
 * Options: `schema`, `link`, `canSort(field)` where the server sorts, `onDone()`. Returns `{button, output, run, stop}`.
 *
 * @param {{request: () => any, apply: (request: any) => void, schema?: any, link?: any, canSort?: (field: string) => boolean, onDone?: (...outcome: any[]) => void}} options
 */
export function runner({ request, apply, schema, link, canSort, onDone }) {
  const output = h("div", { class: "output", "aria-live": "off" });
  const button = h("button", { type: "button", class: "button primary", on: { click: () => (abort ? abort.abort() : run()) } });
  let abort = null;
  let pages = [];
  let view;
  setBusy(false);

  function setBusy(busy) {
    replace(button, busy ? "Cancel" : ["Run", h("kbd", { class: "hint-key", "aria-hidden": "true" }, "Ctrl ⏎")]);
    output.toggleAttribute("aria-busy", busy);
  }

  async function run(sent = request(), { keepPages = false } = {}) {
    if (!sent) return;
    abort?.abort();
    const mine = new AbortController();
    abort = mine;
    setBusy(true);
    const timer = showProgress(output, sent);
    try {
      const answer = await post("/run", { request: sent, trace: true }, { signal: mine.signal });
      const links = link ?? (sent.operation === undefined ? undefined : await operationLinks(sent.operation));
      pages = keepPages ? [...pages, { answer, sent, links }] : [{ answer, sent, links }];
      remember(sent, failureCode(answer.response));
      show();
      reveal(output);
      announce(answer.response?.success === false ? `Failed: ${answer.response.error?.message ?? ""}` : `Answered in ${duration(answer.took_us)}.`);
    } catch (error) {
      if (abort === mine) showProblem(error);
    } finally {
      clearInterval(timer);
      if (abort === mine) {
        abort = null;
        setBusy(false);
      }
      onDone?.();
    }
  }

  function showProblem(error) {
    const cancelled = error.name === "AbortError";
    replace(output, h("p", { class: cancelled ? "muted" : "card danger", role: "alert" }, cancelled ? "Cancelled. A change may already have been made." : error.message));
  }

  function show() {
    const { answer, sent, links } = pages.at(-1);
    const single = sent.operation !== undefined;
    const change = (values) => {
      const { after, before, ...params } = sent.params ?? {};
      const next = { operation: sent.operation, params: { ...params, ...values } };
      apply(next);
      run(next);
    };
    replace(output, resultView(answer, {
      link: links, view,
      onView: (id) => { view = id; },
      sorted: single ? sortedBy(sent.params?.sort) : null,
      isSortable: canSort,
      onSort: single && canSort ? (field, order) => change({ sort: order === "desc" ? { field, order } : { field }, order: undefined }) : undefined,
      onFields: single && canSort ? (columns) => change({ fields: fieldsOf(columns, sent.params?.fields) }) : undefined,
      onNext: single ? (after) => run({ ...sent, params: { ...sent.params, first: sent.params?.first ?? 20, after } }, { keepPages: true }) : undefined,
      onPrevious: pages.length > 1 ? () => {
        pages.pop();
        show();
      } : undefined,
      failure: (error, index, batch) => failureView(error, failureOptions(sent, index, batch)),
    }));
  }

  function failureOptions(sent, index, batch) {
    if (sent.operation !== undefined) {
      return { call: sent, schema, onFix: (call) => apply(withoutToken(call)), onConfirm: (token) => run({ ...sent, confirmation_token: token }) };
    }
    const call = sent.operations?.[index] ?? {};
    const onFix = (fixed) => apply({ ...withoutToken(sent), operations: sent.operations.with(index, fixed) });
    return { call, onFix: sent.operations?.[index] ? onFix : undefined, onConfirm: (token) => run(continuation(sent, batch, index, token)) };
  }

  const stop = () => abort?.abort();
  return { button, output, run: () => run(), stop, clear: () => replace(output) };
}

/** Brings the answer into view where it starts below the window, without losing sight of the request. */
function reveal(output) {
  const { top } = output.getBoundingClientRect();
  if (top > innerHeight * 0.75) scrollBy({ top: top - innerHeight * 0.4, behavior: "instant" });
}

/** The fields behind columns: paths that were asked for stay paths, and members of the protocol cannot be asked for. */
function fieldsOf(columns, asked) {
  if (!Array.isArray(asked)) return columns.filter((name) => !name.startsWith("_"));
  return asked.filter((one) => columns.includes(typeof one === "string" ? one.split(".")[0] : Object.keys(one)[0]));
}

function failureCode(response) {
  return response?.success === false ? (response.error?.code ?? "FAILED") : null;
}

function withoutToken({ confirmation_token: _, ...rest }) {
  return rest;
}

function sortedBy(sort) {
  if (typeof sort === "string") return { field: sort.replace(/^-/, ""), order: sort.startsWith("-") ? "desc" : "asc" };
  const one = Array.isArray(sort) ? sort[0] : sort;
  return typeof one?.field === "string" ? { field: one.field, order: one.order ?? "asc" } : null;
}

/** The batch that continues a halted one: the halted operation, then those that did not run. */
function continuation(sent, batch, index, token) {
  if (!batch) return { ...sent, confirmation_token: token };
  const halted = sent.operations?.[index] ?? {};
  const params = batch.halted_at?.result?.error?.details?.params ?? batch.halted_at?.error?.details?.params ?? halted.params;
  return { confirmation_token: token, operations: [{ ...halted, params }, ...(batch.pending_operations ?? [])] };
}

function showProgress(output, sent) {
  const started = performance.now();
  const label = h("p", { class: "muted" }, `Running ${describeRequest(sent)}…`);
  replace(output, label);
  return setInterval(() => {
    label.textContent = `Running… ${((performance.now() - started) / 1000).toFixed(1)} s`;
  }, 200);
}
