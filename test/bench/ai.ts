import { setTimeout as delay } from 'node:timers/promises';
import { Client as PgClient } from 'pg';
import { Agent, request } from 'undici';
import { readPostgresUrl } from '../../hub/platform/postgres-server/server.ts';
import { createClient } from '../fixtures/contract-client.ts';
import type { Fetch } from '../fixtures/contract-client.ts';
import { startModelServer } from '../fixtures/model-server.ts';
import { startSpeechServer } from '../fixtures/speech-server.ts';
import { measureFirstWords } from './ai-chat.ts';
import type { AiBench } from './ai-chat.ts';
import { measureInterruptions, measureTurns, speechSettings, voiceTitles } from './ai-voice.ts';
import { readBenchArguments } from './bench-arguments.ts';
import { signIn, startBenchHub } from './hub.ts';
import { compared, costColumns, printTable } from './table.ts';

const parts = {
  answers: 'complete answers of a run and on the phone, compared with direct calls of the model server',
  words: 'first words and end of a chat answer, compared with the same stream read directly from the model server',
  voice:
    'spoken question to first audio of the answer, by stage, and interruptions, compared with direct calls of the servers',
  rate: 'runs per second, compared with direct calls per second',
  failover: 'delay of a failing model before the next one answers',
  memory: 'memory growth of the hub over many runs',
};
const rounds = 200;
const senders = 8;
const concurrentRuns = 2_000;
const memoryRuns = 4_000;
const memorySteps = 4;

/** The prompt of the direct calls, about as long as the prompt of the hub. */
const messages = [
  { role: 'system', content: 'Answer the questions of people. '.repeat(20) },
  { role: 'user', content: 'When do you open?' },
];

async function post(bench: AiBench, url: string, headers: Record<string, string>, body: unknown): Promise<void> {
  const answer = await request(url, {
    method: 'POST',
    dispatcher: bench.dispatcher,
    headers: { 'content-type': 'application/json', ...headers },
    body: JSON.stringify(body),
  });
  const text = await answer.body.text();
  if (answer.statusCode !== 200) throw new Error(`${url} answered ${answer.statusCode}: ${text.slice(0, 300)}`);
}

const run = (bench: AiBench) =>
  post(bench, `${bench.hub.url}/v1/ai/runs`, { 'x-api-key': bench.key }, { input: 'When do you open?' });
const speak = (bench: AiBench) =>
  post(
    bench,
    `${bench.hub.url}/tenants/${bench.tenantId}/ai/speak`,
    { authorization: `Bearer ${bench.sessionToken}` },
    { text: 'When do you open?' },
  );
const bare = (bench: AiBench) =>
  post(bench, `${bench.model.baseUrl}/chat/completions`, {}, { model: 'bench', messages, stream: true });

const timed = async (work: () => Promise<void>): Promise<number> => {
  const startedAt = performance.now();
  await work();
  return performance.now() - startedAt;
};

/** Runs the variants in turn, so that other load on the machine affects all of them equally. */
async function inTurn(works: (() => Promise<void>)[], count = rounds): Promise<number[][]> {
  for (let warm = 0; warm < 30; warm += 1) for (const work of works) await work();
  const samples = works.map((): number[] => []);
  for (let round = 0; round < count; round += 1)
    for (const [index, work] of works.entries()) samples[index]?.push(await timed(work));
  return samples;
}

async function measureAnswers(bench: AiBench): Promise<Record<string, string>[]> {
  const rows: Record<string, string>[] = [];
  for (const [what, reply] of [
    ['at once', 'We open at nine.'],
    ['20 parts, 5 ms apart', { parts: Array.from({ length: 20 }, () => 'nine '), gapMs: 5 }],
  ] as const) {
    bench.model.reply = () => reply as never;
    const [alone = [], byRun = [], spoken = []] = await inTurn(
      [() => bare(bench), () => run(bench), () => speak(bench)],
      what === 'at once' ? rounds : rounds / 3,
    );
    rows.push(
      compared(`bare, ${what}`, alone),
      compared(`a run, ${what}`, byRun, alone),
      compared(`speak, ${what}`, spoken, alone),
    );
  }
  return rows;
}

async function inParallel(count: number, work: () => Promise<void>): Promise<number> {
  let left = count;
  const startedAt = performance.now();
  await Promise.all(
    Array.from({ length: senders }, async () => {
      while ((left -= 1) >= 0) await work();
    }),
  );
  return count / ((performance.now() - startedAt) / 1000);
}

async function measureRate(bench: AiBench): Promise<Record<string, string>[]> {
  const { hub, model } = bench;
  model.reply = () => 'We open at nine.';
  await inParallel(500, () => run(bench));
  const before = await hub.usage();
  const runs = await inParallel(concurrentRuns, () => run(bench));
  const after = await hub.usage();
  const calls = await inParallel(concurrentRuns, () => bare(bench));
  return [
    { what: 'runs', 'a second': runs.toFixed(0), ...costColumns(before, after, concurrentRuns) },
    { what: 'bare calls', 'a second': calls.toFixed(0) },
  ];
}

