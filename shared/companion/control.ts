import { z } from 'zod';
import { powers } from './settings.ts';
import { auditVerdict, companionState, historyEntry, ownFiles, promptAnswers, systemPermission } from './state.ts';

/**
 * The control channel: how the owner's programs on the same machine, the command line and the window, speak with a running companion. Each line on the
 * socket is a JSON object. Both ends first prove that they can read the key in the data folder (`hello`), and seal every later line. Then the client sends requests
 * `{ id, method, params }`, in any number at once, and gets `{ id, result }` or `{ id, error }`; after `subscribe` also `{ event }`.
 */

export interface ControlMethod<Params extends z.ZodType = z.ZodType, Result extends z.ZodType = z.ZodType> {
  params: Params;
  result: Result;
}

const method = <Params extends z.ZodType, Result extends z.ZodType>(
  params: Params,
  result: Result,
): ControlMethod<Params, Result> => ({ params, result });
const nothing = z.strictObject({});
const power = z.enum(powers);
const hosts = z.array(z.string().min(1).max(300)).max(1_000);

/** One wish of the owner. The same function carries it out whether the companion runs or not. */
export const ownerChange = z.discriminatedUnion('change', [
  z.strictObject({ change: z.literal('pause') }),
  z.strictObject({ change: z.literal('resume') }),
  z.strictObject({
    change: z.literal('allow'),
    power,
    /** For so long; for good when left out. */
    minutes: z.int().min(1).max(525_600).optional(),
    /** With `browser`: also as root, where Chromium has no sandbox. */
    withoutSandbox: z.boolean().optional(),
    /** With `system`: without asking the owner before each program. Then whoever may approve at the hub runs programs here as this user. */
    withoutAsking: z.boolean().optional(),
  }),
  z.strictObject({ change: z.literal('deny'), power }),
  z.strictObject({
    change: z.literal('share'),
    path: z.string().min(1).max(4_096),
    /** With hidden files and key stores. */
    includeHidden: z.boolean().optional(),
    /** Downloads of the browser may be saved in it. */
    receiveDownloads: z.boolean().optional(),
    /** The owner's second word for a whole home folder or drive. */
    isWide: z.boolean().optional(),
  }),
  z.strictObject({ change: z.literal('unshare'), path: z.string().min(1).max(4_096) }),
  /** Whether the owner is asked for programs that no rule decides. */
  z.strictObject({ change: z.literal('ask'), ask: z.boolean() }),
  z.strictObject({ change: z.literal('programs'), programs: z.array(z.string().min(1).max(4_096)).max(1_000) }),
  z.strictObject({
    change: z.literal('add_rule'),
    decision: z.enum(['allow', 'deny']),
    pattern: z.string().min(1).max(2_000),
    /** With `allow`: the folder in which it permits, with the folders below it; the home folder itself when left out. */
    folder: z.string().min(1).max(4_096).optional(),
    minutes: z.int().min(1).max(525_600).optional(),
  }),
  z.strictObject({ change: z.literal('remove_rule'), id: z.uuid() }),
  /** A list that is left out stays as it is. */
  z.strictObject({
    change: z.literal('browser_hosts'),
    allowHosts: hosts.optional(),
    blockHosts: hosts.optional(),
    privateHosts: hosts.optional(),
    /** What happens to the hosts of each list that is given; `replace` when left out. */
    mode: z.enum(['add', 'remove', 'replace']).optional(),
  }),
  z.strictObject({ change: z.literal('browser_evaluate'), allowed: z.boolean() }),
  z.strictObject({ change: z.literal('browser_window'), headed: z.boolean() }),
  z.strictObject({ change: z.literal('keep_pictures'), keep: z.boolean() }),
  /** Lets settings.json count as another program left it. */
  z.strictObject({
    change: z.literal('accept_settings'),
    /** `edited.hash` of the state that the owner saw: a later edit is not accepted with it. */
    seen: z.string().length(64).optional(),
  }),
  /** Drops what another program wrote into settings.json and the owner did not accept. */
  z.strictObject({ change: z.literal('discard_settings') }),
]);
export type OwnerChange = z.output<typeof ownerChange>;

/** Whether a wish can only deny more, whatever the settings are: such a one is carried out for every program, and without room on the disk. */
export function onlyDenies(change: OwnerChange): boolean {
  switch (change.change) {
    case 'pause':
    case 'deny':
    case 'unshare':
      return true;
    case 'ask':
      return change.ask;
    case 'add_rule':
      return change.decision === 'deny';
    default:
      return false;
  }
}

/** What a self-test tries, by doing it. */
export const testParts = ['screen', 'camera', 'audio', 'system', 'browser', 'hub'] as const;
export type TestPart = (typeof testParts)[number];

