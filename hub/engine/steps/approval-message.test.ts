import { expect, test } from 'vitest';
import { approvalMessage, readApprovalMessage } from './approval-message.ts';

const earlier = { type: 'system.run', code: 'exit_code', handedOutAt: new Date('2026-11-28T11:17:56.409Z') };
const earlierTry = { commandType: 'system.run', sentAt: '2026-11-28T11:17:56.409Z', code: 'exit_code' };
const skillId = 'system.run';

test.each([
  ['system.run', { kind: 'program' }, { argv: ['ls'] }],
  ['step', { kind: 'policy', skillId }, { skillId, input: {} }],
  ['step', { kind: 'changed', skillId }, { skillId, input: {} }],
] as const)('the parts of a message of the hub can be read back: %s, %j', (kind, reason, request) => {
  const read = (message: string) => readApprovalMessage({ kind, request: { ...request } as never, message });
  expect(read(approvalMessage(reason, null))).toEqual({ reason: reason.kind, earlierTry: null });
  expect(read(approvalMessage(reason, earlier))).toEqual({ reason: reason.kind, earlierTry });
  expect(read(`${approvalMessage(reason, earlier)} More.`)).toBeUndefined();
});

test('a message of a workflow is not read as a message of the hub, even with the same text', () => {
  const message = approvalMessage({ kind: 'program' }, earlier);
  expect(readApprovalMessage({ kind: 'step', request: { title: 'Go on?' }, message })).toBeUndefined();
  expect(readApprovalMessage({ kind: 'step', request: { skillId, input: {} }, message })).toBeUndefined();
  expect(readApprovalMessage({ kind: 'system.run', request: {}, message: 'Another text' })).toBeUndefined();
});
