// Unmodified Bolt on Socket Mode and an unmodified WebClient do with the look-alike what they do with Slack.
import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { describe, test } from 'node:test';
import { SocketModeClient } from '@slack/socket-mode';
import { WebAPIPlatformError, WebAPIRateLimitedError } from '@slack/web-api';
import { button, client, plain, quiet, run, section } from './bolt.mjs';
import { ALICE, APP_TOKEN, BOB, BOT, OUTSIDE, TRAINING, start, until } from './lookalike.mjs';

const field = (block_id, label, element) => ({ type: 'input', block_id, label: plain(label), element: { type: 'plain_text_input', action_id: 'text', ...element } });
const modal = (title, ...blocks) => ({ type: 'modal', callback_id: 'form', title: plain(title), submit: plain('Send'), blocks });

test('a command is acknowledged and answered, to one person and to all', async (t) => {
  const slack = await start();
  const seen = [];
  await run(t, slack, (app) => app.command('/diagnose', async ({ ack, respond, command }) => {
    seen.push(command);
    await ack();
    await respond(`investigating ${command.text}`);
    await respond({ response_type: 'in_channel', text: 'case file', blocks: [section('*case file* 100% & <b> + more')] });
  }));
  const { ack } = await slack.slash('12345  a+b 100%');
  assert.ok(ack.ok, ack.error);
  await slack.message('case file');
  const mine = (await slack.messages()).map((m) => m.plain), others = (await slack.messages({ user: BOB })).map((m) => m.plain);
  assert.ok(mine.some((text) => text.includes('investigating 12345  a+b 100%')), mine.join('\n'));
  assert.ok(!others.some((text) => text.includes('investigating')), 'an ephemeral answer was shown to somebody else');
  assert.ok(others.some((text) => text.includes('case file')));
  assert.equal(seen[0].user_id, ALICE);
  assert.equal(seen[0].channel_id, TRAINING);
  assert.equal(seen.length, 1);
});

test('a command may be answered in its acknowledgement, and a response_url serves five times', async (t) => {
  const slack = await start();
  const refused = [];
  await run(t, slack, (app) => app.command('/diagnose', async ({ ack, respond }) => {
    await ack({ text: 'in the acknowledgement', blocks: [section('in the acknowledgement')] });
    for (let n = 1; n <= 6; n++) await respond(`answer ${n}`).catch((error) => refused.push(`${n}: ${error.statusCode ?? error.message}`));
    refused.push('end');
  }));
  await slack.slash('');
  await slack.message('in the acknowledgement');
  await slack.message('answer 5');
  await until('the sixth answer', () => refused.includes('end'));
  assert.equal(refused.length, 2, refused.join());
  assert.match(refused[0], /^6: 404/);
});

test('a button opens a modal, which is refused with errors, corrected and accepted', async (t) => {
  const slack = await start();
  await run(t, slack, (app) => {
    app.command('/diagnose', async ({ ack, say }) => {
      await ack();
      await say({ text: 'storage?', blocks: [button('ais', 'Provide access', { value: 'case-1', style: 'primary' })] });
    });
    app.action('ais', async ({ ack, body, action, client: web }) => {
      await ack();
      assert.equal(action.value, 'case-1');
      await web.views.open({ trigger_id: body.trigger_id, view: { ...modal('Storage', field('endpoint', 'Endpoint')), private_metadata: body.message.ts } });
    });
    app.view('form', async ({ ack, view, body, client: web }) => {
      const endpoint = view.state.values.endpoint.text.value;
      if (!endpoint.startsWith('https://')) return ack({ response_action: 'errors', errors: { endpoint: 'must begin with https://' } });
      await ack();
      await web.chat.update({ channel: TRAINING, ts: view.private_metadata, text: `storage: ${endpoint} from <@${body.user.id}>`, blocks: [] });
    });
  });
  await slack.slash('12345');
  const question = await slack.message('Provide access');
  const { ack } = await slack.click(question, { action_id: 'ais' });
  assert.ok(ack.ok, ack.error);
  const view = await slack.view('endpoint');
  await slack.order('view/submit', { user: ALICE, view: view.id, values: { endpoint: 'http://ais' } });
  const again = await slack.view('endpoint');
  assert.deepEqual(again.errors, { endpoint: 'must begin with https://' });
  await slack.order('view/submit', { user: ALICE, view: view.id, values: { endpoint: 'https://ais:51080' } });
  assert.deepEqual(await slack.read('views', { user: ALICE }) ?? [], [], 'the modal is still open');
  const answered = await slack.message('storage: https://ais:51080');
  assert.equal(answered.ts, question.ts, 'an update is not a new message');
  assert.ok(!answered.plain.includes('Provide access'), 'the button is still there');
});

