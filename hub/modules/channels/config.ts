import { channelConfigs, channelSecrets } from '../../../shared/contract/channels.ts';
import type { ChannelProvider } from '../../../shared/contract/channel-providers.ts';
import { AppError } from '../../../shared/errors.ts';
import type { JsonObject } from '../../../shared/json.ts';
import type { Secrets } from '../../platform/secrets.ts';
import type { ChannelConfig } from './providers/provider.ts';

const purpose = 'channel-secrets';

export interface StoredConfig {
  config: JsonObject;
  sealedSecrets: string;
}

/** The configuration of a channel with its secrets. */
export function openConfig(secrets: Secrets, stored: StoredConfig): ChannelConfig {
  return { ...(stored.config as ChannelConfig), ...(JSON.parse(secrets.open(purpose, stored.sealedSecrets)) as ChannelConfig) };
}

/**
 * Checks what a caller sent for a provider, and splits it into what may be read back and what is sealed. A secret that is left
 * out keeps the value that it had.
 * @throws AppError `validation_failed` with the path of each problem.
 */
export function sealConfig(secrets: Secrets, provider: ChannelProvider, given: JsonObject, before: StoredConfig | null): StoredConfig {
  const known = before === null ? {} : openConfig(secrets, before);
  const kept = Object.fromEntries(Object.entries(known).filter(([name]) => channelSecrets.includes(name)));
  const parsed = channelConfigs[provider].safeParse({ ...kept, ...given });
  if (!parsed.success) {
    const details = parsed.error.issues.map((issue) => ({
      path: `body.config${issue.path.map((part) => `.${String(part)}`).join('')}`,
      message: issue.code === 'invalid_type' && issue.path.length === 1 && !Object.hasOwn({ ...kept, ...given }, String(issue.path[0])) ? 'is required' : issue.code === 'unrecognized_keys' ? `has unknown fields: ${issue.keys.join(', ')}` : issue.message,
    }));
    throw new AppError('validation_failed', `The request can't be carried out: ${details[0]?.path} ${details[0]?.message}.`, { details });
  }
  const entries = Object.entries(parsed.data).filter(([, value]) => value !== undefined);
  return {
    config: Object.fromEntries(entries.filter(([name]) => !channelSecrets.includes(name))) as JsonObject,
    sealedSecrets: secrets.seal(purpose, JSON.stringify(Object.fromEntries(entries.filter(([name]) => channelSecrets.includes(name))))),
  };
}

/** Which secrets of a channel are set. */
export function secretsSet(secrets: Secrets, stored: StoredConfig): string[] {
  const config = openConfig(secrets, stored);
  return channelSecrets.filter((name) => config[name] !== undefined);
}
