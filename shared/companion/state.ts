import { z } from 'zod';
import { commandOrigin } from '../commands/origin.ts';
import { timestamp } from '../contract/common.ts';
import { powers, settingsSchema } from './settings.ts';

/**
 * State of a companion for its owner, shown on the command line and in the window. Values from a hub or a page are
 * untrusted: show them as text only.
 */

/** How to solve a problem with a power: a text and, if there is one, an action to click. */
const remedy = z.object({
  text: z.string(),
  /** Opens a pane of the system settings, copies a command, or calls another method of the window. */
  action: z
    .discriminatedUnion('kind', [
      z.object({ kind: z.literal('open_settings'), pane: z.enum(['screen', 'camera', 'microphone']) }),
      z.object({ kind: z.literal('copy'), command: z.string() }),
      z.object({ kind: z.literal('ask_system'), power: z.enum(powers) }),
      z.object({ kind: z.literal('share_folder') }),
    ])
    .nullable(),
});
export type Remedy = z.output<typeof remedy>;

/** Whether the operating system lets the companion use a power. */
export const systemPermission = z.object({
  state: z.enum(['granted', 'denied', 'missing', 'unknown']),
  /** Details, such as the displays, the name of the camera, the path of the browser, or the missing part. */
  detail: z.string(),
  remedy: remedy.nullable(),
});
export type SystemPermission = z.output<typeof systemPermission>;

/** A power with the permissions of the owner, the hub and the system, all of which are required. */
const powerState = z.object({
  power: z.enum(powers),
  isAllowed: z.boolean().describe('Whether the owner allows it now'),
  until: timestamp.nullable().describe("When the owner's permission expires; null if it does not"),
  hubAllows: z
    .boolean()
    .nullable()
    .describe('Whether the hub allows it; null if the hub has no switch for it or has not reported it yet'),
  system: systemPermission,
});
export type PowerState = z.output<typeof powerState>;

/** A command that waits for the decision of the owner, exactly as it would run. */
export const prompt = z.object({
  id: z.uuid(),
  commandId: z.string(),
  /** Path of the program to which `argv[0]` resolves, and the SHA-256 of its bytes. */
  program: z.string(),
  programSha256: z.string(),
  argv: z.array(z.string()),
  cwd: z.string(),
  env: z.record(z.string(), z.string()),
  stdin: z.string().nullable(),
  timeoutMs: z.number(),
  approvedBy: z.string().nullable().describe('Approver at the hub, as reported by the hub'),
  origin: commandOrigin.nullable().default(null).describe('Origin of the command; null if the hub does not report it'),
  /**
   * Why no rule decides: no rule matches, the bytes of the program changed, or the matching rule is for another folder.
   */
  reason: z.enum(['no_rule', 'program_changed', 'other_folder']),
  askedAt: timestamp,
  expiresAt: timestamp.describe('When the command is refused automatically'),
});
export type Prompt = z.output<typeof prompt>;

/** Answers to a prompt: allow once, allow exactly this for 30 minutes, always allow exactly this, never allow it. */
export const promptDecisions = ['once', '30_minutes', 'always', 'never'] as const;
/** `deny` refuses this time only. */
export const promptAnswers = ['deny', ...promptDecisions] as const;
export type PromptAnswer = (typeof promptAnswers)[number];

/** Why a command did not run or did not complete, in addition to its outcome. */
export const endReasons = [
  'owner_said_no',
  'owner_did_not_answer',
  'owner_not_asked',
  'owner_paused',
  'owner_denied',
  'companion_stopped',
] as const;
export type EndReason = (typeof endReasons)[number];