test('modals are pushed, updated by their hash and put on top of each other no more than three times', async (t) => {
  const slack = await start();
  const refused = [], closed = [];
  await run(t, slack, (app) => {
    app.command('/diagnose', async ({ ack, body, client: web }) => {
      await ack();
      const { view } = await web.views.open({ trigger_id: body.trigger_id, view: { ...modal('First', button('more', 'More'), field('one', 'One')), notify_on_close: true } });
      await web.views.update({ view_id: view.id, hash: 'old', view: modal('Second', section('x')) }).catch((error) => refused.push(error.data.error));
      await web.views.update({ view_id: view.id, hash: view.hash, view: { ...modal('Second', button('more', 'More'), field('two', 'Two')), notify_on_close: true } });
      await web.views.open({ trigger_id: body.trigger_id, view: modal('Again', section('x')) }).catch((error) => refused.push(error.data.error));
    });
    app.action('more', async ({ ack, body, client: web }) => {
      await ack();
      await web.views.push({ trigger_id: body.trigger_id, view: { ...modal('Pushed', button('more', 'More'), field(`depth${Date.now()}`, 'Deep')), notify_on_close: true } })
        .catch((error) => refused.push(error.data.error));
    });
    app.view({ callback_id: 'form', type: 'view_closed' }, async ({ ack, body }) => { await ack(); closed.push(body.is_cleared); });
  });
  await slack.slash('');
  await slack.view('two');
  await until('the refusals', () => refused.length === 2);
  assert.deepEqual(refused, ['hash_conflict', 'exchanged_trigger_id']);
  for (const depth of [2, 3]) {
    await slack.order('view/click', { user: ALICE, use: { action_id: 'more' } });
    await until(`${depth} modals`, async () => (await slack.read('views', { user: ALICE })).length === depth);
  }
  await slack.order('view/click', { user: ALICE, use: { action_id: 'more' } });
  await until('the fourth modal', () => refused.length === 3);
  assert.equal(refused[2], 'push_limit_reached');
  await slack.order('view/close', { user: ALICE });
  await until('one modal closed', () => closed.length === 1);
  assert.equal((await slack.read('views', { user: ALICE })).length, 2);
});

