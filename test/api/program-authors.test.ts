import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import type { Step } from '../../shared/contract/automations/steps.ts';
import { startedRun } from '../../shared/contract/automations/workflows.ts';
import type { Client } from '../fixtures/contract-client.ts';
import { startHub } from '../fixtures/hub.ts';
import type { TestHub, TestWorkspace } from '../fixtures/hub.ts';
import { startModelServer } from '../fixtures/model-server.ts';
import type { ModelServer } from '../fixtures/model-server.ts';
import { send } from '../fixtures/requests.ts';
import { settledRun } from '../fixtures/settled-run.ts';
import { until } from '../fixtures/until.ts';

type StepInput = Record<string, unknown> & { type: Step['type'] };

interface Member {
  id: string;
  email: string;
  token: string;
  session: Client;
}

const password = 'correct horse battery';

let model: ModelServer;
let hub: TestHub;
let workspace: TestWorkspace;
let nodeId: string;
/** The author of the command, the member who starts the run, and a member who did neither. */
let author: Member;
let starter: Member;
let other: Member;

async function addMember(email = `m.${process.hrtime.bigint()}@example.org`): Promise<Member> {
  await workspace.session.call('addMember', {
    params: { tenantId: workspace.tenantId },
    body: { email, password, role: 'admin' },
  });
  const { token } = await hub.client().call('logIn', { body: { email, password } });
  const session = hub.client(token);
  return { id: (await session.call('readMe')).user.id, email, token, session };
}

const modelsBody = (order: string[] = ['first']) => ({
  models: [{ id: 'first', provider: 'openai-compatible' as const, baseUrl: model.baseUrl, model: 'm', apiKey: 'k' }],
  order,
});

beforeAll(async () => {
  model = await startModelServer();
  hub = await startHub({
    EGRESS_ALLOW_HOSTS: `127.0.0.1,${model.host}`,
    RATE_LIMIT_PER_MINUTE: '1000000',
    SIGN_IN_RATE_LIMIT_PER_MINUTE: '1000000',
  });
});
afterAll(async () => {
  await hub[Symbol.asyncDispose]();
  await model[Symbol.asyncDispose]();
});
beforeEach(async () => {
  workspace = await hub.workspace();
  const paired = await workspace.api.call('createAutomationNode', { body: {} });
  nodeId = paired.nodeId;
  await hub.client().call('claimAutomationNode', {
    body: {
      pairingCode: paired.pairingCode,
      device: {
        name: 'd',
        platform: 'linux',
        arch: 'x64',
        osVersion: '',
        appVersion: '1',
        capabilities: ['system.run'],
      },
    },
  });
  await workspace.api.call('updateAutomationNode', { params: { id: nodeId }, body: { allowSystem: true } });
  author = await addMember();
  starter = await addMember();
  other = await addMember();
});

const program = (argv: unknown = ['true']): StepInput => ({
  type: 'skill',
  skillId: 'system.run',
  input: { nodeId, argv },
});
const spawn = (workflowId: string, payload?: Record<string, unknown>): StepInput => ({
  type: 'skill',
  skillId: 'subagent.spawn',
  input: { workflowId, ...(payload === undefined ? {} : { payload }) },
});
const failing: StepInput = { type: 'log', message: '{{payload.missing}}' };

const create = async (as: Client, stepsJson: StepInput[], more: Record<string, unknown> = {}) =>
  (await as.call('createAutomationWorkflow', { body: { name: 'w', stepsJson, ...more } as never })).id;
const start = async (id: string, as: Client = starter.session) =>
  startedRun(await as.call('runAutomationWorkflow', { params: { id } })).runId;
const settled = (id: string) => settledRun(workspace.api, id);

/** The newest run of a workflow, once there is one. */
async function latestOf(workflowId: string): Promise<string> {
  const list = () => workspace.api.call('listAutomationRuns', { query: { workflowId } });
  await until(
    async () => (await list()).data.length > 0,
    () => 'no run yet',
  );
  return (await list()).data[0]?.id as string;
}

async function pendingOf(runId: string) {
  await settled(runId);
  const { data } = await workspace.api.call('listAutomationApprovals', { query: { runId, status: 'pending' } });
  return data[0] as NonNullable<(typeof data)[0]>;
}

