// Measures what a browser loads and how soon it paints. `cargo xtask bench explorer` runs it; nothing here fails because it
// is slow.

import { assert, go, main, ready } from './harness.mjs';

const RUNS = Number(process.argv[3] ?? 5);
const PAGES = ['/', '/operations', '/operations/list_orders', '/try', '/schema', '/approvals', '/review', '/audit', '/live', '/settings'];

/** Milliseconds from the start of the navigation to the first content. */
async function paintTime(page) {
  const paints = await page.evaluate(() => performance.getEntriesByType('paint').map(({ name, startTime }) => [name, startTime]));
  const paint = paints.find(([name]) => name === 'first-contentful-paint');
  assert.ok(paint, `nothing was painted: ${paints}`);
  return paint[1];
}

await main(async (world) => {
  const files = new Map();
  const weigh = async (response) => {
    const { pathname } = new URL(response.url());
    // What a person looks at differs from server to server; pages are all the same file.
    if (response.status() !== 200 || pathname.startsWith('/api/')) return;
    const file = response.request().resourceType() === 'document' ? '/' : pathname;
    const { responseBodySize } = await response.request().sizes();
    files.set(file, { sent: responseBodySize, size: (await response.body()).length });
  };

  const first = await world.login();
  const session = await world.session(first);
  await first.context().close();

  const page = await world.open({ session });
  const weighed = [];
  page.on('response', (response) => weighed.push(weigh(response).catch(() => {})));
  for (const path of PAGES) await go(page, path);
  await Promise.all(weighed);
  const sum = (key) => [...files.values()].reduce((total, file) => total + file[key], 0);
  await page.context().close();

  const [firstPaint, again] = [[], []];
  for (let run = 0; run < RUNS; run += 1) {
    // A new browser, so that its cache is empty.
    const page = await world.open({ session });
    await go(page, '/');
    await ready(page);
    firstPaint.push(await paintTime(page));
    await page.reload();
    await ready(page);
    again.push(await paintTime(page));
    await page.context().close();
  }
  console.log(`measured ${JSON.stringify({ first_paint: firstPaint, again, sent: sum('sent'), size: sum('size'), files: files.size })}`);
});