test('files go up in two steps and come down with the token', async () => {
  const slack = await start(), web = client(slack);
  const { ts } = await web.chat.postMessage({ channel: TRAINING, text: 'case file' });
  const picture = Buffer.from(Array.from({ length: 3000 }, (_, i) => (i * 7919) % 256));
  const done = await web.files.uploadV2({
    channel_id: TRAINING, thread_ts: ts, initial_comment: 'the report',
    file_uploads: [{ file: Buffer.from('# report\n'), filename: 'report.md', title: 'Report' },
      { file: picture, filename: 'ranks.png', title: 'Rank map', alt_text: 'rank 37 of 128 is behind' }],
  });
  const ids = done.files.flatMap((f) => f.files.map((g) => g.id));
  assert.equal(ids.length, 2);
  const reply = await until('the shared files', async () => (await slack.messages({ thread: ts })).find((m) => m.files?.length === 2));
  assert.ok(reply.plain.includes('the report'));
  const { file } = await web.files.info({ file: ids[1] });
  assert.equal(file.name, 'ranks.png');
  assert.equal(file.size, picture.length);
  assert.ok(file.shares.public[TRAINING].some((share) => share.ts === reply.ts), 'files.info does not tell where the file was shared');
  const down = await fetch(file.url_private, { headers: { Authorization: 'Bearer xoxb-sim' } });
  const hash = (bytes) => createHash('sha256').update(bytes).digest('hex');
  assert.equal(hash(Buffer.from(await down.arrayBuffer())), hash(picture));
  const without = await fetch(file.url_private, { redirect: 'manual' });
  assert.notEqual(hash(Buffer.from(await without.arrayBuffer())), hash(picture), 'a private file was given to a stranger');
  await web.files.delete({ file: ids[0] });
  await assert.rejects(web.files.info({ file: ids[0] }), /file_not_found|file_deleted/);
});

test('messages are edited, threaded, read back with their metadata and deleted', async () => {
  const slack = await start(), web = client(slack);
  const head = await web.chat.postMessage({ channel: TRAINING, text: 'case file', metadata: { event_type: 'faultline', event_payload: { msg_key: 'c1/1', n: 1 } } });
  const texts = ['one', 'two', 'three'];
  for (const text of texts) {
    await web.chat.postMessage({ channel: TRAINING, text, thread_ts: head.ts, metadata: { event_type: 'faultline', event_payload: { msg_key: `c1/${text}` } } });
  }
  await web.chat.update({ channel: TRAINING, ts: head.ts, text: 'case file, edited' });
  await web.chat.postEphemeral({ channel: TRAINING, user: ALICE, thread_ts: head.ts, text: 'for Alice' });
  const all = [];
  for await (const page of web.paginate('conversations.replies', { channel: TRAINING, ts: head.ts, include_all_metadata: true, limit: 2 })) all.push(...page.messages);
  assert.deepEqual(all.map((m) => m.text), ['case file, edited', ...texts], 'replies are the thread in order, without what one person sees');
  assert.deepEqual(all.map((m) => m.metadata?.event_payload.msg_key), ['c1/1', 'c1/one', 'c1/two', 'c1/three']);
  assert.equal(all[0].reply_count, 3);
  assert.equal(new Set(all.map((m) => m.ts)).size, 4);
  const bare = await web.conversations.replies({ channel: TRAINING, ts: head.ts });
  assert.equal(bare.messages[1].metadata?.event_payload, undefined, 'metadata is shown on request only');
  assert.deepEqual((await slack.messages({ thread: head.ts })).filter((m) => m.ephemeral).map((m) => m.text), ['for Alice']);
  const { permalink } = await web.chat.getPermalink({ channel: TRAINING, message_ts: all[1].ts });
  assert.match(permalink, new RegExp(`/archives/${TRAINING}/p${all[1].ts.replace('.', '')}\\?thread_ts=`));
  await web.chat.delete({ channel: TRAINING, ts: all[1].ts });
  assert.deepEqual((await web.conversations.replies({ channel: TRAINING, ts: head.ts })).messages.map((m) => m.text), ['case file, edited', 'two', 'three']);
});

test('an answer replaces or removes what was clicked', async (t) => {
  const slack = await start();
  await run(t, slack, (app) => {
    app.command('/diagnose', async ({ ack, respond }) => { await ack(); await respond({ text: 'which cluster?', blocks: [button('west', 'west'), button('none', 'none')] }); });
    app.action('west', async ({ ack, respond }) => { await ack(); await respond({ replace_original: true, text: 'west it is' }); });
    app.action('none', async ({ ack, respond }) => { await ack(); await respond({ delete_original: true }); });
  });
  for (const [action, left] of [['west', ['west it is']], ['none', []]]) {
    await slack.slash('12345');
    const asked = await slack.message('none');
    await slack.click(asked, { action_id: action });
    await until(`the end of ${action}`, async () => !(await slack.messages()).some((m) => m.plain.includes('none')));
    assert.deepEqual((await slack.messages()).filter((m) => m.ts === asked.ts).map((m) => m.text), left);
  }
});

