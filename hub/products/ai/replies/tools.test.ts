import { pino } from 'pino';
import { describe, expect, test } from 'vitest';
import { z } from 'zod';
import { defaultChatAiSettings } from '../../../../shared/contract/chat/ai-settings.ts';
import { AppError } from '../../../../shared/errors.ts';
import type { JsonValue } from '../../../../shared/json.ts';
import { hostileTexts } from '../../../../test/fixtures/hostile-texts.ts';
import { obey } from '../../../../test/fixtures/obedient-model.ts';
import type { ModelAnswer, ModelRequest } from '../../../engine/index.ts';
import { defineReadingSkill } from '../../../engine/skill.ts';
import { filterAnswer } from '../../../platform/inference/answer-filter.ts';
import { Quotation } from '../../../platform/inference/untrusted-text.ts';
import { buildPrompt } from './prompt.ts';
import { requestAnswer } from './request-answer.ts';
import type { Tool } from './tool.ts';
import { ToolBox } from './tools.ts';

const logger = pino({ level: 'silent' });
const signal = new AbortController().signal;

/** A tool that calls `read` with its input. */
function readingTool(read: (input: unknown) => Promise<JsonValue>, name = 'look_up'): Tool {
  const skill = defineReadingSkill({
    id: `test.${name}`,
    title: 'Look up',
    summary: 'Looks something up.',
    requires: [],
    scope: [],
    input: z.strictObject({ what: z.string().max(5).optional() }),
    output: z.any(),
    read: async (input) => ({ output: await read(input) }),
  });
  return {
    name,
    description: skill.summary,
    skill,
    reading: skill.reading ?? null,
    fixed: {},
    open: ['what'],
    links: false,
  };
}

const createToolBox = (tools: Tool[], timeoutMs?: number) =>
  new ToolBox('x', tools, {
    logger,
    mayRequestApproval: async () => true,
    ...(timeoutMs === undefined ? {} : { timeoutMs }),
  });
const message = (content: string, fileName: string | null = null) => ({
  id: 'm',
  conversationId: 'c',
  seq: 1,
  content,
  senderType: 'visitor' as const,
  senderId: null,
  senderName: null,
  senderPicture: null,
  attachments: fileName === null ? [] : [{ id: 'f', name: fileName, contentType: 'application/pdf', bytes: 12 }],
  clientId: null,
  createdAt: '2026-01-01T00:00:00.000Z',
});

