import { afterAll, beforeEach, describe, expect, test, vi } from 'vitest';
import { startUntrustedServer } from '../../../../test/fixtures/certificates.ts';
import { fastClock } from '../../../../test/fixtures/fast-clock.ts';
import { freePort } from '../../../../test/fixtures/free-port.ts';
import { chatProtocol, messagesProtocol } from '../../../../test/fixtures/model-protocols.ts';
import type { Finish } from '../../../../test/fixtures/model-protocols.ts';
import { startModelServer } from '../../../../test/fixtures/model-server.ts';
import type { ModelReply } from '../../../../test/fixtures/model-server.ts';
import type { Clock } from '../../../platform/clock.ts';
import { createEgress } from '../../../platform/egress/egress.ts';
import { createInference } from '../../../platform/inference/inference.ts';
import type { ModelBinding } from '../../../platform/inference/inference.ts';
import { failOver } from './failover.ts';
import type { CallEnd, Candidate } from './failover.ts';
import { ModelsFailed } from './index.ts';

const clock = fastClock(10);
const first = await startModelServer();
const second = await startModelServer();
const untrusted = await startUntrustedServer();
const closedPort = await freePort();
const egress = createEgress({
  allowHosts: [first.host, second.host, untrusted.host, `127.0.0.1:${closedPort}`],
  resolve: () => new Promise(() => undefined),
  clock,
});
const inference = createInference(egress);
const consoleSpies = [vi.spyOn(console, 'error'), vi.spyOn(console, 'warn')];
afterAll(async () => {
  for (const spy of consoleSpies) spy.mockRestore();
  await egress[Symbol.asyncDispose]();
  await Promise.all([first, second, untrusted].map((server) => server[Symbol.asyncDispose]()));
});

const ends: CallEnd[] = [];
beforeEach(() => {
  ends.length = 0;
  for (const server of [first, second]) {
    server.requests.length = 0;
    server.aborted = 0;
  }
  second.reply = () => 'from the second';
});

const providers = ['openai-compatible', 'openai', 'anthropic'] as const;

function candidate(name: string, binding: Partial<ModelBinding>, more: Partial<Candidate> = {}): Candidate {
  return {
    name,
    modelId: name,
    binding: { provider: 'openai-compatible', baseUrl: first.baseUrl, model: name, apiKey: 'k', ...binding },
    inference,
    pausedMs: 0,
    admit: async () => ({ kind: 'call', isProbe: false }),
    record: (end) => void ends.push(end),
    ...more,
  };
}
const both = (binding: Partial<ModelBinding> = {}) => [
  candidate('alpha', { baseUrl: first.baseUrl, ...binding }),
  candidate('beta', { baseUrl: second.baseUrl }),
];

function ask(candidates: Candidate[], holdsParts = true, signal = new AbortController().signal, timer: Clock = clock) {
  const request = { instructions: 'Be brief.', messages: [{ role: 'user' as const, content: 'Why?' }], signal };
  return failOver(candidates, { clock: timer, request, holdsParts, onCall: () => undefined });
}

/** Reads all parts and the final answer or failure. */
async function drained(parts: ReturnType<typeof ask>) {
  const seen: string[] = [];
  try {
    for (;;) {
      const { done, value } = await parts.next();
      if (done === true) return { parts: seen, answer: value, failure: null };
      seen.push(value);
    }
  } catch (error) {
    if (!(error instanceof ModelsFailed)) throw error;
    return { parts: seen, answer: null, failure: error };
  }
}

interface Case {
  what: string;
  reply: ModelReply;
  outcome: string;
  /** Calls of the first model. The second model answers. */
  calls: number;
  /** Outcome of the second call, if it differs. */
  again?: string;
  /** Minimum time before the next model answers, in milliseconds. */
  leastMs?: number;
  /** Whether the case takes seconds. Only one provider runs it. */
  isLong?: boolean;
  health?: CallEnd['health'];
}

