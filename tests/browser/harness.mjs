// Starts Chromium, logs in, and watches every page: a message on the console, an error, a dialog, a failed request or a
// request to another origin fails the flow. Each check prints one line; the first that fails ends the process.

import assert from 'node:assert/strict';
import { mkdirSync } from 'node:fs';
import { createRequire } from 'node:module';
import { resolve } from 'node:path';
import { createInterface } from 'node:readline';

// The packages are installed outside the source tree, so they are looked up from there.
const installed = process.env.AQUIFER_TEST_BROWSER;
const packages = createRequire(installed ? resolve(installed, 'package.json') : import.meta.url);
const { chromium } = packages('playwright-core');

const ROOT = resolve(import.meta.dirname, '../..');
const SCREENSHOTS = resolve(ROOT, 'docs/images');
const MAX_SCREENSHOT_BYTES = 150_000;

/** More than any page has. */
const MAX_TABS = 150;

/** Far more than anything needs: it only turns a hang into a failure. */
const TIMEOUT_MS = 30_000;

const BROWSER = process.env.AQUIFER_TEST_HEADLESS ?? process.env.AQUIFER_TEST_CHROMIUM ?? '/usr/bin/chromium';

/** What the browser says of a server that is gone, or comes back. */
export const UNREACHABLE = /ERR_(CONNECTION_REFUSED|CONNECTION_RESET|CONNECTION_CLOSED|EMPTY_RESPONSE|INCOMPLETE_CHUNKED_ENCODING|SOCKET_NOT_CONNECTED)/;

const FLAGS = [
  '--no-sandbox', '--disable-gpu', '--disable-quic', '--no-first-run', '--disable-background-networking',
  '--disable-component-update', '--disable-sync',
];

/** Runs `flow(world, ...words)` with the link and the other words of the command line, and ends the process. */
export async function main(flow) {
  const [link, ...words] = process.argv.slice(2);
  if (!link) {
    console.error('usage: node FLOW.mjs LINK …, with the link to log in that the server printed');
    process.exit(2);
  }
  const browser = await chromium.launch({
    executablePath: BROWSER, headless: true, args: FLAGS, timeout: TIMEOUT_MS,
  });
  const world = new World(browser, link);
  try {
    await flow(world, ...words);
    world.check();
    passed('closed');
  } catch (error) {
    await world.report(error);
    process.exitCode = 1;
  }
  await browser.close();
  process.exit();
}

/** Prints that a check has passed. */
export function passed(what) {
  console.log(`ok - ${what}`);
}

/** Everything that a flow uses. */
class World {
  #browser;
  #problems;
  #allowed;
  #contexts;

