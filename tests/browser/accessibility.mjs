// Every page with axe-core in both colour schemes, and how fast the first page is drawn.

import { checkAccessibility, go, main, ready } from './harness.mjs';
import { Agent } from './mcp.mjs';

await main(async (world) => {
  const stranger = await world.open();
  await go(stranger, '/login');
  await checkAccessibility(stranger, 'login');
  await stranger.context().close();

  const page = await world.login();
  await page.goto('/');
  await ready(page);
  const paint = await page.evaluate(() => performance.getEntriesByName('first-contentful-paint')[0]?.startTime);
  const drawn = await page.evaluate(() => performance.now());
  console.log(`# first contentful paint after ${Math.round(paint)} ms, overview complete after at most ${Math.round(drawn)} ms`);

  const agent = await Agent.connect(world.origin);
  const asked = await agent.call('execute', 'execute_newsletter', { subject: 'Tents', body: 'All week.', country: 'Germany' });
  await agent.call('delete', 'delete_tag', { id: 3 });
  const { entries } = await (await world.ask(page, '/api/audit')).json();
  const request = entries.find((entry) => entry.request_id).request_id;
  const pages = [
    '/', '/operations', '/operations?search=orders', '/operations/list_orders', '/operations/create_ticket', '/operations/execute_newsletter',
    '/try', '/schema', '/schema/orders', '/approvals', `/approvals/${asked.error.details.approval_id}`, '/review', '/audit',
    `/audit/${encodeURIComponent(request)}`, '/live', '/settings', '/nothing/here',
  ];
  for (const path of pages) {
    await go(page, path);
    await checkAccessibility(page, path);
    world.passed(`${path.replace(/[^/]*[0-9a-f]{6,}[^/]*$/, 'ID')} is accessible`);
  }
});
