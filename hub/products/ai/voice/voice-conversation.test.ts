import { expect, test } from 'vitest';
import { openFvad } from './voice-activity.ts';
import { VoiceConversation } from './voice-conversation.ts';

test('an interrupted turn has ended before the page receives the confirmation', async () => {
  let now = 0;
  const clock = { now: () => (now += 1), after: () => ({ [Symbol.dispose]: () => undefined }) };
  const signals: AbortSignal[] = [];
  const sent: string[] = [];
  const send = ({ type }: { type: string }) => sent.push(type);
  const conversation = new VoiceConversation({
    tenantId: 't',
    fvad: await openFvad(),
    connection: { isOpen: true, send, fail: () => undefined, close: () => undefined } as never,
    authorize: async () => undefined,
    onTurn: () => undefined,
    turns: {
      clock,
      slots: { acquire: async () => ({ [Symbol.dispose]: () => undefined }) },
      speech: { speechToText: null, textToSpeech: {} },
      speaking: {
        async *answerAloud({ signal }: { signal: AbortSignal }) {
          signals.push(signal);
          await new Promise((_resolve, reject) => signal.addEventListener('abort', reject));
          yield '';
        },
      },
    } as never,
  });
  const receive = (frame: object) => conversation.onMessage(Buffer.from(JSON.stringify(frame)), false);
  receive({ type: 'text', data: 'Hello?' });
  await expect.poll(() => signals.length).toBe(1);
  receive({ type: 'interrupt' });
  // Checked synchronously, without waiting.
  expect([sent.at(-1), signals[0]?.aborted]).toEqual(['done', true]);
});

test('an unknown voice is rejected and reset, a known voice is accepted, and a blank text is rejected', async () => {
  const failed: string[] = [];
  const spokenWith: unknown[] = [];
  const conversation = new VoiceConversation({
    tenantId: 't',
    fvad: await openFvad(),
    connection: {
      isOpen: true,
      send: () => undefined,
      fail: ({ code }: { code: string }) => failed.push(code),
      close: () => undefined,
    } as never,
    authorize: async () => undefined,
    onTurn: () => undefined,
    turns: {
      clock: { now: () => 0, after: () => ({ [Symbol.dispose]: () => undefined }) },
      slots: { acquire: async () => ({ [Symbol.dispose]: () => undefined }) },
      speech: {
        speechToText: null,
        textToSpeech: {
          hasVoice: async (name: string) => name === 'de',
          speak({ voice }: { voice?: string }) {
            spokenWith.push(voice);
            return (async function* () {})();
          },
        },
      },
      speaking: {
        async *answerAloud() {
          yield 'Good day.';
        },
      },
    } as never,
  });
  const receive = (frame: object) => conversation.onMessage(Buffer.from(JSON.stringify(frame)), false);
  receive({ type: 'config', data: { voice: 'nobody' } });
  await expect.poll(() => failed).toEqual(['voice_unknown']);
  receive({ type: 'text', data: 'Hello' });
  await expect.poll(() => spokenWith).toEqual([undefined]);
  receive({ type: 'config', data: { voice: 'de' } });
  receive({ type: 'text', data: 'Hello' });
  await expect.poll(() => spokenWith).toEqual([undefined, 'de']);
  expect(failed).toEqual(['voice_unknown']);
  receive({ type: 'text', data: ' ' });
  expect(failed).toEqual(['voice_unknown', 'validation_failed']);
});
