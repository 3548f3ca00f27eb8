import { z } from 'zod';
import { commandOrigin } from '../commands/origin.ts';
import { timestamp } from '../contract/common.ts';
import { powers, settingsSchema } from './settings.ts';

/** What a companion says of itself to its owner: to the command line and to the window. Whatever came from a hub or a page in it is text, and hostile. */

/** A way to mend what stands in the way of a power: in words, and where there is one, the one thing to click. */
const remedy = z.object({
  text: z.string(),
  /** A pane of the system's own settings, a command to copy, or another wish of the window. */
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

/** Whether the system under the companion lets it use a power. */
export const systemPermission = z.object({
  state: z.enum(['granted', 'denied', 'missing', 'unknown']),
  /** What is known: the displays, the camera's name, the path of the browser, or what is missing. */
  detail: z.string(),
  remedy: remedy.nullable(),
});
export type SystemPermission = z.output<typeof systemPermission>;

/** One power with the three that must agree: the owner, the hub, the system. */
const powerState = z.object({
  power: z.enum(powers),
  isAllowed: z.boolean().describe('The owner, now'),
  until: timestamp.nullable().describe("When the owner's word ends by itself"),
  hubAllows: z.boolean().nullable().describe('Null when the hub has no switch for it, or was not heard of yet'),
  system: systemPermission,
});
export type PowerState = z.output<typeof powerState>;

/** A command that waits for the owner's word: exactly what would run. */
export const prompt = z.object({
  id: z.uuid(),
  commandId: z.string(),
  /** Path of the program that `argv[0]` means on this machine, and the SHA-256 of its bytes. */
  program: z.string(),
  programSha256: z.string(),
  argv: z.array(z.string()),
  cwd: z.string(),
  env: z.record(z.string(), z.string()),
  stdin: z.string().nullable(),
  timeoutMs: z.number(),
  approvedBy: z.string().nullable().describe('Who approved it at the hub, as the hub says'),
  origin: commandOrigin
    .nullable()
    .default(null)
    .describe('Where the command comes from; null when the hub states nothing'),
  /** Why nothing decides it: no rule does, one did for other bytes of the same program, or one permits the same command line in another folder. */
  reason: z.enum(['no_rule', 'program_changed', 'other_folder']),
  askedAt: timestamp,
  expiresAt: timestamp.describe('When it is refused by itself'),
});
export type Prompt = z.output<typeof prompt>;

/** The answers to a prompt: this time; exactly this for half an hour; exactly this for good; exactly this never again. */
export const promptDecisions = ['once', '30_minutes', 'always', 'never'] as const;
/** Besides: not this time. */
export const promptAnswers = ['deny', ...promptDecisions] as const;
export type PromptAnswer = (typeof promptAnswers)[number];

/** What an outcome does not tell of why a command did not run, or not to its end. */
export const endReasons = [
  'owner_said_no',
  'owner_did_not_answer',
  'owner_not_asked',
  'owner_paused',
  'owner_denied',
  'companion_stopped',
] as const;
export type EndReason = (typeof endReasons)[number];

/** A command that is over, and what became of it; or what the owner did themselves (`owner.change`, `owner.answer`), with what it was as summary. */
export const historyEntry = z.object({
  commandId: z.string(),
  type: z.string(),
  time: timestamp.describe('When it was over'),
  /** What was asked for, shortened; never what was typed, read or sent. */
  summary: z.string(),
  /** The script that ran in a page, cut where it is long, with the SHA-256 of all of it. */
  script: z.object({ text: z.string(), characters: z.int(), sha256: z.string() }).nullable().default(null),
  approvedBy: z.string().nullable(),
  origin: commandOrigin.nullable().default(null),
  outcome: z
    .string()
    .describe(
      '`begun` while no end is recorded, `succeeded`, the code of the failure, or `done` for what the owner did',
    ),
  message: z.string().nullable(),
  reason: z.enum(endReasons).nullable().default(null).catch(null),
  durationMs: z
    .number()
    .describe('From the beginning to the end; with `outcome_unknown` the most that it can have been'),
  /** Whether it had begun: one that was refused had not. */
  began: z.boolean(),
  /** Whether the picture that was sent is kept, for `picture`. */
  hasPicture: z.boolean(),
});
export type HistoryEntry = z.output<typeof historyEntry>;

/** Number and hash of the last entry of the owner's log. */
export const auditHead = z.object({ count: z.int().min(0), hash: z.string().regex(/^[0-9a-f]{64}$/) });
export type AuditHead = z.output<typeof auditHead>;

/** What a check of the owner's log found. */
export const auditVerdict = z.object({
  ok: z.boolean(),
  problem: z.string().nullable().describe('The first entry that does not fit, as a sentence'),
  entries: z.int().min(0).describe('Entries of the chain that are kept'),
  head: auditHead.nullable(),
});
export type AuditVerdict = z.output<typeof auditVerdict>;

/** What a companion keeps of its owner's word: what they allow, and the pairing. */
export const ownFiles = ['settings', 'identity'] as const;
export type OwnFile = (typeof ownFiles)[number];

/** Where the device secret lies. */
export const secretPlaces = ['file', 'key_store'] as const;

export const companionState = z.object({
  version: z.string(),
  pid: z.int(),
  dataFolder: z.string(),
  /** How this process keeps the device secret of a pairing that is made now; no key store means that the owner must agree to a file. */
  keyStore: z.object({ name: z.string().nullable().describe('Null where the system has none') }),
  paired: z
    .object({
      hub: z.string().describe('Its address, in ASCII'),
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
  /** Why it does not work, although it is paired: the hub revoked this machine, the secret can't be read. */
  problem: z.string().nullable(),
  /** Files of the data folder that can't be read; `setAside` begins them anew. */
  broken: z
    .array(z.object({ file: z.enum(ownFiles), path: z.string(), detail: z.string().describe('Why, as a sentence') }))
    .default([]),
  audit: z
    .object({
      problem: z.string().nullable().describe('Why the log can not be trusted any more, as a sentence'),
      unwritten: z.int().min(0).describe('Entries that the disk has not taken yet'),
    })
    .default({ problem: null, unwritten: 0 }),
  /** The settings file as another program left it, while or before this companion ran; null when nobody changed it. */
  edited: z
    .object({
      needsConsent: z.boolean().describe('Whether it allows more than the owner did: that part does not count yet'),
      detail: z.string().describe('What to know of it, as sentences'),
      hash: z
        .string()
        .nullable()
        .default(null)
        .describe('SHA-256 of the edited settings, in hex, for `accept_settings`'),
      pairing: z
        .boolean()
        .default(false)
        .describe('Whether a pairing waits too. It cannot be discarded: the owner accepts it, or pairs again'),
      changes: z
        .array(z.string())
        .max(50)
        .default([])
        .describe('Settings that do not count yet, with the value in force and the value in the file'),
    })
    .nullable()
    .default(null),
  running: z.array(z.object({ id: z.string(), type: z.string(), summary: z.string(), startedAt: timestamp })),
  prompts: z.array(prompt),
  settings: settingsSchema(() => true),
  powers: z.array(powerState),
});
export type CompanionState = z.output<typeof companionState>;
