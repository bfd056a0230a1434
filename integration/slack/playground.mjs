// The product as a newcomer meets it: `bot demo --web` prints an address, and everything after that happens in a browser.
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { test } from 'node:test';
import { fits, open, shoot } from './browser.mjs';
import { Lookalike } from './lookalike.mjs';
import { exceptions, payloads, refused, without } from './types.mjs';

/** examined is how long a verdict may take on a machine that has other things to do. */
const examined = { timeout: 180_000 };

/** demo starts the program and reads from its output what a person would read: where to look and what to type. */
async function demo(t) {
  const bot = spawn(process.env.BOT, ['demo', '--web'], { stdio: ['ignore', 'pipe', 'inherit'] });
  const ended = new Promise((done) => bot.once('exit', (code, signal) => done(code ?? signal)));
  const said = [];
  t.after(async () => {
    bot.kill('SIGINT');
    assert.equal(await ended, 0, `bot demo --web did not stop well; it said:\n${said.join('\n')}`);
  });
  const lines = createInterface(bot.stdout);
  for await (const line of lines) {
    said.push(line);
    const url = /http:\/\/127\.0\.0\.1:\d+\S*/.exec(said.join('\n')), command = /\/diagnose \d+\S*/.exec(said.join('\n'));
    if (url && command) {
      // What comes late is named afterwards.
      for await (const more of lines) {
        const late = /^\s+(\/\S+)$/.exec(more);
        if (late) return { url: url[0], command: command[0], late: readdirSync(late[1]).map((name) => join(late[1], name)) };
      }
    }
  }
  assert.fail(`bot demo --web ended (${await ended}) before it named an address and a command:\n${said.join('\n')}`);
}

/** pressed is a button by what it does, whatever it says. */
const pressed = (place, action) => place.locator(`button[data-press="${action}"]`);

/** field is what to fill in, by the name that the bot gave to it. */
const field = (dialog, name) => dialog.locator(`[data-input="${name}"] [data-field]`);

for (const size of ['desktop', 'phone']) {
  test(`a newcomer investigates a job on a ${size}`, async (t) => {
    const page = await open(t, size); // first, so that it is closed before the program stops
    const { url, command, late } = await demo(t);
    const job = command.split(' ')[1];
    await page.goto(url);
    const view = async (name) => { await fits(page); await shoot(page, `${size}-${name}`); };
    await view('1-empty');

    await (size === 'phone' ? askByForm : ask)(page, command);
    const casefile = page.locator('#messages > li:not(.ephemeral)').filter({ hasText: job });
    await casefile.waitFor();
    await view('2-case-file');

    // The first screen of the case file decides: what broke, how sure, what to do now.
    for (const word of ['Confidence', 'Next step']) await casefile.getByText(word).first().waitFor(examined);
    await casefile.getByRole('link', { name: 'View thread' }).click();
    const thread = page.locator('#thread-messages');
    const verdict = thread.locator('> li').filter({ has: page.getByRole('button', { name: 'What does this mean?' }) }).first();
    await verdict.waitFor(examined);
    await thread.getByText(/Report attached/).first().waitFor(examined);
    for (const word of ['What happened:', 'Confidence', 'Next step']) assert.ok((await verdict.innerText()).includes(word), `the verdict does not say ${word}`);
    assert.ok(await thread.locator('table').count() > 0, 'there is no timeline');
    assert.ok(await thread.locator('img[alt*="ank"]').count() > 0, 'there is no rank map with words for who cannot see it');
    assert.ok(await thread.locator('a.file').filter({ hasText: 'report' }).count() >= 3, 'the reports are not attached');
    await show(verdict);
    await view('3-verdict');

    await verdict.getByRole('button', { name: 'What does this mean?' }).click();
    const glossary = page.locator('dialog.modal[open]');
    // "One moment" comes first; a glossary is longer.
    await page.waitForFunction(() => document.querySelector('dialog.modal[open]')?.innerText.length > 200);
    await view('4-glossary');
    await glossary.getByRole('button', { name: 'Close' }).first().click();
    await glossary.waitFor({ state: 'detached' });

    await hand(page, thread, late, view);
    await close(page, casefile, view, size);
    assert.deepEqual(await wrong(url), [], 'what the bot sent has not the shape that Slack asks for');
  });
}

