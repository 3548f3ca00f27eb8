import { Client as PgClient } from 'pg';
import { pino } from 'pino';
import { Agent, request } from 'undici';
import { Database } from '../../hub/platform/db/database.ts';
import { readPostgresUrl } from '../../hub/platform/postgres-server/server.ts';
import { Knowledge } from '../../hub/products/ai/knowledge/index.ts';
import { maxKnowledgeEntries } from '../../shared/contract/ai/knowledge.ts';
import { createClient } from '../fixtures/contract-client.ts';
import { corpusEntries, corpusQuestions, measureRecall, questionGroups } from '../fixtures/knowledge-corpus.ts';
import type { CorpusEntry, Recall } from '../fixtures/knowledge-corpus.ts';
import { fillerEntries } from '../fixtures/knowledge-filler.ts';
import { readBenchArguments } from './bench-arguments.ts';
import { signIn, startBenchHub } from './hub.ts';
import type { BenchHub } from './hub.ts';
import { milliseconds, percentile, printTable } from './table.ts';

const parts = {
  recall: 'questions of the corpus whose entry is among the first five, compared with a plain full-text search',
  latency: `replacing and searching ${maxKnowledgeEntries.toLocaleString('en')} entries`,
};
/** Results with a lower score count as not found. */
const threshold = 0.5;
const rounds = 5;

/** Plain PostgreSQL full text search with one configuration: entries with all words, or else entries with any word. */
const plainSearch = `SELECT id, score::float8 FROM (
    SELECT id, ts_rank_cd(to_tsvector($2::regconfig, question || ' ' || answer), asked.every) + ts_rank_cd(to_tsvector($2::regconfig, question || ' ' || answer), asked.some) AS score
    FROM knowledge_entries, (SELECT websearch_to_tsquery($2::regconfig, $3) AS every, replace(websearch_to_tsquery($2::regconfig, $3)::text, '&', '|')::tsquery AS some) asked
    WHERE tenant_id = $1) found WHERE score > 0 ORDER BY score DESC LIMIT 5`;

interface Bench {
  hub: BenchHub;
  tenantId: string;
  token: string;
  knowledge: Knowledge;
  database: PgClient;
}

/** Measures the recall and the latency of knowledge search. */
export async function benchKnowledge(args: string[]): Promise<void> {
  const wanted = readBenchArguments('knowledge', args, parts);
  if (wanted === null) return;
  await using hub = await startBenchHub();
  const { tenantId } = await hub.api.call('readToken', {});
  const token = await signIn(hub);
  const url = readPostgresUrl(hub.home) as string;
  const logger = pino({ level: 'silent' });
  await using db = new Database({
    url,
    maxConnections: 6,
    applicationName: 'bench',
    onError: (error) => logger.warn({ err: error }, 'a connection broke'),
  });
  const database = new PgClient({ connectionString: url });
  await database.connect();
  const knowledge = new Knowledge({ db, cursors: undefined as never, vectors: null });
  const bench = { hub, tenantId, token, knowledge, database };
  if (wanted.parts.has('recall')) printTable('Recall at 5, tuned and held out', await compareSearchMethods(bench));
  if (wanted.parts.has('latency')) printTable(`${maxKnowledgeEntries} entries`, await measureLatency(bench));
  await database.end();
}

async function put({ hub, tenantId, token }: Bench, entries: readonly CorpusEntry[]): Promise<number> {
  const session = createClient({ baseUrl: hub.url, fetch: fetch as never, token });
  const startedAt = performance.now();
  await session.call('putKnowledge', { params: { tenantId }, body: { entries: [...entries], terms: '' } });
  return performance.now() - startedAt;
}

async function compareSearchMethods(bench: Bench): Promise<Record<string, string>[]> {
  await put(bench, corpusEntries);
  const { knowledge, tenantId, database } = bench;
  const plain = (configuration: string) =>
    measureRecall(
      async (question) =>
        (await database.query<{ id: string; score: number }>(plainSearch, [tenantId, configuration, question])).rows,
      Number.MIN_VALUE,
    );
  const methods = {
    knowledge: await measureRecall((question) => knowledge.retrieve(tenantId, question, { limit: 5 }), threshold),
    'websearch_to_tsquery, english': await plain('english'),
    'websearch_to_tsquery, simple': await plain('simple'),
  };
  return questionGroups.map((group) => ({
    group,
    questions: String(corpusQuestions.filter((each) => each.group === group).length),
    ...Object.fromEntries(Object.entries(methods).map(([method, recalls]) => [method, shareOf(recalls, group)])),
    'knowledge, at rank 1': shareOf(methods.knowledge, group, ({ first }) => first),
  }));
}

function shareOf(recalls: readonly Recall[], group: string, of: (recall: Recall) => number = ({ found }) => found) {
  return [false, true]
    .map((isHeldOut) => recalls.find((each) => each.group === group && each.isHeldOut === isHeldOut))
    .map((each) =>
      each === undefined || each.questions === 0 ? '-' : `${Math.round((of(each) / each.questions) * 100)} %`,
    )
    .join(' / ');
}

async function measureLatency(bench: Bench): Promise<Record<string, string>[]> {
  const { hub, knowledge, tenantId, token } = bench;
  const entries = [...corpusEntries, ...fillerEntries(maxKnowledgeEntries - corpusEntries.length)];
  const whole = await put(bench, entries);
  const same = await put(bench, entries);
  const one = await put(bench, entries.with(7, { ...(entries[7] as CorpusEntry), answer: 'Otherwise.' }));
  const dispatcher = new Agent({ connections: 1 });
  const overHttp = async (question: string) => {
    const { body } = await request(`${hub.url}/tenants/${tenantId}/ai/knowledge/search`, {
      dispatcher,
      method: 'POST',
      headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
      body: JSON.stringify({ question }),
    });
    await body.dump();
  };
  const row = (what: string, samples: number[]) => ({
    what,
    p50: milliseconds(percentile(samples, 0.5)),
    p99: milliseconds(percentile(samples, 0.99)),
  });
  const retrieved = await timeQuestions((question) => knowledge.retrieve(tenantId, question, { limit: 5 }));
  const searched = await timeQuestions(overHttp);
  await dispatcher.close();
  const once = (what: string, ms: number) => ({ what, p50: milliseconds(ms), p99: '' });
  return [
    row('retrieve', retrieved.all),
    row(`the same, the fastest of ${rounds} times each`, retrieved.fastest),
    row('search over HTTP', searched.all),
    row(`the same, the fastest of ${rounds} times each`, searched.fastest),
    once('replace all of them', whole),
    once('replace all of them with the same', same),
    once('change one', one),
  ];
}

/** Asks every question of the corpus several times and returns the shortest time of each, which has the least noise. */
async function timeQuestions(ask: (question: string) => Promise<unknown>) {
  const times = corpusQuestions.map((): number[] => []);
  for (let round = 0; round <= rounds; round += 1)
    for (const [index, { text }] of corpusQuestions.entries()) {
      const startedAt = performance.now();
      await ask(text);
      // The first round fills the caches and is not measured.
      if (round > 0) times[index]?.push(performance.now() - startedAt);
    }
  return { all: times.flat(), fastest: times.map((each) => Math.min(...each)) };
}
