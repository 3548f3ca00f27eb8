import type { SettingName } from '../../../../shared/contract/core/change-events.ts';
import type { JsonObject } from '../../../../shared/json.ts';
import type { AuditEntry } from './entry.ts';

/** Objects whose changes are workspace events. The name is the type of the target and of the event. */
const objects: ReadonlySet<string> = new Set(['workflow', 'agent', 'sequence', 'channel', 'webhook']);

/** What the event calls an action; every other action is an update. */
const changes: Readonly<Record<string, string>> = { created: 'created', deleted: 'deleted', restored: 'restored' };

/** Settings by the type of the target of their audit entries. */
const settingOfTarget: Readonly<Record<string, SettingName>> = {
  policy: 'policy',
  models: 'models',
  'tool-profile': 'tool_profiles',
  chat_settings: 'chat',
  chat_ai_settings: 'chat_ai',
  knowledge: 'knowledge',
  token: 'tokens',
  call_connection: 'call_connections',
  sip_trunk: 'sip',
  hosted_sip: 'sip',
};

/** Settings of actions whose target has several of them. A new member may have accepted an invitation. */
const settingsOfAction: Readonly<Record<string, readonly SettingName[]>> = {
  'ai_budget.updated': ['ai_budget'],
  'allowed_origins.changed': ['origins'],
  'entitlements.changed': ['entitlements'],
  'workspace.renamed': ['workspace'],
  'member.added': ['members'],
  'member.joined': ['members', 'invitations'],
  'member.removed': ['members', 'invitations'],
  'member.role_changed': ['members', 'invitations'],
  'member.profile_updated': ['members'],
  'member.picture_set': ['members'],
  'member.picture_deleted': ['members'],
  'member.invited': ['invitations'],
  'invitation.revoked': ['invitations'],
};

/** The workspace events about what an audit entry records. They contain no details of the entry but the version. */
export function changeEventsOf({ actor: by, action, targetType, targetId, details }: AuditEntry): {
  type: string;
  data: JsonObject;
}[] {
  if (objects.has(targetType)) {
    const change = changes[action.split('.')[1] ?? ''] ?? 'updated';
    const data: JsonObject = { id: targetId, change, by };
    if (targetType === 'workflow') data['version'] = details['version'] ?? null;
    return [{ type: targetType, data }];
  }
  const setting = settingOfTarget[targetType];
  const settings = setting === undefined ? (settingsOfAction[action] ?? []) : [setting];
  return settings.map((each) => ({ type: 'settings', data: { setting: each, by } }));
}