export const testResult = z.object({
  part: z.enum(testParts),
  /** `off`: the owner has not switched it on, and nothing was tried. */
  state: z.enum(['passed', 'failed', 'off']),
  detail: z.string(),
  /** Who denies it, where somebody does, and how to allow it. */
  permission: systemPermission.nullable(),
  /** The frame that was taken, small, so that the owner sees what a workflow would. */
  picture: z.object({ contentType: z.string(), base64: z.string() }).nullable(),
  durationMs: z.number(),
});
export type TestResult = z.output<typeof testResult>;

export const controlMethods = {
  state: method(nothing, companionState),
  /** Newest first. */
  history: method(
    z.strictObject({ limit: z.int().min(1).max(1_000).default(200) }),
    z.object({ entries: z.array(historyEntry) }),
  ),
  picture: method(
    z.strictObject({ commandId: z.string().min(1).max(100) }),
    z.object({ contentType: z.string(), base64: z.string() }),
  ),
  /** Checks the whole log of the owner, in memory, on the disk and against what the hub knows of it. */
  verifyAudit: method(nothing, auditVerdict),
  /** Begins a new log beside one that does not fit any more. */
  setAuditAside: method(nothing, companionState),
  change: method(ownerChange, companionState),
  answerPrompt: method(z.strictObject({ promptId: z.uuid(), answer: z.enum(promptAnswers) }), companionState),
  pair: method(
    z.strictObject({
      code: z.string().min(1).max(50),
      hub: z.string().min(1).max(2_000),
      name: z.string().min(1).max(200).optional(),
      /** Allow http to another machine. */
      insecure: z.boolean().default(false),
      /** Although this machine is paired: forgets that hub. */
      force: z.boolean().default(false),
      /** The owner's word that the secret may lie in a file that only they can read, where there is no key store. */
      secretInFile: z.boolean().default(false),
    }),
    companionState,
  ),
  /** Goes on with the same hub at another address, which the hub has to prove to be its own. */
  moveHub: method(
    z.strictObject({
      hub: z.string().min(1).max(2_000),
      /** Allow http to another machine. */
      insecure: z.boolean().default(false),
    }),
    companionState,
  ),
  /** Forgets the hub, and tells it so where it can be reached. */
  unpair: method(nothing, z.object({ nodeId: z.string().nullable(), hubKnows: z.boolean() })),
  /** Puts a file that can't be read beside under another name, and begins it anew: everything off, or not paired. */
  setAside: method(z.strictObject({ file: z.enum(ownFiles) }), companionState),
  test: method(
    z.strictObject({ parts: z.array(z.enum(testParts)).min(1).max(testParts.length) }),
    z.object({ results: z.array(testResult) }),
  ),
  subscribe: method(nothing, companionState),
} as const;

export type ControlMethods = typeof controlMethods;
export type ControlMethodName = keyof ControlMethods;
export type ControlParams<Name extends ControlMethodName> = z.input<ControlMethods[Name]['params']>;
export type ControlResult<Name extends ControlMethodName> = z.output<ControlMethods[Name]['result']>;

/** What a subscriber hears: the state whenever it changed, at most ten times a second, and each command that is over. */
export const controlEvent = z.discriminatedUnion('event', [
  z.object({ event: z.literal('state'), state: companionState }),
  z.object({ event: z.literal('command'), entry: historyEntry }),
  z.object({ event: z.literal('test'), result: testResult }),
]);
export type ControlEvent = z.output<typeof controlEvent>;

/** Why a request was not carried out: a code of the companion's, and a sentence that says what to do. */
export const controlError = z.object({ code: z.string(), message: z.string() });
export type ControlError = z.output<typeof controlError>;

/** A public key on the curve P-256, compressed, in base64url. */
const publicKey = z.string().regex(/^[\w-]{44}$/);

/**
 * The server's first line, the client's answer, and the server's proof: HMAC-SHA256 with the key in the data folder, in hex. Each end states its process and the
 * public key of the process. Every later line is a JSON string: AES-256-GCM with keys from both key pairs, in base64.
 */
export const controlHello = z.object({
  hello: z.literal('outrigger.companion.v3'),
  nonce: z.string().length(64),
  pid: z.int().min(1),
  publicKey,
});
export const controlProof = z.object({
  proof: z.string().length(64),
  nonce: z.string().length(64),
  pid: z.int().min(1),
  publicKey,
});
export const controlWelcome = z.object({ proof: z.string().length(64) });

export const controlRequest = z.object({
  id: z.int().min(0),
  method: z.string(),
  params: z.unknown(),
  /** When the client stops waiting, in milliseconds of the machine's monotonic clock: a request that arrives later is refused. */
  deadline: z.number(),
});
export const controlAnswer = z.object({
  id: z.int().min(0),
  result: z.unknown().optional(),
  error: controlError.optional(),
});

/** Longest line, in characters: a sealed picture fits. */
export const maxControlLine = 64 * 1024 * 1024;
