import { request } from 'node:http';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { startedRun } from '../../shared/contract/automations/workflows.ts';
import { startHub } from '../fixtures/hub.ts';
import type { TestHub, TestWorkspace } from '../fixtures/hub.ts';
import { missingId, send } from '../fixtures/requests.ts';
import { settledRun } from '../fixtures/settled-run.ts';
import { addNumberedLogLines } from '../fixtures/stage/automations.ts';
import { StatementRecorder } from '../fixtures/statement-plans.ts';

let hub: TestHub;
let workspace: TestWorkspace;
beforeAll(async () => {
  hub = await startHub({ RATE_LIMIT_PER_MINUTE: '1000000' });
  workspace = await hub.workspace();
});
afterAll(() => hub[Symbol.asyncDispose]());

async function logged(...lines: object[]): Promise<string> {
  const stepsJson = lines.map((line) => ({ type: 'log', ...line }));
  const { id } = await workspace.api.call('createAutomationWorkflow', { body: { name: 'w', stepsJson } as never });
  const { runId } = startedRun(await workspace.api.call('runAutomationWorkflow', { params: { id } }));
  await settledRun(workspace.api, runId);
  return runId;
}

interface Line {
  id: string;
  message: string;
}
interface Page {
  data: Line[];
  meta: { nextCursor: string | null };
}
const get = (path: string, key = workspace.key) =>
  send(hub.url, 'GET', `/v1/automations/${path}`, { headers: { authorization: `Bearer ${key}` } });
async function page(query: Record<string, string>): Promise<Page> {
  const answer = await get(`logs?${new URLSearchParams(query).toString()}`);
  expect(answer).toMatchObject({ status: 200 });
  return answer.body as unknown as Page;
}
const messagesOf = ({ data }: Page) => data.map(({ message }) => message);

test('the log of a run is searched by text, step and order', async () => {
  const runId = await logged(
    { message: '100% of Zürich' },
    { message: 'ZÜRICH again', level: 'error' },
    { message: 'Bern' },
  );
  const found = async (query: Record<string, string>) => messagesOf(await page({ runId, ...query }));
  expect(await found({ q: 'zürich' })).toEqual(['ZÜRICH again', '100% of Zürich']);
  expect(await found({ q: 'zürich', order: 'asc' })).toEqual(['100% of Zürich', 'ZÜRICH again']);
  expect(await found({ q: '0% of' })).toEqual(['100% of Zürich']);
  expect(await found({ q: '_' })).toEqual([]);
  expect(await found({ stepIndex: '2' })).toEqual(['Bern']);
  expect(await found({ stepIndex: '1', q: 'zürich', level: 'error' })).toEqual(['ZÜRICH again']);
  expect(await found({ order: 'asc' })).toEqual(['100% of Zürich', 'ZÜRICH again', 'Bern']);
  const first = await page({ runId, order: 'asc', limit: '2' });
  expect(await found({ order: 'asc', limit: '2', cursor: first.meta.nextCursor as string })).toEqual(['Bern']);

  for (const refused of ['q=x', 'stepIndex=1', 'runId=x', `runId=${runId}&order=up`, `runId=${runId}&stepIndex=200`])
    expect([refused, (await get(`logs?${refused}`)).body]).toEqual([
      refused,
      expect.objectContaining({ code: 'validation_failed' }),
    ]);
  const other = await hub.workspace();
  expect((await get(`logs?runId=${runId}&q=Bern`, other.key)).body).toMatchObject({ data: [] });
  const { key } = await workspace.createKey({ permissions: ['automations:run'] } as never);
  expect((await get(`logs?runId=${runId}&q=Bern`, key)).status).toBe(403);
});

test('a search in a huge log examines a bounded number of lines for each request, and finds the line at last', async () => {
  const runId = await logged({ message: 'the needle' });
  await addNumberedLogLines(hub.database, runId, 25_000);
  let cursor: string | null = null;
  const pages: string[][] = [];
  do {
    using recorder = new StatementRecorder(1_000);
    const found: Page = await page({ runId, q: 'needle', ...(cursor === null ? {} : { cursor }) });
    const searches = recorder.statements.filter(({ name }) => name?.startsWith('search_logs'));
    expect(searches.length).toBeLessThanOrEqual(20);
    pages.push(messagesOf(found));
    cursor = found.meta.nextCursor;
  } while (cursor !== null);
  expect(pages).toEqual([[], [], ['the needle']]);
});

