// The HTML report in a real browser: what a reader sees before scrolling, and whether everybody can read it.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { mkdtempSync, readdirSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { pathToFileURL } from 'node:url';
import { fits, open, shoot } from './browser.mjs';

const dir = mkdtempSync(join(tmpdir(), 'report-'));

/** made diagnoses a simulated incident and returns the path of its page. */
function made(mechanism, ranks) {
  const out = join(dir, `${mechanism}-${ranks}`), page = `${out}.html`;
  execFileSync(process.env.BOT, ['simulate', '--mechanism', mechanism, '--ranks', String(ranks), '--seed', '3', '--out', out]);
  const incident = join(out, readdirSync(out)[0]), storage = join(incident, 'ais-logs');
  const more = readdirSync(incident).includes('ais-logs') ? ['--ais-logs', storage] : [];
  execFileSync(process.env.BOT, ['diagnose', '--out', page, join(incident, 'logs'), ...more]);
  return page;
}

const incidents = [['rank-stalled', 128], ['gpu-oom', 32], ['ais-crash', 64], ['throughput-regression', 32], ['non-finite-loss', 16], ['multi-group-stall', 16384]]
  .map(([mechanism, ranks]) => ({ mechanism, ranks, path: made(mechanism, ranks) }));

const screens = { desktop: { width: 1280, height: 800 }, phone: { width: 390, height: 844 } };

/** unreadable lists texts that are smaller than 12 px or that stand out from their ground less than WCAG 2.1 asks of ordinary text. */
function unreadable() {
  const channels = (color) => color.match(/[\d.]+/g).map(Number);
  const luminance = ([r, g, b]) => [r, g, b].map((c) => (c /= 255) <= 0.03928 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4)
    .reduce((sum, c, i) => sum + c * [0.2126, 0.7152, 0.0722][i], 0);
  const ground = (e) => {
    for (; e; e = e.parentElement) {
      const [r, g, b, a = 1] = channels(getComputedStyle(e).backgroundColor);
      if (a > 0) return [r, g, b];
    }
    return [255, 255, 255];
  };
  const found = [];
  const walk = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  for (let node = walk.nextNode(); node; node = walk.nextNode()) {
    const e = node.parentElement, text = node.textContent.trim(), style = getComputedStyle(e);
    if (!text || !e.checkVisibility() || ['SCRIPT', 'STYLE', 'title'].includes(e.tagName)) continue;
    const size = parseFloat(style.fontSize);
    if (size === 0) continue; // the letter of a cell that is too small for one
    if (size < 12) found.push(`${size}px: ${text.slice(0, 40)}`);
    if (style.backgroundImage !== 'none') continue; // hatched
    const a = luminance(channels(e instanceof SVGElement ? style.fill : style.color)), b = luminance(ground(e));
    const contrast = (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
    if (contrast < 4.5) found.push(`contrast ${contrast.toFixed(1)}: ${text.slice(0, 40)} (${e.className || e.tagName})`);
  }
  return [...new Set(found)];
}

for (const size of Object.keys(screens)) {
  for (const dark of [false, true]) {
    for (const { mechanism, ranks, path } of incidents) {
      test(`${mechanism} of ${ranks} ranks is seen at once on a ${size}${dark ? ' at night' : ''}`, async (t) => {
        const page = await open(t, size);
        await page.setViewportSize(screens[size]);
        await page.emulateMedia({ colorScheme: dark ? 'dark' : 'light' });
        const began = Date.now();
        await page.goto(pathToFileURL(path).href);
        await page.evaluate(() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done))));
        const painted = Date.now() - began;
        assert.ok(painted < 10_000, `painted after ${painted} ms`);
        t.diagnostic(`painted after ${painted} ms, ${statSync(path).size} bytes`);
        for (const [what, selector] of [['the headline', 'h1'], ['the map', '.map'], ['the timeline', '.lanes']]) {
          const box = await page.locator(selector).boundingBox();
          assert.ok(box && box.y + Math.min(box.height, 120) <= screens[size].height, `${what} is below the first view: ${JSON.stringify(box)}`);
        }
        const root = page.locator('.map .root').first();
        if (await root.count()) assert.ok(await root.isVisible(), 'what broke is not in the map');
        await fits(page);
        assert.deepEqual(await page.evaluate(unreadable), []);
        const screensHigh = await page.evaluate(() => document.documentElement.scrollHeight) / screens[size].height;
        assert.ok(screensHigh <= 4, `${screensHigh.toFixed(1)} screens before anything unfolds`);
        await shoot(page, `report-${mechanism}-${size}${dark ? '-dark' : ''}`);
      });
    }
  }
}

test('the timeline is used with the keyboard alone', async (t) => {
  const page = await open(t, 'desktop');
  await page.goto(pathToFileURL(incidents[0].path).href);
  const mark = page.locator('.lanes use').first();
  await mark.focus();
  const told = await page.locator('#moment').innerText();
  assert.match(told, /\d\d:\d\d:\d\d, /);
  const before = await mark.getAttribute('x');
  await page.keyboard.press('+');
  assert.notEqual(await mark.getAttribute('x'), before, '+ does not zoom');
  await page.keyboard.press('0');
  assert.equal(parseFloat(await mark.getAttribute('x')).toFixed(1), parseFloat(before).toFixed(1), '0 does not reset');
  await page.getByRole('button', { name: 'Zoom in' }).click();
  assert.ok(await page.locator('.axis text').count() > 1, 'no axis after a zoom');
  // Every fold opens with the keyboard.
  const fold = page.locator('#groups summary').first();
  await fold.focus();
  await page.keyboard.press('Enter');
  assert.ok(await page.locator('#groups details').first().evaluate((d) => d.open));
});

test('the largest report is small', () => {
  const { path } = incidents.at(-1);
  assert.ok(statSync(path).size < 5 << 20, `${statSync(path).size} bytes`);
});