const decide = (id: string, credential: string, decision = 'approved') =>
  send(hub.url, 'POST', `/v1/automations/approvals/${id}/decide`, {
    headers: { authorization: `Bearer ${credential}` },
    body: { decision },
  });

/** The responses to the approvals of some members, in order. */
async function verdicts(runId: string, ...members: Member[]): Promise<unknown[]> {
  const approval = await pendingOf(runId);
  expect(approval).toMatchObject({ kind: 'system.run' });
  const answers: unknown[] = [];
  for (const { token } of members) {
    const { status, body } = await decide(approval.id, token);
    answers.push(status === 200 ? 'approved' : body.code);
  }
  return answers;
}
const onlyOther = ['approver_required', 'approved'];

describe('the author of a workflow does not decide the commands of its runs', () => {
  test('when another member starts the run', async () => {
    const runId = await start(await create(author.session, [program()]));
    expect(await verdicts(runId, author, starter, other)).toEqual([
      'approver_required',
      'approver_required',
      'approved',
    ]);
  });

  test('nor do the authors of the version and the input with which it is replayed', async () => {
    const log: StepInput = { type: 'log', message: 'x' };
    const id = await create(author.session, [log, failing]);
    const first = await start(id, workspace.session);
    await settled(first);
    const second = await addMember();
    await second.session.call('updateAutomationWorkflow', {
      params: { id },
      body: { stepsJson: [log, program('{{payload.argv}}')] as never },
    });
    const { id: replay } = await starter.session.call('replayAutomationRun', {
      params: { id: first },
      body: { fromStep: 1, workflowVersion: 2, payload: { argv: ['true'] } },
    });
    expect(await verdicts(replay, author, second, starter, other)).toEqual([
      'approver_required',
      'approver_required',
      'approver_required',
      'approved',
    ]);
  });

  test('when a run of another workflow starts the run, also over two further runs', async () => {
    const inner = await create(author.session, [program()]);
    const middle = await create(other.session, [spawn(inner)]);
    await start(await create(starter.session, [spawn(middle)]));
    const third = await addMember();
    expect(await verdicts(await latestOf(inner), author, starter, other, third)).toEqual([
      'approver_required',
      'approver_required',
      // This member wrote the workflow in between.
      'approver_required',
      'approved',
    ]);
  });

  test('when it starts a run of another workflow with the command as its payload', async () => {
    const inner = await create(workspace.session, [program('{{payload.argv}}')]);
    await start(await create(author.session, [spawn(inner, { argv: ['rm', '-rf', 'x'] })]));
    expect(await verdicts(await latestOf(inner), author, other)).toEqual(onlyOther);
  });

  test('when it is the error workflow of the policy', async () => {
    const handler = await create(author.session, [program()]);
    await workspace.session.call('putAutomationPolicy', { body: { errorWorkflowId: handler } });
    await start(await create(workspace.session, [failing]));
    expect(await verdicts(await latestOf(handler), author, other)).toEqual(onlyOther);
  });

  test('when its run fails and starts the error workflow', async () => {
    const handler = await create(workspace.session, [program(['echo', '{{payload.run.error.message}}'])]);
    await workspace.session.call('putAutomationPolicy', { body: { errorWorkflowId: handler } });
    await start(await create(author.session, [failing]));
    expect(await verdicts(await latestOf(handler), author, other)).toEqual(onlyOther);
  });

  test('when a run of another workflow calls it by the hook, or it calls the other workflow', async () => {
    const token = 'a-token-of-a-hook-of-authors';
    const hooked = await create(author.session, [program()], { triggerJson: { type: 'webhook', webhook: { token } } });
    const call: StepInput = {
      type: 'skill',
      skillId: 'webhook.deliver',
      input: {
        url: `${hub.url}/v1/automations/hooks/inbound`,
        headers: { 'X-Service-Automation-Token': token },
        body: { workflowId: hooked },
      },
    };
    const caller = await addMember();
    await start(await create(caller.session, [call]));
    expect(await verdicts(await latestOf(hooked), author, caller, other)).toEqual([
      'approver_required',
      'approver_required',
      'approved',
    ]);
  });

  test('when other members retry and replay the run', async () => {
    const id = await create(author.session, [program()]);
    const first = await start(id);
    await decide((await pendingOf(first)).id, other.token, 'rejected');
    await settled(first);
    const retry = await workspace.api.call('retryAutomationRun', { params: { id: first } });
    expect(await verdicts(retry.id, author)).toEqual(['approver_required']);
    await decide((await pendingOf(retry.id)).id, other.token, 'rejected');
    await settled(retry.id);
    const replay = await starter.session.call('replayAutomationRun', {
      params: { id: retry.id },
      body: { fromStep: 0 },
    });
    expect(await verdicts(replay.id, author, other)).toEqual(onlyOther);
  });

  test('when another member changes its limits and name with the same steps', async () => {
    const id = await create(author.session, [program()]);
    const change = (body: object) =>
      starter.session.call('updateAutomationWorkflow', { params: { id }, body: body as never });
    await change({ limits: { maxConcurrentRuns: 5 } });
    await change({ name: 'renamed', stepsJson: [program()] });
    expect(await verdicts(await start(id), author, other)).toEqual(onlyOther);
  });

  test('when the author sets the defaults of inputs in the workflow of a sequence', async () => {
    const { id } = await workspace.session.call('createAutomationSequence', {
      body: { name: 's', steps: [program(['echo', '{{payload.text}}'])] as never },
    });
    const run = () => starter.session.call('runAutomationSequence', { params: { id }, body: {} });
    await author.session.call('updateAutomationWorkflow', {
      params: { id: (await run()).workflowId },
      body: { inputs: { type: 'object', properties: { text: { type: 'string', default: 'x' } } } } as never,
    });
    await workspace.session.call('updateAutomationSequence', { params: { id }, body: { name: 'renamed' } });
    expect(await verdicts((await run()).runId, author, other)).toEqual(onlyOther);
  });

  test('when another member adds a step and sends the existing steps again', async () => {
    const added: StepInput = { type: 'log', message: 'first' };
    const named = { ...program(), name: 'Named' };
    const id = await create(author.session, [program()]);
    for (const stepsJson of [
      [added, named],
      [added, { ...named, delaySeconds: 0 }, added],
    ])
      await workspace.session.call('updateAutomationWorkflow', { params: { id }, body: { stepsJson } as never });
    expect(await verdicts(await start(id), author, other)).toEqual(onlyOther);

    const { id: sequence } = await author.session.call('createAutomationSequence', {
      body: { name: 's', steps: [program()] as never },
    });
    await workspace.session.call('updateAutomationSequence', {
      params: { id: sequence },
      body: { steps: [added, named] as never },
    });
    const { runId } = await starter.session.call('runAutomationSequence', { params: { id: sequence }, body: {} });
    expect(await verdicts(runId, author, other)).toEqual(onlyOther);
  });

  test('unless other members have replaced all steps of the author', async () => {
    const id = await create(author.session, [program()], { active: false });
    await workspace.session.call('updateAutomationWorkflow', {
      params: { id },
      body: {
        stepsJson: [program(['false'])],
        inputs: { type: 'object', properties: {} },
        triggerJson: { type: 'webhook', webhook: { token: 'a-token-of-a-replaced-one' } },
        active: true,
      } as never,
    });
    expect(await verdicts(await start(id), author)).toEqual(['approved']);
  });

  test('when another member restores an earlier version of the author', async () => {
    const id = await create(author.session, [program()]);
    await starter.session.call('updateAutomationWorkflow', {
      params: { id },
      body: { stepsJson: [{ type: 'log', message: 'nothing' }] } as never,
    });
    await starter.session.call('restoreAutomationWorkflowVersion', { params: { id, version: 1 } } as never);
    await starter.session.call('updateAutomationWorkflow', { params: { id }, body: { name: 'again' } });
    expect(await verdicts(await start(id), author, other)).toEqual(onlyOther);
  });

  test('when it is created from a sequence, and another member renamed it', async () => {
    const { id } = await author.session.call('createAutomationSequence', {
      body: { name: 's', steps: [program()] as never },
    });
    await workspace.session.call('updateAutomationSequence', { params: { id }, body: { name: 'renamed' } });
    const { runId } = await starter.session.call('runAutomationSequence', { params: { id }, body: {} });
    expect(await verdicts(runId, author, other)).toEqual(onlyOther);
  });

  test('when it is created from a pack that the author published', async () => {
    const manifest = {
      id: 'own-command',
      name: 'Own',
      version: '1.0.0',
      publisher: 'Us',
      summary: 'Runs a command.',
      inputsSchema: { properties: { nodeId: { type: 'string', format: 'node', title: 'Node' } }, required: ['nodeId'] },
      skills: ['system.run'],
      nodePowers: ['system'],
      graph: {
        trigger: { type: 'manual' },
        steps: [{ type: 'skill', skillId: 'system.run', input: { nodeId: '{{inputs.nodeId}}', argv: ['true'] } }],
      },
    };
    await author.session.call('postAutomationSkillSdk', { body: { manifest: manifest as never, publish: true } });
    await workspace.session.call('installAutomationSkill', { body: { packId: manifest.id } });
    const { id } = await workspace.session.call('createAutomationSkillWorkflow', {
      params: { packId: manifest.id },
      body: { inputs: { nodeId } },
    });
    expect(await verdicts(await start(id), author, other)).toEqual(onlyOther);
  });

  test('when a key of the author wrote it', async () => {
    const { key } = await author.session.call('createApiToken', {
      params: { tenantId: workspace.tenantId },
      body: { name: 'k', product: 'automations', permissions: ['automations:manage'] },
    });
    expect(await verdicts(await start(await create(hub.client(key), [program()])), author, other)).toEqual(onlyOther);
  });

  test('when the author was removed and added again', async () => {
    const runId = await start(await create(author.session, [program()]));
    await workspace.session.call('removeMember', {
      params: { tenantId: workspace.tenantId, userId: author.id },
    } as never);
    expect(await verdicts(runId, await addMember(author.email), other)).toEqual(onlyOther);
  });

  test('except for a step approval that names the author', async () => {
    const id = await create(author.session, [{ type: 'approval', title: 'ok?', approvers: [author.email] }]);
    expect((await decide((await pendingOf(await start(id))).id, author.token)).status).toBe(200);
  });
});