const cases: Case[] = [
  { what: 'a reset', reply: 'reset', outcome: 'reset', calls: 2 },
  { what: '400', reply: { status: 400 }, outcome: 'http_400', calls: 1, health: 'answered' },
  { what: '401', reply: { status: 401 }, outcome: 'http_401', calls: 1 },
  { what: '403', reply: { status: 403 }, outcome: 'http_403', calls: 1 },
  { what: '404', reply: { status: 404 }, outcome: 'http_404', calls: 1 },
  { what: '408', reply: { status: 408 }, outcome: 'http_408', calls: 2 },
  { what: '409', reply: { status: 409 }, outcome: 'http_409', calls: 2 },
  { what: '413', reply: { status: 413 }, outcome: 'context_too_long', calls: 1, health: 'answered' },
  {
    what: 'too long a context, as OpenAI says it',
    reply: { status: 400, error: { code: 'context_length_exceeded', message: 'too much' } },
    outcome: 'context_too_long',
    calls: 1,
    health: 'answered',
  },
  {
    what: 'too long a context, as Anthropic says it',
    reply: { status: 400, error: { type: 'invalid_request_error', message: 'prompt is too long: 208310 tokens' } },
    outcome: 'context_too_long',
    calls: 1,
    health: 'answered',
  },
  { what: '429', reply: { status: 429 }, outcome: 'http_429', calls: 2 },
  {
    what: '429 with a pause',
    reply: { status: 429, headers: { 'retry-after': '2' } },
    outcome: 'http_429',
    calls: 2,
    leastMs: 2_000,
  },
  {
    what: '429 with a Retry-After beyond the time limit',
    reply: { status: 429, headers: { 'retry-after': '60' } },
    outcome: 'http_429',
    calls: 1,
  },
  {
    what: '429 with a Retry-After date beyond the time limit',
    reply: { status: 429, headers: { 'retry-after': new Date(Date.now() + 3_600_000).toUTCString() } },
    outcome: 'http_429',
    calls: 1,
  },
  { what: '500', reply: { status: 500 }, outcome: 'http_500', calls: 2 },
  { what: '529', reply: { status: 529 }, outcome: 'http_529', calls: 2 },
  {
    what: 'a redirect',
    reply: { status: 307, headers: { location: `${second.baseUrl}/x` } },
    outcome: 'http_3xx',
    calls: 1,
  },
  { what: 'HTML', reply: { raw: '<html>hello</html>', contentType: 'text/html' }, outcome: 'rubbish', calls: 2 },
  {
    what: 'JSON that is no completion',
    reply: { raw: '{"choices":[]}', contentType: 'application/json' },
    outcome: 'rubbish',
    calls: 2,
  },
  { what: 'no body', reply: { raw: '' }, outcome: 'rubbish', calls: 2 },
  { what: 'no word', reply: '', outcome: 'empty', calls: 2, health: 'answered' },
  { what: 'cut JSON', reply: { raw: 'data: {"id":"chatcmpl-1","choices":[{"ind\n\n' }, outcome: 'rubbish', calls: 2 },
  { what: 'a stream without its end', reply: { parts: ['so'], finish: 'none' }, outcome: 'rubbish', calls: 2 },
  { what: 'a reset in the middle', reply: { parts: ['so'], finish: 'reset' }, outcome: 'reset', calls: 2 },
  // The share of the first model is 15 s, and each stall time-out is 8 s.
  { what: 'silence', reply: 'hang', outcome: 'stalled_before_first_part', again: 'timeout', calls: 2, isLong: true },
  {
    what: 'silence after the head',
    reply: 'stall',
    outcome: 'stalled_before_first_part',
    again: 'timeout',
    calls: 2,
    isLong: true,
  },
  {
    what: 'silence after a part',
    reply: { parts: ['so'], finish: 'stall' },
    outcome: 'stalled_after_first_part',
    calls: 2,
    isLong: true,
  },
  {
    what: 'a content filter',
    reply: { parts: ['so'], finish: 'content_filter' },
    outcome: 'content_filter',
    calls: 1,
    health: 'answered',
  },
  {
    what: 'a content filter that refuses the prompt',
    reply: { status: 400, error: { code: 'content_filter', message: 'filtered' } },
    outcome: 'content_filter',
    calls: 1,
    health: 'answered',
  },
];

test.each(['openai-compatible', 'openai'] as const)(
  'an endpoint of %s that answers without a stream gives the whole answer',
  async (provider) => {
    const { whole } = chatProtocol;
    const say = (text: string, finish: Finish) => {
      first.reply = () => ({ raw: JSON.stringify(whole('alpha', text, finish)), contentType: 'application/json' });
      return drained(ask(both({ provider }), false));
    };
    const usage = { inputTokens: 10, outputTokens: 5 };
    const answered = await say('All of it.', 'stop');
    expect(answered).toMatchObject({ parts: ['All of it.'], answer: { text: 'All of it.', usage, truncated: false } });
    expect((await say('All', 'length')).answer).toMatchObject({ text: 'All', usage, truncated: true });
    expect((await say('', 'stop')).answer?.attempts.map(({ outcome }) => outcome)).toEqual([
      'empty',
      'empty',
      'answered',
    ]);
  },
);