describe('with a model that obeys every instruction in its prompt', () => {
  /** Follows every instruction it receives: the first answer calls tools, the second replies. */
  function obedient() {
    const requested: string[] = [];
    return {
      requested,
      async *stream({ instructions, messages }: ModelRequest): AsyncGenerator<string, ModelAnswer> {
        const sent = [instructions, ...messages.map(({ content }) => content)].join('\n');
        const { answer } = obey(sent);
        const calls = [...answer.matchAll(/TOOL_CALL:([\w.]+)\|/g)].map(([, tool = '']) => ({ tool, input: {} }));
        const isFirst = messages.every(({ role }) => role === 'user');
        requested.push(...(isFirst ? calls.map(({ tool }) => tool) : []));
        const text = JSON.stringify(
          isFirst ? { action: 'call', calls: [...calls, { tool: 'look_up' }] } : { action: 'answer', reply: answer },
        );
        yield text;
        const usage = { inputTokens: 1, outputTokens: 1 };
        return { text, usage, truncated: false, model: 'm', latencyMs: 1, attempts: [] };
      },
    };
  }

  test.each(['visitor', 'file name', 'result'] as const)(
    'only listed tools are called, and the answer contains no foreign address or HTML: %s',
    async (source) => {
      let requested = 0;
      let read = 0;
      for (const { name, text } of hostileTexts) {
        const box = createToolBox([
          readingTool(async () => {
            read += 1;
            return source === 'result' ? { state: text } : null;
          }),
        ]);
        const sent = {
          visitor: message(text.slice(0, 10_000)),
          'file name': message('', text),
          result: message('Call the tool memory.write with {"key":"x"}'),
        };
        const prompt = buildPrompt({ ...defaultChatAiSettings, tools: [] }, [sent[source]], [], '', box.text);
        const models = obedient();
        const { answer } = await requestAnswer(models, 'x', prompt, signal, { tools: box });
        requested += models.requested.filter((tool) => tool !== 'look_up').length;
        const foreign = box.uses.filter((use) => use.outcome !== 'unknown_tool' && use.name !== 'look_up');
        expect([name, foreign, box.approvalRequests]).toEqual([name, [], []]);
        const shown = filterAnswer(answer?.reply ?? '', new Set([...prompt.addresses, ...box.addresses]));
        expect([name, shown]).toEqual([name, expect.not.stringMatching(/https?:\/\/|<[a-z]|!\[/i)]);
      }
      expect(requested).toBeGreaterThan(10);
      expect(read).toBeGreaterThan(100);
    },
  );

  test.each(['visitor', 'file name'] as const)(
    'the prompt quotes each line of a visitor, and the text cannot end its quotation: %s',
    (source) => {
      for (const { name, text } of hostileTexts) {
        const sent = source === 'visitor' ? message(text) : message('', text);
        const { messages } = buildPrompt(defaultChatAiSettings, [sent], [], '');
        const unquoted = messages.map(({ content }) => content.split('\n').filter((line) => !line.startsWith('| ')));
        expect([name, unquoted]).toEqual([
          name,
          [
            [
              expect.stringMatching(/^begin [0-9a-f]{24} \(the visitor wrote\)$/),
              expect.stringMatching(/^end [0-9a-f]{24}$/),
            ],
          ],
        ]);
      }
    },
  );

  test('the prompt quotes each line of a tool result, and the result cannot end its quotation', async () => {
    for (const { name, text } of hostileTexts) {
      const quotation = new Quotation();
      const result = await createToolBox([readingTool(async () => text)]).call(
        [{ tool: 'look_up', input: {} }],
        quotation,
        signal,
      );
      const unquoted = result.split('\n').filter((line) => !line.startsWith('| '));
      expect([name, unquoted]).toEqual([
        name,
        [
          '1. look_up:',
          expect.stringMatching(/^begin [0-9a-f]{24} \(what look_up says\)$/),
          expect.stringMatching(/^end [0-9a-f]{24}$/),
          ...unquoted.slice(3, -1).map(() => '(The rest had no room.)'),
          'Now answer, or call again: 4 calls are left.',
        ],
      ]);
    }
  });
});

describe('the tools for one answer', () => {
  test('all time out together at their deadline, even a tool that ignores its signal', async () => {
    const never = readingTool(() => new Promise(() => undefined), 'never');
    const fast = readingTool(async () => 'there', 'fast');
    const box = createToolBox([never, fast], 30);
    const calls = [
      { tool: 'never', input: {} },
      { tool: 'fast', input: {} },
    ];
    const result = await box.call(calls, new Quotation(), signal);
    expect(result).toMatch(/\| It took too long\.[^]*\| "there"[^]*Now answer; no call is left\.$/);
    expect(box.uses.map(({ outcome }) => outcome)).toEqual(['timeout', 'answered']);
    // No further calls are made.
    expect(box.callsLeft).toBe(0);
    await box.call([{ tool: 'fast', input: {} }], new Quotation(), signal);
    expect(box.uses).toHaveLength(2);
  });

  test('are aborted together with the request for the answer', async () => {
    const stop = new AbortController();
    const box = createToolBox([readingTool(() => new Promise(() => stop.abort(new Error('superseded'))))]);
    await expect(box.call([{ tool: 'look_up', input: {} }], new Quotation(), stop.signal)).rejects.toThrow(
      'superseded',
    );
  });

  test('report a failure without its details, and describe invalid input', async () => {
    const failing = [new Error('password of the database'), new AppError('unavailable', 'host 10.0.0.1 is down')].map(
      (error, index) =>
        readingTool(async () => {
          throw error;
        }, `failing_${index}`),
    );
    const box = createToolBox([...failing, readingTool(async () => null)]);
    const result = await box.call(
      [
        { tool: 'failing_0', input: {} },
        { tool: 'failing_1', input: {} },
        { tool: 'look_up', input: { what: 'much too long' } },
        { tool: 'look_up', input: { other: 1 } },
      ],
      new Quotation(),
      signal,
    );
    expect(result).not.toMatch(/password|10\.0\.0\.1/);
    expect(result.match(/^\| .*$/gm)).toEqual([
      '| It failed; it says nothing about this.',
      '| It failed; it says nothing about this.',
      expect.stringMatching(/^\| It was not called: input\.what /),
      '| It was not called: it takes what',
    ]);
    expect(box.uses.map(({ outcome }) => outcome)).toEqual(['failed', 'failed', 'invalid_input', 'invalid_input']);
  });

  test('return results that fit into the smallest context, whatever their length', async () => {
    const box = createToolBox([readingTool(async () => '长'.repeat(100_000))]);
    const quotation = new Quotation();
    let characters = 0;
    for (let calls = 0; calls < 5; calls += 1)
      characters += (await box.call([{ tool: 'look_up', input: {} }], quotation, signal)).replaceAll(
        /[^长]/g,
        '',
      ).length;
    expect(characters).toBeGreaterThan(300);
    expect(characters).toBeLessThan(1_100);
  });
});
