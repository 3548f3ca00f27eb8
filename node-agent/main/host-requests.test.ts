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

test('a runtime gets what it asks its app for', async () => {
  expect(await ask({ id: 7, method: 'seal', params: { text: 'a' } })).toEqual({ id: 7, result: { sealed: 'A' } });
});

test('what went wrong is data, in words', async () => {
  expect(await ask({ id: 8, method: 'unseal', params: { sealed: 'x' } })).toEqual({
    id: 8,
    error: { code: 'key_store', message: 'It is locked.' },
  });
  expect(faults).toEqual(['unseal']);
});

test('what is not declared is refused before anything is done', async () => {
  expect(await ask({ id: 9, method: 'constructor', params: {} })).toMatchObject({ error: { code: 'not_found' } });
  expect(await ask({ id: 10, method: 'captureAudio', params: { device: null, file: 7 } })).toMatchObject({
    error: { code: 'invalid_input' },
  });
  expect(written).toEqual([]);
});

test.each([null, 'seal', { method: 'seal' }, { id: 'x', method: 'seal', params: {} }])(
  'what is no request has no answer: %j',
  async (message) => {
    expect(await ask(message)).toBeNull();
  },
);
