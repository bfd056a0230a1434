// Every golden payload has the shape that Slack's own types ask for, and the check would notice if it had not.
import assert from 'node:assert/strict';
import { readFileSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { exceptions, payloads, refused, without } from './types.mjs';

const plain = (text) => ({ type: 'plain_text', text });
const message = (...blocks) => ({ name: 'message', text: 'x', blocks });
const modal = (more, ...blocks) => ({ name: 'modal', type: 'modal', ...more, blocks });
const rows = [[{ type: 'raw_text', text: 'a' }], [{ type: 'raw_text', text: 'b' }]];

test('wrong payloads are rejected, and those beside them are not', () => {
  const right = [
    message({ type: 'header', text: plain('x') }, { type: 'divider' }),
    message({ type: 'data_table', caption: 'timeline', rows, page_size: 10 }),
    message({ type: 'table', rows, column_settings: [{ align: 'right' }] }),
    message({ type: 'rich_text', elements: [{ type: 'rich_text_list', style: 'ordered', elements: [{ type: 'rich_text_section', elements: [{ type: 'text', text: 'x', style: { code: true } }] }] },
      { type: 'rich_text_preformatted', elements: [{ type: 'text', text: '<!channel>' }] }] }),
    message({ type: 'actions', elements: [{ type: 'button', action_id: 'a', text: plain('x'), style: 'danger', confirm: { title: plain('x'), text: plain('x'), confirm: plain('x'), deny: plain('x') } }] }),
    message({ type: 'image', alt_text: 'x', slack_file: { id: 'F1' } }),
    modal({ title: plain('x'), submit: plain('x') }, { type: 'input', label: plain('x'), element: { type: 'file_input', action_id: 'f', max_files: 3 } }),
    { ...message({ type: 'divider' }), metadata: { event_type: 'x', event_payload: { n: 1 } } },
  ];
  const wrong = {
    'a header with markup': message({ type: 'divider' }, { type: 'header', text: { type: 'mrkdwn', text: 'x' } }),
    'a data table without a caption': message({ type: 'data_table', rows }),
    'a misspelt field of a button': message({ type: 'actions', elements: [{ type: 'button', action_id: 'a', text: plain('x'), valeu: '1' }] }),
    'a block of no type that there is': message({ type: 'headline', text: plain('x') }),
    'a section whose text is a string': message({ type: 'section', text: 'x' }),
    'a list of an unknown style': message({ type: 'rich_text', elements: [{ type: 'rich_text_list', style: 'numbered', elements: [] }] }),
    'an input without a label': message({ type: 'input', element: { type: 'plain_text_input', action_id: 'x' } }),
    'a modal without a title': modal({}, { type: 'divider' }),
    'a modal whose title is markup': modal({ title: { type: 'mrkdwn', text: 'x' } }, { type: 'divider' }),
    'an unknown argument of a modal': modal({ title: plain('x'), sumbit: plain('x') }, { type: 'divider' }),
    'metadata without a type': { ...message({ type: 'divider' }), metadata: { event_payload: {} } },
  };
  const said = refused([...right, ...Object.values(wrong)]);
  right.forEach((payload, i) => assert.deepEqual(said[i], [], JSON.stringify(payload)));
  Object.keys(wrong).forEach((what, i) => assert.ok(said[right.length + i].length > 0, `${what} passed`));
  assert.match(said[right.length][0], /^block 1: /, 'the error does not name the block');
});

/** golden are the payloads that the tests of messages hold the bot to. */
const golden = (() => {
  const messages = fileURLToPath(new URL('../../messages', import.meta.url));
  const files = readdirSync(messages, { recursive: true }).filter((f) => /testdata\/slack\/.*\.json$/.test(f)).sort();
  return files.flatMap((f) => payloads(f, JSON.parse(readFileSync(join(messages, f), 'utf8'))));
})();

test('an exception takes out what it names and nothing else', () => {
  const list = [{ type: 'list', field: 'offset', why: '' }, { type: 'chart', why: '' }];
  const blocks = [{ type: 'list', offset: 4, elements: [{ type: 'text', offset: 1 }] }, { type: 'chart', series: [] }];
  assert.deepEqual(without(blocks, list), [{ type: 'list', elements: [{ type: 'text', offset: 1 }] }]);
  assert.deepEqual(without(blocks, []), blocks);
});

test('every golden payload passes', () => {
  assert.ok(golden.filter((p) => p.type !== 'modal').length >= 20, `only ${golden.length} golden payloads were found`);
  assert.ok(golden.filter((p) => p.type === 'modal').length >= 5, 'hardly any golden modal was found');
  const said = refused(golden.map((payload) => without(payload, exceptions)));
  assert.deepEqual(golden.flatMap((payload, i) => said[i].map((error) => `${payload.name}, ${error}`)), []);
});

test('every exception is still needed', () => {
  for (const e of exceptions) {
    const others = exceptions.filter((other) => other !== e);
    const said = refused(golden.map((payload) => without(payload, others)));
    assert.ok(said.flat().length > 0, `no golden payload needs the exception for ${e.type} ${e.field ?? ''}, or @slack/types knows it now`);
  }
});