test('the author of the error workflow setting does not decide its commands, after another member saved the policy', async () => {
  const handler = await create(workspace.session, [program()]);
  await author.session.call('putAutomationPolicy', { body: { errorWorkflowId: handler } });
  await workspace.session.call('putAutomationPolicy', { body: { errorWorkflowId: handler, maxRunsPerHour: 1000 } });
  await start(await create(workspace.session, [failing]));
  expect(await verdicts(await latestOf(handler), author, other)).toEqual(onlyOther);
});

describe('the author of an agent does not decide the commands of its runs', () => {
  const toolCall = (skillId: string, input: object) => `TOOL_CALL:${skillId}|${JSON.stringify(input)}`;
  const callProgram = () => toolCall('system.run', { nodeId, argv: ['true'] });
  const addAgent = async (as: Client, systemPrompt = 'You help.') => {
    const profile = await workspace.api.call('putAutomationToolProfile', {
      body: { name: 't', allow: ['*'], deny: [] },
    });
    const { id } = await as.call('createAutomationAgent', {
      body: { name: 'a', systemPrompt, toolProfileId: profile.id } as never,
    });
    return { id, profileId: profile.id };
  };
  const agentStep = (agentId: string, more: object = {}): StepInput => ({
    type: 'agent',
    agentId,
    prompt: 'go',
    ...more,
  });
  beforeEach(async () => {
    model.requests.length = 0;
    model.reply = (_request, turn) => (turn === 0 ? callProgram() : 'FINAL: done');
    await workspace.session.call('putAutomationModels', { body: modelsBody() });
  });

  test.each<[string, (agent: { id: string; profileId: string }) => Promise<unknown>]>([
    [
      'by its prompt',
      async ({ id }) =>
        author.session.call('updateAutomationAgent', { params: { id }, body: { systemPrompt: 'Run it.' } }),
    ],
    [
      'by its prompt, after another member renamed it',
      async ({ id }) => {
        await author.session.call('updateAutomationAgent', { params: { id }, body: { systemPrompt: 'Run it.' } });
        await workspace.session.call('updateAutomationAgent', { params: { id }, body: { name: 'renamed' } });
      },
    ],
    [
      'by its tool profile',
      async ({ profileId: id }) =>
        author.session.call('putAutomationToolProfile', { body: { id, name: 't', allow: ['system.run'], deny: [] } }),
    ],
    ['by the models', async () => author.session.call('putAutomationModels', { body: modelsBody() })],
    [
      'by the standing orders',
      async () => author.session.call('putAutomationPolicy', { body: { standingOrders: 'Run it.' } }),
    ],
  ])('%s', async (_how, change) => {
    const agent = await addAgent(workspace.session);
    await change(agent);
    const runId = await start(await create(workspace.session, [agentStep(agent.id)]));
    expect(await verdicts(runId, author, other)).toEqual(onlyOther);
  });

  test('with a prompt that another member replaced after the model had answered', async () => {
    const agent = await addAgent(author.session, 'Run it.');
    await workspace.session.call('putAutomationPolicy', { body: { approvalsRequiredFor: ['memory.write'] } });
    model.reply = (_request, turn) =>
      turn === 0 ? `${toolCall('memory.write', { key: 'a', value: 1 })}\n${callProgram()}` : 'FINAL: done';
    const runId = await start(await create(workspace.session, [agentStep(agent.id)]));
    const first = await pendingOf(runId);
    await workspace.session.call('updateAutomationAgent', {
      params: { id: agent.id },
      body: { systemPrompt: 'Rest.' },
    });
    await workspace.session.call('putAutomationModels', { body: modelsBody() });
    await decide(first.id, workspace.jwt);
    await until(
      async () => (await pendingOf(runId))?.kind === 'system.run',
      () => 'the agent has not called its second tool yet',
    );
    expect(await verdicts(runId, author, other)).toEqual(onlyOther);
  });

  test('with a prompt that the author restored', async () => {
    const agent = await addAgent(workspace.session);
    const change = (systemPrompt: string) =>
      author.session.call('updateAutomationAgent', { params: { id: agent.id }, body: { systemPrompt } });
    await change('Run it.');
    const runId = await start(await create(workspace.session, [agentStep(agent.id)]));
    await pendingOf(runId);
    await change('You help.');
    await workspace.session.call('updateAutomationAgent', {
      params: { id: agent.id },
      body: { systemPrompt: 'Mine.' },
    });
    expect(await verdicts(runId, author, other)).toEqual(onlyOther);
  });

  test('when the first step writes what the step after the second runs', async () => {
    const first = await addAgent(author.session);
    const second = await addAgent(other.session);
    model.reply = () => 'FINAL: done';
    const argv = ['echo', '{{steps.one.outputText}}'];
    const id = await create(workspace.session, [
      agentStep(first.id, { id: 'one' }),
      agentStep(second.id),
      program(argv),
    ]);
    const third = await addMember();
    expect(await verdicts(await start(id), author, other, third)).toEqual([
      'approver_required',
      'approver_required',
      'approved',
    ]);
  });

  test('when a tool of the agent starts the run with the command', async () => {
    const inner = await create(workspace.session, [program('{{payload.argv}}')]);
    const agent = await addAgent(author.session);
    model.reply = (_request, turn) =>
      turn === 0 ? toolCall('subagent.spawn', { workflowId: inner, payload: { argv: ['rm', 'x'] } }) : 'FINAL: done';
    await start(await create(workspace.session, [agentStep(agent.id)]));
    expect(await verdicts(await latestOf(inner), author, other)).toEqual(onlyOther);
  });

  test('in a replay that begins after the agent step', async () => {
    const agent = await addAgent(author.session);
    model.reply = () => 'FINAL: done';
    const id = await create(workspace.session, [agentStep(agent.id), program()]);
    const first = await start(id);
    await decide((await pendingOf(first)).id, other.token, 'rejected');
    await settled(first);
    await workspace.session.call('updateAutomationAgent', {
      params: { id: agent.id },
      body: { systemPrompt: 'Rest.' },
    });
    const { id: replay } = await starter.session.call('replayAutomationRun', {
      params: { id: first },
      body: { fromStep: 1 },
    });
    expect(await verdicts(replay, author, other)).toEqual(onlyOther);
  });

  test('when the author set the models whose answer a skill step passes on', async () => {
    await author.session.call('putAutomationModels', { body: modelsBody() });
    model.reply = () => 'rm';
    const ask: StepInput = { type: 'skill', id: 'ask', skillId: 'ai.invoke', input: { input: 'Which program?' } };
    const runId = await start(await create(workspace.session, [ask, program(['{{steps.ask.outputText}}'])]));
    expect(await verdicts(runId, author, other)).toEqual(onlyOther);
  });
});

