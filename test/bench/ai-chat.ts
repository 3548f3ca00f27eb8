import { once } from 'node:events';
import type { EventEmitter } from 'node:events';
import { request } from 'undici';
import type { Agent } from 'undici';
import { createClient } from '../fixtures/contract-client.ts';
import type { Client, Fetch } from '../fixtures/contract-client.ts';
import { openVisitor } from '../fixtures/live-chat.ts';
import type { ModelServer } from '../fixtures/model-server.ts';
import type { SpeechServer } from '../fixtures/speech-server.ts';
import type { BenchHub } from './hub.ts';
import { compared } from './table.ts';

export interface AiBench {
  hub: BenchHub;
  model: ModelServer;
  speech: SpeechServer;
  tenantId: string;
  session: Client;
  sessionToken: string;
  key: string;
  dispatcher: Agent;
}

const rounds = 100;
const gapMs = 5;
/** A structured answer as the prompt asks for: the metadata first, then the reply. */
const answer = [
  '{"action":"answer","reason":"x","sources":[],"reply":"We ',
  ...Array.from({ length: 18 }, () => 'open at nine '),
  'daily."}',
];

/** When the model wrote its first and its last part, by the clock of this process. */
interface Written {
  firstAt: number;
  lastAt: number;
}

/** Returns the time at which the page receives a matching frame. */
export async function nextFrame<Frame>(
  page: { frames: Frame[]; socket: EventEmitter },
  isIt: (frame: Frame) => boolean,
): Promise<number> {
  const signal = AbortSignal.timeout(30_000);
  for (;;) {
    if (page.frames.some(isIt)) return performance.now();
    await once(page.socket, 'message', { signal });
  }
}

/** Measures the delay from the model to the page of a visitor, compared with a client that reads the model directly. */
export async function measureFirstWords({
  hub,
  model,
  tenantId,
  session,
  dispatcher,
}: AiBench): Promise<Record<string, string>[]> {
  await session.call('putChatAiSettings', {
    params: { tenantId },
    body: { enabled: true, mode: 'always', debounceMs: 0, maxRepliesPerConversation: 1_000, dailyReplyBudget: 100_000 },
  });
  const { key } = await session.call('createApiToken', {
    params: { tenantId },
    body: { name: 'bench', product: 'chat', permissions: ['chat:read', 'chat:write', 'visitors:read'] },
  });
  const client = (token: string) => createClient({ baseUrl: hub.url, fetch: fetch as unknown as Fetch, token });
  let written: Written = { firstAt: 0, lastAt: 0 };
  model.reply = () => {
    // The server writes the first part in the same event loop turn in which it gets the answer.
    const firstAt = performance.now();
    written = { firstAt, lastAt: firstAt + (answer.length - 1) * gapMs };
    return { parts: answer, gapMs };
  };
  const chat = { first: [] as number[], whole: [] as number[], asked: [] as number[] };
  const bare = { first: [] as number[], whole: [] as number[] };
  let talk: Awaited<ReturnType<typeof begin>> | null = null;
  const begin = async (name: string) => {
    const { siteKey, visitorToken: link } = await client(key).call('createChatSession', { body: { externalId: name } });
    const { token } = await createClient({ baseUrl: hub.url, fetch: fetch as unknown as Fetch }).call(
      'openVisitorSession',
      { body: { siteKey, token: link } },
    );
    return { api: client(token), page: await openVisitor(hub.url, token) };
  };
  for (let round = -5; round < rounds; round += 1) {
    // A conversation has a limit of replies per hour, so a new one is started.
    if ((round + 5) % 20 === 0) {
      talk?.page.end();
      talk = await begin(`visitor ${round}`);
    }
    const { api, page } = talk as NonNullable<typeof talk>;
    page.frames.length = 0;
    const sentAt = performance.now();
    await api.call('sendVisitorMessage', { body: { content: 'When do you open?', clientId: `m${round}` } });
    const shownAt = await nextFrame(page, ({ type }) => type === 'delta');
    const endedAt = await nextFrame(page, (frame) => frame.type === 'message' && frame.message.senderType === 'ai');
    if (round >= 0) {
      chat.asked.push(written.firstAt - sentAt);
      chat.first.push(shownAt - written.firstAt);
      chat.whole.push(endedAt - written.firstAt);
    }
    const { body } = await request(`${model.baseUrl}/chat/completions`, {
      method: 'POST',
      dispatcher,
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ model: 'bench', messages: [{ role: 'user', content: 'When?' }], stream: true }),
    });
    let firstAt: number | null = null;
    for await (const _chunk of body) firstAt ??= performance.now();
    if (round >= 0) {
      bare.first.push((firstAt as number) - written.firstAt);
      bare.whole.push(performance.now() - written.firstAt);
    }
  }
  talk?.page.end();
  return [
    compared("from the visitor's message to the question at the model", chat.asked),
    compared('first part of the model to a direct client', bare.first),
    compared("first part of the model to the first words on the visitor's page", chat.first, bare.first),
    compared('first part to the end, direct client', bare.whole),
    compared("first part to the whole message on the visitor's page", chat.whole, bare.whole),
  ];
}