test('home tabs, people, channels and direct messages', async (t) => {
  const slack = await start(), web = client(slack);
  await run(t, slack, (app) => app.event('app_home_opened', async ({ event, client: bolt }) => {
    await bolt.views.publish({ user_id: event.user, view: { type: 'home', blocks: [section('my cases'), button('more', 'More')] } });
  }));
  await slack.order('home', { user: ALICE });
  await until('the home tab', async () => (await slack.calls('views.publish')) === 1);
  const [alice, mallory] = await Promise.all([ALICE, 'U0EXTERN01'].map((user) => web.users.info({ user })));
  assert.deepEqual([alice.user.real_name, alice.user.is_bot, mallory.user.is_stranger], ['Alice Meyer', false, true]);
  const shared = await web.conversations.info({ channel: 'C0SHARED01' });
  assert.deepEqual([shared.channel.is_ext_shared, shared.channel.is_member], [true, true]);
  await assert.rejects(web.conversations.info({ channel: 'C0SECRET01' }), /channel_not_found/, 'a private channel without the bot is none');
  const { channel } = await web.conversations.open({ users: ALICE });
  await web.chat.postMessage({ channel: channel.id, text: 'between us' });
  assert.deepEqual((await slack.messages({ channel: channel.id })).map((m) => m.text), ['between us']);
  assert.deepEqual((await web.usergroups.users.list({ usergroup: 'S0ONCALL01' })).users, [BOB]);
  const me = await web.auth.test();
  assert.deepEqual([me.user_id, me.team_id], [BOT, 'T0FAULTSIM']);
});

test('refusals reach the client with the words that Slack uses', async () => {
  const slack = await start(), web = client(slack);
  const refusal = async (call) => {
    const error = await call.then(() => assert.fail('was not refused'), (e) => e);
    assert.ok(error instanceof WebAPIPlatformError, error);
    return error.data;
  };
  const long = await refusal(web.chat.postMessage({ channel: TRAINING, text: 'x', blocks: [section('ok'), section('x'.repeat(3001))] }));
  assert.equal(long.error, 'invalid_blocks');
  assert.deepEqual(long.response_metadata.messages, ['[ERROR] must be less than 3001 characters [json-pointer:/blocks/1/text/text]']);
  const many = await refusal(web.chat.postMessage({ channel: TRAINING, text: 'x', blocks: Array(51).fill({ type: 'divider' }) }));
  assert.equal(many.error, 'invalid_blocks');
  assert.equal((await refusal(web.chat.postMessage({ channel: OUTSIDE, text: 'x' }))).error, 'not_in_channel');
  assert.equal((await refusal(web.chat.postMessage({ channel: 'C0NOWHERE1', text: 'x' }))).error, 'channel_not_found');
  assert.equal((await refusal(web.chat.postMessage({ channel: 'C0ARCHIVE1', text: 'x' }))).error, 'is_archived');
  assert.equal((await refusal(web.chat.postMessage({ channel: TRAINING, text: '' }))).error, 'no_text');
  assert.equal((await refusal(web.views.open({ trigger_id: '1.2', view: modal('x', section('x')) }))).error, 'invalid_trigger_id');
  assert.equal((await refusal(client(slack, { headers: {} }).apiCall('no.such', {}))).error, 'unknown_method');
  assert.equal((await refusal(web.chat.postMessage({ token: 'xoxb-wrong', channel: TRAINING, text: 'x' }))).error, 'invalid_auth');
  await slack.scopes('chat:write');
  const scope = await refusal(web.files.info({ file: 'F1' }));
  assert.deepEqual([scope.error, scope.needed, scope.provided], ['missing_scope', 'files:read', 'chat:write']);
  assert.deepEqual(scope.response_metadata.scopes, ['chat:write'], 'X-OAuth-Scopes');
  assert.deepEqual(scope.response_metadata.acceptedScopes, ['files:read'], 'X-Accepted-OAuth-Scopes');
});