describe('default approvers', () => {
  const put = (defaultApprovers: string[], as: Client = workspace.session) =>
    as.call('putAutomationPolicy', { body: { defaultApprovers } });

  test('must be members of the workspace when the policy is saved', async () => {
    const otherWorkspace = await hub.workspace();
    for (const email of ['mine@attacker.test', otherWorkspace.email])
      await expect(put([other.email, email])).rejects.toMatchObject({
        status: 400,
        code: 'validation_failed',
        details: [
          {
            path: 'body.defaultApprovers[1]',
            message: 'is not the address of a member of this workspace; add the member first or remove the address',
          },
        ],
      });
    await put([other.email]);
  });

  test('cannot decide after they are removed, also not by an earlier link', async () => {
    await put([author.email, other.email]);
    for (const steps of [[program()], [{ type: 'approval' as const, title: 'ok?' }]]) {
      const gone = await addMember();
      await put([gone.email, other.email]);
      const approval = await pendingOf(await start(await create(workspace.session, steps)));
      expect(approval.approvers).toEqual([gone.email, other.email]);
      const linksOf = async () =>
        (await author.session.call('growthCreateApprovalLinks', { params: { id: approval.id } })).links;
      const link = (await linksOf()).find(({ approver }) => approver === gone.email)?.url as string;
      await workspace.session.call('removeMember', {
        params: { tenantId: workspace.tenantId, userId: gone.id },
      } as never);
      const byLink = await send(hub.url, 'POST', new URL(link).pathname, {
        headers: { 'content-type': 'application/x-www-form-urlencoded' },
        raw: 'decision=approved',
      });
      expect(byLink.status).toBe(403);
      expect((await linksOf()).map(({ approver }) => approver)).toEqual([other.email]);
      expect((await decide(approval.id, other.token)).status).toBe(200);
    }
  });

  test('cannot decide what they wrote, and the author cannot create links of the others', async () => {
    await put([author.email, other.email]);
    const runId = await start(await create(author.session, [program()]));
    const approval = await pendingOf(runId);
    await expect(
      author.session.call('growthCreateApprovalLinks', { params: { id: approval.id } }),
    ).rejects.toMatchObject({ status: 403, code: 'approver_required' });
    expect(await verdicts(runId, author, other)).toEqual(onlyOther);
  });

  test('an author who was removed and added again cannot create links of the others', async () => {
    await put([other.email]);
    const approval = await pendingOf(await start(await create(author.session, [program()])));
    await workspace.session.call('removeMember', {
      params: { tenantId: workspace.tenantId, userId: author.id },
    } as never);
    const again = await addMember(author.email);
    await expect(
      again.session.call('growthCreateApprovalLinks', { params: { id: approval.id } }),
    ).rejects.toMatchObject({ status: 403, code: 'approver_required' });
  });
});

test('the only member decides their own workflows and runs, also as the default approver, unless the policy forbids it', async () => {
  for (const { id } of [author, starter, other])
    await workspace.session.call('removeMember', { params: { tenantId: workspace.tenantId, userId: id } } as never);
  const id = await create(workspace.session, [program()]);
  const runAndDecide = async (body: object) => {
    await workspace.session.call('putAutomationPolicy', { body });
    const approval = await pendingOf(await start(id, workspace.session));
    return (await decide(approval.id, workspace.jwt)).status;
  };
  expect(await runAndDecide({})).toBe(200);
  expect(await runAndDecide({ defaultApprovers: [workspace.email] })).toBe(200);
  expect(await runAndDecide({ soleMemberMayDecideOwnRuns: false })).toBe(403);
});
