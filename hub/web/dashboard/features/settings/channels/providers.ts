import type { Answer } from '../../../app/api.ts';

export type Channel = Answer<'getAutomationChannel'>;
export type Provider = Channel['provider'];

export interface ConfigField {
  name:
    | 'botToken'
    | 'signingSecret'
    | 'accessToken'
    | 'phoneNumberId'
    | 'appSecret'
    | 'verifyToken'
    | 'inboundSecret'
    | 'apiBaseUrl'
    | 'url'
    | 'senderName'
    | 'replyTo';
  isSecret?: true;
  isRequired?: true;
  /** Chosen by the workspace, not by the provider: a new channel gets a random one. */
  isOwn?: true;
  type?: 'url' | 'email';
}

const apiBaseUrl: ConfigField = { name: 'apiBaseUrl', type: 'url' };
const inboundSecret: ConfigField = { name: 'inboundSecret', isSecret: true };
const ownInboundSecret: ConfigField = { ...inboundSecret, isRequired: true, isOwn: true };

/** What each provider needs. `PutChannel` in the API reference says the same. */
export const configFields: Record<Provider, readonly ConfigField[]> = {
  telegram: [{ name: 'botToken', isSecret: true, isRequired: true }, ownInboundSecret, apiBaseUrl],
  slack: [
    { name: 'botToken', isSecret: true, isRequired: true },
    { name: 'signingSecret', isSecret: true, isRequired: true },
    inboundSecret,
    apiBaseUrl,
  ],
  whatsapp: [
    { name: 'accessToken', isSecret: true, isRequired: true },
    { name: 'phoneNumberId', isRequired: true },
    { name: 'appSecret', isSecret: true, isRequired: true },
    { name: 'verifyToken', isSecret: true, isRequired: true, isOwn: true },
    inboundSecret,
    apiBaseUrl,
  ],
  webhook: [ownInboundSecret, { name: 'url', type: 'url' }, { name: 'signingSecret', isSecret: true }],
  email: [ownInboundSecret, { name: 'senderName' }, { name: 'replyTo', type: 'email' }],
};
export const providers = Object.keys(configFields) as Provider[];

export type Config = Partial<Record<ConfigField['name'], string>>;

/** The configuration to send: an omitted secret keeps its value. */
export const filled = (config: Config): Record<string, string> =>
  Object.fromEntries(Object.entries(config).filter(([, value]) => value !== ''));
