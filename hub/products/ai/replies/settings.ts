import type { z } from 'zod';
import type { aiSettings as resource } from '../../../../shared/contract/chat/ai-settings.ts';
import { AppError } from '../../../../shared/errors.ts';
import type { SkillCatalog } from '../../../engine/skill.ts';
import type { Database } from '../../../platform/db/database.ts';
import type { SessionIdentity } from '../../../platform/http/auth/principal.ts';
import { changeAiSettings, readAiSettings } from '../../chat/settings/index.ts';
import type { AiSettingsNow } from '../../chat/settings/index.ts';
import { assertTools } from './tool-settings.ts';
import { readDay } from './turn-store.ts';
import type { DayRow } from './turn-store.ts';

type Patch = z.output<typeof resource.putChatAiSettings.body>;
type Shown = z.output<typeof resource.getChatAiSettings.response>;

/** The settings of the AI agent in the chat of a workspace. */
export class AiSettings {
  readonly #db: Database;
  readonly #skills: SkillCatalog;

  constructor(db: Database, skills: SkillCatalog) {
    this.#db = db;
    this.#skills = skills;
  }

  async show({ tenantId, entitlements }: SessionIdentity): Promise<Shown> {
    const [now, day] = await this.#db.read(tenantId, (tx) =>
      Promise.all([readAiSettings(tx, tenantId), readDay(tx, tenantId)]),
    );
    return present(now, day, entitlements.ai_agent);
  }

  /**
   * @throws AppError `product_not_entitled` if the patch switches the AI agent on, or adds a tool, without the
   * entitlement; `validation_failed` for a tool that the AI agent could not call.
   */
  async change({ tenantId, user, entitlements }: SessionIdentity, patch: Patch): Promise<Shown> {
    if (patch.enabled === true && !entitlements.ai_agent)
      throw new AppError(
        'product_not_entitled',
        'This workspace is not entitled to ai_agent, which body.enabled needs.',
      );
    if (patch.tools !== undefined) assertTools(patch.tools, this.#skills, entitlements);
    const [now, day] = await this.#db.workspace(tenantId, (tx) =>
      Promise.all([changeAiSettings(tx, tenantId, patch, `user:${user.id}`), readDay(tx, tenantId)]),
    );
    return present(now, day, entitlements.ai_agent);
  }
}

const present = ({ settings, updatedAt }: AiSettingsNow, day: DayRow, entitlementActive: boolean): Shown => ({
  ...settings,
  entitlementActive,
  usage: {
    day: day.day,
    replies: day.replies,
    suggestions: day.suggestions,
    handOvers: day.hand_overs,
    inputTokens: Number(day.input_tokens),
    outputTokens: Number(day.output_tokens),
  },
  updatedAt: updatedAt?.toISOString() ?? null,
});
