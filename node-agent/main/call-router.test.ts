import { describe, expect, test } from 'vitest';
import { windowMethods } from '../../shared/companion/app.ts';
import { AppError, createCallRouter } from './call-router.ts';
import type { CallHandlers } from './call-router.ts';

const faults: string[] = [];
const called: unknown[] = [];
const noted = (answer: unknown) => async (params: unknown) => {
  called.push(params);
  return answer;
};
const handlers = {
  ...Object.fromEntries(Object.keys(windowMethods).map((name) => [name, noted({})])),
  'app.chooseFolder': noted({ path: null, isWide: false, secret: 'x' }),
  'app.copy': async () => {
    throw new AppError('denied', 'Not now.');
  },
  'app.openLogFolder': async () => {
    throw new Error('secret at /home/someone');
  },
  'app.state': noted({ version: 1 }),
} as unknown as CallHandlers;
const route = createCallRouter({
  handlers,
  isWindowAddress: (address) => address === 'ours',
  explain: () => null,
  onFault: (method) => faults.push(method),
});
const ours = { address: 'ours', isWindow: true };

describe('a call of a page', () => {
  test('returns only declared fields of the result', async () => {
    expect(await route(ours, { method: 'app.chooseFolder', params: {} })).toEqual({
      result: { path: null, isWide: false },
    });
  });

  test.each([
    { address: 'ours', isWindow: false },
    { address: 'theirs', isWindow: true },
  ])('is refused from %j', async (caller) => {
    called.length = 0;
    expect(await route(caller, { method: 'app.chooseFolder', params: {} })).toMatchObject({
      error: { code: 'forbidden' },
    });
    expect(called).toEqual([]);
  });

  test.each(['app.nothing', 'constructor', '__proto__', 'toString'])('is refused for %s', async (method) => {
    expect(await route(ours, { method, params: {} })).toMatchObject({ error: { code: 'not_found' } });
  });

  test.each([null, 'app.quit', { method: 7 }, { method: 'app.quit', params: {}, more: 1 }, ['app.quit']])(
    'is refused when it is malformed: %j',
    async (message) => {
      expect(await route(ours, message)).toMatchObject({ error: { code: 'invalid_input' } });
    },
  );

  test('with invalid params is refused with the name of the field', async () => {
    called.length = 0;
    expect(await route(ours, { method: 'app.setStartAtLogin', params: { on: 'yes' } })).toMatchObject({
      error: { code: 'invalid_input', message: expect.stringContaining('on must be a boolean') as string },
    });
    expect(await route(ours, { method: 'app.quit', params: { now: true } })).toMatchObject({
      error: { code: 'invalid_input' },
    });
    expect(called).toEqual([]);
  });

  test('that fails returns only messages meant for the owner', async () => {
    expect(await route(ours, { method: 'app.copy', params: { text: 'x' } })).toEqual({
      error: { code: 'denied', message: 'Not now.' },
    });
    expect(await route(ours, { method: 'app.openLogFolder', params: {} })).toEqual({
      error: { code: 'internal', message: 'The app failed to do this. See its log for details.' },
    });
    expect(await route(ours, { method: 'app.state', params: {} })).toMatchObject({ error: { code: 'internal' } });
    expect(faults).toEqual(['app.openLogFolder', 'app.state']);
  });
});
