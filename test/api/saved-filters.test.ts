import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { startHub } from '../fixtures/hub.ts';
import type { TestHub, TestWorkspace } from '../fixtures/hub.ts';
import { queryAsWorkspace } from '../fixtures/stage/core.ts';

let hub: TestHub;
let second: TestHub;
beforeAll(async () => {
  hub = await startHub({ SIGN_IN_RATE_LIMIT_PER_MINUTE: '1000' });
  second = await startHub({}, hub.database);
});
afterAll(async () => {
  await second?.[Symbol.asyncDispose]();
  await hub?.[Symbol.asyncDispose]();
});

const path = '/app/runs';
const save = (session: TestWorkspace['session'], name: string, query = 'status=failed') =>
  session.call('saveFilter', { body: { path, name, query } });
const namesOf = async (session: TestWorkspace['session']) =>
  (await session.call('readSavedFilters', {})).filters.map(({ name }) => name);

describe('The saved filters of a user', () => {
  test('are the same in another browser, are replaced by name and page, and are deleted', async () => {
    const { session, jwt } = await hub.workspace();
    expect(await session.call('readSavedFilters', {})).toEqual({ filters: [] });
    const failed = await save(session, ' Failed today ', 'status=failed&period=24h');
    expect(failed).toMatchObject({ path, name: 'Failed today', query: 'status=failed&period=24h' });
    await session.call('saveFilter', { body: { path: '/app/nodes', name: 'Failed today', query: 'a=b' } });
    const other = second.client(jwt);
    expect(await save(other, 'Failed today', 'status=failed&period=7d')).toMatchObject({ id: failed.id });
    const { filters } = await other.call('readSavedFilters', {});
    expect(filters.map(({ path: page, query }) => [page, query])).toEqual([
      [path, 'status=failed&period=7d'],
      ['/app/nodes', 'a=b'],
    ]);
    const params = { id: failed.id };
    expect(await other.call('deleteSavedFilter', { params })).toEqual({ id: failed.id, deleted: true });
    await expect(session.call('deleteSavedFilter', { params })).rejects.toMatchObject({ code: 'not_found' });
    expect((await session.call('readSavedFilters', {})).filters).toHaveLength(1);
  });

  test('are at most 50, and none is lost when they are saved at the same time', async () => {
    const { session, jwt } = await hub.workspace();
    const sessions = [session, second.client(jwt)];
    const names = Array.from({ length: 54 }, (_, index) => `filter ${index}`);
    const results = await Promise.allSettled(names.map((name, index) => save(sessions[index % 2] ?? session, name)));
    const saved = names.filter((_, index) => results[index]?.status === 'fulfilled');
    expect(saved).toHaveLength(50);
    expect((await namesOf(session)).toSorted()).toEqual(saved.toSorted());
    const refused = results.find((result) => result.status === 'rejected');
    expect(refused?.reason).toMatchObject({
      code: 'conflict',
      message: 'You can save at most 50 filters. Delete one of them first.',
    });
    // The limit does not prevent a replacement.
    expect(await save(session, saved[0] ?? '', 'status=running')).toMatchObject({ query: 'status=running' });
    expect(await namesOf(session)).toHaveLength(50);
  });

  test('keep every name as text, and are refused with an invalid name, page or query', async () => {
    const { session } = await hub.workspace();
    const names = [
      '<img src=x onerror=alert(1)>',
      '\u202Egnp.exe',
      "'; DROP TABLE users; --",
      '__proto__',
      'x'.repeat(60),
    ];
    for (const name of names) await save(session, name);
    expect(await namesOf(session)).toEqual(names);
    const valid = { path, name: 'a', query: 'status=failed' };
    for (const [field, values] of Object.entries({
      name: ['', '   ', 'x'.repeat(61), 'a\u0000b', '\uD800'],
      path: [
        '',
        '/app',
        '/runs',
        '/app/',
        '/app/runs?x',
        '/app/../sign-out',
        'https://example.org',
        `/app/${'a'.repeat(101)}`,
      ],
      query: ['', '?a=b', 'a=b#c', 'a=<b>', 'a="b"', 'a b', 'ä', 'a\nb', 'a'.repeat(2_001)],
    }))
      for (const value of values)
        await expect(
          session.call('saveFilter', { body: { ...valid, [field]: value } }),
          `${field} ${JSON.stringify(value)}`,
        ).rejects.toMatchObject({ code: 'validation_failed', details: [{ path: `body.${field}` }] });
    expect(await namesOf(session)).toEqual(names);
  });

  test('are seen and deleted by this user only, and end with the membership', async () => {
    const [workspace, other] = [await hub.workspace(), await hub.workspace()];
    const { tenantId, password } = workspace;
    const email = `agent.${process.hrtime.bigint()}@example.org`;
    const member = await workspace.session.call('addMember', {
      params: { tenantId },
      body: { email, password, role: 'agent' },
    });
    const agent = hub.client((await hub.client().call('logIn', { body: { email, password } })).token);
    const { id } = await save(agent, 'mine');
    for (const { session } of [workspace, other]) {
      expect(await namesOf(session)).toEqual([]);
      await expect(session.call('deleteSavedFilter', { params: { id } })).rejects.toMatchObject({ code: 'not_found' });
      await save(session, 'mine', 'status=running');
    }
    expect((await agent.call('readSavedFilters', {})).filters).toMatchObject([{ id, query: 'status=failed' }]);
    expect(
      await queryAsWorkspace(hub.database, other.tenantId, `select from saved_filters where id = '${id}'`),
    ).toEqual([]);
    await expect(workspace.api.call('readSavedFilters', {})).rejects.toMatchObject({ status: 401 });
    await workspace.session.call('removeMember', { params: { tenantId, userId: member.id }, query: {} });
    expect(await queryAsWorkspace(hub.database, tenantId, `select from saved_filters where id = '${id}'`)).toEqual([]);
  });
});