test('a trigger lives three seconds', async (t) => {
  const slack = await start({}, { slowly: true });
  let trigger;
  await run(t, slack, (app) => app.command('/diagnose', async ({ ack, body }) => { trigger = body.trigger_id; await ack(); }));
  await slack.slash('');
  await slack.advance(4);
  await assert.rejects(client(slack).views.open({ trigger_id: trigger, view: modal('late', section('x')) }), /expired_trigger_id|invalid_arguments/);
});

test('a client that is too fast is told when to come back, and comes back by itself', async () => {
  const slack = await start(), web = client(slack);
  await slack.fault({ method: 'chat.postMessage', do: 'ratelimit', retry_after: 1, times: 1 });
  const begun = Date.now();
  assert.ok((await web.chat.postMessage({ channel: TRAINING, text: 'patient' })).ok);
  assert.ok(Date.now() - begun >= 1000, 'the client did not wait for Retry-After');
  assert.equal((await slack.messages()).filter((m) => m.text === 'patient').length, 1);
  await slack.fault({ method: 'chat.postMessage', do: 'ratelimit', retry_after: 7, times: 1 });
  const error = await client(slack, { rejectRateLimitedCalls: true }).chat.postMessage({ channel: TRAINING, text: 'hasty' }).catch((e) => e);
  assert.ok(error instanceof WebAPIRateLimitedError, error);
  assert.equal(error.retryAfter, 7);
});

test('the limit per channel hits those who post without a pause', async () => {
  const slack = await start({ rate_limits: true }, { slowly: true }), hasty = client(slack, { rejectRateLimitedCalls: true });
  let posted = 0;
  const error = await (async () => { for (;; posted++) await hasty.chat.postMessage({ channel: TRAINING, text: `post ${posted}` }); })().catch((e) => e);
  assert.ok(error instanceof WebAPIRateLimitedError && error.retryAfter === 1, error);
  assert.ok(posted >= 1 && posted < 20, `${posted} messages at once`);
  await slack.advance(1);
  assert.ok((await hasty.chat.postMessage({ channel: TRAINING, text: 'after a second' })).ok);
});

test('a mention is delivered once when acknowledged, and three times more when not', async (t) => {
  const slack = await start({}, { slowly: true });
  const seen = [];
  await run(t, slack, (app) => app.event('app_mention', async ({ event, body, context }) => {
    seen.push([body.event_id, context.retryNum ?? 0, context.retryReason ?? '', event.text]);
  }));
  const mention = (text) => slack.order('say', { user: ALICE, channel: TRAINING, text: `<@${BOT}> ${text}`, no_wait: true });
  await mention('once');
  await until('the event', () => seen.length === 1);
  await until('its acknowledgement', async () => (await slack.journal((e) => e.kind === 'frame' && e.dir === 'in')).length === 1);
  await slack.advance(600);
  assert.equal(seen.length, 1, 'an acknowledged event came again');

  await slack.fault({ method: 'ack', do: 'drop_ack', times: -1 });
  await mention('again');
  for (const [tries, wait] of [[1, 3], [2, 3 + 60], [3, 3 + 300], [4, 3 + 3600]]) {
    await until(`try ${tries}`, () => seen.length === 1 + tries);
    // Bolt acknowledges events before its listeners run, but the frame may still be under way.
    await until(`its acknowledgement`, async () => (await slack.journal((e) => e.kind === 'frame' && e.dir === 'in')).length === 1 + tries);
    await slack.advance(wait);
  }
  assert.equal(seen.length, 5, 'more than three retries');
  const tries = seen.slice(1);
  assert.equal(new Set(tries.map(([id]) => id)).size, 1, 'a retry has another event_id');
  assert.deepEqual(tries.map(([, n]) => n), [0, 1, 2, 3]);
  assert.deepEqual(tries.slice(1).map(([, , reason]) => reason), ['timeout', 'timeout', 'timeout']);
});

