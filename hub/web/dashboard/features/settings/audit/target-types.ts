import type { Words } from '../../../app/language.tsx';

export type TargetType = keyof Words['settings']['audit']['targets'];

/** Types of targets that the filter offers. A link can name any other. */
export const targetTypes: readonly TargetType[] = [
  'user',
  'token',
  'workspace',
  'workflow',
  'run',
  'approval',
  'node',
  'agent',
  'sequence',
  'session',
  'policy',
  'models',
  'channel',
  'webhook',
  'chat_settings',
  'chat_ai_settings',
  'knowledge',
  'conversation',
  'visitor',
  'pack',
  'call_connection',
  'sip_trunk',
  'campaign',
];
