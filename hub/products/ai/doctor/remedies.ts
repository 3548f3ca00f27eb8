import type { InferenceFailure } from '../../../platform/inference/failure.ts';
import type { SpeechFailure } from '../speech/index.ts';

/** The settings of a binding, by which people know it. */
export interface BindingNames {
  url: string;
  key: string;
  model: string;
  /** What the hub adds to the address. */
  path: string;
}

const doesNotSpeak = ({ url, path }: BindingNames) =>
  `What answers there does not speak the protocol: ${url} must be the address before ${path}, which mostly ends in /v1.`;

const ofKind: Readonly<Record<InferenceFailure | SpeechFailure, (names: BindingNames) => string>> = {
  address_refused: ({ url }) => `Set ${url} to an http or https address without a user name.`,
  connect_refused: ({ url }) => `Nothing listens there: start it, or correct ${url}.`,
  connect_timeout: ({ url }) => `Nothing answers there: look at ${url}, and at the firewalls between.`,
  connect_failed: ({ url }) => `Look at the host of ${url}, and at this machine's network and name servers.`,
  tls: ({ url }) =>
    `Its certificate does not hold, or it agrees to no TLS of today: correct ${url}, or name the authority that signed it in NODE_EXTRA_CA_CERTS.`,
  no_tls: ({ url }) => `Is ${url} meant to begin with http:// instead of https://? Else correct its host or port.`,
  reset: () => 'It took the connection and closed it: look at its log, and at proxies between.',
  stalled_before_first_part: () =>
    'It takes the question and stays silent: look whether it still loads, or lacks power.',
  stalled_after_first_part: () => 'It falls silent in the middle: look at its log, and whether it lacks power.',
  stalled_before_first_byte: () =>
    'It takes the request and stays silent: look whether it still loads, or lacks power.',
  stalled_after_first_byte: () => 'It falls silent in the middle: look at its log, and whether it lacks power.',
  timeout: () => 'It takes longer than somebody who waits: choose a faster model, or a faster machine for it.',
  status: ({ url }) => `Look at its log, and at ${url}.`,
  stream_error: () => 'It broke off with an error of its own: look at its log.',
  context_too_long: ({ model }) => `Set ${model} to a model with room for more text.`,
  content_filter: ({ model }) => `Its filter refuses the simplest question: set ${model} to another.`,
  empty: ({ model }) => `It answers with nothing: set ${model} to another.`,
  rubbish: doesNotSpeak,
  voice_unknown: () => 'Until then speech fails, but for callers who name another voice.',
  program_missing: () =>
    'Install it on this machine (Debian: apt-get install espeak-ng; macOS: brew install espeak-ng), or set TTS_PROVIDER=openai.',
  program_failed: () => 'Try it by hand: echo Hello | espeak-ng --stdin --stdout > hello.wav',
};

const ofStatus: Readonly<Record<number, (names: BindingNames) => string>> = {
  400: ({ model }) =>
    `It refuses the request: look whether ${model} is a model for this, and TTS_VOICE one of its voices.`,
  401: ({ key }) => `It does not accept the key: set ${key} to one that counts.`,
  402: ({ key }) => `It wants to be paid: look at the account of ${key}.`,
  403: ({ key, model }) => `The key may not do this: look at what ${key} may use, and at ${model}.`,
  404: (names) => `It knows no such model or address: look at ${names.model}. ${doesNotSpeak(names)}`,
  405: doesNotSpeak,
  413: () => 'It takes less at once than it is sent: raise its limit for requests.',
  422: ({ model }) =>
    `It refuses the request: look whether ${model} is a model for this, and TTS_VOICE one of its voices.`,
  429: ({ key }) => `It is asked too often, or its account is used up: wait, and look at the limits of ${key}.`,
};

/** What to do about a binding that failed, in words. */
export function remedyFor(
  { kind, status }: { kind: InferenceFailure | SpeechFailure; status: number | null },
  names: BindingNames,
): string {
  const known = kind === 'status' && status !== null ? ofStatus[status] : undefined;
  if (known !== undefined) return known(names);
  if (kind === 'status' && status !== null && status >= 500)
    return 'The fault is its own: look at its log, and try again.';
  return ofKind[kind](names);
}
