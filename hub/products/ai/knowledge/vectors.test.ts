import { pino } from 'pino';
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'vitest';
import { startEmbeddingsServer } from '../../../../test/fixtures/embeddings-server.ts';
import type { EmbeddingsServer } from '../../../../test/fixtures/embeddings-server.ts';
import { startHub } from '../../../../test/fixtures/hub.ts';
import type { TestHub } from '../../../../test/fixtures/hub.ts';
import { corpusEntries, corpusQuestions, measureRecall } from '../../../../test/fixtures/knowledge-corpus.ts';
import { createEgress } from '../../../platform/egress/egress.ts';
import type { Egress } from '../../../platform/egress/egress.ts';
import { createEmbeddings } from '../../../platform/embeddings/embeddings.ts';
import { Knowledge } from './knowledge.ts';
import { Vectors } from './vectors.ts';

let hub: TestHub;
let tenantId: string;
let model: EmbeddingsServer;
let egress: Egress;
let now: number;
let stopping: AbortController;
beforeAll(async () => {
  hub = await startHub();
});
afterAll(() => hub[Symbol.asyncDispose]());
beforeEach(async () => {
  model = await startEmbeddingsServer((texts) => texts.map(aboutAnimals));
  egress = createEgress({ allowHosts: ['127.0.0.1'] });
  now = 0;
  stopping = new AbortController();
  ({ tenantId } = await hub.workspace());
});
afterEach(async () => {
  stopping.abort();
  await model[Symbol.asyncDispose]();
  await egress[Symbol.asyncDispose]();
});

/** A model that recognizes cats, dogs and birds in three languages. */
function aboutAnimals(text: string): number[] {
  const knows = (...names: string[]) => (names.some((name) => text.toLowerCase().includes(name)) ? 3 : 0.1);
  return [knows('cat', 'katze', '猫'), knows('dog', 'hund', '犬'), knows('bird', 'vogel', '鳥')];
}

function open(name = 'animals', questionTimeoutMs = 60_000): { knowledge: Knowledge; vectors: Vectors } {
  const embeddings = createEmbeddings(egress, { baseUrl: model.baseUrl, model: name, apiKey: 'sk-test' });
  const logger = pino({ level: 'silent' });
  const vectors = new Vectors(
    { db: hub.app.db, embeddings, logger, now: () => now, questionTimeoutMs },
    stopping.signal,
  );
  return { vectors, knowledge: new Knowledge({ db: hub.app.db, cursors: undefined as never, vectors }) };
}

const entry = (id: string, question: string) => ({ id, question, answer: 'See there.' });
const animals = [
  entry('cat', 'What do cats eat?'),
  entry('dog', 'What do dogs eat?'),
  entry('bird', 'What do birds eat?'),
];
const put = (knowledge: Knowledge, entries = animals) =>
  knowledge.put({ tenantId, body: { entries, terms: '' }, expected: null, actor: 'cli' });
const progress = async (knowledge: Knowledge) => (await knowledge.get(tenantId)).embeddings;
const find = async (knowledge: Knowledge, question: string) =>
  (await knowledge.retrieve(tenantId, question, { limit: 3 })).map(({ id }) => id);

test('a hub computes vectors after an update, reports its progress, and finds entries without a common word', async () => {
  await using whole = await startHub({
    EMBEDDINGS_BASE_URL: model.baseUrl,
    EMBEDDINGS_MODEL: 'animals',
    EMBEDDINGS_API_KEY: 'sk-hub',
  });
  const { tenantId: tenant, session } = await whole.workspace();
  const params = { tenantId: tenant };
  const { embeddings } = await session.call('putKnowledge', { params, body: { entries: animals, terms: '' } });
  expect(embeddings.total).toBe(3);
  await expect
    .poll(async () => (await session.call('getKnowledge', { params })).embeddings)
    .toEqual({ state: 'ready', done: 3, total: 3 });
  const search = async () =>
    (await session.call('searchKnowledge', { params, body: { question: 'Vogelfutter' } })).passages[0];
  // On a busy machine a search can use words only, because the vector of its question is late.
  await expect.poll(search).toMatchObject({ id: 'bird' });
  expect((await search())?.score).toBeGreaterThan(0.9);
  expect(model.requests[0]).toMatchObject({
    model: 'animals',
    authorization: 'Bearer sk-hub',
    texts: animals.map(({ question }) => `${question}\nSee there.`),
  });
});

test('only changed entries get a new vector, and all entries when the model changes', async () => {
  const { knowledge, vectors } = open();
  await put(knowledge);
  await vectors.embedDue();
  model.requests.length = 0;
  await put(knowledge, [...animals.slice(0, 2), entry('bird', 'What do our birds drink?')]);
  await vectors.embedDue();
  expect(model.requests.flatMap(({ texts }) => texts)).toEqual(['What do our birds drink?\nSee there.']);
  expect(await find(knowledge, '鳥')).toEqual(['bird']);
  const other = open('animals-2');
  expect(await progress(other.knowledge)).toEqual({ state: 'pending', done: 0, total: 3 });
  model.requests.length = 0;
  await other.vectors.embedDue();
  expect(model.requests.map(({ model: name, texts }) => [name, texts.length])).toEqual([['animals-2', 3]]);
  expect(await progress(other.knowledge)).toEqual({ state: 'ready', done: 3, total: 3 });
});

