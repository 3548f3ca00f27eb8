import { expect, test } from 'vitest';
import { z } from 'zod';
import { operations } from './api.ts';

/** Names that visitors enter, and titles of conversations, may come from the systems of others: they are not refused. */
const ofVisitors = new Set(operations.filter(({ path }) => /\/(?:chat|widget)\//.test(path)).map(({ id }) => id));
const named = operations.flatMap(({ id, body }) =>
  body instanceof z.ZodObject && !ofVisitors.has(id)
    ? ['name', 'displayName', 'workspaceName']
        .filter((field) => field in body.shape)
        .map((field) => ({ id, field, body }))
    : [],
);

test('a name without a visible character is refused with the field and the remedy, wherever a name can be set', () => {
  expect(named.map(({ id }) => id)).toEqual(
    expect.arrayContaining([
      'createAutomationWorkflow',
      'updateAutomationNode',
      'createApiToken',
      'updateMe',
      'saveFilter',
    ]),
  );
  for (const { id, field, body } of named) {
    const issuesOf = (value: string) =>
      (body.safeParse({ [field]: value }).error?.issues ?? []).filter(({ path }) => path[0] === field);
    for (const value of ['\u200B', '\u00AD \u2060', '\u3164'])
      expect([id, issuesOf(value).map(({ message }) => message)]).toEqual([
        id,
        [expect.stringMatching(/^must have at least one visible character/)],
      ]);
    for (const value of ['👩\u200D💻', '\u200Bname', '1']) expect([id, issuesOf(value)]).toEqual([id, []]);
    expect([id, issuesOf('')]).toEqual([
      id,
      [expect.objectContaining({ message: expect.stringMatching(/^must not be empty/) as string })],
    ]);
  }
});