test('a window has its line in the middle, and continues in both directions', async () => {
  const runId = await logged({ message: 'begin' });
  await addNumberedLogLines(hub.database, runId, 300);
  const line = (await page({ runId, q: 'line 150' })).data[0] as Line;
  const numbers = (found: Page) => messagesOf(found).map((message) => Number(message.slice(5)));
  const newest = await page({ runId, around: line.id, limit: '10' });
  expect(numbers(newest)).toEqual([155, 154, 153, 152, 151, 150, 149, 148, 147, 146]);
  const older = await page({ runId, around: line.id, limit: '10', cursor: newest.meta.nextCursor as string });
  expect(numbers(older).slice(0, 2)).toEqual([145, 144]);
  const oldest = await page({ runId, around: line.id, limit: '10', order: 'asc' });
  expect(numbers(oldest)).toEqual([145, 146, 147, 148, 149, 150, 151, 152, 153, 154]);
  expect(numbers(await page({ runId, order: 'asc', limit: '2', cursor: oldest.meta.nextCursor as string }))).toEqual([
    155, 156,
  ]);
  // At the ends, the page is filled from the other side as far as there are lines.
  const last = (await page({ runId, limit: '1' })).data[0] as Line;
  expect(numbers(await page({ runId, around: last.id, limit: '4' }))).toEqual([300, 299, 298, 297]);
  const [begin] = (await page({ runId, order: 'asc', limit: '1' })).data;
  expect(messagesOf(await page({ runId, around: begin?.id as string, limit: '4' }))).toEqual([
    'line 2',
    'line 1',
    'begin',
  ]);
  expect(messagesOf(await page({ runId, around: missingId, order: 'asc', limit: '2' }))).toEqual(['begin', 'line 1']);
});

test('the log of a run is downloaded as text, in which no message looks like another line', async () => {
  const escape = '\u001B';
  const runId = await logged(
    { message: `${escape}[31mred\u202E\n2026-01-01T00:00:00.000Z error step 9: forged` },
    { message: 'second', level: 'warn' },
  );
  const answer = await get(`runs/${runId.toUpperCase()}/logs/download`);
  const times = (await page({ runId, order: 'asc' })) as unknown as { data: { createdAt: string }[] };
  expect(answer.text).toBe(
    [
      `${times.data[0]?.createdAt} info  step 0: ⟨U+001B⟩[31mred⟨U+202E⟩`,
      '    2026-01-01T00:00:00.000Z error step 9: forged',
      `${times.data[1]?.createdAt} warn  step 1: second`,
      '',
    ].join('\n'),
  );
  expect(Object.fromEntries(answer.headers)).toMatchObject({
    'content-type': 'text/plain; charset=utf-8',
    'content-disposition': `attachment; filename=run-${runId}.log`,
    'cache-control': 'no-store',
    'x-content-type-options': 'nosniff',
  });
  expect((await get(`runs/${runId}/logs/download?stepIndex=1`)).text).toMatch(/^\S+ warn {2}step 1: second\n$/);
  expect((await get(`runs/${runId}/logs/download?level=error`)).text).toBe('');
  expect(await get(`runs/${runId}/logs/download?q=x`)).toMatchObject({ status: 400 });
  expect(await get(`runs/${missingId}/logs/download`)).toMatchObject({ status: 404, body: { code: 'not_found' } });
  const other = await hub.workspace();
  expect((await get(`runs/${runId}/logs/download`, other.key)).status).toBe(404);
  const { key } = await workspace.createKey({ permissions: ['automations:run'] } as never);
  expect((await get(`runs/${runId}/logs/download`, key)).status).toBe(403);
});

test('a huge log is downloaded whole, and is read only as fast as the client reads', async () => {
  const runId = await logged({ message: 'x'.repeat(100) });
  const count = 100_000;
  await addNumberedLogLines(hub.database, runId, count);
  using recorder = new StatementRecorder(1_000_000);
  const pagesRead = () => recorder.statements.filter(({ name }) => name?.startsWith('search_logs')).length;
  const text = await new Promise<string>((resolve, reject) => {
    const options = { headers: { authorization: `Bearer ${workspace.key}` } };
    request(`${hub.url}/v1/automations/runs/${runId}/logs/download`, options, (response) => {
      let whole = '';
      response.setEncoding('utf8');
      response.once('data', (part: string) => {
        whole += part;
        response.pause();
        // The hub stops to read when the buffers of the connection are full.
        let before = -1;
        const resumeOnceStill = () => {
          const now = pagesRead();
          if (now !== before) {
            before = now;
            setTimeout(resumeOnceStill, 200);
            return;
          }
          expect(now).toBeLessThan(count / 500);
          response.on('data', (more: string) => (whole += more));
          response.on('end', () => resolve(whole));
          response.on('error', reject);
          response.resume();
        };
        resumeOnceStill();
      });
    })
      .on('error', reject)
      .end();
  });
  const lines = text.trimEnd().split('\n');
  expect(lines.length).toBe(count + 1);
  expect(lines.at(-1)).toMatch(new RegExp(`: line ${count}$`));
});
