// A browser that nobody here wrote: Debian's Chromium, driven by Playwright, with a new profile for each test.
import assert from 'node:assert/strict';
import { existsSync, mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { chromium } from 'playwright-core';

const executablePath = ['/usr/bin/chromium', '/usr/bin/chromium-browser'].find((path) => existsSync(path));
const args = ['--headless', '--no-sandbox', '--disable-gpu', '--disable-quic', '--no-first-run', '--disable-background-networking',
  '--disable-component-update', '--disable-sync'];

/** sizes are the two screens on which everything must be readable. */
export const sizes = { desktop: { width: 1280, height: 900 }, phone: { width: 390, height: 844 } };

/**
 * open makes an empty page of one of the sizes. When the test ends, page.failures (exceptions, refused scripts, requests that leave
 * the machine) must be empty.
 */
export async function open(t, size) {
  const browser = await chromium.launch({ executablePath, args, headless: true });
  const phone = size === 'phone';
  const context = await browser.newContext({ viewport: sizes[size], hasTouch: phone, isMobile: phone, reducedMotion: 'reduce', locale: 'en-GB', timezoneId: 'UTC' });
  context.setDefaultTimeout(40_000);
  const page = await context.newPage();
  page.failures = [];
  page.on('pageerror', (error) => page.failures.push(`an exception: ${error.message}`));
  page.on('console', (said) => {
    // What a form may not be sent with comes back as 422, which the browser counts as an error.
    const refusal = said.text().includes('422') && said.location().url.includes('/sim/view/');
    if (said.type() === 'error' && !refusal) page.failures.push(`the console: ${said.text()} ${said.location().url}`);
  });
  page.on('request', (request) => {
    const { protocol, hostname } = new URL(request.url());
    if (protocol.startsWith('http') && hostname !== '127.0.0.1') page.failures.push(`a request to ${request.url()}`);
  });
  page.on('dialog', (dialog) => { page.failures.push(`a dialog: ${dialog.message()}`); dialog.dismiss(); });
  t.after(async () => {
    await shoot(page, `${t.name} at its end`.replace(/\W+/g, '-'));
    await browser.close();
    assert.deepEqual(page.failures, []);
  });
  return page;
}

/** shoot keeps a picture for people, if somebody asked for it. */
export async function shoot(page, name) {
  const dir = process.env.SCREENSHOTS;
  if (!dir) return;
  mkdirSync(dir, { recursive: true });
  await page.screenshot({ path: join(dir, `${name}.png`) });
}

/** fits asserts that nobody has to scroll sideways, except inside of what says that it scrolls. */
export async function fits(page) {
  const [inside, wide] = await page.evaluate(() => [document.documentElement.clientWidth, document.documentElement.scrollWidth]);
  assert.ok(wide <= inside, `the page is ${wide - inside} px wider than the screen`);
}
