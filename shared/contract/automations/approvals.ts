import { z } from 'zod';
import { jsonValue } from '../../json.ts';
import { id, idParams, listQuery, named, page, text, timestamp } from '../common.ts';
import { defineResource } from '../define.ts';

const manage = {
  tag: 'Approvals',
  callers: ['token', 'session'],
  permission: 'automations:manage',
  role: 'agent',
} as const;

export const approvalStatuses = ['pending', 'approved', 'rejected', 'expired'] as const;

export const approval = named(
  'Approval',
  z.object({
    id,
    runId: id,
    stepIndex: z.int(),
    kind: z.enum(['step', 'system.run']),
    title: z.string(),
    message: z.string(),
    request: jsonValue.describe(
      'What exactly is asked for; for system.run the node, argv, cwd, env, stdin and time limit',
    ),
    requestHash: z
      .string()
      .describe('SHA-256 of what a decision binds: what runs is what was approved, or a new approval is asked for'),
    status: z.enum(approvalStatuses),
    approvers: z.array(z.string()).describe('Who alone may decide; empty when whoever manages automations does'),
    required: z.int().describe('How many of them must agree'),
    votes: z.array(
      z.object({
        approver: z.string(),
        decision: z.enum(['approved', 'rejected']),
        note: z.string().nullable(),
        at: timestamp,
      }),
    ),
    expiresAt: timestamp.nullable(),
    decidedBy: z.string().nullable(),
    decidedAt: timestamp.nullable(),
    note: z.string().nullable(),
    createdAt: timestamp,
  }),
);
export type Approval = z.output<typeof approval>;

export const approvalListQuery = listQuery.extend({
  status: z.enum(approvalStatuses).optional(),
  runId: id.optional(),
});
export const decideBody = named(
  'DecideApproval',
  z.strictObject({
    decision: z.enum(['approved', 'rejected'], 'must be approved or rejected'),
    note: text(0, 2000).optional(),
  }),
);

export const approvals = defineResource({
  listAutomationApprovals: {
    ...manage,
    method: 'GET',
    path: '/v1/automations/approvals',
    summary: 'List approvals',
    query: approvalListQuery,
    response: page(approval),
  },
  decideAutomationApproval: {
    ...manage,
    method: 'POST',
    path: '/v1/automations/approvals/{id}/decide',
    summary: 'Decide an approval',
    description: 'One that names its approvers can be decided only by them: by their own link, or signed in.',
    params: idParams,
    body: decideBody,
    response: approval,
    errors: ['approval_already_decided', 'approver_required'],
  },
});
