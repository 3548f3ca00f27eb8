import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { Knowledge } from '../../hub/products/ai/knowledge/index.ts';
import {
  maxKnowledgeEntries,
  maxUnansweredQuestions,
  unansweredQuestionDays,
} from '../../shared/contract/ai/knowledge.ts';
import { adminKey, startHub } from '../fixtures/hub.ts';
import type { TestHub, TestWorkspace } from '../fixtures/hub.ts';
import { missingId, send } from '../fixtures/requests.ts';
import { addUnansweredQuestions, ageUnansweredQuestion } from '../fixtures/stage/ai.ts';
import { removeConversation } from '../fixtures/stage/chat.ts';
import { removeWorkspace } from '../fixtures/stage/core.ts';
import { StatementRecorder } from '../fixtures/statement-plans.ts';

let hub: TestHub;
let workspace: TestWorkspace;
let tenantId: string;
/** The knowledge service as the AI products use it. */
let knowledge: Knowledge;
beforeAll(async () => {
  hub = await startHub({ RATE_LIMIT_PER_MINUTE: '1000000', SIGN_IN_RATE_LIMIT_PER_MINUTE: '100000' });
  knowledge = new Knowledge({ db: hub.app.db, cursors: undefined as never, vectors: null });
});
afterAll(() => hub[Symbol.asyncDispose]());
beforeEach(async () => {
  workspace = await hub.workspace();
  ({ tenantId } = workspace);
});

const entry = (id: string, question = `What is ${id}?`, answer = `It is called ${id}.`) => ({ id, question, answer });
const shown = (each: ReturnType<typeof entry>) => ({ url: null, locale: null, ...each });
/** Creates a conversation and returns its id. */
const chat = async (of = workspace) =>
  (await hub.client(of.keys.chat).call('createChatConversation', { body: { name: 'asks' } })).id;
const request = (
  method: string,
  path: string,
  body?: unknown,
  { jwt = workspace.jwt, ifMatch, tenant = tenantId }: { jwt?: string; ifMatch?: string; tenant?: string } = {},
) =>
  send(hub.url, method, `/tenants/${tenant}/ai/knowledge${path}`, {
    headers: { authorization: `Bearer ${jwt}`, ...(ifMatch === undefined ? {} : { 'if-match': ifMatch }) },
    ...(body === undefined ? {} : { body }),
  });
const put = (entries: object[], options: { terms?: string; ifMatch?: string; jwt?: string } = {}) =>
  request('PUT', '', { entries, terms: options.terms ?? '' }, options);
const find = async (question: string, options: object = {}) =>
  (await request('POST', '/search', { question, ...options })).body['passages'] as { id: string; score: number }[];
async function agentJwt(): Promise<string> {
  const person = { email: `agent.${process.hrtime.bigint()}@example.org`, password: 'correct horse battery' };
  await workspace.session.call('addMember', { params: { tenantId }, body: { ...person, role: 'agent' } });
  return (await hub.client().call('logIn', { body: person })).token;
}
/** Returns the differences between the word index of a workspace and the words of its entries. */
async function findIndexErrors(): Promise<unknown[]> {
  return hub.database.query(
    `SELECT coalesce(k.word, e.word) AS word, k.numbers, e.numbers FROM
       (SELECT word, ARRAY(SELECT unnest(numbers) ORDER BY 1) AS numbers FROM knowledge_words WHERE tenant_id = $1) k
       FULL JOIN (SELECT word, array_agg(number ORDER BY number) AS numbers FROM knowledge_entries, unnest(words) AS word WHERE tenant_id = $1 GROUP BY word) e USING (word)
     WHERE k.numbers IS DISTINCT FROM e.numbers`,
    [tenantId],
  );
}

