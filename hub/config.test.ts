import { expect, test } from 'vitest';
import { ConfigError, parseConfig } from './config.ts';

const speechOf = (env: Record<string, string>) =>
  parseConfig({ env, readFile: () => 'k' }, { role: 'all', isTerminal: false }).speech;
const problemsOf = (env: Record<string, string>) => {
  try {
    speechOf(env);
    return [];
  } catch (error) {
    return (error as ConfigError).problems;
  }
};

test('speech is off unless an endpoint or espeak is configured', () => {
  const limits = { dailySeconds: 36_000, dailyCharacters: 500_000 };
  expect(speechOf({})).toEqual({ speechToText: null, textToSpeech: null, limits });
  expect(
    speechOf({ STT_BASE_URL: 'http://127.0.0.1:1/v1/', STT_MODEL: 'ears', STT_API_KEY: 'k', TTS_PROVIDER: 'espeak' }),
  ).toEqual({
    speechToText: { baseUrl: 'http://127.0.0.1:1/v1', model: 'ears', apiKey: 'k' },
    textToSpeech: { provider: 'espeak', voice: null },
    limits,
  });
  const endpoint = { TTS_BASE_URL: 'https://example.com/v1', TTS_MODEL: 'voice' };
  const textToSpeech = { provider: 'openai', baseUrl: 'https://example.com/v1', model: 'voice', apiKey: null };
  expect(speechOf(endpoint).textToSpeech).toEqual({ ...textToSpeech, voice: 'alloy' });
  expect(speechOf({ ...endpoint, TTS_PROVIDER: 'openai', TTS_VOICE: 'nova' }).textToSpeech).toEqual({
    ...textToSpeech,
    voice: 'nova',
  });
  expect(speechOf({ TTS_PROVIDER: 'espeak', TTS_VOICE: 'de' }).textToSpeech).toEqual({
    provider: 'espeak',
    voice: 'de',
  });
});

test('an incomplete speech configuration is refused, naming the missing setting', () => {
  expect(problemsOf({ STT_MODEL: 'ears' })).toEqual(['STT_BASE_URL is required when STT_MODEL is set']);
  expect(problemsOf({ TTS_BASE_URL: 'https://example.com' })).toEqual([
    'TTS_MODEL is required when TTS_BASE_URL is set',
  ]);
  expect(problemsOf({ TTS_PROVIDER: 'openai' })).toEqual([
    'TTS_BASE_URL and TTS_MODEL are required with TTS_PROVIDER=openai',
  ]);
  expect(problemsOf({ TTS_PROVIDER: 'festival' })).toEqual([
    'TTS_PROVIDER must be openai or espeak (it is "festival")',
  ]);
});

test.each(['AI', 'EMBEDDINGS', 'STT', 'TTS'])(
  'a %s API key with characters that a header cannot contain is refused without showing it',
  (name) => {
    const rest = { [`${name}_BASE_URL`]: 'https://example.com/v1', [`${name}_MODEL`]: 'm' };
    for (const key of ['sk-…', 'two words', 'line\nline'])
      expect(problemsOf({ ...rest, [`${name}_API_KEY`]: key })).toEqual([
        `${name}_API_KEY must be printable ASCII without spaces: the key as its provider shows it`,
      ]);
    expect(problemsOf({ ...rest, [`${name}_API_KEY`]: 'sk-proj_1.2~=' })).toEqual([]);
  },
);

test('an invalid setting is reported once, and not as missing too', () => {
  const refused = 'AI_BASE_URL must be an http or https address, such as https://api.example.com/v1 (it is "nonsense")';
  expect(problemsOf({ AI_BASE_URL: 'nonsense', AI_MODEL: 'm', AI_API_KEY: 'k' })).toEqual([refused]);
  expect(problemsOf({ AI_API_KEY_FILE: 'key' })).toEqual(['AI_API_KEY has no effect without AI_BASE_URL and AI_MODEL']);
});

test.each([
  [{ AI_INPUT_PRICE: '1', AI_OUTPUT_PRICE: '2' }, ['AI_INPUT_PRICE', 'AI_OUTPUT_PRICE'], 'AI_BASE_URL and AI_MODEL'],
  [{ EMBEDDINGS_API_KEY: 'k' }, ['EMBEDDINGS_API_KEY'], 'EMBEDDINGS_BASE_URL and EMBEDDINGS_MODEL'],
  [{ STT_API_KEY: 'k' }, ['STT_API_KEY'], 'STT_BASE_URL and STT_MODEL'],
  [{ TTS_API_KEY: 'k', TTS_VOICE: 'nova' }, ['TTS_API_KEY', 'TTS_VOICE'], 'TTS_BASE_URL and TTS_MODEL'],
])('settings without effect are refused by name: %o', (env, names, without) => {
  expect(problemsOf(env)).toEqual(names.map((name) => `${name} has no effect without ${without}`));
});

