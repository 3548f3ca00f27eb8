import { cleanWithoutMarks } from '../../../platform/inference/marked-text.ts';

/** What opens something at a hub, by its shape: API keys, secrets of webhooks, tokens of sessions, visitors and pages. */
const keys =
  /(?<![A-Za-z0-9])(?:key_(?:live|test)(?:_(?:ai|automations|voice|live))?_[a-z0-9]{8}_[0-9A-Za-z]{20,60}|whsec_[A-Za-z0-9+/]{20,64}={0,2}|cv[st]_[A-Za-z0-9_-]{16,64}|eyJ[A-Za-z0-9_-]{8,500}\.eyJ[A-Za-z0-9_-]{2,2000}\.[A-Za-z0-9_-]{8,500})/g;

/** A text without keys of a hub: what somebody pasted by mistake is to reach neither a model nor whoever reads its answer. */
export const withoutKeys = (text: string): string =>
  cleanWithoutMarks(remove(text), (bare) => bare.match(keys) ?? [], remove);

const remove = (text: string): string => text.replaceAll(keys, '[key removed]');
