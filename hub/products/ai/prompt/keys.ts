import { cleanWithoutMarks } from '../../../platform/inference/marked-text.ts';

/** Matches credentials of a hub: API keys, webhook secrets, and tokens of sessions, visitors and pages. */
const keys =
  /(?<![A-Za-z0-9])(?:key_(?:live|test)(?:_(?:ai|automations|voice|live))?_[a-z0-9]{8}_[0-9A-Za-z]{20,60}|whsec_[A-Za-z0-9+/]{20,64}={0,2}|cv[st]_[A-Za-z0-9_-]{16,64}|eyJ[A-Za-z0-9_-]{8,500}\.eyJ[A-Za-z0-9_-]{2,2000}\.[A-Za-z0-9_-]{8,500})/g;

/** Removes credentials of a hub, so that a pasted key reaches neither a model nor the readers of its answer. */
export const withoutKeys = (text: string): string =>
  cleanWithoutMarks(remove(text), (bare) => bare.match(keys) ?? [], remove);

const remove = (text: string): string => text.replaceAll(keys, '[key removed]');
