// What the look-alike answers has the shape that Slack's client knows: the response types of @slack/web-api were made from
// what Slack really sends. A field that they lack, the look-alike has invented.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { button, client, plain, run, section } from './bolt.mjs';
import { ALICE, TRAINING, start, until } from './lookalike.mjs';
import { misfits } from './types.mjs';

test('answers hold what Slack is known to answer', async (t) => {
  const slack = await start(), web = client(slack), answers = [];
  // The client adds response_metadata of its own.
  const keep = (type, { response_metadata, ...answer }) => { answers.push({ type, answer }); return answer; };
  const post = (args) => web.chat.postMessage({ channel: TRAINING, ...args });

  keep('AuthTestResponse', await web.auth.test());
  const { ts } = keep('ChatPostMessageResponse', await post({
    text: 'x', blocks: [section('x'), button('a', 'A', { value: '1' }), { type: 'header', text: plain('x') }], metadata: { event_type: 'x', event_payload: { a: 1 } },
  }));
  const reply = keep('ChatPostMessageResponse', await post({ text: 'y', thread_ts: ts }));
  keep('ChatUpdateResponse', await web.chat.update({ channel: TRAINING, ts, text: 'z' }));
  keep('ChatPostEphemeralResponse', await web.chat.postEphemeral({ channel: TRAINING, user: ALICE, text: 'z' }));
  keep('ChatGetPermalinkResponse', await web.chat.getPermalink({ channel: TRAINING, message_ts: ts }));
  keep('ReactionsAddResponse', await web.reactions.add({ channel: TRAINING, timestamp: ts, name: 'eyes' }));
  const { files: [{ files: [{ id }] }] } = await web.files.uploadV2({ channel_id: TRAINING, file: Buffer.from('x'), filename: 'x.md', title: 'X' });
  keep('FilesInfoResponse', await web.files.info({ file: id }));
  keep('ConversationsRepliesResponse', await web.conversations.replies({ channel: TRAINING, ts, include_all_metadata: true }));
  keep('ConversationsHistoryResponse', await web.conversations.history({ channel: TRAINING, include_all_metadata: true }));
  keep('ConversationsOpenResponse', await web.conversations.open({ users: ALICE, return_im: true }));
  for (const channel of [TRAINING, 'C0SHARED01', 'C0PRIVATE1']) keep('ConversationsInfoResponse', await web.conversations.info({ channel }));
  for (const user of [ALICE, 'U0EXTERN01', 'U0FAULTBOT']) keep('UsersInfoResponse', await web.users.info({ user }));
  keep('UsergroupsUsersListResponse', await web.usergroups.users.list({ usergroup: 'S0ONCALL01' }));
  keep('ChatDeleteResponse', await web.chat.delete({ channel: TRAINING, ts: reply.ts }));
  await run(t, slack, (app) => app.command('/diagnose', async ({ ack, body, client: bolt }) => {
    await ack();
    const view = { type: 'modal', callback_id: 'x', title: plain('x'), blocks: [section('x')] };
    const opened = keep('ViewsOpenResponse', await bolt.views.open({ trigger_id: body.trigger_id, view }));
    keep('ViewsUpdateResponse', await bolt.views.update({ view_id: opened.view.id, view }));
    keep('ViewsPublishResponse', await bolt.views.publish({ user_id: ALICE, view: { type: 'home', blocks: [section('x')] } }));
  }));
  await slack.slash('');
  await until('the modal', () => answers.at(-1).type === 'ViewsPublishResponse');

  assert.deepEqual(misfits([{ type: 'AuthTestResponse', answer: { ok: true, team_name: 'x' } }]).length, 1, 'an invented field passes');
  assert.deepEqual(misfits([{ type: 'AuthTestResponse', answer: { ok: true, team: 7 } }]).length, 1, 'a field of another type passes');
  assert.deepEqual(misfits(answers), []);
});