describe('the knowledge of a workspace', () => {
  test('is empty at first, then contains the stored entries ordered by id, and its version changes only with its content', async () => {
    const first = await request('GET', '');
    expect(first.headers.get('etag')).toBe('"0"');
    expect(first.body).toEqual({
      entries: [],
      terms: '',
      embeddings: { state: 'off', done: 0, total: 0 },
      updatedAt: null,
    });
    const entries = [
      { ...entry('zebra'), url: 'https://example.com/zebra', locale: 'en' },
      entry('apple', 'Was ist ein Äpfelchen? 😀', 'Ein kleiner Apfel.'),
    ];
    const answer = await put(entries, { terms: 'Prices include VAT.' });
    expect(answer.status).toBe(200);
    expect(answer.headers.get('etag')).toBe('"1"');
    expect(answer.body).toMatchObject({
      entries: [shown(entries[1] as never), entries[0]],
      terms: 'Prices include VAT.',
      embeddings: { state: 'off', done: 0, total: 2 },
    });
    const again = await put(entries, { terms: 'Prices include VAT.' });
    expect([again.headers.get('etag'), again.body]).toEqual(['"1"', answer.body]);
    expect((await put([], { terms: 'Prices include VAT.' })).headers.get('etag')).toBe('"2"');
    expect((await request('GET', '')).body).toMatchObject({ entries: [], terms: 'Prices include VAT.' });
    expect(await findIndexErrors()).toEqual([]);
    expect(await knowledge.readBusinessTerms(tenantId)).toBe('Prices include VAT.');
    expect(await knowledge.readBusinessTerms(missingId)).toBe('');
  });

  test('accepts one of several updates with the same If-Match version and refuses the others with the current version', async () => {
    const answers = await Promise.all(['a', 'b', 'c'].map((id) => put([entry(id)], { ifMatch: '"0"' })));
    const done = answers.filter(({ status }) => status === 200);
    const refused = answers.filter(({ status }) => status === 412);
    expect([done.length, refused.length]).toEqual([1, 2]);
    for (const { headers, body } of refused) {
      expect(body).toMatchObject({ code: 'precondition_failed', error: 'Precondition Failed' });
      expect(headers.get('etag')).toBe('"1"');
    }
    expect((await request('GET', '')).body['entries']).toEqual(done[0]?.body['entries']);
    expect((await put([], { ifMatch: '"1"' })).status).toBe(200);
    expect((await put([], { ifMatch: 'no tag' })).status).toBe(400);
  });

  test('equals exactly one of several concurrent updates, and its word index matches its entries', async () => {
    await put([entry('stays'), entry('goes')]);
    const sets = ['red', 'green', 'blue'].map((colour) => [
      entry('stays'),
      ...[1, 2, 3].map((n) => entry(`${colour}-${n}`, `Where is ${colour} number ${n}?`)),
    ]);
    const answers = await Promise.all(sets.map((entries) => put(entries)));
    expect(answers.map(({ status }) => status)).toEqual([200, 200, 200]);
    const { entries } = (await request('GET', '')).body as { entries: { id: string }[] };
    expect(sets.map((set) => set.map(({ id }) => id).toSorted())).toContainEqual(entries.map(({ id }) => id));
    expect(await findIndexErrors()).toEqual([]);
  });

  test('is updated only where it differs, with a number of statements that does not depend on its size', async () => {
    const entries = Array.from({ length: 400 }, (_, n) => entry(`e${n}`, `How does number ${n} work?`));
    await put(entries);
    const written = () =>
      hub.database.query<{ id: string; by: string }>(
        'SELECT id, xmin::text AS by FROM knowledge_entries WHERE tenant_id = $1 ORDER BY id',
        [tenantId],
      );
    const before = await written();
    using recorder = new StatementRecorder(1000);
    const changed = entries.toReversed().map((each) => (each.id === 'e7' ? { ...each, answer: 'Otherwise.' } : each));
    expect((await put(changed)).headers.get('etag')).toBe('"2"');
    const after = await written();
    expect(after.filter(({ by }, index) => by !== before[index]?.by).map(({ id }) => id)).toEqual(['e7']);
    const names = recorder.statements.map(({ name }) => name);
    for (const name of ['insert_knowledge', 'delete_knowledge', 'add_knowledge_words', 'remove_knowledge_words'])
      expect(names.filter((each) => each === name)).toHaveLength(1);
    const writes = recorder.statements.filter(
      ({ name, text }) => name?.includes('knowledge') === true && /^\s*(INSERT|UPDATE|DELETE)/i.test(text),
    );
    expect(writes.length).toBeLessThan(10);
    expect(await findIndexErrors()).toEqual([]);
  });

  test('is refused completely when one entry is invalid, and the error names the entry', async () => {
    const entries: object[] = Array.from({ length: 20 }, (_, n) => entry(`e${n}`));
    entries[17] = { ...entry('e17'), answer: '😀'.repeat(20_001) };
    const answer = await put(entries);
    expect(answer).toMatchObject({ status: 400, body: { code: 'validation_failed' } });
    expect(answer.body.details).toEqual([
      { path: 'body.entries[17].answer', message: 'must have at most 20,000 characters' },
    ]);
    entries[17] = { ...entry('e17'), answer: '😀'.repeat(20_000) };
    expect((await put(entries)).status).toBe(200);
    for (const [wrong, path] of [
      [{ ...entry('e17'), question: '' }, 'body.entries[17].question'],
      [{ ...entry('e17'), url: 'javascript:alert(1)' }, 'body.entries[17].url'],
      [{ ...entry('e17'), locale: 'german please' }, 'body.entries[17].locale'],
      [{ ...entry('e17'), id: 'e3' }, 'body.entries[17].id'],
      [{ ...entry('e17'), answer: 'half \ud800' }, 'body.entries[17].answer'],
      [{ ...entry('e17'), more: 1 }, 'body.entries[17].more'],
    ] as const) {
      const { status, body } = await put(entries.with(17, wrong));
      expect([status, body.details?.map((detail) => detail.path)]).toEqual([400, [path]]);
    }
    const tooMany = await put(Array.from({ length: maxKnowledgeEntries + 1 }, (_, n) => entry(`e${n}`, 'q', 'a')));
    expect(tooMany.body.details).toEqual([{ path: 'body.entries', message: 'must have at most 5,000 entries' }]);
    expect((await request('GET', '')).headers.get('etag')).toBe('"1"');
  });

  test('is changed by admins and read by agents of an entitled workspace, and not accessible to other workspaces', async () => {
    const jwt = await agentJwt();
    await put([entry('returns', 'How do I return an item?')]);
    expect(await request('PUT', '', { entries: [], terms: '' }, { jwt })).toMatchObject({
      status: 403,
      body: { code: 'role_required' },
    });
    expect((await request('GET', '', undefined, { jwt })).status).toBe(200);
    expect((await request('POST', '/search', { question: 'return' }, { jwt })).body['passages']).toHaveLength(1);
    const other = await hub.workspace();
    for (const [method, path, body] of [
      ['GET', '', undefined],
      ['PUT', '', { entries: [], terms: '' }],
      ['POST', '/search', { question: 'return' }],
      ['GET', '/unanswered', undefined],
      ['DELETE', `/unanswered/${missingId}`, undefined],
    ] as const) {
      expect((await request(method, path, body, { jwt: other.jwt })).status).toBe(404);
      expect((await request(method, path, body, { jwt: 'made up' })).status).toBe(401);
    }
    const own = await request(
      'POST',
      '/search',
      { question: 'How do I return an item?' },
      { jwt: other.jwt, tenant: other.tenantId },
    );
    expect(own.body['passages']).toEqual([]);
    await hub.client(adminKey).call('putEntitlements', { params: { tenantId }, body: { ai_agent: false } });
    expect(await request('GET', '')).toMatchObject({ status: 403, body: { code: 'product_not_entitled' } });
  });

  test('records each update in the audit log without its texts', async () => {
    await put([entry('secret', 'Where is the treasure?', 'Under the oak.')], { terms: 'Tell nobody.' });
    const { data } = await workspace.session.call('listAuditLog', { params: { tenantId } });
    const lines = data.filter(({ action }) => action === 'knowledge.updated');
    expect(lines).toMatchObject([
      { actor: expect.stringMatching(/^user:/) as string, details: { version: 1, entries: 1, written: 1, removed: 0 } },
    ]);
    expect(JSON.stringify(lines)).not.toMatch(/treasure|oak|nobody/);
  });

  test('is deleted with its workspace, without affecting other workspaces', async () => {
    await put([entry('a')]);
    await knowledge.recordUnanswered(tenantId, await chat(), 'And b?');
    const kept = workspace;
    workspace = await hub.workspace();
    ({ tenantId } = workspace);
    await put([entry('b')]);
    await removeWorkspace(hub.database, kept.tenantId);
    for (const table of ['knowledge_bases', 'knowledge_entries', 'knowledge_words', 'knowledge_unanswered'])
      expect(await hub.database.query(`SELECT 1 FROM ${table} WHERE tenant_id = $1`, [kept.tenantId])).toEqual([]);
    expect(await find('What is b?')).toHaveLength(1);
  });
});

