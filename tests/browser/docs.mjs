// The documentation: accessible without a login, in both schemes and on a phone; search, theme, popovers, and no script at all.

import { assert, checkAccessibility, checkWidth, go, heading, main } from './harness.mjs';

const PHONE = { width: 320, height: 640 };

await main(async (world) => {
  const page = await world.open();
  for (const path of ['/docs', '/docs/tutorial', '/docs/databases', '/docs/commands', '/docs/adr/readme', '/docs/conformance/demo-http']) {
    await go(page, path);
    await checkAccessibility(page, path);
    world.passed(`${path} is accessible`);
  }

  await go(page, '/docs/adr/0001-one-definition');
  const search = page.getByRole('searchbox', { name: 'Search titles and headings' });
  await search.fill('statements of callers');
  await page.getByRole('link', { name: 'Statements of callers' }).first().waitFor();
  await checkAccessibility(page, 'results');
  await search.press('ArrowDown');
  await page.keyboard.press('Enter');
  await page.waitForURL('**/docs/databases#statements-of-callers');
  await heading(page, 'Databases');
  world.passed('a heading is found and opened with the keyboard');

  await search.fill('<img src=x onerror=alert(1)>');
  await page.getByText('Nothing found').waitFor();
  await search.press('Escape');
  assert.equal(await page.locator('.results').isVisible(), false);
  world.passed('words that are not there are no trouble, and Escape closes the results');

  const scheme = () => page.evaluate(() => getComputedStyle(document.body).colorScheme);
  const before = await scheme();
  await page.getByRole('button', { name: 'Change theme' }).click();
  const after = await scheme();
  assert.notEqual(after, before);
  await go(page, '/docs/safety');
  assert.equal(await scheme(), after);
  world.passed('the theme is changed and remembered');

  await page.getByRole('link', { name: 'Next:' }).click();
  await heading(page, 'Hijacked models');
  world.passed('the next page follows');

  await page.setViewportSize(PHONE);
  for (const path of ['/docs', '/docs/tutorial', '/docs/databases', '/docs/performance']) {
    await go(page, path);
    await checkWidth(page, path);
  }
  await checkAccessibility(page, 'phone');
  const pages = page.getByRole('navigation', { name: 'Pages' });
  assert.equal(await pages.isVisible(), false);
  await page.getByRole('button', { name: 'Pages' }).click();
  await checkAccessibility(page, 'navigation on a phone');
  await pages.getByRole('link', { name: 'Error codes' }).click();
  await heading(page, 'Error codes');
  await page.getByRole('button', { name: 'On this page' }).click();
  const contents = page.getByRole('navigation', { name: 'On this page' });
  await contents.getByRole('link').first().click();
  await contents.waitFor({ state: 'hidden' });
  world.passed('a phone has navigation and contents as popovers');

  const plain = await world.open({ javaScriptEnabled: false });
  await plain.goto('/docs/databases');
  await plain.getByRole('navigation', { name: 'Pages' }).getByRole('link', { name: 'The audit log' }).click();
  await plain.waitForURL('**/docs/audit');
  assert.equal(await plain.getByRole('searchbox').isVisible(), false);
  world.passed('pages need no script');
});
