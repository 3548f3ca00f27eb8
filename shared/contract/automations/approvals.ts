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

export const deciderKinds = ['user', 'key', 'mail_link', 'time_out', 'run_end'] as const;

/** Who decided an approval, for readers. */
export const approvalDecider = named(
  'ApprovalDecider',
  z.object({
    kind: z.enum(deciderKinds).describe('A mail link counts as the person it was mailed to'),
    id: z.string().nullable().describe('The id of the user or API key, or the address that the link was mailed to'),
    name: z.string().describe("A user's email address or an API key's name, as they were then"),
  }),
);
export type ApprovalDecider = z.output<typeof approvalDecider>;

export const approval = named(
  'Approval',
  z.object({
    id: id.describe('Id of the approval'),
    runId: id.describe('Run that waits for the decision'),
    stepIndex: z.int().describe('Index of the step that waits, from 0'),
    kind: z.enum(['step', 'system.run']).describe('`system.run` for a command on a node, `step` for everything else'),
    title: z.string().describe('Question for the approver'),
    message: z.string().describe('Details for the approver; may be empty'),
    request: jsonValue.describe(
      'What exactly is asked for; for system.run the node, argv, cwd, env, stdin and time limit',
    ),
    requestHash: z
      .string()
      .describe('SHA-256 of what a decision binds: what runs is what was approved, or a new approval is asked for'),
    status: z.enum(approvalStatuses).describe('`pending` until it is decided or expires'),
    approvers: z.array(z.string()).describe('Who alone may decide; empty when every caller with the permission may'),
    required: z.int().describe('How many of them must agree'),
    votes: z
      .array(
        z.object({
          approver: z.string().describe('Email address of the approver'),
          decider: approvalDecider
            .nullable()
            .describe('Who decided on behalf of the approver; null for decisions before this was recorded'),
          decision: z.enum(['approved', 'rejected']).describe('Decision of this approver'),
          note: z.string().nullable().describe('Reason that the approver gave; null without one'),
          at: timestamp,
        }),
      )
      .describe('Decisions of single approvers, oldest first'),
    expiresAt: timestamp.nullable(),
    decidedBy: z.string().nullable().describe('The actor as in the audit log, such as `user:<id>`'),
    decider: approvalDecider.nullable().describe('Null while nothing is decided'),
    decidedAt: timestamp.nullable(),
    note: z.string().nullable().describe('Reason of the final decision; null without one'),
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
    decision: z
      .enum(['approved', 'rejected'], 'must be approved or rejected')
      .describe('`approved` lets the run go on, `rejected` fails the step'),
    note: text(0, 2000).optional().describe('Reason, at most 2,000 characters; shown in the run and in the audit log'),
  }),
);

export const approvals = defineResource({
  listAutomationApprovals: {
    ...manage,
    permission: 'automations:read',
    alsoPermission: 'approvals:decide',
    method: 'GET',
    path: '/v1/automations/approvals',
    summary: 'List approvals',
    query: approvalListQuery,
    response: page(approval),
  },
  getAutomationApproval: {
    ...manage,
    permission: 'automations:read',
    alsoPermission: 'approvals:decide',
    method: 'GET',
    path: '/v1/automations/approvals/{id}',
    summary: 'Show an approval',
    params: idParams,
    response: approval,
  },
  decideAutomationApproval: {
    ...manage,
    permission: 'approvals:decide',
    method: 'POST',
    path: '/v1/automations/approvals/{id}/decide',
    summary: 'Decide an approval',
    description:
      'An approval that names its approvers is decided only by them: by their own link, or signed in, and never by a starter of its run. An approval of `system.run` is decided by a signed-in user, or by a key that carries `approvals:decide` itself, and never by a starter of the run or an author of what it does: of its workflow, of the runs that led to it, and of the agents and models that it used. The only member of a workspace may decide runs of their own, signed in. Any other approval is decided by every caller with the permission, unless the policy demands more. A key of environment `test` decides approvals of test runs only.',
    params: idParams,
    body: decideBody,
    response: approval,
    errors: ['approval_already_decided', 'approver_required', 'approval_needs_person', 'test_key_not_allowed'],
  },
});
