import type { Answer, Input } from '../../../app/api.ts';

type Models = Answer<'getAutomationModels'>;
type PutModels = Input<'putAutomationModels'>['body'];

/** A model in the form. Used models are called in the order of the list. */
export interface ModelValue {
  id: string;
  provider: Models['models'][number]['provider'];
  model: string;
  baseUrl: string;
  /** A new key; empty keeps the stored one. */
  apiKey: string;
  apiKeySet: boolean;
  prices: Models['models'][number]['prices'];
  isUsed: boolean;
}

export const newModel = (): ModelValue => ({
  id: '',
  provider: 'openai',
  model: '',
  baseUrl: '',
  apiKey: '',
  apiKeySet: false,
  prices: null,
  isUsed: true,
});

/** The models as the form shows them: those in use first, in their order. */
export function valueOf({ models, order }: Models): { models: ModelValue[] } {
  const positionOf = (id: string) => (order.includes(id) ? order.indexOf(id) : order.length);
  return {
    models: models
      .map(({ baseUrl, health: _health, ...model }) => ({
        ...model,
        baseUrl: baseUrl ?? '',
        apiKey: '',
        isUsed: order.includes(model.id),
      }))
      .toSorted((one, other) => positionOf(one.id) - positionOf(other.id)),
  };
}

export const bodyOf = (models: readonly ModelValue[]): PutModels => ({
  models: models.map(({ id, provider, model, baseUrl, apiKey, prices }) => ({
    id,
    provider,
    model,
    ...(baseUrl === '' ? {} : { baseUrl }),
    ...(apiKey === '' ? {} : { apiKey }),
    ...(prices === null ? {} : { prices }),
  })),
  order: models.filter(({ isUsed }) => isUsed).map(({ id }) => id),
});

const isText = (value: unknown): value is string => typeof value === 'string';

/** Reads the body of the API as models of the form. The hub checks the rest. @throws Error with `wrong`. */
export function readBody(parsed: unknown, wrong: string, stored: readonly ModelValue[]): ModelValue[] {
  const { models, order } = (parsed ?? {}) as Partial<PutModels>;
  const isBody =
    Array.isArray(models) &&
    Array.isArray(order) &&
    models.every((each: unknown) => typeof each === 'object' && each !== null && isText((each as { id?: unknown }).id));
  if (!isBody) throw new Error(wrong);
  const used = order.flatMap((id) => models.filter((each) => each.id === id));
  return [...used, ...models.filter((each) => !order.includes(each.id))].map((each) => ({
    id: each.id,
    provider: each.provider,
    model: each.model,
    baseUrl: each.baseUrl ?? '',
    apiKey: each.apiKey ?? '',
    apiKeySet: stored.some(({ id, apiKeySet }) => id === each.id && apiKeySet),
    prices: each.prices ?? null,
    isUsed: order.includes(each.id),
  }));
}
