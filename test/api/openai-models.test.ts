import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { startedRun } from '../../shared/contract/automations/workflows.ts';
import { aiChatScene } from '../fixtures/ai-chat-scene.ts';
import type { AiChatScene } from '../fixtures/ai-chat-scene.ts';
import { scripted } from '../fixtures/chat-model.ts';
import { startHub } from '../fixtures/hub.ts';
import type { TestHub } from '../fixtures/hub.ts';
import { refusalOfOpenAi, startModelServer } from '../fixtures/model-server.ts';
import type { ModelReply, ModelRequest, ModelServer } from '../fixtures/model-server.ts';
import { settledRun } from '../fixtures/settled-run.ts';
import { startSpeechServer } from '../fixtures/speech-server.ts';
import type { SpeechServer } from '../fixtures/speech-server.ts';

let model: ModelServer;
let speech: SpeechServer;
beforeAll(async () => {
  [model, speech] = [await startModelServer(), await startSpeechServer()];
});
afterAll(async () => {
  for (const server of [model, speech]) await server[Symbol.asyncDispose]();
});
beforeEach(() => {
  model.requests.length = 0;
});

/** A server that behaves like a current OpenAI model and returns a text. */
const answers =
  (text: string) =>
  (request: ModelRequest): ModelReply =>
    refusalOfOpenAi(request) ?? text;
const ownModel = () => ({
  AI_BASE_URL: model.baseUrl,
  AI_MODEL: 'gpt-5',
  AI_API_KEY: 'k',
  TTS_BASE_URL: speech.baseUrl,
  TTS_MODEL: 'voice',
  STT_BASE_URL: speech.baseUrl,
  STT_MODEL: 'ears',
});
const limitsSent = () =>
  model.requests.map(({ body }) => Object.keys(body).filter((name) => /^max_|^reasoning_|^temperature$/.test(name)));

/** All operations that call the model of the hub. */
const uses: [string, (hub: TestHub, scene: AiChatScene) => Promise<unknown>, unknown][] = [
  [
    'a run',
    async (hub, { workspace }) => {
      model.reply = answers('At nine.');
      const { outputText } = await hub.client(workspace.keys.ai).call('createAiRun', { body: { input: 'When?' } });
      return outputText;
    },
    'At nine.',
  ],
  [
    'speaking',
    async (hub, { workspace, tenantId }) => {
      model.reply = answers('At nine.');
      const path = `/tenants/${tenantId}/ai/speak/stream`;
      const headers = { authorization: `Bearer ${workspace.jwt}`, 'content-type': 'application/json' };
      return (
        await fetch(`${hub.url}${path}`, { method: 'POST', headers, body: JSON.stringify({ text: 'When?' }) })
      ).text();
    },
    expect.stringContaining('At nine.'),
  ],
  [
    'voice',
    async (_hub, { workspace, tenantId }) => {
      model.reply = answers('At nine.');
      return workspace.session.call('answerVoice', { params: { tenantId }, body: { text: 'When?' } });
    },
    expect.objectContaining({ text: 'At nine.', done: true }),
  ],
  [
    "an agent's step",
    async (_hub, { workspace }) => {
      model.reply = answers('FINAL: At nine.');
      const { api } = workspace;
      const stepsJson = [{ type: 'agent', prompt: 'When?' }] as never;
      const { id } = await api.call('createAutomationWorkflow', { body: { name: 'agent', stepsJson } });
      const { runId } = startedRun(await api.call('runAutomationWorkflow', { params: { id }, body: {} }));
      const run = await settledRun(api, runId);
      return run.stepsResultJson[0]?.outputText;
    },
    'At nine.',
  ],
  [
    'a suggestion to an agent',
    async (_hub, scene) => {
      model.reply = answers(scripted({ reply: 'At nine.' }));
      const visitor = await scene.visitor();
      await scene.sendAs(visitor, 'When?');
      const params = { tenantId: scene.tenantId, channelId: visitor.conversationId };
      return (await scene.workspace.session.call('createAiSuggestion', { params })).content;
    },
    'At nine.',
  ],
  [
    'a reply in the chat',
    async (_hub, scene) => {
      model.reply = answers(scripted({ reply: 'At nine.' }));
      await scene.setAi({ enabled: true, mode: 'always' });
      const visitor = await scene.visitor();
      await scene.sendAs(visitor, 'When?');
      await expect.poll(() => scene.publicMessages(visitor)).toHaveLength(2);
      return scene.publicMessages(visitor);
    },
    ['visitor: When?', 'ai: At nine.'],
  ],
];

