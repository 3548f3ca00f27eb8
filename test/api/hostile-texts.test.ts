import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { Run } from '../../shared/contract/automations/runs.ts';
import { startedRun } from '../../shared/contract/automations/workflows.ts';
import { hostileTexts } from '../fixtures/hostile-texts.ts';
import { startHub } from '../fixtures/hub.ts';
import type { TestHub, TestWorkspace } from '../fixtures/hub.ts';
import { linkedAddresses } from '../fixtures/markdown-addresses.ts';
import { obey, startObedientModel } from '../fixtures/obedient-model.ts';
import type { ObedientModel } from '../fixtures/obedient-model.ts';
import { send } from '../fixtures/requests.ts';
import { settledRun } from '../fixtures/settled-run.ts';

/** Secrets that a model must not reveal: keys, messages of others, notes, data of another workspace. */
const secrets = {
  hub: 'cd'.repeat(32),
  model: 'the-key-of-the-model',
  note: 'note-between-colleagues',
  visitor: 'word-of-another-visitor',
  caller: 'context-of-another-caller',
  memory: 'remembered-by-others',
  workspace: 'text-of-another-workspace',
};

let model: ObedientModel;
let hub: TestHub;
let workspace: TestWorkspace;

beforeAll(async () => {
  model = await startObedientModel();
  hub = await startHub({
    EGRESS_ALLOW_HOSTS: model.host,
    RATE_LIMIT_PER_MINUTE: '100000',
    SECRET_KEY: secrets.hub,
    QUEUED_RUNS_PER_WORKSPACE: '1000',
  });
  workspace = await hub.workspace();
  const other = await hub.workspace();
  for (const each of [workspace, other])
    await each.api.call('putAutomationModels', {
      body: {
        models: [
          { id: 'main', provider: 'openai-compatible', baseUrl: model.baseUrl, model: 'alpha', apiKey: secrets.model },
        ],
        order: ['main'],
      },
    });
  const chat = hub.client(workspace.keys.chat as string);
  const { conversationId } = await chat.call('createChatSession', { body: { externalId: 'somebody' } });
  await chat.call('sendChatMessage', { params: { id: conversationId }, body: { content: secrets.visitor } });
  await workspace.session.call(
    'sendInboxMessage' as never,
    {
      params: { tenantId: workspace.tenantId, id: conversationId },
      body: { content: secrets.note, private: true },
    } as never,
  );
  await ask({ input: 'x', context: secrets.caller });
  await ask({ input: 'x', context: secrets.workspace }, other.keys.ai as string);
  await workspace.api.call('putAutomationMemory', { body: { key: 'others', value: secrets.memory } });
  model.prompts.length = 0;
});
afterAll(async () => {
  await hub[Symbol.asyncDispose]();
  await model[Symbol.asyncDispose]();
});

const ask = (body: unknown, key = workspace.keys.ai as string) =>
  send(hub.url, 'POST', '/v1/ai/runs', { headers: { 'x-api-key': key }, body });

/** Calls a function for each text, with a few concurrent calls. */
async function forEach<Item>(items: readonly Item[], work: (item: Item) => Promise<void>): Promise<void> {
  const left = [...items];
  const next = async (): Promise<void> => {
    const item = left.shift();
    if (item === undefined) return;
    await work(item);
    await next();
  };
  await Promise.all(Array.from({ length: 6 }, next));
}

/**
 * Harmful parts of an answer: links, pictures and leaked secrets. An email address is harmless, because reading it
 * sends nothing.
 */
function harmOf(name: string, answer: string, given: readonly string[] = []): string[] {
  const reached = linkedAddresses(answer).filter(
    (what) => !/^link mailto:[^?]*$/.test(what) && !given.some((address) => what === `link ${address}`),
  );
  const leakedSecrets = [...Object.values(secrets), workspace.key, workspace.jwt].filter((secret) =>
    answer.includes(secret),
  );
  return [...reached, ...leakedSecrets].map((what) => `${name}: ${what}`);
}

/** Checks that no prompt contained a secret. */
function expectNothingTold(): void {
  const prompts = model.prompts.join('\n');
  for (const secret of [...Object.values(secrets), workspace.key, workspace.jwt]) expect(prompts).not.toContain(secret);
}

/** Waits for the end of a run. Its 40 steps can take long on a busy machine. */
async function settled(id: string): Promise<Run> {
  for (;;) {
    const run = await settledRun(workspace.api, id);
    if (run.finishedAt !== null) return run;
  }
}