test('a command that nobody acknowledges fails in front of the user', async (t) => {
  const slack = await start({}, { slowly: true });
  let came = false;
  await run(t, slack, (app) => app.command('/diagnose', async () => { came = true; }));
  await slack.slash('', { no_wait: true });
  await until('the command', () => came);
  await slack.advance(4);
  await slack.message('operation_timeout');
});

test('the same envelope twice is seen twice: whoever listens must know it again', async (t) => {
  const slack = await start();
  const seen = [];
  await slack.fault({ method: 'deliver', do: 'twice', times: 1 });
  await run(t, slack, (app) => app.event('app_mention', async ({ body }) => { seen.push(body.event_id); }));
  await slack.order('say', { user: ALICE, channel: TRAINING, text: `<@${BOT}> hello` });
  await until('both', () => seen.length === 2);
  assert.equal(seen[0], seen[1]);
});

// Slack refreshes sockets now and then, with and without closing the link, and sometimes a cable is cut. The client takes
// some seconds to notice and to come back; the tests wait side by side.
describe('a socket comes back', { concurrency: true }, () => {
  for (const [what, go] of [
    ['a refresh that closes the link', (slack) => slack.order('disconnect', { disconnect: { reason: 'refresh_requested' } })],
    ['a refresh that leaves the link open', (slack) => slack.order('disconnect', { disconnect: { reason: 'refresh_requested', leave: true } })],
    ['a warning', (slack) => slack.order('disconnect', { disconnect: { reason: 'warning' } })],
    ['a cut link', (slack) => slack.order('cut', {})],
    ['a cut in the middle of a frame', async (slack) => {
      await slack.fault({ method: 'deliver', do: 'cut_mid_frame', times: 1 });
      await slack.slash('lost', { no_wait: true });
    }],
  ]) {
    test(`after ${what}`, async (t) => {
      const slack = await start();
      await run(t, slack, (app) => app.command('/diagnose', async ({ ack, command }) => { await ack(`heard ${command.text}`); }));
      assert.ok((await slack.slash('before')).ack.ok);
      const opened = await slack.calls('apps.connections.open');
      await go(slack);
      await until('another socket', async () => await slack.calls('apps.connections.open') > opened, 60_000);
      // Between two sockets nobody is there to take a command; people try again, and so does this.
      await until('an acknowledged command', async () => (await slack.slash('after')).ack.ok, 60_000);
      await slack.message('heard after');
    });
  }
});

test('an app may have ten sockets, and what is sent goes to each in turn', async (t) => {
  const slack = await start();
  const heard = new Set(), full = [];
  const clients = Array.from({ length: 11 }, (_, n) => {
    const socket = new SocketModeClient({ appToken: APP_TOKEN, logger: quiet, autoReconnectEnabled: false, clientOptions: { slackApiUrl: slack.api } });
    socket.on('slash_commands', async ({ ack }) => { heard.add(n); await ack(); });
    return socket;
  });
  t.after(() => Promise.all(clients.map((socket) => socket.disconnect())));
  for (const socket of clients.slice(0, 10)) await socket.start();
  assert.equal(await slack.read('sockets'), 10);
  clients[10].on('disconnected', () => full.push('disconnected'));
  clients[10].start().catch(() => full.push('refused'));
  await until('the refusal of the eleventh', () => full.length > 0);
  assert.ok((await slack.journal((e) => e.body?.includes('too_many_websockets') || e.error?.includes('too_many_websockets'))).length > 0);
  for (let i = 0; i < 10; i++) assert.ok((await slack.slash(`${i}`)).ack.ok);
  assert.equal(heard.size, 10, [...heard].join());
});