/** show brings an element into sight. The page draws a message anew when the bot changes it: then it is looked for again. */
async function show(locator) {
  for (let left = 5; ; left--) {
    try {
      return await locator.scrollIntoViewIfNeeded();
    } catch (e) {
      if (left === 0 || !/not attached/.test(e.message)) throw e;
    }
  }
}

/** ask types the whole command; the answer to it is for the asker alone. */
async function ask(page, command) {
  await page.getByRole('textbox', { name: 'Message' }).fill(command);
  await page.keyboard.press('Enter');
  await page.locator('.ephemeral').filter({ hasText: command.split(' ')[1] }).first().waitFor();
}

/** askByForm types the command alone and is asked for the rest; who misspells the number is told so in the form. */
async function askByForm(page, command) {
  const [name, job] = command.split(' ');
  await page.getByRole('textbox', { name: 'Message' }).fill(name);
  await page.getByRole('button', { name: 'Send' }).tap();
  const dialog = page.locator('dialog.modal[open]');
  for (const [typed, after] of [['twelve', dialog.locator('[data-error]:not(:empty)')], [job, null]]) {
    await field(dialog, 'job').fill(typed);
    await dialog.locator('button[type=submit]').tap();
    await (after ? after.first().waitFor() : dialog.waitFor({ state: 'detached' }));
  }
}

/** hand answers the question for the log that was missing, and sees the verdict become narrower. */
async function hand(page, thread, late, view) {
  const question = thread.locator('> li').filter({ hasText: 'Why:' });
  await show(question);
  await view('5-question');
  await pressed(question, 'upload').click();
  const dialog = page.locator('dialog.modal[open]');
  await field(dialog, 'files').setInputFiles(late);
  await view('6-upload');
  await dialog.locator('button[type=submit]').click();
  await dialog.waitFor({ state: 'detached' });
  const revision = thread.locator('> li').filter({ hasText: 'Because:' });
  await revision.waitFor(examined);
  for (const word of ['Was:', 'Corrected:']) assert.ok((await revision.innerText()).includes(word), `the revision does not say ${word}`);
  await pressed(question, 'upload').waitFor({ state: 'detached' }); // an answered question has no buttons
  await show(revision);
  await view('7-revision');
}

/** close says that the verdict was right. */
async function close(page, casefile, view, size) {
  if (size === 'phone') await page.getByRole('link', { name: 'Close the thread' }).click();
  await pressed(casefile, 'close').click();
  const dialog = page.locator('dialog.modal[open]');
  await field(dialog, 'verdict').getByRole('radio', { name: 'Right' }).check();
  await view('8-close');
  await dialog.locator('button[type=submit]').click();
  await dialog.waitFor({ state: 'detached' });
  await pressed(casefile, 'close').waitFor({ state: 'detached' });
  await casefile.getByText(/verdict is right/i).first().waitFor();
  assert.ok(await casefile.locator('.strike').count() > 0, 'the verdict that no longer holds is not struck through');
  await show(casefile);
  await view('9-closed');
}

/** wrong is what the TypeScript compiler has against anything that the bot sent in this run. */
async function wrong(url) {
  const calls = await new Lookalike(new URL(url).origin).journal((e) => e.kind === 'api' && e.body);
  const list = calls.flatMap(({ method, body }) => {
    const args = body.startsWith('{') ? JSON.parse(body) : Object.fromEntries(new URLSearchParams(body));
    const parsed = ['blocks', 'view', 'metadata'].filter((name) => args[name]).map((name) => [name, typeof args[name] === 'string' ? JSON.parse(args[name]) : args[name]]);
    const { view, ...rest } = Object.fromEntries(parsed);
    return view ? payloads(method, view) : rest.blocks ? payloads(method, rest) : [];
  });
  assert.ok(list.length >= 5, `only ${list.length} payloads were found in the journal`);
  const said = refused(list.map((payload) => without(payload, exceptions)));
  return list.flatMap((payload, i) => said[i].map((error) => `${payload.name}: ${error}`));
}
