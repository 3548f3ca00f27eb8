import { describe, expect, onTestFinished, test } from 'vitest';
import { hostileTexts } from '../../../../test/fixtures/hostile-texts.ts';
import { linkedAddresses } from '../../../../test/fixtures/markdown-addresses.ts';
import { obey } from '../../../../test/fixtures/obedient-model.ts';
import type { ModelRequest } from '../../../engine/index.ts';
import { Answering, readAnswer } from './index.ts';
import { SpokenAnswerFilter } from './spoken-answer-filter.ts';

/** Creates a model that obeys every instruction it reads, and a workspace with hostile text in its knowledge. */
function answeringFrom(passage: string, terms: string, requests: ModelRequest[]) {
  const models = {
    configuredModels: async () => ({ models: [], order: [], fallback: { binding: { model: 'gpt-5' } } }),
    generate: async (request: ModelRequest) => {
      requests.push(request);
      const readText = [request.instructions, ...request.messages.map(({ content }) => content)].join('\n');
      const usage = { inputTokens: 1, outputTokens: 1 };
      return { text: obey(readText).answer, model: 'gpt-5', latencyMs: 1, usage, attempts: [], truncated: false };
    },
    async *stream(request: ModelRequest) {
      const answer = await models.generate(request);
      for (let at = 0; at < answer.text.length; at += 7) yield answer.text.slice(at, at + 7);
      return answer;
    },
  };
  const knowledge = {
    retrieve: async () => [{ id: 'p', question: 'What is it?', answer: passage, url: null, score: 1 }],
    readBusinessTerms: async () => terms,
  };
  return new Answering(models, knowledge);
}

const ask = { tenantId: 'x', task: 'Answer.', input: 'What is it?', signal: new AbortController().signal };
const addressesOf = (text: string) => text.match(/[a-z]+:\/\/[^\s<>")\]]+/gi) ?? [];

describe('an answer from knowledge with hostile text', () => {
  test.each(['passage', 'terms'] as const)(
    'contains no image, tag or foreign address when the model obeys the text: %s',
    async (place) => {
      let followed = 0;
      for (const { name, text } of hostileTexts) {
        const answering = place === 'passage' ? answeringFrom(text, '', []) : answeringFrom('Nothing.', text, []);
        const answer = await answering.ask(ask);
        followed += answer.text === 'Nothing was asked of me.' ? 0 : 1;
        const reached = linkedAddresses(answer.text).filter(
          (what) =>
            !/^link (?:mailto:[^?]*|https:\/\/(?:evil|shop)\.example)$/.test(what) &&
            !addressesOf(text).some((address) => what === `link ${address}`),
        );
        expect([name, reached]).toEqual([name, []]);
      }
      expect(followed).toBeGreaterThan(150);
    },
  );

  test('contains no more when it is streamed sentence by sentence', async () => {
    for (const { name, text } of hostileTexts) {
      const answering = answeringFrom(text, '', []);
      const whole = (await answering.ask(ask)).text;
      let aloud = '';
      for await (const sentence of answering.streamSentences(ask)) aloud += sentence;
      const reached = linkedAddresses(aloud).filter((what) => !linkedAddresses(whole).includes(what));
      expect([name, reached]).toEqual([name, []]);
      expect(aloud.length).toBeGreaterThanOrEqual(whole.length);
    }
  });

  test('is yielded completely before the stream of the model ends', async () => {
    const { promise, resolve } = Promise.withResolvers<void>();
    onTestFinished(() => resolve());
    const models = {
      async *stream() {
        yield* ['At ', 'nine.', ''];
        await promise;
      },
    };
    const knowledge = { retrieve: async () => [], readBusinessTerms: async () => '' };
    const sentences = new Answering(models as never, knowledge).streamSentences(ask);
    expect(await sentences.next()).toEqual({ done: false, value: 'At nine.' });
    resolve();
    expect(await sentences.next()).toMatchObject({ done: true });
  });

  test('names its passages as sources and quotes them before the question', async () => {
    const requests: ModelRequest[] = [];
    const answer = await answeringFrom('We open at nine.', 'We are a shop.', requests).ask(ask);
    expect(answer.sources).toEqual(['p']);
    expect(requests[0]?.messages[0]?.content).toMatch(
      /\| We are a shop\.[^]*\| We open at nine\.[^]*\n\nWhat is it\?$/,
    );
    expect(requests[0]?.maxOutputTokens).toBe(1_024);
  });
});

describe('a spoken answer', () => {
  test.each(['Hi. ', 'See a.bc/de. ', 'Yes.', '長い。', 'Say ` it. ', '``` a. '])(
    'is not filtered again from its start with each sentence: %s',
    (sentence) => {
      let read = 0;
      const aloud = new SpokenAnswerFilter((answer) => {
        read += answer.length;
        return readAnswer({ addresses: new Set() }, answer);
      });
      const count = Math.floor(8_000 / sentence.length);
      for (let index = 0; index < count; index += 1) aloud.push(sentence);
      expect(read).toBeLessThan(count * 1_500);
    },
  );

  test.each([1, 3, 7, 1_000])('contains no address when it is cut into parts of %i characters', (step) => {
    const hostile =
      'go to evil.com/secret now, evil\f.com/secret, evil\uFEFF.com/secret, `x` evil.com `y`, ``` a evil.com ``` evil.com and ` evil.com.';
    for (const text of [hostile, `${'a'.repeat(1_200)}${hostile}`, `\`${'a b '.repeat(400)}${hostile}`]) {
      const aloud = new SpokenAnswerFilter((answer) => readAnswer({ addresses: new Set() }, answer));
      let spoken = '';
      for (let at = 0; at < text.length; at += step) spoken += aloud.push(text.slice(at, at + step));
      expect(linkedAddresses(spoken)).toEqual([]);
    }
  });

  test('fails with inference_failed after 8,000 characters', async () => {
    let asked = 0;
    const endless = {
      configuredModels: async () => ({ models: [], order: [], fallback: { binding: { model: 'gpt-5' } } }),
      generate: () => Promise.reject(new Error('must not be called')),
      async *stream() {
        for (;;) {
          asked += 1;
          yield '\n\nAnd so on.';
        }
      },
    };
    const knowledge = { retrieve: async () => [], readBusinessTerms: async () => '' };
    let aloud = '';
    const answer = async () => {
      for await (const sentence of new Answering(endless, knowledge).streamSentences(ask)) aloud += sentence;
    };
    await expect(answer()).rejects.toMatchObject({ code: 'inference_failed' });
    expect([aloud.length > 7_900, aloud.length <= 8_000, asked]).toEqual([true, true, 667]);
  });
});
