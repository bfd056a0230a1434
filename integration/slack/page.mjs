// The look-alike's page in a real browser, with an unmodified Bolt app behind it: what a person does there reaches the app
// as if it came from Slack, and what the app sends is shown as what it is.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { button, plain, run, section } from './bolt.mjs';
import { fits, open, shoot } from './browser.mjs';
import { ALICE, BOT, TRAINING, start, until } from './lookalike.mjs';

const hostile = '<script>alert(1)</script> <!channel> <@U0BOB00001> `x` *not bold* \u202e %s \u001b[31m&lt;b&gt; </textarea><img src=x onerror=alert(2)>';
const option = (value, text) => ({ value, text: plain(text) });
const input = (block_id, label, element, more = {}) => ({ type: 'input', block_id, label: plain(label), element: { action_id: block_id, ...element }, ...more });

const form = {
  type: 'modal', callback_id: 'form', title: plain('Storage access'), submit: plain('Send'), close: plain('Back'), blocks: [
    input('endpoint', 'Endpoint', { type: 'url_text_input' }, { hint: plain('where the proxy listens') }),
    input('note', 'Note', { type: 'plain_text_input', multiline: true, initial_value: 'as before' }, { optional: true }),
    input('cluster', 'Cluster', { type: 'static_select', options: [option('a', 'ais-a'), option('b', 'ais-b')] }),
    input('tls', 'TLS', { type: 'radio_buttons', options: [option('verify', 'verify'), option('skip', 'skip')], initial_option: option('verify', 'verify') }),
    input('what', 'What to read', { type: 'checkboxes', options: [option('logs', 'logs'), option('stats', 'stats'), option('map', 'map')] }),
    input('files', 'Upload', { type: 'file_input', max_files: 3 }),
  ],
};

/** app is a bot of four lines' wit. */
function app(seen) {
  return (bolt) => {
    bolt.command('/diagnose', async ({ ack, respond, say, command }) => {
      await ack();
      await respond(`looking for ${command.text}`);
      await say({ text: 'case file', blocks: [
        { type: 'header', text: plain('Case file') },
        { type: 'rich_text', elements: [{ type: 'rich_text_preformatted', elements: [{ type: 'text', text: hostile }] }] },
        { type: 'data_table', caption: 'timeline', page_size: 2, rows: [['time', 'event'], ['3', 'c'], ['1', 'a'], ['2', hostile]].map((row) => row.map((text) => ({ type: 'raw_text', text }))) },
        section('*cause*: one rank, 100% &lt;sure&gt;'), button('ais', 'Provide access'), button('close', 'Close the case', { confirm: { title: plain('Close?'), text: plain('Really?'), confirm: plain('Yes'), deny: plain('No') } }),
      ] });
    });
    bolt.action('ais', async ({ ack, body, client }) => { await ack(); await client.views.open({ trigger_id: body.trigger_id, view: form }); });
    bolt.action('close', async ({ ack, body, client }) => {
      await ack();
      await client.chat.update({ channel: TRAINING, ts: body.message.ts, text: 'closed', blocks: [section('~case~ closed')] });
    });
    bolt.view('form', async ({ ack, view }) => {
      const v = view.state.values;
      if (!v.endpoint.endpoint.value.startsWith('https')) return ack({ response_action: 'errors', errors: { endpoint: 'only https' } });
      seen.push(v);
      await ack();
    });
    bolt.event('app_mention', async ({ event, say }) => { await say({ text: `you said ${event.text.replace(/<@\w+> /, '')}`, thread_ts: event.thread_ts }); });
  };
}