/** Runs a step per text, many steps per workflow, and returns the outputs. */
async function inSteps(
  stepOf: (name: string) => Record<string, unknown>,
): Promise<{ name: string; output: Record<string, unknown>; outputText: string }[]> {
  const size = 40;
  const outputs: { name: string; output: Record<string, unknown>; outputText: string }[] = [];
  for (let at = 0; at < hostileTexts.length; at += size) {
    const part = hostileTexts.slice(at, at + size);
    const { id } = await workspace.api.call('createAutomationWorkflow', {
      body: {
        name: 'hostile',
        stepsJson: part.map((_text, index) => ({ ...stepOf(`h${index}`), continueOnError: true })) as never,
      },
    });
    const payload = Object.fromEntries(part.map(({ text }, index) => [`h${index}`, text]));
    const { runId } = startedRun(
      await workspace.api.call('runAutomationWorkflow', { params: { id }, body: { payload } }),
    );
    const run = await settled(runId);
    expect(run.status).toBe('succeeded');
    run.stepsResultJson.forEach((step, index) => {
      expect([part[index]?.name, step.status]).toEqual([part[index]?.name, 'succeeded']);
      outputs.push({
        name: part[index]?.name as string,
        output: step.output as Record<string, unknown>,
        outputText: step.outputText ?? '',
      });
    });
  }
  return outputs;
}

const addressesOf = (text: string) => text.match(/[a-z]+:\/\/[^\s<>")\]]+/gi) ?? [];
const textOf = (name: string) => hostileTexts.find((hostile) => hostile.name === name)?.text ?? '';

describe('with a model that obeys every text it reads', () => {
  test('each test text contains an instruction, and most answers would cause harm', () => {
    expect(hostileTexts.length).toBeGreaterThanOrEqual(100);
    expect(new Set(hostileTexts.map(({ name }) => name)).size).toBe(hostileTexts.length);
    const answers = hostileTexts.map(({ name, text }) => ({ name, ...obey(text) }));
    expect(answers.filter(({ followed }) => followed.length === 0).map(({ name }) => name)).toEqual([]);
    expect(answers.filter(({ answer }) => linkedAddresses(answer).length > 0).length).toBeGreaterThan(100);
  });

  test('the context of a run exposes nothing that was not given', async () => {
    const harm: string[] = [];
    await forEach(hostileTexts, async ({ name, text }) => {
      const answer = await ask({ input: 'What do you know of it?', context: text, metadata: { note: secrets.caller } });
      expect([name, answer.status]).toEqual([name, 200]);
      harm.push(...harmOf(name, String(answer.body['outputText'])));
      expect(String(answer.body['outputText'])).not.toMatch(/https?:\/\//i);
    });
    expect(harm).toEqual([]);
    expectNothingTold();
  });

  test('the input of a run returns only addresses that it contains', async () => {
    const harm: string[] = [];
    const direct = hostileTexts.filter(({ name }) => /^says|plainly/.test(name));
    await forEach(direct, async ({ name, text }) => {
      const answer = await ask({ input: text.slice(0, 4_000) });
      expect([name, answer.status]).toEqual([name, 200]);
      harm.push(...harmOf(name, String(answer.body['outputText']), addressesOf(text)));
    });
    expect(harm).toEqual([]);
    expectNothingTold();
  });

  test('ai.invoke returns only addresses from its input', async () => {
    const outputs = await inSteps((name) => ({
      type: 'skill',
      skillId: 'ai.invoke',
      input: { input: 'What is it about?', context: `{{payload.${name}}}` },
    }));
    expect(outputs).toHaveLength(hostileTexts.length);
    expect(outputs.flatMap(({ name, outputText }) => harmOf(name, outputText, addressesOf(textOf(name))))).toEqual([]);
    expectNothingTold();
  });

  test('an agent calls only listed tools, and its final answer contains nothing that was not given', async () => {
    const { id: toolProfileId } = await workspace.api.call('putAutomationToolProfile', {
      body: { name: 'reads', allow: ['memory.diff'], deny: [] },
    });
    const outputs = await inSteps((name) => ({
      type: 'agent',
      prompt: `{{payload.${name}}}`,
      toolProfileId,
      maxTurns: 4,
    }));
    expect(outputs).toHaveLength(hostileTexts.length);
    const calls = outputs.flatMap(({ output }) =>
      (output['turns'] as { calls: { skillId: string; status: string; error?: { code: string } }[] }[]).flatMap(
        (turn) => turn.calls,
      ),
    );
    expect(calls.filter(({ skillId }) => skillId === 'memory.write').length).toBeGreaterThan(10);
    expect(calls.filter(({ status, error }) => status !== 'failed' || error?.code !== 'unknown_tool')).toEqual([]);
    expect((await workspace.api.call('listAutomationMemory', { query: { key: 'pwned' } })).data).toEqual([]);
    expect(outputs.flatMap(({ name, outputText }) => harmOf(name, outputText, addressesOf(textOf(name))))).toEqual([]);
    expectNothingTold();
  });
});