describe('a search', () => {
  test('returns the best entries first, at most `limit`, and none for a question without matches', async () => {
    await put([
      entry('returns', 'How do I return an item?', 'Print the label.'),
      entry('label', 'Where is the label?', 'On the item that you return.'),
      entry('hours', 'When are you open?', 'From 9 to 17.'),
    ]);
    const passages = await find('How can I return this item');
    expect(passages.map(({ id }) => id)).toEqual(['returns', 'label']);
    expect(passages[0]).toEqual({
      ...shown(entry('returns', 'How do I return an item?', 'Print the label.')),
      score: expect.any(Number) as number,
    });
    expect(passages[0]?.score).toBeGreaterThan(passages[1]?.score as number);
    expect(await find('return item', { limit: 1 })).toHaveLength(1);
    for (const nothing of ['?!', 'xyzzy', 'the']) expect(await find(nothing)).toEqual([]);
    for (const [body, path] of [
      [{ question: '' }, 'body.question'],
      [{ question: 'x', limit: 21 }, 'body.limit'],
      [{ question: 'x', locale: '?' }, 'body.locale'],
      [{ question: 'x'.repeat(1_001) }, 'body.question'],
    ] as const)
      expect(await request('POST', '/search', body)).toMatchObject({ status: 400, body: { details: [{ path }] } });
  });

  test('treats query operators and special characters as plain text', async () => {
    await put([entry('quote', "What's \\ in ' | & ! :* <-> it?", 'Nothing {1,2} "quoted" $1 %s.')]);
    for (const question of ["' | & !", "what's in it':*", '\\', '{1,2}', '"quoted', '%', 'quoted $1', '❤️ 𝕢𝕦𝕠𝕥𝕖𝕕'])
      expect((await request('POST', '/search', { question })).status).toBe(200);
    expect(await find('QUOTED')).toMatchObject([{ id: 'quote' }]);
  });

  test('prefers entries in the language of the question', async () => {
    await put([
      { ...entry('en', 'WLAN Router', 'WLAN Router'), locale: 'en' },
      { ...entry('de', 'WLAN Router', 'WLAN Router'), locale: 'de-AT' },
    ]);
    expect((await find('WLAN Router', { locale: 'de' })).map(({ id }) => id)).toEqual(['de', 'en']);
    expect((await find('WLAN Router', { locale: 'en-GB' })).map(({ id }) => id)).toEqual(['en', 'de']);
  });
});

