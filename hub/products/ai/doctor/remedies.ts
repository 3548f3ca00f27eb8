import type { InferenceFailure } from '../../../platform/inference/failure.ts';
import type { SpeechFailure } from '../speech/index.ts';

/** The names of the settings of a binding. */
export interface BindingNames {
  url: string;
  key: string;
  model: string;
  /** The path that the hub appends to the address. */
  path: string;
}

const wrongProtocol = ({ url, path }: BindingNames) =>
  `The server does not speak the expected protocol: ${url} must be the address before ${path}, which usually ends in /v1.`;

const remedyByKind: Readonly<Record<InferenceFailure | SpeechFailure, (names: BindingNames) => string>> = {
  address_refused: ({ url }) => `Set ${url} to an http or https address without a user name.`,
  connect_refused: ({ url }) => `No server listens there: start it, or correct ${url}.`,
  connect_timeout: ({ url }) => `The server does not answer: check ${url} and the firewalls in between.`,
  connect_failed: ({ url }) => `Check the host of ${url}, and the network and name servers of this machine.`,
  tls: ({ url }) =>
    `Its certificate is invalid, or it supports no current TLS version: correct ${url}, or add its certificate authority to NODE_EXTRA_CA_CERTS.`,
  no_tls: ({ url }) => `Should ${url} begin with http:// instead of https://? Otherwise correct its host or port.`,
  reset: () => 'The server accepted the connection and closed it: check its log and the proxies in between.',
  stalled_before_first_part: () =>
    'The server accepts the question and sends nothing: check whether it is still loading or too slow.',
  stalled_after_first_part: () =>
    'The answer stops in the middle: check the log of the server and whether it is too slow.',
  stalled_before_first_byte: () =>
    'The server accepts the request and sends nothing: check whether it is still loading or too slow.',
  stalled_after_first_byte: () =>
    'The response stops in the middle: check the log of the server and whether it is too slow.',
  timeout: () => 'The answer takes too long: choose a faster model, or a faster machine for it.',
  status: ({ url }) => `Check its log and ${url}.`,
  stream_error: () => 'The server sent an error in the middle of the answer: check its log.',
  context_too_long: ({ model }) => `Set ${model} to a model with a larger context.`,
  content_filter: ({ model }) => `Its content filter refuses the simplest question: set ${model} to another model.`,
  empty: ({ model }) => `The answer is empty: set ${model} to another model.`,
  rubbish: wrongProtocol,
  voice_unknown: () => 'Until then speech fails, except for requests that name another voice.',
  program_missing: () =>
    'Install it on this machine (Debian: apt-get install espeak-ng; macOS: brew install espeak-ng), or set TTS_PROVIDER=openai.',
  program_failed: () => 'Try it by hand: echo Hello | espeak-ng --stdin --stdout > hello.wav',
};

const remedyByStatus: Readonly<Record<number, (names: BindingNames) => string>> = {
  400: ({ model }) =>
    `The server refuses the request: check that ${model} is a model for this purpose and that TTS_VOICE is one of its voices.`,
  401: ({ key }) => `The server does not accept the key: set ${key} to a valid one.`,
  402: ({ key }) => `The account has no credit: check the account of ${key}.`,
  403: ({ key, model }) => `The key lacks the permission: check the permissions of ${key}, and ${model}.`,
  404: (names) => `The model or the address does not exist: check ${names.model}. ${wrongProtocol(names)}`,
  405: wrongProtocol,
  413: () => 'The request is too large for the server: raise its limit for requests.',
  422: ({ model }) =>
    `The server refuses the request: check that ${model} is a model for this purpose and that TTS_VOICE is one of its voices.`,
  429: ({ key }) => `Too many requests, or the account has no credit: wait, and check the limits of ${key}.`,
};

/** Returns what the operator can do about a failed binding. */
export function remedyFor(
  { kind, status }: { kind: InferenceFailure | SpeechFailure; status: number | null },
  names: BindingNames,
): string {
  const byStatus = kind === 'status' && status !== null ? remedyByStatus[status] : undefined;
  if (byStatus !== undefined) return byStatus(names);
  if (kind === 'status' && status !== null && status >= 500)
    return 'The server has an internal error: check its log, and try again.';
  return remedyByKind[kind](names);
}
