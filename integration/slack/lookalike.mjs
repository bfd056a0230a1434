// The users' side of simulate/slack, over its JSON door: what people do and what they see.
import assert from 'node:assert/strict';

export const ALICE = 'U0ALICE001', BOB = 'U0BOB00001', BOT = 'U0FAULTBOT';
export const TRAINING = 'C0TRAINING', OUTSIDE = 'C0OUTSIDE1';
export const BOT_TOKEN = 'xoxb-sim', APP_TOKEN = 'xapp-sim', SIGNING_SECRET = 'sim-signing-secret';

/** patience is for what normally takes milliseconds; a socket may need much longer to come back. */
export const patience = 60_000;

const post = (url, body) => fetch(url, { method: 'POST', headers: { 'Content-Type': 'application/json' }, body: JSON.stringify(body) });

async function launch(path, order) {
  const answer = await post(process.env.LAUNCHER + path, order);
  const text = await answer.text();
  assert.equal(answer.status, 200, text);
  return text;
}

/** start makes a look-alike of its own for one test. With slowly, its clock moves only by advance(). */
export async function start(options = {}, { slowly = false } = {}) {
  // Slack's 3 s, stretched where they pass found automatically: what is tested is not how busy the machine is.
  const patient = slowly ? {} : { patience: 20e9 };
  return new Lookalike(await launch('/start', { options: { ...patient, ...options }, slowly }));
}

/** until asks again and again until the answer is truthy, and returns it. */
export async function until(what, ask, within = patience) {
  for (const end = Date.now() + within; ;) {
    const answer = await ask();
    if (answer) return answer;
    assert.ok(Date.now() < end, `waited ${within} ms in vain for ${what}`);
    await new Promise((done) => setTimeout(done, 15));
  }
}

export class Lookalike {
  constructor(url) {
    this.url = url;
    this.api = `${url}/api/`;
  }

  /** order has a user do something; the answer holds ack, once the app has acknowledged, and result. */
  async order(path, order) {
    const answer = await (await post(`${this.url}/sim/${path}`, order)).json();
    assert.ok(answer.ok, `${path}: ${answer.error}`);
    return answer;
  }

  async read(path, query = {}) {
    return (await (await fetch(`${this.url}/sim/${path}?${new URLSearchParams(query)}`)).json())[path];
  }

  slash(text, more = {}) {
    return this.order('slash', { user: ALICE, channel: TRAINING, command: '/diagnose', text, ...more });
  }

  click(message, use, more = {}) {
    return this.order('click', { user: ALICE, channel: TRAINING, ts: message.ts, use, ...more });
  }

  messages(query = {}) {
    return this.read('messages', { channel: TRAINING, user: ALICE, ...query });
  }

  message(text, query = {}) {
    return until(`a message with ${JSON.stringify(text)}`, async () => (await this.messages(query)).find((m) => m.plain.includes(text)));
  }

  /** view waits for the topmost modal of Alice to have a block of this id. */
  view(block) {
    return until(`a modal with the block ${block}`, async () => {
      const top = (await this.read('views', { user: ALICE }) ?? []).at(-1);
      return top?.blocks.some((b) => b.block_id === block) ? top : null;
    });
  }

  async journal(fits = () => true) {
    return (await this.read('journal')).filter(fits);
  }

  async calls(method) {
    return (await this.read('calls'))[method] ?? 0;
  }

  fault(fault) {
    return this.order('fault', { fault });
  }

  advance(seconds) {
    return launch('/advance', { url: this.url, seconds });
  }

  scopes(...scopes) {
    return launch('/scopes', { url: this.url, token: BOT_TOKEN, scopes });
  }

  verify() {
    return launch('/verify', { url: this.url });
  }
}
