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

/** Who or what decided an approval. */
export const approvalDecider = named(
  'ApprovalDecider',
  z.object({
    kind: z
      .enum(deciderKinds)
      .describe('How the decision was made; `mail_link` is a decision of the recipient of the link'),
    id: z.string().nullable().describe('Id of the user or API key, or the address that the link was mailed to'),
    name: z.string().describe('Email address of the user or name of the API key at that time'),
    linkCreatedBy: z
      .string()
      .optional()
      .describe('Address of the admin who created the link, and could have used it; absent for a mailed link'),
  }),
);
export type ApprovalDecider = z.output<typeof approvalDecider>;

const hubMessage = named(
  'ApprovalHubMessage',
  z.object({
    reason: z
      .enum(['program', 'policy', 'changed'])
      .describe(
        'Why the hub asks: `program` for a program on a node, `policy` for a skill that needs an approval in this workspace, `changed` for a step that would do something else than the approval before it showed',
      ),
    earlierTry: named(
      'ApprovalEarlierTry',
      z.object({
        commandType: z
          .string()
          .meta({ example: 'system.run' })
          .describe('Type of the command that the earlier try sent'),
        sentAt: timestamp.describe('When the node received the command'),
        code: z.string().meta({ example: 'exit_code' }).describe('Error code with which the command ended'),
      }),
    )
      .nullable()
      .describe('Earlier try of the step, whose command may have had an effect already; null without one'),
  }),
);
export type HubMessage = z.output<typeof hubMessage>;

export const approval = named(
  'Approval',
  z.object({
    id: id.describe('Id of the approval'),
    runId: id.describe('Run that waits for the decision'),
    stepIndex: z.int().describe('Index of the step that waits, from 0'),
    kind: z.enum(['step', 'system.run']).describe('`system.run` for a command on a node, `step` for everything else'),
    title: z.string().describe('Question for the approver'),
    message: z.string().describe('Details for the approver; may be empty'),
    hubMessage: hubMessage
      .optional()
      .describe('Parts of `message`, for clients that show them in other words; absent if the workflow has the text'),
    request: jsonValue.describe('What is to be approved; for `system.run` the node, argv, cwd, env, stdin and timeout'),
    requestHash: z
      .string()
      .describe('SHA-256 of the request. Only the approved request runs; a changed one needs a new approval'),
    status: z.enum(approvalStatuses).describe('`pending` until it is decided or expires'),
    approvers: z
      .array(z.string())
      .describe('Email addresses of those who may decide; empty when every caller with the permission may decide'),
    required: z.int().describe('Number of approvers who must approve'),
    votes: z
      .array(
        z.object({
          approver: z.string().describe('Email address of the approver'),
          decider: approvalDecider
            .nullable()
            .describe('Who decided for the approver; null for decisions from before this was recorded'),
          decision: z.enum(['approved', 'rejected']).describe('Decision of this approver'),
          note: z.string().nullable().describe('Reason that the approver gave; null without one'),
          at: timestamp,
        }),
      )
      .describe('Decisions of the approvers, oldest first'),
    expiresAt: timestamp.nullable(),
    decidedBy: z.string().nullable().describe('Actor as in the audit log, such as `user:<id>`; null while pending'),
    decider: approvalDecider.nullable().describe('Who or what decided; null while pending'),
    decidedAt: timestamp.nullable(),
    note: z.string().nullable().describe('Reason of the final decision; null without one'),
    createdAt: timestamp,
  }),
);
export type Approval = z.output<typeof approval>;