  constructor(browser, link, { problems = [], allowed = [], contexts = [] } = {}) {
    this.#browser = browser;
    [this.#problems, this.#allowed, this.#contexts] = [problems, allowed, contexts];
    this.link = link;
    this.origin = new URL(link).origin;
    this.token = new URL(link).hash.slice(1);
  }

  /** The same for another server. Its pages are watched as well. */
  join(link) {
    return new World(this.#browser, link, { problems: this.#problems, allowed: this.#allowed, contexts: this.#contexts });
  }

  /** A browser of its own, without a session unless `session` (of `session()`) is given. */
  async open({ session, ...options } = {}) {
    const context = await this.#browser.newContext({
      viewport: { width: 1280, height: 800 }, locale: 'en-GB', timezoneId: 'UTC', baseURL: this.origin, storageState: session, ...options,
    });
    context.setDefaultTimeout(TIMEOUT_MS);
    this.#contexts.push(context);
    context.on('console', (message) => this.#problem(`console ${message.type()}: ${message.text()} (${message.location().url})`));
    context.on('weberror', (error) => this.#problem(`page error: ${error.error().stack}`));
    context.on('dialog', (dialog) => {
      this.#problem(`dialog: ${dialog.message()}`);
      dialog.dismiss().catch(() => {});
    });
    context.on('request', (request) => this.#watchAddress(request.url()));
    context.on('requestfailed', (request) => this.#watchFailure(request));
    return context.newPage();
  }

  /** A page that is logged in by the link. */
  async login(options) {
    const page = await this.open(options);
    await page.goto(this.link);
    await page.waitForURL((url) => url.pathname !== '/login');
    await ready(page);
    return page;
  }

  /** Cookies and storage of a page, for another browser. */
  session(page) {
    return page.context().storageState();
  }

  /** Sends a request to the API with the session of a page. */
  async ask(page, path, options) {
    const { origins } = await this.session(page);
    const stored = origins.find(({ origin }) => origin === this.origin)?.localStorage.find(({ name }) => name === 'aquifer.session');
    const headers = stored && { 'x-aquifer-session': JSON.parse(stored.value) };
    return page.request.fetch(path, { headers, ...options });
  }

  /** While `action` runs, problems that match `pattern` are part of the test. One must occur, unless `action` returns false. */
  async expectProblem(pattern, action) {
    let occurred;
    const occurrence = new Promise((resolve) => (occurred = resolve));
    const expected = { pattern, occurred };
    this.#allowed.push(expected);
    // The browser may report it later than the page shows it.
    if ((await action()) !== false) await occurrence;
    this.#allowed.splice(this.#allowed.indexOf(expected), 1);
  }

  /** Reports a check that has passed, unless a page had a problem meanwhile. */
  passed(what) {
    this.check();
    passed(what);
  }

  /** Fails if a page had a problem. */
  check() {
    assert.deepEqual(this.#problems, []);
  }

  /** What is needed to understand a failure: the error, the problems, and what each page showed. */
  async report(error) {
    console.error(error.stack ?? error);
    this.#problems.forEach((problem) => console.error(`problem - ${problem}`));
    for (const page of this.#contexts.flatMap((context) => context.pages())) {
      const shown = await page.locator('main').ariaSnapshot({ timeout: 2000 }).catch((cause) => String(cause));
      console.error(`--- ${page.url().replace(/#.*/, '')}\n${shown.slice(0, 6000)}`);
    }
  }

  #problem(text) {
    const expected = this.#allowed.find(({ pattern }) => pattern.test(text));
    if (expected) expected.occurred();
    else this.#problems.push(text);
  }

  #watchAddress(address) {
    const { origin, protocol } = new URL(address);
    if (origin !== this.origin && protocol !== 'data:') this.#problem(`request to another origin: ${address}`);
  }

  /** Requests end early when a page is left, or cancels them. */
  #watchFailure(request) {
    const { errorText } = request.failure();
    if (errorText !== 'net::ERR_ABORTED') this.#problem(`failed request: ${request.url()} ${errorText}`);
  }
}

/** Waits until the page of the present address has been drawn. */
export async function ready(page) {
  await page.locator('main:not([aria-busy]) h1').first().waitFor();
}

/** Opens an address of the explorer. */
export async function go(page, path) {
  await page.goto(path);
  await ready(page);
}

/** Waits for the heading of a page. */
export function heading(page, name) {
  return page.getByRole('heading', { level: 1, name }).waitFor();
}

/** Reads the call of an approval to its end, and approves it. */
export async function approve(page) {
  await page.getByText(/^End of the call/).scrollIntoViewIfNeeded();
  await page.getByRole('button', { name: 'Approve once' }).click();
  await page.getByText(/^Approved by admin/).waitFor();
}

/** Denies the call of an approval with a reason. */
export async function deny(page, reason) {
  await page.getByRole('button', { name: 'Deny…' }).click();
  const dialog = page.getByRole('dialog', { name: 'Deny this call?' });
  await dialog.getByLabel('Reason').fill(reason);
  await dialog.getByRole('button', { name: 'Deny', exact: true }).click();
  await page.getByRole('main').getByText(/^Denied by admin/).filter({ hasText: reason }).waitFor();
}

/** Runs what the page of an operation shows, with `Run` unless another button is named. Returns the response. */
export async function run(page, button = page.getByRole('button', { name: /^Run/ }).first()) {
  const answered = page.waitForResponse((response) => response.url().endsWith('/api/run'));
  await button.click();
  const { response } = await (await answered).json();
  await page.locator('.output:not([aria-busy]) .result').waitFor();
  return response;
}

/** Asks until the answer is true. For what the server notices by itself, and no page shows. */
export async function until(what, ask) {
  const deadline = Date.now() + TIMEOUT_MS;
  while (!(await ask())) {
    assert.ok(Date.now() < deadline, `timed out: ${what}`);
    // Whoever is waited for needs the processor, too.
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}

/** Opens everything that is folded inside. */
export async function openFolds(place) {
  const closed = place.locator('details:not([open]) > summary');
  while ((await closed.count()) > 0) await closed.first().click();
}

/** Presses Tab until the focus is on `target`. It must be visible there. */
export async function tabTo(page, target) {
  const focused = page.locator(':focus');
  for (let count = 0; count < MAX_TABS; count += 1) {
    await page.keyboard.press('Tab');
    if ((await target.and(focused).count()) === 0) continue;
    const outline = await focused.evaluate((element) => getComputedStyle(element).outlineStyle);
    assert.notEqual(outline, 'none', `the focus on ${target} is not visible`);
    return;
  }
  assert.fail(`${target} cannot be reached with Tab`);
}

/** Runs axe-core in the light and the dark scheme. Evaluated by the debugger, because the page allows no other script. */
export async function checkAccessibility(page, name) {
  const debug = await page.context().newCDPSession(page);
  for (const colorScheme of ['light', 'dark']) {
    await page.emulateMedia({ colorScheme, reducedMotion: 'reduce' });
    await evaluate(debug, packages('axe-core').source);
    const { violations } = await evaluate(debug, `axe.run(document, ${JSON.stringify(AXE)})`);
    const found = violations.map(({ id, nodes }) => [id, ...nodes.slice(0, 5).map((node) => `${node.target}: ${node.failureSummary}`)]);
    assert.deepEqual(found, [], `${name}, ${colorScheme}`);
  }
  await page.emulateMedia({ colorScheme: null, reducedMotion: null });
  await debug.detach();
}

const AXE = {
  runOnly: ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa', 'best-practice'], resultTypes: ['violations'], preload: false,
};

async function evaluate(debug, expression) {
  const { result, exceptionDetails } = await debug.send('Runtime.evaluate', { expression, awaitPromise: true, returnByValue: true });
  assert.equal(exceptionDetails, undefined, exceptionDetails?.exception?.description);
  return result.value;
}

/** Fails if the page itself scrolls sideways. */
export async function checkWidth(page, name) {
  const [content, width] = await page.evaluate(() => [document.documentElement.scrollWidth, document.documentElement.clientWidth]);
  assert.ok(content <= width, `${name} is ${content} px wide on a screen of ${width} px`);
}

/** Updates a picture of the documentation, if that was asked for. */
export async function screenshot(page, name) {
  if (process.env.AQUIFER_UPDATE_SCREENSHOTS !== '1') return;
  mkdirSync(SCREENSHOTS, { recursive: true });
  const bytes = await page.screenshot({ path: resolve(SCREENSHOTS, `${name}.png`), animations: 'disabled', caret: 'hide' });
  assert.ok(bytes.length <= MAX_SCREENSHOT_BYTES, `${name}.png has ${bytes.length} bytes`);
}

const input = { lines: null };

/** Tells the test that the flow waits, and waits for a line from it. */
export async function hold() {
  input.lines ??= createInterface({ input: process.stdin })[Symbol.asyncIterator]();
  console.log('holding');
  const { done } = await input.lines.next();
  assert.equal(done, false, 'the test has ended');
}

export { assert };
