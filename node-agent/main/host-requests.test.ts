import { expect, test } from 'vitest';
import { AppError } from './call-router.ts';
import { answerHostRequest } from './host-requests.ts';
import type { HostHandlers } from './host-requests.ts';

const written: unknown[] = [];
const handlers = {
  seal: async ({ text }: { text: string }) => ({ sealed: text.toUpperCase() }),
  unseal: async () => {
    throw new AppError('key_store', 'It is locked.');
  },
  captureAudio: async (params: unknown) => {
    written.push(params);
    return {};
  },
} as unknown as HostHandlers;
const faults: string[] = [];
const ask = (message: unknown) => answerHostRequest(handlers, message, (method) => faults.push(method));

test('a request of the runtime returns its result', async () => {
  expect(await ask({ id: 7, method: 'seal', params: { text: 'a' } })).toEqual({ id: 7, result: { sealed: 'A' } });
});

test('a failed request returns its error as data', async () => {
  expect(await ask({ id: 8, method: 'unseal', params: { sealed: 'x' } })).toEqual({
    id: 8,
    error: { code: 'key_store', message: 'It is locked.' },
  });
  expect(faults).toEqual(['unseal']);
});

test('undeclared methods and params are refused without a call of a handler', async () => {
  expect(await ask({ id: 9, method: 'constructor', params: {} })).toMatchObject({ error: { code: 'not_found' } });
  expect(await ask({ id: 10, method: 'captureAudio', params: { device: null, file: 7 } })).toMatchObject({
    error: { code: 'invalid_input' },
  });
  expect(written).toEqual([]);
});

test.each([null, 'seal', { method: 'seal' }, { id: 'x', method: 'seal', params: {} }])(
  'messages that are not requests have no response: %j',
  async (message) => {
    expect(await ask(message)).toBeNull();
  },
);