describe.each(providers)('a model of %s', (provider) => {
  test.each(cases.filter(({ isLong }) => provider === 'openai-compatible' || isLong !== true))(
    'that answers with $what is called $calls times, then the next model is called',
    async ({ reply, outcome, again, calls, health, leastMs = 0 }) => {
      first.reply = () => reply;
      const startedAt = clock.now();
      const { answer } = await drained(ask(both({ provider })));
      const tookMs = clock.now() - startedAt;
      expect(tookMs).toBeLessThan(30_000);
      expect(tookMs).toBeGreaterThanOrEqual(leastMs);
      expect(answer).toMatchObject({ text: 'from the second', model: 'beta' });
      expect(answer?.attempts.map((attempt) => [attempt.model, attempt.outcome])).toEqual([
        ...[outcome, again ?? outcome].slice(0, calls).map((word) => ['alpha', word]),
        ['beta', 'answered'],
      ]);
      expect([first.requests.length, second.requests.length]).toEqual([calls, 1]);
      expect(ends[0]?.health).toBe(health ?? 'failed');
    },
  );

  test('answers in parts, with its usage and whether the answer was truncated', async () => {
    first.reply = () => ({ parts: ['Be', 'cause', '.'], finish: 'length' });
    const { parts, answer } = await drained(ask(both({ provider }), false));
    expect(parts).toEqual(['Be', 'cause', '.']);
    expect(answer).toMatchObject({
      text: 'Because.',
      truncated: true,
      usage: { inputTokens: 10, outputTokens: 5 },
      attempts: [{ model: 'alpha', outcome: 'answered' }],
    });
    expect(first.requests[0]?.stream).toBe(true);
  });

  test.each([
    ['1.5', 2],
    ['3e9', 100_000_000],
    ['1e308', 100_000_000],
    ['-5', 0],
  ])('that reports %s tokens has its usage rounded to a bounded whole number', async (count, tokens) => {
    const { begin, part, end } = provider === 'anthropic' ? messagesProtocol : chatProtocol;
    const whole = begin('alpha') + part('alpha', 'Why not?') + end('alpha', 'stop');
    first.reply = () => ({ raw: whole.replaceAll(/("\w+_tokens":)\d+/g, `$1${count}`) });
    const { answer } = await drained(ask(both({ provider })));
    expect(answer).toMatchObject({ text: 'Why not?', usage: { inputTokens: tokens, outputTokens: tokens } });
  });

  test('that fails after a streamed part is not continued by another model', async () => {
    first.reply = () => ({ parts: ['so'], finish: 'reset' });
    const { parts, failure } = await drained(ask(both({ provider }), false));
    expect(parts).toEqual(['so']);
    expect(failure?.attempts).toMatchObject([{ model: 'alpha', outcome: 'reset' }]);
    expect(second.requests.length).toBe(0);
  });

  test('that fails before its first streamed part is followed by the next model', async () => {
    first.reply = () => ({ streamError: { type: 'overloaded_error', message: 'busy' } });
    const { parts, answer } = await drained(ask(both({ provider }), false));
    expect(parts).toEqual(['from the second']);
    expect(answer?.attempts.map(({ outcome }) => outcome)).toEqual([
      expect.stringMatching(/^http_5/),
      expect.stringMatching(/^http_5/),
      'answered',
    ]);
  });

  test.each([true, false])(
    'has its connection closed when the caller aborts, before the first part: %s',
    async (isBefore) => {
      first.reply = () => (isBefore ? 'hang' : { parts: ['so'], finish: 'stall' });
      const stop = new AbortController();
      const parts = ask(both({ provider }), false, stop.signal);
      const next = parts.next();
      if (!isBefore) expect((await next).value).toBe('so');
      await expect.poll(() => first.requests.length).toBe(1);
      const following = isBefore ? next : parts.next();
      stop.abort(new Error('withdrawn'));
      await expect(following).rejects.toThrow('withdrawn');
      await expect.poll(() => first.aborted).toBe(1);
      expect(second.requests.length).toBe(0);
      expect(ends).toMatchObject([{ outcome: 'aborted', health: isBefore ? 'unknown' : 'answered' }]);
    },
  );

  test('has its connection closed when the reader stops early', async () => {
    first.reply = () => ({ parts: ['so'], finish: 'stall' });
    const parts = ask(both({ provider }), false);
    expect((await parts.next()).value).toBe('so');
    await parts.return(undefined as never);
    await expect.poll(() => first.aborted).toBe(1);
  });
});