test('while the model fails, entries are found by words, and the model is retried with exponential back-off', async () => {
  const { knowledge, vectors } = open();
  const failures: Parameters<typeof startEmbeddingsServer>[0][] = [
    () => ({ status: 500 }),
    () => ({ status: 401 }),
    () => ({ text: '<html>' }),
    (texts) => texts.slice(1).map(aboutAnimals),
    (texts) => texts.map(() => [0, 0, 0]),
    (texts) => texts.map((text, index) => (index === 0 ? [1] : aboutAnimals(text))),
  ];
  let pauseMs = 2_000;
  model.reply = failures[0] as (typeof failures)[number];
  await put(knowledge);
  await vectors.embedDue();
  for (const fail of failures.slice(1)) {
    expect(await progress(knowledge)).toEqual({ state: 'failing', done: 0, total: 3 });
    expect(await find(knowledge, 'dogs')).toEqual(['dog']);
    const before = model.requests.length;
    now += pauseMs - 1;
    await vectors.embedDue();
    expect(model.requests).toHaveLength(before);
    model.reply = fail;
    now += 1;
    await vectors.embedDue();
    expect(model.requests).toHaveLength(before + 1);
    pauseMs *= 2;
  }
  model.reply = (texts) => texts.map(aboutAnimals);
  now += pauseMs;
  await vectors.embedDue();
  expect(await progress(knowledge)).toEqual({ state: 'ready', done: 3, total: 3 });
  expect((await find(knowledge, '犬'))[0]).toBe('dog');
});

test('a text that the model refuses does not block other texts and is not sent again', async () => {
  const { knowledge, vectors } = open();
  model.reply = (texts) => (texts.some((text) => text.includes('dogs')) ? { status: 400 } : texts.map(aboutAnimals));
  await put(knowledge);
  await vectors.embedDue();
  expect(await progress(knowledge)).toEqual({ state: 'ready', done: 3, total: 3 });
  expect(await find(knowledge, 'Vogel')).toEqual(['bird']);
  expect(await find(knowledge, 'dogs')).toContain('dog');
  model.requests.length = 0;
  await vectors.embedDue();
  expect(model.requests).toEqual([]);
});

test('a question whose vector times out is searched by words, and the next question does not wait', async () => {
  const { knowledge, vectors } = open('animals', 2_000);
  await put(knowledge);
  await vectors.embedDue();
  model.reply = () => 'hang';
  expect(await find(knowledge, 'birds')).toEqual(['bird']);
  const asked = model.requests.length;
  expect(await find(knowledge, 'cats')).toEqual(['cat']);
  expect(model.requests).toHaveLength(asked);
  const controller = new AbortController();
  now += 60_000;
  const aborted = knowledge.retrieve(tenantId, 'dogs and cats', { limit: 1, signal: controller.signal });
  await expect.poll(() => model.requests.length).toBe(asked + 1);
  controller.abort(new Error('gone'));
  await expect(aborted).rejects.toThrow('gone');
});

test('a model that is mostly right improves the recall of word search', async () => {
  // Each question has the direction of its entry, except every fifth question, which has an unrelated direction.
  const direction = (name: string) => {
    let seed = [...name].reduce((sum, letter) => (Math.imul(sum, 31) + letter.charCodeAt(0)) >>> 0, 7);
    return Array.from({ length: 48 }, () => {
      seed = (Math.imul(seed, 1_664_525) + 1_013_904_223) >>> 0;
      return seed / 2 ** 31 - 1;
    });
  };
  const idOf = new Map(corpusEntries.map(({ id, question, answer }) => [`${question}\n${answer}`, id]));
  corpusQuestions.forEach(({ text, answeredBy }, index) =>
    idOf.set(text, index % 5 === 0 || answeredBy === null ? text : answeredBy),
  );
  model.reply = (texts) => texts.map((text) => direction(idOf.get(text) ?? text));
  const { knowledge, vectors } = open('corpus');
  await put(knowledge, corpusEntries);
  await vectors.embedDue();
  const recalls = await measureRecall((question) => knowledge.retrieve(tenantId, question, { limit: 5 }), 0.5);
  const shareOf = (group: string) => {
    const own = recalls.filter((each) => each.group === group);
    return own.reduce((sum, { found }) => sum + found, 0) / own.reduce((sum, { questions }) => sum + questions, 0);
  };
  for (const group of ['same', 'german', 'other', 'typos']) expect(shareOf(group)).toBeGreaterThan(0.92);
  // Word search alone finds half of these.
  expect(shareOf('trades')).toBeGreaterThan(0.8);
});
