import { z } from 'zod';
import { maxVariables, powers } from './settings.ts';
import { auditVerdict, companionState, historyEntry, ownFiles, promptAnswers, systemPermission } from './state.ts';

/**
 * The control channel between a running companion and the owner's programs on the same machine: the command line and
 * the window. Each line on the socket is a JSON object. Both ends first prove that they can read the key in the data
 * folder (`hello`) and encrypt every later line. The client then sends requests `{ id, method, params }`, concurrently
 * if it wants, and gets `{ id, result }` or `{ id, error }`. After `subscribe`, it also gets `{ event }`.
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

/** A change by the owner. The same function applies it whether or not the companion runs. */
export const ownerChange = z.discriminatedUnion('change', [
  z.strictObject({ change: z.literal('pause') }),
  z.strictObject({ change: z.literal('resume') }),
  z.strictObject({
    change: z.literal('allow'),
    power,
    /** Duration of the permission; unlimited when omitted. */
    minutes: z.int().min(1).max(525_600).optional(),
    /** For `browser`: also allow it as root, where Chromium has no sandbox. */
    withoutSandbox: z.boolean().optional(),
    /**
     * For `system`: do not ask the owner before each program. Everyone who can approve at the hub can then run programs
     * here as this user.
     */
    withoutAsking: z.boolean().optional(),
  }),
  z.strictObject({ change: z.literal('deny'), power }),
  z.strictObject({
    change: z.literal('share'),
    path: z.string().min(1).max(4_096),
    /** Also share hidden files and key stores. */
    includeHidden: z.boolean().optional(),
    /** Allow the browser to save downloads in the folder. */
    receiveDownloads: z.boolean().optional(),
    /** The owner's confirmation for a whole home folder or drive. */
    isWide: z.boolean().optional(),
  }),
  z.strictObject({ change: z.literal('unshare'), path: z.string().min(1).max(4_096) }),
  /** Whether the owner is asked about programs that no rule decides. */
  z.strictObject({ change: z.literal('ask'), ask: z.boolean() }),
  z.strictObject({ change: z.literal('programs'), programs: z.array(z.string().min(1).max(4_096)).max(1_000) }),
  /** Variables that workflows may set for programs. */
  z.strictObject({
    change: z.literal('variables'),
    mode: z.enum(['add', 'remove']),
    names: z.array(z.string().min(1).max(300)).min(1).max(maxVariables),
    /** The owner's confirmation for names that are known to be able to load code. */
    isRisky: z.boolean().optional(),
  }),
  z.strictObject({
    change: z.literal('add_rule'),
    decision: z.enum(['allow', 'deny']),
    pattern: z.string().min(1).max(2_000),
    /**
     * For `allow`: the folder in which the rule applies, including subfolders. When omitted, only the home folder
     * itself.
     */
    folder: z.string().min(1).max(4_096).optional(),
    minutes: z.int().min(1).max(525_600).optional(),
  }),
  z.strictObject({ change: z.literal('remove_rule'), id: z.uuid() }),
  /** Omitted lists do not change. */
  z.strictObject({
    change: z.literal('browser_hosts'),
    allowHosts: hosts.optional(),
    blockHosts: hosts.optional(),
    privateHosts: hosts.optional(),
    /** How the given lists are applied; `replace` when omitted. */
    mode: z.enum(['add', 'remove', 'replace']).optional(),
  }),
  z.strictObject({ change: z.literal('browser_evaluate'), allowed: z.boolean() }),
  z.strictObject({ change: z.literal('browser_window'), headed: z.boolean() }),
  z.strictObject({ change: z.literal('keep_pictures'), keep: z.boolean() }),
  /** Accepts the changes of another program to settings.json. */
  z.strictObject({
    change: z.literal('accept_settings'),
    /** `edited.hash` of the state that the owner saw, so that later edits are not accepted. */
    seen: z.string().length(64).optional(),
  }),
  /** Discards the changes of another program to settings.json that the owner did not accept. */
  z.strictObject({ change: z.literal('discard_settings') }),
]);
export type OwnerChange = z.output<typeof ownerChange>;

/**
 * Whether a change can only restrict permissions, whatever the settings are. Such a change is accepted from every
 * program and also when the disk is full.
 */
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
    case 'variables':
      return change.mode === 'remove';
    default:
      return false;
  }
}

/** Parts of the self-test. Each part performs its action. */
export const testParts = ['screen', 'camera', 'audio', 'system', 'browser', 'hub'] as const;
export type TestPart = (typeof testParts)[number];

export const testResult = z.object({
  part: z.enum(testParts),
  /** `off`: the owner has not enabled the power, so that nothing was tested. */
  state: z.enum(['passed', 'failed', 'off']),
  detail: z.string(),
  /** The permission of the system and how to grant it; null without information. */
  permission: systemPermission.nullable(),
  /** A thumbnail of the captured picture, so that the owner sees what a workflow would see. */
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
  /** Verifies the whole audit log: in memory, on disk, and against the head that the hub knows. */
  verifyAudit: method(nothing, auditVerdict),
  /** Renames an invalid audit log and starts a new one. */
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
      /** Replace an existing pairing. */
      force: z.boolean().default(false),
      /** The owner's consent to store the secret in a file that only they can read, if there is no key store. */
      secretInFile: z.boolean().default(false),
    }),
    companionState,
  ),
  /** Changes the address of the hub. The hub must prove its identity at the new address. */
  moveHub: method(
    z.strictObject({
      hub: z.string().min(1).max(2_000),
      /** Allow http to another machine. */
      insecure: z.boolean().default(false),
    }),
    companionState,
  ),
  /** Removes the pairing, and notifies the hub if it is reachable. */
  unpair: method(nothing, z.object({ nodeId: z.string().nullable(), hubKnows: z.boolean() })),
  /** Renames an unreadable file and starts with a new one: all powers off, or not paired. */
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

/** Events for subscribers: each change of the state, at most 10 per second, and each ended command. */
export const controlEvent = z.discriminatedUnion('event', [
  z.object({ event: z.literal('state'), state: companionState }),
  z.object({ event: z.literal('command'), entry: historyEntry }),
  z.object({ event: z.literal('test'), result: testResult }),
]);
export type ControlEvent = z.output<typeof controlEvent>;

/** Why a request failed: a code of the companion, and a sentence with what to do. */
export const controlError = z.object({ code: z.string(), message: z.string() });
export type ControlError = z.output<typeof controlError>;

/** A compressed P-256 public key in base64url. */
const publicKey = z.string().regex(/^[\w-]{44}$/);

/**
 * The handshake: the first line of the server, the answer of the client, and the proof of the server. Proofs are
 * HMAC-SHA256 in hex with the key in the data folder. Each end sends its process id and the public key of its process.
 * Every later line is a JSON string: base64 of AES-256-GCM with keys derived from both key pairs.
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
  /** Deadline in milliseconds of the machine's monotonic clock. The server refuses a request that arrives later. */
  deadline: z.number(),
});
export const controlAnswer = z.object({
  id: z.int().min(0),
  result: z.unknown().optional(),
  error: controlError.optional(),
});

/** Maximum length of a line in characters, enough for an encrypted picture. */
export const maxControlLine = 64 * 1024 * 1024;