describe('a model', () => {
  test.each([
    ['at a closed port', `http://127.0.0.1:${closedPort}/v1`, 'connect_refused', 2],
    ['that speaks no TLS', first.baseUrl.replace('http:', 'https:'), 'no_tls', 1],
    ['that cannot be connected to', 'https://silent.example/v1', 'connect_timeout', 2],
    ['with an untrusted certificate', `https://${untrusted.host}/v1`, 'tls', 1],
    ['at a private address', 'https://169.254.169.254/v1', 'address_refused', 1],
  ] as const)('%s is skipped', async (_what, baseUrl, outcome, tries) => {
    const { answer } = await drained(ask(both({ baseUrl })));
    expect(answer?.attempts.map((attempt) => attempt.outcome)).toEqual([
      ...Array.from({ length: tries }, () => outcome),
      'answered',
    ]);
    expect([second.requests.length, untrusted.requests]).toEqual([1, 0]);
  });

  test('that hangs leaves time for all others, and no deadline exceeds 30 s', async () => {
    first.reply = () => 'hang';
    const names = ['a', 'b', 'c', 'd', 'e'];
    const read: number[] = [];
    const deadlines: number[] = [];
    const watched: Clock = {
      now() {
        read.push(clock.now());
        return read.at(-1) as number;
      },
      after(ms, callback) {
        deadlines.push((read.at(-1) as number) + ms - (read[0] as number));
        return clock.after(ms, callback);
      },
    };
    const never = new AbortController().signal;
    const { failure } = await drained(
      ask(
        names.map((name) => candidate(name, {})),
        true,
        never,
        watched,
      ),
    );
    expect(deadlines.length).toBeGreaterThanOrEqual(names.length);
    expect(Math.max(...deadlines)).toBeLessThan(30_001);
    expect([...new Set(failure?.attempts.map(({ model }) => model))]).toEqual(names);
  });

  test('that streams slowly until the deadline fails alone, and the models after it keep their health', async () => {
    first.reply = () => ({ parts: Array.from({ length: 1_000 }, () => 'x'), gapMs: 20 });
    const { failure } = await drained(ask(both()));
    expect(failure?.attempts).toMatchObject([{ model: 'alpha', outcome: 'timeout' }]);
    expect(failure?.message).toContain('there was no time left for beta');
    expect(ends.map(({ health }) => health)).toEqual(['failed']);
    ends.length = 0;
    const streamed = await drained(ask([candidate('alpha', {})], false));
    expect(streamed.parts.length).toBeGreaterThan(0);
    // The slow side can be the reader or the model, so the health is unknown.
    expect(ends.map(({ outcome, health }) => [outcome, health])).toEqual([['timeout', 'unknown']]);
  });

  test('that keeps streaming is not cut off at the end of its share', async () => {
    // The answer takes longer than the share of the model, which is 15 s.
    first.reply = () => ({ parts: Array.from({ length: 10 }, () => 'x'), gapMs: 200 });
    expect((await drained(ask(both()))).answer).toMatchObject({ model: 'alpha', text: 'xxxxxxxxxx' });
  });

  test('that is paused is not called, and if all are paused the failure is immediate', async () => {
    const paused = (name: string, pausedMs: number) => candidate(name, {}, { pausedMs });
    const { answer } = await drained(ask([paused('alpha', 4_000), ...both().slice(1)]));
    expect(answer?.attempts).toMatchObject([
      { model: 'alpha', ms: 0, outcome: 'breaker_open' },
      { model: 'beta', outcome: 'answered' },
    ]);
    const { failure } = await drained(ask([paused('alpha', 4_000), paused('beta', 2_100)]));
    expect(failure).toMatchObject({ code: 'inference_failed', retryAfterSeconds: 3 });
    expect(failure?.message).toContain('try again in 3 s');
    expect(first.requests.length).toBe(0);
  });

  test('that answers one caller with an empty text keeps its health', async () => {
    first.reply = () => '';
    await drained(ask(both()));
    expect(ends.map(({ outcome, health }) => [outcome, health])).toEqual([
      ['empty', 'answered'],
      ['empty', 'answered'],
      ['answered', 'answered'],
    ]);
  });

  test('that is probed is called once', async () => {
    first.reply = () => ({ status: 500 });
    const probed = candidate('alpha', {}, { admit: async () => ({ kind: 'call', isProbe: true }) });
    await drained(ask([probed, ...both().slice(1)]));
    expect(first.requests.length).toBe(1);
    expect(ends[0]).toMatchObject({ outcome: 'http_500', health: 'failed', isProbe: true });
  });

  test('has no question and no provider message in its failures', async () => {
    first.reply = () => ({ status: 400, error: { message: 'your prompt "Why?" holds secret-key', code: 'bad_thing' } });
    const { failure } = await drained(ask([candidate('alpha', {})]));
    expect(failure?.message).toBe('No model answered: alpha answered 400 (bad_thing).');
  });
});

test('failover writes nothing to the console', () => {
  for (const spy of consoleSpies) expect(spy).not.toHaveBeenCalled();
});