describe('an OpenAI-compatible endpoint that rejects max_tokens', () => {
  let hub: TestHub;
  let scene: AiChatScene;
  beforeAll(async () => {
    hub = await startHub({ ...ownModel(), RATE_LIMIT_PER_MINUTE: '100000', EGRESS_ALLOW_HOSTS: model.host });
    scene = await aiChatScene(hub);
  });
  afterAll(() => hub[Symbol.asyncDispose]());

  test.each(uses)('answers %s', async (_name, use, answer) => {
    expect(await use(hub, scene)).toEqual(answer);
  });

  test('rejects max_tokens once, and receives max_completion_tokens afterwards', async () => {
    for (let call = 0; call < 2; call += 1) await uses[0]?.[1](hub, scene);
    expect(limitsSent()).toEqual([['max_completion_tokens'], ['max_completion_tokens']]);
  });

  test('does not change the requests to other models of the same endpoint', async () => {
    const { api, keys } = await hub.workspace();
    const configured = { provider: 'openai-compatible', baseUrl: model.baseUrl, apiKey: 'k' } as const;
    const models = ['old', 'gpt-5'].map((name) => ({ ...configured, id: name, model: name }));
    model.reply = (request) => (request.model === 'old' ? 'At nine.' : answers('At nine.')(request));
    for (const order of [['gpt-5'], ['old'], ['gpt-5']]) {
      await api.call('putAutomationModels', { body: { models, order } });
      await hub.client(keys.ai).call('createAiRun', { body: { input: 'When?' } });
    }
    expect(limitsSent()).toEqual([
      ['max_tokens'],
      ['max_completion_tokens'],
      ['max_tokens'],
      ['max_completion_tokens'],
    ]);
  });
});

describe("OpenAI's own parameters", () => {
  test.each(uses)('are sent for %s with AI_PROVIDER=openai, without a rejected request', async (_name, use, answer) => {
    await using hub = await startHub({ ...ownModel(), AI_PROVIDER: 'openai' });
    expect(await use(hub, await aiChatScene(hub))).toEqual(answer);
    for (const sent of limitsSent()) expect(sent).not.toContain('max_tokens');
    for (const { body } of model.requests) expect(body['reasoning_effort']).toBe('low');
  });

  test('that a model rejects are left out of its later requests', async () => {
    await using hub = await startHub({ ...ownModel(), AI_PROVIDER: 'openai', AI_MODEL: 'gpt-5-pro' });
    const { keys } = await hub.workspace();
    model.reply = ({ body }) =>
      body['reasoning_effort'] === 'low'
        ? {
            status: 400,
            error: {
              message:
                "Unsupported value: 'reasoning_effort' does not support 'low' with this model. Supported values are: 'high'.",
              type: 'invalid_request_error',
              param: 'reasoning_effort',
              code: 'unsupported_value',
            },
          }
        : 'At nine.';
    for (let call = 0; call < 2; call += 1)
      expect(await hub.client(keys.ai).call('createAiRun', { body: { input: 'When?' } })).toMatchObject({
        outputText: 'At nine.',
      });
    expect(limitsSent()).toEqual([
      ['max_completion_tokens', 'reasoning_effort'],
      ['max_completion_tokens'],
      ['max_completion_tokens'],
    ]);
  });
});