for (const size of ['desktop', 'phone']) {
  test(`people use the page on a ${size}`, async (t) => {
    const slack = await start(), seen = [];
    await run(t, slack, app(seen));
    const page = await open(t, size);
    await page.goto(`${slack.url}/view/${TRAINING}?user=${ALICE}`);
    await page.getByRole('textbox', { name: 'Message' }).fill('/diagnose 100% a+b');
    await page.keyboard.press('Enter');
    await page.getByText('looking for 100% a+b').waitFor();
    const file = page.getByRole('listitem').filter({ hasText: 'Case file' });
    await file.waitFor();
    assert.ok((await file.innerText()).includes('*not bold*'), 'text of a log was taken for markup');
    assert.equal(await file.locator('script, img').count(), 0);
    assert.equal(await file.getByRole('row').filter({ visible: true }).count(), 3, 'a head and a page of two rows');
    await file.getByRole('button', { name: 'Show all 3 rows' }).click();
    await file.getByRole('columnheader', { name: 'time' }).click();
    assert.deepEqual(await file.locator('tbody td:first-child').allInnerTexts(), ['1', '2', '3']);
    await fits(page);

    await file.getByRole('button', { name: 'Provide access' }).click();
    const dialog = page.getByRole('dialog', { name: 'Storage access' });
    await dialog.getByRole('button', { name: 'Send' }).click();
    await dialog.getByText('Please complete this required field.').first().waitFor();
    await dialog.getByLabel('Endpoint').fill('http://ais:51080');
    await dialog.getByLabel('Cluster').selectOption('b');
    await dialog.getByRole('radio', { name: 'skip' }).check();
    for (const name of ['logs', 'map']) await dialog.getByRole('checkbox', { name }).check();
    const upload = dialog.getByLabel('Upload');
    await upload.setInputFiles([{ name: 'a.log', mimeType: 'text/plain', buffer: Buffer.from('rank 1\n') }, { name: 'b.log.gz', mimeType: 'application/gzip', buffer: Buffer.from([31, 139, 8, 0]) }]);
    await dialog.getByRole('button', { name: 'Send' }).click();
    await dialog.getByText('only https').waitFor();
    await fits(page);
    await shoot(page, `page-${size}-modal`);
    await dialog.getByLabel('Endpoint').fill('https://ais:51080');
    await dialog.getByRole('button', { name: 'Send' }).click();
    await dialog.waitFor({ state: 'detached' });
    const [v] = seen;
    assert.equal(v.endpoint.endpoint.value, 'https://ais:51080');
    assert.equal(v.note.note.value, 'as before');
    assert.equal(v.cluster.cluster.selected_option.value, 'b');
    assert.equal(v.tls.tls.selected_option.value, 'skip');
    assert.deepEqual(v.what.what.selected_options.map((o) => o.value), ['logs', 'map']);
    assert.deepEqual(v.files.files.files.map((f) => f.name), ['a.log', 'b.log.gz']);

    await file.getByRole('link', { name: 'Reply in thread' }).focus(); // it shows itself only then, or below a mouse
    await page.keyboard.press('Enter');
    await page.getByRole('textbox', { name: 'Reply' }).waitFor();
    await page.waitForLoadState(); // before its script runs, Enter is a new line
    await page.getByRole('textbox', { name: 'Reply' }).fill('@faultline & <b>why</b>?');
    await page.keyboard.press('Enter');
    await page.getByText('you said & <b>why</b>?').waitFor();
    await fits(page);
    await page.getByRole('link', { name: 'Close the thread' }).click();

    for (const answer of ['No', 'Yes']) {
      await file.getByRole('button', { name: 'Close the case' }).click();
      await page.getByRole('dialog').filter({ hasText: 'Really?' }).getByRole('button', { name: answer }).click();
      if (answer === 'No') assert.equal((await slack.journal((e) => e.kind === 'user' && e.method === 'click' && e.body.includes('close'))).length, 0);
    }
    await page.getByText('closed').waitFor();
    await until('the button to go', async () => await page.getByRole('button', { name: 'Close the case' }).count() === 0);
    assert.ok((await slack.messages()).every((m) => m.user !== BOT || !m.plain.includes('Provide access')));
    await shoot(page, `page-${size}`);
  });
}
