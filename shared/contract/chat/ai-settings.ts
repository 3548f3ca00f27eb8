import { z } from 'zod';
import { jsonObject } from '../../json.ts';
import { named, text, timestamp } from '../common.ts';
import { defineResource } from '../define.ts';
import { inWorkspace } from './callers.ts';
import { chatText } from './shapes.ts';

/** How the AI agent of a workspace takes part in its chats. */

export const aiModes = ['when_no_agent_online', 'always', 'off', 'shadow'] as const;
export type AiMode = (typeof aiModes)[number];

const wholeNumber = (least: number, most: number) => {
  const range = `from ${least.toLocaleString('en')} to ${most.toLocaleString('en')}`;
  return z.int(`must be a whole number ${range}`).min(least, `must be ${range}`).max(most, `must be ${range}`);
};

export const mostReplyTools = 8;
/** What `fixed` of a tool may name of the conversation in which it is called. */
export const replyToolReferences = ['visitor.externalId', 'visitor.id', 'conversation.id'] as const;

const replyTool = named(
  'ChatAiTool',
  z.strictObject({
    name: z
      .string()
      .regex(
        /^[a-z][a-z0-9_]{0,39}$/,
        'must be 1 to 40 small letters, digits and underscores, beginning with a letter, such as order_status',
      )
      .describe('How the agent calls it; unique among the tools'),
    skillId: text(1, 100).describe(
      'Of the catalogue of skills. One that only reads is called while it answers; any other makes an approval, and runs once a person has agreed',
    ),
    description: chatText(0, 300)
      .default('')
      .describe("What the agent is told that it is for; empty for the skill's own words"),
    fixed: jsonObject
      .default({})
      .describe(
        `Fields of the skill's input that the agent can not set. Their texts may name ${replyToolReferences.map((name) => `\`{{${name}}}\``).join(', ')}; where the visitor has no such id, there is no such tool`,
      ),
    links: z
      .boolean()
      .default(false)
      .describe('Whether an answer may name addresses that it finds; only where nobody but the workspace writes them'),
  }),
  {
    name: 'order_status',
    skillId: 'memory.read',
    description: "Where the visitor's order is",
    fixed: { key: 'order:{{visitor.externalId}}' },
    links: false,
  },
);
export type ChatAiTool = z.output<typeof replyTool>;

const settings = {
  enabled: z.boolean().describe('Needs the entitlement `ai_agent`'),
  mode: z
    .enum(aiModes, `must be one of ${aiModes.join(', ')}`)
    .describe(
      '`when_no_agent_online`: answers while nobody of the workspace is there; `always`: also then, and conversations go to nobody before a hand-over; `shadow`: suggests to agents, and writes to no visitor',
    ),
  businessProfile: chatText(0, 10_000).describe('What the agent is told of the business'),
  tone: chatText(0, 200).describe('How it writes, such as friendly and brief'),
  language: z
    .string()
    .regex(/^(auto|[a-zA-Z]{2,3}(-[a-zA-Z0-9]{2,8}){0,3})$/, 'must be auto, or a language code such as de or pt-BR')
    .describe('`auto` answers in the language of the visitor'),
  disclosure: chatText(0, 300).describe(
    "Shown to the visitor while it answers; empty for the page's own words that this is an assistant",
  ),
  handoffKeywords: z
    .array(chatText(1, 60))
    .max(100, 'must name at most 100 keywords')
    .describe('A message with one of them, as whole words in any script and case, goes to a person at once'),
  handoffMessage: chatText(0, 1_000).describe("What the visitor is told then; empty for the hub's own words"),
  maxRepliesPerConversation: wholeNumber(1, 1_000).describe(
    'Counted since a person last wrote in the conversation; the next message goes to a person',
  ),
  dailyReplyBudget: wholeNumber(0, 1_000_000).describe(
    'Replies and suggestions by itself in a day, UTC; beyond it messages go to a person',
  ),
  debounceMs: wholeNumber(0, 30_000).describe('It waits so long for more after the last message of the visitor'),
  minConfidence: z
    .number('must be a number from 0 to 1')
    .min(0, 'must be from 0 to 1')
    .max(1, 'must be from 0 to 1')
    .describe(
      'An answer whose best source from the knowledge scores less goes to a person; 0 lets it answer without any',
    ),
  tools: z
    .array(replyTool)
    .max(mostReplyTools, `must name at most ${mostReplyTools} tools`)
    .describe(
      'What it may call while it answers: together 5 calls and 20 seconds for an answer. What its skills say is quoted to the model; nothing else is ever called',
    ),
};

export const chatAiSettings = z.strictObject(settings);
export type ChatAiSettings = z.output<typeof chatAiSettings>;

export const defaultChatAiSettings: ChatAiSettings = {
  enabled: false,
  mode: 'when_no_agent_online',
  businessProfile: '',
  tone: '',
  language: 'auto',
  disclosure: '',
  handoffKeywords: [],
  handoffMessage: '',
  maxRepliesPerConversation: 20,
  dailyReplyBudget: 1_000,
  debounceMs: 1_500,
  minConfidence: 0,
  tools: [],
};

const example: ChatAiSettings = {
  ...defaultChatAiSettings,
  enabled: true,
  businessProfile: 'We rent boats in Kiel, from April to October.',
  handoffKeywords: ['refund', 'complaint'],
};

/** Signed in; the products that these need are told by the settings themselves. */
const admin = { tag: 'AI Agent', callers: ['session'], role: 'admin' } as const;

const shownAiSettings = named(
  'ChatAiSettings',
  z.object({
    ...settings,
    entitlementActive: z.boolean().describe('Without it nothing is answered, whatever `enabled` says'),
    usage: z
      .object({
        day: z.iso.date().describe('Today, UTC'),
        replies: z.int().describe('Replies that the AI agent sent'),
        suggestions: z.int().describe('Made by itself, in the mode `shadow`'),
        handOvers: z.int().describe('Conversations that it handed over to people'),
        inputTokens: z.int().describe('Tokens that were sent to models'),
        outputTokens: z.int().describe('Tokens that models wrote'),
      })
      .describe('Of today'),
    updatedAt: timestamp.nullable(),
  }),
  {
    ...example,
    entitlementActive: true,
    usage: { day: '2026-01-01', replies: 12, suggestions: 0, handOvers: 2, inputTokens: 14_000, outputTokens: 1_300 },
    updatedAt: '2026-01-01T09:00:00.000Z',
  },
);

export const aiSettings = defineResource({
  getChatAiSettings: {
    ...admin,
    method: 'GET',
    path: '/tenants/{tenantId}/chat/ai-settings',
    summary: 'Show how the AI agent answers in chats, and what it did today',
    params: inWorkspace,
    response: shownAiSettings,
  },
  putChatAiSettings: {
    ...admin,
    method: 'PUT',
    path: '/tenants/{tenantId}/chat/ai-settings',
    summary: 'Change how the AI agent answers in chats',
    description:
      'What is left out stays. To set `enabled` needs the entitlement `ai_agent`, and a tool those of its skill. Who takes care of a conversation is decided when it begins, is opened again, or a visitor writes where nobody has it yet: the agent, where this says so, until a person writes there or is assigned, or it is handed over.',
    params: inWorkspace,
    body: named('ChatAiSettingsPatch', chatAiSettings.partial(), {
      enabled: true,
      mode: 'when_no_agent_online',
      businessProfile: example.businessProfile,
      handoffKeywords: example.handoffKeywords,
      maxRepliesPerConversation: 20,
    }),
    response: shownAiSettings,
    errors: ['product_not_entitled'],
  },
});

/** Where an answer comes from. */
export const messageSource = named(
  'ChatMessageSource',
  z.object({
    id: text(1, 200).describe('Of an entry of the knowledge'),
    url: z.string().nullable().describe('Page on which visitors can read more; null without one'),
  }),
);
export type MessageSource = z.output<typeof messageSource>;

/** What the AI agent called for an answer; with what, and what came back, is not kept. */
export const toolUse = named(
  'ChatAiToolUse',
  z.object({
    name: z.string().describe('As in the settings; empty for one that there is not'),
    ms: z.int().describe('Duration of the call, in milliseconds'),
    outcome: z
      .enum(['answered', 'approval_asked', 'invalid_input', 'failed', 'timeout', 'unknown_tool'])
      .describe('`approval_asked`: a person decides, under approvals'),
  }),
);
export type ToolUse = z.output<typeof toolUse>;