/** An ended command with its outcome, or an action of the owner (`owner.change`, `owner.answer`) with its summary. */
export const historyEntry = z.object({
  commandId: z.string(),
  type: z.string(),
  time: timestamp.describe('When the command ended'),
  /** Shortened description of the command; never contains typed, read or sent data. */
  summary: z.string(),
  /** The script that ran in a page, truncated, with the SHA-256 of the whole script. */
  script: z.object({ text: z.string(), characters: z.int(), sha256: z.string() }).nullable().default(null),
  approvedBy: z.string().nullable(),
  origin: commandOrigin.nullable().default(null),
  outcome: z
    .string()
    .describe('`begun` until the end is recorded, `succeeded`, the error code, or `done` for an action of the owner'),
  message: z.string().nullable(),
  reason: z.enum(endReasons).nullable().default(null).catch(null),
  durationMs: z.number().describe('Duration in milliseconds; for `outcome_unknown` the maximum possible duration'),
  /** Whether the command started; false for a refused command. */
  began: z.boolean(),
  /** Whether the sent picture is kept and available with `picture`. */
  hasPicture: z.boolean(),
});
export type HistoryEntry = z.output<typeof historyEntry>;

/** Number and hash of the last entry of the audit log. */
export const auditHead = z.object({ count: z.int().min(0), hash: z.string().regex(/^[0-9a-f]{64}$/) });
export type AuditHead = z.output<typeof auditHead>;

/** Result of a verification of the audit log. */
export const auditVerdict = z.object({
  ok: z.boolean(),
  problem: z.string().nullable().describe('First invalid entry, as a sentence; null without one'),
  entries: z.int().min(0).describe('Number of stored entries of the chain'),
  head: auditHead.nullable(),
});
export type AuditVerdict = z.output<typeof auditVerdict>;

/** Files with decisions of the owner: the permissions and the pairing. */
export const ownFiles = ['settings', 'identity'] as const;
export type OwnFile = (typeof ownFiles)[number];

/** Storage of the device secret. */
export const secretPlaces = ['file', 'key_store'] as const;

export const companionState = z.object({
  version: z.string(),
  pid: z.int(),
  dataFolder: z.string(),
  /** Key store for the device secret of a new pairing. Without one, the owner must consent to a file. */
  keyStore: z.object({ name: z.string().nullable().describe('Name of the key store; null if the system has none') }),
  paired: z
    .object({
      hub: z.string().describe('Address of the hub, in ASCII'),
      nodeId: z.string(),
      name: z.string().nullable(),
      pairedAt: z.string(),
      secretIn: z.enum(secretPlaces),
    })
    .nullable(),
  connection: z.object({
    isUp: z.boolean(),
    by: z.enum(['channel', 'poll']),
    lastError: z.string().nullable(),
  }),
  /** Why a paired companion does not work, such as a revoked node or an unreadable secret. */
  problem: z.string().nullable(),
  /** Unreadable files of the data folder; `setAside` replaces them. */
  broken: z
    .array(z.object({ file: z.enum(ownFiles), path: z.string(), detail: z.string().describe('Reason, as a sentence') }))
    .default([]),
  audit: z
    .object({
      problem: z.string().nullable().describe('Why the log is not trustworthy, as a sentence; null if it is'),
      unwritten: z.int().min(0).describe('Number of entries that are not written to disk yet'),
    })
    .default({ problem: null, unwritten: 0 }),
  /** Changes of another program to the settings file; null without changes. */
  edited: z
    .object({
      needsConsent: z
        .boolean()
        .describe('Whether the file allows more than the owner did; that part is not in effect yet'),
      detail: z.string().describe('Explanation, as sentences'),
      hash: z
        .string()
        .nullable()
        .default(null)
        .describe('SHA-256 of the edited settings, in hex, for `accept_settings`'),
      pairing: z
        .boolean()
        .default(false)
        .describe('Whether a pairing also waits. It cannot be discarded: the owner accepts it or pairs again'),
      changes: z
        .array(z.string())
        .max(50)
        .default([])
        .describe('Settings that are not in effect yet, with the effective value and the value in the file'),
    })
    .nullable()
    .default(null),
  running: z.array(z.object({ id: z.string(), type: z.string(), summary: z.string(), startedAt: timestamp })),
  prompts: z.array(prompt),
  settings: settingsSchema(() => true),
  powers: z.array(powerState),
});
export type CompanionState = z.output<typeof companionState>;
