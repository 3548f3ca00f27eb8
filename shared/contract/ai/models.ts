import { z } from 'zod';
import { named, text, timestamp } from '../common.ts';
import { defineResource } from '../define.ts';
import { modelPrices } from './prices.ts';

const manage = {
  tag: 'Models',
  callers: ['token', 'session'],
  permission: 'automations:manage',
  role: 'agent',
} as const;

export const modelProviders = ['openai-compatible', 'openai', 'anthropic'] as const;
export type ModelProvider = (typeof modelProviders)[number];

/** Of keys that go into a header, which takes no other sign: for `regex`. */
export const apiKeySigns = [
  /^[!-~]*$/,
  'must be printable ASCII without spaces: the key as its provider shows it',
] as const;

const modelId = text(1, 100).regex(
  /^[A-Za-z0-9][A-Za-z0-9._-]*$/,
  'must begin with a letter or digit and hold letters, digits, dot, _ and -',
);
const baseUrl = z
  .url({ protocol: /^https?$/, error: 'must be an http or https address, such as https://api.example.com/v1' })
  .max(2000);

const shape = {
  id: modelId.describe('Your own name for the model, unique in the workspace; at most 100 characters'),
  provider: z.enum(modelProviders, `must be one of ${modelProviders.join(', ')}`).describe('Protocol of the provider'),
  model: text(1, 200).describe('As the provider names it'),
};

export const putModelsBody = named(
  'PutModels',
  z
    .strictObject({
      models: z
        .array(
          z.strictObject({
            ...shape,
            baseUrl: baseUrl.optional().describe('Needed for openai-compatible'),
            apiKey: text(1, 1000)
              .regex(...apiKeySigns)
              .optional()
              .describe(
                'Write only; the one that was set before for the same provider and baseUrl is kept when left out',
              ),
            prices: modelPrices
              .optional()
              .describe('What its tokens cost; without them they are counted, and nothing else'),
          }),
        )
        .max(20)
        .describe('Replaces all models; at most 20'),
      order: z.array(modelId).max(20).describe('Ids in the order in which they are tried'),
    })
    .superRefine(({ models, order }, context) => {
      const ids = models.map(({ id }) => id);
      models.forEach((model, index) => {
        if (ids.indexOf(model.id) !== index)
          context.addIssue({ code: 'custom', path: ['models', index, 'id'], message: 'is used by an earlier model' });
        if (model.provider === 'openai-compatible' && model.baseUrl === undefined)
          context.addIssue({
            code: 'custom',
            path: ['models', index, 'baseUrl'],
            message: 'is required for openai-compatible',
          });
        const first = models.find(({ prices }) => prices !== undefined)?.prices;
        if (model.prices !== undefined && model.prices.currency !== first?.currency)
          context.addIssue({
            code: 'custom',
            path: ['models', index, 'prices', 'currency'],
            message: `must be ${first?.currency ?? ''}, as the prices of the other models`,
          });
      });
      order.forEach((id, index) => {
        if (!ids.includes(id))
          context.addIssue({ code: 'custom', path: ['order', index], message: 'is not the id of one of models' });
        if (order.indexOf(id) !== index)
          context.addIssue({ code: 'custom', path: ['order', index], message: 'stands there twice' });
      });
    }),
  { models: [{ id: 'main', provider: 'openai', model: 'gpt-5', apiKey: 'sk-YOUR-KEY' }], order: ['main'] },
);

const models = named(
  'Models',
  z.object({
    models: z
      .array(
        z.object({
          ...shape,
          baseUrl: z.string().nullable().describe('URL of the API; null for the default URL of the provider'),
          apiKeySet: z.boolean().describe('Whether an API key is stored; the key itself is never shown'),
          prices: modelPrices.nullable().describe('Prices of its tokens; null when none are set'),
        }),
      )
      .describe('Models of the workspace, at most 20'),
    order: z.array(z.string()).describe('Ids of models in the order in which they are tried'),
    fallback: z
      .object({
        model: z.string().describe('Name of the model at its provider'),
        prices: modelPrices.nullable().describe('Prices of its tokens; null when none are set'),
      })
      .nullable()
      .describe('The model of the hub, used while `order` is empty; null when it is not used'),
    updatedAt: timestamp.nullable(),
  }),
);

export const modelConfigurations = defineResource({
  getAutomationModels: {
    ...manage,
    permission: 'automations:read',
    method: 'GET',
    path: '/v1/automations/models',
    summary: 'Read the models and their failover order',
    response: models,
  },
  putAutomationModels: {
    ...manage,
    liveOnly: true,
    role: 'admin',
    method: 'PUT',
    path: '/v1/automations/models',
    summary: 'Set the models and their failover order',
    description: [
      'Models are asked in their order until one answers, all within 30 seconds. What may pass is tried once more with the same model: a connection that can not be made or breaks, 8 seconds without a first byte or 10 in the middle, 408, 409, 429 (after its `Retry-After`, where there is time), 5xx and rubbish. What 400, 401, 403, 404, 413, a text that is too long or a content filter refuse goes to the next model at once. Endpoints are asked with `stream: true`; one that answers with a whole completion instead is taken at its word. Redirects are not followed.',
      'A model that failed half of at least 5 calls within a minute, or answered 401, is not asked for 5 seconds, then by one call to see, and for longer while that fails, up to a minute. Setting the models begins anew. Admins are told of 401, 403 and 404, once, in the audit log and by mail.',
    ].join('\n\n'),
    body: putModelsBody,
    response: models,
  },
});
