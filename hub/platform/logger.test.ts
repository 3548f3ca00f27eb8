import { expect, test } from 'vitest';
import { describeError } from './logger.ts';

test('an error is logged by what it is and comes from, without what libraries hang on it', () => {
  const cause = Object.assign(new Error('gone'), { code: '57P01', client: { secretKey: 123456, password: 'hidden' }, parameters: ['private'] });
  const described = describeError(new Error('outer', { cause }));
  expect(described).toMatchObject({ type: 'Error', message: 'outer', cause: { message: 'gone', code: '57P01' } });
  expect(JSON.stringify(described)).not.toMatch(/123456|hidden|private/);
  const loop = new Error('loop');
  loop.cause = loop;
  expect(JSON.stringify(describeError(loop)).length).toBeLessThan(100_000);
  expect(describeError('just a text')).toBe('just a text');
});
