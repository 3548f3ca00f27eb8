import type { ChannelProvider } from '../../../../shared/contract/automations/channel-providers.ts';
import { channelConfigs, channelSecrets, secretAddresses } from '../../../../shared/contract/automations/channels.ts';
import { AppError } from '../../../../shared/errors.ts';
import { fieldPath } from '../../../../shared/field-path.ts';
import { schemaMessage } from '../../../../shared/issue-messages.ts';
import type { JsonObject } from '../../../../shared/json.ts';
import type { Secrets } from '../../../platform/secrets/secrets.ts';
import type { ChannelConfig } from './providers/provider.ts';

const purpose = 'channel-secrets';

export interface StoredConfig {
  config: JsonObject;
  sealedSecrets: string;
}

/** The configuration of a channel with its decrypted secrets. */
export function openConfig(secrets: Secrets, stored: StoredConfig): ChannelConfig {
  return {
    ...(stored.config as ChannelConfig),
    ...(JSON.parse(secrets.open(purpose, stored.sealedSecrets)) as ChannelConfig),
  };
}

/**
 * Validates a configuration and splits it into readable fields and encrypted secrets. An omitted secret or address
 * keeps its stored value. A secret that is sent to an address is only kept for that address.
 * @param at path of the configuration in the request.
 * @throws AppError `validation_failed` with the path of each problem.
 */
export function sealConfig(
  secrets: Secrets,
  provider: ChannelProvider,
  given: JsonObject,
  before: StoredConfig | null,
  at = 'body.config',
): StoredConfig {
  const known = before === null ? {} : openConfig(secrets, before);
  const base: JsonObject = known['apiBaseUrl'] === undefined ? given : { apiBaseUrl: known['apiBaseUrl'], ...given };
  const moved = new Map(
    Object.entries(secretAddresses).flatMap(([address, names]) =>
      before === null || base[address] === known[address] ? [] : names.map((name) => [name, address]),
    ),
  );
  const kept = Object.fromEntries(
    Object.entries(known).filter(([name]) => channelSecrets.includes(name) && !moved.has(name)),
  );
  const whole = { ...kept, ...base };
  const parsed = channelConfigs[provider].safeParse(whole);
  if (!parsed.success) {
    const missing = (name: string) =>
      moved.has(name) && Object.hasOwn(known, name)
        ? `is required with another ${moved.get(name)}: a secret is only sent to the address that it was set for`
        : 'is required';
    const details = parsed.error.issues.map((issue) => ({
      path: fieldPath([at, ...issue.path]),
      message:
        issue.code === 'invalid_type' && issue.path.length === 1 && !Object.hasOwn(whole, String(issue.path[0]))
          ? missing(String(issue.path[0]))
          : issue.code === 'unrecognized_keys'
            ? `has unknown fields: ${issue.keys.join(', ')}`
            : schemaMessage(issue),
    }));
    throw new AppError(
      'validation_failed',
      `The request can't be carried out: ${details[0]?.path} ${details[0]?.message}.`,
      { details },
    );
  }
  const entries = Object.entries(parsed.data).filter(([, value]) => value !== undefined);
  return {
    config: Object.fromEntries(entries.filter(([name]) => !channelSecrets.includes(name))) as JsonObject,
    sealedSecrets: secrets.seal(
      purpose,
      JSON.stringify(Object.fromEntries(entries.filter(([name]) => channelSecrets.includes(name)))),
    ),
  };
}

/** The names of the stored secrets of a channel. */
export function secretsSet(secrets: Secrets, stored: StoredConfig): string[] {
  const config = openConfig(secrets, stored);
  return channelSecrets.filter((name) => config[name] !== undefined);
}
