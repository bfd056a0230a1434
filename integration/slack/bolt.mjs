// Unmodified Bolt apps and WebClients, pointed at a look-alike: the only thing that tells them from a real installation is
// slackApiUrl.
import bolt from '@slack/bolt';
import { WebClient } from '@slack/web-api';
import { APP_TOKEN, BOT_TOKEN, until } from './lookalike.mjs';

const { App, LogLevel } = bolt;
export const { HTTPReceiver } = bolt;

/** quiet logs nothing, so that the report of the tests can be read; what goes wrong shows in the tests. */
export const quiet = Object.fromEntries(['debug', 'info', 'warn', 'error', 'setLevel', 'setName'].map((name) => [name, () => {}]));
quiet.getLevel = () => LogLevel.ERROR;

export const client = (slack, options = {}) => new WebClient(BOT_TOKEN, { slackApiUrl: slack.api, logger: quiet, ...options });

/** run makes an app on Socket Mode, lets setup add its listeners, and starts it; it stops with the test. */
export async function run(t, slack, setup = () => {}) {
  const app = new App({ token: BOT_TOKEN, appToken: APP_TOKEN, socketMode: true, logger: quiet, clientOptions: { slackApiUrl: slack.api } });
  app.failures = [];
  app.error(async (error) => { app.failures.push(error); });
  setup(app);
  await app.start();
  t.after(() => app.stop());
  await until('the socket', async () => await slack.read('sockets') > 0);
  return app;
}

export const plain = (text) => ({ type: 'plain_text', text });
export const section = (text) => ({ type: 'section', text: { type: 'mrkdwn', text } });
export const button = (action_id, text, more = {}) => ({ type: 'actions', elements: [{ type: 'button', action_id, text: plain(text), ...more }] });