/** Creates a workspace whose models are these models of the server, in this order, and returns an API key. */
async function keyOf({ hub, model }: AiBench, names: string[]): Promise<{ key: string; tenantId: string }> {
  const client = (token?: string) =>
    createClient({ baseUrl: hub.url, fetch: fetch as unknown as Fetch, ...(token === undefined ? {} : { token }) });
  const workspaceName = names.join(' and ');
  const email = `${names.join('.')}@example.org`;
  const { token, tenantId } = await client().call('signUp', {
    body: { email, password: 'correct horse battery', workspaceName },
  });
  const models = names.map((id) => ({
    id,
    provider: 'openai-compatible' as const,
    baseUrl: model.baseUrl,
    model: id,
  }));
  await client(token).call('putAutomationModels', { body: { models, order: names } });
  const { key } = await client(token).call('createApiToken', {
    params: { tenantId },
    body: { name: 'bench', product: 'ai', permissions: ['ai:invoke'] },
  });
  return { key, tenantId };
}

async function measureFailover(bench: AiBench): Promise<Record<string, string>[]> {
  const { hub, model } = bench;
  const failing: Record<string, { status: number }> = { refusing: { status: 400 }, broken: { status: 401 } };
  model.reply = ({ model: name }) => failing[name] ?? 'We open at nine.';
  const well = await keyOf(bench, ['well']);
  const refusing = await keyOf(bench, ['refusing', 'well']);
  const broken = await keyOf(bench, ['broken', 'well']);
  const database = new PgClient({ connectionString: readPostgresUrl(hub.home) as string });
  await database.connect();
  try {
    await run({ ...bench, ...broken });
    for (let opened = 0; opened === 0; await delay(20)) {
      const { rowCount } = await database.query(
        `UPDATE model_breakers SET open_until = now() + interval '1 hour' WHERE tenant_id = $1 AND open_until IS NOT NULL`,
        [broken.tenantId],
      );
      opened = rowCount ?? 0;
    }
    model.requests.length = 0;
    const [alone = [], refused = [], open = []] = await inTurn([
      () => run({ ...bench, ...well }),
      () => run({ ...bench, ...refusing }),
      () => run({ ...bench, ...broken }),
    ]);
    if (model.requests.some(({ model: name }) => name === 'broken'))
      throw new Error('a model with an open breaker was called');
    return [
      compared('one model', alone),
      compared('the second model, after the first refused the request (400)', refused, alone),
      compared('the second model, while the breaker of the first is open', open, alone),
    ];
  } finally {
    await database.end();
  }
}

async function measureMemory(bench: AiBench): Promise<Record<string, string>[]> {
  const { hub, model } = bench;
  model.reply = () => 'We open at nine.';
  const rest = async () => {
    await delay(3_000);
    await hub.collectGarbage();
    await delay(500);
    return (await hub.usage()).residentBytes;
  };
  await inParallel(memoryRuns / memorySteps, () => run(bench));
  const rows: Record<string, string>[] = [];
  let before = await rest();
  for (let step = 0; step < memorySteps; step += 1) {
    await inParallel(memoryRuns / memorySteps, () => run(bench));
    model.requests.length = 0;
    const now = await rest();
    rows.push({
      runs: String(((step + 1) * memoryRuns) / memorySteps),
      'resident after a collection': `${(now / 1024 / 1024).toFixed(1)} MiB`,
      growth: `${((now - before) / 1024 / 1024).toFixed(1)} MiB`,
    });
    before = now;
  }
  return rows;
}

/** Measures the overhead of the hub for model calls. */
export async function benchAi(args: string[]): Promise<void> {
  const wanted = readBenchArguments('ai', args, parts);
  if (wanted === null) return;
  const { parts: chosen } = wanted;
  await using model = await startModelServer();
  await using speech = await startSpeechServer();
  await using hub = await startBenchHub(
    {
      AI_BASE_URL: model.baseUrl,
      AI_MODEL: 'bench',
      EGRESS_ALLOW_HOSTS: model.host,
      SIGN_UP: 'open',
      ...speechSettings(speech),
    },
    { isInspected: chosen.has('memory') },
  );
  const sessionToken = await signIn(hub);
  const session = createClient({ baseUrl: hub.url, fetch: fetch as unknown as Fetch, token: sessionToken });
  const { tenantId } = await hub.api.call('readToken', {});
  const { key } = await session.call('createApiToken', {
    params: { tenantId },
    body: { name: 'bench', product: 'ai', permissions: ['ai:invoke'] },
  });
  const dispatcher = new Agent({ connections: senders });
  const bench: AiBench = { hub, model, speech, tenantId, session, sessionToken, key, dispatcher };
  const clear = () => (model.requests.length = 0);
  if (chosen.has('answers')) printTable(`A whole answer, ${rounds} in turn`, await measureAnswers(bench));
  clear();
  if (chosen.has('words')) printTable('An answer in a chat, in 20 parts 5 ms apart', await measureFirstWords(bench));
  clear();
  if (chosen.has('voice')) {
    printTable(voiceTitles.turns, await measureTurns(bench));
    printTable(voiceTitles.interruptions, await measureInterruptions(bench));
  }
  clear();
  if (chosen.has('rate'))
    printTable(`${concurrentRuns} runs from ${senders} senders, the model answers at once`, await measureRate(bench));
  clear();
  if (chosen.has('failover'))
    printTable(`A model before the one that answers, ${rounds} runs in turn`, await measureFailover(bench));
  clear();
  if (chosen.has('memory')) printTable('Memory', await measureMemory(bench));
  await dispatcher.close();
}
