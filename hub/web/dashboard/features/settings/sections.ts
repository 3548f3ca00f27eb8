import type { ComponentType } from 'react';
import type { Entitlements } from '../../../../../shared/client/operations.ts';
import { lazyPart } from '../../app/lazy-page.ts';

export interface SectionDefinition {
  /** Only admins can read it. */
  needsAdmin?: true;
  /** The workspace must have this entitlement. */
  needs?: keyof Entitlements;
  /** The code of each section loads when the section is opened. */
  Content: ComponentType;
}

export const sections = {
  profile: { Content: lazyPart(() => import('./profile/profile-section.tsx'), 'ProfileSection') },
  members: { Content: lazyPart(() => import('./members/members-section.tsx'), 'MembersSection') },
  entitlements: {
    Content: lazyPart(() => import('./entitlements/entitlements-section.tsx'), 'EntitlementsSection'),
  },
  chat: {
    needs: 'conversations_suite',
    Content: lazyPart(() => import('./chat/chat-section.tsx'), 'ChatSection'),
  },
  'chat-ai': {
    needsAdmin: true,
    needs: 'conversations_suite',
    Content: lazyPart(() => import('./chat-ai/chat-ai-section.tsx'), 'ChatAiSection'),
  },
  channels: {
    needs: 'automations',
    Content: lazyPart(() => import('./channels/channels-section.tsx'), 'ChannelsSection'),
  },
  policy: {
    needs: 'automations',
    Content: lazyPart(() => import('./policy/policy-section.tsx'), 'PolicySection'),
  },
  carriers: {
    needsAdmin: true,
    needs: 'business_calling',
    Content: lazyPart(() => import('./carriers/carriers-section.tsx'), 'CarriersSection'),
  },
  models: {
    needs: 'automations',
    Content: lazyPart(() => import('./models/models-section.tsx'), 'ModelsSection'),
  },
  'ai-usage': { Content: lazyPart(() => import('./ai-usage/ai-usage-section.tsx'), 'AiUsageSection') },
  tokens: {
    needsAdmin: true,
    Content: lazyPart(() => import('./tokens/tokens-section.tsx'), 'TokensSection'),
  },
  webhooks: {
    needsAdmin: true,
    needs: 'conversations_suite',
    Content: lazyPart(() => import('./webhooks/webhooks-section.tsx'), 'WebhooksSection'),
  },
  origins: {
    needsAdmin: true,
    Content: lazyPart(() => import('./origins/origins-section.tsx'), 'OriginsSection'),
  },
  audit: { needsAdmin: true, Content: lazyPart(() => import('./audit/audit-section.tsx'), 'AuditSection') },
  'usage-events': {
    needsAdmin: true,
    Content: lazyPart(() => import('./usage-events/usage-events-section.tsx'), 'UsageEventsSection'),
  },
} as const satisfies Record<string, SectionDefinition>;

export type SectionName = keyof typeof sections;

export const isSection = (name: string): name is SectionName => Object.hasOwn(sections, name);

/** The order of the list, in groups. */
export const groups = [
  ['workspace', ['profile', 'members', 'entitlements']],
  ['chat', ['chat', 'chat-ai']],
  ['automations', ['channels', 'policy']],
  ['calls', ['carriers']],
  ['ai', ['models', 'ai-usage']],
  ['developers', ['tokens', 'webhooks', 'origins']],
  ['records', ['audit', 'usage-events']],
] as const satisfies readonly (readonly [string, readonly SectionName[]])[];