const approvalContext = {
  workflowId: id.describe('Workflow of the run'),
  workflowName: z.string().describe('Current name of the workflow'),
  environment: z.enum(['live', 'test']).describe('Environment of the run'),
  triggerType: z
    .string()
    .meta({ example: 'manual' })
    .describe('Type of the trigger of the run, such as `manual` or `schedule`'),
  requestedBy: z
    .array(
      named(
        'ApprovalRequester',
        z.object({
          kind: z.enum(['user', 'key']).describe('`user` for a member, `key` for an API key'),
          id: id.describe('Id of the user or API key'),
          name: z
            .string()
            .nullable()
            .describe('Email address of the user or name of the API key; null after it was removed'),
        }),
      ),
    )
    .describe('Users and API keys that started the run or a run that led to it; empty for an automatic trigger'),
  nodeId: id.nullable().describe('Node that the request names; null for a request without a node'),
  nodeName: z.string().nullable().describe('Name of this node; null without a node, and after it was deleted'),
  escalateAt: timestamp
    .nullable()
    .describe('From this time the addresses of the escalation can decide too; null without an escalation'),
  canDecide: z.boolean().describe('Whether the caller can decide this approval now'),
  refusal: named(
    'ApprovalRefusal',
    z.object({
      code: z.string().meta({ example: 'approver_required' }).describe('Error code that a decision would get'),
      message: z.string().describe('Why the caller cannot decide, and who can'),
    }),
  )
    .nullable()
    .describe('Why the caller cannot decide; null when `canDecide` is true'),
};

const approvalDetail = named('ApprovalDetail', z.object({ ...approval.shape, ...approvalContext }));
export type ApprovalDetail = z.output<typeof approvalDetail>;

/** An approval without its message and its request, which can be large. */
const approvalSummary = named(
  'ApprovalSummary',
  z.object({
    ...approval.omit({ message: true, hubMessage: true, request: true, votes: true }).shape,
    approvedCount: z.int().describe('Number of approvers who approved so far'),
    ...approvalContext,
  }),
);

export const approvalListQuery = listQuery.extend({
  status: z.enum(approvalStatuses).optional(),
  runId: id.optional(),
});
export const decideBody = named(
  'DecideApproval',
  z.strictObject({
    decision: z
      .enum(['approved', 'rejected'], 'must be approved or rejected')
      .describe('`approved` continues the run, `rejected` fails the step'),
    note: text(0, 2000).optional().describe('Reason, at most 2,000 characters; shown in the run and with the approval'),
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
    description:
      'Newest first, of every status when `status` is omitted. A page ends early when it would exceed 4 MiB; `GET /v1/automations/approval-summaries` omits the requests.',
    query: approvalListQuery,
    response: page(approval),
  },
  listAutomationApprovalSummaries: {
    ...manage,
    permission: 'automations:read',
    alsoPermission: 'approvals:decide',
    method: 'GET',
    path: '/v1/automations/approval-summaries',
    summary: 'List approvals without their requests',
    description:
      'Newest first. Each has its workflow, requesters and node, and whether the caller can decide it, but not its message and request. Get a single approval to read those.',
    query: approvalListQuery,
    response: page(approvalSummary),
  },
  getAutomationApproval: {
    ...manage,
    permission: 'automations:read',
    alsoPermission: 'approvals:decide',
    method: 'GET',
    path: '/v1/automations/approvals/{id}',
    summary: 'Get an approval',
    description:
      '`canDecide` and `refusal` are those of the caller at the time of the request, so they differ between callers.',
    params: idParams,
    response: approvalDetail,
  },
  decideAutomationApproval: {
    ...manage,
    permission: 'approvals:decide',
    method: 'POST',
    path: '/v1/automations/approvals/{id}/decide',
    summary: 'Decide an approval',
    description:
      'If the approval names approvers, only they can decide, with their own link or signed in, but not those who started the run. A `system.run` approval requires a signed-in user or a key that has `approvals:decide` itself. Those who started the run cannot decide it, nor can authors of its workflow, of its ancestor runs, or of the agents and models that it used. The only member of a workspace can decide their own runs, signed in. Any caller with the permission can decide other approvals, unless the policy is stricter. A key of environment `test` can decide only approvals of test runs.',
    params: idParams,
    body: decideBody,
    response: approval,
    errors: ['approval_already_decided', 'approver_required', 'approval_needs_person', 'test_key_not_allowed'],
  },
});