test('endpoint settings are refused with TTS_PROVIDER=espeak', () => {
  const endpoint = { TTS_BASE_URL: 'https://example.com/v1', TTS_MODEL: 'voice', TTS_API_KEY: 'k' };
  expect(problemsOf({ ...endpoint, TTS_PROVIDER: 'espeak' })).toEqual(
    Object.keys(endpoint).map((name) => `${name} has no effect with TTS_PROVIDER=espeak`),
  );
});

test('the sweep for lost webhook deliveries runs every 15 minutes in production and every 6 hours in staging unless WEBHOOK_DRAIN_SECONDS is set', () => {
  const drainOf = (env: Record<string, string>) =>
    parseConfig({ env, readFile: () => '' }, { role: 'all', isTerminal: false }).webhooks.drainSeconds;
  expect(drainOf({})).toBe(900);
  expect(drainOf({ HUB_ENVIRONMENT: 'production' })).toBe(900);
  expect(drainOf({ HUB_ENVIRONMENT: 'staging' })).toBe(21_600);
  expect(drainOf({ HUB_ENVIRONMENT: 'staging', WEBHOOK_DRAIN_SECONDS: '60' })).toBe(60);
  expect(problemsOf({ HUB_ENVIRONMENT: 'test' })).toEqual([expect.stringContaining('HUB_ENVIRONMENT must be')]);
});

const modelOf = (env: Record<string, string>) =>
  parseConfig({ env: { AI_MODEL: 'm', ...env }, readFile: () => '' }, { role: 'all', isTerminal: false }).ai;

test('the host of AI_BASE_URL selects the provider unless AI_PROVIDER is set', () => {
  const at = (AI_BASE_URL: string) => modelOf({ AI_BASE_URL })?.provider;
  expect(at('https://api.openai.com/v1')).toBe('openai');
  expect(at('https://eu.api.openai.com/v1/')).toBe('openai');
  expect(at('https://api.anthropic.com/v1')).toBe('anthropic');
  expect(at('https://api.openai.com.example.com/v1')).toBe('openai-compatible');
  expect(at('https://notapi.openai.com/v1')).toBe('openai-compatible');
  expect(modelOf({ AI_BASE_URL: 'https://api.openai.com/v1', AI_PROVIDER: 'openai-compatible' })?.provider).toBe(
    'openai-compatible',
  );
  expect(modelOf({ AI_PROVIDER: 'anthropic' })).toMatchObject({ baseUrl: 'https://api.anthropic.com/v1' });
});

test('a provider without its required settings is refused, naming the missing setting', () => {
  expect(problemsOf({ AI_PROVIDER: 'openai' })).toEqual(['AI_MODEL is required with AI_PROVIDER=openai']);
  expect(problemsOf({ AI_PROVIDER: 'openai-compatible', AI_MODEL: 'm' })).toEqual([
    'AI_BASE_URL is required when AI_MODEL is set',
  ]);
  expect(problemsOf({ AI_BASE_URL: 'https://example.com/v1', AI_MODEL: 'm', AI_PROVIDER: 'google' })).toEqual([
    'AI_PROVIDER must be one of openai-compatible, openai, anthropic (it is "google")',
  ]);
});

test('a PUBLIC_URL with a path is refused, because cookies and pages belong to a whole host', () => {
  const problem = [
    expect.stringContaining('PUBLIC_URL must have no path: give the hub a host name or a port of its own'),
  ];
  for (const url of ['https://example.com/hub', 'https://example.com/?a=b', 'https://example.com/#a'])
    expect(problemsOf({ PUBLIC_URL: url }), url).toEqual(problem);
  for (const url of ['https://hub.example.com', 'https://hub.example.com/', 'http://example.com:8080'])
    expect(problemsOf({ PUBLIC_URL: url }), url).toEqual([]);
});

test('one API key or user has at most a quarter of the streams of a workspace unless STREAMS_PER_KEY is set', () => {
  const streamsOf = (env: Record<string, string>) =>
    parseConfig({ env, readFile: () => '' }, { role: 'all', isTerminal: false }).streams;
  expect(streamsOf({})).toEqual({ perWorkspace: 200, perKey: 50 });
  expect(streamsOf({ STREAMS_PER_WORKSPACE: '10' })).toEqual({ perWorkspace: 10, perKey: 3 });
  expect(streamsOf({ STREAMS_PER_WORKSPACE: '10', STREAMS_PER_KEY: '10' })).toEqual({ perWorkspace: 10, perKey: 10 });
});
