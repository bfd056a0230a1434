// Bolt's HTTPReceiver checks our signatures: the look-alike's requests pass, those that were tampered with do not.
import assert from 'node:assert/strict';
import { createServer } from 'node:net';
import { test } from 'node:test';
import bolt from '@slack/bolt';
import { button, quiet } from './bolt.mjs';
import { ALICE, BOT, BOT_TOKEN, SIGNING_SECRET, TRAINING, start, until } from './lookalike.mjs';

/** serve runs a Bolt app on HTTP and a look-alike that delivers there; both must know the other's address. */
async function serve(t, setup) {
  const port = await freePort();
  const to = `http://127.0.0.1:${port}/slack/events`;
  const slack = await start({ http: { commands: to, interactivity: to, events: to } });
  const receiver = new bolt.HTTPReceiver({ signingSecret: SIGNING_SECRET, logger: quiet });
  const app = new bolt.App({ token: BOT_TOKEN, receiver, logger: quiet, clientOptions: { slackApiUrl: slack.api } });
  setup(app);
  await receiver.start({ port, host: '127.0.0.1' });
  t.after(() => receiver.stop());
  return slack;
}

const freePort = () => new Promise((found, failed) => {
  const server = createServer().once('error', failed).listen(0, '127.0.0.1', () => {
    const { port } = server.address();
    server.close(() => found(port));
  });
});

test('signed requests pass: the challenge, commands, clicks, modals and events', async (t) => {
  const seen = [];
  const slack = await serve(t, (app) => {
    app.command('/diagnose', async ({ ack, say, command }) => {
      await ack(`heard ${command.text}`);
      await say({ text: 'question', blocks: [button('ais', 'Provide access')] });
    });
    app.action('ais', async ({ ack, body, client }) => {
      await ack();
      const input = { type: 'input', block_id: 'where', label: { type: 'plain_text', text: 'Where' }, element: { type: 'plain_text_input', action_id: 'text' } };
      await client.views.open({ trigger_id: body.trigger_id, view: { type: 'modal', callback_id: 'form', title: { type: 'plain_text', text: 'Storage' }, submit: { type: 'plain_text', text: 'Send' }, blocks: [input] } });
    });
    app.view('form', async ({ ack, view }) => {
      const value = view.state.values.where.text.value;
      if (value === 'nowhere') return ack({ response_action: 'errors', errors: { where: 'is nowhere' } });
      seen.push(`view ${value}`);
      await ack();
    });
    app.event('app_mention', async ({ event }) => { seen.push(`mention ${event.text}`); });
  });
  await slack.verify();
  assert.ok((await slack.slash('100% a+b &c')).ack.ok);
  await slack.message('heard 100% a+b &c');
  await slack.click(await slack.message('Provide access'), { action_id: 'ais' });
  const view = await slack.view('where');
  await slack.order('view/submit', { user: ALICE, view: view.id, values: { where: 'nowhere' } });
  assert.deepEqual((await slack.view('where')).errors, { where: 'is nowhere' });
  await slack.order('view/submit', { user: ALICE, view: view.id, values: { where: 'here – ñ' } });
  await slack.order('say', { user: ALICE, channel: TRAINING, text: `<@${BOT}> hello` });
  await until('the event', () => seen.length === 2);
  assert.deepEqual(seen, ['view here – ñ', `mention <@${BOT}> hello`]);
});

for (const fault of ['bad_signature', 'stale_signature']) {
  test(`a request with a ${fault.replace('_', ' ')} is refused`, async (t) => {
    let came = 0;
    const slack = await serve(t, (app) => app.command('/diagnose', async ({ ack }) => { came++; await ack(); }));
    await slack.fault({ method: 'deliver', do: fault });
    const { ack } = await slack.slash('forged');
    assert.ok(!ack.ok, 'a forged request was acknowledged');
    assert.equal(came, 0, 'a forged request reached the app');
    const [refused] = await slack.journal((e) => e.kind === 'http');
    assert.equal(refused.status, 401);
    assert.ok((await slack.slash('honest')).ack.ok);
    assert.equal(came, 1);
  });
}

test('an event that is not acknowledged comes again and says so', async (t) => {
  const seen = [];
  const slack = await serve(t, (app) => app.event('app_mention', async ({ context }) => { seen.push([context.retryNum, context.retryReason]); }));
  await slack.fault({ method: 'ack', do: 'drop_ack', times: 1 });
  const { ack } = await slack.order('say', { user: ALICE, channel: TRAINING, text: `<@${BOT}> hello` });
  assert.ok(ack.ok, ack.error);
  assert.equal(ack.tries, 2);
  assert.deepEqual(seen, [[undefined, undefined], [1, 'http_timeout']]);
});