describe('unanswered questions', () => {
  const list = async () =>
    (await request('GET', '/unanswered')).body['data'] as { id: string; question: string; count: number }[];

  test('are counted once per set of words, and a dismissed question returns when it is asked again', async () => {
    for (const question of ['Do you sell hats?', 'do you sell HATS', 'Do you sell hats!!', '¿?', 'Verkauft ihr Hüte?'])
      await knowledge.recordUnanswered(tenantId, await chat(), question);
    const listed = await list();
    expect(listed.map(({ question, count }) => [question, count])).toEqual([
      ['Verkauft ihr Hüte?', 1],
      ['Do you sell hats!!', 3],
    ]);
    const { id } = listed[1] as { id: string };
    const other = await hub.workspace();
    const theirs = await request('DELETE', `/unanswered/${id}`, undefined, { jwt: other.jwt, tenant: other.tenantId });
    expect(theirs.status).toBe(404);
    expect((await request('DELETE', `/unanswered/${id}`)).body).toEqual({ id, deleted: true });
    expect((await request('DELETE', `/unanswered/${id}`)).status).toBe(404);
    await knowledge.recordUnanswered(tenantId, await chat(), 'Do you sell hats?');
    expect((await list())[0]).toMatchObject({ question: 'Do you sell hats?', count: 1 });
  });

  test('are deleted with the conversation of their last occurrence, and not recorded for a deleted conversation', async () => {
    const [first, last] = [await chat(), await chat()];
    await knowledge.recordUnanswered(tenantId, first, 'Do you sell hats?');
    await knowledge.recordUnanswered(tenantId, first, 'And gloves?');
    await knowledge.recordUnanswered(tenantId, last, 'do you sell hats');
    await removeConversation(hub.database, first);
    expect((await list()).map(({ question, count }) => [question, count])).toEqual([['do you sell hats', 2]]);
    await removeConversation(hub.database, last);
    await knowledge.recordUnanswered(tenantId, last, 'And ties?');
    await knowledge.recordUnanswered(tenantId, await chat(await hub.workspace()), 'And scarves?');
    expect(await list()).toEqual([]);
  });

  test('are deleted after the retention period without a new occurrence', async () => {
    const conversationId = await chat();
    for (const question of ['Do you sell hats?', 'And gloves?'])
      await knowledge.recordUnanswered(tenantId, conversationId, question);
    await ageUnansweredQuestion(hub.database, tenantId, 'Do you sell hats?', { days: unansweredQuestionDays });
    await hub.app.sweep();
    expect((await list()).map(({ question }) => question)).toEqual(['And gloves?']);
  });

  test('are limited to the most recent ones', async () => {
    await addUnansweredQuestions(hub.database, tenantId, maxUnansweredQuestions);
    const conversationId = await chat();
    await knowledge.recordUnanswered(tenantId, conversationId, 'one more');
    await knowledge.recordUnanswered(tenantId, conversationId, 'long '.repeat(5_000));
    const [row] = await hub.database.query<{ count: number; oldest: string; longest: number }>(
      `SELECT count(*)::int AS count, max(length(question)) AS longest, (array_agg(question ORDER BY last_asked_at))[1] AS oldest FROM knowledge_unanswered WHERE tenant_id = $1`,
      [tenantId],
    );
    expect(row).toEqual({
      count: maxUnansweredQuestions,
      oldest: `question ${maxUnansweredQuestions - 2}`,
      longest: 1_000,
    });
  });
});
