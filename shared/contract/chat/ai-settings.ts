import { z } from 'zod';
import { jsonObject } from '../../json.ts';
import { named, text, timestamp } from '../common.ts';
import { defineResource } from '../define.ts';
import { inWorkspace } from './callers.ts';
import { chatText } from './shapes.ts';

/** Settings of the AI agent in chats. */

export const aiModes = ['when_no_agent_online', 'always', 'off', 'shadow'] as const;
export type AiMode = (typeof aiModes)[number];

const wholeNumber = (min: number, max: number) => {
  const range = `from ${min.toLocaleString('en')} to ${max.toLocaleString('en')}`;
  return z.int(`must be a whole number ${range}`).min(min, `must be ${range}`).max(max, `must be ${range}`);
};

export const maxReplyTools = 8;
/** References to the current conversation that `fixed` of a tool can contain. */
export const replyToolReferences = ['visitor.externalId', 'visitor.id', 'conversation.id'] as const;

const replyTool = named(
  'ChatAiTool',
  z.strictObject({
    name: z
      .string()
      .regex(
        /^[a-z][a-z0-9_]{0,39}$/,
        'must be 1 to 40 lower-case letters, digits and underscores, beginning with a letter, such as order_status',
      )
      .describe('Name of the tool for the agent; unique among the tools'),
    skillId: text(1, 100).describe(
      'Id of the skill in the catalog. A read-only skill is called while the agent answers; any other skill creates an approval and runs after a person approves',
    ),
    description: chatText(0, 300)
      .default('')
      .describe("Purpose of the tool, for the agent; the skill's own summary when empty"),
    fixed: jsonObject
      .default({})
      .describe(
        `Fields of the skill's input that the agent cannot set. Texts may contain ${replyToolReferences.map((name) => `\`{{${name}}}\``).join(', ')}; if the visitor lacks that id, the tool is not available`,
      ),
    links: z
      .boolean()
      .default(false)
      .describe(
        'Whether answers may contain URLs from the output of the tool; enable it only if the workspace controls them',
      ),
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
  enabled: z.boolean().describe('Whether the AI agent is enabled; requires the entitlement `ai_agent`'),
  mode: z
    .enum(aiModes, `must be one of ${aiModes.join(', ')}`)
    .describe(
      '`when_no_agent_online`: answers while no agent is online. `always`: also answers while agents are online; conversations are not assigned before a handoff. `shadow`: suggests replies to agents and sends nothing to visitors',
    ),
  businessProfile: chatText(0, 10_000).describe('Description of the business, for the agent'),
  tone: chatText(0, 200).describe('Style of the answers, such as `friendly and brief`'),
  language: z
    .string()
    .regex(/^(auto|[a-zA-Z]{2,3}(-[a-zA-Z0-9]{2,8}){0,3})$/, 'must be auto, or a language code such as de or pt-BR')
    .describe('Language of the answers; `auto`: the language of the visitor'),
  disclosure: chatText(0, 300).describe(
    "Notice to the visitor that an AI agent answers; the page's own text when empty",
  ),
  handoffKeywords: z
    .array(chatText(1, 60))
    .max(100, 'must name at most 100 keywords')
    .describe('A message with one of these whole words, in any case, is handed over to a person immediately'),
  handoffMessage: chatText(0, 1_000).describe("Message to the visitor at a handoff; the hub's own text when empty"),
  maxRepliesPerConversation: wholeNumber(1, 1_000).describe(
    'Maximum number of replies since a person last wrote in the conversation; the next message is handed over to a person',
  ),
  dailyReplyBudget: wholeNumber(0, 1_000_000).describe(
    'Maximum number of replies and automatic suggestions per UTC day; further messages are handed over to a person',
  ),
  debounceMs: wholeNumber(0, 30_000).describe('Milliseconds to wait for more after the last message of the visitor'),
  minConfidence: z
    .number('must be a number from 0 to 1')
    .min(0, 'must be from 0 to 1')
    .max(1, 'must be from 0 to 1')
    .describe(
      'Minimum score of the best knowledge source of an answer; below it the conversation is handed over to a person. 0 allows answers without sources',
    ),
  tools: z
    .array(replyTool)
    .max(maxReplyTools, `must name at most ${maxReplyTools} tools`)
    .describe(
      'Tools that the agent may call, at most 5 calls and 20 seconds in total for each answer. The agent can call nothing else. Output of the skills is quoted to the model',
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

/** An admin. The handlers check entitlements, because they depend on the settings. */
const admin = { tag: 'AI Agent', callers: ['session'], role: 'admin' } as const;

const aiSettingsResponse = named(
  'ChatAiSettings',
  z.object({
    ...settings,
    entitlementActive: z
      .boolean()
      .describe('Whether the workspace has the entitlement; without it the agent does not answer'),
    usage: z
      .object({
        day: z.iso.date().describe('Today, UTC'),
        replies: z.int().describe('Replies that the AI agent sent'),
        suggestions: z.int().describe('Automatic suggestions in the mode `shadow`'),
        handOvers: z.int().describe('Conversations that the AI agent handed over to people'),
        inputTokens: z.int().describe('Tokens that were sent to models'),
        outputTokens: z.int().describe('Tokens that models wrote'),
      })
      .describe('Usage of today'),
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
    summary: 'Get the AI settings of Live Chat',
    description: "Includes today's usage.",
    params: inWorkspace,
    response: aiSettingsResponse,
  },
  putChatAiSettings: {
    ...admin,
    method: 'PUT',
    path: '/tenants/{tenantId}/chat/ai-settings',
    summary: 'Update the AI settings of Live Chat',
    description:
      'Omitted fields do not change. Setting `enabled` requires the entitlement `ai_agent`; a tool requires the entitlements of its skill. The owner of a conversation is decided when the conversation starts, is reopened, or receives a visitor message while unowned. The AI agent owns it according to these settings until a person writes or is assigned, or until a handoff.',
    params: inWorkspace,
    body: named('ChatAiSettingsPatch', chatAiSettings.partial(), {
      enabled: true,
      mode: 'when_no_agent_online',
      businessProfile: example.businessProfile,
      handoffKeywords: example.handoffKeywords,
      maxRepliesPerConversation: 20,
    }),
    response: aiSettingsResponse,
    errors: ['product_not_entitled'],
  },
});

/** Source of an answer. */
export const messageSource = named(
  'ChatMessageSource',
  z.object({
    id: text(1, 200).describe('Id of the knowledge entry'),
    url: z.string().nullable().describe('Page on which visitors can read more; null without one'),
  }),
);
export type MessageSource = z.output<typeof messageSource>;

/** A tool call of the AI agent. Its input and output are not stored. */
export const toolUse = named(
  'ChatAiToolUse',
  z.object({
    name: z.string().describe('Name of the tool, as in the settings; empty for an unknown tool'),
    ms: z.int().describe('Duration of the call, in milliseconds'),
    outcome: z
      .enum(['answered', 'approval_asked', 'invalid_input', 'failed', 'timeout', 'unknown_tool'])
      .describe('Result of the call; `approval_asked`: a person must approve'),
  }),
);
export type ToolUse = z.output<typeof toolUse>;
