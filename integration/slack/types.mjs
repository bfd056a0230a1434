// Payloads against @slack/types: each block of a message becomes a typed constant, and the TypeScript compiler says which
// of them Slack's own library would not let a program write.
import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const here = fileURLToPath(new URL('.', import.meta.url));

/**
 * exceptions are what Slack documents and @slack/types 3.2.0 does not know: { type, field, why }. Each is taken out before
 * the compiler looks: a field of all objects of a type, or, without a field, the whole object. An exception that no golden
 * payload needs fails the test; today none needs any.
 */
export const exceptions = [];

/** without takes the exceptions out of a payload. */
export function without(value, list) {
  if (Array.isArray(value)) {
    return value.filter((item) => !list.some((e) => !e.field && e.type === item?.type)).map((item) => without(item, list));
  }
  if (value === null || typeof value !== 'object') return value;
  const fields = Object.entries(value).filter(([name]) => !list.some((e) => e.field === name && e.type === value.type));
  return Object.fromEntries(fields.map(([name, inner]) => [name, without(inner, list)]));
}

/** payloads finds the messages, views and bare lists of blocks in any JSON, with the place of each. */
export function payloads(name, value) {
  if (value === null || typeof value !== 'object') return [];
  const isBlocks = (list) => Array.isArray(list) && list.length > 0 && list.every((b) => typeof b?.type === 'string');
  if (isBlocks(value)) return [{ name, blocks: value }];
  if (Array.isArray(value.blocks)) return [{ name, ...value }];
  return Object.entries(value).flatMap(([key, inner]) => payloads(`${name} ${key}`, inner));
}

/** source is the TypeScript of one payload; a line holds one block, so that an error names it. */
function source(payload) {
  const lines = [`import type { HomeView, KnownBlock, MessageMetadata, ModalView } from '@slack/types';`];
  payload.blocks.forEach((block, i) => lines.push(`export const block${i}: KnownBlock = ${JSON.stringify(block)};`));
  if (payload.type === 'modal' || payload.type === 'home') {
    const { name, blocks, ...view } = payload;
    const type = payload.type === 'modal' ? 'ModalView' : 'HomeView';
    lines.push(`export const view: Omit<${type}, 'blocks'> = ${JSON.stringify(view)};`);
  } else if (payload.metadata) {
    lines.push(`export const metadata: MessageMetadata = ${JSON.stringify(payload.metadata)};`);
  }
  return lines.join('\n');
}

/** refused returns what the compiler has against each payload: [] for those that pass. */
export function refused(list) {
  return compile(list.map(source)).map((errors, i) => errors.map(({ line, text }) => `${line - 2 < list[i].blocks.length ? `block ${line - 2}` : 'around the blocks'}: ${text}`));
}

/**
 * misfits returns what the compiler has against answers, as { type, answer } with a response type of @slack/web-api. Where
 * that has an enumeration, any string will do: the types know only the values that were seen. Slack's null is everywhere.
 */
export function misfits(answers) {
  const loose = 'type Loose<T> = T extends string ? string : T extends (infer U)[] ? Loose<U>[] : T extends object ? { [K in keyof T]: Loose<T[K]> | null } : T;';
  const sources = answers.map(({ type, answer }) => `import type { ${type} } from '@slack/web-api'; ${loose}\nexport const answer: Loose<${type}> = ${JSON.stringify(answer)};`);
  return compile(sources).flatMap((errors, i) => errors.map(({ text }) => `${answers[i].type}: ${text}`));
}

/** compile returns the errors of each source. */
function compile(sources) {
  const dir = mkdtempSync(join(tmpdir(), 'shapes-'));
  const types = (name) => [join(here, `node_modules/@slack/${name}/dist/index.d.ts`)];
  try {
    sources.forEach((text, i) => writeFileSync(join(dir, `source${i}.ts`), text));
    writeFileSync(join(dir, 'tsconfig.json'), JSON.stringify({
      compilerOptions: {
        strict: true, noEmit: true, target: 'es2022', module: 'nodenext', moduleResolution: 'nodenext', types: [], skipLibCheck: true,
        paths: { '@slack/types': types('types'), '@slack/web-api': types('web-api') },
      },
      include: ['*.ts'],
    }));
    const tsc = spawnSync(process.execPath, [join(here, 'node_modules/typescript/bin/tsc'), '-p', dir, '--pretty', 'false'], { cwd: dir, encoding: 'utf8', maxBuffer: 1 << 28 });
    const found = sources.map(() => []);
    let last;
    for (const line of (tsc.stdout + tsc.stderr).split('\n')) {
      const at = /^source(\d+)\.ts\((\d+),\d+\): error (.*)$/.exec(line);
      if (at) found[at[1]].push(last = { line: Number(at[2]), text: at[3] });
      else if (line.startsWith(' ') && last) last.text += `\n${line}`;
      else if (line) throw new Error(`the compiler: ${line}`);
    }
    const clean = found.every((errors) => errors.length === 0);
    if (tsc.error || (tsc.status === 0) !== clean) throw new Error(`the compiler ended with ${tsc.status ?? tsc.error}, which its output does not explain`);
    return found;
  } finally {
    rmSync(dir, { recursive: true });
  }
}
