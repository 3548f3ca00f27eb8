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

/** Arguments of `regex` for API keys: a key is sent in an HTTP header, which allows only these characters. */
export const apiKeyPattern = [
  /^[!-~]*$/,
  'must be printable ASCII without spaces: the key as its provider shows it',
] as const;

const modelId = text(1, 100).regex(
  /^[A-Za-z0-9][A-Za-z0-9._-]*$/,
  'must begin with a letter or digit and contain only letters, digits, dot, _ and -',
);
const baseUrl = z
  .url({ protocol: /^https?$/, error: 'must be an http or https address, such as https://api.example.com/v1' })
  .max(2000);

const shape = {
  id: modelId.describe('Your own name for the model, unique in the workspace; at most 100 characters'),
  provider: z.enum(modelProviders, `must be one of ${modelProviders.join(', ')}`).describe('Protocol of the provider'),
  model: text(1, 200).describe('Name of the model at the provider'),
};

export const putModelsBody = named(
  'PutModels',
  z
    .strictObject({
      models: z
        .array(
          z.strictObject({
            ...shape,
            baseUrl: baseUrl.optional().describe('Base URL of the API; required for `openai-compatible`'),
            apiKey: text(1, 1000)
              .regex(...apiKeyPattern)
              .optional()
              .describe('API key; write-only. When omitted, the stored key of the same provider and baseUrl is kept'),
            prices: modelPrices
              .optional()
              .describe('Prices of its tokens; without prices, tokens are counted but no cost'),
          }),
        )
        .max(20)
        .describe('Replaces all models; at most 20'),
      order: z.array(modelId).max(20).describe('Ids of models in failover order'),
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
          context.addIssue({ code: 'custom', path: ['order', index], message: 'is not the id of a model' });
        if (order.indexOf(id) !== index)
          context.addIssue({ code: 'custom', path: ['order', index], message: 'is a duplicate' });
      });
    }),
  { models: [{ id: 'main', provider: 'openai', model: 'gpt-5', apiKey: 'sk-YOUR-KEY' }], order: ['main'] },
);

const modelHealth = named(
  'ModelHealth',
  z
    .object({
      state: z
        .enum(['healthy', 'failing', 'paused'])
        .describe(
          '`failing`: calls of the last minute failed; `paused`: its circuit breaker is open, so it is skipped; otherwise `healthy`',
        ),
      since: timestamp
        .nullable()
        .describe('When the first recent call failed, or when the circuit breaker opened; null for a healthy model'),
      retryAt: timestamp
        .nullable()
        .describe('For a paused model, the time from which one call tries it again; otherwise null'),
      answered: z
        .boolean()
        .describe(
          'Whether a call or a test of the workspace was answered in about the last 24 hours with the present provider, address, name and key. A call that was under way when they changed does not count. A `healthy` model without an answer has not shown that it works',
        ),
    })
    .describe('Whether calls of a model succeed'),
);
export type ModelHealth = z.output<typeof modelHealth>;

const models = named(
  'Models',
  z.object({
    models: z
      .array(
        z.object({
          ...shape,
          baseUrl: z.string().nullable().describe('URL of the API; null for the default URL of the provider'),
          apiKeySet: z.boolean().describe('Whether an API key is stored; the key is never returned'),
          prices: modelPrices.nullable().describe('Prices of its tokens; null when none are set'),
          health: modelHealth,
        }),
      )
      .describe('Models of the workspace, at most 20'),
    order: z.array(z.string()).describe('Ids of models in failover order'),
    fallback: z
      .object({
        model: z.string().describe('Name of the model at its provider'),
        prices: modelPrices.nullable().describe('Prices of its tokens; null when none are set'),
        health: modelHealth.describe('Whether calls of this model succeed, in all workspaces of the hub'),
      })
      .nullable()
      .describe("The hub's own model, used while `order` is empty; null when not used"),
    version: z.int().min(0).describe('Version, increased by each change; 0 until models are first set'),
    updatedAt: timestamp.nullable(),
  }),
);

const modelTest = named(
  'ModelTest',
  z.object({
    answered: z.boolean().describe('Whether the model answered'),
    model: z.string().describe('Name of the model at its provider'),
    outcome: z
      .string()
      .meta({ example: 'answered' })
      .describe('Stable word for the result: `answered`, `http_401`, `connect_refused` and the like'),
    latencyMs: z.int().describe('Time until the answer or the failure, in milliseconds'),
    detail: z
      .string()
      .nullable()
      .describe('What the provider said about the failure, without secrets; null if it said nothing'),
  }),
  { answered: false, model: 'gpt-5', outcome: 'http_401', latencyMs: 240, detail: 'Incorrect API key provided.' },
);
export type ModelTest = z.output<typeof modelTest>;

export const modelConfigurations = defineResource({
  getAutomationModels: {
    ...manage,
    permission: 'automations:read',
    method: 'GET',
    path: '/v1/automations/models',
    summary: 'Get the models and their failover order',
    description:
      'API keys are never returned; `apiKeySet` shows whether one is stored. `ETag` is the version; send it as `If-Match` with an update.',
    response: models,
  },
  putAutomationModels: {
    ...manage,
    liveOnly: true,
    role: 'admin',
    method: 'PUT',
    path: '/v1/automations/models',
    summary: 'Set the models and their failover order',
    ifMatch: 'version_conflict',
    description: [
      'Models are called in order until one answers, within 30 seconds in total. Temporary errors are retried once with the same model: failed connections, no first byte for 8 seconds, no further byte for 10 seconds, 408, 409, 429 (after `Retry-After`, if time allows), 5xx and invalid responses. After 400, 401, 403, 404, 413, an input that is too long or a content filter, the next model is called immediately. Requests have `stream: true`; a response without streaming is accepted. Redirects are not followed.',
      'A circuit breaker opens when a model fails half of at least 5 calls within a minute, or returns 401. The model is then skipped for 5 seconds, then tried with one call. If this call fails, the pause grows, up to one minute. Setting the models resets the circuit breakers. Admins are notified of 401, 403 and 404 once, in the audit log and by mail.',
    ].join('\n\n'),
    body: putModelsBody,
    response: models,
  },
  testAutomationModel: {
    ...manage,
    role: 'admin',
    method: 'POST',
    path: '/v1/automations/models/{modelId}/test',
    summary: 'Test a model',
    description:
      'Sends one short request to a stored model and waits at most 30 seconds for the answer. The request counts for usage and budget. It is sent even while the circuit breaker of the model is open, and does not change the breaker. A failure of the model is a response with `answered: false`. At most 10 tests per minute and workspace.',
    params: z.strictObject({ modelId }),
    response: modelTest,
    waitsForThirdParty: true,
    errors: ['not_found', 'ai_budget_used_up'],
  },
});
